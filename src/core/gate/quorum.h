/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quorum: are these people enough (AP-4)? So many in all, and so many of each team that is asked.
 *
 * A person counts once: whoever is in two of the teams fills the place of one of them. Pure: who is in which
 * team, and whose vote counts, the caller has found out.
 */
#ifndef CORE_GATE_QUORUM_H
#define CORE_GATE_QUORUM_H

#include "core/gate/policy.h"

/* People who agree: bit g of teams[i] says that the i-th is in the team of needs[g]. */
struct quorum {
	int64_t votes; /* in all */
	const struct policy_need *needs;
	size_t need_count; /* at most POLICY_GROUPS */
	const uint32_t *teams;
	size_t people;
};

/* What is missing: people of these teams (bit g for needs[g]; 0: of any or none), or nobody. */
struct quorum_gap {
	uint32_t teams;
	int64_t people;
};

/* True: enough. False: *out_gap is one thing that is missing; the smallest set of teams that lacks people, if
 * one does. */
bool quorum_met(const struct quorum *q, struct quorum_gap *out_gap);

#endif
