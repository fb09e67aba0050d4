/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/impl.h"

#include "base/limits.h"

static status compile(struct compiler *c, const struct at *at, const struct json *json, unsigned depth,
	struct condition *out);

static status
compile_children(struct compiler *c, const struct at *at, const struct json *list, unsigned depth,
	struct condition *out)
{
	struct condition *children;
	size_t i = 0;

	if (list->type != JSON_ARRAY || !list->count) {
		compiler_issue(c, at, "must be an array of at least one condition");
		return OK;
	}
	/* what is too many must not take memory before it is counted */
	if (list->count > LIMIT_FLAG_CONDITIONS) {
		c->conditions = LIMIT_FLAG_CONDITIONS;
		compiler_issue(c, at, "has more than %u conditions", LIMIT_FLAG_CONDITIONS);
		return OK;
	}
	TRY(compiler_take(c, list->count, sizeof(*children), &children));
	out->as.children = children;
	out->count = list->count;
	JSON_EACH (child, list) {
		if (c->issues >= COMPILER_ENOUGH)
			return OK;
		TRY(compile(c, AT_ITEM(at, i), child, depth, &children[i]));
		i++;
	}
	return OK;
}

static status
compile_not(struct compiler *c, const struct at *at, const struct json *json, unsigned depth,
	struct condition *out)
{
	struct condition *child;

	TRY(compiler_take(c, 1, sizeof(*child), &child));
	out->as.children = child;
	out->count = 1;
	return compile(c, at, json, depth, child);
}

static status
compile_segment(struct compiler *c, const struct at *at, const struct json *json, struct condition *out)
{
	struct scalar name = scalar_of(json);

	out->kind = CONDITION_SEGMENT;
	if (name.type == SCALAR_TEXT)
		out->as.segment = set_find(&c->rs->segment_keys, &name);
	if (name.type != SCALAR_TEXT)
		compiler_issue(c, at, "must be the key of a segment");
	else if (out->as.segment == SET_NONE)
		compiler_issue(c, at, "there is no segment called \"%.*s\"", STR_ARG(name.text));
	return OK;
}

/* {"field": "plan", "$equals": "pro"} */
static status
compile_leaf(struct compiler *c, const struct at *at, const struct json *field, const struct json *comparand,
	struct condition *out)
{
	const struct at *here = AT_MEMBER(at, comparand->key);

	if (str_eq(comparand->key, STR("$segment"))) {
		if (field)
			compiler_issue(c, AT_NAME(at, "field"), "does not belong beside $segment");
		return compile_segment(c, here, comparand, out);
	}
	out->kind = CONDITION_LEAF;
	out->op = predicate_find(comparand->key);
	if (!out->op) {
		compiler_issue(c, here, "is not a known operator; known are: %.*s",
			STR_ARG(predicate_names(c->cx->arena)));
		return OK;
	}
	if (!field || field->type != JSON_STRING)
		compiler_issue(c, AT_NAME(at, "field"), "must be the name of a field of the context");
	else
		TRY(compiler_field(c, AT_NAME(at, "field"), field->text, &out->field));
	return out->op->compile(c, here, comparand, out);
}

/* The one member that says what kind of condition this is, or NULL and an issue; *out_field: the other one.
 */
static const struct json *
find_operator(struct compiler *c, const struct at *at, const struct json *json, const struct json **out_field)
{
	const struct json *found = NULL;

	JSON_EACH (m, json) {
		if (str_eq(m->key, STR("field"))) {
			*out_field = m;
			continue;
		}
		if (!m->key.len || m->key.ptr[0] != '$') {
			compiler_issue(c, AT_MEMBER(at, m->key),
				"is not a known member; a condition has a field and one operator, or $and, "
				"$or, $not");
			return NULL;
		}
		if (found) {
			compiler_issue(c, at,
				"has two operators, %.*s and %.*s; join two conditions with $and",
				STR_ARG(found->key), STR_ARG(m->key));
			return NULL;
		}
		found = m;
	}
	if (!found)
		compiler_issue(
			c, at, "has no operator; known are: %.*s", STR_ARG(predicate_names(c->cx->arena)));
	return found;
}

static const struct {
	str name;
	enum condition_kind kind;
} combinators[] = {
	{ { "$and", 4 }, CONDITION_AND },
	{ { "$or", 3 }, CONDITION_OR },
	{ { "$not", 4 }, CONDITION_NOT },
};

static status
compile(struct compiler *c, const struct at *at, const struct json *json, unsigned depth,
	struct condition *out)
{
	const struct json *op, *field = NULL;

	if (json->type != JSON_OBJECT) {
		compiler_issue(c, at, "must be a condition: an object");
		return OK;
	}
	if (depth >= LIMIT_CONDITION_DEPTH || c->conditions++ >= LIMIT_FLAG_CONDITIONS) {
		if (depth >= LIMIT_CONDITION_DEPTH)
			compiler_issue(c, at, "is nested deeper than %u conditions", LIMIT_CONDITION_DEPTH);
		else if (c->conditions == LIMIT_FLAG_CONDITIONS + 1)
			compiler_issue(c, at,
				"is one condition too many: there may be %u in all rules together",
				LIMIT_FLAG_CONDITIONS);
		return OK;
	}
	op = find_operator(c, at, json, &field);
	if (!op)
		return OK;
	for (size_t i = 0; i < sizeof(combinators) / sizeof(combinators[0]); i++) {
		const struct at *here = AT_MEMBER(at, op->key);

		if (op->key.len != combinators[i].name.len || !str_eq(op->key, combinators[i].name))
			continue;
		if (field)
			compiler_issue(
				c, AT_NAME(at, "field"), "does not belong beside %.*s", STR_ARG(op->key));
		out->kind = combinators[i].kind;
		return out->kind == CONDITION_NOT ? compile_not(c, here, op, depth + 1, out)
						  : compile_children(c, here, op, depth + 1, out);
	}
	return compile_leaf(c, at, field, op, out);
}

status
condition_compile(struct compiler *c, const struct at *at, const struct json *json, struct condition *out)
{
	return compile(c, at, json, 0, out);
}
