/* SPDX-License-Identifier: Apache-2.0 */
/* number: a JSON number as the exact decimal that it is, read from its text without making anything. */
#ifndef JSON_NUMBER_H
#define JSON_NUMBER_H

#include "base/str.h"

/*
 * 0.d1d2d3... times ten to the power of point. The first and the last digit are
 * not 0; zero has no digits, no sign and point 0. So equal numbers are equal here.
 */
struct decimal {
	bool negative;
	const char *digit, *end; /* the significant digits in the text; a '.' may stand among them */
	int64_t point;
};

/* text is a number that the reader has accepted, or one of ours. */
struct decimal decimal_of(str text);

bool decimal_is_zero(const struct decimal *d);
int64_t decimal_count(const struct decimal *d); /* how many digits are left */

/* Takes the next digit, 0 to 9; false after the last, and *out_digit is untouched. */
bool decimal_next(struct decimal *d, int *out_digit);

#endif
