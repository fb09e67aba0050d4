/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "core/gate/policy.h"
#include "core/gate/quorum.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct policy_rules ordinary = {
	.votes_low = 1,
	.votes_medium = 1,
	.votes_high = 1,
	.votes_destructive = 1,
	.overrides = true,
	.auto_execute = true,
};

static const struct tool draft = {
	.name = "x.draft",
	.effect = OP_MUTATE,
	.category = TOOL_CATEGORY_A,
	.rollback = true,
	.contract = TOOL_TRANSACTIONAL,
};

/* A sanitizer sees as much in one of so many: policy is one pure function. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#	define STRIDE 31u
#else
#	define STRIDE 1u
#endif

/* Who may ask. Of people: with a token, without the right to vote and with it; in a session, without and with. */
static const struct policy_facts askers[] = {
	{ .principal = PRINCIPAL_AGENT },
	{ .principal = PRINCIPAL_SERVICE },
	{ .principal = PRINCIPAL_USER },
	{ .principal = PRINCIPAL_USER, .may_vote = true },
	{ .principal = PRINCIPAL_USER, .in_session = true },
	{ .principal = PRINCIPAL_USER, .in_session = true, .may_vote = true },
};

/* How many of all combinations of facts, tools and rules do not satisfy holds. */
static size_t
violations(bool (*holds)(
	const struct policy_rules *, const struct policy_facts *, const struct policy_decision *))
{
	static const str list[] = { { "x.y", 3 } };
	size_t bad = 0;

	for (unsigned t = 0; t < 3 * 3 * 32; t++) {
		struct tool tool = { .name = "x.y",
			.effect = (enum op_effect)(t % 3),
			.category = (enum tool_category)(t / 3 % 3),
			.rollback = t / 9 & 1,
			.financial = t / 9 & 2,
			.personal_data = t / 9 & 4,
			.phi = t / 9 & 8,
			.provider = t / 9 & 16 ? TOOL_MCP : TOOL_BUILTIN };

		for (unsigned f = t % STRIDE; f < COUNT(askers) * 3 * 256; f += STRIDE) {
			const struct policy_facts *asker = &askers[f % COUNT(askers)];
			unsigned bits = f / COUNT(askers) / 3;
			struct policy_facts facts = { .tool = &tool,
				.principal = asker->principal,
				.in_session = asker->in_session,
				.may_vote = asker->may_vote,
				.tier = (enum tier)(f / COUNT(askers) % 3),
				.tier_stored = bits & 1,
				.override_ = bits & 2,
				.auto_mode = bits & 4,
				.token_requires = bits & 8,
				.production = bits & 16,
				.environment_gate = bits & 32,
				.has_verb = bits & 64,
				.declared = bits % 3 ? RISK_LOW : RISK_MEDIUM,
				.schema_known = true,
				.deceptive = bits & 128 };

			for (unsigned r = 0; r < 16; r++) {
				struct policy_rules rules = ordinary;
				struct policy_decision d;

				rules.four_eyes = r & 1;
				rules.auto_execute = r & 2;
				rules.gdpr = rules.hipaa = r & 4;
				rules.allow_listed = list;
				rules.allow_listed_count = r & 8 ? 1 : 0;
				policy_decide(&rules, &facts, &d);
				bad += !holds(&rules, &facts, &d);
			}
		}
	}
	return bad;
}

/* May a change run without a person? Only where all of these say so (AP-1, AP-2). */
static bool
may_run(const struct policy_rules *r, const struct policy_facts *f, const struct policy_decision *d)
{
	const struct tool *t = f->tool;

	return r->auto_execute && t->rollback && !t->personal_data && t->provider == TOOL_BUILTIN &&
	       t->effect != OP_DESTRUCTIVE && t->category != TOOL_CATEGORY_C && d->risk == RISK_LOW &&
	       f->has_verb && (t->category == TOOL_CATEGORY_A || r->allow_listed_count == 1) &&
	       !f->token_requires && !f->environment_gate && !f->deceptive;
}

