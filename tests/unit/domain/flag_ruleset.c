/* SPDX-License-Identifier: Apache-2.0 */
/* What is refused when a ruleset is saved, previewed or proposed (FL-3). */
#include "tests/unit/domain/flag.h"

#include <stdio.h>

/* The document is refused, and the first issue is this one. */
static void
assert_refused(struct unit *u, const char *text, const char *path, const char *message)
{
	struct ruleset *rs = NULL;
	struct issue first;
	status done = ruleset_compile(&u->cx, document(u, text), &rs);

	assert_null(rs);
	if (done != E_INVALID)
		not_so("%s: %s", text, status_info(done)->name);
	assert_true(u->cx.error.issue_count > 0);
	first = u->cx.error.issues[0];
	if (!str_eq(first.path, str_of(path)) || !str_starts(first.message, str_of(message)))
		not_so("%s: %.*s %.*s", text, STR_ARG(first.path), STR_ARG(first.message));
}

/* The same for a condition; path is below it. */
static void
assert_condition(struct unit *u, const char *condition, const char *path, const char *message)
{
	char text[600], whole[300];

	(void)snprintf(text, sizeof(text),
		"{'flags':{'f':{'type':'boolean','defaultValue':false,'rules':[{'if':%s,'value':true}]}},"
		"'segments':{'s':{}}}",
		condition);
	(void)snprintf(whole, sizeof(whole), "/flags/f/rules/0/if%s", path);
	assert_refused(u, text, whole, message);
}

/* --- the document (FL-3) --- */

static void
an_empty_document_is_a_ruleset(void **state)
{
	UNIT(u);
	struct ruleset *rs = compiled(&u, "{}");

	(void)state;
	assert_int_equal(ruleset_count(rs), 0);
	assert_null(ruleset_find(rs, STR("")));
	ruleset_free(rs);
	ruleset_free(NULL);
}

