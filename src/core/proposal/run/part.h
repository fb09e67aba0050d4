/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part: applying as a part of an operation, and its answer: at once where it is ours to do, and after the transaction
 * where somebody else does it (send.h). Private to core/proposal.
 */
#ifndef CORE_PROPOSAL_RUN_PART_H
#define CORE_PROPOSAL_RUN_PART_H

#include "core/proposal/proposal.h"
#include "json/out.h"

/* In auto mode what policy lets run is applied at once, by the same way (PA-9); a small helper, too (TL-5). */
bool part_runs_at_once(struct ctx *cx, const struct proposal *p);

/* Inside tx_run: applies p where that is possible; where it is refused, p stays and *out_why says why not. */
status part_apply(struct ctx *cx, struct proposal *p, struct error *out_why) MUST_USE;

/* How an operation answers that has applied, or tried to. */
struct part_answer {
	str token;	  /* to who proposed it; or empty */
	bool called;	  /* as the answer of a call: the proposal is a member of it */
	bool may_refuse;  /* that it cannot be applied is no failure of the operation: `apply` says so */
	struct error why; /* code OK: nothing was refused */
};

/* Inside tx_run: writes it, now or after what is to be sent was sent. */
status part_answer(struct ctx *cx, const struct proposal *p, const struct part_answer *how,
	struct json_out *out) MUST_USE;

#endif
