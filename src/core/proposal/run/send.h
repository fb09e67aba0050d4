/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send: what has been claimed, or may be read, goes out once, and what became of it is written down.
 *
 *	[tx1: claim] --> send_once (a lane, a provider) --> [tx2: outcome]
 *
 * All of it runs after the transaction of the operation that asked for it (cx->later), on its thread. Nothing is sent
 * after the lease of the claim: who slept between the two, stopped or starved, finds that it is too late, and whoever
 * looks from outside knows how long that can take. Private to core/proposal.
 */
#ifndef CORE_PROPOSAL_RUN_SEND_H
#define CORE_PROPOSAL_RUN_SEND_H

#include "core/gate/gate.h"
#include "core/proposal/run/attempt.h"

struct sending {
	struct outside_call call;
	int64_t fence;
	struct caller caller;  /* who applies, or reads: a copy that outlives the transaction */
	struct gate_pass pass; /* of a read: its row is written when it has ended */
	int64_t called_at;     /* of a read: tx_now_us */
	bool looks;	       /* nothing is claimed yet: what was shown is looked at again first */
};

/* Can anybody here reach this tool? E_UNAVAILABLE */
status send_possible(struct ctx *cx, const struct tool *t) MUST_USE;

/* Inside tx_run with cx->caller: what is to be sent of a claim that began (clock_mono_us) when apply did, and only there. */
struct sending *send_claimed(struct ctx *cx, const struct proposal *p, const struct tool *t,
	const struct attempt *a, int64_t began_us, const struct outside_source *source);

/* Nothing is claimed: the tool wants to look again, outside of the transaction. */
struct sending *send_looks(struct ctx *cx, const struct tool *t);

/* Of a read, which has its id: the input is canonical JSON. */
struct sending *send_read(struct ctx *cx, const struct gate_pass *pass, int64_t now_us);

/* Inside a read: what its provider has to know is read with the rest. E_NOT_FOUND  there is nobody to send it to */
status send_prepare(struct ctx *cx, struct sending *s) MUST_USE;

/* Outside a transaction: sends it, in its lane. It never fails: what went wrong is the answer. */
void send_once(struct ctx *cx, const struct outside_call *call, struct outside_answer *out);

/*
 * Outside a transaction: sends what was claimed, and writes down what became of it; *out is the proposal as it is then.
 *
 * E_COMMIT_UNKNOWN  it could not be written down: the sweeper will say that it is unknown
 */
status send_and_record(struct ctx *cx, struct sending *s, struct proposal *out) MUST_USE;

#endif
