/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader accepts comes back from the writer and the canonical form as the same value. */
#include "base/check.h"
#include "base/limits.h"
#include "json/canon.h"
#include "json/diff.h"
#include "json/out.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Canonical is what does not change by being made canonical. */
static void
check_canon(struct ctx *cx, const struct json *doc)
{
	struct json *again;
	str first, second;
	status s = canon_text(cx, doc, &first);

	CHECK(s == OK || s == E_INVALID || s == E_TOO_LARGE);
	if (s != OK)
		return;
	CHECK(json_parse(cx, first, &again) == OK);
	CHECK(json_equal(doc, again));
	CHECK(canon_text(cx, again, &second) == OK);
	CHECK(str_eq(first, second));
}

static void
check_document(struct ctx *cx, const struct json *doc)
{
	struct diff none;
	struct json *again;
	str text;
	status s = json_text(cx, doc, &text);

	CHECK(s == OK || s == E_TOO_LARGE);
	if (s != OK)
		return;
	CHECK(json_parse(cx, text, &again) == OK);
	CHECK(json_equal(doc, again) && json_equal(again, doc));
	CHECK(diff_make(cx, doc, again, &none) == OK && none.count == 0);
	check_canon(cx, doc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* a block of exactly this size: one byte too far is seen */
	char *text = malloc(size ? size : 1);
	struct arena arena;
	struct ctx cx;
	struct json *doc;

	CHECK(text != NULL);
	if (size)
		memcpy(text, data, size);
	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	if (json_parse(&cx, (str){ text, size }, &doc) == OK)
		check_document(&cx, doc);
	else
		CHECK(cx.error.message.len > 0);
	arena_done(&arena);
	free(text);
	return 0;
}
