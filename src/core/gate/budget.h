/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget: how many calls a principal may make in any trailing 60 seconds (TL-9).
 *
 * `cap` slots per principal in the shared database; a take moves one slot that is older
 * than the window to now. There is no count to race on, so it is exact over all
 * servers and transports. A cap above 128 is shared out to 128 slots: a slot then takes
 * its share of calls and comes free a window after the last of them, so that never more
 * than the cap are made, a take costs the same whatever the cap, and a caller at the cap
 * waits less than a hundredth longer than it would have to.
 */
#ifndef CORE_GATE_BUDGET_H
#define CORE_GATE_BUDGET_H

#include "core/ident/caller.h"
#include "core/op.h"

extern const struct op budget_ops[]; /* who has used how much of it */

#define BUDGET_WINDOW_US (60 * SECOND_US)

struct budget {
	int64_t cap, left;
	int64_t reset_us; /* when the oldest taken slot comes free */
};

/*
 * Of one request (cx->purse): a call that was had of a lease (quick/lease.h) is spent, whatever becomes of the
 * transaction, so it pays for all attempts and for the record of a refusal.
 */
struct purse {
	bool paid;
	struct budget budget;
};

/* Inside tx_run. Of a token that is busy, it may leave a lease. E_RATE_LIMITED  nothing free; *out still says when */
status budget_take(struct ctx *cx, const struct caller *c, struct budget *out) MUST_USE;

#endif
