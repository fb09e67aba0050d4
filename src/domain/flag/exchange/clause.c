/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/exchange/convert.h"

const struct json CLAUSE_ALWAYS[1] = { { .type = JSON_BOOL, .truth = true } };
const struct json CLAUSE_NEVER[1] = { { .type = JSON_BOOL } };

/* Counts it: an item whose conditions do not end is refused long before the memory is full. */
static struct json *
begin(struct converter *c)
{
	if (++c->conditions == LIMIT_FLAG_CONDITIONS + 1)
		converter_refuse(c, NULL, "needs more than %u conditions", LIMIT_FLAG_CONDITIONS);
	return json_new_object(c->a);
}

const struct json *
clause_leaf(struct converter *c, str field, const char *op, struct json *comparand)
{
	struct json *leaf = begin(c);

	json_add_member(leaf, STR("field"), json_new_string(c->a, field));
	json_add_member(leaf, str_of(op), comparand);
	return leaf;
}

const struct json *
clause_segment(struct converter *c, str key)
{
	struct json *leaf = begin(c);

	json_add_member(leaf, STR("$segment"), json_new_string(c->a, key));
	return leaf;
}

const struct json *
clause_not(struct converter *c, const struct json *clause)
{
	struct json * not ;

	if (clause == CLAUSE_ALWAYS || clause == CLAUSE_NEVER)
		return clause == CLAUSE_ALWAYS ? CLAUSE_NEVER : CLAUSE_ALWAYS;
	if (json_get(clause, STR("$not")))
		return json_share(c->a, json_get(clause, STR("$not")));
	not = begin(c);
	json_add_member(not, STR("$not"), json_share(c->a, clause));
	return not ;
}

/* Adds a clause to a list of op; those of one that is such a list already come one by one, so that it stays
 * flat. */
static void
add(struct converter *c, struct list *list, str op, const struct json *clause)
{
	const struct json *inner = json_get(clause, op);

	if (!inner) {
		list_add(list, (str){ 0 }, json_share(c->a, clause));
		return;
	}
	JSON_EACH (child, inner)
		list_add(list, (str){ 0 }, json_share(c->a, child));
}

static const struct json *
join(struct converter *c, str op, const struct json *one, const struct json *other)
{
	struct list list = list_begin(c->a, JSON_ARRAY);
	struct json *joined;

	if (c->refused)
		return one; /* it goes nowhere */
	joined = begin(c);
	add(c, &list, op, one);
	add(c, &list, op, other);
	json_add_member(joined, op, list.json);
	return joined;
}

const struct json *
clause_and(struct converter *c, const struct json *one, const struct json *other)
{
	if (one == CLAUSE_NEVER || other == CLAUSE_ALWAYS)
		return one;
	if (other == CLAUSE_NEVER || one == CLAUSE_ALWAYS)
		return other;
	return join(c, STR("$and"), one, other);
}

const struct json *
clause_or(struct converter *c, const struct json *one, const struct json *other)
{
	if (one == CLAUSE_ALWAYS || other == CLAUSE_NEVER)
		return one;
	if (other == CLAUSE_ALWAYS || one == CLAUSE_NEVER)
		return other;
	return join(c, STR("$or"), one, other);
}

const struct json *
clause_exists(struct converter *c, str field, bool is)
{
	return clause_leaf(c, field, "$exists", json_new_bool(c->a, is));
}

const struct json *
clause_bucket(struct converter *c, str field, const struct draw_of *draw)
{
	struct json *bucket = json_new_object(c->a);

	if (draw->prefix.len)
		json_add_member(bucket, STR("prefix"), json_new_string(c->a, draw->prefix));
	if (draw->seed)
		json_add_member(bucket, STR("seed"), json_new_int(c->a, draw->seed));
	json_add_member(bucket, STR("of"), json_new_int(c->a, draw->of));
	json_add_member(bucket, STR("below"), json_new_int(c->a, draw->below));
	if (draw->scale)
		json_add_member(bucket, STR("method"), json_new_string(c->a, STR("scale")));
	return clause_leaf(c, field, "$bucket", bucket);
}
