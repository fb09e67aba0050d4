/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idna: internationalised labels of host names (RFC 5890 to 5893).
 *
 * Categories and scripts come from RE2's tables, whose patterns are compiled
 * once, at the first question, and kept (the one state of this module; it does not
 * change afterwards). Stability under NFKC, joining types and directions are known by block, not by
 * character: names in use are answered rightly, oddities of rare scripts may be let through.
 */
#ifndef JSON_SCHEMA_IDNA_H
#define JSON_SCHEMA_IDNA_H

#include "base/str.h"

#define IDNA_LABEL_MAX 63 /* of a label in its ASCII form, and so of the characters it is made of */

/* A label, character by character. */
struct idna_label {
	uint32_t codes[IDNA_LABEL_MAX];
	size_t count;
};

/* UTF-8 to characters; false where there are too many, or none. */
bool idna_read(str text, struct idna_label *out);

/* What stands behind xn--; false where it is not Punycode. */
bool idna_decode(str punycode, struct idna_label *out);

/* The length of the ASCII form without xn--, and the form itself (room for IDNA_LABEL_MAX); 0: does not fit.
 */
size_t idna_encode(const struct idna_label *l, char *out);

/* May these characters, with one beyond ASCII among them, be a label? (not its direction) */
bool idna_is_valid(const struct idna_label *l);

/* Does it have characters written from right to left? If one label of a name has, all must pass is_bidi. */
bool idna_is_rtl(const struct idna_label *l);
bool idna_is_bidi(const struct idna_label *l);

#endif
