/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "json/canon.h"

static struct json *
parse(struct unit *u, const char *text)
{
	struct json *doc = NULL;

	assert_status(json_parse(&u->cx, str_of(text), &doc), OK);
	return doc;
}

static void
becomes(const char *text, const char *expected)
{
	UNIT(u);
	str out;

	assert_status(canon_text(&u.cx, parse(&u, text), &out), OK);
	assert_string_equal(arena_cstr(&u.arena, out), expected);
}

static void
refuses(const char *text, const char *path)
{
	UNIT(u);
	str out = STR("untouched");

	assert_status(canon_text(&u.cx, parse(&u, text), &out), E_INVALID);
	assert_str(out, "untouched");
	assert_int_equal(u.cx.error.issue_count, 1);
	assert_string_equal(arena_cstr(&u.arena, u.cx.error.issues[0].path), path);
	assert_true(u.cx.error.issues[0].message.len > 0 && u.cx.error.message.len > 0);
}

static void
the_examples_of_rfc_8785_come_out(void **state)
{
	(void)state;
	/* section 3.2.2, without the number that does not survive (333333333.33333329) */
	becomes("{\n\"numbers\": [333333333.3333333, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],\n"
		"\"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n"
		"\"literals\": [null, true, false]\n}",
		"{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
		"\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
	/* section 3.2.3 */
	becomes("{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter Dalet "
		"With Dagesh\","
		"\"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\","
		"\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
		"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\","
		"\"\xc3\xb6\":\"Latin Small Letter O With Diaeresis\",\"\xe2\x82\xac\":\"Euro Sign\","
		"\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\",\"\xef\xac\xb3\":\"Hebrew Letter Dalet With "
		"Dagesh\"}");
}

static void
numbers_keep_their_value(void **state)
{
	(void)state;
	becomes("[0,-0,-0.0e3,1.0,1e2,-1.50,1e20,1e21,123456789012345e6,1e-6,1e-7]",
		"[0,0,0,1,100,-1.5,100000000000000000000,1e+21,123456789012345000000,0.000001,1e-7]");
	becomes("[0.1,0.30000000000000004,9007199254740992,5e-324,1.7976931348623157e308,-1e300,12e-300]",
		"[0.1,0.30000000000000004,9007199254740992,5e-324,1.7976931348623157e+308,-1e+300,1.2e-299]");
	becomes("[123.456,1234567.5,0.00123,12e-10]", "[123.456,1234567.5,0.00123,1.2e-9]");
}

static void
a_number_that_would_become_another_is_refused(void **state)
{
	(void)state;
	refuses("1e400", "");
	refuses("[1,-1e400]", "/1");
	refuses("{\"a/b\":[0,{\"~\":12345678901234567890}]}", "/a~1b/1/~0");
	refuses("[9007199254740993]", "/0");
	refuses("[333333333.33333329]", "/0");
	refuses("[1e-400]", "/0");
	refuses("[18446744073709551616]", "/0"); /* a double, but it prints as 18446744073709552000 */
	refuses("[0.1000000000000000055511151231257827]", "/0");
	refuses("[11111111111111111111111111111111111111111111111111111111111111]", "/0");
}

static void
the_hash_is_of_the_canonical_text(void **state)
{
	UNIT(u);
	str a = { 0 }, b, none = STR("untouched");

	(void)state;
	assert_status(canon_hash(&u.cx, parse(&u, "{}"), &a), OK);
	assert_str(a, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
	assert_status(canon_hash(&u.cx, parse(&u, "{\"b\":1.0,\"a\":[]}"), &a), OK);
	assert_status(canon_hash(&u.cx, parse(&u, " {\"a\" : [ ],\"b\":1}"), &b), OK);
	assert_true(str_eq(a, b));
	assert_status(canon_hash(&u.cx, parse(&u, "1e999"), &none), E_INVALID);
	assert_str(none, "untouched");
}

/* Every cap from what the document takes: too large, or done. */
static void
every_cap_of_the_arena_is_respected(void **state)
{
	bool done = false;

	(void)state;
	for (size_t more = 0; !done; more++) {
		UNIT(u);
		const struct json *doc = parse(&u, "{\"b\":[1,2,{\"c\":3,\"d\":4}],\"a\":\"text\"}");
		str text = STR("untouched");
		status s;

		u.arena.cap = u.arena.used + more;
		s = canon_text(&u.cx, doc, &text);
		done = s == OK;
		assert_true(done || (s == E_TOO_LARGE && str_eq(text, STR("untouched"))));
	}
}

/* A control character takes six bytes in the text: a tree of one megabyte becomes six. */
static void
a_text_beyond_the_limit_is_too_large(void **state)
{
	UNIT(u);
	size_t len = MIB;
	char *bytes = arena_try_bytes(&u.arena, len);
	str text = STR("untouched");

	(void)state;
	memset(bytes, 1, len);
	assert_status(canon_text(&u.cx, json_new_string(&u.arena, (str){ bytes, len }), &text), E_TOO_LARGE);
	assert_str(text, "untouched");
	assert_true(u.cx.error.message.len > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_examples_of_rfc_8785_come_out),
		cmocka_unit_test(numbers_keep_their_value),
		cmocka_unit_test(a_number_that_would_become_another_is_refused),
		cmocka_unit_test(the_hash_is_of_the_canonical_text),
		cmocka_unit_test(every_cap_of_the_arena_is_respected),
		cmocka_unit_test(a_text_beyond_the_limit_is_too_large),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
