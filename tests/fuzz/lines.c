/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz lines: what a program writes, cut into lines, and each as it may be shown.
 *
 * However it is cut into pieces, the same lines come out; none is longer than it may be, none has an end of line in it;
 * what is shown is one line of valid text that holds no secret.
 */
#include "base/check.h"
#include "exec/mcp/inside.h"
#include "exec/mcp/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LINE_MAX 200u
#define SHOWN	 120u
#define SECRET	 "hunter2hunter2"

static bool
contains(str text, str part)
{
	for (size_t i = 0; i + part.len <= text.len; i++)
		if (memcmp(text.ptr + i, part.ptr, part.len) == 0)
			return true;
	return false;
}

static void
note(void *arg, str line)
{
	const struct http_client_field secret = { STR("TOKEN"), STR(SECRET) };
	struct buf *story = arg;
	char shown[SHOWN];

	CHECK(line.len > 0 && line.len <= LINE_MAX && str_find(line, '\n') == line.len);
	lines_show(line, &secret, 1, shown, sizeof(shown));
	CHECK(strlen(shown) < sizeof(shown) && str_is_utf8(str_of(shown)));
	CHECK(!contains(str_of(shown), STR(SECRET)) && !strpbrk(shown, "\r\n\033"));
	buf_add(story, line);
	buf_add_char(story, '\n');
}

static str
read_lines(struct arena *a, str text, size_t piece, bool cuts)
{
	struct lines l = { 0 };
	struct buf story;
	bool more = true;

	buf_init(&story, a, 16 * MIB);
	lines_init(&l, LINE_MAX, cuts, note, &story);
	while (more && text.len) {
		size_t n = piece < text.len ? piece : text.len;

		more = lines_feed(&l, (str){ text.ptr, n });
		text = str_skip(text, n);
	}
	lines_done(&l);
	buf_printf(&story, "%d", more);
	return buf_str(&story);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a;
	str text;

	if (size < 1 || size > 64 * KIB)
		return 0;
	text = (str){ (const char *)data + 1, size - 1 };
	arena_init(&a, LIMIT_REQUEST_ARENA);
	for (int cuts = 0; cuts < 2; cuts++)
		CHECK(str_eq(read_lines(&a, text, SIZE_MAX, cuts),
			read_lines(&a, text, (size_t)data[0] % 67 + 1, cuts)));
	arena_done(&a);
	return 0;
}
