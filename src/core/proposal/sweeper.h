/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweeper: a thread that writes down what the clock has decided: open proposals whose time is over become
 * `expired` (hygiene only, PA-4: nobody who decides waits for it), and what was claimed to be done outside and had no
 * outcome by its deadline and some slack becomes `unknown` (EX-4). Each in its own transaction with its entry in the
 * audit; any server may do it, once.
 */
#ifndef CORE_PROPOSAL_SWEEPER_H
#define CORE_PROPOSAL_SWEEPER_H

#include "base/ctx.h"

struct sweeper;

struct sweeper_options {
	struct db *db;
	const struct keys *keys;
	const struct registry *tools;
	struct toolsets *toolsets; /* what organizations have besides */
	struct event_hub *events;
	struct leases *leases; /* of budgets: what is over goes back; NULL: none */
	int64_t keep_us;       /* how long closed proposals keep what they say; 0: for ever */
	/* What other rooms tidy up in the same rhythm, outside a transaction; ended by NULL. May be NULL. */
	status (*const *also)(struct ctx *cx);
};

struct sweeper *sweeper_start(const struct sweeper_options *o);

/* Ends the thread. NULL is fine. */
void sweeper_stop(struct sweeper *s);

/* One round in cx, outside a transaction; *out_tidied says how many. */
status sweeper_round(struct ctx *cx, int64_t *out_tidied) MUST_USE;

#endif
