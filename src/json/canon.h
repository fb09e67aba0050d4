/* SPDX-License-Identifier: Apache-2.0 */
/*
 * canon: the canonical form of a document (RFC 8785) and its hash.
 *
 * Members sorted by UTF-16 code units, shortest escapes, numbers as ECMAScript
 * prints them. A number that would not survive being read as a double and
 * printed (more digits than a double holds, too large) is refused with its
 * path: what is signed must be what was sent. 1.0, 1e2 and -0 survive: their value does.
 */
#ifndef JSON_CANON_H
#define JSON_CANON_H

#include "base/buf.h"
#include "json/json.h"

#define CANON_HASH_HEX 64

/* E_INVALID  a number does not survive; the issue names its path
 * E_TOO_LARGE  the text does not fit LIMIT_JSON_BYTES */
status canon_text(struct ctx *cx, const struct json *doc, str *out_text) MUST_USE;

/* SHA-256 of the canonical text, 64 lower-case hexadecimal digits. Errors as canon_text. */
status canon_hash(struct ctx *cx, const struct json *doc, str *out_hex) MUST_USE;

/* n as ECMAScript's Number::toString prints it (finite n); writes at most 32 bytes. */
size_t canon_double(double n, char out[32]);

#endif
