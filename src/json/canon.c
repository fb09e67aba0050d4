/* SPDX-License-Identifier: Apache-2.0 */
#include "json/canon.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/hash/sha256.h"
#include "json/number.h"
#include "json/out.h"
#include "json/pointer.h"
#include "json/digits/shortest.h"

#include <float.h>
#include <math.h>

#define DIGITS 17 /* as many as a double ever needs */

/* ---- numbers ---- */

/* 0.d1d2d3... times ten to the power of point, like struct decimal, but ready to print. */
struct digits {
	char digit[DIGITS + 1];
	int count, point;
};

static struct digits
without_zeros(struct digits d)
{
	while (d.count > 0 && d.digit[d.count - 1] == '0')
		d.count--;
	return d;
}

static void
add_exponent(struct buf *b, int e)
{
	buf_add_char(b, 'e');
	buf_add_char(b, e < 0 ? '-' : '+');
	buf_add_int(b, e < 0 ? -e : e);
}

static void
add_zeros(struct buf *b, int n)
{
	while (n-- > 0)
		buf_add_char(b, '0');
}

/* ECMA-262, Number::toString(x, 10), steps 6 to 12: k is count, n is point. */
static void
add_digits(struct buf *b, const struct digits *d)
{
	size_t k = (size_t)d->count;
	int n = d->point;

	if (n > 21 || n <= -6) {
		buf_add(b, (str){ d->digit, 1 });
		if (k > 1)
			buf_add_char(b, '.');
		buf_add(b, (str){ d->digit + 1, k - 1 });
		add_exponent(b, n - 1);
	} else if (n <= 0) {
		buf_add(b, STR("0."));
		add_zeros(b, -n);
		buf_add(b, (str){ d->digit, k });
	} else if (n >= d->count) {
		buf_add(b, (str){ d->digit, k });
		add_zeros(b, n - d->count);
	} else {
		buf_add(b, (str){ d->digit, (size_t)n });
		buf_add_char(b, '.');
		buf_add(b, (str){ d->digit + n, k - (size_t)n });
	}
}

/* The shortest digits that are read back as n > 0; among those, the nearest. In a time that does not depend on n. */
static struct digits
shortest(double n)
{
	char text[SHORTEST_ROOM];
	struct digits d = { 0 };
	int64_t exponent;
	const char *at;

	shortest_text(n, text);
	for (at = text; *at != 'e'; at++)
		if (*at != '.')
			d.digit[d.count++] = *at;
	CHECK(str_to_int(str_of(at[1] == '+' ? at + 2 : at + 1), &exponent));
	d.point = (int)exponent + 1;
	return without_zeros(d);
}

static void
add_double(struct buf *b, double n)
{
	CHECK(isfinite(n));
	if (n == 0) {
		buf_add_char(b, '0'); /* -0 too */
	} else if (fabs(n) < 9007199254740992.0 && trunc(n) == n) {
		buf_add_int(b, (int64_t)n);
	} else {
		struct digits d = shortest(fabs(n));

		if (n < 0)
			buf_add_char(b, '-');
		add_digits(b, &d);
	}
}

/* A buf over 32 bytes of the caller: full enough for every double, so it never asks its arena. */
static struct buf
over(char out[32])
{
	return (struct buf){ .ptr = out, .room = 32, .max = 32 };
}

size_t
canon_double(double n, char out[32])
{
	struct buf b = over(out);

	add_double(&b, n);
	CHECK(!b.overflow);
	return b.len;
}

/* Up to 15 digits of ordinary size survive as they are: no need to make the double. */
static bool
add_short(struct buf *b, struct decimal d)
{
	struct digits digits = { .point = (int)d.point };
	int digit;

	if (d.point < -290 || d.point > 290 || decimal_count(&d) > DBL_DIG)
		return false;
	while (decimal_next(&d, &digit))
		digits.digit[digits.count++] = (char)('0' + digit);
	if (d.negative)
		buf_add_char(b, '-');
	add_digits(b, &digits);
	return true;
}

