/* SPDX-License-Identifier: Apache-2.0 */
#include "json/bind.h"

#include "base/check.h"
#include "base/limits.h"
#include "json/out.h"
#include "json/pointer.h"

#include <inttypes.h>

#define EACH_FIELD(f, fields) for (const struct field *f = (fields); (f)->type != FIELD_TYPE_END; (f)++)

/* The issues that the error slot keeps; beyond them there is nothing to gain from going on. */
#define ISSUES (sizeof(((struct error *)0)->issues) / sizeof(struct issue))

/* ---- names ---- */

/* Writes base_rev as baseRev into key, which has room for strlen(name); gives its length. */
static size_t
camel(const char *name, char *key)
{
	size_t len = 0;

	for (const char *p = name; *p; p++) {
		if (*p == '_' && p[1] >= 'a' && p[1] <= 'z')
			key[len++] = (char)(*++p - 'a' + 'A');
		else
			key[len++] = *p;
	}
	return len;
}

str
field_key(struct arena *a, const char *name)
{
	char *key = arena_alloc(a, strlen(name) + 1);

	return (str){ key, camel(name, key) };
}

/* Is key the camelCase of name? Without memory: this is asked for every member of every request. */
static bool
is_camel(const char *name, str key)
{
	for (; *name && key.len; name++, key = str_skip(key, 1)) {
		bool upper = *name == '_' && name[1] >= 'a' && name[1] <= 'z';

		if (upper)
			name++;
		if (key.ptr[0] != (upper ? (char)(*name - 'a' + 'A') : *name))
			return false;
	}
	return *name == '\0' && key.len == 0;
}

const struct field *
field_by_key(const struct field *fields, str key)
{
	EACH_FIELD (f, fields)
		if (f->type != FIELD_TYPE_BLOB && is_camel(f->name, key))
			return f;
	return NULL;
}

/* ---- reading ---- */

static bool
bounded_above(const struct field *f)
{
	return f->max >= f->min && (f->min != 0 || f->max != 0);
}

/* Where one value comes from and which sentences it has earned. */
struct binding {
	struct ctx *cx;
	const struct field *field;
	void *out;
	size_t issues;
};

__attribute__((format(printf, 2, 3))) static void
complain(struct binding *b, const char *format, ...)
{
	str path = pointer_key(b->cx->arena, STR(""), field_key(b->cx->arena, b->field->name));
	va_list args;

	va_start(args, format);
	fail_issue(b->cx, path, arena_vprintf(b->cx->arena, format, args));
	va_end(args);
	b->issues++;
}

static void *
place(const struct binding *b)
{
	return (char *)b->out + b->field->offset;
}

static void
put_int(struct binding *b, int64_t n)
{
	const struct field *f = b->field;

	if ((f->min != 0 || f->max != 0) && n < f->min)
		complain(b, "must be at least %" PRId64, f->min);
	else if (bounded_above(f) && n > f->max)
		complain(b, "must be at most %" PRId64, f->max);
	else
		memcpy(place(b), &n, sizeof(n));
}

static bool
is_choice(const struct field *f, str text)
{
	for (const char *const *c = f->choices; *c; c++)
		if (str_eq(str_of(*c), text))
			return true;
	return false;
}

static str
list_choices(struct arena *a, const struct field *f)
{
	struct buf b;

	buf_init(&b, a, SIZE_MAX);
	for (const char *const *c = f->choices; *c; c++) {
		if (c != f->choices)
			buf_add(&b, STR(", "));
		buf_add(&b, str_of(*c));
	}
	return buf_str(&b);
}

static void
put_text(struct binding *b, str text)
{
	const struct field *f = b->field;
	int64_t len = (int64_t)text.len;

	if (f->choices && !is_choice(f, text))
		complain(b, "must be one of: %.*s", STR_ARG(list_choices(b->cx->arena, f)));
	else if (len < f->min)
		complain(b, f->min == 1 ? "must not be empty" : "must be at least %" PRId64 " bytes long",
			f->min);
	else if (bounded_above(f) && len > f->max)
		complain(b, "must be at most %" PRId64 " bytes long", f->max);
	else
		memcpy(place(b), &text, sizeof(text));
}

static void
put_bool(struct binding *b, bool truth)
{
	memcpy(place(b), &truth, sizeof(truth));
}

