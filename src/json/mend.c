/* SPDX-License-Identifier: Apache-2.0 */
#include "json/mend.h"

#include "base/buf.h"
#include "base/limits.h"
#include "json/out.h"

#define REPLACEMENT STR("\xef\xbf\xbd")	    /* U+FFFD */
#define DEPTH	    (LIMIT_JSON_DEPTH - 16) /* what is left stands inside documents of our own */

struct mender {
	str left; /* of the text */
	struct buf out;
	unsigned depth, max_depth;
	const char *what;
};

static void
note(struct mender *m, const char *what)
{
	if (!m->what)
		m->what = what;
}

static void
copy(struct mender *m, size_t n)
{
	buf_add(&m->out, (str){ m->left.ptr, n });
	m->left = str_skip(m->left, n);
}

static void
replace(struct mender *m, size_t n, const char *what)
{
	note(m, what);
	buf_add(&m->out, REPLACEMENT);
	m->left = str_skip(m->left, n);
}

/* The code unit of the \u escape that text begins with; -1: it begins with none. */
static int
unit_at(str text)
{
	int unit = 0;

	if (text.len < 6 || text.ptr[0] != '\\' || text.ptr[1] != 'u')
		return -1;
	for (size_t i = 2; i < 6; i++) {
		char c = text.ptr[i];

		if (c >= '0' && c <= '9')
			unit = unit * 16 + (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			unit = unit * 16 + ((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	return unit;
}

static bool
is_high(int unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool
is_low(int unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

static void
mend_escape(struct mender *m)
{
	int unit = unit_at(m->left);

	if (is_high(unit) && is_low(unit_at(str_skip(m->left, 6))))
		copy(m, 12);
	else if (is_high(unit) || is_low(unit))
		replace(m, 6, "half of a surrogate pair");
	else if (unit == 0)
		replace(m, 6, "the character U+0000");
	else
		copy(m, m->left.len > 1 ? 2 : 1);
}

static void
mend_control(struct mender *m)
{
	note(m, "a control character");
	buf_printf(&m->out, "\\u%04x", (unsigned char)m->left.ptr[0]);
	m->left = str_skip(m->left, 1);
}

/* A string, from its opening quote to its closing one. */
static void
mend_string(struct mender *m)
{
	copy(m, 1);
	while (m->left.len && m->left.ptr[0] != '"') {
		unsigned char c = (unsigned char)m->left.ptr[0];
		size_t n = str_utf8_sequence(m->left);

		if (c == '\\')
			mend_escape(m);
		else if (n == 0)
			replace(m, 1, "a byte that is not UTF-8");
		else if (c == 0)
			replace(m, 1, "the character U+0000");
		else if (c < 0x20)
			mend_control(m);
		else
			copy(m, n);
	}
	if (m->left.len)
		copy(m, 1);
}

/* The text of the container that text begins with, up to its last bracket. */
static str
container_at(str text)
{
	unsigned depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '{' || c == '['))
			depth++;
		else if (!quoted && (c == '}' || c == ']') && --depth == 0)
			return (str){ text.ptr, i + 1 };
	}
	return text;
}

static void
open_container(struct mender *m)
{
	str whole;

	if (m->depth < m->max_depth) {
		m->depth++;
		copy(m, 1);
		return;
	}
	note(m, "what was nested too deeply");
	whole = container_at(m->left);
	json_out_quoted(&m->out, whole);
	m->left = str_skip(m->left, whole.len);
}

static status
mend(struct ctx *cx, str text, unsigned max_depth, struct json **out_doc, const char **out_what)
{
	static const str mark = { "\xef\xbb\xbf", 3 }; /* a byte order mark */
	struct mender m = { .left = str_starts(text, mark) ? str_skip(text, mark.len) : text,
		.max_depth = max_depth };
	str mended;

	buf_init(&m.out, cx->arena, 3 * LIMIT_JSON_HEARD);
	while (m.left.len) {
		char c = m.left.ptr[0];

		if (c == '"') {
			mend_string(&m);
		} else if (c == '{' || c == '[') {
			open_container(&m);
		} else {
			if ((c == '}' || c == ']') && m.depth)
				m.depth--;
			copy(&m, 1);
		}
	}
	TRY(buf_finish(&m.out, &mended));
	*out_what = m.what ? m.what : "its form";
	return json_parse_last(cx, mended, out_doc);
}

status
json_parse_mended(struct ctx *cx, str text, struct json **out_doc, struct mended *out)
{
	status s = json_parse(cx, text, out_doc);

	*out = (struct mended){ 0 };
	if (s == OK)
		return OK;
	ctx_clear(cx);
	if (text.len > LIMIT_JSON_HEARD)
		return fail(cx, E_BAD_JSON, "the document has %zu bytes; at most %zu are read", text.len,
			(size_t)LIMIT_JSON_HEARD);
	if (s == E_BAD_JSON)
		s = mend(cx, text, DEPTH, out_doc, &out->what);
	if (s != E_TOO_LARGE)
		return s;
	ctx_clear(cx);
	out->top_only = true;
	return mend(cx, text, 1, out_doc, &out->what) == OK ? OK : fail(cx, E_BAD_JSON, "it is no JSON");
}
