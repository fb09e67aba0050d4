/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the MCP client that read what strangers write: headers, challenges, lines; and the walls' plan (EX-3). */
#include "tests/unit/unit.h"

#include "exec/mcp/auth/auth.h"
#include "exec/mcp/lines.h"
#include "exec/mcp/params.h"
#include "exec/mcp/sandbox.h"
#include "json/json.h"

/* --- params --- */

static bool
is_ok(struct unit *u, const char *schema)
{
	struct json *tool;
	str text = arena_printf(&u->arena, "{\"name\":\"t\",\"inputSchema\":%s}", schema);

	assert_status(json_parse(&u->cx, text, &tool), OK);
	return mcp_params_ok(tool);
}

static void
a_header_is_named_properly_or_the_tool_is_not_used(void **state)
{
	static const char *const good[] = { "{}",
		"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}",
		"{\"properties\":{\"a\":{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"integer\",\"x-"
		"mcp-header\":\"B\"}}}}}",
		"{\"properties\":{\"x-mcp-header\":{\"type\":\"object\"}}}", /* a property of that name */
		"{\"properties\":{\"a\":{\"default\":{\"x-mcp-header\":\"\"}}}}", "true", NULL };
	static const char *const bad[] = { "{\"x-mcp-header\":\"A\",\"type\":\"string\"}",
		"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"\"}}}",
		"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":7}}}",
		"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"a b\"}}}",
		"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"a\\r\\nB: c\"}}}",
		"{\"properties\":{\"a\":{\"type\":\"number\",\"x-mcp-header\":\"A\"}}}",
		"{\"properties\":{\"a\":{\"x-mcp-header\":\"A\"}}}",
		"{\"properties\":{\"a\":{\"items\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}}",
		"{\"$defs\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}",
		"{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}]}",
		"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"},\"b\":{\"type\":"
		"\"string\",\"x-mcp-header\":\"a\"}}}",
		NULL };
	UNIT(u);

	(void)state;
	for (size_t i = 0; good[i]; i++)
		assert_true(is_ok(&u, good[i]));
	for (size_t i = 0; bad[i]; i++)
		assert_false(is_ok(&u, bad[i]));
}

/* --- challenges --- */

static struct challenge
read_challenge(struct unit *u, const char *header)
{
	struct mcp_reply r = { .challenges = { str_of(header) }, .challenge_count = 1 };
	struct challenge c;

	challenge_read(&u->arena, &r, &c);
	return c;
}

static void
a_challenge_is_read_among_others_and_only_of_bearer(void **state)
{
	struct challenge c;
	UNIT(u);

	(void)state;
	c = read_challenge(&u, "Basic realm=\"x\", bearer error=insufficient_scope , scope=\"a \\\"b\\\" "
			       "c\",resource_metadata=\"https://x/y\"");
	assert_str(c.error, "insufficient_scope");
	assert_str(c.scope, "a \"b\" c");
	assert_str(c.metadata_url, "https://x/y");
	c = read_challenge(&u, "Bearer, Digest scope=\"not ours\"");
	assert_int_equal(c.scope.len, 0);
	c = read_challenge(&u, "Bearer scope=\"never ends");
	assert_str(c.scope, "never ends");
	c = read_challenge(&u, "Bearer scope=\"ends in a slash\\");
	assert_true(c.scope.len > 0);
	c = read_challenge(&u, "((,,=\"\";Bearer scope=");
	assert_int_equal(c.scope.len, 0);
}

static void
scopes_are_joined_each_once(void **state)
{
	UNIT(u);

	(void)state;
	assert_str(scope_union(&u.arena, STR("a  b"), STR("b c a")), "a b c");
	assert_str(scope_union(&u.arena, STR(""), STR("")), "");
	assert_true(scope_has(STR("a bc"), STR("bc")));
	assert_false(scope_has(STR("a bc"), STR("b")));
}

/* --- lines --- */

static void
collect(void *arg, str line)
{
	buf_add(arg, line);
	buf_add_char(arg, '|');
}

