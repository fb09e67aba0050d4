/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "core/gate/policy.h"

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

		for (unsigned f = 0; f < 3 * 3 * 256; f++) {
			unsigned bits = f / 9;
			struct policy_facts facts = { .tool = &tool,
				.principal = (enum principal_kind)(f % 3),
				.tier = (enum tier)(f / 3 % 3),
				.tier_stored = bits & 1,
				.override_ = bits & 2,
				.auto_mode = bits & 4,
				.token_requires = bits & 8,
				.production = bits & 16,
				.environment_gate = bits & 32,
				.has_verb = bits & 64,
				.declared = f % 3 ? RISK_LOW : RISK_MEDIUM,
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
	/* only a person's own consent counts for one vote */
	int64_t least = f->principal == PRINCIPAL_USER && f->has_verb && !r->four_eyes ? 0 : 1;

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
	f.principal = PRINCIPAL_USER;
	f.has_verb = true;
	policy_decide(&r, &f, &d);
	assert_int_equal(d.votes, 3); /* their own consent is one */
	r.four_eyes = true;
	policy_decide(&r, &f, &d);
	assert_int_equal(d.votes, 4);
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
		cmocka_unit_test(a_read_that_needs_approval_is_asked_for),
		cmocka_unit_test(votes_follow_risk_and_effect),
		cmocka_unit_test(names_are_read_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
