/* SPDX-License-Identifier: Apache-2.0 */
/* What an organization can ask for besides the built-in tools: offered once accepted, gone at once, nobody else's (EX-3). */
#include "tests/unit/database.h"
#include "tests/unit/unit.h"

#include "core/gate/permission.h"
#include "core/gate/toolset.h"
#include "core/ident/org.h"

static status
run_nothing(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	(void)cx;
	(void)call;
	*out = (struct tool_result){ .summary = STR("nothing") };
	return OK;
}

static const char *const rules[] = { "x.x.read", NULL };
static const struct field no_input[] = { FIELD_END };
static const struct tool builtin[] = {
	{ .name = "x.read",
		.version = 1,
		.title = "T",
		.doc = "D.",
		.effect = OP_READ,
		.category = TOOL_CATEGORY_A,
		.in = no_input,
		.out = no_input,
		.rules = rules,
		.domain = "operations",
		.target = "here",
		.run = run_nothing },
	{ 0 },
};
static const struct tool *const tables[] = { builtin, NULL };

struct world {
	struct database database;
	struct arena arena;
	struct ctx cx;
	struct org_first first;
	struct registry *base;
};

static void
world_make(struct world *w, bool postgres)
{
	struct db_options options;
	int applied;

	arena_init(&w->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&w->cx, &w->arena);
	w->cx.keys = unit_keys();
	database_make(&w->database, postgres);
	options = database_options(&w->database);
	assert_status(db_open(&w->cx, &options, &w->cx.db), OK);
	assert_status(db_migrate(&w->cx, &applied), OK);
	assert_status(db_prepare(&w->cx), OK);
	assert_status(org_bootstrap(&w->cx, STR("Ada@Example.org"), &w->first), OK);
	assert_status(registry_new(&w->cx, tables, &w->base), OK);
	w->cx.tools = w->base;
	w->cx.toolsets = toolsets_new(w->base);
}

static void
world_drop(struct world *w)
{
	arena_reset(&w->arena); /* gives back what a ctx holds */
	toolsets_free(w->cx.toolsets);
	registry_free(w->base);
	db_close(w->cx.db);
	database_drop(&w->database);
	arena_done(&w->arena);
}

static struct toolset_tool
tool_of(const char *name, const char *state)
{
	return (struct toolset_tool){ .name = str_of(name),
		.provider = STR("mcp"),
		.source_id = STR("u1"),
		.source = STR("files"),
		.remote = str_of(name + 12), /* behind mcp__files__ */
		.state = str_of(state),
		.version = 1,
		.title = STR("Title"),
		.doc = STR("Does it."),
		.effect = STR("mutate"),
		.category = STR("C"),
		.domain = STR("operations"),
		.target = STR("files"),
		.in_schema = STR("{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}}}"),
		.out_schema = STR("{}"),
		.failure = STR("Nobody knows."),
		.contract = STR("blind"),
		.tier = STR("needs_approval"),
		.deadline_ms = 1000,
		.options = STR("{}") };
}

struct putting {
	str org_id;
	struct toolset_tool tool;
	str why;
};

static status
put(struct ctx *cx, void *arg)
{
	const struct putting *p = arg;

	return toolset_put(cx, p->org_id, &p->tool);
}

static status
drop(struct ctx *cx, void *arg)
{
	return toolset_drop(cx, ((const struct putting *)arg)->org_id, STR("u1"), (str){ 0 });
}

static status
past(struct ctx *cx, void *arg)
{
	struct putting *p = arg;

	return toolset_past(cx, p->org_id, p->tool.name, &p->tool.version);
}

static int64_t
past_of(struct world *w, const char *name)
{
	struct putting p = { .org_id = w->first.org_id, .tool = { .name = str_of(name) } };

	assert_status(tx_run(&w->cx, past, &p), OK);
	return p.tool.version;
}

static status
enter(struct ctx *cx, void *arg)
{
	return toolset_of(cx, *(const str *)arg);
}

static status
look(struct ctx *cx, void *arg)
{
	struct putting *p = arg;

	return toolset_problem(cx, p->org_id, &p->tool, &p->why);
}

static void
store(struct world *w, struct toolset_tool t)
{
	struct putting p = { .org_id = w->first.org_id, .tool = t };

	assert_status(tx_run(&w->cx, put, &p), OK);
}

static void
identify(struct world *w, str org_id)
{
	assert_status(db_read(&w->cx, enter, &org_id), OK);
}

static const struct tool *
find(struct world *w, const char *name)
{
	return tool_find(w->cx.tools, str_of(name));
}

