/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the real table of operations, and shows that the check of it can fail. */
#include "tests/unit/unit.h"

#include "app/app.h"
#include "core/ident/rule.h"
#include "core/op.h"
#include "domain/access/access.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void
the_table_is_complete(void **state)
{
	UNIT(u);
	status s = op_check(&u.cx, app_ops);

	(void)state;
	if (s != OK)
		print_error("%.*s\n", STR_ARG(u.cx.error.message));
	assert_status(s, OK);
	assert_true(op_count(app_ops) >= 7);
}

/* All test files of tests/api as one text. Tests run in the root of the project. */
static str
read_api_tests(struct unit *u)
{
	DIR *dir = opendir("tests/api");
	struct dirent *entry;
	struct buf b;

	assert_non_null(dir);
	buf_init(&b, &u->arena, 8 * MIB);
	while ((entry = readdir(dir))) {
		const char *path = arena_printf(&u->arena, "tests/api/%s", entry->d_name).ptr;
		FILE *f = str_ends(str_of(path), STR(".test.mjs")) ? fopen(path, "re") : NULL;
		size_t n;

		while (f && (n = fread(buf_reserve(&b, 65536), 1, 65536, f)) > 0)
			buf_took(&b, n);
		if (f)
			(void)fclose(f);
	}
	(void)closedir(dir);
	return buf_str(&b);
}

static bool
is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* The name as a whole word: server_config is not tested by a test of server_config_set. */
static bool
names(str text, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = text.ptr; (p = memmem(p, text.len - (size_t)(p - text.ptr), name, len)); p++)
		if (!is_word_char(p[-1]) && !is_word_char(p[len]))
			return true;
	return false;
}

static void
every_operation_is_named_in_a_test_of_the_api(void **state)
{
	UNIT(u);
	str text = read_api_tests(&u);
	size_t missing = 0;

	(void)state;
	for (const struct op *const *t = app_ops; *t; t++) {
		OP_EACH (op, *t) {
			if (names(text, op->name))
				continue;
			print_error("no file in tests/api names %s\n", op->name);
			missing++;
		}
	}
	assert_int_equal(missing, 0);
	assert_false(names(text, "server_nonsense")); /* the search can fail */
}

/* --- who may approve is changed in a fresh session (ID-6, AP-4; docs/decisions/0033) --- */

/* They change rights, or what only admins change, and need no fresh session all the same. */
static const struct {
	const char *op, *because;
} exceptions[] = {
	{ "agent_create", "an agent has no right before it has a token" },
	{ "agent_change", "its name, its domain, whether it is shut out: its rights are its tokens" },
	{ "agent_disable", "it only takes away" },
	{ "token_mint", "never more than one's own rights, and a token that votes only in a session" },
	{ "token_renew", "never more than one's own rights" },
	{ "token_revoke", "it only takes away" },
	{ "override_create",
		"one's own word, which lifts nothing of category C, high risk or that destroys" },
	{ "override_delete", "it only takes away" },
	{ "me_password", "one's own, in a session, with the password until now" },
	{ "project_create", "it has no environment yet" },
	{ "environment_create", "a new one holds nothing that was guarded before" },
	{ "upstream_patch", "switches a server off, or on with what was accepted of it" },
	{ "upstream_delete", "it only takes away" },
	{ "upstream_refresh", "what it finds is in quarantine" },
	{ "upstream_tools_refuse", "it only takes away" },
	{ "upstream_authorize", "a connection: none of its tools is offered before it is accepted" },
	{ "upstream_authorized", "a connection: none of its tools is offered before it is accepted" },
	{ "upstream_unauthorize", "it only takes away" },
	{ "connection_create", "a connection: no tool before one is declared" },
	{ "connection_rotate", "our own key for signing what is sent" },
	{ "connection_delete", "it only takes away" },
	{ "connection_test", "sends a test, which is marked as one" },
	{ "connection_tool_delete", "it only takes away" },
	{ "delivery_retry", "sends again what was to be sent" },
};

static bool
is_exception(const struct op *op)
{
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++)
		if (strcmp(exceptions[i].op, op->name) == 0)
			return true;
	return false;
}

static bool
may_concern_approval(const struct op *op)
{
	return op->effect != OP_READ && strcmp(op->rule, RULE_PUBLIC) != 0 &&
	       (op->tx == OP_TX_RIGHTS || rule_guarded(str_of(op->rule)));
}

/* PA-14 ID-6 AP-4 */
static void
what_changes_rights_needs_a_fresh_session_or_says_why_not(void **state)
{
	size_t flagged = 0, excepted = 0;

	(void)state;
	for (const struct op *const *t = app_ops; *t; t++) {
		OP_EACH (op, *t) {
			bool asked = op->authority != is_exception(op);

			if (may_concern_approval(op) && !asked)
				print_error("%s: flag it, or say why not (never both)\n", op->name);
			assert_true(asked || !may_concern_approval(op));
			assert_true(!op->concerns || op->authority);
			flagged += op->authority;
			excepted += is_exception(op);
		}
	}
	assert_int_equal(flagged, 21);
	assert_int_equal(excepted, sizeof(exceptions) / sizeof(exceptions[0]));
}

static bool
is_proposable(const char *name)
{
	for (const char *const *o = access_operations; *o; o++)
		if (strcmp(*o, name) == 0)
			return true;
	return false;
}

