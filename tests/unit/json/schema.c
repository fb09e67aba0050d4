/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/meter/meter.h"
#include "json/schema.h"

#include <pthread.h>

#define META "https://json-schema.org/draft/2020-12/schema"

/* Test documents are written with ' for ". */
static struct json *
parse(struct unit *u, const char *text)
{
	size_t len = strlen(text);
	char *copy = arena_try_bytes(&u->arena, len + 1);
	struct json *doc = NULL;

	assert_non_null(copy);
	for (size_t i = 0; i < len; i++)
		copy[i] = text[i] == '\'' ? '"' : text[i];
	if (json_parse(&u->cx, (str){ copy, len }, &doc) != OK)
		print_error("%s: %.*s\n", text, STR_ARG(u->cx.error.message));
	assert_non_null(doc);
	return doc;
}

static struct schema *
compile(struct unit *u, const char *text, const struct schema_options *options)
{
	struct schema *s = NULL;

	if (schema_new(&u->cx, parse(u, text), options, &s) != OK)
		print_error("%s: %.*s\n", text, STR_ARG(u->cx.error.message));
	assert_non_null(s);
	return s;
}

/* "path sentence\n" for each issue. */
static const char *
said(struct unit *u, const struct schema_issues *issues)
{
	struct buf b;

	buf_init(&b, &u->arena, MIB);
	for (size_t i = 0; i < issues->count; i++)
		buf_printf(&b, "%.*s %.*s\n", STR_ARG(issues->issues[i].path),
			STR_ARG(issues->issues[i].message));
	return arena_cstr(&u->arena, buf_str(&b));
}

static const char *
check_with(struct unit *u, const char *schema, const char *value, const struct schema_options *options)
{
	struct schema *s = compile(u, schema, options);
	struct schema_issues issues;

	assert_status(schema_check(&u->cx, s, parse(u, value), &issues), OK);
	schema_free(s);
	return said(u, &issues);
}

/* The value is the string between quotes. */
static const char *
check_quoted(struct unit *u, const char *schema, const char *text, const struct schema_options *options)
{
	struct schema *s = compile(u, schema, options);
	str quoted = arena_printf(&u->arena, "\"%s\"", text);
	struct schema_issues issues;
	struct json *value;

	assert_status(json_parse_any(&u->cx, quoted, &value), OK);
	assert_status(schema_check(&u->cx, s, value, &issues), OK);
	schema_free(s);
	return said(u, &issues);
}

#define SAYS(schema, value, expected)                                                                        \
	do {                                                                                                 \
		UNIT(says_);                                                                                 \
		assert_string_equal(check_with(&says_, (schema), (value), NULL), (expected));                \
	} while (0)

/* --- sentences --- */

static void
issues_are_sentences_about_one_place(void **state)
{
	(void)state;
	SAYS("{'type':'string'}", "5", " must be a string\n");
	SAYS("{'type':['integer','null']}", "1.5", " must be a whole number or null\n");
	SAYS("{'type':['object','array','boolean']}", "5", " must be true or false, an array or an object\n");
	SAYS("{'items':{'properties':{'name':{'minLength':3}}}}", "[{'name':'ab'}]",
		"/0/name must be at least 3 characters long\n");
	SAYS("{'minLength':1}", "''", " must not be empty\n");
	SAYS("{'maxLength':1}", "'ab'", " must be at most 1 character long\n");
	SAYS("{'pattern':'^a'}", "'b'", " must match the pattern \"^a\"\n");
	SAYS("{'minimum':1.50}", "1", " must be at least 1.50\n");
	SAYS("{'maximum':1}", "2", " must be at most 1\n");
	SAYS("{'exclusiveMinimum':1}", "1", " must be greater than 1\n");
	SAYS("{'exclusiveMaximum':1}", "1", " must be less than 1\n");
	SAYS("{'multipleOf':0.01}", "1.001", " must be a multiple of 0.01\n");
	SAYS("{'const':'on'}", "'off'", " must be \"on\"\n");
	SAYS("{'const':{'a':1}}", "1", " must be the object that the schema gives\n");
	SAYS("{'const':[]}", "1", " must be []\n");
	SAYS("{'enum':['a',1,true,null,{},[1]]}", "'x'",
		" must be one of: \"a\", 1, true, null, {}, the array that the schema gives\n");
	SAYS("{'enum':[]}", "1", " is not allowed: there is no value to choose from\n");
	SAYS("{'minItems':1}", "[]", " must have at least 1 item\n");
	SAYS("{'maxItems':0}", "[1]", " must have at most 0 items\n");
	SAYS("{'minProperties':2}", "{}", " must have at least 2 properties\n");
	SAYS("{'maxProperties':1}", "{'a':1,'b':2}", " must have at most 1 property\n");
	SAYS("{'uniqueItems':true}", "[1,2,1.0]", " must not have the same item twice (0 and 2 are equal)\n");
	SAYS("{'contains':{'const':1}}", "[2]", " must contain an item of the form that is asked for\n");
	SAYS("{'contains':{'const':1},'minContains':2}", "[1]",
		" must contain at least 2 items of the form that is asked for (there are 1)\n");
	SAYS("{'contains':{'const':1},'maxContains':1}", "[1,1]",
		" must contain at most 1 items of the form that is asked for (there are 2)\n");
	SAYS("false", "1", " is not allowed\n");
	SAYS("{'not':{'type':'null'}}", "null", " has a form that is not allowed\n");
	SAYS("{'propertyNames':{'pattern':'^a'}}", "{'b':1}", "/b is a name that is not allowed here\n");
	SAYS("{'dependentRequired':{'a':['b']}}", "{'a':1}", "/b is required because \"a\" is there\n");
	SAYS("{'oneOf':[{'minimum':1},{'maximum':5}]}", "3",
		" must have one of the allowed forms only; it has the 1. and the 2.\n");
}