static void
put_value(struct binding *b, const struct json *value)
{
	int64_t n;

	switch (b->field->type) {
	case FIELD_TYPE_INT:
		if (json_to_int(value, &n))
			put_int(b, n);
		else
			complain(b, "must be a whole number");
		break;
	case FIELD_TYPE_BOOL:
		if (value->type == JSON_BOOL)
			put_bool(b, value->truth);
		else
			complain(b, "must be true or false, not %s", json_type_name(value->type));
		break;
	case FIELD_TYPE_TEXT:
		if (value->type == JSON_STRING)
			put_text(b, value->text);
		else
			complain(b, "must be a string, not %s", json_type_name(value->type));
		break;
	case FIELD_TYPE_JSON:
		memcpy(place(b), &value, sizeof(void *));
		break;
	case FIELD_TYPE_BLOB:
	case FIELD_TYPE_END:
		break; /* rows only: field_by_key does not give them */
	}
}

str
field_keys(struct arena *a, const struct field *fields)
{
	struct buf b;

	buf_init(&b, a, SIZE_MAX);
	EACH_FIELD (f, fields) {
		if (f->type == FIELD_TYPE_BLOB)
			continue;
		if (b.len)
			buf_add(&b, STR(", "));
		buf_add(&b, field_key(a, f->name));
	}
	return b.len ? buf_str(&b) : STR("none");
}

static void
refuse_unknown(struct ctx *cx, const struct field *fields, str key)
{
	str accepted = field_keys(cx->arena, fields);

	fail_issue(cx, pointer_key(cx->arena, STR(""), key),
		arena_printf(cx->arena, "is not a known member; accepted: %.*s", STR_ARG(accepted)));
}

/* null is the same as absent, except where any document is taken: there it is one. */
static bool
is_absent(const struct field *f, const struct json *value)
{
	return !value || (value->type == JSON_NULL && f->type != FIELD_TYPE_JSON);
}

static size_t
bind_members(struct ctx *cx, const struct json *object, const struct field *fields, void *out)
{
	struct binding b = { .cx = cx, .out = out };

	JSON_EACH (m, object) {
		b.field = field_by_key(fields, m->key);
		if (!b.field) {
			refuse_unknown(cx, fields, m->key);
			b.issues++;
		} else if (!is_absent(b.field, m)) {
			put_value(&b, m);
		}
		if (b.issues >= ISSUES)
			return b.issues;
	}
	EACH_FIELD (f, fields) {
		b.field = f;
		if (f->need && f->type != FIELD_TYPE_BLOB &&
			is_absent(f, json_get(object, field_key(cx->arena, f->name))))
			complain(&b, "is needed");
	}
	return b.issues;
}

/* The sentence of the whole: the first issue, so that even a log line helps. */
static status
refuse(struct ctx *cx)
{
	const struct issue *first = &cx->error.issues[0];

	return fail(cx, E_INVALID, "%.*s %.*s", STR_ARG(first->path.len ? first->path : STR("the input")),
		STR_ARG(first->message));
}

status
json_bind(struct ctx *cx, const struct json *object, const struct field *fields, size_t size, void *out)
{
	void *filled = arena_alloc(cx->arena, size);

	ctx_clear(cx);
	if (object->type != JSON_OBJECT) {
		fail_issue(cx, STR(""),
			arena_printf(cx->arena, "must be an object, not %s", json_type_name(object->type)));
		return refuse(cx);
	}
	memcpy(filled, out, size);
	if (bind_members(cx, object, fields, filled) > 0)
		return refuse(cx);
	memcpy(out, filled, size);
	return OK;
}

static void
put_document(struct binding *b, str text)
{
	struct json *doc;

	if (json_parse(b->cx, text, &doc) != OK)
		complain(b, "must be JSON: %.*s", STR_ARG(ctx_message(b->cx, b->cx->error.code)));
	else
		put_value(b, doc);
}

status
json_bind_text(struct ctx *cx, const struct field *f, str text, void *out)
{
	struct binding b = { .cx = cx, .field = f, .out = out };
	int64_t n;

	ctx_clear(cx);
	if (f->type == FIELD_TYPE_JSON)
		put_document(&b, text);
	else if (f->type == FIELD_TYPE_INT && str_to_int(text, &n))
		put_int(&b, n);
	else if (f->type == FIELD_TYPE_INT)
		complain(&b, "must be a whole number");
	else if (f->type == FIELD_TYPE_BOOL && (str_eq(text, STR("true")) || str_eq(text, STR("false"))))
		put_bool(&b, text.ptr[0] == 't');
	else if (f->type == FIELD_TYPE_BOOL)
		complain(&b, "must be true or false");
	else if (!str_is_utf8(text) || str_find(text, '\0') < text.len)
		complain(&b, "must be UTF-8 text");
	else
		put_text(&b, text);
	return b.issues ? refuse(cx) : OK;
}

/* ---- writing ---- */

