/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "json/out.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- help ---- */

static struct json *
parse(struct unit *u, const char *text)
{
	struct json *doc = NULL;

	if (json_parse(&u->cx, str_of(text), &doc) != OK)
		print_error("%s: %.*s\n", text, STR_ARG(u->cx.error.message));
	assert_non_null(doc);
	return doc;
}

/* Refuses with exactly this sentence, and leaves the output alone. */
static void
refuses(const char *text, const char *sentence)
{
	UNIT(u);
	struct json *doc = NULL;

	assert_status(json_parse(&u.cx, str_of(text), &doc), E_BAD_JSON);
	assert_null(doc);
	assert_string_equal(arena_cstr(&u.arena, ctx_message(&u.cx, E_BAD_JSON)), sentence);
}

static void
becomes(const char *text, const char *expected)
{
	UNIT(u);
	str out;

	assert_status(json_text(&u.cx, parse(&u, text), &out), OK);
	assert_str(out, expected);
}

/* ---- reading ---- */

static void
documents_come_back_compact_and_unchanged(void **state)
{
	(void)state;
	becomes(" null ", "null");
	becomes("\t[ true , false ]\r\n", "[true,false]");
	becomes("{ \"a\" : { } , \"b\" : [ ] }", "{\"a\":{},\"b\":[]}");
	becomes("[1.50, -0, 1E+2, 123456789012345678901234567890]",
		"[1.50,-0,1E+2,123456789012345678901234567890]");
	becomes("\"\\u00e4\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\\"\\\\\\u0001\\u007F\"",
		"\"\xc3\xa4\xf0\x9f\x98\x80/\\b\\f\\n\\r\\t\\\"\\\\\\u0001\x7f\"");
	becomes("\"\xe2\x82\xac and \xf0\x9f\x98\x80 and \xed\x9f\xbf\"",
		"\"\xe2\x82\xac and \xf0\x9f\x98\x80 and \xed\x9f\xbf\"");
}

static void
refusals_say_where_and_what(void **state)
{
	(void)state;
	refuses("", "line 1, column 1: expected a value, but found the end of the text");
	refuses("  \n\n x", "line 3, column 2: expected a value, but found 'x'");
	refuses("[1,\n]", "line 2, column 1: expected a value, but found ']'");
	refuses("[\"\xc3\xa4\" 1]", "line 1, column 6: expected ',' or ']', but found '1'");
	refuses("{\"a\":1,}", "line 1, column 8: expected a name in quotes, but found '}'");
	refuses("{\"a\" 1}", "line 1, column 6: expected ':' after a name, but found '1'");
	refuses("{\"a\":1", "line 1, column 7: expected ',' or '}', but found the end of the text");
	refuses("[1] 2", "line 1, column 5: expected nothing after the document, but found '2'");
	refuses("nul", "line 1, column 1: expected a value, but found 'n'");
	refuses("\xef\xbb\xbf{}", "line 1, column 1: expected a value, but found the byte 0xef");
	refuses("-\n", "line 1, column 2: expected a digit, but found the end of the line");
	refuses("[1.]", "line 1, column 4: expected a digit, but found ']'");
	refuses("[1e+]", "line 1, column 5: expected a digit, but found ']'");
	refuses("[01]", "line 1, column 2: a number may not begin with 0");
	refuses("1e1234567890123456", "line 1, column 3: the exponent of a number has too many digits");
	refuses("[\"abc", "line 1, column 6: the text ends inside a string");
	refuses("[\"abc\\", "line 1, column 7: the text ends inside a string");
	refuses("[\"a\x01\"]",
		"line 1, column 4: a string contains a control character as it is: the byte 0x01");
	refuses("[\"a\n\"]",
		"line 1, column 4: a string contains a control character as it is: the end of the line");
	refuses("[\"a\xff\"]", "line 1, column 4: a string contains what is not UTF-8: the byte 0xff");
	refuses("[\"\\x\"]", "line 1, column 3: a backslash must be followed by one of \" \\ / b f n r t u");
	refuses("[\"\\u12g4\"]", "line 1, column 3: \\u needs four hexadecimal digits");
	refuses("[\"\\u12\"]", "line 1, column 3: \\u needs four hexadecimal digits");
	refuses("[\"\\u0000\"]", "line 1, column 3: \\u0000 is not accepted in text");
	refuses("{\"\\u0000\":1}", "line 1, column 3: \\u0000 is not accepted in text");
	refuses("[\"\\ud800\"]", "line 1, column 3: half of a surrogate pair");
	refuses("[\"\\ud800\\n\"]", "line 1, column 3: half of a surrogate pair");
	refuses("[\"\\ud800\\u0041\"]", "line 1, column 3: half of a surrogate pair");
	refuses("[\"\\ud800\\ue000\"]", "line 1, column 3: half of a surrogate pair");
	refuses("[\"\\udc00\"]", "line 1, column 3: half of a surrogate pair");
}

static void
an_exponent_may_be_written_with_zeros(void **state)
{
	(void)state;
	becomes("1e00000000000000000000000000000000012", "1e00000000000000000000000000000000012");
	becomes("1e-123456789012345", "1e-123456789012345");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_come_back_compact_and_unchanged),
		cmocka_unit_test(refusals_say_where_and_what),
		cmocka_unit_test(an_exponent_may_be_written_with_zeros),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
