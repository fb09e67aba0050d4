/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "json/out.h"

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

static void
text_without_escapes_is_borrowed(void **state)
{
	static const char text[] = "{\"name\":\"value\",\"n\":12}";
	UNIT(u);
	const struct json *doc = parse(&u, text);

	(void)state;
	assert_ptr_equal(doc->child->key.ptr, text + 2);
	assert_ptr_equal(doc->child->text.ptr, text + 9);
	assert_ptr_equal(doc->child->next->text.ptr, text + 20);
}

static void
sixty_four_levels_are_enough_and_one_more_is_not(void **state)
{
	char text[2 * LIMIT_JSON_DEPTH + 3] = { 0 };
	UNIT(u);
	struct json *doc;

	(void)state;
	memset(text, '[', LIMIT_JSON_DEPTH);
	memset(text + LIMIT_JSON_DEPTH, ']', LIMIT_JSON_DEPTH);
	assert_status(json_parse(&u.cx, str_of(text), &doc), OK);
	memset(text, '[', LIMIT_JSON_DEPTH + 1);
	memset(text + LIMIT_JSON_DEPTH + 1, ']', LIMIT_JSON_DEPTH + 1);
	refuses(text, "line 1, column 65: the document is nested too deeply");
}

static void
a_bomb_of_brackets_is_refused_by_size_and_by_depth(void **state)
{
	UNIT(u);
	size_t len = 100 * MIB;
	char *bomb = malloc(len);
	struct json *doc;

	(void)state;
	assert_non_null(bomb);
	memset(bomb, '[', len);
	assert_status(json_parse(&u.cx, (str){ bomb, len }, &doc), E_TOO_LARGE);
	assert_status(json_parse(&u.cx, (str){ bomb, LIMIT_JSON_BYTES }, &doc), E_BAD_JSON);
	assert_true(u.arena.used < 64 * KIB);
	free(bomb);
}

/* [0,0,0,...] with n items. */
static str
zeros(struct arena *a, size_t n)
{
	struct buf b;

	buf_init(&b, a, SIZE_MAX);
	for (size_t i = 0; i < n; i++)
		buf_add(&b, i ? STR(",0") : STR("[0"));
	buf_add_char(&b, ']');
	return buf_str(&b);
}

static void
values_are_counted(void **state)
{
	UNIT(u);
	struct json *doc;

	(void)state;
	assert_status(json_parse(&u.cx, zeros(&u.arena, LIMIT_JSON_NODES - 1), &doc), OK);
	assert_int_equal(doc->count, LIMIT_JSON_NODES - 1);
	assert_status(json_parse(&u.cx, zeros(&u.arena, LIMIT_JSON_NODES), &doc), E_TOO_LARGE);
	assert_string_equal(
		arena_cstr(&u.arena, u.cx.error.message), "the document has more than 100000 values");
	/* what we keep may be larger */
	assert_status(json_parse_stored(&u.cx, zeros(&u.arena, LIMIT_JSON_NODES), &doc), OK);
	assert_status(json_parse_stored(&u.cx, zeros(&u.arena, LIMIT_JSON_STORED_NODES), &doc), E_TOO_LARGE);
}

/* Every cap from nothing up: refused as too large, or read. Never anything else. */
static void
every_cap_of_the_arena_is_respected(void **state)
{
	static const char text[] =
		"[{\"a\":\"\\n\",\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,"
		"\"j\":0,\"k\":1,\"l\":2,\"m\":3,\"n\":4,\"o\":5,\"p\":6,\"q\":7,\"r\":8}]";
	bool read = false;

	(void)state;
	for (size_t cap = 0; !read; cap++) {
		struct arena a;
		struct ctx cx;
		struct json *doc = NULL;
		status s;

		arena_init(&a, cap);
		ctx_init(&cx, &a);
		s = json_parse(&cx, str_of(text), &doc);
		read = s == OK;
		assert_true(read || (s == E_TOO_LARGE && !doc && cx.error.message.len));
		arena_done(&a);
	}
}