/* What must hold whatever the rest says. */
static bool
promises(const struct policy_rules *r, const struct policy_facts *f, const struct policy_decision *d)
{
	const struct tool *t = f->tool;
	bool run = d->verdict == VERDICT_RUN;

	/* ID-2, TL-2, AP-2: refused outright, these and only these */
	bool refuse = f->principal == PRINCIPAL_SERVICE || f->tier == TIER_BLOCKED ||
		      (t->financial && f->principal == PRINCIPAL_AGENT) ||
		      (r->hipaa && t->phi && r->allow_listed_count == 0);
	/* AP-3: only asking in a session that may vote counts for one, and never for category C */
	bool agrees = f->principal == PRINCIPAL_USER && f->has_verb && f->in_session && !r->four_eyes &&
		      !f->token_requires &&
		      (t->effect == OP_READ || (f->may_vote && t->category != TOOL_CATEGORY_C));
	int64_t least = agrees ? 0 : 1;

	return (d->verdict == VERDICT_REFUSE) == refuse &&
	       (!run || t->effect == OP_READ || may_run(r, f, d)) &&
	       !(run && r->gdpr && (t->personal_data || t->phi)) /* AP-8 */ &&
	       d->risk >= f->declared /* PA-11 */ && (d->verdict != VERDICT_ASK || d->votes >= least) &&
	       run == (d->reasons[0] == NULL);
}

static void
no_combination_of_facts_breaks_a_promise(void **state)
{
	(void)state;
	assert_int_equal(violations(promises), 0);
}

/* AP-3: who asks can confirm the card only where asking would have counted in a session, but for category C. */
static bool
consents(const struct policy_rules *r, const struct policy_facts *f, const struct policy_decision *d)
{
	struct policy_facts signed_in = *f;
	struct policy_decision then;

	if (d->consent == CONSENT_NONE)
		return true;
	signed_in.in_session = true;
	policy_decide(r, &signed_in, &then);
	return d->verdict == VERDICT_ASK && f->principal == PRINCIPAL_USER && f->has_verb &&
	       (f->may_vote || f->tool->effect == OP_READ) && !r->four_eyes && !f->token_requires &&
	       then.consent != CONSENT_NONE && then.votes <= d->votes &&
	       (d->consent == CONSENT_CONFIRMING) == (d->votes > 0);
}

static void
nobody_agrees_by_a_token_or_unseen_to_category_c(void **state)
{
	(void)state;
	assert_int_equal(violations(consents), 0);
}

static bool
stricter(const struct policy_rules *r, const struct policy_facts *f, const struct policy_decision *d)
{
	struct policy_facts more = *f;
	struct policy_decision then;

	/* one more reason for caution never makes the verdict milder (enum verdict: refuse < ask < run) */
	more.token_requires = more.environment_gate = more.deceptive = true;
	more.override_ = more.auto_mode = false;
	policy_decide(r, &more, &then);
	return then.verdict <= d->verdict && then.risk >= d->risk;
}

static void
more_caution_is_never_milder(void **state)
{
	(void)state;
	assert_int_equal(violations(stricter), 0);
}

static enum verdict
verdict_of(const struct policy_rules *r, struct policy_facts f)
{
	struct policy_decision d;

	policy_decide(r, &f, &d);
	return d.verdict;
}

static void
auto_mode_lifts_a_default_but_not_an_admins_word(void **state) /* PA-9, TL-6 */
{
	struct policy_facts f = {
		.tool = &draft, .principal = PRINCIPAL_AGENT, .has_verb = true, .schema_known = true
	};

	(void)state;
	assert_int_equal(verdict_of(&ordinary, f), VERDICT_ASK);
	f.auto_mode = true;
	assert_int_equal(verdict_of(&ordinary, f), VERDICT_RUN);
	f.tier_stored = true;
	assert_int_equal(verdict_of(&ordinary, f), VERDICT_ASK);
	f.override_ = true;
	assert_int_equal(verdict_of(&ordinary, f), VERDICT_RUN);
}