static void
members_are_reported_one_by_one(void **state)
{
	(void)state;
	SAYS("{'properties':{'b':{'type':'string'},'a':true},'required':['b','x','a'],'additionalProperties':"
	     "false}",
		"{'b':1,'c':2,'d~/':3}",
		"/b must be a string\n/x is required\n/a is required\n"
		"/c is not a known property; known are: a, b\n/d~0~1 is not a known property; known are: a, "
		"b\n");
	SAYS("{'additionalProperties':false}", "{'a':1}", "/a is not a known property\n");
	SAYS("{'allOf':[{'properties':{'a':true}}],'unevaluatedProperties':false}", "{'a':1,'b':2}",
		"/b is not a known property\n");
	SAYS("{'prefixItems':[true],'unevaluatedItems':false}", "[1,2]", "/1 is not allowed\n");
	SAYS("{'patternProperties':{'^x':{'type':'null'}},'additionalProperties':{'type':'string'}}",
		"{'x':1,'y':2}", "/x must be null\n/y must be a string\n");
	SAYS("{'dependencies':{'a':['b'],'c':{'required':['d']}}}", "{'a':1,'c':1}",
		"/b is required because \"a\" is there\n/d is required\n");
}

static void
the_same_issue_is_said_once(void **state)
{
	(void)state;
	SAYS("{'allOf':[{'type':'null'},{'type':'null'}]}", "1", " must be null\n");
}

static void
many_names_and_values_are_cut_short(void **state)
{
	(void)state;
	SAYS("{'enum':[1,2,3,4,5,6,7,8,9,10,11]}", "0",
		" must be one of: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...\n");
	SAYS("{'const':'"
	     "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3"
	     "\xa9\xc3\xa9"
	     "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3"
	     "\xa9\xc3\xa9"
	     "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3"
	     "\xa9\xc3\xa9"
	     "x\xc3\xa9\xc3\xa9'}",
		"0",
		" must be \""
		"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3"
		"\xa9\xc3\xa9"
		"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3"
		"\xa9\xc3\xa9"
		"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3"
		"\xa9\xc3\xa9"
		"x...\"\n");
}

static void
the_branch_that_came_closest_speaks(void **state)
{
	static const char shapes[] =
		"{'anyOf':["
		"{'properties':{'kind':{'const':'circle'},'r':{'type':'number'}},'required':['kind','r']},"
		"{'properties':{'kind':{'const':'box'},'w':{'type':'number'}},'required':['kind','w']},"
		"{'type':'null'}]}";

	(void)state;
	SAYS(shapes, "{'kind':'circle','r':'1'}", "/r must be a number\n");
	SAYS(shapes, "{'kind':'box'}", "/w is required\n");
	SAYS("{'anyOf':[{'type':'string'},{'type':'null'},{'type':'array'}]}", "1",
		" must be a string, an array or null\n");
	SAYS("{'oneOf':[{'type':'string'},{'type':'integer','minimum':5}]}", "1", " must be at least 5\n");
	SAYS("{'anyOf':[{'minimum':5,'multipleOf':2},{'minimum':7}]}", "1", " must be at least 7\n");
}

static void
then_and_else_follow_if(void **state)
{
	static const char schema[] = "{'if':{'minimum':10},'then':{'multipleOf':10},'else':{'multipleOf':3}}";

	(void)state;
	SAYS(schema, "20", "");
	SAYS(schema, "21", " must be a multiple of 10\n");
	SAYS(schema, "9", "");
	SAYS(schema, "8", " must be a multiple of 3\n");
}

static void
there_are_at_most_so_many_issues(void **state)
{
	UNIT(u);
	struct buf b;
	struct schema *s = compile(&u, "{'items':{'type':'null'}}", NULL);
	struct schema_issues issues;

	(void)state;
	buf_init(&b, &u.arena, MIB);
	buf_add(&b, STR("[0"));
	for (unsigned i = 0; i < 2 * LIMIT_SCHEMA_ISSUES; i++)
		buf_add(&b, STR(",0"));
	buf_add(&b, STR("]"));
	assert_status(schema_check(&u.cx, s, parse(&u, arena_cstr(&u.arena, buf_str(&b))), &issues), OK);
	assert_int_equal(issues.count, LIMIT_SCHEMA_ISSUES);
	assert_str(issues.issues[49].path, "/49");
	schema_free(s);
}

/* --- numbers --- */

static void
numbers_are_compared_exactly(void **state)
{
	(void)state;
	SAYS("{'multipleOf':0.1}", "0.3", "");
	SAYS("{'multipleOf':3}", "1e1000000", " must be a multiple of 3\n");
	SAYS("{'multipleOf':8}", "1e1000000", "");
	SAYS("{'multipleOf':8}", "100", " must be a multiple of 8\n");
	SAYS("{'multipleOf':1e-1000000}", "3", "");
	SAYS("{'multipleOf':1e999999999999999}", "3", " must be a multiple of 1e999999999999999\n");
	SAYS("{'multipleOf':123456789012345678}", "15241578753238836527968299765279684", "");
	SAYS("{'multipleOf':123456789012345678}", "15241578753238836527968299765279685",
		" must be a multiple of 123456789012345678\n");
	SAYS("{'multipleOf':7}", "0", "");
	SAYS("{'multipleOf':7}", "-1.4e1", "");
	SAYS("{'maximum':9007199254740993}", "9007199254740993.0", "");
	SAYS("{'maximum':9007199254740993}", "9007199254740993.1", " must be at most 9007199254740993\n");
	SAYS("{'type':'integer'}", "1e400", "");
	SAYS("{'type':'integer'}", "1e-400", " must be a whole number\n");
	SAYS("{'uniqueItems':true}", "[1e2,10,1e3,100.0]",
		" must not have the same item twice (0 and 3 are equal)\n");
	SAYS("{'maxLength':1e400,'minLength':0.0}", "'abc'", "");
}

