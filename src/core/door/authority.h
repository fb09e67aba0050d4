/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authority: who may change who approves, and what an approval is worth (AP-3, AP-4; docs/decisions/0033).
 *
 *	operation with `authority` --a token--> 403 forbidden: propose access.change
 *	                           --a session, authenticated > 10 minutes ago--> 403 step_up_required
 *	                           --four eyes or a quorum is on--> 409 approval_required: propose access.change
 *	                           --otherwise--> it runs
 *
 * core/enter.c asks, once, for every operation that has the flag.
 */
#ifndef CORE_DOOR_AUTHORITY_H
#define CORE_DOOR_AUTHORITY_H

#include "core/gate/policy.h"
#include "core/op.h"

/* The tool by which a token proposes such a change, and another person decides it. */
#define AUTHORITY_TOOL "access.change"

/*
 * May cx->caller, who has the rule, run this one directly? Inside the transaction.
 *
 * E_FORBIDDEN  with a token
 * E_STEP_UP    the session is too old
 * E_APPROVAL   another person must agree
 */
status authority_check(struct ctx *cx, const struct op *op) MUST_USE;

/* Is cx->caller a person in a session who authenticated recently? what: for the sentence. E_FORBIDDEN, E_STEP_UP */
status authority_fresh(struct ctx *cx, const char *what) MUST_USE;

/* Must more than one person agree to something in this organization? Then so they must to change that. */
bool authority_shared(const struct policy_rules *r);

/* How many people it then takes, with who asks for it. */
int64_t authority_people(const struct policy_rules *r);

/* How many there are in the caller's organization who could take part: admins who can sign in. */
status authority_count(struct ctx *cx, int64_t *out) MUST_USE;

/* With fewer people than it takes nobody could change these rules again, nor who may approve. E_CONFLICT */
status authority_enough(struct ctx *cx, const struct policy_rules *r) MUST_USE;

#endif
