/* SPDX-License-Identifier: Apache-2.0 */
/* The registry (TL-1, TL-4), the defaults of the three tiers (TL-6), and an organization's rules as they are
 * kept. */
#include "tests/unit/unit.h"

#include "core/gate/permission.h"
#include "core/gate/settings.h"

static status
run_nothing(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	(void)cx;
	(void)call;
	*out = (struct tool_result){ .summary = STR("nothing") };
	return OK;
}

static const char *const rules[] = { "x.x.write", NULL };
static const char *const bad_rules[] = { "x", NULL };
static const struct field no_input[] = { FIELD_END };

static struct tool
complete(const char *name)
{
	return (struct tool){ .name = name,
		.version = 1,
		.title = "T",
		.doc = "D.",
		.effect = OP_MUTATE,
		.in = no_input,
		.out = no_input,
		.rules = rules,
		.domain = "operations",
		.target = "here",
		.failure = "F.",
		.run = run_nothing };
}

static status
load(struct unit *u, struct tool a, struct tool b, struct registry **out)
{
	struct tool *table = arena_alloc(&u->arena, 3 * sizeof(*table));
	const struct tool **tables = arena_alloc(&u->arena, 2 * sizeof(*tables));

	table[0] = a;
	table[1] = b;
	tables[0] = table;
	return registry_new(&u->cx, tables, out);
}

static void
tools_are_found_by_name_and_listed_in_order(void **state)
{
	struct registry *r;

	(void)state;
	UNIT(u);
	assert_status(load(&u, complete("x.write"), complete("a.read"), &r), OK);
	assert_int_equal(registry_count(r), 2);
	assert_string_equal(registry_at(r, 0)->name, "a.read");
	assert_ptr_equal(tool_find(r, STR("x.write")), registry_at(r, 1));
	assert_null(tool_find(r, STR("x.writ")));
	assert_null(tool_find(r, STR("")));
	assert_non_null(tool_schema(r, registry_at(r, 1)));
	registry_free(r);
}

/* TL-1: the program does not start with one. */
static void
an_incomplete_declaration_is_refused(void **state)
{
	struct registry *r = NULL;
	struct tool wrong[13];

	(void)state;
	UNIT(u);
	for (size_t i = 0; i < 13; i++)
		wrong[i] = complete("x.write");
	wrong[0].name = "write";
	wrong[1].name = "x.write it";
	wrong[2].version = 0;
	wrong[3].title = NULL;
	wrong[4].rules = NULL;
	wrong[5].rules = bad_rules;
	wrong[6].in = NULL;
	wrong[7].in_schema = "{}";
	wrong[8].failure = NULL;
	wrong[9].run = NULL;
	wrong[10].effect = OP_READ; /* a read of category C */
	wrong[11].out = NULL;
	wrong[12].out = NULL;
	wrong[12].out_schema = "{\"type\": 7}";
	for (size_t i = 0; i < 13; i++)
		assert_status(load(&u, complete("a.ok"), wrong[i], &r), E_INVALID);
	wrong[0] = complete("x.write");
	wrong[0].in = NULL;
	wrong[0].in_schema = "{\"type\": 7}";
	assert_status(load(&u, complete("a.ok"), wrong[0], &r), E_INVALID);
	assert_null(r);
}

#define LONG "x.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static bool
is_model_name(str name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", name.ptr[i]))
			return false;
	return name.len >= 1 && name.len <= 64;
}

/* TL-4: whatever a tool is called, a model can be told of it, and finds it again. */
static void
a_tool_is_found_by_its_kind_too_and_only_small_changes_are_direct(void **state) /* FL-5, TL-5 */
{
	struct tool t = complete("x.kill");
	struct registry *r;

	(void)state;
	UNIT(u);
	t.kind = "kill_x";
	assert_status(load(&u, t, complete("a.read"), &r), OK);
	assert_string_equal(tool_of_kind(r, STR("kill_x"))->name, "x.kill");
	assert_null(tool_of_kind(r, STR("kill")));
	registry_free(r);
	t.kind = "Kill.x";
	assert_status(load(&u, t, complete("a.read"), &r), E_INVALID);
	t.kind = NULL;
	t.direct = true; /* of category C, and it cannot be undone */
	assert_status(load(&u, t, complete("a.read"), &r), E_INVALID);
	t.rollback = true;
	t.category = TOOL_CATEGORY_B;
	assert_status(load(&u, t, complete("a.read"), &r), OK);
	registry_free(r);
}

