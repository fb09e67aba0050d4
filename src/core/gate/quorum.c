/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/quorum.h"

#include "base/check.h"

/* How many people the teams of the set have too few, each person in one place. */
static int64_t
lacks(const struct quorum *q, uint32_t set)
{
	int64_t missing = 0;

	for (size_t g = 0; g < q->need_count; g++)
		if (set & 1u << g)
			missing += q->needs[g].votes;
	for (size_t i = 0; i < q->people; i++)
		if (q->teams[i] & set)
			missing--;
	return missing;
}

static bool
is_smaller(uint32_t set, uint32_t than)
{
	return !than || __builtin_popcount(set) < __builtin_popcount(than);
}

/*
 * There is a place for everybody who is needed exactly if no set of teams asks for more people than are in
 * any of them (Hall's theorem). There are few teams: look at every set.
 */
bool
quorum_met(const struct quorum *q, struct quorum_gap *out_gap)
{
	struct quorum_gap gap = { 0 };

	CHECK(q->need_count <= POLICY_GROUPS);
	for (uint32_t set = 1; set < 1u << q->need_count; set++)
		if (lacks(q, set) > 0 && is_smaller(set, gap.teams))
			gap = (struct quorum_gap){ .teams = set, .people = lacks(q, set) };
	if (!gap.teams && (int64_t)q->people < q->votes)
		gap.people = q->votes - (int64_t)q->people;
	*out_gap = gap;
	return gap.people == 0;
}