static void
what_is_not_part_of_a_ruleset_is_refused(void **state)
{
	static const char *const rows[][3] = {
		{ "[]", "", "must be an object" },
		{ "{'flag':{}}", "/flag",
			"is not a known member; known are: targetField, flags, configs, segments" },
		{ "{'flags':[]}", "/flags", "must be an object" },
		{ "{'targetField':7}", "/targetField", "must be a string" },
		{ "{'targetField':''}", "/targetField", "must be a name of 1 to 8 steps" },
		{ "{'targetField':'a.b.c.d.e.f.g.h.i'}", "/targetField", "must be a name of 1 to 8 steps" },
		{ "{'targetField':'a\\u0000b'}", "/targetField", "must not have the character U+0000" },
		{ "{'flags':{'f':7}}", "/flags/f", "must be an object" },
		{ "{'flags':{'f':{}}}", "/flags/f/type", "is missing" },
		{ "{'flags':{'f':{'type':'boolean'}}}", "/flags/f/defaultValue", "is missing" },
		{ "{'flags':{'f':{'type':7,'defaultValue':7}}}", "/flags/f/type", "must be a string" },
		{ "{'flags':{'f':{'type':'number','defaultValue':7}}}", "/flags/f/type",
			"must be boolean or string" },
		{ "{'configs':{'f':{'type':'int','defaultValue':7}}}", "/configs/f/type",
			"must be boolean, string, number or json" },
		{ "{'flags':{'f':{'type':'boolean','defaultValue':true,'schema':{}}}}", "/flags/f/schema",
			"is not a known member" },
		{ "{'flags':{'f':{'type':'boolean','defaultValue':true,'rules':{}}}}", "/flags/f/rules",
			"must be an array" },
		{ "{'flags':{'f':{'type':'boolean','defaultValue':true,'rules':[7]}}}", "/flags/f/rules/0",
			"must be an object" },
		{ "{'flags':{'f':{'type':'boolean','defaultValue':true,'rules':[{'iff':{},'value':true}]}}}",
			"/flags/f/rules/0/iff",
			"is not a known member; known are: if, description, value, rolloutPercent, salt" },
		{ "{'flags':{'f':{'type':'boolean','defaultValue':true,'rules':[{}]}}}",
			"/flags/f/rules/0/value", "is missing" },
		{ "{'flags':{'f':{'type':'boolean','defaultValue':true,'description':'\\u0000'}}}",
			"/flags/f/description", "must not have" },
		{ "{'segments':{'s':{'rules':[{'value':1}]}}}", "/segments/s/rules/0/value",
			"is not a known member; known are: if, description" },
		{ "{'segments':{'s':{'allowList':'x'}}}", "/segments/s/allowList", "must be an array" },
		{ "{'segments':{'s':{'allowList':['x','']}}}", "/segments/s/allowList/1",
			"must be the id of a target" },
		{ "{'segments':{'s':{'denyList':[1.5]}}}", "/segments/s/denyList/0",
			"must be the id of a target" },
		{ "{'segments':{'s':{'denyList':[1e17]}}}", "/segments/s/denyList/0",
			"must be the id of a target" },
		{ "{'segments':{'s':{'denyList':['\\u0000']}}}", "/segments/s/denyList/0", "must not have" },
		{ "{'segments':{'':{}}}", "/segments/", "is not a key" },
		{ "{'flags':{'a/b':{'type':'boolean','defaultValue':true}}}", "/flags/a~1b", "is not a key" },
		{ "{'flags':{'.a':{'type':'boolean','defaultValue':true}}}", "/flags/.a", "is not a key" },
		{ "{'flags':{'a\\u0000':{'type':'boolean','defaultValue':true}}}", "/flags/a\0",
			"is not a key" },
		{ "{'flags':{'x':{'type':'boolean','defaultValue':true}},"
		  "'configs':{'x':{'type':'number','defaultValue':1}}}",
			"/configs/x", "is a flag and a config; the two share their names" },
	};
	UNIT(u);

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (!strstr(rows[i][0], "'a\\u0000'"))
			assert_refused(&u, rows[i][0], rows[i][1], rows[i][2]);
	assert_status(ruleset_compile(
			      &u.cx, document(&u, "{'flags':{'a\\u0000':{}}}"), &(struct ruleset *){ NULL }),
		E_INVALID);
}

static void
values_have_the_type_of_their_flag(void **state)
{
	static const char *const rows[][4] = {
		{ "flags", "boolean", "'true'", "must be a boolean, as the type of the flag says" },
		{ "flags", "boolean", "null", "must be a boolean" },
		{ "flags", "string", "1", "must be a string" },
		{ "configs", "number", "'1'", "must be a number, as the type of the config says" },
		{ "configs", "number", "null", "must be a number" },
		{ "configs", "number", "1e309", "is a number too large" },
		{ "configs", "number", "-1e999999", "is a number too large" },
		{ "configs", "string", "'a\\u0000'", "must not have the character U+0000" },
		{ "configs", "boolean", "0", "must be a boolean" },
	};
	UNIT(u);
	char text[400], path[100];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		(void)snprintf(text, sizeof(text), "{'%s':{'f':{'type':'%s','defaultValue':%s}}}", rows[i][0],
			rows[i][1], rows[i][2]);
		(void)snprintf(path, sizeof(path), "/%s/f/defaultValue", rows[i][0]);
		assert_refused(&u, text, path, rows[i][3]);
		(void)snprintf(text, sizeof(text),
			"{'%s':{'f':{'type':'%s','defaultValue':%s,'rules':[{'value':%s}]}}}", rows[i][0],
			rows[i][1],
			strcmp(rows[i][1], "boolean") == 0  ? "true"
			: strcmp(rows[i][1], "number") == 0 ? "1"
							    : "''",
			rows[i][2]);
		(void)snprintf(path, sizeof(path), "/%s/f/rules/0/value", rows[i][0]);
		assert_refused(&u, text, path, rows[i][3]);
	}
	assert_refused(&u, "{'configs':{'c':{'type':'json','defaultValue':{'a':[1,{'b':1e309}]}}}}",
		"/configs/c/defaultValue/a/1/b", "is a number too large");
	assert_refused(&u, "{'configs':{'c':{'type':'json','defaultValue':['\\u0000']}}}",
		"/configs/c/defaultValue/0", "must not have");
}

