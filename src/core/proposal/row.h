/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row: a stored proposal and its votes, loaded under lock and verified. Private to core/proposal.
 *
 * What the database gives back is trusted only after its MAC (a key the database does not have), the
 * payload's hash and the card's hash have been checked, and the number of its last entry in the log against the one under
 * the MAC: a row that was edited or put back, or a vote that was forged, is E_TAMPERED before it is acted on.
 */
#ifndef CORE_PROPOSAL_ROW_H
#define CORE_PROPOSAL_ROW_H

#include "core/audit/audit.h"
#include "core/proposal/proposal.h"

/* Inside tx_run: locks and loads it. E_NOT_FOUND (also another tenant's), E_TAMPERED */
status row_lock(struct ctx *cx, str org_id, str id, struct proposal *out) MUST_USE;

/* Inside tx_run or db_read, without a lock: to show, never to decide. Same errors. */
/* The card, parsed. */
status row_card(struct ctx *cx, const struct proposal *p, const struct json **out) MUST_USE;

status row_get(struct ctx *cx, str org_id, str id, struct proposal *out) MUST_USE;

/* A page of them, newest first, before the id `before` (empty: from the newest); empty filters do not filter.
 * One that does not carry our seal has state_name "tampered" and nothing else to trust. */
struct row_filter {
	str before, state, tool, proposer_id;
	int64_t limit;
};
#define ROW_AFTER_LAST "~" /* greater than every id */
status row_list(struct ctx *cx, str org_id, const struct row_filter *f, struct proposal **out_rows,
	size_t *out_count) MUST_USE;

/* Inserts p (all but its MAC is set). E_EXISTS the idempotency key is taken. */
status row_add(struct ctx *cx, struct proposal *p) MUST_USE;

/* The MAC of parts under our key, as hex: the seal of a row. */
str row_mac(struct ctx *cx, const str *parts, size_t count);

/* The seal of p as it is: what is stored beside it. */
str row_seal(struct ctx *cx, const struct proposal *p);

/*
 * Takes the step and writes it, with the number of its last entry: entries come before the step. E_GONE it is not possible
 * from where it is.
 */
status row_step(struct ctx *cx, struct proposal *p, enum proposal_event event) MUST_USE;

/* Writes the number of its last entry where no step did: a decision that moves no state. */
status row_count(struct ctx *cx, struct proposal *p) MUST_USE;

/* "propose:<id>.<nonce>", and whether a token is p's. */
str row_token(struct ctx *cx, const struct proposal *p);
bool row_token_is(struct ctx *cx, const struct proposal *p, str token);

/* Its state by the clock: what is open and overdue has expired, whether the sweeper has been there or not. */
str row_state_at(const struct proposal *p, int64_t now_us);

/* E_GONE with the real state in its sentence and details, and the result for whoever may see it (PA-5). */
status row_gone(struct ctx *cx, const struct proposal *p) MUST_USE;

/* An entry of the log about p, numbered in its chain. */
struct audit_entry row_entry(const struct proposal *p, enum audit_action action);

struct vote {
	str person_id, name, decision, reason, view_hash;
	bool via_token;
	int64_t voted_at;
	str mac;
	bool disabled;
	int64_t rights_since; /* since when the person may do all that they may now */
	bool counts; /* approved this card, and the person could approve when it was proposed, and ever since */
	const char *why; /* an approval does not count: a sentence; else NULL */
};

/* All votes, each verified; *out_count_valid those that count now (AP-4). E_TAMPERED */
status row_votes(struct ctx *cx, const struct proposal *p, struct vote **out_votes, size_t *out_count,
	int64_t *out_valid) MUST_USE;
status row_add_vote(struct ctx *cx, const struct proposal *p, const struct vote *v) MUST_USE;

/* Could this person do all that they may now before it was proposed, and ever since? Where the times are the same, no. */
status row_since(struct ctx *cx, const struct proposal *p, str person_id, bool *out_before) MUST_USE;

/* How the person who proposed it agrees to it, as the card says. */
status row_consent(struct ctx *cx, const struct proposal *p, enum policy_consent *out) MUST_USE;

/* "<plugin>.<resource>.approve" of the tool: who may vote on it. */
str row_approve_rule(struct arena *a, const struct tool *t);

#endif
