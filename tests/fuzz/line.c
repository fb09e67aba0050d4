/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz line: bytes as the answer to a request over a kept connection, and then its end.
 *
 * The first byte says how the rest is cut into pieces. However it is cut, the same state comes out, the same status,
 * headers and body, and the same word on whether another request may follow.
 */
#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "http/client/line.h"

#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY_MAX 4096u /* then piece says enough */

static const struct http_client_request request = { .method = "GET", .url = STR("http://a.example/") };

struct run {
	struct arena arena;
	struct ctx cx;
	struct buf story; /* what came out, to be compared */
	struct buf body;
};

static bool
take(void *arg, str bytes)
{
	struct run *r = arg;

	CHECK(bytes.len > 0);
	buf_add(&r->body, bytes);
	return !r->body.overflow;
}

static void
say(int fd, str text)
{
	CHECK(send(fd, text.ptr, text.len, MSG_NOSIGNAL) == (ssize_t)text.len);
}

/* What is left after the end comes unasked. */
static enum http_line_state
hear(struct run *r, struct http_line *l, int other, str text, size_t size)
{
	enum http_line_state s = HTTP_LINE_WAITS;

	while (text.len > 0 && s == HTTP_LINE_WAITS) {
		size_t n = size < text.len ? size : text.len;

		say(other, (str){ text.ptr, n });
		text = str_skip(text, n);
		s = http_line_go_on(l, take, r);
	}
	if (text.len)
		say(other, text);
	return s;
}

static void
tell(struct run *r, const struct http_line *l, enum http_line_state s, bool follows)
{
	static const char *const names[] = { "a", "A", "x-a", "Content-Length", "transfer-encoding",
		"Connection" };

	/* of a body that was too much, how much of it came first depends on the pieces */
	if (s == HTTP_LINE_ENOUGH)
		r->body.len = 0;
	buf_printf(&r->story, "%d %d %d %d %.*s", s, follows, http_line_status(l), http_line_heard(l),
		STR_ARG(buf_str(&r->body)));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (size_t j = 0; j < 3; j++)
			buf_printf(&r->story, "\n%.*s", STR_ARG(http_line_header(l, str_of(names[i]), j)));
}

static void
run(struct run *r, str text, size_t size)
{
	enum http_line_state s;
	struct http_line *l;
	bool follows;
	int ends[2];

	arena_init(&r->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&r->cx, &r->arena);
	buf_init(&r->story, &r->arena, MIB);
	buf_init(&r->body, &r->arena, BODY_MAX);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	l = http_line_new(ends[0], request.url);
	CHECK(l && http_line_suits(l, &request));
	CHECK(http_line_begin(l, &r->cx, &request) == HTTP_LINE_WAITS);
	s = hear(r, l, ends[1], text, size);
	follows = s == HTTP_LINE_DONE && http_line_stays(l) && http_line_suits(l, &request);
	CHECK(shutdown(ends[1], SHUT_WR) == 0);
	if (s == HTTP_LINE_WAITS)
		s = http_line_go_on(l, take, r);
	CHECK(s != HTTP_LINE_WAITS);
	CHECK(s != HTTP_LINE_DONE || http_line_status(l) >= 200);
	tell(r, l, s, follows);
	(void)close(ends[1]);
	http_line_free(l);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run whole, cut;
	str text;

	if (size < 1 || size > 16 * KIB)
		return 0;
	text = (str){ (const char *)data + 1, size - 1 };
	run(&whole, text, SIZE_MAX);
	run(&cut, text, (size_t)data[0] % 67 + 1);
	CHECK(str_eq(buf_str(&whole.story), buf_str(&cut.story)));
	arena_done(&whole.arena);
	arena_done(&cut.arena);
	return 0;
}