static void
each_of_them_can_be_proposed_by_access_change(void **state)
{
	size_t count = 0;

	(void)state;
	for (const struct op *const *t = app_ops; *t; t++) {
		OP_EACH (op, *t) {
			if (op->authority && !op->alone && !is_proposable(op->name))
				print_error(
					"access_operations (domain/access/change.c) lacks %s\n", op->name);
			assert_int_equal(op->authority && !op->alone, is_proposable(op->name));
			count += op->authority && !op->alone;
		}
	}
	for (const char *const *o = access_operations; *o; o++)
		count--;
	assert_int_equal(count, 0);
}

/* --- the check itself --- */

static status
run_nothing(struct ctx *cx, const void *in, struct json_out *out)
{
	(void)cx;
	(void)in;
	(void)out;
	return OK;
}

struct one_in {
	str id;
};
static const struct field one_in[] = { FIELD_TEXT(struct one_in, id), FIELD_END };

static const struct op good = {
	.name = "note_get",
	.method = "GET",
	.path = "/notes/{id}",
	.doc = "Gets a note.",
	.rule = "notes.note.read",
	.tx = OP_TX_READ,
	.in = one_in,
	.in_size = sizeof(struct one_in),
	.out = one_in,
	.run = run_nothing,
};

static void
assert_wrong(struct op first, struct op second, const char *why)
{
	UNIT(u);
	const struct op table[] = { first, second, { 0 } };
	const struct op *const tables[] = { table, NULL };

	assert_status(op_check(&u.cx, tables), E_INTERNAL);
	assert_non_null(strstr(u.cx.error.message.ptr, why));
}
#define WITHOUT(...)                                                                                         \
	({                                                                                                   \
		struct op op_ = good;                                                                        \
		__VA_ARGS__;                                                                                 \
		op_;                                                                                         \
	})

static void
an_incomplete_operation_is_found(void **state)
{
	static const struct op none = { 0 };

	(void)state;
	assert_wrong(WITHOUT(op_.name = "noteGet"), none, "snake_case");
	assert_wrong(WITHOUT(op_.name = "1note"), none, "snake_case");
	assert_wrong(WITHOUT(op_.doc = NULL), none, "doc");
	assert_wrong(WITHOUT(op_.doc = ""), none, "doc");
	assert_wrong(WITHOUT(op_.doc = "no full stop"), none, "doc");
	assert_wrong(WITHOUT(op_.rule = NULL), none, "rule");
	assert_wrong(WITHOUT(op_.rule = "everybody"), none, "rule");
	assert_wrong(WITHOUT(op_.method = NULL), none, "method");
	assert_wrong(WITHOUT(op_.method = "FETCH"), none, "method");
	assert_wrong(WITHOUT(op_.path = NULL), none, "path");
	assert_wrong(WITHOUT(op_.path = "notes"), none, "path");
	assert_wrong(WITHOUT(op_.path = "/notes/{other}"), none, "{key}");
	assert_wrong(WITHOUT(op_.in = NULL; op_.in_size = 0), none, "{key}");
	assert_wrong(WITHOUT(op_.in_size = 0), none, "in_size");
	assert_wrong(WITHOUT(op_.out = NULL), none, "either out or content_type");
	assert_wrong(WITHOUT(op_.content_type = "text/plain"), none, "either out or content_type");
	assert_wrong(WITHOUT(op_.effect = OP_MUTATE), none, "a GET changes nothing");
	assert_wrong(WITHOUT(op_.run = NULL), none, "run");
}

static void
operations_that_clash_are_found(void **state)
{
	(void)state;
	assert_wrong(good, WITHOUT(op_.path = "/other/{id}"), "its name");
	assert_wrong(good, WITHOUT(op_.name = "other_get"), "method and path");
}

static void
an_operation_without_a_rule_can_be_called_by_nobody(void **state)
{
	UNIT(u);
	struct json_out o;
	struct buf b;

	(void)state;
	buf_init(&b, &u.arena, 100);
	json_out_init(&o, &b);
	assert_status(op_run(&u.cx, &(struct op){ .name = "x" }, NULL, &o), E_FORBIDDEN); /* zero refuses */
	assert_status(op_run(&u.cx, &(struct op){ .name = "x", .rule = "a.b.read" }, NULL, &o), E_FORBIDDEN);
}

static void
settings_are_listed_without_secrets(void **state)
{
	UNIT(u);
	struct app app = { 0 };
	const struct op *config = NULL;
	struct json_out o;
	struct buf b;
	str text;

	(void)state;
	for (const struct op *const *t = app_ops; *t; t++)
		OP_EACH (op, *t)
			if (strcmp(op->name, "server_config") == 0)
				config = op;
	assert_non_null(config);
	config_defaults(&app.config);
	app.config.database = STR("postgres://me:geheim@db/x");
	u.cx.app = &app;
	buf_init(&b, &u.arena, MIB);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	assert_status(config->run(&u.cx, NULL, &o), OK);
	json_out_end(&o);
	buf_add_char(&b, '\0');
	text = buf_str(&b);
	assert_non_null(strstr(
		text.ptr, "{\"name\":\"listen\",\"value\":\"127.0.0.1:7700\",\"source\":\"default\"}"));
	assert_non_null(strstr(text.ptr, "postgres://me:***@db/x"));
	assert_null(strstr(text.ptr, "geheim"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_complete),
		cmocka_unit_test(every_operation_is_named_in_a_test_of_the_api),
		cmocka_unit_test(what_changes_rights_needs_a_fresh_session_or_says_why_not),
		cmocka_unit_test(each_of_them_can_be_proposed_by_access_change),
		cmocka_unit_test(an_incomplete_operation_is_found),
		cmocka_unit_test(operations_that_clash_are_found),
		cmocka_unit_test(an_operation_without_a_rule_can_be_called_by_nobody),
		cmocka_unit_test(settings_are_listed_without_secrets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