static void
an_override_counts_only_where_the_organization_allows_it(void **state) /* TL-7 */
{
	struct policy_rules without = ordinary;
	struct policy_facts f = { .tool = &draft,
		.principal = PRINCIPAL_AGENT,
		.has_verb = true,
		.schema_known = true,
		.override_ = true };

	(void)state;
	without.overrides = false;
	assert_int_equal(verdict_of(&ordinary, f), VERDICT_RUN);
	assert_int_equal(verdict_of(&without, f), VERDICT_ASK);
}

static const struct tool helper = { .name = "x.append_rule",
	.effect = OP_MUTATE,
	.category = TOOL_CATEGORY_B,
	.rollback = true,
	.direct = true };

/* What a helper needs besides: each alone is enough to ask. */
static void
a_helper_runs_at_once_only_where_all_of_it_holds(void **state) /* TL-5 */
{
	const struct policy_facts all = { .tool = &helper,
		.principal = PRINCIPAL_AGENT,
		.has_verb = true,
		.in_environment = true,
		.schema_known = true };
	struct policy_rules strict = ordinary;

	(void)state;
	strict.auto_execute = false;
	assert_int_equal(verdict_of(&strict, all), VERDICT_RUN);
	for (int i = 0; i < 7; i++) {
		struct policy_facts f = all;

		f.has_verb = i != 0;
		f.token_requires = i == 1;
		f.environment_gate = i == 2;
		f.in_environment = i != 3;
		f.tier_stored = i == 4; /* needs_approval, and an admin said so */
		f.declared = i == 5 ? RISK_MEDIUM : RISK_LOW;
		f.deceptive = i == 6;
		assert_int_equal(verdict_of(&strict, f), VERDICT_ASK);
	}
}

static bool
a_helper_is_careful(
	const struct policy_rules *r, const struct policy_facts *f, const struct policy_decision *d)
{
	struct policy_facts more = *f;
	struct policy_decision then;

	(void)d;
	more.tool = &helper;
	more.in_environment = true;
	policy_decide(r, &more, &then);
	return then.verdict != VERDICT_RUN ||
	       (more.has_verb && !more.token_requires && !more.environment_gate && then.risk == RISK_LOW &&
		       more.tier != TIER_BLOCKED);
}

static void
no_combination_of_facts_lets_a_helper_past_a_gate(void **state) /* TL-5 */
{
	(void)state;
	assert_int_equal(violations(a_helper_is_careful), 0);
}

static void
a_read_that_needs_approval_is_asked_for(void **state) /* TL-6 */
{
	struct tool read = { .name = "x.get", .effect = OP_READ, .category = TOOL_CATEGORY_A };
	struct policy_facts f = {
		.tool = &read, .principal = PRINCIPAL_AGENT, .tier = TIER_ALWAYS_ALLOW, .schema_known = true
	};

	(void)state;
	assert_int_equal(verdict_of(&ordinary, f), VERDICT_RUN);
	f.tier = TIER_NEEDS_APPROVAL;
	f.auto_mode = true;
	assert_int_equal(verdict_of(&ordinary, f), VERDICT_ASK);
}

static void
that_it_cannot_be_undone_is_said_once(void **state) /* AP-2 */
{
	struct tool t = { .name = "x.change", .effect = OP_MUTATE };
	struct policy_facts f = { .tool = &t, .principal = PRINCIPAL_AGENT, .schema_known = true };
	struct policy_decision d;

	(void)state;
	policy_decide(&ordinary, &f, &d);
	assert_int_equal(d.risk, RISK_MEDIUM);
	assert_string_equal(d.risk_reasons[0], "it cannot be undone here");
	assert_null(d.risk_reasons[1]);
	f.production = true;
	policy_decide(&ordinary, &f, &d);
	assert_int_equal(d.risk, RISK_HIGH);
	assert_string_equal(d.risk_reasons[0], "it cannot be undone here, and this is production");
	assert_null(d.risk_reasons[1]);
}

