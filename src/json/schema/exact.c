/* SPDX-License-Identifier: Apache-2.0 */
#include "json/schema/exact.h"

#include "base/check.h"
#include "json/number.h"

__extension__ typedef unsigned __int128 uint128;

/* The number is its digits, as an integer that does not end in 0, times ten to this power. */
static int64_t
exponent(const struct decimal *d)
{
	return d->point - decimal_count(d);
}

bool
exact_is_integer(const struct json *n)
{
	struct decimal d = decimal_of(n->text);

	return exponent(&d) >= 0;
}

bool
exact_can_divide(const struct json *n)
{
	struct decimal d = decimal_of(n->text);

	return !decimal_is_zero(&d) && !d.negative && decimal_count(&d) <= EXACT_DIVISOR_DIGITS;
}

/* The digits of d modulo m, which is below 10^18; several digits at a step. */
static uint64_t
remainder_of(struct decimal d, uint64_t m)
{
	uint64_t rest = 0, chunk = 0, scale = 1;
	int digit;

	while (decimal_next(&d, &digit)) {
		chunk = chunk * 10 + (uint64_t)digit;
		scale *= 10;
		if (scale == 1000000000000000000u) {
			rest = (uint64_t)(((uint128)rest * scale + chunk) % m);
			chunk = 0;
			scale = 1;
		}
	}
	return (uint64_t)(((uint128)rest * scale + chunk) % m);
}

bool
exact_is_multiple(const struct json *n, const struct json *by)
{
	struct decimal a = decimal_of(n->text), b = decimal_of(by->text), digits = b;
	int64_t tens = exponent(&a) - exponent(&b);
	uint64_t divisor = 0, rest;
	int digit;

	CHECK(exact_can_divide(by));
	if (decimal_is_zero(&a))
		return true;
	while (decimal_next(&digits, &digit))
		divisor = divisor * 10 + (uint64_t)digit;
	CHECK(divisor > 0);
	/*
	 * Does the divisor divide a's digits times 10^tens? With tens below 0 it cannot: the digits do
	 * not end in 0. More than 60 tens do not help: the divisor, below 2^60, has no more twos or
	 * fives for them to cancel.
	 */
	if (tens < 0)
		return false;
	rest = remainder_of(a, divisor);
	for (int64_t i = 0; rest && i < tens && i < 60; i++)
		rest = (uint64_t)((uint128)rest * 10 % divisor);
	return rest == 0;
}

uint64_t
exact_hash(const struct json *n, uint64_t seed)
{
	struct decimal d = decimal_of(n->text);
	uint64_t h = seed ^ (uint64_t)d.point ^ (d.negative ? 1u : 0u);
	int digit;

	while (decimal_next(&d, &digit))
		h = (h ^ (uint64_t)digit) * 0x100000001b3u;
	return h;
}
