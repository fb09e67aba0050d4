/* SPDX-License-Identifier: Apache-2.0 */
#include "json/out.h"

#include "base/check.h"
#include "base/clock.h"
#include "json/swar.h"

void
json_out_init(struct json_out *o, struct buf *b)
{
	*o = (struct json_out){ .buf = b, .first = true };
}

/* A byte that cannot stand as it is: a control character, '"', '\', or one that is not UTF-8. */
static void
add_special(struct buf *b, char c)
{
	static const char names[] = "\"\\bfnrt", means[] = "\"\\\b\f\n\r\t", hex[] = "0123456789abcdef";
	const char *mean = c ? strchr(means, c) : NULL;

	if ((unsigned char)c >= 0x80) {
		buf_add(b, STR("\xef\xbf\xbd"));
	} else if (mean) {
		buf_add_char(b, '\\');
		buf_add_char(b, names[mean - means]);
	} else {
		buf_add(b, STR("\\u00"));
		buf_add_char(b, hex[c >> 4]);
		buf_add_char(b, hex[c & 15]);
	}
}

void
json_out_quoted(struct buf *b, str text)
{
	const char *run = text.len ? text.ptr : "", *p = run, *end = p + text.len;

	buf_add_char(b, '"');
	for (p += swar_plain(p, end); p < end; p += swar_plain(p, end)) {
		size_t n = (unsigned char)*p < 0x80 ? 0 : str_utf8_sequence((str){ p, (size_t)(end - p) });

		if (n == 0) {
			buf_add(b, (str){ run, (size_t)(p - run) });
			add_special(b, *p);
			run = ++p;
		}
		p += n;
	}
	buf_add(b, (str){ run, (size_t)(p - run) });
	buf_add_char(b, '"');
}

/* The comma, and the name, that go before a value. */
static void
begin(struct json_out *o, const char *key)
{
	CHECK(o->in_object[o->depth] ? (key != NULL) != o->keyed : key == NULL);
	CHECK(o->depth > 0 || o->first);
	if (key)
		json_out_key(o, str_of(key));
	if (!o->first && !o->keyed)
		buf_add_char(o->buf, ',');
	o->first = false;
	o->keyed = false;
}

void
json_out_key(struct json_out *o, str key)
{
	CHECK(o->in_object[o->depth] && !o->keyed);
	if (!o->first)
		buf_add_char(o->buf, ',');
	json_out_quoted(o->buf, key);
	buf_add_char(o->buf, ':');
	o->first = false;
	o->keyed = true;
}

static void
open_container(struct json_out *o, const char *key, bool is_object)
{
	begin(o, key);
	CHECK(o->depth < LIMIT_JSON_DEPTH);
	buf_add_char(o->buf, is_object ? '{' : '[');
	o->in_object[++o->depth] = is_object;
	o->first = true;
}

void
json_out_object(struct json_out *o, const char *key)
{
	open_container(o, key, true);
}

void
json_out_array(struct json_out *o, const char *key)
{
	open_container(o, key, false);
}

void
json_out_end(struct json_out *o)
{
	CHECK(o->depth > 0 && !o->keyed);
	buf_add_char(o->buf, o->in_object[o->depth--] ? '}' : ']');
	o->first = false;
}

void
json_out_str(struct json_out *o, const char *key, str text)
{
	begin(o, key);
	json_out_quoted(o->buf, text);
}

void
json_out_int(struct json_out *o, const char *key, int64_t n)
{
	begin(o, key);
	buf_add_int(o->buf, n);
}

void
json_out_bool(struct json_out *o, const char *key, bool truth)
{
	begin(o, key);
	buf_add(o->buf, truth ? STR("true") : STR("false"));
}

void
json_out_null(struct json_out *o, const char *key)
{
	begin(o, key);
	buf_add(o->buf, STR("null"));
}

void
json_out_time(struct json_out *o, const char *key, int64_t us)
{
	json_out_str(o, key, clock_text(o->buf->arena, us));
}

static void write_value(struct buf *b, const struct json *value);

static void
write_children(struct buf *b, const struct json *parent)
{
	JSON_EACH (child, parent) {
		if (child != parent->child)
			buf_add_char(b, ',');
		if (parent->type == JSON_OBJECT) {
			json_out_quoted(b, child->key);
			buf_add_char(b, ':');
		}
		write_value(b, child);
	}
}

/* A whole document. Its depth is bounded by whoever made it, so this may call itself. */
static void
write_value(struct buf *b, const struct json *value)
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
		json_out_quoted(b, value->text);
		break;
	case JSON_ARRAY:
	case JSON_OBJECT:
		buf_add_char(b, value->type == JSON_OBJECT ? '{' : '[');
		write_children(b, value);
		buf_add_char(b, value->type == JSON_OBJECT ? '}' : ']');
		break;
	}
}

void
json_out_value(struct json_out *o, const char *key, const struct json *value)
{
	begin(o, key);
	write_value(o->buf, value);
}

void
json_out_raw(struct json_out *o, const char *key, str document)
{
	begin(o, key);
	buf_add(o->buf, document);
}

status
json_text(struct ctx *cx, const struct json *value, str *out_text)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	write_value(&b, value);
	if (buf_finish(&b, out_text) != OK)
		return fail(cx, E_TOO_LARGE, "the document is larger than can be written");
	return OK;
}