static void
lines_are_cut_wherever_the_pieces_end(void **state)
{
	struct lines l = { 0 };
	struct buf got;
	UNIT(u);

	(void)state;
	buf_init(&got, &u.arena, MIB);
	lines_init(&l, 5, false, collect, &got);
	assert_true(lines_feed(&l, STR("a")) && lines_feed(&l, STR("b\r\n\n\nc\nde")) &&
		    lines_feed(&l, STR("\n12345\n")));
	assert_str(buf_str(&got), "ab|c|de|12345|");
	assert_false(lines_feed(&l, STR("123456")));
	lines_init(&l, 5, true, collect, &got);
	assert_true(lines_feed(&l, STR("1234567")) && lines_feed(&l, STR("89\nnext\n")));
	assert_str(buf_str(&got), "ab|c|de|12345|12345|next|");
	lines_done(&l);
}

static void
a_line_is_shown_without_secrets_and_without_tricks(void **state)
{
	static const struct http_client_field secrets[] = { { STR("A"), STR("hunter2") },
		{ STR("B"), STR("abc") } };
	char room[16];

	(void)state;
	lines_show(STR("x hunter2 abc"), secrets, 2, room, sizeof(room));
	assert_string_equal(room, "x *** abc");
	lines_show(STR("\x1b[2J\xff\xc3\xa9\x7f"), secrets, 2, room, sizeof(room));
	assert_string_equal(room, "?[2J?\xc3\xa9?");
	lines_show(STR("a line that is longer"), secrets, 2, room, sizeof(room));
	assert_string_equal(room, "a line that is ");
}

#define SECOND INT64_C(1000000)

static const char *
heard(struct last_words *w, const char *const *lines, int64_t now_us)
{
	*w = (struct last_words){ 0 };
	for (; *lines; lines++)
		last_words_hear(w, str_of(*lines), now_us);
	return w->rank ? w->telling : w->last;
}

static void
the_line_that_names_the_error_is_told_and_not_the_last_of_a_trace(void **state) /* EX-3 */
{
	static const char *const node[] = { "node:internal/modules/cjs/loader:1080", "  throw err;", "  ^",
		"Error: Cannot find module '/srv/x.js'", "    at Module._load (node:internal:922:27)",
		"  code: 'MODULE_NOT_FOUND',", "Node.js v20.11.0", NULL };
	static const char *const python[] = { "Traceback (most recent call last):",
		"    raise ValueError(\"no key\")", "ValueError: no key", "error: and then some", NULL };
	static const char *const shell[] = { "sh: 1: nosuch: Not Found", "bye", NULL };
	static const char *const plain[] = { "starting", "no licence", NULL };
	struct last_words w;

	(void)state;
	assert_string_equal(heard(&w, node, SECOND), "Error: Cannot find module '/srv/x.js'");
	assert_string_equal(w.last, "Node.js v20.11.0");
	assert_string_equal(heard(&w, python, SECOND), "ValueError: no key");
	assert_string_equal(heard(&w, shell, SECOND), "sh: 1: nosuch: Not Found");
	assert_string_equal(heard(&w, plain, SECOND), "no licence");
}

static void
an_error_of_long_ago_is_not_why_it_ended(void **state) /* EX-3 */
{
	struct last_words w = { 0 };

	(void)state;
	last_words_hear(&w, STR("error: the network is away, trying again"), SECOND);
	last_words_hear(&w, STR("at once"), 2 * SECOND);
	assert_int_equal(w.rank, 2);
	last_words_hear(&w, STR("out of memory"), 9 * SECOND);
	assert_int_equal(w.rank, 0);
	assert_string_equal(w.last, "out of memory");
}

/* --- the sandbox --- */

static bool
has(const char *const *words, const char *word)
{
	for (size_t i = 0; words[i]; i++)
		if (strcmp(words[i], word) == 0)
			return true;
	return false;
}

