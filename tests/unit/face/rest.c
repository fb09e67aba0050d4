/* SPDX-License-Identifier: Apache-2.0 */
/* An operation table of our own, called through its routes as the server would. */
#include "tests/unit/unit.h"

#include "face/rest/rest.h"
#include "json/json.h"

struct note_in {
	str note_id, title;
	int64_t limit;
	bool done;
};
static const struct field note_in[] = {
	FIELD_TEXT(struct note_in, note_id, .need = true, .min = 1, .max = 8, .doc = "Which note."),
	FIELD_TEXT(struct note_in, title, .need = true, .max = 20),
	FIELD_INT(struct note_in, limit, .min = 1, .max = 100),
	FIELD_BOOL(struct note_in, done),
	FIELD_END,
};
static const struct field note_out[] = {
	FIELD_TEXT(struct note_in, note_id, .need = true),
	FIELD_TEXT(struct note_in, title),
	FIELD_INT(struct note_in, limit),
	FIELD_BOOL(struct note_in, done),
	FIELD_END,
};

static status
run_echo(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct note_in *note = in;

	if (str_eq(note->title, STR("taken")))
		return fail(cx, E_CONFLICT, "somebody has it");
	if (str_eq(note->title, STR("broken")))
		return fail(cx, E_INTERNAL, "the flux capacitor is at 0x1234");
	json_out_fields(out, note_out, in);
	if (str_eq(note->title, STR("late"))) /* fails after it has written something */
		return fail(cx, E_UNAVAILABLE, "not now");
	return OK;
}

static status
run_text(struct ctx *cx, const void *in, struct json_out *out)
{
	(void)cx;
	(void)in;
	json_out_raw(out, NULL, STR("plain"));
	return OK;
}

static const struct op ops[] = {
	{ .name = "note_get",
		.method = "GET",
		.path = "/notes/{noteId}",
		.rule = RULE_PUBLIC,
		.doc = "Gets one. With care.",
		.in = note_in,
		.in_size = sizeof(struct note_in),
		.out = note_out,
		.errors = OP_ERRORS(E_CONFLICT, E_UNAVAILABLE),
		.run = run_echo },
	{ .name = "note_put",
		.method = "PUT",
		.path = "/notes/{noteId}",
		.rule = RULE_PUBLIC,
		.effect = OP_MUTATE,
		.success = 201,
		.doc = "Puts one.",
		.in = note_in,
		.in_size = sizeof(struct note_in),
		.out = note_out,
		.run = run_echo },
	{ .name = "text_get",
		.method = "GET",
		.path = "/text",
		.rule = RULE_PUBLIC,
		.where = OP_INLINE,
		.doc = "Gives text.",
		.content_type = "text/plain",
		.run = run_text },
	{ .name = "secret_get",
		.method = "GET",
		.path = "/secret",
		.rule = "note.secret.read",
		.tx = OP_TX_READ,
		.doc = "Nobody gets it.",
		.content_type = "text/plain",
		.run = run_text },
	{ 0 },
};
static const struct op *const tables[] = { ops, NULL };

enum { GET, PUT, PLAIN, SECRET, ROUTES };

/* One call of a route. */
struct call {
	struct http_exchange x;
	const struct json *answer; /* NULL where it is not JSON */
};

static struct call
ask(struct unit *u, int which, const char *id, const char *query, const char *body)
{
	struct http_route *routes;
	struct call c;
	struct json *doc;
	size_t count;

	assert_status(rest_routes(&u->cx, tables, 1, &routes, &count), OK);
	assert_int_equal(count, ROUTES);
	ctx_clear(&u->cx);
	http_exchange_init(&c.x, &u->cx);
	c.x.route = &routes[which];
	c.x.req.method = routes[which].method;
	c.x.req.params[0] = str_of(id);
	c.x.req.query = str_of(query);
	c.x.req.body = str_of(body);
	routes[which].handler(&c.x, routes[which].arg);
	c.answer = NULL;
	if (strcmp(c.x.content_type, "application/json") == 0) {
		struct error kept = u->cx.error;

		assert_status(json_parse(&u->cx, buf_str(&c.x.body), &doc), OK);
		u->cx.error = kept;
		c.answer = doc;
	}
	return c;
}

static str
text_at(const struct json *o, const char *key)
{
	const struct json *v = json_get(o, str_of(key));

	assert_non_null(v);
	return v->text;
}

static str
issue_path(const struct call *c, size_t i)
{
	const struct json *field = json_at(json_get(c->answer, STR("fields")), i);

	assert_non_null(field);
	return text_at(field, "path");
}

static void
input_comes_by_path_and_query(void **state)
{
	UNIT(u);
	struct call c = ask(&u, GET, "n1", "title=a%20b&limit=7&done=true", "");

	(void)state;
	assert_int_equal(c.x.status, 200);
	assert_str(text_at(c.answer, "noteId"), "n1");
	assert_str(text_at(c.answer, "title"), "a b");
	assert_str(text_at(c.answer, "limit"), "7");
	assert_true(json_get(c.answer, STR("done"))->truth);
}

