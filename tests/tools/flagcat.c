/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flagcat: files of flags converted, and what they then answer; one line of JSON for each document on standard
 * input. A document comes as its length in bytes, a newline, and so many bytes.
 *
 *	flagcat    {"format": "flagd", "targetField"?, "file": FILE, "contexts": [{...}, ...]}
 *
 * The answer is {"ruleset", "remarks": [{"item", "path", "message", "refused"}], "text": as `export` would write
 * it, "answers": [{KEY: value}, ...]}, the last with one member for each context, or {"error", "issues"}.
 */
#include "base/limits.h"
#include "domain/flag/evaluate.h"
#include "domain/flag/exchange/exchange.h"

#include <stdio.h>
#include <stdlib.h>

static void
write_remarks(struct json_out *o, const struct exchange *e)
{
	json_out_array(o, "remarks");
	for (const struct exchange_remark *r = e->remarks; r; r = r->next) {
		json_out_object(o, NULL);
		json_out_str(o, "item", r->item);
		json_out_str(o, "path", r->path);
		json_out_str(o, "message", r->message);
		json_out_bool(o, "refused", r->refused);
		json_out_end(o);
	}
	json_out_end(o);
}

static status
write_answers(struct ctx *cx, struct json_out *o, const struct ruleset *rs, const struct json *contexts)
{
	json_out_array(o, "answers");
	if (contexts)
		JSON_EACH (context, contexts) {
			struct subject *s;

			TRY(subject_prepare(cx, rs, context, &s));
			json_out_object(o, NULL);
			for (size_t i = 0; i < ruleset_count(rs); i++) {
				struct evaluation e;

				TRY(ruleset_evaluate(s, ruleset_at(rs, i), &e));
				json_out_key(o, e.item->key);
				json_out_raw(o, NULL, e.value);
			}
			json_out_end(o);
		}
	json_out_end(o);
	return OK;
}

static status
convert(struct ctx *cx, struct json_out *o, const struct json *ask)
{
	const struct json *format = json_get(ask, STR("format")), *target = json_get(ask, STR("targetField"));
	const struct json *file = json_get(ask, STR("file"));
	enum exchange_format which;
	struct exchange e;
	struct ruleset *rs;
	str text;
	status s;

	if (!format || !file || !exchange_format_find(format->text, &which))
		return fail(cx, E_INVALID, "a document has format and file");
	TRY(exchange_read(cx, which, file, target ? target->text : STR("userId"), &e));
	TRY(exchange_write(cx, e.ruleset, &text));
	TRY(ruleset_compile(cx, e.ruleset, &rs));
	json_out_object(o, NULL);
	json_out_value(o, "ruleset", e.ruleset);
	json_out_str(o, "text", text);
	write_remarks(o, &e);
	s = write_answers(cx, o, rs, json_get(ask, STR("contexts")));
	json_out_end(o);
	ruleset_free(rs);
	return s;
}

static void
write_error(struct ctx *cx, struct json_out *o, status s)
{
	json_out_object(o, NULL);
	json_out_str(o, "error", ctx_message(cx, s));
	json_out_array(o, "issues");
	for (size_t i = 0; i < cx->error.issue_count; i++)
		json_out_str(o, NULL, cx->error.issues[i].path);
	json_out_end(o);
	json_out_end(o);
}

static void
answer(struct ctx *cx, str text)
{
	struct json_out o;
	struct json *ask;
	struct buf b;
	status s;

	buf_init(&b, cx->arena, LIMIT_JSON_STORED_BYTES);
	json_out_init(&o, &b);
	s = json_parse_stored(cx, text, &ask);
	if (s == OK)
		s = convert(cx, &o, ask);
	if (s != OK) {
		b.len = 0;
		json_out_init(&o, &b);
		write_error(cx, &o, s);
	}
	(void)printf("%.*s\n", STR_ARG(buf_str(&b)));
}

int
main(void)
{
	struct arena arena;
	size_t len;

	arena_init(&arena, 4 * LIMIT_REQUEST_ARENA);
	while (scanf("%zu", &len) == 1) {
		char *text = malloc(len + 1);
		struct ctx cx;

		if (!text || getchar() != '\n' || fread(text, 1, len, stdin) != len)
			return 1;
		arena_reset(&arena);
		ctx_init(&cx, &arena);
		answer(&cx, (str){ text, len });
		free(text);
	}
	arena_done(&arena);
	return 0;
}
