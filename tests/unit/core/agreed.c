/* SPDX-License-Identifier: Apache-2.0 */
/* What policy decided when it was proposed, decided again (PA-3): the same facts give the same decision, none is lost. */
#include "tests/unit/unit.h"

#include "core/proposal/agreed/agreed.h"

static const char *const writes[] = { "x.x.write", NULL };
static const struct field takes[] = { FIELD_TEXT(struct permission_row, tool), FIELD_END };

static status
run_nothing(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	(void)cx;
	(void)call;
	*out = (struct tool_result){ .summary = STR("nothing") };
	return OK;
}

#define CHANGE(name_, personal)                                                                              \
	{                                                                                                    \
		.name = (name_), .version = 1, .title = "T", .doc = "D.", .effect = OP_MUTATE,               \
		.category = TOOL_CATEGORY_B, .in = takes, .in_size = sizeof(struct permission_row),          \
		.out = takes, .rules = writes, .domain = "operations", .target = "here",                     \
		.failure = "Nothing is changed.", .rollback = true, .personal_data = (personal),             \
		.run = run_nothing                                                                           \
	}

static const struct tool table[] = { CHANGE("x.change", true), CHANGE("x.plain", false), { 0 } };

struct world {
	struct policy_rules rules;
	struct permission_snapshot snapshot;
	struct permission_row tier;
	struct caller proposer;
	struct registry *tools;
	str listed[2], approve;
};

static void
begin(struct unit *u, struct world *w)
{
	static const struct tool *const tables[] = { table, NULL };

	*w = (struct world){ .listed = { STR("x.change"), STR("x.plain") }, .approve = STR("x.x.approve") };
	assert_status(registry_new(&u->cx, tables, &w->tools), OK);
	u->cx.tools = w->tools;
	w->rules = (struct policy_rules){ .votes_low = 1,
		.votes_medium = 2,
		.votes_high = 3,
		.votes_destructive = 1,
		.overrides = true,
		.auto_execute = true,
		.allow_listed = w->listed,
		.allow_listed_count = 2 };
}

/* Bit i of n. */
static bool
bit(unsigned n, unsigned i)
{
	return n >> i & 1;
}

#define FACTS 12u /* bits of a combination */

static struct policy_facts
facts_of(const struct world *w, unsigned n, enum risk declared)
{
	return (struct policy_facts){ .tool = tool_find(w->tools, STR("x.change")),
		.principal = bit(n, 0) ? PRINCIPAL_USER : PRINCIPAL_AGENT,
		.tier = bit(n, 1) ? TIER_ALWAYS_ALLOW : TIER_NEEDS_APPROVAL,
		.tier_stored = true,
		.auto_mode = bit(n, 2),
		.token_requires = bit(n, 3),
		.in_session = bit(n, 0) && bit(n, 4),
		.may_vote = bit(n, 0) && bit(n, 5),
		.production = bit(n, 6),
		.environment_gate = bit(n, 7),
		.in_environment = true,
		.has_verb = bit(n, 8),
		.declared = declared,
		.declared_gdpr = bit(n, 9),
		.wants_no_approval = bit(n, 10),
		.deceptive = bit(n, 11),
		.schema_known = true };
}

static struct proposal
proposal_of(struct unit *u, const struct policy_facts *f)
{
	struct proposal p = { .proposer_kind = str_of(principal_kind_name(f->principal)),
		.risk = STR("low"),
		.token_id = f->in_session ? (str){ 0 } : STR("t"),
		.provenance = f->declared_gdpr ? STR("{\"gdpr\":true,\"hipaa\":false}")
					       : STR("{\"gdpr\":false,\"hipaa\":false}") };

	assert_status(agreed_facts(&u->cx, f, false, &p.facts), OK);
	return p;
}

/* As it is when nothing has changed since. */
static struct agreed_now
now_of(struct world *w, const struct policy_facts *f)
{
	w->tier = (struct permission_row){ str_of(f->tool->name), f->tier };
	w->snapshot = (struct permission_snapshot){ .rows = &w->tier, .count = 1 };
	w->proposer = (struct caller){ .kind = f->principal,
		.rules = { .items = &w->approve, .count = f->may_vote },
		.auto_mode = f->auto_mode,
		.approval_required = false };
	return (struct agreed_now){ .rules = &w->rules,
		.tool = f->tool,
		.proposer = &w->proposer,
		.snapshot = &w->snapshot,
		.place = { .production = f->production,
			.gate = f->environment_gate,
			.in_environment = f->in_environment,
			.may = f->has_verb } };
}

