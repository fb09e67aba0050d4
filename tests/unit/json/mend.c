/* SPDX-License-Identifier: Apache-2.0 */
/* EX-2 EX-4: what another system has answered is read although it is not quite JSON as we accept it. */
#include "tests/unit/unit.h"

#include "base/limits.h"
#include "json/mend.h"
#include "json/out.h"

static void
reads_bytes(str text, const char *expected, const char *what)
{
	UNIT(u);
	struct mended mended;
	struct json *doc;
	str out;

	assert_status(json_parse_mended(&u.cx, text, &doc, &mended), OK);
	assert_status(json_text(&u.cx, doc, &out), OK);
	assert_str(out, expected);
	assert_false(mended.top_only);
	if (what)
		assert_string_equal(mended.what, what);
	else
		assert_null(mended.what);
}

static void
reads(const char *text, const char *expected, const char *what)
{
	reads_bytes(str_of(text), expected, what);
}

static void
json_comes_back_as_it_is(void **state)
{
	(void)state;
	reads("{\"a\":[1.50,\"\\ud83d\\ude00\"]}", "{\"a\":[1.50,\"\xf0\x9f\x98\x80\"]}", NULL);
}

static void
characters_that_no_text_has_are_replaced(void **state)
{
	static const char nul[] = "[\"a\0b\"]";

	(void)state;
	reads("[\"cut \\ud83d\"]", "[\"cut \xef\xbf\xbd\"]", "half of a surrogate pair");
	reads("[\"\\ude00\\ud83d\\ude00\"]", "[\"\xef\xbf\xbd\xf0\x9f\x98\x80\"]",
		"half of a surrogate pair");
	reads("[\"\\ud83d\\ud83d\\ude00\"]", "[\"\xef\xbf\xbd\xf0\x9f\x98\x80\"]",
		"half of a surrogate pair");
	reads("[\"\\u0000\"]", "[\"\xef\xbf\xbd\"]", "the character U+0000");
	reads_bytes((str){ nul, sizeof(nul) - 1 },
		"[\"a\xef\xbf\xbd"
		"b\"]",
		"the character U+0000");
	reads("[\"\xff\xc3\"]", "[\"\xef\xbf\xbd\xef\xbf\xbd\"]", "a byte that is not UTF-8");
	reads("[\"a\tb\"]", "[\"a\\tb\"]", "a control character");
	reads("\xef\xbb\xbf{}", "{}", "its form");
}

static void
of_one_name_the_last_member_counts(void **state)
{
	(void)state;
	reads("{\"a\":1,\"b\":2,\"a\":3}", "{\"b\":2,\"a\":3}", "its form");
	reads("{\"a\":1,\"a\":{\"a\":2,\"a\":[]},\"a\":{\"a\":4,\"a\":5}}", "{\"a\":{\"a\":5}}", "its form");
}

static str
nested(struct arena *a, size_t depth)
{
	str open = { memset(arena_alloc(a, depth), '[', depth), depth };
	str close = { memset(arena_alloc(a, depth), ']', depth), depth };

	return arena_printf(a, "{\"id\":7,\"deep\":%.*s%.*s}", STR_ARG(open), STR_ARG(close));
}

static void
what_is_nested_too_deeply_becomes_its_text(void **state)
{
	static const unsigned depths[] = { LIMIT_JSON_DEPTH, 70, 100000 };
	UNIT(u);

	(void)state;
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		struct mended mended;
		struct json *doc;

		assert_status(json_parse_mended(&u.cx, nested(&u.arena, depths[i]), &doc, &mended), OK);
		assert_str(json_get(doc, STR("id"))->text, "7");
		assert_string_equal(mended.what, "what was nested too deeply");
	}
}

/* More values than we read, or more bytes: which answer it is, and whether it is an error, is still seen. */
static void
of_what_is_too_large_the_top_level_is_read(void **state)
{
	UNIT(u);
	size_t count = LIMIT_JSON_NODES + 10, bytes = 5 * MIB;
	char *zeros = arena_alloc(&u.arena, 2 * count), *word = arena_alloc(&u.arena, bytes);
	struct mended mended;
	struct json *doc;

	(void)state;
	for (size_t i = 0; i < count; i++)
		memcpy(zeros + 2 * i, ",0", 2);
	memset(word, 'x', bytes);
	assert_status(json_parse_mended(&u.cx,
			      arena_printf(&u.arena, "{\"id\":7,\"r\":{\"isError\":true,\"all\":[1%.*s]}}",
				      (int)(2 * count), zeros),
			      &doc, &mended),
		OK);
	assert_true(mended.top_only);
	assert_str(json_get(doc, STR("id"))->text, "7");
	assert_status(json_parse_mended(&u.cx, json_get(doc, STR("r"))->text, &doc, &mended), OK);
	assert_true(json_get(doc, STR("isError"))->truth);
	assert_status(json_parse_mended(&u.cx,
			      arena_printf(&u.arena, "{\"id\":8,\"r\":{\"t\":\"%.*s\"}}", (int)bytes, word),
			      &doc, &mended),
		OK);
	assert_true(mended.top_only);
	assert_str(json_get(doc, STR("id"))->text, "8");
}

static void
what_is_no_json_is_refused(void **state)
{
	static const char *const texts[] = { "", "<html>starting</html>", "{\"a\":", "{\"a\" 1}", "[1,]",
		"nul", "{\"a\":\"b", "[}", "]", "\\", "\"\\x\"" };
	UNIT(u);
	struct mended mended;
	struct json *doc;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_status(json_parse_mended(&u.cx, str_of(texts[i]), &doc, &mended), E_BAD_JSON);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_comes_back_as_it_is),
		cmocka_unit_test(characters_that_no_text_has_are_replaced),
		cmocka_unit_test(of_one_name_the_last_member_counts),
		cmocka_unit_test(what_is_nested_too_deeply_becomes_its_text),
		cmocka_unit_test(of_what_is_too_large_the_top_level_is_read),
		cmocka_unit_test(what_is_no_json_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
