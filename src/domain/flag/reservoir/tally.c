/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/reservoir/tally.h"

#include "base/buf.h"

#include <inttypes.h>
#include <stdlib.h>

#define VALUE_BYTES 64u /* a longer text names no group, and is cut on a card */

/* --- counting --- */

static struct tally_field *
field_of(struct tally *t, str name)
{
	for (size_t i = 0; i < t->field_count; i++)
		if (str_eq(t->fields[i].name, name))
			return &t->fields[i];
	if (t->field_count == LIMIT_SURVEY_FIELDS)
		return NULL;
	t->fields[t->field_count] = (struct tally_field){ .name = arena_str(t->arena, name) };
	return &t->fields[t->field_count++];
}

static struct tally_value *
value_of(struct tally *t, struct tally_field *f, str value)
{
	for (size_t i = 0; i < f->count; i++)
		if (str_eq(f->values[i].value, value))
			return &f->values[i];
	if (f->count == LIMIT_SURVEY_VALUES) {
		f->many = true;
		return NULL;
	}
	f->values[f->count] = (struct tally_value){ .value = arena_str(t->arena, value) };
	return &f->values[f->count++];
}

static str
text_of(const struct json *value)
{
	if (value->type == JSON_BOOL)
		return value->truth ? STR("true") : STR("false");
	return value->type == JSON_STRING || value->type == JSON_NUMBER ? value->text : (str){ 0 };
}

void
tally_context(struct tally *t, const struct json *context, bool changed)
{
	t->contexts++;
	t->changed += changed;
	JSON_EACH (member, context) {
		str text = text_of(member);
		struct tally_field *f;
		struct tally_value *v;

		if (!text.len || text.len > VALUE_BYTES || member->key.len > VALUE_BYTES ||
			str_eq(member->key, t->target))
			continue;
		f = field_of(t, member->key);
		v = f && !f->many ? value_of(t, f, text) : NULL;
		if (!v)
			continue;
		v->contexts++;
		v->changed += changed;
	}
}

void
tally_pair(struct tally *t, str key, str before, str after)
{
	for (size_t i = 0; i < t->pair_count; i++) {
		struct tally_pair *p = &t->pairs[i];

		if (str_eq(p->key, key) && str_eq(p->before, before) && str_eq(p->after, after)) {
			p->contexts++;
			return;
		}
	}
	if (t->pair_count == TALLY_PAIRS)
		return; /* the frequent ones came first, most likely; the sum is right in any case */
	t->pairs[t->pair_count++] = (struct tally_pair){ arena_str(t->arena, key),
		arena_str(t->arena, before), arena_str(t->arena, after), 1 };
}

/* --- groups: where the changed ones are more frequent than elsewhere --- */

struct group {
	str field;
	struct tally_value of;
};

static bool
stands_out(const struct tally *t, const struct tally_value *v)
{
	if (v->contexts < LIMIT_SURVEY_LEAST || v->contexts == t->contexts || !v->changed)
		return false;
	/* a fifth more often than all of them: changed / contexts > 1.2 * all changed / all contexts */
	return v->changed * t->contexts * 5 > v->contexts * t->changed * 6;
}

/* The larger share first; of the same share the larger group. */
static int
by_share(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int64_t left = x->of.changed * y->of.contexts, right = y->of.changed * x->of.contexts;

	if (left != right)
		return left > right ? -1 : 1;
	return x->of.contexts == y->of.contexts	 ? str_cmp(x->field, y->field)
	       : x->of.contexts > y->of.contexts ? -1
						 : 1;
}

static size_t
choose(const struct tally *t, struct group out[LIMIT_SURVEY_FIELDS * LIMIT_SURVEY_VALUES])
{
	size_t n = 0;

	for (size_t i = 0; i < t->field_count; i++)
		for (size_t j = 0; j < t->fields[i].count && !t->fields[i].many; j++)
			if (stands_out(t, &t->fields[i].values[j]))
				out[n++] = (struct group){ t->fields[i].name, t->fields[i].values[j] };
	if (n)
		qsort(out, n, sizeof(*out), by_share);
	return n < TALLY_GROUPS ? n : TALLY_GROUPS;
}

/* --- words --- */

/* 9812 -> 9,812 */
static str
number(struct ctx *cx, int64_t n)
{
	if (n < 1000)
		return arena_printf(cx->arena, "%" PRId64, n);
	return arena_printf(cx->arena, "%.*s,%03" PRId64, STR_ARG(number(cx, n / 1000)), n % 1000);
}

