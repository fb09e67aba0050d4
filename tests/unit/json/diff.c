/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "json/diff.h"
#include "json/pointer.h"

static struct json *
parse(struct unit *u, const char *text)
{
	struct json *doc = NULL;

	assert_status(json_parse(&u->cx, str_of(text), &doc), OK);
	return doc;
}

static void
differs(const char *before, const char *after, const char *expected)
{
	UNIT(u);
	struct diff d;
	struct buf b;
	struct json_out o;

	assert_status(diff_make(&u.cx, parse(&u, before), parse(&u, after), &d), OK);
	buf_init(&b, &u.arena, LIMIT_JSON_BYTES);
	json_out_init(&o, &b);
	diff_out(&o, NULL, &d);
	assert_string_equal(arena_cstr(&u.arena, buf_str(&b)), expected);
}

static void
changes_are_listed_in_the_order_of_paths(void **state)
{
	(void)state;
	differs("{\"b\":1,\"a\":2}", "{\"a\":2.0,\"b\":10e-1}", "[]");
	differs("1", "2", "[{\"path\":\"\",\"before\":1,\"after\":2}]");
	differs("[]", "{}", "[{\"path\":\"\",\"before\":[],\"after\":{}}]");
	differs("{\"z\":1,\"c\":1,\"a\":{\"x\":null}}", "{\"b\":1,\"c\":\"1\",\"a\":{\"x\":false,\"y\":[]}}",
		"[{\"path\":\"/a/x\",\"before\":null,\"after\":false},{\"path\":\"/a/y\",\"after\":[]},"
		"{\"path\":\"/b\",\"after\":1},{\"path\":\"/c\",\"before\":1,\"after\":\"1\"},"
		"{\"path\":\"/z\",\"before\":1}]");
	differs("[1,2,[3]]", "[1,3,[3,4],5]",
		"[{\"path\":\"/1\",\"before\":2,\"after\":3},{\"path\":\"/2/1\",\"after\":4},"
		"{\"path\":\"/3\",\"after\":5}]");
	differs("[1,2]", "[]", "[{\"path\":\"/0\",\"before\":1},{\"path\":\"/1\",\"before\":2}]");
	differs("{\"a/b\":{\"~\":1}}", "{\"a/b\":{\"~\":2}}",
		"[{\"path\":\"/a~1b/~0\",\"before\":1,\"after\":2}]");
}

static void
many_changes_are_all_listed(void **state)
{
	UNIT(u);
	struct json *before = json_new_array(&u.arena), *after = json_new_array(&u.arena);
	struct diff d;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		json_add_item(before, json_new_int(&u.arena, i));
		json_add_item(after, json_new_int(&u.arena, -i - 1));
	}
	assert_status(diff_make(&u.cx, before, after, &d), OK);
	assert_int_equal(d.count, 1000);
	assert_str(d.changes[999].path, "/999");
	assert_str(d.changes[17].before->text, "17");
}

static void
every_cap_of_the_arena_is_respected(void **state)
{
	bool done = false;

	(void)state;
	for (size_t more = 0; !done; more++) {
		UNIT(u);
		const struct json *before = parse(&u, "{\"a\":{\"b\":[1,2]},\"c\":1}");
		const struct json *after = parse(&u, "{\"a\":{\"b\":[1,3]},\"d\":1}");
		struct diff d = { .count = 77 };
		status s;

		u.arena.cap = u.arena.used + more;
		s = diff_make(&u.cx, before, after, &d);
		done = s == OK;
		assert_int_equal(d.count, done ? 3 : 77);
		assert_true(done || s == E_TOO_LARGE);
	}
}

/* ---- pointers ---- */

/* The examples of RFC 6901 section 5. */
static void
pointers_find_what_rfc_6901_says(void **state)
{
	static const char *const found[][2] = { { "/foo/0", "bar" }, { "/foo/1", "baz" }, { "/", "0" },
		{ "/a~1b", "1" }, { "/c%d", "2" }, { "/e^f", "3" }, { "/g|h", "4" }, { "/i\\j", "5" },
		{ "/k\"l", "6" }, { "/ ", "7" }, { "/m~0n", "8" } };
	static const char *const nothing[] = { "foo", "/bar", "/foo/2", "/foo/-", "/foo/-1", "/foo/00",
		"/foo/01", "/foo/", "/foo/1x", "/foo/99999999999999999999", "/foo/0/x", "/m~n", "/m~2n",
		"/m~", "//" };
	UNIT(u);
	const struct json *doc = parse(&u,
		"{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,"
		"\"k\\\"l\":6,\" \":7,\"m~n\":8}");

	(void)state;
	assert_ptr_equal(pointer_get(&u.arena, doc, STR("")), doc);
	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++)
		assert_str(pointer_get(&u.arena, doc, str_of(found[i][0]))->text, found[i][1]);
	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++)
		assert_null(pointer_get(&u.arena, doc, str_of(nothing[i])));
	u.arena.cap = 0;
	assert_null(pointer_get(&u.arena, doc, STR("/foo")));
}

static void
pointers_are_made_with_escapes(void **state)
{
	UNIT(u);

	(void)state;
	assert_str(pointer_key(&u.arena, STR(""), STR("a/b~c")), "/a~1b~0c");
	assert_str(pointer_key(&u.arena, STR("/x"), STR("")), "/x/");
	assert_str(pointer_index(&u.arena, STR("/x"), 12), "/x/12");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_are_listed_in_the_order_of_paths),
		cmocka_unit_test(many_changes_are_all_listed),
		cmocka_unit_test(every_cap_of_the_arena_is_respected),
		cmocka_unit_test(pointers_find_what_rfc_6901_says),
		cmocka_unit_test(pointers_are_made_with_escapes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