static void
offered(bool postgres)
{
	struct world w;
	const struct tool *t;
	const struct registry *first;

	world_make(&w, postgres);
	identify(&w, w.first.org_id);
	assert_ptr_equal(w.cx.tools, w.base); /* nothing of its own: the built-in registry itself */
	store(&w, tool_of("mcp__files__write_file", "accepted"));
	store(&w, tool_of("mcp__files__secret", "quarantined"));
	store(&w, tool_of("mcp__files__gone", "gone"));
	identify(&w, w.first.org_id);
	first = w.cx.tools;
	assert_ptr_not_equal(first, w.base);
	assert_int_equal(registry_count(first), 2);
	t = find(&w, "mcp__files__write_file");
	assert_non_null(t);
	assert_int_equal(t->provider, TOOL_MCP);
	assert_str(t->outside->remote, "write_file");
	assert_string_equal(t->rules[0], "mcp.tool.write");
	assert_int_equal(permission_default(t), TIER_NEEDS_APPROVAL);
	assert_ptr_equal(tool_of_model(first, STR("mcp__files__write_file")), t);
	assert_null(find(&w, "mcp__files__secret"));
	assert_null(find(&w, "mcp__files__gone"));
	assert_non_null(find(&w, "x.read"));
	identify(&w, w.first.org_id);
	assert_ptr_equal(w.cx.tools, first); /* remembered */
	/* quarantined: gone with the next look, and what a request has is still there for it */
	store(&w, tool_of("mcp__files__write_file", "quarantined"));
	identify(&w, w.first.org_id);
	assert_null(find(&w, "mcp__files__write_file"));
	assert_string_equal(t->title, "Title");
	assert_status(tx_run(&w.cx, drop, &(struct putting){ .org_id = w.first.org_id }), OK);
	identify(&w, w.first.org_id);
	assert_ptr_equal(w.cx.tools, w.base);
	world_drop(&w);
}

static void
what_is_accepted_is_offered_until_it_is_not(void **state) /* EX-3, TL-2 */
{
	(void)state;
	offered(false);
	if (database_server())
		offered(true);
}

static void
buried(bool postgres)
{
	struct toolset_tool t = tool_of("mcp__files__write_file", "accepted");
	struct world w;

	world_make(&w, postgres);
	assert_int_equal(past_of(&w, "mcp__files__write_file"), 0);
	t.version = 3;
	store(&w, t);
	store(&w, tool_of("mcp__files__gone", "gone"));
	assert_int_equal(past_of(&w, "mcp__files__write_file"), 0); /* it is there */
	assert_status(tx_run(&w.cx, drop, &(struct putting){ .org_id = w.first.org_id }), OK);
	assert_int_equal(past_of(&w, "mcp__files__write_file"), 3);
	assert_int_equal(past_of(&w, "mcp__files__gone"), 1);
	t.version = 4;
	store(&w, t);
	assert_status(tx_run(&w.cx, drop, &(struct putting){ .org_id = w.first.org_id }), OK);
	assert_int_equal(past_of(&w, "mcp__files__write_file"), 4);
	world_drop(&w);
}

static void
the_last_version_of_what_was_deleted_stays_behind(void **state) /* PA-6 */
{
	(void)state;
	buried(false);
	if (database_server())
		buried(true);
}

static void
what_cannot_be_offered_is_left_out_and_nobody_else_suffers(void **state) /* EX-3, TL-4 */
{
	struct toolset_tool bad = tool_of("mcp__files__bad", "accepted"),
			    again = tool_of("mcp__files__write.file", "accepted"),
			    read = tool_of("mcp__files__read", "accepted");
	struct putting p;
	struct world w;

	(void)state;
	world_make(&w, false);
	bad.in_schema = STR("{\"type\":\"nonsense\"");
	read.effect = STR("read");
	read.tier = STR("always_allow");
	read.in_schema = STR("{}");
	store(&w, bad);
	store(&w, tool_of("mcp__files__write_file", "accepted"));
	store(&w, again); /* models would call it as the one before */
	store(&w, read);
	identify(&w, w.first.org_id);
	assert_int_equal(registry_count(w.cx.tools), 3);
	assert_null(find(&w, "mcp__files__bad"));
	assert_int_equal(permission_default(find(&w, "mcp__files__read")), TIER_ALWAYS_ALLOW);
	assert_false(tool_inspectable(w.cx.tools, find(&w, "mcp__files__read")));
	assert_true(tool_inspectable(w.cx.tools, find(&w, "x.read")));
	p = (struct putting){ .org_id = w.first.org_id, .tool = bad };
	assert_status(db_read(&w.cx, look, &p), OK);
	assert_true(str_starts(p.why, STR("its schema is not one we understand")));
	p.tool = tool_of("mcp__files__odd", "accepted");
	p.tool.in_schema = STR("{\"type\":\"nonsense\"}");
	assert_status(db_read(&w.cx, look, &p), OK);
	assert_true(str_starts(p.why, STR("its schema is not one we understand")));
	p.tool = tool_of("mcp__files__new", "accepted");
	assert_status(db_read(&w.cx, look, &p), OK);
	assert_int_equal(p.why.len, 0);
	p.tool = tool_of("mcp__files__read.", "accepted");
	p.tool.name = STR("mcp__files__write/file");
	assert_status(db_read(&w.cx, look, &p), OK);
	assert_true(p.why.len > 0);
	world_drop(&w);
}

static void
another_organization_has_none_of_it(void **state) /* TL-2 */
{
	struct world w;
	str other = STR("nobody");

	(void)state;
	world_make(&w, false);
	store(&w, tool_of("mcp__files__write_file", "accepted"));
	identify(&w, w.first.org_id);
	assert_non_null(find(&w, "mcp__files__write_file"));
	assert_status(db_read(&w.cx, enter, &other), E_NOT_FOUND);
	assert_status(
		toolset_enter(&(struct ctx){ .arena = &w.arena }, other, 1), OK); /* nothing to be had */
	world_drop(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_accepted_is_offered_until_it_is_not),
		cmocka_unit_test(what_cannot_be_offered_is_left_out_and_nobody_else_suffers),
		cmocka_unit_test(another_organization_has_none_of_it),
		cmocka_unit_test(the_last_version_of_what_was_deleted_stays_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
