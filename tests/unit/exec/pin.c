/* SPDX-License-Identifier: Apache-2.0 */
/* What can be seen of another server's definition before anybody is asked about it (EX-3). */
#include "tests/unit/unit.h"

#include "exec/upstream/pin.h"

#include <stdlib.h>

static struct pin
read(struct unit *u, const char *remote, const char *text)
{
	struct pin p;

	assert_status(pin_read(&u->cx, STR("files"), str_of(remote), str_of(text), &p), OK);
	return p;
}

static void
all_of_a_definition_is_in_its_hash_whatever_its_order(void **state)
{
	struct pin one, other;

	(void)state;
	UNIT(u);
	one = read(&u, "x", "{\"name\":\"x\",\"inputSchema\":{\"type\":\"object\"},\"_meta\":{\"a\":1}}");
	other = read(
		&u, "x", "{\"_meta\":{\"a\":1.0},\"inputSchema\":{\"type\":\"object\"}, \"name\":\"x\"}");
	assert_int_equal(one.refused.len, 0);
	assert_str(one.name, "mcp__files__x");
	assert_true(str_eq(one.hash, other.hash));
	other = read(&u, "x", "{\"_meta\":{\"a\":2},\"inputSchema\":{\"type\":\"object\"},\"name\":\"x\"}");
	assert_false(str_eq(one.hash, other.hash));
	assert_str(pin_title(&one), "x");
	assert_str(pin_doc(&one), "It has no description.");
	other = read(&u, "x",
		"{\"name\":\"x\",\"annotations\":{\"title\":\"T\"},\"description\":\"D\",\"inputSchema\":{}"
		"}");
	assert_str(pin_title(&other), "T");
	assert_str(pin_doc(&other), "D");
}

static void
what_could_deceive_is_refused_and_says_why(void **state)
{
	static const char *const bad[][2] = {
		{ "x", "[]" },
		{ "x", "{" },
		{ "x", "{\"name\":\"x\",\"a\":1,\"a\":2}" },
		{ "x", "{\"name\":\"x\"}" },
		{ "x", "{\"name\":\"y\",\"inputSchema\":{}}" },
		{ "x", "{\"name\":\"x\",\"inputSchema\":{\"a\":12345678901234567890}}" },
		{ "x", "{\"name\":\"x\",\"inputSchema\":{},\"description\":\"a\\u200bb\"}" },
		{ "x", "{\"name\":\"x\",\"inputSchema\":{\"properties\":{\"a\\u202eb\":{}}}}" },
		{ "", "{\"name\":\"\",\"inputSchema\":{}}" },
		{ "a b", "{\"name\":\"a b\",\"inputSchema\":{}}" },
		{ "\xc3\xa4", "{\"name\":\"\xc3\xa4\",\"inputSchema\":{}}" },
	};
	char *large = calloc(1, LIMIT_TOOL_DEFINITION + 2);

	(void)state;
	UNIT(u);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(read(&u, bad[i][0], bad[i][1]).refused.len > 0);
	memset(large, ' ', LIMIT_TOOL_DEFINITION + 1);
	assert_str(read(&u, "x", large).refused, "its definition is too large");
	free(large);
}

static void
two_names_of_another_server_never_become_one_of_ours(void **state)
{
	(void)state;
	UNIT(u);
	assert_false(str_eq(read(&u, "a/b", "{}").name, read(&u, "a_b", "{}").name));
	assert_false(str_eq(read(&u, "a b", "{}").name, read(&u, "a/b", "{}").name));
	assert_true(read(&u, "a/b", "{\"name\":\"a/b\",\"inputSchema\":{}}").refused.len == 0);
}

static void
names_that_look_alike_are_told(void **state)
{
	static const char *const pairs[][2] = { { "get_l", "get_1" }, { "get_l", "get_I" },
		{ "rnail", "mail" }, { "vvrite", "write" }, { "read-file", "read_file" }, { "O", "0" },
		{ "Read", "read" } };
	static const char *const others[][2] = { { "read", "read" }, { "read", "write" }, { "a", "b" } };

	(void)state;
	UNIT(u);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		assert_true(pin_alike(&u.arena, str_of(pairs[i][0]), str_of(pairs[i][1])));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(pin_alike(&u.arena, str_of(others[i][0]), str_of(others[i][1])));
}

static void
a_rename_is_the_same_but_for_the_name(void **state)
{
	bool same;

	(void)state;
	UNIT(u);
	assert_status(
		pin_renamed(&u.cx, STR("{\"a\":1,\"name\":\"x\"}"), STR("{\"a\":1,\"name\":\"y\"}"), &same),
		OK);
	assert_true(same);
	assert_status(
		pin_renamed(&u.cx, STR("{\"a\":1,\"name\":\"x\"}"), STR("{\"a\":2,\"name\":\"y\"}"), &same),
		OK);
	assert_false(same);
	assert_status(pin_renamed(&u.cx, STR("{\"name\":\"x\"}"), STR("{\"name\":\"y\"}"), &same), OK);
	assert_false(same); /* nothing is not the same as nothing */
	assert_status(pin_renamed(&u.cx, STR("{"), STR("{}"), &same), E_BAD_JSON);
}

static void
schemas_are_the_servers_own(void **state)
{
	struct pin p;
	str in, out;

	(void)state;
	UNIT(u);
	p = read(&u, "x",
		"{\"name\":\"x\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{\"type\":\"object\"}"
		"}");
	assert_status(pin_in_schema(&u.cx, &p, &in), OK);
	assert_str(in, "{\"type\":\"object\"}");
	assert_status(pin_out_schema(&u.cx, &p, &out), OK);
	assert_non_null(strstr(out.ptr, "\"structuredContent\":{\"type\":\"object\"}"));
	p = read(&u, "x",
		"{\"name\":\"x\",\"inputSchema\":{},\"outputSchema\":{\"$ref\":\"#/$defs/"
		"a\",\"$defs\":{\"a\":{}}}}");
	assert_status(pin_out_schema(&u.cx, &p, &out), OK);
	assert_null(strstr(out.ptr, "$ref"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_a_definition_is_in_its_hash_whatever_its_order),
		cmocka_unit_test(what_could_deceive_is_refused_and_says_why),
		cmocka_unit_test(two_names_of_another_server_never_become_one_of_ours),
		cmocka_unit_test(names_that_look_alike_are_told),
		cmocka_unit_test(a_rename_is_the_same_but_for_the_name),
		cmocka_unit_test(schemas_are_the_servers_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