static void
a_program_has_walls_unless_somebody_took_them_away(void **state)
{
	static const str argv[] = { STR("/bin/x"), STR("--bind"), STR("a; b") };
	struct mcp_program p = { .argv = argv, .argc = 3 };
	struct sandbox_plan plan;
	UNIT(u);

	(void)state;
	assert_status(sandbox_plan(&u.cx, &p, &plan), OK);
	assert_string_equal(plan.argv[0], SANDBOX_PROGRAM);
	assert_true(has(plan.argv, "--unshare-net") && has(plan.argv, "--die-with-parent") &&
		    has(plan.argv, "a; b"));
	sandbox_plan_done(&plan);
	p.network = true;
	assert_status(sandbox_plan(&u.cx, &p, &plan), OK);
	assert_false(has(plan.argv, "--unshare-net"));
	sandbox_plan_done(&plan);
	p.unconfined = true;
	assert_status(sandbox_plan(&u.cx, &p, &plan), OK);
	assert_string_equal(plan.argv[0], "/bin/x");
	assert_string_equal(plan.directory, "/");
}

static void
what_cannot_be_granted_is_refused(void **state)
{
	static const str argv[] = { STR("/bin/x") }, broken[] = { STR("/bin/x\0y") };
	static const struct http_client_field names[] = { { STR("LD_PRELOAD"), STR("/x") },
		{ STR("1A"), STR("") }, { STR("A=B"), STR("") }, { STR(""), STR("x") },
		{ STR("A"), STR("a\0b") } };
	static const struct mcp_path paths[] = { { STR("relative"), false }, { STR("/a/../b"), false },
		{ STR("/a\0b"), true } };
	struct sandbox_plan plan;
	UNIT(u);

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_status(sandbox_plan(&u.cx,
				      &(struct mcp_program){ .argv = argv,
					      .argc = 1,
					      .variables = &names[i],
					      .variable_count = 1 },
				      &plan),
			E_INVALID);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_status(sandbox_plan(&u.cx,
				      &(struct mcp_program){
					      .argv = argv, .argc = 1, .paths = &paths[i], .path_count = 1 },
				      &plan),
			E_INVALID);
	assert_status(
		sandbox_plan(&u.cx, &(struct mcp_program){ .argv = broken, .argc = 1 }, &plan), E_INVALID);
	assert_status(sandbox_plan(&u.cx,
			      &(struct mcp_program){ .argv = argv, .argc = 1, .directory = STR("x") }, &plan),
		E_INVALID);
}

static void
options_name_one_server(void **state)
{
	static const str relative[] = { STR("x") };
	static const struct mcp_program p = { .argv = relative, .argc = 1 };
	struct http_client_field many[LIMIT_MCP_HEADERS + 1] = { 0 };
	struct mcp_client *c;
	UNIT(u);

	(void)state;
	assert_status(mcp_client_new(&u.cx, &(struct mcp_options){ .name = STR("n") }, &c), E_INVALID);
	assert_status(
		mcp_client_new(&u.cx, &(struct mcp_options){ .url = STR("http://x"), .program = &p }, &c),
		E_INVALID);
	assert_status(
		mcp_client_new(&u.cx, &(struct mcp_options){ .url = STR("file:///etc") }, &c), E_INVALID);
	assert_status(mcp_client_new(&u.cx, &(struct mcp_options){ .program = &p }, &c), E_INVALID);
	assert_status(mcp_client_new(&u.cx,
			      &(struct mcp_options){ .url = STR("http://x"),
				      .fields = many,
				      .field_count = LIMIT_MCP_HEADERS + 1 },
			      &c),
		E_INVALID);
	assert_status(
		mcp_client_new(&u.cx, &(struct mcp_options){ .url = STR("https://x.example") }, &c), OK);
	assert_status(mcp_client_authorized(&u.cx, c, STR("{}"), STR("code=x")), E_UNAVAILABLE);
	mcp_client_free(c);
	mcp_client_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_is_named_properly_or_the_tool_is_not_used),
		cmocka_unit_test(a_challenge_is_read_among_others_and_only_of_bearer),
		cmocka_unit_test(scopes_are_joined_each_once),
		cmocka_unit_test(lines_are_cut_wherever_the_pieces_end),
		cmocka_unit_test(a_line_is_shown_without_secrets_and_without_tricks),
		cmocka_unit_test(the_line_that_names_the_error_is_told_and_not_the_last_of_a_trace),
		cmocka_unit_test(an_error_of_long_ago_is_not_why_it_ended),
		cmocka_unit_test(a_program_has_walls_unless_somebody_took_them_away),
		cmocka_unit_test(what_cannot_be_granted_is_refused),
		cmocka_unit_test(options_name_one_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