void
json_out_fields(struct json_out *o, const struct field *fields, const void *from)
{
	EACH_FIELD (f, fields) {
		const void *at = (const char *)from + f->offset;
		char key[64];

		if (f->type == FIELD_TYPE_BLOB || (f->type == FIELD_TYPE_JSON && !*(struct json *const *)at))
			continue;
		CHECK(strlen(f->name) < sizeof(key));
		json_out_key(o, (str){ key, camel(f->name, key) });
		if (f->type == FIELD_TYPE_INT)
			json_out_int(o, NULL, *(const int64_t *)at);
		else if (f->type == FIELD_TYPE_BOOL)
			json_out_bool(o, NULL, *(const bool *)at);
		else if (f->type == FIELD_TYPE_TEXT)
			json_out_str(o, NULL, *(const str *)at);
		else
			json_out_value(o, NULL, *(struct json *const *)at);
	}
}

/* ---- describing ---- */

static void
add_bound(struct arena *a, struct json *schema, const char *keyword, int64_t n)
{
	json_add_member(schema, str_of(keyword), json_new_int(a, n));
}

/*
 * The schema never refuses what json_bind takes. It counts characters where we count bytes:
 * a text of n bytes has at most n characters, and at least a quarter of n.
 */
static void
add_bounds(struct arena *a, struct json *schema, const struct field *f)
{
	bool text = f->type == FIELD_TYPE_TEXT;

	if (f->min == 0 && f->max == 0)
		return;
	if (!text || f->min > 0)
		add_bound(a, schema, text ? "minLength" : "minimum", text ? (f->min + 3) / 4 : f->min);
	if (bounded_above(f))
		add_bound(a, schema, text ? "maxLength" : "maximum", f->max);
}

/* The field's sentence, and the bound that maxLength cannot say: it counts characters. */
static str
description(struct arena *a, const struct field *f)
{
	const char *doc = f->doc ? f->doc : "";

	if (f->type != FIELD_TYPE_TEXT || f->choices || !bounded_above(f))
		return str_of(doc);
	return arena_printf(a, "%s%sAt most %" PRId64 " bytes of UTF-8.", doc, *doc ? " " : "", f->max);
}

static struct json *
describe(struct arena *a, const struct field *f)
{
	static const char *const types[] = {
		[FIELD_TYPE_INT] = "integer",
		[FIELD_TYPE_BOOL] = "boolean",
		[FIELD_TYPE_TEXT] = "string",
		[FIELD_TYPE_JSON] = NULL,
	};
	struct json *schema = json_new_object(a);
	str doc = description(a, f);

	if (types[f->type])
		json_add_member(schema, STR("type"), json_new_string(a, str_of(types[f->type])));
	if (doc.len)
		json_add_member(schema, STR("description"), json_new_string(a, doc));
	if (f->type == FIELD_TYPE_INT || f->type == FIELD_TYPE_TEXT)
		add_bounds(a, schema, f);
	if (f->choices) {
		struct json *choices = json_new_array(a);

		for (const char *const *c = f->choices; *c; c++)
			json_add_item(choices, json_new_string(a, str_of(*c)));
		json_add_member(schema, STR("enum"), choices);
	}
	return schema;
}

struct json *
field_schema(struct arena *a, const struct field *fields)
{
	struct json *schema = json_new_object(a), *properties = json_new_object(a),
		    *required = json_new_array(a);

	EACH_FIELD (f, fields) {
		if (f->type == FIELD_TYPE_BLOB)
			continue;
		json_add_member(properties, field_key(a, f->name), describe(a, f));
		if (f->need)
			json_add_item(required, json_new_string(a, field_key(a, f->name)));
	}
	json_add_member(schema, STR("type"), json_new_string(a, STR("object")));
	json_add_member(schema, STR("properties"), properties);
	if (required->count)
		json_add_member(schema, STR("required"), required);
	json_add_member(schema, STR("additionalProperties"), json_new_bool(a, false));
	return schema;
}

/* --- arrays of strings --- */

static status
refuse_strings(struct ctx *cx, str path, size_t max)
{
	str message = arena_printf(cx->arena, "must be an array of at most %zu strings", max);

	ctx_clear(cx);
	fail_issue(cx, path, message);
	return fail(cx, E_INVALID, "%.*s %.*s", STR_ARG(path), STR_ARG(message));
}

status
json_bind_strings(struct ctx *cx, const struct json *array, str path, size_t max, const str **out_items,
	size_t *out_count)
{
	size_t count = array ? array->count : 0, n = 0;
	str *items;

	if (array && (array->type != JSON_ARRAY || count > max))
		return refuse_strings(cx, path, max);
	items = arena_alloc(cx->arena, (count + 1) * sizeof(*items));
	for (const struct json *item = array ? array->child : NULL; item; item = item->next) {
		if (item->type != JSON_STRING || item->text.len > LIMIT_RULE)
			return refuse_strings(cx, path, max);
		items[n++] = item->text;
	}
	*out_items = items;
	*out_count = n;
	return OK;
}
