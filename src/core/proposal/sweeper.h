/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweeper: a thread that writes down what the clock has decided: open proposals whose time is over become
 * `expired`, each in its own transaction with its entry in the audit. Hygiene only (PA-4): nobody who decides
 * waits for it.
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
	/* What other rooms tidy up in the same rhythm, outside a transaction; ended by NULL. May be NULL. */
	status (*const *also)(struct ctx *cx);
};

struct sweeper *sweeper_start(const struct sweeper_options *o);

/* Ends the thread. NULL is fine. */
void sweeper_stop(struct sweeper *s);

/* One round in cx, outside a transaction; *out_expired says how many. */
status sweeper_round(struct ctx *cx, int64_t *out_expired) MUST_USE;

#endif