/* Writes a number, or says false where the double's text would be another number. */
static bool
add_number(struct buf *b, const struct json *n)
{
	struct decimal d = decimal_of(n->text);
	struct json twin = { .type = JSON_NUMBER };
	char text[32];
	double value;

	if (decimal_is_zero(&d)) {
		buf_add_char(b, '0');
		return true;
	}
	if (add_short(b, d))
		return true;
	value = json_to_double(n);
	if (!isfinite(value))
		return false;
	twin.text = (str){ text, canon_double(value, text) };
	if (json_number_cmp(n, &twin) != 0)
		return false;
	buf_add(b, twin.text);
	return true;
}

/* ---- documents ---- */

/* The way from the root to a value, kept on the stack: a path is only made where it is needed. */
struct way {
	const struct way *up;
	const struct json *parent;
	str key;
	size_t index;
};

static void
add_way(struct buf *b, const struct way *w)
{
	if (!w)
		return;
	add_way(b, w->up);
	if (w->parent->type == JSON_OBJECT) {
		pointer_add_key(b, w->key);
	} else {
		buf_add_char(b, '/');
		buf_add_int(b, (int64_t)w->index);
	}
}

static status
refuse_number(struct ctx *cx, const struct way *w, str number)
{
	str shown = { number.ptr, number.len < 40 ? number.len : 40 };
	struct buf path;

	ctx_clear(cx);
	buf_init(&path, cx->arena, SIZE_MAX);
	add_way(&path, w);
	fail_issue(cx, buf_str(&path),
		arena_printf(cx->arena, "%.*s%s has more digits, or is larger, than a double holds",
			STR_ARG(shown), number.len > shown.len ? "..." : ""));
	return fail(cx, E_INVALID, "a number does not survive the canonical form: %.*s %.*s",
		STR_ARG(cx->error.issues[0].path), STR_ARG(cx->error.issues[0].message));
}

static status write_value(struct ctx *cx, struct buf *b, const struct json *value, const struct way *w);

static status
write_array(struct ctx *cx, struct buf *b, const struct json *array, const struct way *up)
{
	struct way w = { .up = up, .parent = array };

	buf_add_char(b, '[');
	JSON_EACH (item, array) {
		if (w.index > 0)
			buf_add_char(b, ',');
		TRY(write_value(cx, b, item, &w));
		w.index++;
	}
	buf_add_char(b, ']');
	return OK;
}

static status
write_object(struct ctx *cx, struct buf *b, const struct json *object, const struct way *up)
{
	const struct json **sorted = json_sorted(cx->arena, object);
	struct way w = { .up = up, .parent = object };

	if (!sorted)
		return fail(cx, E_TOO_LARGE, "the document takes more memory than one request may use");
	buf_add_char(b, '{');
	for (uint32_t i = 0; i < object->count; i++) {
		if (i > 0)
			buf_add_char(b, ',');
		w.key = sorted[i]->key;
		json_out_quoted(b, w.key);
		buf_add_char(b, ':');
		TRY(write_value(cx, b, sorted[i], &w));
	}
	buf_add_char(b, '}');
	return OK;
}

static status
write_value(struct ctx *cx, struct buf *b, const struct json *value, const struct way *w)
{
	switch (value->type) {
	case JSON_NULL:
		buf_add(b, STR("null"));
		return OK;
	case JSON_BOOL:
		buf_add(b, value->truth ? STR("true") : STR("false"));
		return OK;
	case JSON_NUMBER:
		return add_number(b, value) ? OK : refuse_number(cx, w, value->text);
	case JSON_STRING:
		json_out_quoted(b, value->text);
		return OK;
	case JSON_ARRAY:
		return write_array(cx, b, value, w);
	case JSON_OBJECT:
		break;
	}
	return write_object(cx, b, value, w);
}

status
canon_text(struct ctx *cx, const struct json *doc, str *out_text)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	TRY(write_value(cx, &b, doc, NULL));
	if (buf_finish(&b, out_text) != OK)
		return fail(cx, E_TOO_LARGE, "the canonical form is larger than can be kept");
	return OK;
}

status
canon_hash(struct ctx *cx, const struct json *doc, str *out_hex)
{
	str text;

	TRY(canon_text(cx, doc, &text));
	*out_hex = sha256_hex(cx->arena, text);
	return OK;
}
