/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "core/ident/rule.h"
#include "core/proposal/lifecycle.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void
a_rule_has_plugin_resource_and_verb(void **state) /* ID-3 */
{
	static const char *const good[] = { "*", "note.note.read", "healthcheck.check.configuration.manage",
		"a.b-c.delete" };
	static const char *const bad[] = { "", "note", "note.read", "note.note.fly", "note..read",
		".note.read", "note.note.", "note.no te.read", "note.note.read ", "*.*.*", "note.*.read",
		"note.note.READ" };

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++)
		assert_true(rule_valid(str_of(good[i])));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(rule_valid(str_of(bad[i])));
}

static bool
covers(const char *item, const char *rule)
{
	str items[] = { str_of(item) };
	struct rules set = { .items = items, .count = 1 };

	return rules_cover(&set, str_of(rule));
}

static void
manage_covers_the_resource_and_what_is_below_it(void **state) /* ID-3 */
{
	(void)state;
	assert_true(covers("note.note.manage", "note.note.delete"));
	assert_true(covers("note.note.manage", "note.note.manage"));
	assert_true(covers("note.note.manage", "note.note.page.read"));
	assert_false(covers("note.note.manage", "note.notebook.read"));
	assert_false(covers("note.note.page.manage", "note.note.read"));
	assert_false(covers("note.note.write", "note.note.read"));
	assert_true(covers("note.note.write", "note.note.write"));
	assert_true(covers("*", "anything.at.delete"));
}

