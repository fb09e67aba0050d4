/* SPDX-License-Identifier: Apache-2.0 */
/* uri: what $id and $ref need of RFC 3986: taking a reference apart, and resolving it. Nothing is checked. */
#ifndef JSON_SCHEMA_URI_H
#define JSON_SCHEMA_URI_H

#include "base/ctx.h"

/* The parts of a reference; ptr is NULL where a part is absent ("a#" has an empty fragment, "a" has none). */
struct uri {
	str scheme, authority, path, query, fragment;
};

struct uri uri_split(str text);

/*
 * The reference resolved against base (RFC 3986, 5.2), without its fragment.
 *
 * E_INVALID  the reference or the result is longer than LIMIT_URI_BYTES
 */
status uri_resolve(struct ctx *cx, str base, str reference, str *out_uri) MUST_USE;

/* %XX decoded, in the arena; false where a % is not followed by two digits or the result is not UTF-8. */
bool uri_decode(struct arena *a, str text, str *out_text);

#endif
