/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claims: what an ID token says, and whether it says it to us, now, and for this sign-in (OpenID Connect
 * Core, 3.1.3.7). Who signed it has been checked before (jwt).
 */
#ifndef CORE_OIDC_CLAIMS_H
#define CORE_OIDC_CLAIMS_H

#include "json/json.h"

/* What it must say. */
struct claims_wanted {
	str issuer, client_id, nonce;
	str access_token; /* that came with it; may be empty */
	int64_t now_us;
};

struct claims {
	str subject;
	str email; /* as the provider writes it; empty: it does not say */
	bool email_verified;
	int64_t authenticated_at; /* auth_time, in microseconds; 0: it does not say */
};

/* E_INVALID  it is not for us, not now, or not of this sign-in; the message says which */
status claims_check(struct ctx *cx, const struct json *token, const struct claims_wanted *want,
	struct claims *out) MUST_USE;

/* E-mail from another document about the same person (userinfo). E_INVALID  it is about somebody else */
status claims_add(struct ctx *cx, const struct json *doc, struct claims *c) MUST_USE;

#endif