/* A json config's values, default and rules, against its schema, with the validator's own sentences. */
static void
configs_are_held_to_their_schema(void **state)
{
	UNIT(u);

	(void)state;
	assert_refused(&u,
		"{'configs':{'c':{'type':'json','schema':{'type':'object','properties':{'n':{'minimum':1}}},"
		"'defaultValue':{'n':1},'rules':[{'value':{'n':0}}]}}}",
		"/configs/c/rules/0/value/n", "must be at least 1");
	assert_refused(&u, "{'configs':{'c':{'type':'number','schema':{'maximum':5},'defaultValue':6}}}",
		"/configs/c/defaultValue", "must be at most 5");
	assert_refused(&u, "{'configs':{'c':{'type':'json','schema':{'type':'objekt'},'defaultValue':6}}}",
		"/configs/c/schema/type", "");
	assert_refused(
		&u, "{'configs':{'c':{'type':'json','schema':7,'defaultValue':6}}}", "/configs/c/schema", "");
	ruleset_free(compiled(&u,
		"{'configs':{'c':{'type':'json','schema':{'type':['object','null']},'defaultValue':null}}}"));
}

/* --- conditions (FL-2, FL-3) --- */

static void
conditions_that_say_nothing_are_refused(void **state)
{
	static const char *const rows[][3] = {
		{ "{}", "", "has no operator; known are: $equals, $notEquals" },
		{ "{'field':'x'}", "", "has no operator" },
		{ "{'$equals':1}", "/field", "must be the name of a field" },
		{ "{'field':7,'$equals':1}", "/field", "must be the name of a field" },
		{ "{'field':'','$equals':1}", "/field", "must be a name of" },
		{ "{'field':'x','$like':'a'}", "/$like", "is not a known operator; known are: $equals" },
		{ "{'field':'x','equals':'a'}", "/equals", "is not a known member" },
		{ "{'field':'x','$gt':1,'$lt':5}", "",
			"has two operators, $gt and $lt; join two conditions" },
		{ "{'$and':[]}", "/$and", "must be an array of at least one condition" },
		{ "{'$or':{}}", "/$or", "must be an array of at least one condition" },
		{ "{'$and':[7]}", "/$and/0", "must be a condition: an object" },
		{ "{'$not':[]}", "/$not", "must be a condition: an object" },
		{ "{'field':'x','$not':{'field':'x','$exists':true}}", "/field",
			"does not belong beside $not" },
		{ "{'$and':[{'field':'x','$exists':true},{'$or':[{'$not':{'field':'x','$matches':'('}}]}]}",
			"/$and/1/$or/0/$not/$matches", "not a pattern that RE2 takes: missing )" },
		{ "{'field':'x','$segment':'s'}", "/field", "does not belong beside $segment" },
		{ "{'$segment':'t'}", "/$segment", "there is no segment called \"t\"" },
		{ "{'$segment':['s']}", "/$segment", "must be the key of a segment" },
	};
	UNIT(u);

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_condition(&u, rows[i][0], rows[i][1], rows[i][2]);
}

