/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact: questions about numbers that must not be answered by a double.
 *
 * Nothing is expanded: 1e1000000 is one digit and an exponent, so a small text never makes much work.
 */
#ifndef JSON_SCHEMA_EXACT_H
#define JSON_SCHEMA_EXACT_H

#include "json/json.h"

#define EXACT_DIVISOR_DIGITS 18 /* a divisor's significant digits: it must fit 64 bits */

bool exact_is_integer(const struct json *n);

/* May n be a divisor: above zero, and of few enough digits? */
bool exact_can_divide(const struct json *n);

/* Is n an integer times by (exact_can_divide)? In time linear in the digits of n. */
bool exact_is_multiple(const struct json *n, const struct json *by);

/* Equal for equal numbers, whatever their spelling. */
uint64_t exact_hash(const struct json *n, uint64_t seed);

#endif
