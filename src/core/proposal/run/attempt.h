/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempt: one try to have a proposal done by somebody else (EX-4), and all that is known of it.
 *
 *	claim (executing) --> done       (applied)
 *	                  +-> refused, not_sent (failed)
 *	                  +-> waiting    (executing, until a callback)
 *	                  `-> lost       (unknown, until somebody settles it: applied or failed)
 *
 * A proposal is claimed once, so it is sent at most once: nothing here sends again. An outcome counts only where it
 * names the fence of the claim and the proposal is still executing; what comes later is kept as evidence and changes
 * no state. Every function locks the proposal's row first, and leaves an audit entry with every step.
 */
#ifndef CORE_PROPOSAL_RUN_ATTEMPT_H
#define CORE_PROPOSAL_RUN_ATTEMPT_H

#include "core/outside/outside.h"
#include "core/proposal/proposal.h"

struct attempt {
	str id, proposal_id;
	int64_t fence;
	str applier_id;
	str approvals; /* JSON: [{personId, name, at}] */
	int64_t claimed_at, deadline_at;
	str outcome; /* open, waiting, done, refused, not_sent, lost */
	int64_t sent, http_status;
	str result, why;
	int64_t ended_at;
	str evidence; /* JSON: [{at, from, outcome, …}]; empty: none */
	str settled_by, settled_reason;
	int64_t settled_at;
	str mac;
};

/*
 * Inside tx_run; p is locked, approved, and all that apply checks is checked: p is executing, and *out is what may be
 * sent once this has committed.
 */
status attempt_claim(struct ctx *cx, struct proposal *p, const struct tool *t, struct attempt *out) MUST_USE;

/*
 * Inside tx_run, without a caller or with any: what became of it. *out (may be NULL) is the proposal as it is then; a
 * late answer leaves it as it was. Running it again with the same answer changes nothing but the evidence.
 *
 * E_NOT_FOUND  there is no such attempt	E_TAMPERED
 */
status attempt_finish(struct ctx *cx, str org_id, str attempt_id, int64_t fence,
	const struct outside_answer *a, struct proposal *out) MUST_USE;

/* Inside tx_run, the sweeper's: nobody heard of it in time. *out_lost false: somebody did, or there is time. */
status attempt_lose(struct ctx *cx, str org_id, str proposal_id, bool *out_lost) MUST_USE;

/* Inside tx_run; p is locked and unknown: a person has found out, and says how. */
status attempt_settle(struct ctx *cx, struct proposal *p, bool applied, str reason) MUST_USE;

/* Inside tx_run; p is locked: what a probe has answered, beside what is there. told: what that says of p (done, refused;
 * lost: nothing). */
status attempt_keep_probe(
	struct ctx *cx, struct proposal *p, const struct outside_answer *a, enum outside_end told) MUST_USE;

/* Inside tx_run or db_read: that of p's claim. E_NOT_FOUND  it was never claimed	E_TAMPERED */
status attempt_get(struct ctx *cx, const struct proposal *p, struct attempt *out) MUST_USE;

/* Members of the object that is open; what the other system said only for whoever may see results. */
void attempt_write(const struct attempt *a, bool with_result, struct json_out *o);

/* Inside tx_run, the proposal locked: takes out what the other system said, and seals the row anew. */
status attempt_erase(struct ctx *cx, const struct proposal *p) MUST_USE;

#endif