static void
comparands_that_cannot_work_are_refused(void **state)
{
	static const char *const rows[][3] = {
		{ "$equals", "null", "must not be null; ask with $exists" },
		{ "$equals", "[1]", "must be a string, a number or a boolean" },
		{ "$notEquals", "{}", "must be a string, a number or a boolean" },
		{ "$equals", "1e309", "is a number too large" },
		{ "$equals", "'a\\u0000b'", "must not have the character U+0000" },
		{ "$in", "'a'", "must be an array" },
		{ "$gt", "true", "must be a number or a string" },
		{ "$lte", "-1e400", "is a number too large" },
		{ "$startsWith", "1", "must be a string" },
		{ "$endsWith", "''", "must not be empty" },
		{ "$contains", "['a']", "must be a string" },
		{ "$matches", "7", "must be a string" },
		{ "$matches", "'(?=a)'", "not a pattern that RE2 takes" },
		{ "$matches", "'(((a{100}){100}){100})'", "not a pattern that RE2 takes" },
		{ "$matches", "'a{900}|b{900}'", "is too much work: the pattern has" },
		{ "$exists", "1", "must be true or false" },
		{ "$semverEq", "'1.2'", "must be a version such as 1.2.3" },
		{ "$semverGt", "1", "must be a string" },
		{ "$cidr", "'10.0.0.0/33'", "must be an address or a block" },
		{ "$cidr", "7", "must be an address or a block" },
		{ "$cidr", "[]", "must be a block or an array" },
		{ "$before", "'tomorrow'", "must be a time such as" },
		{ "$after", "'2026-02-30T00:00:00Z'", "must be a time such as" },
		{ "$after", "1", "must be a time such as" },
		{ "$numEq", "'5'", "must be a number" },
		{ "$numGt", "1e309", "is a number too large" },
		{ "$bucket", "50", "must be an object" },
	};
	UNIT(u);
	char condition[200], path[40];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		(void)snprintf(condition, sizeof(condition), "{'field':'x','%s':%s}", rows[i][0], rows[i][1]);
		(void)snprintf(path, sizeof(path), "/%s", rows[i][0]);
		assert_condition(&u, condition, path, rows[i][2]);
	}
	assert_condition(&u, "{'field':'x','$in':['a',null]}", "/$in/1", "must not be null");
	assert_condition(
		&u, "{'field':'x','$cidr':['::1','x']}", "/$cidr/1", "must be an address or a block");
	assert_condition(&u, "{'field':'x','$bucket':{'of':100}}", "/$bucket/below", "is missing");
	assert_condition(&u, "{'field':'x','$bucket':{'of':0,'below':0}}", "/$bucket/of",
		"must be an integer from 1 to 2147483647");
	assert_condition(&u, "{'field':'x','$bucket':{'of':10,'below':11}}", "/$bucket/below",
		"must be an integer from 0 to 10");
	assert_condition(&u, "{'field':'x','$bucket':{'of':10,'below':1,'seed':4294967296}}", "/$bucket/seed",
		"must be an integer from 0 to 4294967295");
	assert_condition(&u, "{'field':'x','$bucket':{'of':10,'below':1,'method':'sha'}}", "/$bucket/method",
		"must be modulo or scale");
	assert_condition(&u, "{'field':'x','$bucket':{'of':10,'below':1,'salt':'x'}}", "/$bucket/salt",
		"is not a known member");
}

static void
percents_are_from_0_to_100_in_thousandths(void **state)
{
	static const char *const wrong[] = { "-1", "-0.001", "100.001", "101", "1e3", "0.0001", "33.3333",
		"1e309", "1e-300" };
	static const char *const right[] = { "0", "-0", "0.001", "1e2", "100.0000", "33.333", "5e-3" };
	UNIT(u);
	char text[300];

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		(void)snprintf(text, sizeof(text),
			"{'flags':{'f':{'type':'boolean','defaultValue':true,'rules':[{'value':true,'"
			"rolloutPercent':%s}]}}}",
			wrong[i]);
		assert_refused(&u, text, "/flags/f/rules/0/rolloutPercent", "must be from 0 to 100");
	}
	for (size_t i = 0; i < COUNT(right); i++) {
		(void)snprintf(text, sizeof(text),
			"{'flags':{'f':{'type':'boolean','defaultValue':true,'rules':[{'value':true,'"
			"rolloutPercent':%s,"
			"'salt':''}]}}}",
			right[i]);
		ruleset_free(compiled(&u, text));
	}
	assert_refused(&u,
		"{'flags':{'f':{'type':'boolean','defaultValue':true,'rules':[{'value':true,'salt':'a/"
		"b'}]}}}",
		"/flags/f/rules/0/salt", "must have 1 to 200 letters");
}