static void
items_are_the_same_whatever_their_spelling(void **state)
{
	(void)state;
	SAYS("{'uniqueItems':true}", "[{'a':1,'b':[true,null]},0,{'b':[true,null],'a':1.0}]",
		" must not have the same item twice (0 and 2 are equal)\n");
	SAYS("{'uniqueItems':true}", "[1,true,'1',[1],{'1':1},null,false,0,'',[],{}]", "");
	SAYS("{'uniqueItems':false}", "[1,1]", "");
	SAYS("{'enum':[{'a':[1]}]}", "{'a':[1.0]}", "");
}

/* --- schemas that are refused --- */

static void
refuses(const char *schema, const char *path, const char *part)
{
	UNIT(u);
	struct schema *s = NULL;
	char *copy;

	assert_status(schema_new(&u.cx, parse(&u, schema), NULL, &s), E_INVALID);
	assert_null(s);
	assert_int_equal(u.cx.error.issue_count, 1);
	copy = (char *)(uintptr_t)arena_cstr(&u.arena, u.cx.error.issues[0].message);
	if (!strstr(copy, part))
		print_error("%s: %s\n", schema, copy);
	assert_non_null(strstr(copy, part));
	assert_string_equal(arena_cstr(&u.arena, u.cx.error.issues[0].path), path);
}

static void
an_invalid_schema_is_refused_with_its_place(void **state)
{
	(void)state;
	refuses("5", "", "must be a schema");
	refuses("{'type':'text'}", "/type", "must be one of null");
	refuses("{'type':['string','string']}", "/type", "without repetition");
	refuses("{'type':[]}", "/type", "empty");
	refuses("{'properties':{'a/b':{'minLength':-1}}}", "/properties/a~1b/minLength", "whole number");
	refuses("{'minLength':-1e400}", "/minLength", "whole number");
	refuses("{'items':{'maxItems':1.5}}", "/items/maxItems", "whole number");
	refuses("{'maxItems':'1'}", "/maxItems", "whole number");
	refuses("{'items':[{}]}", "/items", "prefixItems in 2020-12");
	refuses("{'allOf':[{},5]}", "/allOf/1", "must be a schema");
	refuses("{'allOf':[]}", "/allOf", "empty");
	refuses("{'allOf':{}}", "/allOf", "must be an array");
	refuses("{'properties':[]}", "/properties", "must be an object");
	refuses("{'$defs':{'a':'b'}}", "/$defs/a", "must be a schema");
	refuses("{'required':'a'}", "/required", "array of names");
	refuses("{'required':[1]}", "/required", "array of names");
	refuses("{'required':['a','b','a']}", "/required", "twice: a");
	refuses("{'dependentRequired':{'a':{}}}", "/dependentRequired", "array of names");
	refuses("{'dependencies':{'a':[1]}}", "/dependencies", "array of names");
	refuses("{'dependencies':{'a':1}}", "/dependencies/a", "must be a schema");
	refuses("{'minimum':'1'}", "/minimum", "must be a number");
	refuses("{'multipleOf':0}", "/multipleOf", "greater than 0");
	refuses("{'multipleOf':-0.5}", "/multipleOf", "greater than 0");
	refuses("{'multipleOf':1234567890123456789}", "/multipleOf", "significant digits");
	refuses("{'pattern':'('}", "/pattern", "not closed");
	refuses("{'pattern':'(?=a)'}", "/pattern", "lookaround, which RE2 does not have");
	refuses("{'patternProperties':{'[':true}}", "/patternProperties", "not closed");
	refuses("{'uniqueItems':1}", "/uniqueItems", "true or false");
	refuses("{'enum':1}", "/enum", "must be an array");
	refuses("{'title':1}", "/title", "must be a string");
	refuses("{'format':1}", "/format", "must be a string");
	refuses("{'$id':'a#b'}", "/$id", "no fragment");
	refuses("{'$id':5}", "/$id", "must be a string");
	refuses("{'$anchor':'1a'}", "/$anchor", "must be a letter");
	refuses("{'$anchor':''}", "/$anchor", "empty");
	refuses("{'$vocabulary':{'a':1}}", "/$vocabulary", "true or false");
	refuses("{'$ref':5}", "/$ref", "must be a string");
	refuses("{'$ref':'#/nowhere'}", "/$ref", "leads nowhere: #/nowhere");
	refuses("{'$ref':'#/a/b','a':5}", "/$ref", "leads nowhere");
	refuses("{'$ref':'#/a','a':5}", "/a", "must be a schema");
	refuses("{'$ref':'#/a/0','a':[{'minLength':'x'}]}", "/a/0/minLength", "whole number");
	refuses("{'$ref':'#%zz'}", "/$ref", "leads nowhere");
	refuses("{'$ref':'http://example.com/x'}", "/$ref", "nothing is fetched");
	refuses("{'$dynamicRef':'#nowhere'}", "/$dynamicRef", "leads nowhere");
	refuses("{'$defs':{'a':{'$anchor':'x'},'b':{'$anchor':'x'}}}", "/$defs/b/$anchor", "twice");
	refuses("{'$defs':{'a':{'$id':'http://x/y'},'b':{'$id':'http://x/y'}}}", "/$defs/b/$id",
		"two schemas");
	refuses("{'$schema':'http://json-schema.org/draft-03/schema#'}", "/$schema", "not known here");
	refuses("{'$schema':5}", "/$schema", "must be a string");
}

