/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a file of flags: the first byte says of which kind. What is no such file says where; what is
 * one becomes a ruleset that compiles, that can be written and read as it was, and each remark has a sentence.
 */
#include "base/check.h"
#include "base/limits.h"
#include "domain/flag/exchange/exchange.h"
#include "domain/flag/ruleset.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_document(struct ctx *cx, const struct json *doc)
{
	struct ruleset *rs = NULL;
	struct exchange again;
	struct json *file;
	status s;
	str text;

	s = ruleset_compile(cx, doc, &rs);
	CHECK(s == OK || s == E_TOO_LARGE);
	ruleset_free(rs);
	if (exchange_write(cx, doc, &text) != OK || json_parse_stored(cx, text, &file) != OK)
		return;
	s = exchange_read(cx, EXCHANGE_COUNTERSIGN, file, STR("x"), &again);
	CHECK(s == E_TOO_LARGE || (s == OK && json_equal(doc, again.ruleset)));
}

static void
run(struct ctx *cx, enum exchange_format format, const struct json *file)
{
	struct exchange e;
	size_t remarks = 0;
	status s = exchange_read(cx, format, file, STR("userId"), &e);

	CHECK(s == OK || s == E_INVALID || s == E_TOO_LARGE);
	if (s != OK)
		return;
	for (const struct exchange_remark *r = e.remarks; r; r = r->next, remarks++)
		CHECK(r->message.len && (!r->path.len || r->path.ptr[0] == '/'));
	CHECK(remarks == e.notes + e.refusals);
	check_document(cx, e.ruleset);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	struct ctx cx;
	struct json *file;
	/* a block of exactly this size: one byte too far is seen */
	char *text = malloc(size ? size : 1);

	CHECK(text);
	for (size_t i = 0; i < size; i++)
		text[i] = (char)data[i];
	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	if (size && json_parse(&cx, (str){ text + 1, size - 1 }, &file) == OK)
		run(&cx,
			text[0] == 'f'	 ? EXCHANGE_FLAGD
			: text[0] == 'u' ? EXCHANGE_UNLEASH
					 : EXCHANGE_COUNTERSIGN,
			file);
	arena_done(&arena);
	free(text);
	return 0;
}