static void
votes_follow_risk_and_effect(void **state) /* AP-4 */
{
	struct policy_rules r = ordinary;
	struct tool t = { .name = "x.change", .effect = OP_MUTATE, .rollback = true };
	struct policy_facts f = { .tool = &t, .principal = PRINCIPAL_AGENT, .schema_known = true };
	struct policy_decision d;

	(void)state;
	r.votes_medium = 2;
	r.votes_high = 3;
	r.votes_destructive = 4;
	policy_decide(&r, &f, &d);
	assert_int_equal(d.votes, 1);
	f.declared = RISK_MEDIUM;
	policy_decide(&r, &f, &d);
	assert_int_equal(d.votes, 2);
	f.declared = RISK_HIGH;
	policy_decide(&r, &f, &d);
	assert_int_equal(d.votes, 3);
	t.effect = OP_DESTRUCTIVE;
	policy_decide(&r, &f, &d);
	assert_int_equal(d.votes, 4);
}

static void
asking_is_agreeing_in_a_session_only(void **state) /* AP-3 */
{
	struct policy_rules r = ordinary;
	struct tool t = { .name = "x.change", .effect = OP_DESTRUCTIVE, .category = TOOL_CATEGORY_B };
	struct policy_facts f = { .tool = &t,
		.principal = PRINCIPAL_USER,
		.has_verb = true,
		.in_session = true,
		.may_vote = true,
		.schema_known = true };
	struct policy_decision d;

	(void)state;
	r.votes_destructive = 2;
	policy_decide(&r, &f, &d);
	assert_int_equal(d.votes, 1); /* their own consent is one */
	assert_int_equal(d.consent, CONSENT_ASKING);
	t.category = TOOL_CATEGORY_C; /* there they look at the card first */
	policy_decide(&r, &f, &d);
	assert_int_equal(d.votes, 2);
	assert_int_equal(d.consent, CONSENT_CONFIRMING);
	t.category = TOOL_CATEGORY_B;
	f.in_session = false; /* and so they do where a token asked */
	policy_decide(&r, &f, &d);
	assert_int_equal(d.votes, 2);
	assert_int_equal(d.consent, CONSENT_CONFIRMING);
	for (int i = 0; i < 4; i++) { /* each alone needs somebody else */
		struct policy_facts more = f;

		more.has_verb = i != 0;
		more.may_vote = i != 1;
		more.token_requires = i == 2;
		r.four_eyes = i == 3;
		policy_decide(&r, &more, &d);
		assert_int_equal(d.votes, 2);
		assert_int_equal(d.consent, CONSENT_NONE);
	}
}

/* --- teams (AP-4) --- */

static const struct policy_group two_of_a = { .team_id = { "a", 1 }, .votes = 2 };

static struct policy_decision
decide_with(struct policy_group g, struct policy_facts f)
{
	struct policy_rules r = ordinary;
	struct policy_decision d;

	r.groups = &g;
	r.group_count = 1;
	policy_decide(&r, &f, &d);
	return d;
}

static void
a_team_is_asked_where_all_that_its_rule_says_applies(void **state)
{
	static const str other[] = { { "x.other", 7 } }, mine[] = { { "x.other", 7 }, { "x.draft", 7 } };
	struct policy_facts f = { .tool = &draft,
		.principal = PRINCIPAL_AGENT,
		.has_verb = true,
		.auto_mode = true,
		.schema_known = true };
	struct policy_group g = two_of_a;
	struct tool destroys = draft, reads = draft;

	(void)state;
	assert_int_equal(verdict_of(&ordinary, f), VERDICT_RUN);
	assert_int_equal(decide_with(g, f).verdict, VERDICT_ASK); /* nothing else asks: the team does */
	assert_int_equal(decide_with(g, f).votes, 2);
	assert_str(decide_with(g, f).groups[0].team_id, "a");
	g.risk = RISK_MEDIUM;
	assert_int_equal(decide_with(g, f).verdict, VERDICT_RUN);
	f.declared = RISK_HIGH;
	assert_int_equal(decide_with(g, f).group_count, 1);
	g.effect = OP_DESTRUCTIVE;
	assert_int_equal(decide_with(g, f).group_count, 0);
	destroys.effect = OP_DESTRUCTIVE;
	f.tool = &destroys;
	assert_int_equal(decide_with(g, f).group_count, 1);
	g.production = true;
	assert_int_equal(decide_with(g, f).group_count, 0);
	f.production = true;
	assert_int_equal(decide_with(g, f).group_count, 1);
	g.tools = other;
	g.tool_count = 1;
	assert_int_equal(decide_with(g, f).group_count, 0);
	g.tools = mine;
	g.tool_count = 2;
	assert_int_equal(decide_with(g, f).group_count, 1);
	reads.effect = OP_READ;
	f.tool = &reads;
	assert_int_equal(decide_with(two_of_a, f).group_count, 0);
}