static void
a_reference_that_leads_back_is_refused(void **state)
{
	(void)state;
	refuses("{'$ref':'#'}", "", "leads back to itself");
	refuses("{'allOf':[{'anyOf':[{'$ref':'#'}]}]}", "", "leads back to itself");
	refuses("{'$defs':{'a':{'$ref':'#/$defs/b'},'b':{'not':{'$ref':'#/$defs/a'}}}}", "/$defs/a",
		"leads back to itself");
	refuses("{'if':true,'then':{'$ref':'#'}}", "", "leads back to itself");
	SAYS("{'properties':{'a':{'$ref':'#'}},'required':['b']}", "{'b':1,'a':{}}", "/a/b is required\n");
}

static void
a_dynamic_reference_that_leads_back_ends(void **state)
{
	UNIT(u);
	struct schema *s = NULL;
	struct schema_issues issues = { .count = 77 };

	(void)state;
	/* Each by itself is harmless; together, the outer anchor catches the inner reference for ever. */
	s = compile(&u,
		"{'$id':'http://x/outer','$ref':'inner','$dynamicAnchor':'a','$defs':{'i':{'$id':'inner',"
		"'properties':{},'anyOf':[{'$dynamicRef':'#a'}],'$defs':{'d':{'$dynamicAnchor':'a'}}}}}",
		NULL);
	assert_status(schema_check(&u.cx, s, parse(&u, "1"), &issues), E_TOO_LARGE);
	assert_int_equal(issues.count, 77);
	schema_free(s);
}

/* --- limits --- */

static void
a_long_row_of_references_is_refused(void **state)
{
	UNIT(u);
	struct buf b;
	struct schema *s = NULL;

	(void)state;
	buf_init(&b, &u.arena, MIB);
	buf_add(&b, STR("{'$ref':'#/$defs/0','$defs':{"));
	for (unsigned i = 0; i < 500; i++)
		buf_printf(&b, "'%u':{'$ref':'#/$defs/%u'},", i, i + 1);
	buf_add(&b, STR("'500':true}}"));
	assert_status(schema_new(&u.cx, parse(&u, arena_cstr(&u.arena, buf_str(&b))), NULL, &s), E_INVALID);
	assert_null(s);
}

static void
a_reference_bomb_ends(void **state)
{
	UNIT(u);
	struct buf b;
	struct schema *s;
	struct schema_issues issues;

	(void)state;
	/* Each level asks the next one twice: 2^40 in all. */
	buf_init(&b, &u.arena, MIB);
	buf_add(&b, STR("{'$ref':'#/$defs/0','$defs':{"));
	for (unsigned i = 0; i < 40; i++)
		buf_printf(
			&b, "'%u':{'allOf':[{'$ref':'#/$defs/%u'},{'$ref':'#/$defs/%u'}]},", i, i + 1, i + 1);
	buf_add(&b, STR("'40':true}}"));
	s = compile(&u, arena_cstr(&u.arena, buf_str(&b)), NULL);
	assert_status(schema_check(&u.cx, s, parse(&u, "1"), &issues), E_TOO_LARGE);
	schema_free(s);
}

static void
saying_why_may_run_out_of_steps_but_invalid_stays_invalid(void **state)
{
	UNIT(u);
	struct buf b;
	struct schema *s;
	struct schema_issues issues;

	(void)state;
	/* The answer is known at once (the first branch fails); gathering all reasons is the bomb. */
	buf_init(&b, &u.arena, MIB);
	buf_add(&b, STR("{'allOf':[false,{'$ref':'#/$defs/0'}],'$defs':{"));
	for (unsigned i = 0; i < 40; i++)
		buf_printf(
			&b, "'%u':{'allOf':[{'$ref':'#/$defs/%u'},{'$ref':'#/$defs/%u'}]},", i, i + 1, i + 1);
	buf_add(&b, STR("'40':{'type':'null'}}}"));
	s = compile(&u, arena_cstr(&u.arena, buf_str(&b)), NULL);
	assert_status(schema_check(&u.cx, s, parse(&u, "1"), &issues), OK);
	assert_string_equal(said(&u, &issues), " is not allowed\n must be null\n");
	schema_free(s);
}

/* text, n times, joined by commas, between head and tail */
static const char *
repeated(struct unit *u, const char *head, const char *format, unsigned n, const char *tail)
{
	struct buf b;

	buf_init(&b, &u->arena, 16 * MIB);
	buf_add(&b, str_of(head));
	for (unsigned i = 0; i < n; i++) {
		str one = str_of(format), left;
		if (i)
			buf_add(&b, STR(","));
		while (str_cut(one, '@', &left, &one)) {
			buf_add(&b, left);
			buf_add_int(&b, i);
		}
		buf_add(&b, one);
	}
	buf_add(&b, str_of(tail));
	return arena_cstr(&u->arena, buf_str(&b));
}