static void
assert_as_strict(const struct policy_decision *d, const struct policy_decision *as)
{
	assert_true(d->verdict <= as->verdict); /* refuse, ask, run */
	assert_true(d->risk >= as->risk);
	assert_true(d->votes >= as->votes);
}

static void
on_the_same_facts_it_is_the_same_decision(void **state) /* PA-3 */
{
	struct world w;

	(void)state;
	UNIT(u);
	begin(&u, &w);
	for (unsigned n = 0; n < 3u << FACTS; n++) {
		struct policy_facts f = facts_of(&w, n, (enum risk)(n >> FACTS));
		struct arena_mark mark = arena_mark(&u.arena);
		struct proposal p = proposal_of(&u, &f);
		struct agreed_now now = now_of(&w, &f);
		struct policy_decision then, again;

		policy_decide(&w.rules, &f, &then);
		assert_status(agreed_again(&u.cx, &p, &now, &again), OK);
		assert_int_equal(again.verdict, then.verdict);
		assert_int_equal(again.risk, then.risk);
		assert_int_equal(again.votes, then.votes);
		assert_memory_equal(again.reasons, then.reasons, sizeof(then.reasons));
		arena_rewind(&u.arena, mark);
	}
	registry_free(w.tools);
}

static void
without_kept_facts_it_is_never_milder(void **state) /* PA-3 */
{
	struct world w;

	(void)state;
	UNIT(u);
	begin(&u, &w);
	for (unsigned n = 0; n < 3u << FACTS; n++) {
		struct policy_facts f = facts_of(&w, n, (enum risk)(n >> FACTS));
		struct arena_mark mark = arena_mark(&u.arena);
		struct proposal p = proposal_of(&u, &f);
		struct agreed_now now = now_of(&w, &f);
		struct policy_decision then, again;

		if (f.token_requires && f.in_session)
			continue; /* only a token asks */
		policy_decide(&w.rules, &f, &then);
		p.facts = (str){ 0 };
		p.risk = str_of(risk_name(then.risk));
		assert_status(agreed_again(&u.cx, &p, &now, &again), OK);
		assert_as_strict(&again, &then);
		arena_rewind(&u.arena, mark);
	}
	registry_free(w.tools);
}

static void
of_what_is_kept_and_known_now_the_stricter_counts(void **state) /* PA-3, PA-9 */
{
	struct policy_decision d;
	struct policy_facts f;
	struct agreed_now now;
	struct proposal p;
	struct world w;

	(void)state;
	UNIT(u);
	begin(&u, &w);
	f = facts_of(&w, 1u << 1 | 1u << 8, RISK_LOW); /* an agent that may, always allowed */
	f.tool = tool_find(w.tools, STR("x.plain"));
	p = proposal_of(&u, &f);
	now = now_of(&w, &f);
	assert_status(agreed_again(&u.cx, &p, &now, &d), OK);
	assert_int_equal(d.verdict, VERDICT_RUN);
	w.proposer.approval_required = true; /* the token asks by now */
	assert_status(agreed_again(&u.cx, &p, &now, &d), OK);
	assert_int_equal(d.verdict, VERDICT_ASK);
	w.proposer.approval_required = false;
	f.token_requires = true; /* it asked then, and no longer does */
	p = proposal_of(&u, &f);
	assert_status(agreed_again(&u.cx, &p, &now, &d), OK);
	assert_int_equal(d.verdict, VERDICT_ASK);
	p.facts = STR("{\"declared\":\"none\"}");
	assert_status(agreed_again(&u.cx, &p, &now, &d), E_INTERNAL);
	p.facts = STR("{\"declared\":\"low\",\"other\":true}");
	assert_status(agreed_again(&u.cx, &p, &now, &d), E_INTERNAL);
	registry_free(w.tools);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_the_same_facts_it_is_the_same_decision),
		cmocka_unit_test(without_kept_facts_it_is_never_milder),
		cmocka_unit_test(of_what_is_kept_and_known_now_the_stricter_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
