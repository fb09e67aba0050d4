/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include "base/check.h"
#include "base/limits.h"

#include <inttypes.h>
#include <stdlib.h>

#define FEW 16u /* members among which one is simply looked for */

const struct json *
json_get(const struct json *o, str key)
{
	if (o->type != JSON_OBJECT)
		return NULL;
	JSON_EACH (m, o)
		if (str_eq(m->key, key))
			return m;
	return NULL;
}

const struct json *
json_at(const struct json *a, size_t index)
{
	if (a->type != JSON_ARRAY || index >= a->count)
		return NULL;
	JSON_EACH (item, a)
		if (index-- == 0)
			return item;
	return NULL;
}

const char *
json_type_name(enum json_type t)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",
		[JSON_BOOL] = "boolean",
		[JSON_NUMBER] = "number",
		[JSON_STRING] = "string",
		[JSON_ARRAY] = "array",
		[JSON_OBJECT] = "object",
	};

	return names[t];
}

/*
 * UTF-8 sorts by code point, and UTF-16 does too but for one thing: code points
 * above U+FFFF are written with surrogates (0xd800...), so they come before
 * U+E000 to U+FFFF. In UTF-8 these begin with 0xf0 and up, and 0xee or 0xef.
 */
int
json_key_cmp(str a, str b)
{
	size_t n = a.len < b.len ? a.len : b.len, i = 0;
	unsigned char x, y;

	while (i < n && a.ptr[i] == b.ptr[i])
		i++;
	if (i == n)
		return (a.len > b.len) - (a.len < b.len);
	x = (unsigned char)a.ptr[i];
	y = (unsigned char)b.ptr[i];
	if (x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0))
		return x >= 0xf0 ? -1 : 1;
	return x < y ? -1 : 1;
}

static int
compare_members(const void *a, const void *b)
{
	return json_key_cmp((*(const struct json *const *)a)->key, (*(const struct json *const *)b)->key);
}

const struct json **
json_sorted(struct arena *a, const struct json *object)
{
	const struct json **sorted = ARENA_TRY_ARRAY(a, const struct json *, (size_t)object->count + 1);
	size_t n = 0;

	if (!sorted)
		return NULL;
	JSON_EACH (m, object)
		sorted[n++] = m;
	qsort(sorted, n, sizeof(struct json *), compare_members);
	return sorted;
}

/* Objects with many members, in different order: sorted, so that no input makes this quadratic. */
static bool
equal_sorted(const struct json *a, const struct json *b)
{
	const struct json **in_a, **in_b;
	struct arena scratch;
	bool equal = true;

	arena_init(&scratch, SIZE_MAX);
	in_a = json_sorted(&scratch, a);
	in_b = json_sorted(&scratch, b);
	CHECK(in_a && in_b);
	for (uint32_t i = 0; i < a->count && equal; i++)
		equal = str_eq(in_a[i]->key, in_b[i]->key) && json_equal(in_a[i], in_b[i]);
	arena_done(&scratch);
	return equal;
}

static bool
equal_objects(const struct json *a, const struct json *b)
{
	const struct json *twin = b->child;

	JSON_EACH (m, a) {
		/* mostly the order is the same, too */
		if (!str_eq(m->key, twin->key)) {
			if (a->count > FEW)
				return equal_sorted(a, b);
			twin = json_get(b, m->key);
		}
		if (!twin || !json_equal(m, twin))
			return false;
		twin = twin->next ? twin->next : b->child;
	}
	return true;
}

static bool
equal_arrays(const struct json *a, const struct json *b)
{
	const struct json *twin = b->child;

	JSON_EACH (item, a) {
		if (!json_equal(item, twin))
			return false;
		twin = twin->next;
	}
	return true;
}

bool
json_equal(const struct json *a, const struct json *b)
{
	if (a->type != b->type || a->count != b->count)
		return false;
	switch (a->type) {
	case JSON_NULL:
		return true;
	case JSON_BOOL:
		return a->truth == b->truth;
	case JSON_NUMBER:
		return json_number_cmp(a, b) == 0;
	case JSON_STRING:
		return str_eq(a->text, b->text);
	case JSON_ARRAY:
		return equal_arrays(a, b);
	case JSON_OBJECT:
		break;
	}
	return equal_objects(a, b);
}

static struct json *
new_value(struct arena *a, enum json_type type)
{
	struct json *value = ARENA_NEW(a, struct json);

	value->type = type;
	return value;
}

struct json *
json_new_object(struct arena *a)
{
	return new_value(a, JSON_OBJECT);
}

struct json *
json_new_array(struct arena *a)
{
	return new_value(a, JSON_ARRAY);
}

struct json *
json_new_string(struct arena *a, str text)
{
	struct json *value = new_value(a, JSON_STRING);

	value->text = text;
	return value;
}

struct json *
json_new_int(struct arena *a, int64_t n)
{
	struct json *value = new_value(a, JSON_NUMBER);

	value->text = arena_int(a, n);
	return value;
}

struct json *
json_new_bool(struct arena *a, bool truth)
{
	struct json *value = new_value(a, JSON_BOOL);

	value->truth = truth;
	return value;
}

struct json *
json_new_null(struct arena *a)
{
	return new_value(a, JSON_NULL);
}

struct json *
json_share(struct arena *a, const struct json *value)
{
	struct json *twin = ARENA_NEW(a, struct json);

	*twin = *value;
	twin->key = (str){ 0 };
	twin->next = NULL;
	return twin;
}

/* Walks to the end: documents of ours are small. */
static void
append(struct json *parent, struct json *value)
{
	struct json **tail = &parent->child;

	CHECK(value->next == NULL);
	while (*tail)
		tail = &(*tail)->next;
	*tail = value;
	parent->count++;
}

void
json_add_member(struct json *object, str key, struct json *value)
{
	CHECK(object->type == JSON_OBJECT);
	value->key = key;
	append(object, value);
}

void
json_add_item(struct json *array, struct json *value)
{
	CHECK(array->type == JSON_ARRAY);
	append(array, value);
}
