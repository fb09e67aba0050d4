/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally: the votes on a proposal, counted now (AP-4). Private to core/proposal.
 *
 * How many, and of which teams, was decided when it was proposed and is on the card. Whose vote counts, and
 * who is in which team, is looked up each time: at every vote, at apply, and when somebody looks.
 */
#ifndef CORE_PROPOSAL_TALLY_H
#define CORE_PROPOSAL_TALLY_H

#include "core/gate/policy.h"
#include "core/proposal/row.h"

struct tally_group {
	str team_id, team; /* its name, as on the card */
	int64_t needed, valid;
};

struct tally {
	struct vote *votes;
	size_t count;
	int64_t needed; /* people: as many as when it was proposed, or one more: asking no longer counts */
	int64_t valid;	/* people whose vote counts */
	bool confirms;	/* the one who proposed can be one of them, by confirming the card */
	struct tally_group *groups;
	size_t group_count;
	bool enough;
	str missing; /* for a person: how many are there, and who is still needed; empty: enough */
};

/* Inside tx_run or db_read. E_TAMPERED */
status tally_count(struct ctx *cx, const struct proposal *p, struct tally *out) MUST_USE;

/* The member `approvers` of a card: the teams that a decision asks, with their names; NULL where it asks
 * none. Inside tx_run or db_read. */
status
tally_approvers(struct ctx *cx, str org_id, const struct policy_decision *d, struct json **out) MUST_USE;

#endif
