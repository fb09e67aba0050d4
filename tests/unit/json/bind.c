/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "json/bind.h"
#include "json/out.h"

struct note {
	int64_t base_rev, weight, debt;
	str title, state, secret_bytes;
	bool is_done;
	struct json *body;
};

static const char *const states[] = { "open", "closed", NULL };

static const struct field fields[] = {
	FIELD_INT(struct note, base_rev, .need = true, .min = 1, .doc = "Which revision."),
	FIELD_INT(struct note, weight, .min = -5, .max = 10),
	FIELD_INT(struct note, debt, .min = -5, .max = 0),
	FIELD_TEXT(struct note, title, .min = 1, .max = 5, .doc = "One line."),
	FIELD_TEXT(struct note, state, .choices = states),
	FIELD_BLOB(struct note, secret_bytes),
	FIELD_BOOL(struct note, is_done),
	FIELD_JSON(struct note, body),
	FIELD_END,
};
static const struct field none[] = { FIELD_END };

static struct json *
parse(struct unit *u, const char *text)
{
	struct json *doc = NULL;

	assert_status(json_parse(&u->cx, str_of(text), &doc), OK);
	return doc;
}

/* All issues as "path sentence" lines. */
static const char *
issues(struct unit *u)
{
	struct buf b;

	buf_init(&b, &u->arena, SIZE_MAX);
	for (size_t i = 0; i < u->cx.error.issue_count; i++)
		buf_printf(&b, "%.*s %.*s\n", STR_ARG(u->cx.error.issues[i].path),
			STR_ARG(u->cx.error.issues[i].message));
	return arena_cstr(&u->arena, buf_str(&b));
}

static void
refuses(const char *text, const char *expected)
{
	UNIT(u);
	struct note n = { .weight = 3 }, before = n;

	assert_status(json_bind(&u.cx, parse(&u, text), fields, sizeof(n), &n), E_INVALID);
	assert_string_equal(issues(&u), expected);
	assert_true(u.cx.error.message.len > 0);
	assert_memory_equal(&n, &before, sizeof(n));
}

static void
a_struct_is_filled_and_defaults_stay(void **state)
{
	UNIT(u);
	struct note n = { .weight = 3, .title = STR("old") };

	(void)state;
	assert_status(json_bind(&u.cx,
			      parse(&u, "{\"baseRev\":7.0,\"isDone\":true,\"state\":\"open\",\"title\":null,"
					"\"body\":[1]}"),
			      fields, sizeof(n), &n),
		OK);
	assert_int_equal(n.base_rev, 7);
	assert_int_equal(n.weight, 3);
	assert_true(n.is_done);
	assert_str(n.state, "open");
	assert_str(n.title, "old");
	assert_int_equal(n.body->type, JSON_ARRAY);
}

static void
null_is_a_document_but_otherwise_absent(void **state)
{
	static const struct field needed[] = { FIELD_JSON(struct note, body, .need = true), FIELD_END };
	UNIT(u);
	struct note n = { .is_done = true };

	(void)state;
	assert_status(json_bind(&u.cx, parse(&u, "{\"baseRev\":1,\"body\":null,\"isDone\":null}"), fields,
			      sizeof(n), &n),
		OK);
	assert_int_equal(n.body->type, JSON_NULL);
	assert_true(n.is_done);
	n.body = NULL;
	assert_status(json_bind(&u.cx, parse(&u, "{\"body\":null}"), needed, sizeof(n), &n), OK);
	assert_int_equal(n.body->type, JSON_NULL);
	assert_status(json_bind(&u.cx, parse(&u, "{}"), needed, sizeof(n), &n), E_INVALID);
	assert_string_equal(issues(&u), "/body is needed\n");
}