static void
input_comes_by_path_and_body(void **state)
{
	UNIT(u);
	struct call c = ask(&u, PUT, "n1", "", "{\"title\":\"t\",\"limit\":3}");

	(void)state;
	assert_int_equal(c.x.status, 201);
	assert_str(text_at(c.answer, "noteId"), "n1");
	assert_str(text_at(c.answer, "title"), "t");
}

static void
a_member_of_the_path_is_not_taken_from_elsewhere(void **state)
{
	UNIT(u);
	struct call c = ask(&u, PUT, "n1", "", "{\"title\":\"t\",\"noteId\":\"n2\"}");

	(void)state;
	assert_int_equal(c.x.status, 400);
	assert_str(issue_path(&c, 0), "/noteId");
	c = ask(&u, GET, "n1", "title=t&noteId=n2", "");
	assert_int_equal(c.x.status, 400);
	assert_str(issue_path(&c, 0), "/noteId");
}

static void
everything_wrong_with_a_query_is_said_at_once(void **state)
{
	UNIT(u);
	struct call c = ask(&u, GET, "much-too-long", "limit=0&limit=1&other=1&done=maybe&%zz=1", "");

	(void)state;
	assert_int_equal(c.x.status, 400);
	assert_str(text_at(c.answer, "code"), "invalid_request");
	assert_str(issue_path(&c, 0), "/noteId");
	assert_str(issue_path(&c, 1), "/limit");
	assert_str(issue_path(&c, 2), "/limit"); /* given twice */
	assert_str(issue_path(&c, 3), "/other");
	assert_str(issue_path(&c, 4), "/done");
	assert_str(issue_path(&c, 6), "/title"); /* is needed */
	assert_int_equal(json_get(c.answer, STR("fields"))->count, 7);
}

static void
an_unknown_name_hears_which_are_accepted(void **state)
{
	UNIT(u);
	struct call c = ask(&u, GET, "n1", "title=t&other=1", "");

	(void)state;
	assert_str(text_at(c.answer, "message"),
		"/other is not a parameter of this operation; accepted: title, limit, done");
}

static void
nul_in_a_query_is_said_once(void **state)
{
	UNIT(u);
	struct call c = ask(&u, GET, "n1", "title=a%00b", "");

	(void)state;
	assert_int_equal(c.x.status, 400);
	assert_str(text_at(c.answer, "message"), "/title must not contain NUL (%00)");
	assert_int_equal(json_get(c.answer, STR("fields"))->count, 1); /* and not that it is needed */
}

static void
a_query_of_many_names_ends_with_the_issues_that_are_kept(void **state)
{
	UNIT(u);
	struct buf b;
	struct call c;

	(void)state;
	buf_init(&b, &u.arena, 10000);
	for (int i = 0; i < 1000; i++)
		buf_add(&b, STR("limit=1&"));
	buf_add_char(&b, '\0');
	c = ask(&u, GET, "n1", buf_str(&b).ptr, "");
	assert_int_equal(c.x.status, 400);
	assert_int_equal(json_get(c.answer, STR("fields"))->count, 16);
}

static void
a_body_operation_takes_no_query(void **state)
{
	UNIT(u);
	struct call c = ask(&u, PUT, "n1", "title=t", "{\"title\":\"t\"}");

	(void)state;
	assert_int_equal(c.x.status, 400);
	assert_str(issue_path(&c, 0), "/title");
}

static void
an_error_of_the_operation_becomes_the_envelope(void **state)
{
	UNIT(u);
	struct call c = ask(&u, GET, "n1", "title=taken", "");

	(void)state;
	assert_int_equal(c.x.status, 409);
	assert_str(text_at(c.answer, "code"), "conflict");
	assert_str(text_at(c.answer, "message"), "somebody has it");
	assert_null(json_get(c.answer, STR("fields")));
}

static void
what_a_failed_operation_had_written_is_gone(void **state)
{
	UNIT(u);
	struct call c = ask(&u, GET, "n1", "title=late", "");

	(void)state;
	assert_int_equal(c.x.status, 503);
	assert_null(json_get(c.answer, STR("noteId")));
}

static void
our_insides_are_not_told(void **state)
{
	UNIT(u);
	struct call c = ask(&u, GET, "n1", "title=broken", "");

	(void)state;
	assert_int_equal(c.x.status, 500);
	assert_str(text_at(c.answer, "message"), status_info(E_INTERNAL)->sentence);
	assert_non_null(strstr(ctx_message(&u.cx, E_INTERNAL).ptr, "flux")); /* the log can say it */
}

static void
text_is_written_as_it_is(void **state)
{
	UNIT(u);
	struct call c = ask(&u, PLAIN, "", "", "");

	(void)state;
	assert_int_equal(c.x.status, 200);
	assert_str(buf_str(&c.x.body), "plain");
	assert_string_equal(c.x.content_type, "text/plain");
	assert_true(c.x.route->where == HTTP_INLINE);
	assert_string_equal(rest_op_of(c.x.route)->name, "text_get");
}

