/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/evaluate.h"

#include "domain/flag/impl.h"

#include "base/limits.h"
#include "base/meter/meter.h"

#include <inttypes.h>
#include <stdio.h>

#define MEMBERS_A_STEP 4u  /* that are looked through */
#define BYTES_A_STEP   32u /* that are compared, hashed or searched */

#define EXACT INT64_C(9007199254740992) /* 2^53: beyond it clients do not agree which integer it is */

bool
target_text(const struct json *value, char digits[24], str *out_text)
{
	int64_t n;
	int len;

	if (value && value->type == JSON_STRING && value->text.len) {
		*out_text = value->text;
		return true;
	}
	if (!value || !json_to_int(value, &n) || n > EXACT || n < -EXACT)
		return false;
	len = snprintf(digits, 24, "%" PRId64, n);
	*out_text = (str){ digits, (size_t)len };
	return true;
}

/* --- a context made ready --- */

static status
put(struct ctx *cx, struct subject *s, uint32_t field, const struct json *json)
{
	str name = s->rs->fields.values[field].text;

	if (json->type == JSON_STRING && json->text.len > LIMIT_CONTEXT_TEXT)
		return fail(cx, E_TOO_LARGE, "the context's %.*s has more than %zu bytes", STR_ARG(name),
			(size_t)LIMIT_CONTEXT_TEXT);
	if (json->type == JSON_ARRAY && json->count > LIMIT_CONTEXT_MEMBERS)
		return fail(cx, E_TOO_LARGE, "the context's %.*s has more than %u entries", STR_ARG(name),
			LIMIT_CONTEXT_MEMBERS);
	s->values[field].json = json;
	if (json->type == JSON_STRING)
		scalar_set_text(&s->values[field].scalar, json->text);
	else
		s->values[field].scalar = scalar_of(json);
	return OK;
}

/* "a.b" is the member a.b of the context, or else member b of its member a. */
static status
follow(struct ctx *cx, struct subject *s, uint32_t field, const struct json *context)
{
	str rest = s->rs->fields.values[field].text, step;
	const struct json *at = context;

	while (at && str_cut(rest, '.', &step, &rest)) {
		TRY(meter_spend(cx, 1 + at->count / MEMBERS_A_STEP));
		at = json_get(at, step);
		if (at && at->type == JSON_OBJECT && at->count > LIMIT_CONTEXT_MEMBERS)
			return fail(cx, E_TOO_LARGE, "the context's %.*s has more than %u members",
				STR_ARG(step), LIMIT_CONTEXT_MEMBERS);
	}
	TRY(meter_spend(cx, 1 + (at ? at->count / MEMBERS_A_STEP : 0)));
	at = at ? json_get(at, rest) : NULL;
	return at ? put(cx, s, field, at) : OK;
}

static status
read_context(struct ctx *cx, struct subject *s, const struct json *context)
{
	const struct ruleset *rs = s->rs;
	struct scalar name;

	JSON_EACH (m, context) {
		uint32_t field;

		scalar_set_text(&name, m->key);
		field = set_find(&rs->fields, &name);
		if (field != SET_NONE)
			TRY(put(cx, s, field, m));
	}
	for (uint32_t i = 0; i < rs->path_count; i++)
		if (!s->values[rs->paths[i]].json)
			TRY(follow(cx, s, rs->paths[i], context));
	return OK;
}

status
subject_prepare(
	struct ctx *cx, const struct ruleset *rs, const struct json *context, struct subject **out_subject)
{
	size_t fields = rs->fields.count, segments = rs->segment_keys.count, matches = rs->patterns.count;
	struct subject *s;
	str target;

	if (context->type != JSON_OBJECT)
		return fail(cx, E_INVALID, "the context must be an object");
	if (context->count > LIMIT_CONTEXT_MEMBERS)
		return fail(cx, E_TOO_LARGE, "the context has more than %u members", LIMIT_CONTEXT_MEMBERS);
	/* one piece: the subject, its values, and what will be known of segments and patterns */
	s = arena_try(cx->arena, sizeof(*s) + fields * sizeof(struct value) + segments + matches);
	if (!s)
		return fail(cx, E_TOO_LARGE, "there is no room to read the context");
	TRY(meter_spend(cx, (fields + segments + matches) / MEMBERS_A_STEP));
	s->rs = rs;
	s->cx = cx;
	s->values = (struct value *)(s + 1);
	s->segments = (uint8_t *)(s->values + fields);
	s->matches = s->segments + segments;
	TRY(read_context(cx, s, context));
	s->has_target = target_text(s->values[rs->target].json, s->digits, &target);
	if (s->has_target)
		scalar_set_text(&s->target, target);
	s->most = meter_left(cx);
	*out_subject = s;
	return OK;
}