/* --- segments --- */

static void
a_circle_of_segments_is_named(void **state)
{
	UNIT(u);

	(void)state;
	assert_refused(&u, "{'segments':{'a':{'rules':[{'if':{'$segment':'a'}}]}}}", "/segments/a",
		"the segments go round in a circle: a -> a");
	assert_refused(&u,
		"{'segments':{'x':{'rules':[{'if':{'$segment':'a'}}]},"
		"'a':{'rules':[{'if':{'$not':{'$segment':'b'}}}]},"
		"'b':{'rules':[{},{'if':{'$or':[{'field':'f','$exists':true},{'$segment':'c'}]}}]},"
		"'c':{'rules':[{'if':{'$segment':'a'}}]}}}",
		"/segments/a", "the segments go round in a circle: a -> b -> c -> a");
	/* two ways to one segment are no circle */
	ruleset_free(compiled(&u,
		"{'segments':{'a':{'rules':[{'if':{'$segment':'b'}},{'if':{'$segment':'c'}}]},"
		"'b':{'rules':[{'if':{'$segment':'d'}}]},'c':{'rules':[{'if':{'$segment':'d'}}]},'d':{}}}"));
}

/* A chain of n segments, the deepest first or last. */
static const char *
chain(struct unit *u, unsigned n, bool deepest_first, bool closed)
{
	struct buf b;

	buf_init(&b, &u->arena, MIB);
	buf_add(&b, STR("{'segments':{"));
	for (unsigned i = 0; i < n; i++) {
		unsigned at = deepest_first ? n - 1 - i : i;

		if (at + 1 < n || closed)
			buf_printf(&b, "%s's%u':{'rules':[{'if':{'$segment':'s%u'}}]}", i ? "," : "", at,
				(at + 1) % n);
		else
			buf_printf(&b, "%s's%u':{}", i ? "," : "", at);
	}
	buf_add(&b, STR("}}"));
	return arena_cstr(&u->arena, buf_str(&b));
}

static void
segments_in_segments_have_a_depth(void **state)
{
	UNIT(u);
	struct ruleset *rs = NULL;

	(void)state;
	for (unsigned first = 0; first < 2; first++) {
		ruleset_free(compiled(&u, chain(&u, LIMIT_SEGMENT_DEPTH, first, false)));
		assert_status(ruleset_compile(&u.cx,
				      document(&u, chain(&u, LIMIT_SEGMENT_DEPTH + 1, first, false)), &rs),
			E_INVALID);
		assert_non_null(strstr(
			arena_cstr(&u.arena, u.cx.error.issues[0].message), "in a chain of more than 16"));
		/* the longest chain there can be, and a circle of it: the stack holds */
		assert_status(ruleset_compile(&u.cx,
				      document(&u, chain(&u, LIMIT_RULESET_SEGMENTS, first, true)), &rs),
			E_INVALID);
	}
	assert_refused(
		&u, chain(&u, LIMIT_RULESET_SEGMENTS + 1, false, false), "", "has more than 1000 segments");
}

/* --- sizes (FL-3) --- */

/* before, n times one with its number for each #, after. */
static const char *
many(struct unit *u, const char *before, const char *one, unsigned n, const char *after)
{
	struct buf b;

	buf_init(&b, &u->arena, 16 * MIB);
	buf_add(&b, str_of(before));
	for (unsigned i = 0; i < n; i++) {
		str head, tail = str_of(one);

		if (i)
			buf_add_char(&b, ',');
		while (str_cut(tail, '#', &head, &tail)) {
			buf_add(&b, head);
			buf_printf(&b, "%u", i);
		}
		buf_add(&b, tail);
	}
	buf_add(&b, str_of(after));
	return arena_cstr(&u->arena, buf_str(&b));
}

