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
	REGEX_RE2,  /* as RE2 reads it */
	REGEX_ECMA, /* ECMA-262 with the u flag, translated: \d \w ASCII, \s Unicode, \p{..}, \uXXXX, \cX;
		       unanchored */
};

/* E_INVALID  the pattern is not one, or needs what RE2 does not have; the message says what */
status regex_new(struct ctx *cx, str pattern, enum regex_dialect dialect, struct regex **out_regex) MUST_USE;
void regex_free(struct regex *r);
bool regex_find(const struct regex *r, str text); /* anywhere in text */
bool regex_full(const struct regex *r, str text); /* all of text */

size_t regex_program(const struct regex *r); /* instructions: time is text times these at worst */

#ifdef __cplusplus
}
#endif
#endif