static str
share(struct ctx *cx, int64_t some, int64_t all)
{
	int64_t tenths = (some * 2000 + all) / (2 * all);

	if (tenths == 0)
		return STR("less than 0.1 %");
	if (tenths == 1000 && some < all)
		return STR("more than 99.9 %");
	return arena_printf(cx->arena, "%" PRId64 ".%" PRId64 " %%", tenths / 10, tenths % 10);
}

static str
sentence(struct ctx *cx, const struct tally *t, const struct group *groups, size_t count)
{
	struct buf b;

	if (!t->contexts)
		return STR("no contexts have been sampled of late");
	if (!t->changed)
		return arena_printf(
			cx->arena, "none of %.*s recent contexts changes", STR_ARG(number(cx, t->contexts)));
	buf_init(&b, cx->arena, LIMIT_ERROR_MESSAGE);
	buf_printf(&b, "%.*s of %.*s recent contexts change", STR_ARG(share(cx, t->changed, t->contexts)),
		STR_ARG(number(cx, t->contexts)));
	for (size_t i = 0; i < count; i++)
		buf_printf(&b, "%s%.*s with %.*s=%.*s",
			i == 0		? ", among them "
			: i + 1 < count ? ", "
					: " and ",
			STR_ARG(number(cx, groups[i].of.changed)), STR_ARG(groups[i].field),
			STR_ARG(groups[i].of.value));
	return buf_str(&b);
}

/* --- the document --- */

static void
add_text(struct ctx *cx, struct json *o, const char *key, str text)
{
	json_add_member(o, str_of(key), json_new_string(cx->arena, text));
}

static void
add_int(struct ctx *cx, struct json *o, const char *key, int64_t n)
{
	json_add_member(o, str_of(key), json_new_int(cx->arena, n));
}

static int
by_contexts(const void *a, const void *b)
{
	const struct tally_pair *x = a, *y = b;

	return x->contexts == y->contexts ? str_cmp(x->key, y->key) : x->contexts > y->contexts ? -1 : 1;
}

/* A value as it is where it is short; a long one says how long it is. */
static void
add_value(struct ctx *cx, struct json *o, const char *key, str text)
{
	struct json *value;

	if (!text.len)
		return; /* there is none */
	if (text.len > VALUE_BYTES || json_parse(cx, text, &value) != OK) {
		ctx_clear(cx);
		value = json_new_string(
			cx->arena, arena_printf(cx->arena, "(a value of %zu bytes)", text.len));
	}
	json_add_member(o, str_of(key), value);
}

static struct json *
pairs_json(struct ctx *cx, struct tally *t)
{
	struct json *list = json_new_array(cx->arena);

	if (t->pair_count)
		qsort(t->pairs, t->pair_count, sizeof(*t->pairs), by_contexts);
	for (size_t i = 0; i < t->pair_count && i < TALLY_SHOWN; i++) {
		struct json *one = json_new_object(cx->arena);

		add_text(cx, one, "key", t->pairs[i].key);
		add_value(cx, one, "before", t->pairs[i].before);
		add_value(cx, one, "after", t->pairs[i].after);
		add_int(cx, one, "contexts", t->pairs[i].contexts);
		json_add_item(list, one);
	}
	return list;
}

static struct json *
groups_json(struct ctx *cx, const struct group *groups, size_t count)
{
	struct json *list = json_new_array(cx->arena);

	for (size_t i = 0; i < count; i++) {
		struct json *one = json_new_object(cx->arena);

		add_text(cx, one, "field", groups[i].field);
		add_text(cx, one, "value", groups[i].of.value);
		add_int(cx, one, "changed", groups[i].of.changed);
		add_int(cx, one, "contexts", groups[i].of.contexts);
		json_add_item(list, one);
	}
	return list;
}

struct json *
tally_json(struct ctx *cx, struct tally *t)
{
	struct group *groups =
		arena_alloc(cx->arena, sizeof(*groups) * LIMIT_SURVEY_FIELDS * LIMIT_SURVEY_VALUES);
	size_t count = choose(t, groups);
	struct json *o = json_new_object(cx->arena);

	add_text(cx, o, "sentence", sentence(cx, t, groups, count));
	add_int(cx, o, "contexts", t->contexts);
	add_int(cx, o, "changed", t->changed);
	json_add_member(o, STR("changes"), pairs_json(cx, t));
	json_add_member(o, STR("groups"), groups_json(cx, groups, count));
	return o;
}
