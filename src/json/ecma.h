/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ecma: reads a regular expression as ECMA-262 does with the u flag, and writes
 * it as RE2 understands it.
 *
 * What the two call by the same name but mean differently (\s, ., $, \u, named
 * properties) is spelled out. What RE2 does not have is still read to its end, so that
 * "no pattern" and "a pattern, but not for RE2" are told apart.
 */
#ifndef JSON_ECMA_H
#define JSON_ECMA_H

#include "base/ctx.h"

struct ecma_text {
	str re2;	     /* the pattern for RE2; meaningless where something is lacking */
	const char *lacking; /* the first thing RE2 does not have, as a noun; NULL where it has all */
};

/* E_INVALID  pattern is not one by ECMA-262; the message says why and at which byte */
status ecma_translate(struct ctx *cx, str pattern, struct ecma_text *out) MUST_USE;

#endif
