/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a ruleset and a context, one document behind the other on two lines.
 * What does not compile says where; what compiles answers, the same each time, with values and traces that
 * are JSON, and an answer that is a rule's or the default.
 */
#include "base/check.h"
#include "base/limits.h"
#include "domain/flag/evaluate.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
explain(struct ctx *cx, struct subject *s, const struct evaluation *e)
{
	struct json_out out;
	struct json *doc;
	struct buf b;
	str text;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	json_out_init(&out, &b);
	evaluation_out(&out, NULL, s, e, true);
	if (buf_finish(&b, &text) == OK)
		CHECK(json_parse(cx, text, &doc) == OK || cx->error.code == E_TOO_LARGE);
}

static void
evaluate(struct ctx *cx, const struct ruleset *rs, const struct json *context)
{
	struct subject *one, *two;
	status done = subject_prepare(cx, rs, context, &one);

	CHECK(done == OK || done == E_INVALID || done == E_TOO_LARGE);
	if (done != OK || subject_prepare(cx, rs, context, &two) != OK)
		return;
	for (size_t i = 0, n = ruleset_count(rs); i < n; i++) {
		const struct item *item = ruleset_at(rs, i), *last = ruleset_at(rs, n - 1 - i);
		struct evaluation a, b;

		CHECK(ruleset_find(rs, item->key) == item);
		if (ruleset_evaluate(two, last, &b) != OK || /* in another order */
			ruleset_evaluate(one, item, &a) != OK || ruleset_evaluate(two, item, &b) != OK)
			return; /* the work that a request may cause is used up */
		CHECK(a.rule == b.rule && str_eq(a.value, b.value) && a.value.len > 0);
		CHECK(a.rule == EVALUATION_DEFAULT ? str_eq(a.value, item->default_value)
						   : (uint32_t)a.rule < item->rule_count);
		explain(cx, one, &a);
	}
}

static void
run(struct ctx *cx, const struct json *doc, const struct json *context)
{
	struct ruleset *rs = NULL;
	status done = ruleset_compile(cx, doc, &rs);

	CHECK(done == OK || done == E_INVALID || done == E_TOO_LARGE);
	CHECK((done == OK) == (rs != NULL));
	CHECK(done != E_INVALID || cx->error.issue_count > 0);
	if (done == OK)
		evaluate(cx, rs, context);
	ruleset_free(rs);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	struct ctx cx;
	struct json *doc, *context;
	/* a block of exactly this size: one byte too far is seen */
	char *text = malloc(size ? size : 1);
	str first, second;

	CHECK(text);
	for (size_t i = 0; i < size; i++)
		text[i] = (char)data[i];
	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	if (str_cut((str){ text, size }, '\n', &first, &second) && json_parse_any(&cx, first, &doc) == OK &&
		json_parse_any(&cx, second, &context) == OK)
		run(&cx, doc, context);
	arena_done(&arena);
	free(text);
	return 0;
}
