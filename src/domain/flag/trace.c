/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/impl.h"

static const char *
type_name(enum scalar_type t)
{
	static const char *const names[] = {
		[SCALAR_NONE] = "missing",
		[SCALAR_BOOL] = "boolean",
		[SCALAR_NUMBER] = "number",
		[SCALAR_TEXT] = "string",
		[SCALAR_ARRAY] = "array",
		[SCALAR_OBJECT] = "object",
	};

	return names[t];
}

static str
name_of(const struct condition *c)
{
	switch (c->kind) {
	case CONDITION_SEGMENT:
		return STR("$segment");
	case CONDITION_AND:
		return STR("$and");
	case CONDITION_OR:
		return STR("$or");
	case CONDITION_NOT:
		return STR("$not");
	case CONDITION_EVERYBODY:
	case CONDITION_LEAF:
	case CONDITION_MATCH:
		break;
	}
	return c->op->name;
}

/* All children, also those that an evaluation would not have asked: a person wants to see the whole. */
static void
write_condition(struct json_out *o, const char *key, struct subject *s, const struct condition *c)
{
	json_out_object(o, key);
	json_out_str(o, "operator", name_of(c));
	if (c->kind == CONDITION_LEAF || c->kind == CONDITION_MATCH) {
		json_out_str(o, "field", s->rs->fields.values[c->field].text);
		json_out_str(o, "found", str_of(type_name(s->values[c->field].scalar.type)));
	} else if (c->kind == CONDITION_SEGMENT) {
		json_out_str(o, "segment", s->rs->segments[c->as.segment].key);
	}
	json_out_bool(o, "result", condition_holds(c, s));
	if (c->kind > CONDITION_SEGMENT) {
		json_out_array(o, "conditions");
		for (uint32_t i = 0; i < c->count; i++)
			write_condition(o, NULL, s, &c->as.children[i]);
		json_out_end(o);
	}
	json_out_end(o);
}

static void
write_rollout(struct json_out *o, struct subject *s, const struct rule *r)
{
	json_out_object(o, "rollout");
	json_out_int(o, "below", r->buckets);
	if (s->has_target)
		json_out_int(o, "bucket", bucket_of(&r->bucket, s->target.text));
	else
		json_out_null(o, "bucket");
	json_out_bool(o, "result", rollout_holds(r, s));
	json_out_end(o);
}

static bool
write_rule(struct json_out *o, struct subject *s, const struct rule *r, int64_t index)
{
	bool matches = condition_holds(&r->condition, s) && rollout_holds(r, s);

	json_out_object(o, NULL);
	json_out_int(o, "ruleIndex", index);
	json_out_bool(o, "result", matches);
	if (r->condition.kind != CONDITION_EVERYBODY)
		write_condition(o, "condition", s, &r->condition);
	if (r->buckets < BUCKETS)
		write_rollout(o, s, r);
	json_out_end(o);
	return matches;
}

void
trace_out(struct json_out *o, const char *key, struct subject *s, const struct item *item)
{
	bool matched = false;

	json_out_array(o, key);
	for (uint32_t i = 0; i < item->rule_count && !matched; i++)
		matched = write_rule(o, s, &item->rules[i], i);
	json_out_end(o);
}

static inline __attribute__((always_inline)) char * /* of literals, most of them: so no call is left */
put(char *at, str text)
{
	memcpy(at, text.ptr, text.len);
	return at + text.len;
}

/* All of an answer at once: an environment's thousand flags are asked for together, and writing them piece by
 * piece would take longer than evaluating them. */
static void
add_answer(struct buf *b, const struct evaluation *e)
{
	static const char most[] =
		"{\"value\":,\"defaultValue\":,\"reason\":{\"kind\":\"rule_match\",\"ruleIndex\":"
		"-2147483648,\"matchedValue\":}}";
	size_t n = sizeof(most) + 2 * e->value.len + e->item->default_value.len;
	char *begin = buf_reserve(b, n), *at;

	if (!begin)
		return;
	at = put(begin, STR("{\"value\":"));
	at = put(at, e->value);
	at = put(at, STR(",\"defaultValue\":"));
	at = put(at, e->item->default_value);
	if (e->rule == EVALUATION_DEFAULT) {
		at = put(at, STR(",\"reason\":{\"kind\":\"default\"}}"));
		buf_took(b, (size_t)(at - begin));
		return;
	}
	at = put(at, STR(",\"reason\":{\"kind\":\"rule_match\",\"ruleIndex\":"));
	buf_took(b, (size_t)(at - begin));
	buf_add_int(b, e->rule);
	at = begin = b->ptr + b->len; /* the room is there */
	at = put(at, STR(",\"matchedValue\":"));
	at = put(at, e->value);
	at = put(at, STR("}}"));
	buf_took(b, (size_t)(at - begin));
}

static void
add_explained(struct json_out *o, struct subject *s, const struct evaluation *e)
{
	bool matched = e->rule != EVALUATION_DEFAULT;

	json_out_raw(o, "value", e->value);
	json_out_raw(o, "defaultValue", e->item->default_value);
	json_out_object(o, "reason");
	json_out_str(o, "kind", matched ? STR("rule_match") : STR("default"));
	if (matched) {
		json_out_int(o, "ruleIndex", e->rule);
		json_out_raw(o, "matchedValue", e->value);
	}
	trace_out(o, "trace", s, e->item);
	json_out_end(o);
}

void
evaluation_out(
	struct json_out *o, const char *key, struct subject *s, const struct evaluation *e, bool verbose)
{
	if (verbose) {
		json_out_object(o, key);
		add_explained(o, s, e);
		json_out_end(o);
	} else {
		json_out_raw(o, key, (str){ 0 });
		add_answer(o->buf, e);
	}
}