static void
the_stricter_rule_for_a_team_holds_and_teams_add_up(void **state)
{
	struct policy_group groups[] = { two_of_a, { .team_id = STR("b"), .votes = 3 },
		{ .team_id = STR("a"), .votes = 1 }, { .team_id = STR("b"), .votes = 4 } };
	struct policy_rules r = ordinary;
	struct policy_facts f = { .tool = &draft, .principal = PRINCIPAL_AGENT, .schema_known = true };
	struct policy_decision d;

	(void)state;
	r.groups = groups;
	r.group_count = 4;
	policy_decide(&r, &f, &d);
	assert_int_equal(d.group_count, 2);
	assert_int_equal(d.groups[0].votes, 2);
	assert_int_equal(d.groups[1].votes, 4);
	assert_int_equal(d.votes, 6);
	r.votes_low = 9;
	policy_decide(&r, &f, &d);
	assert_int_equal(d.votes, 9);
	f.tool = &(struct tool){ .name = "x.y", .effect = OP_MUTATE, .financial = true };
	policy_decide(&r, &f, &d);
	assert_int_equal(d.verdict, VERDICT_REFUSE); /* nobody is asked about what is refused */
	assert_int_equal(d.group_count, 0);
}

static void
asking_is_not_agreeing_for_a_team(void **state)
{
	struct policy_facts f = { .tool = &draft,
		.principal = PRINCIPAL_USER,
		.has_verb = true,
		.in_session = true,
		.may_vote = true,
		.schema_known = true };

	(void)state;
	assert_int_equal(decide_with(two_of_a, f).votes, 2); /* without the team: 1 - 1 */
}

static bool
met(const struct policy_need *needs, size_t count, const uint32_t *teams, size_t people)
{
	struct quorum q = {
		.votes = 1, .needs = needs, .need_count = count, .teams = teams, .people = people
	};
	struct quorum_gap gap;

	return quorum_met(&q, &gap);
}

/* The plain way: try every seat for every person. seats[i] is base 4: 3 is none. */
static bool
met_by_trying(const struct policy_need *needs, const uint32_t *teams, size_t people)
{
	unsigned all = 1u << (2 * people);

	for (unsigned way = 0; way < all; way++) {
		int64_t left[3] = { needs[0].votes, needs[1].votes, needs[2].votes };
		bool may = true;

		for (size_t i = 0; i < people; i++) {
			unsigned seat = way >> (2 * i) & 3;

			if (seat == 3)
				continue;
			may = may && (teams[i] >> seat & 1);
			left[seat]--;
		}
		if (may && left[0] <= 0 && left[1] <= 0 && left[2] <= 0)
			return true;
	}
	return false;
}

static void
a_quorum_is_met_exactly_if_everybody_can_sit_in_one_place(void **state)
{
	size_t bad = 0, yes = 0;

	(void)state;
	for (unsigned n = 0; n < 27; n++) {
		struct policy_need needs[] = { { STR("a"), n % 3 }, { STR("b"), n / 3 % 3 },
			{ STR("c"), n / 9 } };

		for (unsigned who = 0; who < 8 * 8 * 8 * 8; who++) {
			uint32_t teams[] = { who & 7, who >> 3 & 7, who >> 6 & 7, who >> 9 & 7 };
			bool expected = met_by_trying(needs, teams, 4);

			yes += expected;
			bad += met(needs, 3, teams, 4) != expected;
		}
	}
	assert_int_equal(bad, 0);
	assert_true(yes > 1000);
}

