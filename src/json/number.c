/* SPDX-License-Identifier: Apache-2.0 */
#include "json/number.h"

#include "base/check.h"
#include "json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The number after e or E. The reader has bounded its digits. */
static int64_t
exponent(const char *at, const char *end)
{
	bool negative = at < end && *at == '-';
	int64_t n = 0;

	if (at < end && (*at == '-' || *at == '+'))
		at++;
	for (; at < end; at++)
		n = n * 10 + (*at - '0');
	return negative ? -n : n;
}

struct decimal
decimal_of(str text)
{
	const char *at = text.ptr, *end = text.ptr + text.len, *mantissa_end = at, *dot;
	struct decimal d = { 0 };

	while (mantissa_end < end && *mantissa_end != 'e' && *mantissa_end != 'E')
		mantissa_end++;
	if (mantissa_end < end)
		d.point = exponent(mantissa_end + 1, end);
	d.negative = at < end && *at == '-';
	at += d.negative;
	dot = memchr(at, '.', (size_t)(mantissa_end - at));
	if (!dot)
		dot = mantissa_end;
	while (at < mantissa_end && (*at == '0' || *at == '.'))
		at++;
	d.digit = at;
	d.point += at < dot ? dot - at : dot < at ? -(at - dot - 1) : 0;
	while (mantissa_end > at && (mantissa_end[-1] == '0' || mantissa_end[-1] == '.'))
		mantissa_end--;
	d.end = mantissa_end;
	if (d.digit == d.end)
		d = (struct decimal){ .digit = at, .end = at };
	return d;
}

bool
decimal_is_zero(const struct decimal *d)
{
	return d->digit == d->end;
}

int64_t
decimal_count(const struct decimal *d)
{
	size_t bytes = (size_t)(d->end - d->digit);

	return (int64_t)(bytes - (bytes && memchr(d->digit, '.', bytes)));
}

bool
decimal_next(struct decimal *d, int *out_digit)
{
	if (d->digit < d->end && *d->digit == '.')
		d->digit++;
	if (d->digit == d->end)
		return false;
	*out_digit = *d->digit++ - '0';
	return true;
}

/* Compares what two numbers are without their signs. */
static int
compare_size(struct decimal a, struct decimal b)
{
	int x = 0, y = 0;
	bool more_a, more_b;

	if (decimal_is_zero(&a) || decimal_is_zero(&b))
		return decimal_is_zero(&b) - decimal_is_zero(&a);
	if (a.point != b.point)
		return a.point < b.point ? -1 : 1;
	do {
		more_a = decimal_next(&a, &x);
		more_b = decimal_next(&b, &y);
	} while (more_a && more_b && x == y);
	if (more_a && more_b)
		return x < y ? -1 : 1;
	return more_a - more_b;
}

int
json_number_cmp(const struct json *a, const struct json *b)
{
	struct decimal x, y;

	CHECK(a->type == JSON_NUMBER && b->type == JSON_NUMBER);
	x = decimal_of(a->text);
	y = decimal_of(b->text);
	if (x.negative != y.negative)
		return x.negative ? -1 : 1;
	return x.negative ? compare_size(y, x) : compare_size(x, y);
}

bool
json_to_int(const struct json *n, int64_t *out_n)
{
	struct decimal d;
	int64_t value = 0;

	if (n->type != JSON_NUMBER)
		return false;
	d = decimal_of(n->text);
	/* digits behind the point are a fraction; no int64_t has more than 19 */
	if (decimal_count(&d) > d.point || d.point > 19)
		return false;
	for (int64_t i = 0; i < d.point; i++) {
		int digit = 0;

		(void)decimal_next(&d, &digit);
		/* counted downwards: INT64_MIN has no positive twin */
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_sub_overflow(value, digit, &value))
			return false;
	}
	if (!d.negative && value == INT64_MIN)
		return false;
	*out_n = d.negative ? value : -value;
	return true;
}

/* At most 15 digits and a power of ten that a double holds: one multiplication or division rounds right. */
static bool
convert_short(struct decimal d, double *out_n)
{
	static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
		1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
	int64_t count = decimal_count(&d), scale = d.point - count, n = 0;
	int digit;

	if (count > 15 || scale < -22 || scale > 22)
		return false;
	while (decimal_next(&d, &digit))
		n = n * 10 + digit;
	*out_n = scale < 0 ? (double)n / powers[-scale] : (double)n * powers[scale];
	return true;
}

/*
 * strtod needs a NUL, and a number may have megabytes of digits. 800 of them
 * decide every rounding (the longest midpoint of two doubles has 768); of the
 * rest it matters only whether there is any.
 */
static double
convert_long(struct decimal d)
{
	char text[832];
	size_t len = 0;
	int digit;

	text[len++] = '.';
	while (len <= 800 && decimal_next(&d, &digit))
		text[len++] = (char)('0' + digit);
	if (decimal_next(&d, &digit))
		text[len++] = '1';
	(void)snprintf(text + len, sizeof(text) - len, "e%d", (int)d.point);
	return strtod(text, NULL);
}

double
json_to_double(const struct json *n)
{
	bool negative;
	struct decimal d;
	double size;

	CHECK(n->type == JSON_NUMBER);
	negative = n->text.len && n->text.ptr[0] == '-';
	d = decimal_of(n->text);
	if (decimal_is_zero(&d) || d.point < -400)
		size = 0;
	else if (d.point > 400)
		size = HUGE_VAL;
	else if (!convert_short(d, &size))
		size = convert_long(d);
	return negative ? -size : size;
}
