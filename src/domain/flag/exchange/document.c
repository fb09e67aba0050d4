/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/exchange/convert.h"

#include "base/buf.h"
#include "domain/flag/ruleset.h"
#include "json/out.h"

static const char *const names[] = { "countersign", "flagd", "unleash" };

const char *
exchange_format_name(enum exchange_format f)
{
	return names[f];
}

bool
exchange_format_find(str name, enum exchange_format *out_format)
{
	for (unsigned f = 0; f < EXCHANGE_FORMATS; f++)
		if (str_eq(name, str_of(names[f]))) {
			*out_format = (enum exchange_format)f;
			return true;
		}
	return false;
}

/* --- writing --- */

static void
indent(struct buf *b, unsigned depth)
{
	buf_add_char(b, '\n');
	for (unsigned i = 0; i < depth; i++)
		buf_add(b, STR("  "));
}

static status write_value(struct ctx *cx, struct buf *b, const struct json *value, unsigned depth);

static status
write_members(struct ctx *cx, struct buf *b, const struct json *object, unsigned depth)
{
	const struct json **sorted = json_sorted(cx->arena, object);

	if (!sorted)
		return fail(cx, E_TOO_LARGE, "the ruleset is too large for one text");
	for (uint32_t i = 0; i < object->count; i++) {
		if (i)
			buf_add_char(b, ',');
		indent(b, depth);
		json_out_quoted(b, sorted[i]->key);
		buf_add(b, STR(": "));
		TRY(write_value(cx, b, sorted[i], depth));
	}
	return OK;
}

static status
write_items(struct ctx *cx, struct buf *b, const struct json *array, unsigned depth)
{
	JSON_EACH (item, array) {
		if (item != array->child)
			buf_add_char(b, ',');
		indent(b, depth);
		TRY(write_value(cx, b, item, depth));
	}
	return OK;
}

static void
write_scalar(struct buf *b, const struct json *value)
{
	switch (value->type) {
	case JSON_NULL:
		buf_add(b, STR("null"));
		break;
	case JSON_BOOL:
		buf_add(b, value->truth ? STR("true") : STR("false"));
		break;
	case JSON_NUMBER:
		buf_add(b, value->text);
		break;
	case JSON_STRING:
	case JSON_ARRAY: /* the caller has seen to it that they have nothing in them */
	case JSON_OBJECT:
		json_out_quoted(b, value->text);
		break;
	}
}

static status
write_value(struct ctx *cx, struct buf *b, const struct json *value, unsigned depth)
{
	bool is_object = value->type == JSON_OBJECT;

	if (!is_object && value->type != JSON_ARRAY) {
		write_scalar(b, value);
		return OK;
	}
	buf_add_char(b, is_object ? '{' : '[');
	if (is_object)
		TRY(write_members(cx, b, value, depth + 1));
	else
		TRY(write_items(cx, b, value, depth + 1));
	if (value->count)
		indent(b, depth);
	buf_add_char(b, is_object ? '}' : ']');
	return OK;
}

status
exchange_write(struct ctx *cx, const struct json *ruleset, str *out_text)
{
	struct json *file = json_new_object(cx->arena);
	struct list members = { file, &file->child };
	struct buf b;

	list_add(&members, STR("countersign"), json_new_string(cx->arena, STR(EXCHANGE_VERSION)));
	JSON_EACH (m, ruleset)
		list_add(&members, m->key, json_share(cx->arena, m));
	buf_init(&b, cx->arena, LIMIT_JSON_STORED_BYTES);
	TRY(write_value(cx, &b, file, 0));
	buf_add_char(&b, '\n');
	return buf_finish(&b, out_text);
}

/* --- reading --- */

static status
read_own(struct ctx *cx, const struct json *file, struct exchange *out)
{
	const struct json *version = json_get(file, STR("countersign"));
	struct list members = list_begin(cx->arena, JSON_OBJECT);
	struct ruleset *rs = NULL;

	if (!version || version->type != JSON_STRING || !str_eq(version->text, STR(EXCHANGE_VERSION))) {
		fail_issue(cx, STR("/countersign"), STR("must be \"" EXCHANGE_VERSION "\""));
		return fail(cx, E_INVALID,
			"this is not a file of `countersign export`: /countersign must be \"" EXCHANGE_VERSION
			"\"");
	}
	JSON_EACH (m, file)
		if (m != version)
			list_add(&members, m->key, json_share(cx->arena, m));
	TRY(ruleset_compile(cx, members.json, &rs));
	ruleset_free(rs);
	*out = (struct exchange){ .ruleset = members.json };
	return OK;
}

status
exchange_read(struct ctx *cx, enum exchange_format format, const struct json *file, str target_field,
	struct exchange *out)
{
	struct converter c;

	if (format == EXCHANGE_COUNTERSIGN)
		return read_own(cx, file, out);
	converter_init(&c, cx, target_field);
	TRY(format == EXCHANGE_FLAGD ? flagd_convert(&c, file) : unleash_convert(&c, file));
	return converter_finish(&c, out);
}
