/* SPDX-License-Identifier: Apache-2.0 */
/* uri: RFC 3986 references (RFC 3987 where asked): taking apart, resolving, and telling whether one is well
 * formed. */
#ifndef JSON_SCHEMA_URI_H
#define JSON_SCHEMA_URI_H

#include "base/ctx.h"

struct uri {
	str scheme, authority, path, query, fragment;
	bool has_scheme, has_authority, has_query, has_fragment;
};

/* Takes any text apart; never fails, checks nothing. */
struct uri uri_split(str text);

/*
 * The reference resolved against base (RFC 3986, 5.2), without its fragment.
 *
 * E_INVALID  the result is longer than LIMIT_URI_BYTES
 */
status uri_resolve(struct ctx *cx, str base, str reference, str *out_uri) MUST_USE;

/* %XX decoded, in the arena; false where a % is not followed by two digits or the result is not UTF-8. */
bool uri_decode(struct arena *a, str text, str *out_text);

enum uri_kind {
	URI_REFERENCE = 0,
	URI_ABSOLUTE = 1, /* has a scheme */
	URI_IRI = 2,	  /* characters beyond ASCII may stand in it */
};

/* Is text well formed? kind is URI_REFERENCE or a sum of the others. */
bool uri_is_valid(str text, unsigned kind);

/* The addresses that stand in it, also by themselves. */
bool uri_is_ipv4(str text);
bool uri_is_ipv6(str text);

#endif
