/* SPDX-License-Identifier: Apache-2.0 */
/*
 * provider: the identity provider (OpenID Connect), asked over HTTP.
 *
 *	oidc_new
 *	[oidc_enter, provider_describe, provider_exchange, provider_keys, oidc_leave] ...
 *	oidc_free
 *
 * What it says of itself and its keys are kept for LIMIT_OIDC_CACHE_US; everything else is asked
 * each time. All of it is checked as if a stranger had sent it: sizes, time, TLS (http/client),
 * the issuer's own name, and that nothing goes to an address that is less protected than the
 * issuer's. Only oidc_enter lets anybody ask, so that a provider which is slow never holds all
 * workers.
 *
 * Every failure to get an answer is E_UNAVAILABLE; messages never hold a code, a token or a secret.
 */
#ifndef CORE_OIDC_PROVIDER_H
#define CORE_OIDC_PROVIDER_H

#include "base/ctx.h"
#include "json/json.h"

struct oidc_options {
	str issuer, client_id, client_secret; /* the secret may be empty: a public client */
	str redirect_uri;
	const char *ca_file; /* NULL: whom the system trusts */
	str newcomer_role; /* for people nobody has added, of these domains (comma-separated); empty: none */
	str newcomer_domains;
	int at_once; /* sign-ins that may ask at the same time */
};

/* One per process; its texts outlive it. Used by many threads. */
struct oidc;
struct oidc *oidc_new(const struct oidc_options *o);
void oidc_free(struct oidc *o); /* NULL is fine */
const struct oidc_options *oidc_options(const struct oidc *o);

/* Around everything below. E_BUSY  at_once others are asking */
status oidc_enter(struct ctx *cx, struct oidc *o) MUST_USE;
void oidc_leave(struct oidc *o);

/* What the provider says of itself. */
struct provider {
	str authorization_endpoint, token_endpoint, jwks_uri;
	str userinfo_endpoint; /* may be empty */
	bool says_issuer;      /* its answers name it (RFC 9207) */
	bool secret_in_body;   /* it takes our secret in the body only */
};
status provider_describe(struct ctx *cx, struct oidc *o, struct provider *out) MUST_USE;

/* Its keys, as jwt_verify takes them. again: newer than what is kept; E_NOT_FOUND  asked too often */
status provider_keys(
	struct ctx *cx, struct oidc *o, const struct provider *p, bool again, struct json **out_set) MUST_USE;

struct provider_tokens {
	str id_token, access_token; /* the second may be empty */
};

/* The tokens for a code. E_UNAUTHENTICATED  the provider does not take the code */
status provider_exchange(struct ctx *cx, struct oidc *o, const struct provider *p, str code, str verifier,
	struct provider_tokens *out) MUST_USE;

/* What it says of the person. */
status provider_userinfo(struct ctx *cx, struct oidc *o, const struct provider *p, str access_token,
	struct json **out_doc) MUST_USE;

#endif