#define FLAG "{'flags':{'f':{'type':'boolean','defaultValue':false,'rules':["
#define LEAF "{'field':'x','$exists':true}"

static void
what_is_too_many_is_refused_at_its_place(void **state)
{
	UNIT(u);

	(void)state;
	assert_refused(&u, many(&u, FLAG, "{'value':true}", LIMIT_FLAG_RULES + 1, "]}}}"), "/flags/f/rules",
		"has more than 200 rules");
	assert_refused(&u,
		many(&u, FLAG "{'value':true,'if':{'$or':[", LEAF, LIMIT_FLAG_CONDITIONS + 1, "]}}]}}}"),
		"/flags/f/rules/0/if/$or", "has more than 1000 conditions");
	assert_refused(&u,
		many(&u, FLAG "{'value':true,'if':{'$or':[", LEAF, LIMIT_FLAG_CONDITIONS, "]}}]}}}"),
		"/flags/f/rules/0/if/$or/999", "is one condition too many");
	ruleset_free(compiled(&u,
		many(&u, FLAG "{'value':true,'if':{'$or':[", LEAF, LIMIT_FLAG_CONDITIONS - 1, "]}}]}}}")));
	assert_refused(&u,
		many(&u, FLAG "{'value':true,'if':{'field':'x','$cidr':[", "'10.0.0.#'",
			LIMIT_FLAG_BLOCKS + 1, "]}}]}}}"),
		"/flags/f/rules/0/if/$cidr", "must be a block or an array of 1 to 1000 blocks");
}

/* More flags, or more ids in a list, than one document holds. */
static void
what_is_too_many_in_all_is_refused(void **state)
{
	static const struct {
		const char *before, *one, *after, *path, *message;
		unsigned n;
	} rows[] = {
		{ "{\"flags\":{", "\"f#\":1", "}}", "", "has more than 20000 flags and configs",
			LIMIT_RULESET_ITEMS + 1 },
		{ "{\"segments\":{\"s\":{\"denyList\":[", "#", "]}}}", "/segments/s/denyList",
			"has more than 100000 entries", LIMIT_FLAG_LIST + 1 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		UNIT(u);
		struct json *doc;
		struct ruleset *rs = NULL;
		str text = str_of(many(&u, rows[i].before, rows[i].one, rows[i].n, rows[i].after));

		assert_status(json_parse_stored(&u.cx, text, &doc), OK);
		assert_status(ruleset_compile(&u.cx, doc, &rs), E_INVALID);
		assert_string_equal(arena_cstr(&u.arena, u.cx.error.issues[0].path), rows[i].path);
		assert_string_equal(arena_cstr(&u.arena, u.cx.error.issues[0].message), rows[i].message);
	}
}

static void
fields_and_patterns_are_counted(void **state)
{
	UNIT(u);

	(void)state;
	assert_refused(&u,
		many(&u, "{'flags':{",
			"'f#':{'type':'boolean','defaultValue':false,'rules':[{'if':{'field':'x','$matches':"
			"'a#'},'value':true}]}",
			LIMIT_RULESET_PATTERNS + 1, "}}"),
		"/flags/f200/rules/0/if/$matches", "is one pattern too many");
	assert_refused(&u,
		many(&u, "{'flags':{",
			"'f#':{'type':'boolean','defaultValue':false,'rules':[{'if':{'field':'x','$matches':"
			"'a{200}b#'},'value':true}]}",
			25, "}}"),
		"/flags/f24/rules/0/if/$matches",
		"is too much work: all patterns together have more than 5000");
	/* the same pattern again costs nothing */
	ruleset_free(compiled(&u,
		many(&u, "{'flags':{",
			"'f#':{'type':'boolean','defaultValue':false,'rules':[{'if':{'field':'x','$matches':"
			"'a'},'value':true}]}",
			LIMIT_RULESET_PATTERNS + 1, "}}")));
	assert_refused(&u,
		many(&u, "{'segments':{", "'s#':{'rules':[{'if':{'field':'x#','$exists':true}}]}",
			LIMIT_RULESET_FIELDS, "},'flags':{}}"),
		"/segments/s999/rules/0/if/field", "is one field too many");
}

static void
conditions_have_a_depth(void **state)
{
	UNIT(u);

	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		struct buf b;
		struct ruleset *rs = NULL;
		const char *text;

		buf_init(&b, &u.arena, MIB);
		buf_add(&b, STR(FLAG "{'value':true,'if':"));
		for (unsigned i = 1; i < LIMIT_CONDITION_DEPTH + more; i++)
			buf_add(&b, STR("{'$not':"));
		buf_add(&b, STR(LEAF));
		for (unsigned i = 1; i < LIMIT_CONDITION_DEPTH + more; i++)
			buf_add_char(&b, '}');
		buf_add(&b, STR("}]}}}"));
		text = arena_cstr(&u.arena, buf_str(&b));
		assert_int_equal(ruleset_compile(&u.cx, document(&u, text), &rs), more ? E_INVALID : OK);
		if (more)
			assert_str(u.cx.error.issues[0].message, "is nested deeper than 16 conditions");
		ruleset_free(rs);
	}
}

