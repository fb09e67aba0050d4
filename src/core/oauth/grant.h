/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grant: what a person agreed to, and what comes of it (OAuth 2.1; ID-5, ID-6).
 *
 *	consent --> code --redeem--> token + refresh token --refresh--> the same token, new secrets ...
 *	              `--again--> all of it revoked    `--a used one again--> all of it revoked
 *
 * The access token is a row like every agent's token: the agent stands for this client, the person is its delegator,
 * so everything that ends or narrows such a token does so here. It is good at one resource (its audience). A refresh
 * gives the row another secret: the budget, proposals and the list of tokens go on with the same id. Codes and refresh
 * tokens are used once; who brings one twice has stolen it or was robbed, and nobody can tell which.
 */
#ifndef CORE_OAUTH_GRANT_H
#define CORE_OAUTH_GRANT_H

#include "core/ident/caller.h"

/* What the person saw and agreed to. */
struct grant_wish {
	str client_id, client_name, redirect_uri, resource;
	struct rules scope; /* the person holds it (scope_keep) */
	str challenge;	    /* PKCE, S256 */
};

/* Who is about to agree, for the page. Inside tx_run or db_read, with cx->caller. */
struct grant_person {
	str name, email, org;
};
status grant_person(struct ctx *cx, struct grant_person *out) MUST_USE;

/*
 * Inside tx_run with the rights held and a person's session as cx->caller: keeps the consent, on record.
 *
 * E_FORBIDDEN  the agent that this client is for this person has been disabled
 */
status grant_give(struct ctx *cx, const struct grant_wish *w, str *out_code) MUST_USE;

struct grant_tokens {
	str access, refresh, scope;
	int64_t expires_in; /* seconds */
};

/*
 * The tokens for a code. Outside a transaction.
 *
 * E_FORBIDDEN  the code is not good, or not for this client, redirect URI, resource or verifier: never says which
 */
struct grant_redeem {
	str code, client_id, redirect_uri, verifier;
	str resource; /* empty: as agreed */
};
status grant_redeem(struct ctx *cx, const struct grant_redeem *in, struct grant_tokens *out) MUST_USE;

/*
 * New tokens for a refresh token. Outside a transaction.
 *
 * E_FORBIDDEN  it is not good, or not for this client or resource
 * E_SCOPE      more is asked for than was agreed to
 */
struct grant_refresh {
	str refresh, client_id;
	str resource, scope; /* empty: as agreed */
};
status grant_refresh(struct ctx *cx, const struct grant_refresh *in, struct grant_tokens *out) MUST_USE;

/* Ends the consent behind an access or refresh token of this client; any other is left alone (RFC 7009). */
status grant_revoke(struct ctx *cx, str token, str client_id) MUST_USE;

#endif
