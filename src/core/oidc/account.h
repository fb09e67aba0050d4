/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account: which member somebody is whom the identity provider has signed in.
 *
 *	(issuer, subject) --bound--> member			the address no longer matters
 *	        `--not bound, verified address--> member	bound from now on
 *	                     `--nobody, listed domain--> newcomer, with the role of the settings
 *
 * A member has one account of a provider. Who is known and refused all the same is on record.
 */
#ifndef CORE_OIDC_ACCOUNT_H
#define CORE_OIDC_ACCOUNT_H

#include "core/ident/session.h"
#include "core/oidc/claims.h"

enum account_outcome {
	ACCOUNT_SIGNED_IN,
	ACCOUNT_NO_EMAIL, /* not bound, and the claims hold no address: more of them may help */
	ACCOUNT_NOT_EMAIL,
	ACCOUNT_NOT_VERIFIED,
	ACCOUNT_UNKNOWN,
	ACCOUNT_DISABLED,
	ACCOUNT_OTHER_ACCOUNT, /* the member of this address is bound to another one */
	ACCOUNT_NO_ROLE,       /* for newcomers: it does not exist, or is admin */
};

struct account {
	struct claims claims;
	str org; /* the slug that was asked for, or empty */
	struct session_start start;
	/* set by account_sign_in */
	str email; /* in lower case, where it is an address */
	enum account_outcome outcome;
};

extern const struct op account_ops[];

/* Finds the member and begins the session, or says in outcome why not. Errors as tx_run. */
status account_sign_in(struct ctx *cx, struct account *a) MUST_USE;

/* The outcome as an answer. E_FORBIDDEN  all but ACCOUNT_SIGNED_IN */
status account_say(struct ctx *cx, const struct account *a) MUST_USE;

#endif