static void
too_much_of_anything_is_too_large(void **state)
{
	static const struct {
		const char *head, *one, *tail;
		unsigned count;
	} bombs[] = {
		{ "{'$defs':{", "'@':{'$anchor':'a@'}", "}}", LIMIT_SCHEMA_NAMES + 1 },
		{ "{'$defs':{", "'@':{'$id':'a@'}", "}}", LIMIT_SCHEMA_NAMES + 1 },
		{ "{'patternProperties':{", "'@':true", "}}", LIMIT_SCHEMA_PATTERNS + 1 },
		{ "{'allOf':[", "{'$ref':'#/allOf/8999'}", ",true]}", 9000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++) {
		UNIT(u);
		struct schema *s = NULL;
		const char *text = repeated(&u, bombs[i].head, bombs[i].one, bombs[i].count, bombs[i].tail);

		assert_status(schema_new(&u.cx, parse(&u, text), NULL, &s), E_TOO_LARGE);
		assert_null(s);
	}
}

/* One check uses up what a request may cause, or takes at least so many steps. */
static void
takes_too_much(const char *schema, const char *value, uint64_t least_steps)
{
	UNIT(u);
	struct schema *s = compile(&u, schema, NULL);
	struct schema_issues issues = { .count = 77 };
	uint64_t before = meter_left(&u.cx);
	status done = schema_check(&u.cx, s, parse(&u, value), &issues);

	assert_true(!meter_left(&u.cx) || before - meter_left(&u.cx) >= least_steps);
	if (done == E_TOO_LARGE) {
		assert_int_equal(issues.count, 77);
		assert_int_equal(meter_left(&u.cx), 0);
		assert_non_null(strstr(arena_cstr(&u.arena, u.cx.error.message), "take too much work"));
	}
	schema_free(s);
}

static const char *
letters(struct unit *u, unsigned n)
{
	return repeated(u, "'", "a", n, "'");
}

static void
a_pattern_is_charged_by_text_and_program(void **state)
{
	UNIT(u);
	const char *text = letters(&u, 1000); /* with the commas twice as long */

	(void)state;
	takes_too_much(
		repeated(&u, "{'allOf':[", "{'pattern':'(a|b|,){1,90}@c'}", 150, "]}"), text, UINT64_MAX);
	takes_too_much("{'pattern':'(a|b|,){1,90}c'}", text, (uint64_t)2000 * 90 / 4);
	takes_too_much(repeated(&u, "{'patternProperties':{", "'(a|b){1,90}@c':true", 150, "}}"),
		arena_cstr(&u.arena, arena_printf(&u.arena, "{%s:1}", text)), UINT64_MAX);
}

static void
numbers_are_charged_by_what_they_cost(void **state)
{
	UNIT(u);
	const char *ones = repeated(&u, "[", "1@", 1000, "]");

	(void)state;
	takes_too_much(repeated(&u, "{'items':{'allOf':[", "{'multipleOf':1.0@e-300}", 900, "]}}"), ones,
		UINT64_MAX);
	takes_too_much(
		repeated(&u, "{'items':{'allOf':[", "{'minimum':-@}", 900, "]}}"), ones, 1000u * 900 * 8);
}

static void
a_deep_comparison_is_charged_by_all_that_is_in_it(void **state)
{
	UNIT(u);

	(void)state;
	takes_too_much(repeated(&u, "{'items':{'enum':[", "[[[[1,2,3,@]]]]", 1200, "]}}"),
		repeated(&u, "[", "[[[[1,2,3,1199]]]]", 1200, "]"), UINT64_MAX);
}

static void
uniqueness_in_each_of_many_is_charged(void **state)
{
	UNIT(u);

	(void)state;
	takes_too_much("{'uniqueItems':true,'items':{'uniqueItems':true}}",
		repeated(&u, "[", "[[@],[1,2],[1,3],[1,4],[1,5]]", 3000, "]"), 3000 * 20 * 5);
}

static void
a_budget_is_for_the_whole_request(void **state)
{
	UNIT(u);
	struct schema *s = compile(&u, "{'pattern':'(a|b|,){1,90}c'}", NULL);
	struct json *text = parse(&u, letters(&u, 1000));
	struct schema_issues issues;
	unsigned times = 0;
	status done;

	(void)state;
	do
		done = schema_check(&u.cx, s, text, &issues);
	while (done == OK && ++times < 10000);
	assert_status(done, E_TOO_LARGE);
	assert_true(times > 10);
	schema_free(s);
}

static void
a_schema_that_is_costly_to_compile_is_refused(void **state)
{
	UNIT(u);
	struct schema *s = NULL;
	const char *text = repeated(&u, "{'allOf':[", "{'pattern':'(a{1,90}b{1,90}){9}@'}", 190, "]}");

	(void)state;
	assert_status(schema_new(&u.cx, parse(&u, text), NULL, &s), E_TOO_LARGE);
	assert_null(s);
	assert_non_null(strstr(arena_cstr(&u.arena, u.cx.error.message), "take too much work"));
}

static void
many_references_into_many_definitions_are_found(void **state)
{
	UNIT(u);
	const char *text = repeated(&u, "{'$defs':{'a~b':{'type':'null'},", "'@':{'$ref':'#/$defs/a~0b'}",
		20000, "},'$ref':'#/$defs/19999'}");
	struct schema *s = compile(&u, text, NULL);
	struct schema_issues issues;

	(void)state;
	assert_status(schema_check(&u.cx, s, parse(&u, "1"), &issues), OK);
	assert_string_equal(said(&u, &issues), " must be null\n");
	schema_free(s);
}

static void
large_objects_and_arrays_are_checked(void **state)
{
	UNIT(u);
	const char *object = repeated(&u, "{", "'k@':@", 3000, "}"),
		   *array = repeated(&u, "[", "@", 20000, "]");
	const char *required = repeated(&u, "{'required':[", "'k@'", 3000,
		"],'unevaluatedProperties':false,'$ref':'#/a',"
		"'a':{'patternProperties':{'^k':true}}}");
	struct schema_issues issues;
	struct schema *s = compile(&u, required, NULL);

	(void)state;
	assert_status(schema_check(&u.cx, s, parse(&u, object), &issues), OK);
	assert_int_equal(issues.count, 0);
	assert_status(schema_check(&u.cx, s, parse(&u, "{'k7':1}"), &issues), OK);
	assert_int_equal(issues.count, LIMIT_SCHEMA_ISSUES);
	assert_str(issues.issues[0].path, "/k0");
	schema_free(s);
	s = compile(&u,
		"{'uniqueItems':true,'unevaluatedItems':false,'anyOf':[{'items':true},{'contains':{'const':3}"
		"}]}",
		NULL);
	assert_status(schema_check(&u.cx, s, parse(&u, array), &issues), OK);
	assert_int_equal(issues.count, 0);
	schema_free(s);
}

static void
a_document_is_nested_as_deep_as_the_reader_allows(void **state)
{
	UNIT(u);
	char deep[2 * LIMIT_JSON_DEPTH + 1] = { 0 };
	struct schema *s = compile(&u, "{'type':'array','allOf':[{'items':{'$ref':'#'}}]}", NULL);
	struct schema_issues issues;

	(void)state;
	memset(deep, '[', LIMIT_JSON_DEPTH);
	memset(deep + LIMIT_JSON_DEPTH, ']', LIMIT_JSON_DEPTH);
	assert_status(schema_check(&u.cx, s, parse(&u, deep), &issues), OK);
	assert_int_equal(issues.count, 0);
	schema_free(s);
}

static void
a_schema_nested_too_deeply_is_refused(void **state)
{
	UNIT(u);
	struct json *doc = json_new_object(&u.arena);
	struct schema *s = NULL;

	(void)state;
	for (unsigned i = 0; i < 2 * LIMIT_JSON_DEPTH; i++) {
		struct json *outer = json_new_object(&u.arena);
		json_add_member(outer, STR("not"), doc);
		doc = outer;
	}
	assert_status(schema_new(&u.cx, doc, NULL, &s), E_INVALID);
	assert_null(s);
}

static void
a_uri_has_a_longest_length(void **state)
{
	UNIT(u);
	char uri[LIMIT_URI_BYTES + 2];
	struct json *doc = json_new_object(&u.arena);
	struct schema *s = NULL;

	(void)state;
	memset(uri, 'a', sizeof(uri));
	json_add_member(doc, STR("$ref"), json_new_string(&u.arena, (str){ uri, sizeof(uri) }));
	assert_status(schema_new(&u.cx, doc, NULL, &s), E_INVALID);
	assert_null(s);
}

static void
memory_has_a_cap(void **state)
{
	struct arena small;
	struct ctx cx;
	struct schema_issues issues = { .count = 77 };
	UNIT(u);
	struct schema *s = compile(&u, "{'type':'null'}", NULL);

	(void)state;
	arena_init(&small, 64);
	ctx_init(&cx, &small);
	assert_status(schema_check(&cx, s, parse(&u, "1"), &issues), E_TOO_LARGE);
	assert_int_equal(issues.count, 77);
	arena_done(&small);
	schema_free(s);
}

/* --- documents, dialects, formats --- */

static void
documents_given_are_found_and_no_others(void **state)
{
	UNIT(u);
	struct schema_document documents[] = {
		{ STR("http://example.com/a/b.json"), parse(&u, "{'$defs':{'x':{'$ref':'c.json#here'}}}") },
		{ STR("http://example.com/a/c.json"),
			parse(&u, "{'$defs':{'y':{'$anchor':'here','type':'null'}}}") },
		{ STR("local.json"), parse(&u, "{'type':'boolean'}") },
	};
	struct schema_options options = { .documents = documents, .document_count = 3 };
	struct schema *s = NULL;

	(void)state;
	assert_string_equal(check_with(&u, "{'$ref':'http://example.com/a/b.json#/$defs/x'}", "1", &options),
		" must be null\n");
	assert_string_equal(
		check_with(&u, "{'$ref':'http://example.com/q/../a/./b.json#/$defs/x'}", "null", &options),
		"");
	assert_string_equal(
		check_with(&u, "{'$ref':'local.json'}", "1", &options), " must be true or false\n");
	assert_status(schema_new(&u.cx, parse(&u, "{'$ref':'other.json'}"), &options, &s), E_INVALID);
	assert_null(s);
}

static void
the_schema_outlives_its_document(void **state)
{
	UNIT(u);
	struct schema *s;
	struct schema_issues issues;

	(void)state;
	{
		UNIT(gone);
		s = compile(&gone, "{'enum':['a','b'],'properties':{'x':{'pattern':'^x'}}}", NULL);
	}
	assert_status(schema_check(&u.cx, s, parse(&u, "1"), &issues), OK);
	assert_string_equal(said(&u, &issues), " must be one of: \"a\", \"b\"\n");
	schema_free(s);
	schema_free(NULL);
}

static void
the_meta_schema_is_built_in_and_agrees_with_the_compiler(void **state)
{
	static const char *const wrong[] = { "{'type':1}", "{'minLength':-1}", "{'required':['a','a']}",
		"{'$id':'a#b'}", "{'$anchor':'1'}", "{'allOf':[]}", "{'items':[]}", "{'properties':{'a':1}}",
		"{'$defs':[]}", "{'examples':1}", "{'dependencies':{'a':1}}", "{'contentSchema':1}",
		"{'unevaluatedItems':1}", "{'multipleOf':0}", "{'$vocabulary':{'http://a/':1}}", "5" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		UNIT(u);
		struct schema *s = NULL;

		if (!*check_with(&u, "{'$ref':'" META "'}", wrong[i], NULL))
			print_error("the meta-schema takes %s\n", wrong[i]);
		assert_true(*check_with(&u, "{'$ref':'" META "'}", wrong[i], NULL));
		assert_status(schema_new(&u.cx, parse(&u, wrong[i]), NULL, &s), E_INVALID);
	}
	SAYS("{'$ref':'" META "'}", "{'type':'object','properties':{'a':{'minLength':3}},'x-own':5}", "");
}

static void
a_dialect_of_ones_own_is_obeyed(void **state)
{
	UNIT(u);
	struct schema_document documents[] = {
		{ STR("http://x/meta"),
			parse(&u, "{'$id':'http://x/meta','$dynamicAnchor':'meta','$vocabulary':{"
				  "'https://json-schema.org/draft/2020-12/vocab/validation':true,"
				  "'http://x/unknown':false},'required':['title']}") },
		{ STR("http://x/needs"), parse(&u, "{'$vocabulary':{'http://x/unknown':true}}") },
		{ STR("http://x/plain"), parse(&u, "{'type':'object'}") },
	};
	struct schema_options options = { .documents = documents, .document_count = 3 };
	struct schema *s = NULL;

	(void)state;
	assert_string_equal(check_with(&u, "{'$schema':'http://x/meta','title':'','type':'null','not':true}",
				    "1", &options),
		" must be null\n");
	assert_string_equal(
		check_with(&u, "{'$schema':'http://x/plain','not':{'type':'null'}}", "1", &options), "");
	assert_status(schema_new(&u.cx, parse(&u, "{'$schema':'http://x/meta'}"), &options, &s), E_INVALID);
	assert_str(u.cx.error.issues[0].path, "/title");
	assert_str(u.cx.error.issues[0].message, "is required");
	ctx_clear(&u.cx);
	assert_status(schema_new(&u.cx, parse(&u, "{'$schema':'http://x/needs'}"), &options, &s), E_INVALID);
	assert_null(s);
}

static void
older_drafts_are_read_as_this_one(void **state)
{
	(void)state;
	SAYS("{'$schema':'http://json-schema.org/draft-07/schema#','definitions':{'a':{'type':'null'}},"
	     "'properties':{'x':{'$ref':'#/definitions/a'}}}",
		"{'x':1}", "/x must be null\n");
}

static void
formats_are_asserted_only_where_asked(void **state)
{
	struct schema_options options = { .assert_format = true };
	UNIT(u);

	(void)state;
	SAYS("{'format':'ipv4'}", "'x'", "");
	assert_string_equal(check_with(&u, "{'format':'ipv4'}", "'x'", &options), " must be a valid ipv4\n");
	assert_string_equal(check_with(&u, "{'format':'ipv4'}", "'127.0.0.1'", &options), "");
	assert_string_equal(check_with(&u, "{'format':'of-my-own'}", "'x'", &options), "");
	assert_string_equal(check_with(&u, "{'format':'regex'}", "'(?=x)'", &options), "");
	assert_string_equal(check_with(&u, "{'format':'email'}", "'a@[IPv6:::1]'", &options), "");
	assert_string_equal(
		check_with(&u, "{'format':'email'}", "'a@[1.2.3.4'", &options), " must be a valid email\n");
	assert_string_equal(check_with(&u, "{'format':'uri'}", "'http://[v1.a:b]:80/'", &options), "");
	assert_string_equal(
		check_with(&u, "{'format':'uri'}", "'http://[vx.a]/'", &options), " must be a valid uri\n");
}

static void
formats_of_hosts_and_uris_are_exact(void **state)
{
	static const struct {
		const char *format, *yes, *no;
	} cases[] = {
		{ "hostname", "XN--LL-0EA.de", "xn--ll-0e\xc3\xa9" },
		{ "hostname", "a-b.c",
			"b\xc3\xbc"
			"cher.de" },
		{ "idn-hostname",
			"b\xc3\xbc"
			"cher.de",
			"B\xc3\x9c"
			"CHER.de" },
		{ "idn-hostname",
			"b\xc3\xbc"
			"cher\xe3\x80\x82"
			"de",
			"-b\xc3\xbc" },
		{ "idn-hostname", "x", "b\xc3\xbc\xe3\x80\x82-a" },
		{ "idn-hostname", "x", "a\\u0000\xc3\xbc" },
		{ "idn-email", "\xc3\xbc@b\xc3\xbc.de", "\xc3\xbc@b_\xc3\xbc.de" },
		{ "email", "\\\"a\\\\\\\"@b\\\"@c.de", "\\\"a\\\"b\\\"@c.de" },
		{ "email", "a@[IPv6:::1]", "a@[::1]" },
		{ "uri", "a:/b", "a:/[b]" },
		{ "uri", "a://b:80", "a://b:x" },
		{ "uri", "a://[::1]:80/", "a://[::1::]/" },
		{ "uri", "urn:a:b?c#d", "urn:a#b#c" },
		{ "uri-reference", "//a@b", "1a:b" },
		{ "uri-reference", "a/b:c", "a b" },
		{ "ipv6", "::ffff:1.2.3.4", "::ffff:1.2.3.256" },
		{ "ipv6", "::", "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000" },
		{ "time", "23:59:60Z", "22:59:60Z" },
		{ "time", "01:29:60.5+01:30", "01:29:60-01:30" },
		{ "date-time", "2024-02-29t23:59:60z", "2023-02-29t23:59:60z" },
		{ "duration", "P1Y2M3DT4H5M6S", "P1Y3D" },
	};
	struct schema_options options = { .assert_format = true };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		UNIT(u);
		const char *schema = arena_printf(&u.arena, "{'format':'%s'}", cases[i].format).ptr;

		if (*check_quoted(&u, schema, cases[i].yes, &options) ||
			!*check_quoted(&u, schema, cases[i].no, &options)) {
			print_error("%s: %s, %s\n", cases[i].format, cases[i].yes, cases[i].no);
			assert_true(false);
		}
	}
}

