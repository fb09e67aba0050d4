/* SPDX-License-Identifier: Apache-2.0 */
#include "json/schema/impl.h"

#include <inttypes.h>
#include <stdlib.h>

#define BYTES_PER_STEP 8   /* text that is looked at costs as much as so many keywords */
#define COMPARE_STEPS  3   /* of a value that is compared: members may have to be sorted first */
#define SORT_STEPS     20  /* of one that is hashed and sorted */
#define FORMAT_STEPS   8   /* of a byte that a format looks at */
#define NUMBER_STEPS   4   /* of two numbers that are compared */
#define DIVIDE_STEPS   120 /* of one that is divided: up to 60 remainders of 128 bits */

/* "1 character", "3 characters" */
#define PLURAL(n) ((n) == 1 ? "" : "s")

CHECKER(check_type)
{
	const struct json *v = f->value;

	if (r->types & 1u << v->type)
		return true;
	if (v->type == JSON_NUMBER && (r->types & TYPE_INTEGER) && exact_is_integer(v))
		return true;
	issue_add_types(c, f, r->types);
	return false;
}

static uint64_t
count_nodes(const struct json *v)
{
	uint64_t n = 1 + v->text.len / BYTES_PER_STEP;

	JSON_EACH (child, v)
		n += 1 + child->key.len / BYTES_PER_STEP + count_nodes(child);
	return n;
}

/* Comparing is charged by all that is in the value: what differs in kind or count is seen at once. */
static bool
equals(struct check *c, const struct json *a, const struct json *b)
{
	if (!check_charge(c, 1))
		return false;
	if (a->type != b->type || a->count != b->count)
		return false;
	return check_charge(c, COMPARE_STEPS * count_nodes(a)) && json_equal(a, b);
}

CHECKER(check_const)
{
	if (equals(c, f->value, r->value))
		return true;
	if (issue_wanted(c))
		issue_add(c, f, ISSUE_CHOICE, "must be %.*s", STR_ARG(issue_value(c, r->value)));
	return false;
}

static str
list_values(struct check *c, const struct json *values)
{
	str text = STR("");
	size_t shown = 0;

	JSON_EACH (v, values) {
		if (shown++ == 10 || text.len > 200)
			return arena_printf(c->cx->arena, "%.*s, ...", STR_ARG(text));
		text = arena_printf(c->cx->arena, "%.*s%s%.*s", STR_ARG(text), shown > 1 ? ", " : "",
			STR_ARG(issue_value(c, v)));
	}
	return text;
}

CHECKER(check_enum)
{
	JSON_EACH (v, r->value)
		if (equals(c, f->value, v))
			return true;
	if (issue_wanted(c) && r->value->count)
		issue_add(c, f, ISSUE_CHOICE, "must be one of: %.*s", STR_ARG(list_values(c, r->value)));
	else
		issue_add(c, f, ISSUE_CHOICE, "is not allowed: there is no value to choose from");
	return false;
}

/* --- numbers --- */

static bool
compare(struct check *c, struct frame *f, const struct rule *r, int low, int high, const char *must_be)
{
	int order;

	if (!check_charge(c, NUMBER_STEPS + (f->value->text.len + r->value->text.len) / BYTES_PER_STEP))
		return false;
	order = json_number_cmp(f->value, r->value);
	order = order < 0 ? -1 : order > 0;
	if (order >= low && order <= high)
		return true;
	if (issue_wanted(c))
		issue_add(c, f, ISSUE_OTHER, "must be %s %.*s", must_be, STR_ARG(issue_value(c, r->value)));
	return false;
}

CHECKER(check_minimum)
{
	return compare(c, f, r, 0, 1, "at least");
}

CHECKER(check_maximum)
{
	return compare(c, f, r, -1, 0, "at most");
}

CHECKER(check_above)
{
	return compare(c, f, r, 1, 1, "greater than");
}

CHECKER(check_below)
{
	return compare(c, f, r, -1, -1, "less than");
}

CHECKER(check_multiple)
{
	if (!check_charge(c, DIVIDE_STEPS + f->value->text.len))
		return false;
	if (exact_is_multiple(f->value, r->value))
		return true;
	if (issue_wanted(c))
		issue_add(c, f, ISSUE_OTHER, "must be a multiple of %.*s", STR_ARG(issue_value(c, r->value)));
	return false;
}

/* --- strings --- */

static uint64_t
count_characters(str s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
	return n;
}

CHECKER(check_min_length)
{
	if (count_characters(f->value->text) >= r->limit)
		return check_charge(c, f->value->text.len / BYTES_PER_STEP);
	if (r->limit == 1)
		issue_add(c, f, ISSUE_OTHER, "must not be empty");
	else
		issue_add(c, f, ISSUE_OTHER, "must be at least %" PRIu64 " characters long", r->limit);
	return false;
}

