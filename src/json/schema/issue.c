/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "json/pointer.h"
#include "json/schema/impl.h"

#define SHOWN_BYTES	 80   /* of one value in a sentence */
#define STEPS_PER_ISSUE	 500  /* sentences take memory until the request ends: a bomb must not make many */
#define STEPS_PER_CHOICE 2000 /* two lists of them */

/* --- where --- */

static void
add_path(struct buf *b, const struct frame *f)
{
	const struct frame *chain[LIMIT_JSON_DEPTH + 2];
	size_t count = 0;

	for (; f && count < sizeof(chain) / sizeof(chain[0]); f = f->up)
		if (f->step != STEP_HERE)
			chain[count++] = f;
	while (count--) {
		if (chain[count]->step == STEP_MEMBER)
			pointer_add_key(b, chain[count]->value->key);
		else
			buf_printf(b, "/%zu", chain[count]->index);
	}
}

static str
path_of(struct check *c, const struct frame *f, const str *member)
{
	struct buf b;

	buf_init(&b, c->cx->arena, LIMIT_ERROR_MESSAGE); /* longer keys are nobody's */
	add_path(&b, f);
	if (member)
		pointer_add_key(&b, *member);
	return buf_str(&b);
}

/* --- what --- */

str
issue_text(str s)
{
	if (s.len <= SHOWN_BYTES)
		return s;
	s.len = SHOWN_BYTES;
	while (s.len && ((unsigned char)s.ptr[s.len] & 0xc0) == 0x80)
		s.len--;
	return s;
}

str
issue_value(struct check *c, const struct json *value)
{
	str text = issue_text(value->text);
	const char *more = text.len < value->text.len ? "..." : "";

	switch (value->type) {
	case JSON_NULL:
		return STR("null");
	case JSON_BOOL:
		return value->truth ? STR("true") : STR("false");
	case JSON_NUMBER:
		return arena_printf(c->cx->arena, "%.*s%s", STR_ARG(text), more);
	case JSON_STRING:
		return arena_printf(c->cx->arena, "\"%.*s%s\"", STR_ARG(text), more);
	case JSON_ARRAY:
		return value->count ? STR("the array that the schema gives") : STR("[]");
	case JSON_OBJECT:
		break;
	}
	return value->count ? STR("the object that the schema gives") : STR("{}");
}

/* The same place may be reached in several ways and say the same each time. */
static void
add(struct found_list *list, struct found one)
{
	for (size_t i = 0; i < list->count; i++)
		if (str_eq(list->items[i].path, one.path) && str_eq(list->items[i].message, one.message))
			return;
	if (list->count < LIMIT_SCHEMA_ISSUES)
		list->items[list->count++] = one;
}

bool
issue_wanted(const struct check *c)
{
	return c->issues && c->issues->count < LIMIT_SCHEMA_ISSUES && !c->stopped;
}

__attribute__((format(printf, 5, 0))) static void
add_printed(struct check *c, const struct frame *f, const str *member, enum issue_kind kind,
	const char *format, va_list args)
{
	struct found one = { .kind = kind, .path = path_of(c, f, member) };

	one.message = arena_vprintf(c->cx->arena, format, args);
	if (one.message.len > LIMIT_ERROR_MESSAGE)
		one.message.len = LIMIT_ERROR_MESSAGE;
	add(c->issues, one);
	(void)check_charge(c, STEPS_PER_ISSUE);
}

void
issue_add(struct check *c, const struct frame *f, enum issue_kind kind, const char *format, ...)
{
	va_list args;

	if (!issue_wanted(c))
		return;
	va_start(args, format);
	add_printed(c, f, NULL, kind, format, args);
	va_end(args);
}

void
issue_add_member(struct check *c, const struct frame *f, str name, const char *format, ...)
{
	va_list args;

	if (!issue_wanted(c))
		return;
	va_start(args, format);
	add_printed(c, f, &name, ISSUE_OTHER, format, args);
	va_end(args);
}

