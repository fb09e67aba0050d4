/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope: what a client asks for, as rules (ID-3).
 *
 *	read               what its person may read, whatever that is at the moment
 *	propose            the same, and to propose what they may propose
 *	flag.flag.toggle   one access rule
 *
 * The two bundles are the levels observer and proposer: every decision intersects them with the person's live
 * rights, so they never give more than the person has. `approve` and "*" are no scopes.
 */
#ifndef CORE_OAUTH_SCOPE_H
#define CORE_OAUTH_SCOPE_H

#include "core/ident/caller.h"

#define SCOPE_DEFAULT "read propose" /* where a client asks for nothing in particular */

/* Words separated by spaces; empty: SCOPE_DEFAULT. E_INVALID  a word is no scope, or there are too many */
status scope_read(struct ctx *cx, str text, struct rules *out) MUST_USE;

/* And back, in one order. */
str scope_text(struct arena *a, const struct rules *r);

/* Drops the single rules that the person does not hold: nobody gives what they do not have. */
void scope_keep(struct arena *a, const struct caller *person, struct rules *r);

/* Does the first hold all of the second? */
bool scope_holds(const struct rules *granted, const struct rules *asked);

/* What a verb allows, for a person who agrees: "Switch on and off". */
const char *scope_verb_words(enum verb v);

/*
 * After a token of a consent was refused for rules that it lacks: where its person holds all of them, cx->step_up
 * becomes the scope with which it would have been allowed. needed is NULL-terminated.
 */
void scope_step_up(struct ctx *cx, const struct caller *c, const char *const *needed);

#endif