static void
what_is_missing_is_said_as_narrowly_as_possible(void **state)
{
	const struct policy_need needs[] = { { STR("a"), 1 }, { STR("b"), 1 } };
	const uint32_t both[] = { 3, 0 }, only_a[] = { 1, 1 };
	struct quorum q = { .votes = 3, .needs = needs, .need_count = 2, .teams = only_a, .people = 2 };
	struct quorum_gap gap;

	(void)state;
	assert_false(quorum_met(&q, &gap));
	assert_int_equal(gap.teams, 2); /* of b, one */
	assert_int_equal(gap.people, 1);
	q.teams = both;
	assert_false(quorum_met(&q, &gap));
	assert_int_equal(gap.teams, 3); /* of a or b: the first is in both, and counts once */
	q.teams = (const uint32_t[]){ 1, 2 };
	assert_false(quorum_met(&q, &gap));
	assert_int_equal(gap.teams, 0); /* of anybody: three are needed */
	assert_int_equal(gap.people, 1);
	q.votes = 2;
	assert_true(quorum_met(&q, &gap));
	q.people = 0;
	q.votes = 0;
	q.need_count = 0;
	assert_true(quorum_met(&q, &gap));
}

/* What is said to be never lifted is decided alike with "approve always" and without. */
static bool
never_is_never(const struct policy_rules *r, const struct policy_facts *f, const struct policy_decision *d)
{
	struct policy_facts other = *f;
	struct policy_decision then;

	other.override_ = !f->override_;
	policy_decide(r, &other, &then);
	return !policy_never_lifted(f->tool) || (then.verdict == d->verdict && then.votes == d->votes);
}

static void
what_is_never_lifted_is_not_lifted_by_any_combination(void **state)
{
	(void)state;
	assert_int_equal(violations(never_is_never), 0);
	assert_null(policy_never_lifted(&draft));
}

static void
names_are_read_back(void **state)
{
	enum risk risk = RISK_LOW;
	enum tier tier = TIER_BLOCKED;

	(void)state;
	assert_true(risk_of(str_of(risk_name(RISK_HIGH)), &risk));
	assert_int_equal(risk, RISK_HIGH);
	assert_false(risk_of(STR("HIGH"), &risk));
	assert_true(tier_of(str_of(tier_name(TIER_ALWAYS_ALLOW)), &tier));
	assert_int_equal(tier, TIER_ALWAYS_ALLOW);
	assert_false(tier_of(STR("allow"), &tier));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_combination_of_facts_breaks_a_promise),
		cmocka_unit_test(more_caution_is_never_milder),
		cmocka_unit_test(auto_mode_lifts_a_default_but_not_an_admins_word),
		cmocka_unit_test(an_override_counts_only_where_the_organization_allows_it),
		cmocka_unit_test(a_helper_runs_at_once_only_where_all_of_it_holds),
		cmocka_unit_test(no_combination_of_facts_lets_a_helper_past_a_gate),
		cmocka_unit_test(a_read_that_needs_approval_is_asked_for),
		cmocka_unit_test(nobody_agrees_by_a_token_or_unseen_to_category_c),
		cmocka_unit_test(votes_follow_risk_and_effect),
		cmocka_unit_test(asking_is_agreeing_in_a_session_only),
		cmocka_unit_test(a_team_is_asked_where_all_that_its_rule_says_applies),
		cmocka_unit_test(the_stricter_rule_for_a_team_holds_and_teams_add_up),
		cmocka_unit_test(asking_is_not_agreeing_for_a_team),
		cmocka_unit_test(a_quorum_is_met_exactly_if_everybody_can_sit_in_one_place),
		cmocka_unit_test(what_is_missing_is_said_as_narrowly_as_possible),
		cmocka_unit_test(that_it_cannot_be_undone_is_said_once),
		cmocka_unit_test(what_is_never_lifted_is_not_lifted_by_any_combination),
		cmocka_unit_test(names_are_read_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