CHECKER(check_max_length)
{
	if (count_characters(f->value->text) <= r->limit)
		return check_charge(c, f->value->text.len / BYTES_PER_STEP);
	issue_add(c, f, ISSUE_OTHER, "must be at most %" PRIu64 " character%s long", r->limit,
		PLURAL(r->limit));
	return false;
}

CHECKER(check_pattern)
{
	if (!check_charge_regex(c, r->regex, f->value->text))
		return false;
	if (regex_find(r->regex, f->value->text))
		return true;
	if (issue_wanted(c))
		issue_add(
			c, f, ISSUE_OTHER, "must match the pattern %.*s", STR_ARG(issue_value(c, r->value)));
	return false;
}

CHECKER(check_format)
{
	if (!check_charge(c, (uint64_t)FORMAT_STEPS * (1 + f->value->text.len)))
		return false;
	if (format_matches(r->format, f->value->text))
		return true;
	issue_add(c, f, ISSUE_OTHER, "must be a valid %.*s", STR_ARG(issue_text(r->value->text)));
	return false;
}

/* --- arrays and objects --- */

static bool
has_at_least(struct check *c, struct frame *f, uint64_t least, const char *what, const char *whats)
{
	if (f->value->count >= least)
		return true;
	issue_add(c, f, ISSUE_OTHER, "must have at least %" PRIu64 " %s", least, least == 1 ? what : whats);
	return false;
}

static bool
has_at_most(struct check *c, struct frame *f, uint64_t most, const char *what, const char *whats)
{
	if (f->value->count <= most)
		return true;
	issue_add(c, f, ISSUE_OTHER, "must have at most %" PRIu64 " %s", most, most == 1 ? what : whats);
	return false;
}

CHECKER(check_min_items)
{
	return has_at_least(c, f, r->limit, "item", "items");
}

CHECKER(check_max_items)
{
	return has_at_most(c, f, r->limit, "item", "items");
}

CHECKER(check_min_members)
{
	return has_at_least(c, f, r->limit, "property", "properties");
}

CHECKER(check_max_members)
{
	return has_at_most(c, f, r->limit, "property", "properties");
}

/* --- uniqueItems --- */

struct hashed {
	uint64_t hash;
	const struct json *value;
	size_t index;
};

static uint64_t
hash_text(str s, uint64_t h)
{
	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (unsigned char)s.ptr[i]) * 0x100000001b3u;
	return h;
}

static uint64_t
mix(uint64_t h)
{
	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

/* Equal values have equal hashes; members count in any order. */
static uint64_t
hash(const struct json *v)
{
	uint64_t h = 0xcbf29ce484222325u + v->type;

	switch (v->type) {
	case JSON_NULL:
		break;
	case JSON_BOOL:
		h += v->truth;
		break;
	case JSON_NUMBER:
		h = exact_hash(v, h);
		break;
	case JSON_STRING:
		h = hash_text(v->text, h);
		break;
	case JSON_ARRAY:
		JSON_EACH (item, v)
			h = mix(h) + hash(item);
		break;
	case JSON_OBJECT:
		JSON_EACH (member, v)
			h += mix(hash_text(member->key, hash(member)));
		break;
	}
	return mix(h);
}

static int
compare_hashes(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Sorted by hash, equal values stand near each other; only equal hashes are compared, each such step charged.
 */
static bool
find_twins(struct check *c, struct hashed *items, size_t count, size_t *out_first, size_t *out_second)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count && items[j].hash == items[i].hash; j++) {
			if (!equals(c, items[i].value, items[j].value))
				continue;
			*out_first = items[i].index;
			*out_second = items[j].index;
			return true;
		}
	return false;
}

CHECKER(check_unique)
{
	struct arena_mark before = arena_mark(&c->scratch);
	struct hashed *items = ARENA_TRY_ARRAY(&c->scratch, struct hashed, f->value->count);
	size_t count = 0, first, second;
	bool twins;

	(void)r;
	if (!items || !check_charge(c, SORT_STEPS * count_nodes(f->value))) {
		check_stop(c);
		return false;
	}
	JSON_EACH (item, f->value) {
		items[count] = (struct hashed){ .hash = hash(item), .value = item, .index = count };
		count++;
	}
	if (count)
		qsort(items, count, sizeof(*items), compare_hashes);
	twins = find_twins(c, items, count, &first, &second);
	arena_rewind(&c->scratch, before);
	if (twins)
		issue_add(c, f, ISSUE_OTHER, "must not have the same item twice (%zu and %zu are equal)",
			first, second);
	return !twins;
}
