/* SPDX-License-Identifier: Apache-2.0 */
/* regex: RE2 behind a C face: linear time for any pattern and text. One compiled pattern serves all threads.
 */
#ifndef JSON_REGEX_H
#define JSON_REGEX_H

#include "base/ctx.h"

#ifdef __cplusplus
extern "C" {
#endif

struct regex;

enum regex_dialect {
	REGEX_RE2,  /* as RE2 reads it; a program of at most LIMIT_PATTERN_PROGRAM instructions */
	REGEX_OURS, /* the same, for patterns of our own: of any size */
	REGEX_ECMA, /* ECMA-262 with the u flag, translated: \d \w ASCII, \s Unicode, \p{..}, \uXXXX, \cX;
		       unanchored; a program of at most LIMIT_REGEX_PROGRAM instructions */
};

/*
 * Compiling is charged to cx (base/meter/meter.h).
 *
 * E_INVALID    the pattern is not one, needs what RE2 does not have, or its program is too large; the message says what
 * E_TOO_LARGE  the work that this request may cause is used up
 */
status regex_new(struct ctx *cx, str pattern, enum regex_dialect dialect, struct regex **out_regex) MUST_USE;
void regex_free(struct regex *r);
bool regex_find(const struct regex *r, str text); /* anywhere in text */
bool regex_full(const struct regex *r, str text); /* all of text */

size_t regex_program(const struct regex *r); /* instructions: time is text times these at worst */

/* What looking at a text of so many bytes is charged: length times program. The caller charges it, before it looks. */
uint64_t regex_steps(const struct regex *r, size_t length);

#ifdef __cplusplus
}
#endif
#endif