static void
texts_and_values_have_a_size(void **state)
{
	UNIT(u);
	char *text = arena_try_bytes(&u.arena, LIMIT_FLAG_VALUE + 200);
	char *end;

	(void)state;
	(void)snprintf(text, 200, "{'configs':{'c':{'type':'string','defaultValue':'");
	end = text + strlen(text);
	memset(end, 'x', LIMIT_FLAG_VALUE);
	memcpy(end + LIMIT_FLAG_VALUE, "'}}}", 5);
	assert_refused(&u, text, "/configs/c/defaultValue", "has more than 65536 bytes");
	memcpy(end + LIMIT_FLAG_VALUE - 2, "'}}}", 5);
	ruleset_free(compiled(&u, text));
	(void)snprintf(text, 200, "{'segments':{'s':{'allowList':['");
	end = text + strlen(text);
	memset(end, 'x', LIMIT_FLAG_TEXT + 1);
	memcpy(end + LIMIT_FLAG_TEXT + 1, "']}}}", 6);
	assert_refused(&u, text, "/segments/s/allowList/0", "has 4097 bytes; at most 4096 are accepted");
	(void)snprintf(text, 200, "{'segments':{'");
	end = text + strlen(text);
	memset(end, 'x', LIMIT_FLAG_KEY + 1);
	memcpy(end + LIMIT_FLAG_KEY + 1, "':{}}}", 7);
	assert_status(ruleset_compile(&u.cx, document(&u, text), &(struct ruleset *){ NULL }), E_INVALID);
}

/* Lists of 100,000 are found in without a walk; one more is refused. */
static void
lists_are_large_and_bounded(void **state)
{
	for (unsigned more = 0; more < 2; more++) {
		UNIT(u);
		struct buf b;
		struct json *doc;
		struct ruleset *rs = NULL;

		(void)state;
		buf_init(&b, &u.arena, 8 * MIB);
		buf_add(&b, STR("{\"flags\":{\"f\":{\"type\":\"boolean\",\"defaultValue\":false,\"rules\":[{"
				"\"value\":true,"
				"\"if\":{\"field\":\"x\",\"$in\":["));
		for (unsigned i = 0; i < LIMIT_FLAG_LIST + more; i++)
			buf_printf(&b, i % 2 ? "%s%u" : "%s\"%u\"", i ? "," : "", i);
		buf_add(&b, STR("]}}]}}}"));
		assert_status(json_parse(&u.cx, buf_str(&b), &doc), E_TOO_LARGE);
		assert_status(json_parse_stored(&u.cx, buf_str(&b), &doc), OK);
		assert_int_equal(ruleset_compile(&u.cx, doc, &rs), more ? E_INVALID : OK);
		if (!more) {
			assert_string_equal(answer(&u, rs, "f", "{'x':'99998'}"), "true");
			assert_string_equal(answer(&u, rs, "f", "{'x':99999}"), "true");
			assert_string_equal(answer(&u, rs, "f", "{'x':'99999'}"), "false");
			assert_string_equal(answer(&u, rs, "f", "{'x':99998}"), "false");
			assert_true(ruleset_bytes(rs) < 8 * MIB);
		}
		ruleset_free(rs);
	}
}

