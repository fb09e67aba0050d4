/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jwt: a signed statement of somebody else (RFC 7515, 7517, 7519).
 *
 *	text --jwt_read--> claims that nobody has vouched for --jwt_verify--> claims of whoever has the key
 *
 * RS256 and ES256, nothing else: `none` and HMAC (with a public key as its secret) are not in the
 * table, and a key is used only for the algorithm of its own kind. Extensions that must be
 * understood (`crit`) are refused.
 */
#ifndef CORE_OIDC_JWT_H
#define CORE_OIDC_JWT_H

#include "json/json.h"

struct jwt {
	str alg, kid;	     /* kid may be empty */
	str signed_text;     /* what the signature is of: header and claims as they came */
	str signature;	     /* bytes */
	struct json *claims; /* an object */
};

/* E_INVALID  it is not one; the message says why */
status jwt_read(struct ctx *cx, str text, struct jwt *out) MUST_USE;

/*
 * Was it signed by one of these keys (a JSON Web Key Set)? Keys of a kind we do not know are passed over.
 *
 * E_INVALID    no: the algorithm, a key, the signature or the set is not acceptable
 * E_NOT_FOUND  none of the keys could have; there may be newer ones
 */
status jwt_verify(struct ctx *cx, const struct jwt *t, const struct json *set) MUST_USE;

/* Bytes as base64url without padding, and back. E_INVALID  it is none */
str base64url(struct arena *a, str bytes);
status base64url_read(struct ctx *cx, str text, str *out_bytes) MUST_USE;

#endif