static void
everything_that_is_wrong_is_said(void **state)
{
	(void)state;
	refuses("[]", " must be an object, not array\n");
	refuses("{}", "/baseRev is needed\n");
	refuses("{\"baseRev\":null}", "/baseRev is needed\n");
	refuses("{\"baseRev\":0,\"weight\":-6,\"debt\":1,\"title\":\"\",\"state\":\"ajar\",\"isDone\":"
		"\"yes\"}",
		"/baseRev must be at least 1\n/weight must be at least -5\n/debt must be at most 0\n"
		"/title must not be empty\n/state must be one of: open, closed\n"
		"/isDone must be true or false, not string\n");
	refuses("{\"baseRev\":1.5,\"weight\":11,\"title\":\"123456\",\"state\":1}",
		"/baseRev must be a whole number\n/weight must be at most 10\n"
		"/title must be at most 5 bytes long\n/state must be a string, not number\n");
	refuses("{\"baseRev\":\"1\"}", "/baseRev must be a whole number\n");
}

static void
an_unknown_member_is_an_issue(void **state)
{
	UNIT(u);
	struct note n;

	(void)state;
	refuses("{\"baseRev\":1,\"base_rev\":1,\"x/y\":2}",
		"/base_rev is not a known member; accepted: baseRev, weight, debt, title, state, isDone, "
		"body\n"
		"/x~1y is not a known member; accepted: baseRev, weight, debt, title, state, isDone, body\n");
	/* bytes come from rows only */
	refuses("{\"baseRev\":1,\"secretBytes\":\"a\"}",
		"/secretBytes is not a known member; accepted: baseRev, weight, debt, title, state, isDone, "
		"body\n");
	assert_status(json_bind(&u.cx, parse(&u, "{\"a\":1}"), none, sizeof(n), &n), E_INVALID);
	assert_string_equal(issues(&u), "/a is not a known member; accepted: none\n");
	assert_status(json_bind(&u.cx, parse(&u, "{}"), none, sizeof(n), &n), OK);
}

static void
a_flood_of_issues_ends_early(void **state)
{
	UNIT(u);
	struct json *o = json_new_object(&u.arena);
	struct note n;
	size_t before;

	(void)state;
	for (int i = 0; i < 2000; i++)
		json_add_member(o, arena_printf(&u.arena, "k%d", i), json_new_null(&u.arena));
	before = u.arena.used;
	assert_status(json_bind(&u.cx, o, fields, sizeof(n), &n), E_INVALID);
	assert_int_equal(u.cx.error.issue_count, 16);
	assert_true(u.arena.used - before < 64 * KIB);
}

static status
bind_one(struct unit *u, const char *key, str text, struct note *n)
{
	return json_bind_text(&u->cx, field_by_key(fields, str_of(key)), text, n);
}

static void
text_is_read_by_the_same_rules(void **state)
{
	UNIT(u);
	struct note n = { 0 };

	(void)state;
	assert_status(bind_one(&u, "baseRev", STR("12"), &n), OK);
	assert_int_equal(n.base_rev, 12);
	assert_status(bind_one(&u, "isDone", STR("true"), &n), OK);
	assert_true(n.is_done);
	assert_status(bind_one(&u, "isDone", STR("false"), &n), OK);
	assert_false(n.is_done);
	assert_status(bind_one(&u, "title", STR("\xc3\xa4"), &n), OK);
	assert_str(n.title, "\xc3\xa4");
	assert_status(bind_one(&u, "body", STR("{\"a\":[]}"), &n), OK);
	assert_int_equal(n.body->type, JSON_OBJECT);
}

static void
text_that_is_wrong_is_said(void **state)
{
	static const struct {
		const char *key;
		str text;
		const char *issue;
	} cases[] = {
		{ "baseRev", STR("1x"), "/baseRev must be a whole number\n" },
		{ "baseRev", STR("0"), "/baseRev must be at least 1\n" },
		{ "isDone", STR("1"), "/isDone must be true or false\n" },
		{ "title", STR("\xff"), "/title must be UTF-8 text\n" },
		{ "title", STR("a\0b"), "/title must be UTF-8 text\n" },
		{ "state", STR(""), "/state must be one of: open, closed\n" },
		{ "body", STR("{"),
			"/body must be JSON: line 1, column 2: expected a name in quotes, but found the end "
			"of "
			"the text\n" },
	};
	UNIT(u);
	struct note n = { 0 }, zero = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_status(bind_one(&u, cases[i].key, cases[i].text, &n), E_INVALID);
		assert_string_equal(issues(&u), cases[i].issue);
		assert_memory_equal(&n, &zero, sizeof(n));
	}
}

