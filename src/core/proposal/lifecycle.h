/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle: the states of a proposal and every step between them, as one table (PRODUCT section 3).
 *
 *	           .- no vote needed ---------.
 *	propose -->| pending --enough votes-->| approved --apply--> executing --> applied | failed | unknown
 *	           `---+----------------------+---               (inside our database straight
 *	               +-- deny --> denied <--+                   to applied | failed)
 *	               +-- cancel --> cancelled
 *	               `-- time --> expired
 *
 * A vote counts while its person may vote (AP-4). Where one no longer does, what is approved takes another in
 * its place: VOTE where that completes it again, RECOUNT where votes are still missing. Where none is missing
 * there is no such step. RECOUNT is also what an apply does where policy asks for more people on the facts of now
 * (PA-3): the new number is stored, and what is approved is pending again.
 *
 * The C code asks this table, the Spin model is generated from it, the documentation shows it.
 */
#ifndef CORE_PROPOSAL_LIFECYCLE_H
#define CORE_PROPOSAL_LIFECYCLE_H

#include "base/str.h"

#define PROPOSAL_STATES(X)                                                                                   \
	X(PENDING, "pending")                                                                                \
	X(APPROVED, "approved")                                                                              \
	X(EXECUTING, "executing")                                                                            \
	X(APPLIED, "applied")                                                                                \
	X(FAILED, "failed")                                                                                  \
	X(UNKNOWN, "unknown")                                                                                \
	X(DENIED, "denied")                                                                                  \
	X(CANCELLED, "cancelled")                                                                            \
	X(EXPIRED, "expired")

enum proposal_state {
#define X(name, text) PROPOSAL_##name,
	PROPOSAL_STATES(X)
#undef X
		PROPOSAL_STATE_COUNT
};

/* from, event, to */
#define PROPOSAL_STEPS(X)                                                                                    \
	X(PENDING, VOTE, PENDING)                                                                            \
	X(PENDING, QUORUM, APPROVED)                                                                         \
	X(PENDING, DENY, DENIED)                                                                             \
	X(PENDING, CANCEL, CANCELLED)                                                                        \
	X(PENDING, EXPIRE, EXPIRED)                                                                          \
	X(PENDING, RECOUNT, PENDING)                                                                         \
	X(APPROVED, DENY, DENIED)                                                                            \
	X(APPROVED, CANCEL, CANCELLED)                                                                       \
	X(APPROVED, EXPIRE, EXPIRED)                                                                         \
	X(APPROVED, VOTE, APPROVED)                                                                          \
	X(APPROVED, RECOUNT, PENDING)                                                                        \
	X(APPROVED, CLAIM, EXECUTING)                                                                        \
	X(APPROVED, SUCCEED, APPLIED)                                                                        \
	X(APPROVED, FAIL, FAILED)                                                                            \
	X(EXECUTING, SUCCEED, APPLIED)                                                                       \
	X(EXECUTING, FAIL, FAILED)                                                                           \
	X(EXECUTING, LOSE, UNKNOWN)                                                                          \
	X(UNKNOWN, SUCCEED, APPLIED)                                                                         \
	X(UNKNOWN, FAIL, FAILED)

enum proposal_event {
	PROPOSAL_EVENT_VOTE,
	PROPOSAL_EVENT_QUORUM,
	PROPOSAL_EVENT_DENY,
	PROPOSAL_EVENT_CANCEL,
	PROPOSAL_EVENT_EXPIRE,
	PROPOSAL_EVENT_RECOUNT, /* votes are missing: others no longer count, or more are asked for now */
	PROPOSAL_EVENT_CLAIM,
	PROPOSAL_EVENT_SUCCEED,
	PROPOSAL_EVENT_FAIL,
	PROPOSAL_EVENT_LOSE,
};

const char *proposal_state_name(enum proposal_state s);
bool proposal_state_of(str name, enum proposal_state *out_state);

/* Where the event leads from here. False: it is not possible. */
bool proposal_step(enum proposal_state from, enum proposal_event event, enum proposal_state *out_to);

/* Can nothing more happen to it? */
bool proposal_is_final(enum proposal_state s);

#endif