static void
another_version_than_the_one_that_was_seen_is_drift(void **state) /* PA-6 */
{
	struct tool_call call = { 0 };

	(void)state;
	UNIT(u);
	assert_status(tool_check_version(&u.cx, &call, 7), OK); /* the dry-run has seen none */
	call.seen_version = 7;
	assert_status(tool_check_version(&u.cx, &call, 7), OK);
	assert_status(tool_check_version(&u.cx, &call, 8), E_DRIFT);
	assert_str(u.cx.error.details, "{\"liveVersion\":8,\"proposedVersion\":7}");
}

static void
every_length_of_a_name_gives_one_that_models_take(void **state)
{
	char name[LIMIT_TOOL_NAME + 1] = "x.";

	(void)state;
	UNIT(u);
	for (size_t len = 3; len <= LIMIT_TOOL_NAME; len++) {
		struct tool t = complete(name);
		struct registry *r;
		str model;

		name[len - 1] = "aZ9-_"[len % 5];
		name[len] = '\0';
		model = tool_model_name(&u.arena, &t);
		assert_true(is_model_name(model));
		assert_int_equal(model.len, len < 64 ? len : 64);
		assert_status(load(&u, t, complete("a.read"), &r), OK);
		assert_string_equal(tool_of_model(r, model)->name, name);
		assert_null(tool_of_model(r, str_of(name))); /* by that name only the registry knows it */
		registry_free(r);
	}
}

/* TL-4, MCP-2: a name of its own for models, never one that is taken. */
static void
a_tool_says_what_models_call_it(void **state)
{
	struct tool t = complete("x.kill"), other = complete("a.read");
	struct registry *r = NULL;

	(void)state;
	UNIT(u);
	t.model = "propose_kill_x";
	assert_status(load(&u, t, other, &r), OK);
	assert_string_equal(tool_of_model(r, STR("propose_kill_x"))->name, "x.kill");
	assert_null(tool_of_model(r, STR("x_kill")));
	registry_free(r);
	r = NULL;
	other.model = "propose_kill_x";
	assert_status(load(&u, t, other, &r), E_INVALID);
	other.model = NULL;
	t.model = "a_read"; /* what the other one is called without saying so */
	assert_status(load(&u, t, other, &r), E_INVALID);
	t.model = "apply_proposal"; /* every face has it */
	assert_status(load(&u, t, other, &r), E_INVALID);
	t.model = "not.a.word";
	assert_status(load(&u, t, other, &r), E_INVALID);
	t.model = "";
	assert_status(load(&u, t, other, &r), E_INVALID);
	assert_null(r);
}

static status
answer_nothing(struct ctx *cx, const void *in, struct json_out *out)
{
	(void)cx;
	(void)in;
	(void)out;
	return OK;
}

