/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visit: somebody at an environment: who they are, that they may look at it, and which keys they see there.
 *
 * The right to evaluate is VISIT_RULE, for flags and configs alike; a token's scope narrows it to environments
 * and keys.
 */
#ifndef DOMAIN_FLAG_LIVE_VISIT_H
#define DOMAIN_FLAG_LIVE_VISIT_H

#include "core/ident/caller.h"
#include "domain/flag/store/store.h"

#define VISIT_RULE "flag.flag.read"

struct visit {
	struct caller caller; /* its texts are in the arena */
	struct environment environment;
};

/*
 * Everywhere here an empty environment_id means the one environment that the token is for: E_BAD_REQUEST where it is
 * for none or several.
 *
 * On the event loop: memory only. Both are to be given back (visit_end). Who answers counts it (recall_count).
 *
 * E_BUSY  somebody has to ask the database
 */
struct live_ruleset;
status visit_peek(struct ctx *cx, str environment_id, const struct caller **out_caller,
	const struct live_ruleset **out_live) MUST_USE;
void visit_end(const struct caller *c, const struct live_ruleset *live);

/*
 * Outside a transaction, on a worker: fn in one consistent read with cx->caller, as op_read does it, and who holds
 * the rule everywhere is remembered for visit_peek. fn says who by visit_begin.
 *
 * E_RATE_LIMITED  the token is too fast; and whatever fn says
 */
status visit_enter(struct ctx *cx, status (*fn)(struct ctx *cx, void *arg), void *arg, const struct visit *v)
	MUST_USE;

/*
 * Inside op_read (or tx_run), as cx->caller.
 *
 * E_NOT_FOUND  no such environment
 * E_FORBIDDEN  without the rule, in an environment of this kind
 * E_SCOPE      not in the token's scope
 */
status visit_begin(struct ctx *cx, str environment_id, struct visit *out) MUST_USE;

/* Outside a transaction: fn in one consistent read, as the visitor. */
status visit_read(struct ctx *cx, const struct visit *v, status (*fn)(struct ctx *cx, void *arg), void *arg)
	MUST_USE;

/* E_SCOPE  the key is not in the caller's scope in this environment; the message names it */
status visit_key(struct ctx *cx, const struct caller *c, str environment_id, str key) MUST_USE;

/* E_INVALID with one issue, and its words as the message. */
status visit_refuse(struct ctx *cx, str path, str message) MUST_USE;

#endif