/* A name of many labels is refused at the 253rd byte, a long label at the 64th. */
static void
a_long_name_is_no_host(void **state)
{
	struct schema_options options = { .assert_format = true };
	char text[300];
	UNIT(u);

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 2 ? '.' : 'a';
	text[253] = '\0';
	assert_string_equal(check_quoted(&u, "{'format':'hostname'}", text, &options), "");
	text[253] = '.';
	text[255] = '\0';
	assert_string_not_equal(check_quoted(&u, "{'format':'hostname'}", text, &options), "");
	memset(text, 'a', 64);
	text[64] = '\0';
	assert_string_not_equal(check_quoted(&u, "{'format':'hostname'}", text, &options), "");
	text[63] = '\0';
	assert_string_equal(check_quoted(&u, "{'format':'hostname'}", text, &options), "");
	for (size_t i = 0; i < 298; i += 2)
		memcpy(text + i, "\xc3\xbc", 3);
	assert_string_not_equal(check_quoted(&u, "{'format':'idn-hostname'}", text, &options), "");
	memset(text, 'a', 65);
	memcpy(text + 65, "@b.de", 6);
	assert_string_not_equal(check_quoted(&u, "{'format':'email'}", text, &options), "");
}

/* --- threads --- */

#define THREADS 4
#define ROUNDS	200

