/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session: a person who has signed in with a password (ID-8).
 *
 *	POST /session --> cookie __Host-sid + csrfToken --idle 30 min, 12 h in all, sign-out, disabled-->
 *ended
 *
 * A sign-in always makes a new secret and ends the session that came with it. Wrong people and wrong
 * passwords are one answer and one amount of work. LIMIT_SIGNIN_TRIES from one address for one person within
 * LIMIT_SIGNIN_US, counted in the database and so over all servers; then 429 until the time is over.
 *
 * The CSRF token is a hash of the secret: the page can have it again (GET /me) and nobody else can make it.
 */
#ifndef CORE_IDENT_SESSION_H
#define CORE_IDENT_SESSION_H

#include "core/op.h"

#define SESSION_COOKIE "__Host-sid"

extern const struct op session_ops[];

/* The token that goes with a session's secret. */
str session_csrf(struct arena *a, str secret);

#endif
