/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/tally.h"

#include "base/limits.h"
#include "core/gate/quorum.h"
#include "core/people/team.h"
#include "db/db.h"

#include <inttypes.h>

#include "core/proposal/proposal.sql.h" /* SQL_PROPOSAL_*, generated from proposal.sql */

/* --- what the card says --- */

status
tally_approvers(struct ctx *cx, str org_id, const struct policy_decision *d, struct json **out)
{
	struct json *list = d->group_count ? json_new_array(cx->arena) : NULL;

	for (size_t g = 0; g < d->group_count; g++) {
		struct json *one = json_new_object(cx->arena);
		str name;

		TRY(team_name(cx, org_id, d->groups[g].team_id, &name));
		json_add_member(one, STR("teamId"), json_new_string(cx->arena, d->groups[g].team_id));
		json_add_member(one, STR("team"), json_new_string(cx->arena, name));
		json_add_member(one, STR("votes"), json_new_int(cx->arena, d->groups[g].votes));
		json_add_item(list, one);
	}
	*out = list;
	return OK;
}

/* The card was checked against its seal: what is on it is ours. */
static status
read_groups(struct ctx *cx, const struct proposal *p, struct tally *t)
{
	const struct json *card, *list;

	TRY(row_card(cx, p, &card));
	list = json_get(card, STR("approvers"));
	t->groups = arena_alloc(cx->arena, (POLICY_GROUPS + 1) * sizeof(*t->groups));
	if (!list || list->count > POLICY_GROUPS)
		return list ? fail(cx, E_INTERNAL, "a card asks too many teams") : OK;
	JSON_EACH (item, list) {
		struct tally_group *g = &t->groups[t->group_count++];

		*g = (struct tally_group){ .team_id = json_get(item, STR("teamId"))->text,
			.team = json_get(item, STR("team"))->text };
		if (!json_to_int(json_get(item, STR("votes")), &g->needed))
			return fail(cx, E_INTERNAL, "a card asks for votes that are no number");
	}
	return OK;
}

/* --- who is in which of the teams now --- */

struct member_row {
	str team_id, person_id;
};
static const struct field member_row[] = {
	FIELD_TEXT(struct member_row, team_id),
	FIELD_TEXT(struct member_row, person_id),
	FIELD_END,
};

static uint32_t
teams_of(const struct tally *t, const struct member_row *rows, size_t count, str person_id)
{
	uint32_t teams = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t g = 0; g < t->group_count && str_eq(rows[i].person_id, person_id); g++)
			if (str_eq(rows[i].team_id, t->groups[g].team_id))
				teams |= 1u << g;
	return teams;
}

/* teams[i] for each person whose vote counts. Who proposed it takes no place of a team. */
static status
place(struct ctx *cx, const struct proposal *p, struct tally *t, uint32_t *teams)
{
	struct member_row *rows = NULL;
	size_t count = 0, n = 0;

	if (t->group_count && t->count)
		TRY(db_all(cx, SQL_PROPOSAL_VOTER_TEAMS, member_row, sizeof(*rows), &rows, &count,
			TEXT(p->org_id), TEXT(p->id)));
	for (size_t i = 0; i < t->count; i++) {
		if (!t->votes[i].counts)
			continue;
		teams[n] = str_eq(t->votes[i].person_id, p->proposer_id)
				   ? 0
				   : teams_of(t, rows, count, t->votes[i].person_id);
		for (size_t g = 0; g < t->group_count; g++)
			t->groups[g].valid += teams[n] >> g & 1;
		n++;
	}
	return OK;
}

/* --- what is missing, in words --- */

static str
say_gap(struct ctx *cx, const struct tally *t, const struct quorum_gap *gap)
{
	struct buf b;
	size_t named = 0;
	str text = { 0 };

	buf_init(&b, cx->arena, LIMIT_ERROR_MESSAGE);
	buf_printf(&b, "%" PRId64 " of %" PRId64 " approvals are there", t->valid, t->needed);
	for (size_t g = 0; g < t->group_count; g++) {
		if (!(gap->teams & 1u << g))
			continue;
		if (!named++)
			buf_printf(&b, "; %" PRId64 " more must be of the team", gap->people);
		buf_printf(&b, "%s \"%.*s\"", named > 1 ? " or" : "", STR_ARG(t->groups[g].team));
	}
	if (named > 1)
		buf_add(&b, STR(" (a person counts for one of them)"));
	return buf_finish(&b, &text) == OK ? text : STR("approvals are missing");
}

/* That the person agreed by asking was one vote less; it counts no longer than a vote would (AP-3). */
static status
count_needed(struct ctx *cx, const struct proposal *p, struct tally *t)
{
	enum policy_consent consent = CONSENT_NONE;
	bool before = true;

	TRY(row_consent(cx, p, &consent));
	if (consent == CONSENT_ASKING && !p->fresh)
		TRY(row_since(cx, p, p->proposer_id, &before));
	t->confirms = consent == CONSENT_CONFIRMING;
	t->needed = p->votes_needed + !before;
	return OK;
}

status
tally_count(struct ctx *cx, const struct proposal *p, struct tally *out)
{
	struct tally t = { 0 };
	struct policy_need needs[POLICY_GROUPS];
	struct quorum q = { .needs = needs };
	struct quorum_gap gap;
	uint32_t *teams;

	TRY(row_votes(cx, p, &t.votes, &t.count, &t.valid));
	TRY(count_needed(cx, p, &t));
	TRY(read_groups(cx, p, &t));
	teams = arena_alloc(cx->arena, (t.count + 1) * sizeof(*teams));
	TRY(place(cx, p, &t, teams));
	for (size_t g = 0; g < t.group_count; g++)
		needs[g] = (struct policy_need){ t.groups[g].team_id, t.groups[g].needed };
	q.votes = t.needed;
	q.need_count = t.group_count;
	q.teams = teams;
	q.people = (size_t)t.valid;
	t.enough = quorum_met(&q, &gap);
	if (!t.enough)
		t.missing = say_gap(cx, &t, &gap);
	*out = t;
	return OK;
}