static void
each_level_adds_its_verbs_and_only_admin_has_the_guarded(void **state) /* ID-4 */
{
	static const struct {
		const char *rule;
		enum level lowest;
	} rows[] = {
		{ "note.note.read", LEVEL_OBSERVER },
		{ "note.note.propose", LEVEL_PROPOSER },
		{ "note.note.toggle", LEVEL_OPERATOR },
		{ "note.note.write", LEVEL_OPERATOR },
		{ "note.note.approve", LEVEL_OPERATOR },
		{ "note.note.create", LEVEL_MAINTAINER },
		{ "note.note.promote", LEVEL_MAINTAINER },
		{ "note.note.delete", LEVEL_MAINTAINER },
		{ "note.note.manage", LEVEL_ADMIN },
		{ "access.role.write", LEVEL_ADMIN },
		{ "access.token.create", LEVEL_ADMIN },
		{ "policy.rules.write", LEVEL_ADMIN },
		{ "access.role.read", LEVEL_OBSERVER },
		{ "access.token.propose", LEVEL_PROPOSER },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		for (int l = LEVEL_NONE; l < LEVELS; l++)
			assert_int_equal(
				level_covers((enum level)l, str_of(rows[i].rule)), l >= (int)rows[i].lowest);
	assert_false(level_covers(LEVEL_ADMIN, STR("nonsense")));
}

static void
missing_rules_are_named(void **state) /* ID-9 */
{
	UNIT(u);
	static const char *const needed[] = { "note.note.read", "note.note.write", "note.note.delete", NULL };
	struct rules set = { .level = LEVEL_OBSERVER };
	str missing;

	(void)state;
	assert_false(rules_cover_all(&u.arena, &set, needed, &missing));
	assert_str(missing, "note.note.write, note.note.delete");
	set.level = LEVEL_MAINTAINER;
	assert_true(rules_cover_all(&u.arena, &set, needed, NULL));
}

static bool
holds(enum level level, const char *item, enum level other_level, const char *other_item)
{
	str mine[] = { str_of(item) }, theirs[] = { str_of(other_item) };
	struct rules have = { .level = level, .items = mine, .count = mine[0].len > 0 };
	struct rules want = { .level = other_level, .items = theirs, .count = theirs[0].len > 0 };

	return rules_hold(&have, &want);
}

static void
a_set_that_holds_another_lacks_nothing_of_it(void **state) /* ID-6 */
{
	(void)state;
	assert_true(holds(LEVEL_NONE, "", LEVEL_NONE, ""));
	assert_true(holds(LEVEL_OPERATOR, "", LEVEL_OBSERVER, "note.note.write"));
	assert_true(holds(LEVEL_NONE, "note.note.manage", LEVEL_NONE, "note.note.delete"));
	assert_true(holds(LEVEL_ADMIN, "", LEVEL_ADMIN, "*"));
	assert_true(holds(LEVEL_NONE, "*", LEVEL_ADMIN, "access.role.manage"));
	assert_false(holds(LEVEL_MAINTAINER, "", LEVEL_NONE, "*"));
	assert_false(holds(LEVEL_MAINTAINER, "", LEVEL_ADMIN, ""));
	assert_false(holds(LEVEL_OPERATOR, "", LEVEL_NONE, "note.note.delete"));
	assert_false(holds(LEVEL_MAINTAINER, "", LEVEL_NONE, "access.member.manage"));
	assert_false(holds(LEVEL_NONE, "note.note.delete", LEVEL_NONE, "note.note.manage"));
}

static void
levels_and_verbs_have_names(void **state)
{
	enum level l = LEVEL_NONE;

	(void)state;
	assert_true(level_of(STR("operator"), &l));
	assert_int_equal(l, LEVEL_OPERATOR);
	assert_string_equal(level_name(l), "operator");
	assert_false(level_of(STR("none"), &l));
	assert_string_equal(verb_name(VERB_PROMOTE), "promote");
}

static void
only_listed_steps_are_possible(void **state) /* PRODUCT section 3 */
{
	enum proposal_state to = PROPOSAL_PENDING;
	int possible = 0;

	(void)state;
	for (int s = 0; s < PROPOSAL_STATE_COUNT; s++) {
		enum proposal_state back = PROPOSAL_PENDING;

		assert_true(proposal_state_of(str_of(proposal_state_name((enum proposal_state)s)), &back));
		assert_int_equal(back, s);
		for (int e = 0; e <= PROPOSAL_EVENT_LOSE; e++)
			possible += proposal_step((enum proposal_state)s, (enum proposal_event)e, &to);
	}
	assert_int_equal(possible, 19);
	assert_true(proposal_step(
		PROPOSAL_APPROVED, PROPOSAL_EVENT_VOTE, &to)); /* in place of one that is lost */
	assert_int_equal(to, PROPOSAL_APPROVED);
	assert_true(proposal_step(PROPOSAL_APPROVED, PROPOSAL_EVENT_CLAIM, &to));
	assert_int_equal(to, PROPOSAL_EXECUTING);
	assert_false(proposal_step(PROPOSAL_PENDING, PROPOSAL_EVENT_CLAIM, &to)); /* no votes, no claim */
	assert_false(proposal_step(
		PROPOSAL_EXECUTING, PROPOSAL_EVENT_EXPIRE, &to)); /* a claimed one never goes back */
	assert_false(proposal_step(PROPOSAL_EXECUTING, PROPOSAL_EVENT_CANCEL, &to));
	assert_true(proposal_is_final(PROPOSAL_APPLIED));
	assert_true(proposal_is_final(PROPOSAL_EXPIRED));
	assert_false(proposal_is_final(PROPOSAL_UNKNOWN)); /* a person settles it */
	assert_false(proposal_state_of(STR("open"), &to));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_has_plugin_resource_and_verb),
		cmocka_unit_test(manage_covers_the_resource_and_what_is_below_it),
		cmocka_unit_test(each_level_adds_its_verbs_and_only_admin_has_the_guarded),
		cmocka_unit_test(missing_rules_are_named),
		cmocka_unit_test(a_set_that_holds_another_lacks_nothing_of_it),
		cmocka_unit_test(levels_and_verbs_have_names),
		cmocka_unit_test(only_listed_steps_are_possible),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