/* --- answers --- */

/* Deny wins over allow, and allow over the rules. */
static bool
is_member(struct subject *s, const struct segment *seg)
{
	if (s->has_target && set_find(&seg->deny, &s->target) != SET_NONE)
		return false;
	if (s->has_target && set_find(&seg->allow, &s->target) != SET_NONE)
		return true;
	for (uint32_t i = 0; i < seg->rule_count; i++)
		if (condition_holds(&seg->rules[i].condition, s))
			return true;
	return false;
}

/* Decided once: segments that share segments would otherwise take a time that doubles with each. */
static bool
segment_holds(struct subject *s, uint32_t segment)
{
	uint8_t *known = &s->segments[segment];

	if (*known == KNOWN_NOT)
		*known = is_member(s, &s->rs->segments[segment]) ? KNOWN_TRUE : KNOWN_FALSE;
	return *known == KNOWN_TRUE;
}

/* What a leaf may have to look at. */
static uint64_t
leaf_steps(const struct condition *c, const struct value *v)
{
	if (v->scalar.type == SCALAR_TEXT)
		return c->count + v->scalar.text.len / BYTES_A_STEP;
	return v->scalar.type == SCALAR_ARRAY ? v->json->count : 0;
}

static bool
leaf_holds(struct subject *s, const struct condition *c)
{
	const struct value *v = &s->values[c->field];

	s->steps += leaf_steps(c, v);
	return predicate_holds(c, v);
}

/* Tried once, however many rules ask: so patterns cost a context a bounded time in all. */
static bool
match_holds(struct subject *s, const struct condition *c)
{
	uint8_t *known = &s->matches[c->count];

	if (*known == KNOWN_NOT) {
		const struct value *v = &s->values[c->field];

		if (v->scalar.type == SCALAR_TEXT)
			s->steps += regex_steps(c->as.regex, v->scalar.text.len);
		if (s->steps > s->most)
			return false;
		*known = predicate_holds(c, v) ? KNOWN_TRUE : KNOWN_FALSE;
	}
	return *known == KNOWN_TRUE;
}

bool
condition_holds(const struct condition *c, struct subject *s)
{
	if (++s->steps > s->most)
		return false;
	switch (c->kind) {
	case CONDITION_EVERYBODY:
		return true;
	case CONDITION_LEAF:
		return leaf_holds(s, c);
	case CONDITION_MATCH:
		return match_holds(s, c);
	case CONDITION_SEGMENT:
		return segment_holds(s, c->as.segment);
	case CONDITION_AND:
		for (uint32_t i = 0; i < c->count; i++)
			if (!condition_holds(&c->as.children[i], s))
				return false;
		return true;
	case CONDITION_OR:
		for (uint32_t i = 0; i < c->count; i++)
			if (condition_holds(&c->as.children[i], s))
				return true;
		return false;
	case CONDITION_NOT:
		break;
	}
	return !condition_holds(c->as.children, s);
}

bool
rollout_holds(const struct rule *r, const struct subject *s)
{
	if (r->buckets == BUCKETS)
		return true;
	return s->has_target && bucket_of(&r->bucket, s->target.text) < r->buckets;
}

static void
evaluate(struct subject *s, const struct item *item, struct evaluation *out)
{
	for (uint32_t i = 0; i < item->rule_count; i++) {
		const struct rule *r = &item->rules[i];

		if (!condition_holds(&r->condition, s) || !rollout_holds(r, s))
			continue;
		*out = (struct evaluation){ item, r->value, (int32_t)i, r->buckets < BUCKETS };
		return;
	}
	*out = (struct evaluation){ item, item->default_value, EVALUATION_DEFAULT, false };
}

status
subject_charge(struct subject *s)
{
	TRY(meter_spend(s->cx, s->steps));
	s->steps = 0;
	s->most = meter_left(s->cx);
	return OK;
}

status
ruleset_evaluate(struct subject *s, const struct item *item, struct evaluation *out)
{
	struct evaluation e;

	s->steps += 1 + item->rule_count / MEMBERS_A_STEP;
	evaluate(s, item, &e);
	TRY(subject_charge(s));
	*out = e;
	return OK;
}