static void
names_become_camel_case(void **state)
{
	UNIT(u);

	(void)state;
	assert_str(field_key(&u.arena, "base_rev"), "baseRev");
	assert_str(field_key(&u.arena, "a_b_c"), "aBC");
	assert_str(field_key(&u.arena, "id"), "id");
	assert_str(field_key(&u.arena, "p_99"), "p_99");
	assert_ptr_equal(field_by_key(fields, STR("baseRev")), &fields[0]);
	assert_null(field_by_key(fields, STR("baseRe")));
	assert_null(field_by_key(fields, STR("baseRevs")));
	assert_null(field_by_key(fields, STR("")));
	assert_null(field_by_key(fields, STR("secretBytes")));
}

static void
a_struct_is_written_by_its_table(void **state)
{
	UNIT(u);
	struct note n = { .base_rev = 1, .title = STR("t"), .is_done = true };
	struct json_out o;
	struct buf b;

	(void)state;
	buf_init(&b, &u.arena, 1000);
	json_out_init(&o, &b);
	json_out_array(&o, NULL);
	for (int i = 0; i < 2; i++) {
		json_out_object(&o, NULL);
		json_out_fields(&o, fields, &n);
		json_out_end(&o);
		n.body = parse(&u, "[1.0]");
	}
	json_out_end(&o);
	assert_string_equal(arena_cstr(&u.arena, buf_str(&b)),
		"[{\"baseRev\":1,\"weight\":0,\"debt\":0,\"title\":\"t\",\"state\":\"\",\"isDone\":true},"
		"{\"baseRev\":1,\"weight\":0,\"debt\":0,\"title\":\"t\",\"state\":\"\",\"isDone\":true,"
		"\"body\":[1.0]}]");
}

static void
a_table_describes_itself_as_a_schema(void **state)
{
	UNIT(u);
	str text;

	(void)state;
	assert_status(json_text(&u.cx, field_schema(&u.arena, fields), &text), OK);
	assert_string_equal(arena_cstr(&u.arena, text),
		"{\"type\":\"object\",\"properties\":{"
		"\"baseRev\":{\"type\":\"integer\",\"description\":\"Which revision.\",\"minimum\":1},"
		"\"weight\":{\"type\":\"integer\",\"minimum\":-5,\"maximum\":10},"
		"\"debt\":{\"type\":\"integer\",\"minimum\":-5,\"maximum\":0},"
		"\"title\":{\"type\":\"string\",\"description\":\"One "
		"line. At most 5 bytes of UTF-8.\",\"minLength\":1,\"maxLength\":5},"
		"\"state\":{\"type\":\"string\",\"enum\":[\"open\",\"closed\"]},"
		"\"isDone\":{\"type\":\"boolean\"},\"body\":{}},"
		"\"required\":[\"baseRev\"],\"additionalProperties\":false}");
	assert_status(json_text(&u.cx, field_schema(&u.arena, none), &text), OK);
	assert_string_equal(arena_cstr(&u.arena, text),
		"{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_struct_is_filled_and_defaults_stay),
		cmocka_unit_test(null_is_a_document_but_otherwise_absent),
		cmocka_unit_test(everything_that_is_wrong_is_said),
		cmocka_unit_test(an_unknown_member_is_an_issue),
		cmocka_unit_test(a_flood_of_issues_ends_early),
		cmocka_unit_test(text_is_read_by_the_same_rules),
		cmocka_unit_test(text_that_is_wrong_is_said),
		cmocka_unit_test(names_become_camel_case),
		cmocka_unit_test(a_struct_is_written_by_its_table),
		cmocka_unit_test(a_table_describes_itself_as_a_schema),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
