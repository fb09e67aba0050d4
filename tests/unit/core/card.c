/* SPDX-License-Identifier: Apache-2.0 */
/* The card (AP-5, AP-6): the same facts give the same bytes, another fact another hash. */
#include "tests/unit/unit.h"

#include "core/card/card.h"
#include "json/canon.h"

static const char *const rules[] = { "x.x.write", NULL };
static const struct tool tool = { .name = "x.update",
	.version = 3,
	.title = "Update",
	.target = "nowhere",
	.domain = "operations",
	.effect = OP_MUTATE,
	.rules = rules,
	.failure = "Nothing.",
	.rollback = true };

static struct json *
parse(struct unit *u, const char *text)
{
	struct json *doc;

	assert_status(json_parse(&u->cx, str_of(text), &doc), OK);
	return doc;
}

struct facts {
	const char *input, *before, *after, *summary;
};
static const struct facts plain = { "{\"a\":1}", "{\"a\":0,\"b\":[1,2]}", "{\"a\":1,\"b\":[1,2]}",
	"Update a" };

static struct tool_result
result_of(struct unit *u, const struct facts *f)
{
	return (struct tool_result){ .summary = str_of(f->summary),
		.affected = STR("1 thing"),
		.resource_type = STR("x"),
		.resource_key = STR("k"),
		.before = f->before ? parse(u, f->before) : NULL,
		.after = f->after ? parse(u, f->after) : NULL };
}

static struct card
make(struct unit *u, const struct facts *f, const struct policy_decision *d)
{
	struct card_asked asked = { .tool = &tool,
		.input = parse(u, f->input),
		.payload_hash = STR("hash"),
		.decision = d,
		.by_id = STR("me"),
		.by_kind = STR("agent"),
		.by_name = STR("Me"),
		.for_id = STR("you"),
		.expires_at = 1000,
		.policy_version = 7,
		.says_summary = STR("I say"),
		.says_reasoning = STR("because\xe2\x80\xae") };
	struct tool_result seen = result_of(u, f);
	struct card card;

	assert_status(card_make(&u->cx, &asked, &seen, &card), OK);
	return card;
}

static void
the_same_facts_give_the_same_card(void **state)
{
	struct policy_decision d = { .verdict = VERDICT_ASK, .votes = 1 };
	struct facts other_order = { "{\"a\":1.0}", "{\"b\":[1,2],\"a\":0}", "{\"b\":[1,2],\"a\":1}",
		"Update a" };
	struct card one, two;
	str hash;

	(void)state;
	UNIT(u);
	one = make(&u, &plain, &d);
	two = make(&u, &other_order, &d);
	assert_true(str_eq(one.text, two.text));
	assert_true(str_eq(one.view_hash, two.view_hash));
	assert_status(canon_hash(&u.cx, parse(&u, arena_cstr(&u.arena, one.text)), &hash), OK);
	assert_true(str_eq(hash, one.view_hash)); /* it is canonical: anybody can recompute it */
}

static void
the_card_has_all_that_a_person_must_see(void **state)
{
	static const char *const members[] = { "summary", "tool", "targetSystem", "affectedData", "effect",
		"change", "risk", "rollbackSupported", "failureImplications", "askedBy", "expiresAt",
		"agentSays", "payloadHash", "policyVersion", "warnings", NULL };
	struct policy_decision d = { .risk = RISK_MEDIUM, .risk_reasons = { "why" } };
	const struct json *doc;

	(void)state;
	UNIT(u);
	doc = parse(&u, arena_cstr(&u.arena, make(&u, &plain, &d).text));
	for (size_t i = 0; members[i]; i++)
		assert_non_null(json_get(doc, str_of(members[i])));
	assert_str(json_get(json_get(doc, STR("risk")), STR("level"))->text, "medium");
	assert_str(json_get(json_get(doc, STR("agentSays")), STR("reasoning"))->text, "because\\u{202E}");
	assert_int_equal(json_get(json_get(doc, STR("agentSays")), STR("warnings"))->count, 1);
	assert_int_equal(json_get(doc, STR("warnings"))->count, 0); /* what the agent says is apart */
	assert_int_equal(json_get(json_get(doc, STR("change")), STR("diff"))->count, 1);
}

static void
assert_drift(struct unit *u, struct card card, const struct facts *f, bool drifts)
{
	struct tool_result seen = result_of(u, f);
	struct card again;

	assert_status(card_again(&u->cx, parse(u, arena_cstr(&u->arena, card.text)), parse(u, f->input),
			      &seen, &again),
		OK);
	assert_int_equal(str_eq(again.view_hash, card.view_hash), !drifts);
	assert_int_equal(str_eq(again.text, card.text), !drifts);
}

static void
only_a_change_is_drift(void **state)
{
	struct policy_decision d = { .votes = 2 };
	struct facts f = plain;
	struct card card;

	(void)state;
	UNIT(u);
	card = make(&u, &f, &d);
	assert_drift(&u, card, &f, false);
	f.before = "{\"b\":[1,2],\"a\":0.0}"; /* the same values */
	assert_drift(&u, card, &f, false);
	f.before = "{\"a\":5,\"b\":[1,2]}"; /* a value before */
	assert_drift(&u, card, &f, true);
	f = plain;
	f.after = "{\"a\":1,\"b\":[1,2,3]}"; /* a further effect */
	assert_drift(&u, card, &f, true);
	f = plain;
	f.before = NULL; /* it is gone: a create instead of an update */
	assert_drift(&u, card, &f, true);
	f = plain;
	f.after = NULL;
	assert_drift(&u, card, &f, true);
	f = plain;
	f.summary = "Update b";
	assert_drift(&u, card, &f, true);
}

static void
deception_is_found_wherever_it_stands(void **state)
{
	struct policy_decision d = { .votes = 1 };
	struct card_asked asked = { .tool = &tool, .decision = &d };
	struct tool_result seen = { .summary = STR("fine") };

	(void)state;
	UNIT(u);
	asked.input = parse(&u, "{\"a\":\"b\"}");
	assert_int_equal(card_deceives(&u.cx, &asked, &seen), 0);
	seen.summary = STR("two\nlines");
	assert_int_not_equal(card_deceives(&u.cx, &asked, &seen), 0);
	seen.summary = STR("fine");
	asked.says_reasoning = STR("x\u200b");
	assert_int_not_equal(card_deceives(&u.cx, &asked, NULL), 0);
	asked.says_reasoning = STR("");
	asked.input = parse(&u, "{\"a\\u202e\":1}");
	assert_int_not_equal(card_deceives(&u.cx, &asked, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_facts_give_the_same_card),
		cmocka_unit_test(the_card_has_all_that_a_person_must_see),
		cmocka_unit_test(only_a_change_is_drift),
		cmocka_unit_test(deception_is_found_wherever_it_stands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
