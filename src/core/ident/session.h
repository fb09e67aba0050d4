/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session: a person who has signed in (ID-8), with a password or at an identity provider (core/oidc).
 *
 *	POST /session --> cookie __Host-sid + csrfToken
 *	              --idle 30 min, 12 h in all, sign-out, disabled--> ended
 *
 * A sign-in always makes a new secret and ends the session that came with it. Wrong people and wrong
 * passwords are one answer and one amount of work. LIMIT_SIGNIN_TRIES from one address for one person within
 * LIMIT_SIGNIN_US, counted in the database and so over all servers; then 429 until the time is over.
 *
 * The CSRF token is a hash of the secret: the page can have it again (GET /me) and nobody else can make it.
 */
#ifndef CORE_IDENT_SESSION_H
#define CORE_IDENT_SESSION_H

#include "core/audit/audit.h"
#include "core/op.h"

#define SESSION_COOKIE "__Host-sid"

extern const struct op session_ops[];

/* The token that goes with a session's secret. */
str session_csrf(struct arena *a, str secret);

/* Who signs in; found, and found entitled, in the same transaction. */
struct session_person {
	str org_id, slug, principal_id, name;
};

struct session_start {
	str secret;   /* a new one, SECRET_KIND_SESSION: made outside the transaction, which may run twice */
	str old_hash; /* of a session that ends with this, beside the one that came along; may be empty */
	str how;      /* on the record; empty: by password */
	bool elsewhere; /* another system let them in: authenticated_at says when they proved it there */
	int64_t authenticated_at; /* elsewhere: 0 where that is not known */
	int64_t now_us;		  /* set by session_begin */
};

/* Inside tx_run: ends the session that came with the request, begins another, and puts it on record. */
status session_begin(struct ctx *cx, const struct session_person *p, struct session_start *start) MUST_USE;

/* After the commit: the browser gets the secret. */
void session_cookie(struct ctx *cx, const struct session_start *start);

/* Inside tx_run: an entry in the log of the person's organization, by the person. */
status session_record(struct ctx *cx, const struct session_person *p, const struct audit_entry *e) MUST_USE;

#endif
