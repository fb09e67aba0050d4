/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/live/answers.h"

#include "base/limits.h"
#include "base/meter/meter.h"
#include "domain/flag/live/visit.h"
#include "json/bind.h"

#define BYTES_A_STEP 8u /* that are written */

/* Which comes a second time? An answer is an object: it has each name once. */
static bool
is_repeated(const struct asked *a, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (str_eq(a->keys[i], a->keys[at]))
			return true;
	return false;
}

status
asked_read(struct ctx *cx, const struct json *keys, struct asked *out)
{
	struct asked a = { .all = !keys || keys->type == JSON_NULL };

	if (keys && keys->type == JSON_STRING)
		a.all = str_eq(keys->text, STR("*"));
	if (!a.all && keys->type != JSON_ARRAY)
		return visit_refuse(cx, STR("/keys"), STR("must be an array of keys, \"*\" or null"));
	if (!a.all)
		TRY(json_bind_strings(cx, keys, STR("/keys"), LIMIT_EVALUATE_KEYS, &a.keys, &a.count));
	TRY(meter_spend(cx, a.count * a.count / 4));
	for (size_t i = 0; i < a.count; i++)
		if (is_repeated(&a, i))
			return visit_refuse(
				cx, arena_printf(cx->arena, "/keys/%zu", i), STR("is given twice"));
	*out = a;
	return OK;
}

status
asked_check(struct ctx *cx, const struct asked *a, const struct caller *c, str environment_id)
{
	for (size_t i = 0; i < a->count; i++)
		TRY(visit_key(cx, c, environment_id, a->keys[i]));
	return OK;
}

status
answers_check(struct ctx *cx, const struct json *context, str path)
{
	return context->type == JSON_OBJECT ? OK : visit_refuse(cx, path, STR("must be an object"));
}

static status
write(struct json_out *o, struct subject *s, const struct item *item, bool verbose)
{
	struct evaluation e;

	TRY(ruleset_evaluate(s, item, &e));
	evaluation_out(o, NULL, s, &e, verbose);
	return subject_charge(s);
}

static status
write_all(struct json_out *o, struct subject *s, const struct answers *a)
{
	size_t count = ruleset_count(a->rules);

	for (size_t i = 0; i < count; i++) {
		const struct item *item = ruleset_at(a->rules, i);

		if (!caller_in_scope(a->caller, a->environment_id, item->key))
			continue;
		json_out_key(o, item->key);
		TRY(write(o, s, item, a->verbose));
	}
	return OK;
}

static status
write_asked(struct json_out *o, struct subject *s, const struct answers *a)
{
	for (size_t i = 0; i < a->asked->count; i++) {
		const struct item *item = ruleset_find(a->rules, a->asked->keys[i]);

		json_out_key(o, a->asked->keys[i]);
		if (item)
			TRY(write(o, s, item, a->verbose));
		else
			json_out_null(o, NULL);
	}
	return OK;
}

status
answers_out(struct ctx *cx, struct json_out *o, const char *member, const struct answers *a,
	const struct json *context)
{
	struct subject *s;
	size_t before = o->buf->len;

	TRY(subject_prepare(cx, a->rules, context, &s));
	json_out_object(o, member);
	TRY(a->asked->all ? write_all(o, s, a) : write_asked(o, s, a));
	json_out_end(o);
	return meter_spend(cx, (o->buf->len - before) / BYTES_A_STEP);
}