/* {"k0":0,"k1":1,...}; the last name again where twice is true. */
static str
object_of(struct arena *a, int n, bool twice)
{
	struct buf b;

	buf_init(&b, a, SIZE_MAX);
	for (int i = 0; i < n; i++)
		buf_printf(&b, "%c\"k%d\":%d", i ? ',' : '{', twice && i == n - 1 ? n - 2 : i, i);
	buf_add_char(&b, '}');
	return buf_str(&b);
}

static void
a_name_twice_is_refused_in_objects_of_any_size(void **state)
{
	static const int sizes[] = { 2, 3, 15, 16, 17, 18, 50, 70000 };
	struct json *doc;

	(void)state;
	refuses("{\"a\":1,\"\\u0061\":2}", "line 1, column 16: an object has a name twice: a");
	becomes("{\"a-b\":1,\"a+b\":2,\"a/b\":3}",
		"{\"a-b\":1,\"a+b\":2,\"a/b\":3}"); /* alike, not the same */
	refuses("{\"\":1,\"\":2}", "line 1, column 9: an object has a name twice: ");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		UNIT(u);

		assert_status(json_parse(&u.cx, object_of(&u.arena, sizes[i], false), &doc), OK);
		assert_int_equal(doc->count, sizes[i]);
		assert_status(json_parse(&u.cx, object_of(&u.arena, sizes[i], true), &doc), E_BAD_JSON);
	}
}

static void
a_long_name_is_shown_in_part(void **state)
{
	UNIT(u);
	struct json *doc;
	str text = arena_printf(&u.arena, "{\"%0200d\":1,\"%0200d\":2}", 0, 0);

	(void)state;
	assert_status(json_parse(&u.cx, text, &doc), E_BAD_JSON);
	assert_true(u.cx.error.message.len < 150);
}

/* ---- looking ---- */

static void
members_and_items_are_found(void **state)
{
	UNIT(u);
	const struct json *doc = parse(&u, "{\"a\":[10,20],\"b\":null}");
	const struct json *a = json_get(doc, STR("a"));

	(void)state;
	assert_int_equal(a->type, JSON_ARRAY);
	assert_str(json_at(a, 1)->text, "20");
	assert_null(json_at(a, 2));
	assert_null(json_at(doc, 0));
	assert_null(json_get(doc, STR("c")));
	assert_null(json_get(a, STR("a")));
	assert_string_equal(json_type_name(json_get(doc, STR("b"))->type), "null");
	assert_string_equal(json_type_name(JSON_OBJECT), "object");
}

static bool
equal(const char *a, const char *b)
{
	UNIT(u);
	const struct json *x = parse(&u, a), *y = parse(&u, b);

	assert_true(json_equal(x, x) && json_equal(y, y));
	assert_int_equal(json_equal(x, y), json_equal(y, x));
	return json_equal(x, y);
}

static void
equality_is_by_value(void **state)
{
	(void)state;
	assert_true(equal("{\"a\":1,\"b\":[1.0,\"x\"]}", "{\"b\":[1,\"\\u0078\"],\"a\":1e0}"));
	assert_true(equal("{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":3,\"a\":1,\"b\":2}"));
	assert_true(equal("[null,true,{}]", "[null,true,{}]"));
	assert_false(equal("{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}"));
	assert_false(equal("{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}"));
	assert_false(equal("{\"a\":1}", "{\"a\":1,\"b\":2}"));
	assert_false(equal("[1,2]", "[2,1]"));
	assert_false(equal("[1]", "[1,1]"));
	assert_false(equal("true", "false"));
	assert_false(equal("null", "false"));
	assert_false(equal("\"1\"", "1"));
	assert_false(equal("\"a\"", "\"b\""));
	assert_false(equal("[]", "{}"));
}