/* Issues are many, but an error holds sixteen, and the whole is still refused. */
static void
issues_are_collected_up_to_a_maximum(void **state)
{
	UNIT(u);
	struct ruleset *rs = NULL;

	(void)state;
	assert_status(
		ruleset_compile(&u.cx,
			document(&u, "{'flags':{'a':{'type':'boolean','defaultValue':1,'x':2},'b':7}}"), &rs),
		E_INVALID);
	assert_int_equal(u.cx.error.issue_count, 3);
	assert_str(u.cx.error.issues[2].path, "/flags/b");
	assert_status(ruleset_compile(&u.cx, document(&u, many(&u, "{'flags':{", "'f#':1", 100, "}}")), &rs),
		E_INVALID);
	assert_int_equal(u.cx.error.issue_count, 16);
	assert_null(rs);
}

/* A ruleset of many large lists does not take more than its cap. */
static void
memory_has_a_cap(void **state)
{
	UNIT(u);
	struct ruleset *rs = NULL;
	struct json *rules = json_new_array(&u.arena), *rule, *flag = json_new_object(&u.arena);
	struct json *flags = json_new_object(&u.arena), *doc = json_new_object(&u.arena);
	const struct json *list = document(&u, many(&u, "{'field':'x','$in':[", "'#'", 50000, "]}"));

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		rule = json_new_object(&u.arena);
		json_add_member(rule, STR("if"), json_share(&u.arena, list));
		json_add_member(rule, STR("value"), json_new_bool(&u.arena, true));
		json_add_item(rules, rule);
	}
	json_add_member(flag, STR("type"), json_new_string(&u.arena, STR("boolean")));
	json_add_member(flag, STR("defaultValue"), json_new_bool(&u.arena, false));
	json_add_member(flag, STR("rules"), rules);
	json_add_member(flags, STR("f"), flag);
	json_add_member(doc, STR("flags"), flags);
	assert_status(ruleset_compile(&u.cx, doc, &rs), E_TOO_LARGE);
	assert_null(rs);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_document_is_a_ruleset),
		cmocka_unit_test(what_is_not_part_of_a_ruleset_is_refused),
		cmocka_unit_test(values_have_the_type_of_their_flag),
		cmocka_unit_test(configs_are_held_to_their_schema),
		cmocka_unit_test(conditions_that_say_nothing_are_refused),
		cmocka_unit_test(comparands_that_cannot_work_are_refused),
		cmocka_unit_test(percents_are_from_0_to_100_in_thousandths),
		cmocka_unit_test(a_circle_of_segments_is_named),
		cmocka_unit_test(segments_in_segments_have_a_depth),
		cmocka_unit_test(what_is_too_many_is_refused_at_its_place),
		cmocka_unit_test(what_is_too_many_in_all_is_refused),
		cmocka_unit_test(fields_and_patterns_are_counted),
		cmocka_unit_test(conditions_have_a_depth),
		cmocka_unit_test(texts_and_values_have_a_size),
		cmocka_unit_test(lists_are_large_and_bounded),
		cmocka_unit_test(issues_are_collected_up_to_a_maximum),
		cmocka_unit_test(memory_has_a_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