static void
what_is_not_public_is_refused_before_its_input_is_read(void **state)
{
	UNIT(u);
	struct call c = ask(&u, SECRET, "", "nonsense=1", "");

	(void)state;
	assert_int_equal(c.x.status, 401);
	assert_str(text_at(c.answer, "code"), "unauthenticated");
}

static void
an_error_without_a_sentence_gets_the_tables(void **state)
{
	UNIT(u);
	struct http_exchange x;

	(void)state;
	assert_status(fail(&u.cx, E_CONFLICT, "about something else"), E_CONFLICT);
	http_exchange_init(&x, &u.cx);
	rest_refuse(&x, E_TOO_LARGE);
	assert_int_equal(x.status, 413);
	assert_str(buf_str(&x.body),
		"{\"code\":\"too_large\",\"message\":\"the input is larger than the limit\"}");
	assert_int_equal(u.cx.error.code, E_TOO_LARGE);
}

static void
a_route_that_is_not_ours_has_no_operation(void **state)
{
	struct http_route page = { .path = "/" };

	(void)state;
	assert_null(rest_op_of(&page));
	assert_null(rest_op_of(NULL));
}

static const struct json *
find(const struct json *doc, const char *const *keys)
{
	for (; doc && *keys; keys++)
		doc = json_get(doc, str_of(*keys));
	return doc;
}
#define FIND(doc, ...) find((doc), (const char *const[]){ __VA_ARGS__, NULL })

static void
the_api_is_described_from_the_same_table(void **state)
{
	UNIT(u);
	const struct json *parameters, *put;
	struct json *doc;
	str text;

	(void)state;
	assert_status(rest_openapi(&u.cx, tables, &text), OK);
	assert_status(json_parse(&u.cx, text, &doc), OK); /* no path or member twice, too */
	parameters = FIND(doc, "paths", "/notes/{noteId}", "get", "parameters");
	assert_int_equal(parameters->count, 4);
	assert_str(FIND(json_at(parameters, 0), "in")->text, "path");
	assert_str(FIND(json_at(parameters, 1), "in")->text, "query");
	assert_true(FIND(json_at(parameters, 1), "required")->truth);
	assert_str(FIND(doc, "paths", "/notes/{noteId}", "get", "summary")->text, "Gets one");
	assert_non_null(FIND(doc, "paths", "/notes/{noteId}", "get", "responses", "409"));
	put = FIND(doc, "paths", "/notes/{noteId}", "put");
	assert_int_equal(FIND(put, "parameters")->count, 1);
	assert_null(
		FIND(put, "requestBody", "content", "application/json", "schema", "properties", "noteId"));
	assert_non_null(
		FIND(put, "requestBody", "content", "application/json", "schema", "properties", "title"));
	assert_non_null(FIND(put, "responses", "201"));
	assert_null(FIND(put, "responses", "409"));
	assert_int_equal(FIND(doc, "paths", "/secret", "get", "security")->count, 1);
	assert_non_null(FIND(doc, "paths", "/secret", "get", "responses", "401"));
	assert_str(FIND(doc, "paths", "/text", "get", "responses", "200", "content", "text/plain", "schema",
			   "type")
			   ->text,
		"string");
}

static void
a_table_that_is_not_right_makes_no_routes(void **state)
{
	UNIT(u);
	static const struct op broken[] = { { .name = "x" }, { 0 } };
	static const struct op *const list[] = { broken, NULL };
	struct http_route *routes = NULL;
	size_t count = 99;

	(void)state;
	assert_status(rest_routes(&u.cx, list, 0, &routes, &count), E_INTERNAL);
	assert_int_equal(count, 99);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(input_comes_by_path_and_query),
		cmocka_unit_test(input_comes_by_path_and_body),
		cmocka_unit_test(a_member_of_the_path_is_not_taken_from_elsewhere),
		cmocka_unit_test(everything_wrong_with_a_query_is_said_at_once),
		cmocka_unit_test(an_unknown_name_hears_which_are_accepted),
		cmocka_unit_test(nul_in_a_query_is_said_once),
		cmocka_unit_test(a_query_of_many_names_ends_with_the_issues_that_are_kept),
		cmocka_unit_test(a_body_operation_takes_no_query),
		cmocka_unit_test(an_error_of_the_operation_becomes_the_envelope),
		cmocka_unit_test(what_a_failed_operation_had_written_is_gone),
		cmocka_unit_test(our_insides_are_not_told),
		cmocka_unit_test(text_is_written_as_it_is),
		cmocka_unit_test(what_is_not_public_is_refused_before_its_input_is_read),
		cmocka_unit_test(an_error_without_a_sentence_gets_the_tables),
		cmocka_unit_test(a_route_that_is_not_ours_has_no_operation),
		cmocka_unit_test(the_api_is_described_from_the_same_table),
		cmocka_unit_test(a_table_that_is_not_right_makes_no_routes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