/* TL-1: what an operation does already is declared once. */
static void
a_read_can_be_an_operation_and_has_its_form_and_its_rule(void **state)
{
	static const struct field in[] = { { .name = "slug", .type = FIELD_TYPE_TEXT, .need = true },
		{ .name = "page_size", .type = FIELD_TYPE_INT }, FIELD_END };
	static const char *const reads[] = { "x.y.read", NULL };
	struct op op = { .name = "x_list",
		.rule = "x.y.read",
		.in = in,
		.in_size = sizeof(str) + sizeof(int64_t),
		.out = no_input,
		.run = answer_nothing };
	struct tool t = complete("x.list");
	struct registry *r = NULL;

	(void)state;
	UNIT(u);
	t.effect = OP_READ;
	t.category = TOOL_CATEGORY_A;
	t.rules = reads;
	t.op = &op;
	t.run = tool_run_op;
	assert_status(load(&u, t, complete("a.read"), &r), E_INVALID); /* it has a form of its own, too */
	t.in = t.out = NULL;
	assert_status(load(&u, t, complete("a.read"), &r), OK);
	assert_str(tool_in_text(r, tool_find(r, STR("x.list"))),
		"{\"type\":\"object\",\"properties\":{\"pageSize\":{\"type\":\"integer\"}},"
		"\"additionalProperties\":false}");
	registry_free(r);
	r = NULL;
	op.in = NULL;
	assert_status(load(&u, t, complete("a.read"), &r), OK);
	registry_free(r);
	r = NULL;
	op.rule = "x.z.read";
	assert_status(load(&u, t, complete("a.read"), &r), E_INVALID);
	op.rule = "x.y.read";
	op.effect = OP_MUTATE;
	assert_status(load(&u, t, complete("a.read"), &r), E_INVALID);
	assert_null(r);
}

/* TL-4: a name that was made to look like the shortened name of another is refused when it is registered. */
static void
nobody_takes_the_short_name_of_a_long_one(void **state)
{
	struct tool longer = complete("mcp__" LONG "b");
	struct registry *r = NULL;
	struct tool thief;
	str model;

	(void)state;
	UNIT(u);
	model = tool_model_name(&u.arena, &longer);
	thief = complete(arena_cstr(&u.arena, model));
	assert_int_equal(strlen(thief.name), 64);
	assert_status(load(&u, longer, thief, &r), E_INVALID);
	assert_non_null(strstr(ctx_message(&u.cx, E_INVALID).ptr, "same name for a model"));
	assert_null(r);
}

/* TL-4 */
static void
names_for_models_are_short_and_never_the_same(void **state)
{
	struct tool fits = complete(LONG), longer = complete(LONG "b"), other = complete(LONG "c");
	struct registry *r = NULL;
	str a, b;

	(void)state;
	UNIT(u);
	assert_int_equal(strlen(LONG), 64);
	assert_int_equal(tool_model_name(&u.arena, &fits).len, 64);
	a = tool_model_name(&u.arena, &longer);
	b = tool_model_name(&u.arena, &other);
	assert_int_equal(a.len, 64);
	assert_false(str_eq(a, b)); /* the hash tells them apart */
	assert_true(str_starts(a, STR("x_aaaa")));
	assert_status(load(&u, longer, other, &r), OK);
	registry_free(r);
	r = NULL;
	assert_status(load(&u, complete("x.write"), complete("x.write"), &r), E_INVALID);
	assert_status(
		load(&u, complete("mcp__a.b"), complete("mcp__a_b"), &r), E_INVALID); /* both mcp__a_b */
	assert_null(r);
}

static enum tier
tier(const char *name, enum op_effect effect)
{
	struct tool t = complete(name);

	t.effect = effect;
	return permission_default(&t);
}

static void
a_new_tool_has_the_default_of_its_verb(void **state)
{
	(void)state;
	assert_int_equal(tier("x.list", OP_READ), TIER_ALWAYS_ALLOW);
	assert_int_equal(tier("x.searchThings", OP_READ), TIER_ALWAYS_ALLOW);
	assert_int_equal(tier("x.get", OP_READ), TIER_ALWAYS_ALLOW);
	assert_int_equal(tier("x.createThing", OP_READ), TIER_NEEDS_APPROVAL);
	assert_int_equal(tier("x.delete", OP_READ), TIER_NEEDS_APPROVAL);
	assert_int_equal(tier("x.update", OP_MUTATE), TIER_NEEDS_APPROVAL);
	assert_int_equal(tier("x.list", OP_MUTATE), TIER_NEEDS_APPROVAL);
	assert_int_equal(tier("x.toggle", OP_MUTATE), TIER_NEEDS_APPROVAL);
	assert_int_equal(tier("x.get", OP_DESTRUCTIVE), TIER_NEEDS_APPROVAL);
	assert_int_equal(tier("mcp__x__list", OP_READ), TIER_NEEDS_APPROVAL);
}