static void
large_objects_are_equal_in_any_order(void **state)
{
	UNIT(u);
	struct json *forward, *backward = json_new_object(&u.arena);
	int n = 50000;

	(void)state;
	assert_status(json_parse(&u.cx, object_of(&u.arena, n, false), &forward), OK);
	/* backwards by hand: adding at the end would walk the list each time */
	for (const struct json *m = forward->child; m; m = m->next) {
		struct json *twin = json_share(&u.arena, m);

		twin->key = m->key;
		twin->next = backward->child;
		backward->child = twin;
		backward->count++;
	}
	assert_true(json_equal(forward, backward));
	assert_true(json_equal(backward, forward));
	backward->child->text = STR("-1");
	assert_false(json_equal(forward, backward));
}

static void
names_sort_by_utf16(void **state)
{
	UNIT(u);
	/* the example of RFC 8785 section 3.2.3, with one more: U+1F600 stands before U+FB33 */
	const struct json *doc =
		parse(&u, "{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\","
			  "\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\",\"1\":\"One\","
			  "\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\","
			  "\"\\u00f6\":\"Latin Small Letter O With Diaeresis\",\"10\":\"Ten\"}");
	static const char *const order[] = { "\r", "1", "10", "\xc2\x80", "\xc3\xb6", "\xe2\x82\xac",
		"\xf0\x9f\x98\x80", "\xef\xac\xb3" };
	const struct json **sorted = json_sorted(&u.arena, doc);

	(void)state;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		assert_str(sorted[i]->key, order[i]);
	assert_int_equal(json_key_cmp(STR("a"), STR("a")), 0);
	assert_true(json_key_cmp(STR("a"), STR("aa")) < 0 && json_key_cmp(STR("aa"), STR("a")) > 0);
	assert_true(json_key_cmp(STR("\xef\xac\xb3"), STR("\xf0\x9f\x98\x80")) > 0);
	u.arena.cap = 0;
	assert_null(json_sorted(&u.arena, doc));
}

static void
documents_can_be_built(void **state)
{
	UNIT(u);
	struct json *o = json_new_object(&u.arena), *list = json_new_array(&u.arena);
	str out;

	(void)state;
	json_add_item(list, json_new_int(&u.arena, INT64_MIN));
	json_add_item(list, json_new_null(&u.arena));
	json_add_item(list, json_new_bool(&u.arena, true));
	json_add_member(o, STR("list"), list);
	json_add_member(o, STR("text"), json_new_string(&u.arena, STR("\xc3\xa4")));
	json_add_member(o, STR("again"), json_share(&u.arena, list));
	assert_int_equal(o->count, 3);
	assert_status(json_text(&u.cx, o, &out), OK);
	assert_str(out, "{\"list\":[-9223372036854775808,null,true],\"text\":\"\xc3\xa4\","
			"\"again\":[-9223372036854775808,null,true]}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_come_back_compact_and_unchanged),
		cmocka_unit_test(refusals_say_where_and_what),
		cmocka_unit_test(an_exponent_may_be_written_with_zeros),
		cmocka_unit_test(text_without_escapes_is_borrowed),
		cmocka_unit_test(sixty_four_levels_are_enough_and_one_more_is_not),
		cmocka_unit_test(a_bomb_of_brackets_is_refused_by_size_and_by_depth),
		cmocka_unit_test(values_are_counted),
		cmocka_unit_test(every_cap_of_the_arena_is_respected),
		cmocka_unit_test(a_name_twice_is_refused_in_objects_of_any_size),
		cmocka_unit_test(a_long_name_is_shown_in_part),
		cmocka_unit_test(members_and_items_are_found),
		cmocka_unit_test(equality_is_by_value),
		cmocka_unit_test(large_objects_are_equal_in_any_order),
		cmocka_unit_test(names_sort_by_utf16),
		cmocka_unit_test(documents_can_be_built),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