struct shared {
	const struct schema *schema;
	bool good;
};

static void *
check_often(void *arg)
{
	struct shared *shared = arg;

	shared->good = true;
	for (int i = 0; i < ROUNDS; i++) {
		UNIT(u);
		struct schema_issues issues;
		struct json *doc;

		if (json_parse(&u.cx,
			    STR("[\"x1\",\"y\",{\"h\":\"b\xc3\xbc"
				"cher.de\",\"z\":1}]"),
			    &doc) != OK ||
			schema_check(&u.cx, shared->schema, doc, &issues) != OK)
			shared->good = false;
		else if (strcmp(said(&u, &issues),
				 "/1 must match the pattern \"^x\"\n/2/z is not a known property\n") != 0)
			shared->good = false;
	}
	return NULL;
}

static void
threads_share_one_schema(void **state)
{
	struct schema_options options = { .assert_format = true };
	UNIT(u);
	struct schema *s = compile(&u,
		"{'items':{'type':['string','object'],'pattern':'^x','unevaluatedProperties':false,"
		"'allOf':[{'properties':{'h':{'format':'idn-hostname'}}}]}}",
		&options);
	struct shared shared[THREADS];
	pthread_t threads[THREADS];

	(void)state;
	for (size_t i = 0; i < THREADS; i++) {
		shared[i] = (struct shared){ .schema = s };
		assert_int_equal(pthread_create(&threads[i], NULL, check_often, &shared[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (size_t i = 0; i < THREADS; i++)
		assert_true(shared[i].good);
	schema_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(issues_are_sentences_about_one_place),
		cmocka_unit_test(members_are_reported_one_by_one),
		cmocka_unit_test(the_same_issue_is_said_once),
		cmocka_unit_test(many_names_and_values_are_cut_short),
		cmocka_unit_test(the_branch_that_came_closest_speaks),
		cmocka_unit_test(then_and_else_follow_if),
		cmocka_unit_test(there_are_at_most_so_many_issues),
		cmocka_unit_test(numbers_are_compared_exactly),
		cmocka_unit_test(items_are_the_same_whatever_their_spelling),
		cmocka_unit_test(an_invalid_schema_is_refused_with_its_place),
		cmocka_unit_test(a_reference_that_leads_back_is_refused),
		cmocka_unit_test(a_dynamic_reference_that_leads_back_ends),
		cmocka_unit_test(a_long_row_of_references_is_refused),
		cmocka_unit_test(a_reference_bomb_ends),
		cmocka_unit_test(saying_why_may_run_out_of_steps_but_invalid_stays_invalid),
		cmocka_unit_test(too_much_of_anything_is_too_large),
		cmocka_unit_test(a_pattern_is_charged_by_text_and_program),
		cmocka_unit_test(numbers_are_charged_by_what_they_cost),
		cmocka_unit_test(a_deep_comparison_is_charged_by_all_that_is_in_it),
		cmocka_unit_test(uniqueness_in_each_of_many_is_charged),
		cmocka_unit_test(a_budget_is_for_the_whole_request),
		cmocka_unit_test(a_schema_that_is_costly_to_compile_is_refused),
		cmocka_unit_test(many_references_into_many_definitions_are_found),
		cmocka_unit_test(large_objects_and_arrays_are_checked),
		cmocka_unit_test(a_document_is_nested_as_deep_as_the_reader_allows),
		cmocka_unit_test(a_schema_nested_too_deeply_is_refused),
		cmocka_unit_test(a_uri_has_a_longest_length),
		cmocka_unit_test(memory_has_a_cap),
		cmocka_unit_test(documents_given_are_found_and_no_others),
		cmocka_unit_test(the_schema_outlives_its_document),
		cmocka_unit_test(the_meta_schema_is_built_in_and_agrees_with_the_compiler),
		cmocka_unit_test(a_dialect_of_ones_own_is_obeyed),
		cmocka_unit_test(older_drafts_are_read_as_this_one),
		cmocka_unit_test(formats_are_asserted_only_where_asked),
		cmocka_unit_test(formats_of_hosts_and_uris_are_exact),
		cmocka_unit_test(a_long_name_is_no_host),
		cmocka_unit_test(threads_share_one_schema),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