static void
what_an_admin_stored_goes_before_the_default(void **state)
{
	struct permission_row rows[] = { { STR("x.get"), TIER_BLOCKED } };
	str overrides[] = { STR("x.write") };
	struct permission_snapshot s = { rows, 1, overrides, 1 };
	struct tool get = complete("x.get"), write = complete("x.write");
	bool stored;

	(void)state;
	assert_int_equal(permission_tier(&s, &get, &stored), TIER_BLOCKED);
	assert_true(stored);
	assert_int_equal(permission_tier(&s, &write, &stored), TIER_NEEDS_APPROVAL);
	assert_false(stored);
	assert_true(permission_override(&s, &write));
	assert_false(permission_override(&s, &get));
}

static void
the_rules_that_are_not_written_have_safe_values(void **state)
{
	struct policy_rules r;
	struct json *doc;

	(void)state;
	UNIT(u);
	assert_status(json_parse(&u.cx, STR("{}"), &doc), OK);
	assert_status(policy_rules_read(&u.cx, doc, &r), OK);
	assert_int_equal(r.votes_low + r.votes_medium + r.votes_high + r.votes_destructive, 4);
	assert_int_equal(r.allow_listed_count, 0);
	assert_status(
		json_parse(&u.cx, STR("{\"votesHigh\":3,\"fourEyes\":true,\"allowListed\":[\"a.b\"]}"), &doc),
		OK);
	assert_status(policy_rules_read(&u.cx, doc, &r), OK);
	assert_int_equal(r.votes_high, 3);
	assert_true(r.four_eyes);
	assert_str(r.allow_listed[0], "a.b");
}

static void
rules_that_are_none_are_refused(void **state)
{
	static const char *const wrong[] = { "[]", "{\"votesLow\":0}", "{\"votesLow\":21}",
		"{\"votesLow\":\"1\"}", "{\"unknown\":1}", "{\"allowListed\":\"a.b\"}",
		"{\"allowListed\":[1]}", "{\"allowListed\":{}}", "{\"gdpr\":1}", "{\"groups\":{}}",
		"{\"groups\":[1]}", "{\"groups\":[{}]}", "{\"groups\":[{\"teamId\":\"t\",\"votes\":0}]}",
		"{\"groups\":[{\"teamId\":\"t\",\"risk\":\"no\"}]}",
		"{\"groups\":[{\"teamId\":\"t\",\"effect\":\"read\"}]}",
		"{\"groups\":[{\"teamId\":\"t\",\"tools\":[1]}]}", "{\"groups\":[1,1,1,1,1,1,1,1,1]}" };
	struct policy_rules r;

	(void)state;
	UNIT(u);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct json *doc;

		assert_status(json_parse(&u.cx, str_of(wrong[i]), &doc), OK);
		assert_status(policy_rules_read(&u.cx, doc, &r), E_INVALID);
		ctx_clear(&u.cx);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tools_are_found_by_name_and_listed_in_order),
		cmocka_unit_test(an_incomplete_declaration_is_refused),
		cmocka_unit_test(a_tool_is_found_by_its_kind_too_and_only_small_changes_are_direct),
		cmocka_unit_test(another_version_than_the_one_that_was_seen_is_drift),
		cmocka_unit_test(every_length_of_a_name_gives_one_that_models_take),
		cmocka_unit_test(nobody_takes_the_short_name_of_a_long_one),
		cmocka_unit_test(a_tool_says_what_models_call_it),
		cmocka_unit_test(a_read_can_be_an_operation_and_has_its_form_and_its_rule),
		cmocka_unit_test(names_for_models_are_short_and_never_the_same),
		cmocka_unit_test(a_new_tool_has_the_default_of_its_verb),
		cmocka_unit_test(what_an_admin_stored_goes_before_the_default),
		cmocka_unit_test(the_rules_that_are_not_written_have_safe_values),
		cmocka_unit_test(rules_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
