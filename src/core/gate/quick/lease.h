/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease: calls of a budget that this process holds for a second, so that a call need not ask the database to be counted.
 *
 *	budget_take of a busy token --commit--> lease_put --> lease_take, lease_take ... --> lease_sweep: the rest goes back
 *
 * It is a slot of the budget (core/gate/budget.h) that was filled to its brim and dated at the end of the lease: nobody
 * else takes of it, and it comes free a window after the last call that could have been made of it. So the cap is
 * never exceeded, over all servers; what is not used is missing for a second, or for a window where the process dies.
 * Per token, in this process only. Any thread.
 */
#ifndef CORE_GATE_LEASE_H
#define CORE_GATE_LEASE_H

#include "core/gate/budget.h"

struct leases;

/* One per process, in cx->leases. */
struct leases *leases_new(void);
void leases_free(struct leases *l); /* NULL is fine */

/* What was filled, and what is left of it. */
struct lease {
	str org_id, principal_id;
	int64_t slot, taken_at; /* as the row has it */
	int64_t until_us;	/* clock_mono_us: not after this */
	int64_t calls;
	struct budget budget; /* left: without these calls */
};

/* A call asks the database to be counted. True: it follows another closely, so a lease is worth it. */
bool lease_wanted(struct leases *l, const struct credential *c);

/* After the commit of the transaction that filled the slot. One that is of no use goes back. */
void lease_put(struct leases *l, const struct credential *c, const struct lease *what);

/* Is there a call to be had? Memory only; so is taking it. */
bool lease_ready(struct leases *l, const struct credential *c);
bool lease_take(struct leases *l, const struct credential *c, struct budget *out);

/* Gives back what is left of leases that are over (app_sweeps). */
status lease_sweep(struct ctx *cx) MUST_USE;

#endif
