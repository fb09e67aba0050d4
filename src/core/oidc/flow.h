/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow: a sign-in at the identity provider that is on its way, kept by the browser.
 *
 *	start: flow_seal --> cookie (10 minutes) --> callback: flow_open --> flow_use (once)
 *
 * Sealed under a key of the key file and bound to this provider and client, so that every server of the
 * database can open it, nobody else can read or make one, and there is nothing to store for a stranger who
 * starts and never comes back. That it came back is stored: it comes back once.
 */
#ifndef CORE_OIDC_FLOW_H
#define CORE_OIDC_FLOW_H

#include "base/ctx.h"

struct flow {
	str state, nonce, verifier; /* 256 bits each, base64url */
	str return_to;		    /* a path of ours */
	str org;		    /* the slug that was asked for, or empty */
	str old_hash;		    /* of the session that the browser had at the start, or empty */
	bool step_up;		    /* to authenticate again, not only to be let in */
	int64_t until_us;
};

/* A new one, until LIMIT_OIDC_FLOW_US from now; the texts are the caller's. */
struct flow flow_new(struct ctx *cx, int64_t now_us);

/* The cookie's value. about: which provider and client it is for. */
str flow_seal(struct ctx *cx, const struct flow *f, str about);

/* E_UNAUTHENTICATED  it is not one of ours, is for another provider, is too old, or has another state */
status flow_open(struct ctx *cx, str sealed, str about, str state, int64_t now_us, struct flow *out) MUST_USE;

/* Comes back, and never again; outside a transaction. E_UNAUTHENTICATED  it has already. Errors as tx_run */
status flow_use(struct ctx *cx, const struct flow *f) MUST_USE;

/* The challenge that goes with the verifier (PKCE, S256). */
str flow_challenge(struct ctx *cx, const struct flow *f);

/* Is it a path of ours that a browser cannot take for anything else? */
bool flow_return_ok(str path);

#endif