/* "must be a string", "must be a string, an integer or null" */
void
issue_add_types(struct check *c, const struct frame *f, uint32_t types)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
		{ 1u << JSON_STRING, "a string" },
		{ 1u << JSON_NUMBER, "a number" },
		{ TYPE_INTEGER, "a whole number" },
		{ 1u << JSON_BOOL, "true or false" },
		{ 1u << JSON_ARRAY, "an array" },
		{ 1u << JSON_OBJECT, "an object" },
		{ 1u << JSON_NULL, "null" },
	};
	struct found one = { .kind = ISSUE_TYPE, .types = types };
	struct buf b;

	if (!issue_wanted(c))
		return;
	buf_init(&b, c->cx->arena, LIMIT_ERROR_MESSAGE);
	buf_add(&b, STR("must be "));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(types & names[i].bit))
			continue;
		types &= ~names[i].bit;
		buf_add(&b, str_of(names[i].name));
		if (types)
			buf_add(&b, types & (types - 1) ? STR(", ") : STR(" or "));
	}
	one.path = path_of(c, f, NULL);
	one.message = buf_str(&b);
	add(c->issues, one);
	(void)check_charge(c, STEPS_PER_ISSUE);
}

/* --- which branch came closest --- */

/*
 * How far a branch is from taking the value; less is closer. A branch for another type, or for
 * another "kind" (a const or enum at the value or right below it), was hardly meant; among the
 * others the one with the fewest complaints was.
 */
static size_t
distance(const struct found_list *list, str path)
{
	size_t d = list->count;

	for (size_t i = 0; i < list->count; i++) {
		const struct found *one = &list->items[i];
		bool same = one->path.len == path.len;
		str below = str_skip(one->path, path.len + 1);
		if (same && one->kind == ISSUE_TYPE)
			d += 10000;
		else if (one->kind == ISSUE_CHOICE && (same || str_find(below, '/') == below.len))
			d += 1000;
	}
	return d;
}

static bool
only_types(const struct found_list *list, str path, uint32_t *types)
{
	if (list->count != 1 || list->items[0].kind != ISSUE_TYPE || list->items[0].path.len != path.len)
		return false;
	*types |= list->items[0].types;
	return true;
}

static bool
new_list(struct check *c, struct found_list *out)
{
	*out = (struct found_list){ .items = ARENA_TRY_ARRAY(
					    c->cx->arena, struct found, LIMIT_SCHEMA_ISSUES) };
	if (!out->items)
		check_stop(c);
	return out->items != NULL;
}

/* Runs one branch again, this time gathering what it says. */
static void
gather(struct check *c, struct frame *f, const struct node *n, struct found_list *list)
{
	struct found_list *issues = c->issues;

	list->count = 0;
	c->issues = list;
	(void)check_here(c, f, n);
	c->issues = issues;
}

void
issue_add_closest(struct check *c, struct frame *f, const struct rule *r)
{
	struct found_list best, one;
	size_t best_distance = SIZE_MAX;
	uint32_t types = 0;
	bool all_types = true;
	str path;

	if (!issue_wanted(c) || !check_charge(c, STEPS_PER_CHOICE) || !new_list(c, &best) ||
		!new_list(c, &one))
		return;
	path = path_of(c, f, NULL);
	for (uint32_t i = 0; i < r->count && !c->stopped; i++) {
		gather(c, f, r->entries[i].node, &one);
		all_types = only_types(&one, path, &types) && all_types;
		if (one.count && distance(&one, path) < best_distance) {
			struct found_list swap = best;
			best_distance = distance(&one, path);
			best = one;
			one = swap;
		}
	}
	if (all_types) {
		issue_add_types(c, f, types);
		return;
	}
	for (size_t i = 0; i < best.count; i++)
		add(c->issues, best.items[i]);
}
