/* SPDX-License-Identifier: Apache-2.0 */
/* What a ruleset answers (FL-2). */
#include "tests/unit/domain/flag.h"

#include "domain/flag/bucket.h"

#include <pthread.h>
#include <stdio.h>

/* Does the condition hold for the context? */
static bool
holds(struct unit *u, const char *condition, const char *context)
{
	char text[1024];
	struct ruleset *rs;
	bool on;

	(void)snprintf(text, sizeof(text),
		"{'flags':{'f':{'type':'boolean','defaultValue':false,'rules':[{'if':%s,'value':true}]}}}",
		condition);
	rs = compiled(u, text);
	on = strcmp(answer(u, rs, "f", context), "true") == 0;
	ruleset_free(rs);
	return on;
}

static void
assert_holds(struct unit *u, const char *condition, const char *context, bool expected)
{
	if (holds(u, condition, context) != expected)
		not_so("%s should %shold for %s", condition, expected ? "" : "not ", context);
}

/* --- operators (FL-2): each with what makes it true, and every type it can meet --- */

/* The table of docs/flags.md. A column: missing, null, true, 5, "5", ["5"], {}. */
static void
every_operator_has_an_answer_for_every_type(void **state)
{
	static const char *const contexts[] = { "{}", "{'x':null}", "{'x':true}", "{'x':5}", "{'x':'5'}",
		"{'x':['5']}", "{'x':{}}" };
	static const struct {
		const char *leaf, *answers;
	} rows[] = {
		{ "'$equals':'5'", "----+--" },
		{ "'$equals':5", "---+---" },
		{ "'$equals':true", "--+----" },
		{ "'$notEquals':'5'", "++++-++" },
		{ "'$notEquals':5", "+++-+++" },
		{ "'$notEquals':true", "++-++++" },
		{ "'$in':['5']", "----+--" },
		{ "'$in':[5,true]", "--++---" },
		{ "'$in':[]", "-------" },
		{ "'$notIn':['5']", "++++-++" },
		{ "'$notIn':[5,true]", "++--+++" },
		{ "'$notIn':[]", "+++++++" },
		{ "'$gt':4", "---+---" },
		{ "'$gt':'4'", "----+--" },
		{ "'$gte':5", "---+---" },
		{ "'$gte':'5'", "----+--" },
		{ "'$lt':6", "---+---" },
		{ "'$lt':'6'", "----+--" },
		{ "'$lte':5", "---+---" },
		{ "'$lte':'5'", "----+--" },
		{ "'$numEq':5", "---++--" },
		{ "'$numGt':4", "---++--" },
		{ "'$numGte':5", "---++--" },
		{ "'$numLt':6", "---++--" },
		{ "'$numLte':5", "---++--" },
		{ "'$startsWith':'5'", "----+--" },
		{ "'$endsWith':'5'", "----+--" },
		{ "'$contains':'5'", "----++-" },
		{ "'$matches':'.'", "----+--" },
		{ "'$exists':true", "--+++++" },
		{ "'$exists':false", "++-----" },
		{ "'$semverEq':'5.0.0'", "-------" },
		{ "'$semverGt':'0.0.1'", "-------" },
		{ "'$semverGte':'0.0.1'", "-------" },
		{ "'$semverLt':'9.9.9'", "-------" },
		{ "'$semverLte':'9.9.9'", "-------" },
		{ "'$cidr':'0.0.0.0/0'", "-------" },
		{ "'$before':'2026-01-01T00:00:00Z'", "---+---" },
		{ "'$after':'1969-01-01T00:00:00Z'", "---+---" },
		{ "'$bucket':{'of':1,'below':1}", "---++--" },
		{ "'$bucket':{'of':1,'below':0}", "-------" },
	};
	UNIT(u);
	char condition[200];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		(void)snprintf(condition, sizeof(condition), "{'field':'x',%s}", rows[i].leaf);
		for (size_t j = 0; j < COUNT(contexts); j++)
			assert_holds(&u, condition, contexts[j], rows[i].answers[j] == '+');
	}
}

static void
every_operator_tells_right_from_nearly_right(void **state)
{
	static const struct {
		const char *leaf, *value;
		bool expected;
	} rows[] = {
		{ "'$equals':'Pro'", "'pro'", false },
		{ "'$equals':1", "1.0", true },
		{ "'$equals':9007199254740993", "9007199254740992", false },
		{ "'$equals':0", "-0", true },
		{ "'$equals':''", "''", true },
		{ "'$equals':false", "false", true },
		{ "'$in':['a','b','c']", "'c'", true },
		{ "'$in':['a','b','c']", "'d'", false },
		{ "'$in':['a','b','c']", "''", false },
		{ "'$in':['a',1,'b',2,'c',3,'d',4,'e',5]", "4e0", true },
		{ "'$in':['a',1,'b',2,'c',3,'d',4,'e',5]", "'4'", false },
		{ "'$notIn':['a',1,'b',2,'c',3,'d',4,'e',5]", "'e'", false },
		{ "'$gt':5", "5", false },
		{ "'$gt':5", "5.0000000000000000001", true },
		{ "'$gt':5", "1e400", true },
		{ "'$gte':5", "4.9", false },
		{ "'$lt':5", "5", false },
		{ "'$lt':-1", "-1e400", true },
		{ "'$lte':5", "5.1", false },
		{ "'$gt':'b'", "'B'", false },
		{ "'$gt':'b'", "'ba'", true },
		{ "'$lt':'10'", "'9'", false },
		{ "'$startsWith':'ab'", "'abc'", true },
		{ "'$startsWith':'ab'", "'a'", false },
		{ "'$endsWith':'@corp.com'", "'me@corp.com'", true },
		{ "'$endsWith':'@corp.com'", "'me@corp.com.evil'", false },
		{ "'$contains':'eta'", "'betas'", true },
		{ "'$contains':'eta'", "'beat'", false },
		{ "'$contains':'beta'", "['alpha',1,'beta']", true },
		{ "'$contains':'beta'", "['betas',['beta']]", false },
		{ "'$matches':'a+'", "'aaa'", true },
		{ "'$matches':'a+'", "'baaa'", false },
		{ "'$matches':'a+'", "'aaa\\n'", false },
		{ "'$matches':'a|b'", "'ab'", false },
		{ "'$matches':'(?i)A.B'", "'aüb'", true },
		{ "'$semverEq':'1.2.3'", "'1.2.3+build'", true },
		{ "'$semverGt':'1.9.0'", "'1.10.0'", true },
		{ "'$semverGt':'1.0.0'", "'1.0.0'", false },
		{ "'$semverGte':'1.0.0'", "'1.0.0'", true },
		{ "'$semverGte':'1.0.0'", "'1.0.0-rc.1'", false },
		{ "'$semverLt':'1.0.0'", "'1.0.0-rc.1'", true },
		{ "'$semverLte':'1.0.0'", "'1.0.1'", false },
		{ "'$semverLt':'9.0.0'", "'v1.0.0'", false },
		{ "'$cidr':'10.0.0.0/8'", "'10.1.2.3'", true },
		{ "'$cidr':'10.0.0.0/8'", "'11.1.2.3'", false },
		{ "'$cidr':['192.168.0.0/16','2001:db8::/32']", "'2001:db8::1'", true },
		{ "'$cidr':'10.0.0.0/8'", "'::ffff:10.1.2.3'", true },
		{ "'$cidr':'10.0.0.0/8'", "'10.0.0.0/9'", false },
		{ "'$cidr':'10.0.0.0/8'", "'10.0.0.1\\u0000'", false },
		{ "'$before':'2026-11-15T12:00:00Z'", "'2026-11-15T12:59:59+01:00'", true },
		{ "'$before':'2026-11-15T12:00:00Z'", "'2026-11-15T13:00:00+01:00'", false },
		{ "'$before':'2026-11-15T12:00:00Z'", "'2026-11-15'", false },
		{ "'$after':'2026-11-15T12:00:00Z'", "'2026-11-15T12:00:00.000001Z'", true },
		{ "'$after':'2026-11-15T12:00:00Z'", "'2026-11-15T12:00:00Z'", false },
		{ "'$after':'1970-01-01T00:00:01Z'", "1001", true },
		{ "'$after':'1970-01-01T00:00:01Z'", "1000", false },
		{ "'$numEq':12", "'12.0'", true },
		{ "'$numEq':12", "'1.2e1'", true },
		{ "'$numEq':12", "'12 '", false },
		{ "'$numEq':7", "'007'", false },
		{ "'$numEq':0", "''", false },
		{ "'$numEq':12", "'0xc'", false },
		{ "'$numGt':9007199254740992", "'9007199254740993'", true },
		{ "'$numGt':5", "'10'", true },
		{ "'$numGte':5", "'4.999'", false },
		{ "'$numLt':-1", "'-1e400'", true },
		{ "'$numLte':5", "'5.1'", false },
		/* whom Unleash lets in: client-specification 03, 10 and 08 */
		{ "'$bucket':{'prefix':'AB12A:','of':100,'below':50}", "'122'", true },
		{ "'$bucket':{'prefix':'AB12A:','of':100,'below':50}", "122", true },
		{ "'$bucket':{'prefix':'AB12A:','of':100,'below':50}", "'155'", false },
		{ "'$bucket':{'prefix':'AB12A:','of':100,'below':50,'method':'modulo'}", "'155'", false },
		{ "'$bucket':{'prefix':'Feature.Variants.B:','seed':86028157,'of':2,'below':1}", "'0'",
			true },
		{ "'$bucket':{'prefix':'Feature.Variants.B:','seed':86028157,'of':2,'below':1}", "'2'",
			false },
		/* whom flagd gives the first of two: new-checkout//user-1 has the hash 0xee021eee (docs/flags.md) */
		{ "'$bucket':{'prefix':'new-checkout//','of':100000,'below':92971,'method':'scale'}",
			"'user-1'", false },
		{ "'$bucket':{'prefix':'new-checkout//','of':100000,'below':92972,'method':'scale'}",
			"'user-1'", true },
		{ "'$bucket':{'of':100,'below':100}", "''", false },
		{ "'$bucket':{'of':100,'below':100}", "1.5", false },
	};
	UNIT(u);
	char condition[200], context[200];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		(void)snprintf(condition, sizeof(condition), "{'field':'x',%s}", rows[i].leaf);
		(void)snprintf(context, sizeof(context), "{'x':%s}", rows[i].value);
		assert_holds(&u, condition, context, rows[i].expected);
	}
}

static void
conditions_combine(void **state)
{
	static const char *const a = "{'field':'a','$exists':true}", *const b =
									     "{'field':'b','$exists':true}";
	UNIT(u);
	char text[300];

	(void)state;
	for (unsigned bits = 0; bits < 4; bits++) {
		const char *context = bits == 0	  ? "{}"
				      : bits == 1 ? "{'a':1}"
				      : bits == 2 ? "{'b':1}"
						  : "{'a':1,'b':1}";

		(void)snprintf(text, sizeof(text), "{'$and':[%s,%s]}", a, b);
		assert_holds(&u, text, context, bits == 3);
		(void)snprintf(text, sizeof(text), "{'$or':[%s,%s]}", a, b);
		assert_holds(&u, text, context, bits != 0);
		(void)snprintf(text, sizeof(text), "{'$not':%s}", a);
		assert_holds(&u, text, context, !(bits & 1));
		(void)snprintf(text, sizeof(text), "{'$not':{'$or':[{'$not':%s},{'$not':%s}]}}", a, b);
		assert_holds(&u, text, context, bits == 3);
	}
}

/* The law that people count on, for what is missing and of any type, too. */
static void
not_equals_is_the_opposite_of_equals(void **state)
{
	static const char *const contexts[] = { "{}", "{'x':null}", "{'x':true}", "{'x':5}", "{'x':'5'}",
		"{'x':[]}" };
	UNIT(u);

	(void)state;
	for (size_t i = 0; i < COUNT(contexts); i++) {
		assert_int_equal(holds(&u, "{'field':'x','$notEquals':'5'}", contexts[i]),
			!holds(&u, "{'field':'x','$equals':'5'}", contexts[i]));
		assert_int_equal(holds(&u, "{'field':'x','$notIn':['5',5]}", contexts[i]),
			!holds(&u, "{'field':'x','$in':['5',5]}", contexts[i]));
	}
}

static void
a_field_with_dots_is_a_name_first_and_a_path_then(void **state)
{
	static const struct {
		const char *field, *context;
		bool expected;
	} rows[] = {
		{ "user.plan", "{'user':{'plan':'pro'}}", true },
		{ "user.plan", "{'user.plan':'pro'}", true },
		{ "user.plan", "{'user.plan':'free','user':{'plan':'pro'}}", false },
		{ "user.plan", "{'user':{'plan':'pro'},'user.plan':null}", false },
		{ "user.plan", "{'user':'pro'}", false },
		{ "user.plan", "{'user':['pro']}", false },
		{ "a.b.c", "{'a':{'b':{'c':'pro'}}}", true },
		{ "a.b.c", "{'a.b':{'c':'pro'}}", false },
		{ "a.b.c", "{'a':{'b.c':'pro'}}", false },
		{ ".", "{'':{'':'pro'}}", true },
	};
	UNIT(u);
	char condition[200];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		(void)snprintf(condition, sizeof(condition), "{'field':'%s','$equals':'pro'}", rows[i].field);
		assert_holds(&u, condition, rows[i].context, rows[i].expected);
	}
}

/* Its answer is kept for the context: for this field, and no other, and for the other pattern anew. */
static void
a_pattern_is_tried_once_for_each_field(void **state)
{
	UNIT(u);
	struct ruleset *rs = compiled(&u, "{'flags':{'x':{'type':'boolean','defaultValue':false,'rules':[{'"
					  "if':{'field':'x','$matches':'a'},'value':true}]},"
					  "'y':{'type':'boolean','defaultValue':false,'rules':[{'if':{'field'"
					  ":'y','$matches':'a'},'value':true}]},"
					  "'z':{'type':'boolean','defaultValue':false,'rules':[{'if':{'field'"
					  ":'x','$matches':'b'},'value':true}]},"
					  "'xx':{'type':'boolean','defaultValue':false,'rules':[{'if':{'$not'"
					  ":{'field':'x','$matches':'a'}},"
					  "'value':true}]}}}");
	struct subject *s = prepared(&u, rs, "{'x':'a','y':'b'}");
	static const bool expected[] = { true, false, false, false };

	(void)state;
	for (size_t again = 0; again < 2; again++)
		for (size_t i = 0; i < COUNT(expected); i++) {
			struct evaluation e;

			assert_status(ruleset_evaluate(s, ruleset_at(rs, i), &e), OK);
			assert_int_equal(e.rule == 0, expected[i]);
		}
	ruleset_free(rs);
}

/* --- rules --- */

static void
the_first_rule_that_matches_wins(void **state)
{
	UNIT(u);
	struct ruleset *rs = compiled(&u,
		"{'flags':{'f':{'type':'string','defaultValue':'none','rules':["
		"{'if':{'field':'plan','$equals':'pro'},'value':'first'},"
		"{'if':{'field':'plan','$in':['pro','free']},'value':'second','description':'why'}]}},"
		"'configs':{'c':{'type':'json','defaultValue':null,'rules':[{'value':{'a':[1.50,'\\u00fc\\n']"
		"}}]},"
		"'n':{'type':'number','defaultValue':1e2}}}");

	(void)state;
	assert_string_equal(answer(&u, rs, "f", "{'plan':'pro'}"), "\"first\"");
	assert_string_equal(answer(&u, rs, "f", "{'plan':'free'}"), "\"second\"");
	assert_string_equal(answer(&u, rs, "f", "{'plan':'x'}"), "\"none\"");
	assert_string_equal(answer(&u, rs, "c", "{}"), "{\"a\":[1.50,\"ü\\n\"]}");
	assert_string_equal(answer(&u, rs, "n", "{}"), "1e2");
	assert_null(ruleset_find(rs, STR("g")));
	assert_int_equal(ruleset_count(rs), 3);
	assert_str(ruleset_at(rs, 0)->key, "f");
	assert_true(ruleset_at(rs, 1)->is_config);
	assert_string_equal(item_type_name(ruleset_at(rs, 1)->type), "json");
	assert_true(ruleset_bytes(rs) > 100);
	ruleset_free(rs);
}

/* The compiled form points at nothing of the document it came from. */
static void
a_ruleset_outlives_its_document(void **state)
{
	UNIT(u);
	struct arena other;
	struct ctx cx;
	struct json *doc;
	struct ruleset *rs;
	char text[] =
		"{\"targetField\":\"user.id\",\"flags\":{\"f\":{\"type\":\"string\",\"defaultValue\":"
		"\"default\","
		"\"rules\":[{\"if\":{\"$and\":[{\"field\":\"user.plan\",\"$in\":[\"pro\",\"team\"]},"
		"{\"field\":\"v\",\"$semverGt\":\"1.2.3-rc.1\"},{\"field\":\"m\",\"$matches\":\"a+\"},"
		"{\"field\":\"e\",\"$endsWith\":\"com\"},{\"$segment\":\"s\"}]},\"value\":\"matched\"}]}},"
		"\"segments\":{\"s\":{\"allowList\":[\"user-1\"]}}}";

	(void)state;
	arena_init(&other, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &other);
	assert_status(json_parse(&cx, str_of(text), &doc), OK);
	assert_status(ruleset_compile(&cx, doc, &rs), OK);
	arena_done(&other);
	memset(text, 'x', sizeof(text));
	assert_string_equal(
		answer(&u, rs, "f",
			"{'user':{'id':'user-1','plan':'team'},'v':'1.2.3','m':'aa','e':'x.com'}"),
		"\"matched\"");
	ruleset_free(rs);
}

/* --- segments --- */

static void
deny_wins_over_allow_and_allow_over_rules(void **state)
{
	static const struct {
		const char *context;
		bool expected;
	} rows[] = {
		{ "{'userId':'allowed'}", true },
		{ "{'userId':'both'}", false },
		{ "{'userId':'denied','plan':'pro'}", false },
		{ "{'userId':'other','plan':'pro'}", true },
		{ "{'userId':'other'}", false },
		{ "{'plan':'pro'}", true },
		{ "{}", false },
		{ "{'userId':7}", true },
		{ "{'userId':'7'}", true },
		{ "{'userId':7.0}", true },
		{ "{'userId':7.5}", false },
		{ "{'userId':''}", false },
	};
	UNIT(u);
	struct ruleset *rs = compiled(&u,
		"{'flags':{'f':{'type':'boolean','defaultValue':false,'rules':[{'if':{'$segment':'s'},'value'"
		":true}]}},"
		"'segments':{'s':{'rules':[{'if':{'field':'plan','$equals':'pro'},'description':'paying'}],"
		"'allowList':['allowed','both',7],'denyList':['both','denied']}}}");

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (strcmp(answer(&u, rs, "f", rows[i].context), rows[i].expected ? "true" : "false") != 0)
			not_so("%s should be %d", rows[i].context, rows[i].expected);
	ruleset_free(rs);
}

/* Each segment asks the next one twice: without a memory this takes 2^15 questions, and 2^1000 were it
 * allowed.
 */
static void
segments_that_share_segments_are_decided_once(void **state)
{
	UNIT(u);
	struct buf b;
	struct ruleset *rs;
	char context[] = "{'deepest':1}";

	(void)state;
	buf_init(&b, &u.arena, MIB);
	buf_add(&b,
		STR("{'flags':{'f':{'type':'boolean','defaultValue':false,'rules':[{'if':{'$segment':'s0'},"
		    "'value':true}]}},'segments':{"));
	for (unsigned i = 0; i < LIMIT_SEGMENT_DEPTH - 1; i++)
		buf_printf(&b,
			"'s%u':{'rules':[{'if':{'$and':[{'$segment':'s%u'},{'$not':{'$not':{'$segment':'s%u'}"
			"}}]}}]},",
			i, i + 1, i + 1);
	buf_printf(
		&b, "'s%u':{'rules':[{'if':{'field':'deepest','$exists':true}}]}}}", LIMIT_SEGMENT_DEPTH - 1);
	rs = compiled(&u, arena_cstr(&u.arena, buf_str(&b)));
	assert_string_equal(answer(&u, rs, "f", context), "true");
	assert_string_equal(answer(&u, rs, "f", "{}"), "false");
	ruleset_free(rs);
}

/* --- rollout (FL-2) --- */

static struct ruleset *
rollout(struct unit *u, const char *percent, const char *more)
{
	char text[400];

	(void)snprintf(text, sizeof(text),
		"{'flags':{'f':{'type':'boolean','defaultValue':false,'rules':[{'value':true,'rolloutPercent'"
		":%s%s}]}}}",
		percent, more);
	return compiled(u, text);
}

/* Which of some users are in, a bit each. */
static size_t
who(const struct ruleset *rs, unsigned users, bool *in)
{
	size_t count = 0;

	for (unsigned i = 0; i < users; i++) {
		UNIT(u);
		char context[64];

		(void)snprintf(context, sizeof(context), "{'userId':'user-%u'}", i);
		in[i] = strcmp(answer(&u, rs, "f", context), "true") == 0;
		count += in[i];
	}
	return count;
}

static void
raising_a_percent_only_adds_people(void **state)
{
	static const char *const percents[] = { "0", "0.1", "1", "5.5", "10", "33.333", "50", "99.999",
		"100" };
	enum { USERS = 2000 };
	static bool before[USERS], now[USERS];
	size_t count, last = 0;

	(void)state;
	memset(before, 0, sizeof(before));
	for (size_t i = 0; i < COUNT(percents); i++) {
		UNIT(u);
		struct ruleset *rs = rollout(&u, percents[i], "");

		count = who(rs, USERS, now);
		for (unsigned n = 0; n < USERS; n++)
			assert_false(before[n] && !now[n]);
		assert_true(count >= last);
		last = count;
		memcpy(before, now, sizeof(now));
		ruleset_free(rs);
	}
	assert_int_equal(last, USERS);
}

static void
a_rollout_takes_its_share_and_a_salt_draws_again(void **state)
{
	enum { USERS = 4000 };
	static bool plain[USERS], salted[USERS];
	UNIT(u);
	struct ruleset *a = rollout(&u, "25", ""), *b = rollout(&u, "25", ",'salt':'second'");
	size_t both = 0;

	(void)state;
	/* five standard deviations to each side */
	assert_in_range(who(a, USERS, plain), 1000 - 137, 1000 + 137);
	assert_in_range(who(b, USERS, salted), 1000 - 137, 1000 + 137);
	for (unsigned i = 0; i < USERS; i++)
		both += plain[i] && salted[i];
	assert_in_range(both, 250 - 77, 250 + 77);
	ruleset_free(a);
	ruleset_free(b);
}

static void
without_a_target_only_a_full_rollout_holds(void **state)
{
	static const char *const none[] = { "{}", "{'userId':null}", "{'userId':''}", "{'userId':true}",
		"{'userId':1.5}", "{'userId':['user-1']}", "{'userId':1e300}" };
	UNIT(u);
	struct ruleset *nearly = rollout(&u, "99.999", ""), *full = rollout(&u, "100.000", "");

	(void)state;
	for (size_t i = 0; i < COUNT(none); i++) {
		assert_string_equal(answer(&u, nearly, "f", none[i]), "false");
		assert_string_equal(answer(&u, full, "f", none[i]), "true");
	}
	ruleset_free(nearly);
	ruleset_free(full);
}

/* 42, 42.0 and "42" are one person; the threshold is the bucket itself, not one beside it. */
static void
the_share_ends_exactly_at_the_bucket(void **state)
{
	UNIT(u);
	struct bucket b = { 0 };
	uint32_t bucket;
	char percent[32];

	(void)state;
	bucket_add(&b, STR("f//"));
	bucket = bucket_of(&b, STR("42"));
	for (uint32_t step = 0; step < 2; step++) {
		struct ruleset *rs;

		(void)snprintf(
			percent, sizeof(percent), "%u.%03u", (bucket + step) / 1000, (bucket + step) % 1000);
		rs = rollout(&u, percent, "");
		assert_string_equal(answer(&u, rs, "f", "{'userId':'42'}"), step ? "true" : "false");
		assert_string_equal(answer(&u, rs, "f", "{'userId':42}"), step ? "true" : "false");
		assert_string_equal(answer(&u, rs, "f", "{'userId':4.20e1}"), step ? "true" : "false");
		ruleset_free(rs);
	}
}

/* Who is outside of a rule's share goes on to the next rule; in one flag the shares add up. */
static void
rules_of_one_flag_share_their_buckets(void **state)
{
	enum { USERS = 2000 };
	UNIT(u);
	struct ruleset *rs = compiled(&u, "{'flags':{'f':{'type':'string','defaultValue':'c','rules':[{'"
					  "value':'a','rolloutPercent':20},"
					  "{'value':'b','rolloutPercent':50}]}}}");
	size_t a = 0, b = 0;

	(void)state;
	for (unsigned i = 0; i < USERS; i++) {
		char context[64];
		const char *value;

		(void)snprintf(context, sizeof(context), "{'userId':'u%u'}", i);
		value = answer(&u, rs, "f", context);
		a += value[1] == 'a';
		b += value[1] == 'b';
	}
	assert_in_range(a, 400 - 90, 400 + 90);
	assert_in_range(b, 600 - 103, 600 + 103);
	ruleset_free(rs);
}

/* --- contexts --- */

static void
a_context_is_an_object_of_bounded_size(void **state)
{
	static const char *const documents[] = { "{'%s':1}", "{'x':'%s'}", "{'x':[%s]}", "{'y':{%s}}" };
	UNIT(u);
	struct ruleset *rs = compiled(&u, "{'flags':{'f':{'type':'boolean','defaultValue':true,'rules':[{'if'"
					  ":{'$or':[{'field':'x','$contains':'a'},"
					  "{'field':'y.z','$exists':true}]},'value':false}]}}}");
	struct subject *s = NULL;
	struct buf b;

	(void)state;
	assert_status(subject_prepare(&u.cx, rs, document(&u, "[]"), &s), E_INVALID);
	assert_status(subject_prepare(&u.cx, rs, document(&u, "'text'"), &s), E_INVALID);
	for (size_t i = 0; i < COUNT(documents); i++) {
		buf_init(&b, &u.arena, MIB);
		buf_add(&b, i == 1   ? STR("{'x':'")
			    : i == 2 ? STR("{'x':[")
			    : i == 3 ? STR("{'y':{")
				     : STR("{"));
		for (unsigned n = 0; n < LIMIT_CONTEXT_TEXT + 1; n++) {
			if (i == 1)
				buf_add_char(&b, 'b');
			else if (n <= LIMIT_CONTEXT_MEMBERS && i == 2)
				buf_printf(&b, "%s1", n ? "," : "");
			else if (n <= LIMIT_CONTEXT_MEMBERS)
				buf_printf(&b, "%s'm%u':1", n ? "," : "", n);
		}
		buf_add(&b, i == 1 ? STR("'}") : i == 2 ? STR("]}") : i == 3 ? STR("}}") : STR("}"));
		assert_status(subject_prepare(&u.cx, rs, document(&u, arena_cstr(&u.arena, buf_str(&b))), &s),
			E_TOO_LARGE);
	}
	assert_null(s);
	/* what no rule looks at may be as long as it likes */
	buf_init(&b, &u.arena, MIB);
	buf_add(&b, STR("{'unused':'"));
	for (unsigned n = 0; n < 2 * LIMIT_CONTEXT_TEXT; n++)
		buf_add_char(&b, 'b');
	buf_add(&b, STR("'}"));
	assert_status(subject_prepare(&u.cx, rs, document(&u, arena_cstr(&u.arena, buf_str(&b))), &s), OK);
	ruleset_free(rs);
}

static void
a_full_arena_is_no_answer(void **state)
{
	UNIT(u);
	struct ruleset *rs = compiled(&u, "{}");
	const struct json *context = document(&u, "{}");
	struct arena none;
	struct ctx cx;
	struct subject *s = NULL;

	(void)state;
	arena_init(&none, 0);
	ctx_init(&cx, &none);
	assert_status(subject_prepare(&cx, rs, context, &s), E_TOO_LARGE);
	assert_null(s);
	arena_done(&none);
	ruleset_free(rs);
}

/* --- evaluation is a pure function --- */

static const char *const world =
	"{'flags':{'a':{'type':'boolean','defaultValue':false,'rules':[{'if':{'$segment':'eu'},'value':true,"
	"'rolloutPercent':50}]},"
	"'b':{'type':'string','defaultValue':'x','rules':[{'if':{'$not':{'$segment':'eu'}},'value':'y'},"
	"{'if':{'field':'n','$gt':3},'value':'z'}]},"
	"'c':{'type':'boolean','defaultValue':true,'rules':[{'if':{'field':'mail','$matches':'.*@corp[.]com'}"
	","
	"'value':false,'rolloutPercent':10}]}},"
	"'segments':{'eu':{'rules':[{'if':{'field':'country','$in':['DE','FR','IT']}}],'denyList':['user-3']}"
	"}}";

/* Any order of items, of members, one subject or many, one ruleset or another compiled from the same text. */
static void
the_same_question_has_the_same_answer(void **state)
{
	static const char *const keys[] = { "a", "b", "c" };
	UNIT(u);
	struct ruleset *one = compiled(&u, world), *two = compiled(&u, world);

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		char forward[200], backward[200];
		const char *country = i % 2 ? "DE" : "US";
		struct subject *s;

		(void)snprintf(forward, sizeof(forward),
			"{'userId':'user-%u','country':'%s','n':%u,'mail':'u@corp.com'}", i, country, i % 5);
		(void)snprintf(backward, sizeof(backward),
			"{'mail':'u@corp.com','n':%u,'other':{},'country':'%s','userId':'user-%u'}", i % 5,
			country, i);
		s = prepared(&u, two, backward);
		for (size_t k = COUNT(keys); k-- > 0;) {
			struct evaluation first, again;

			assert_status(ruleset_evaluate(s, ruleset_find(two, str_of(keys[k])), &first), OK);
			assert_status(ruleset_evaluate(s, ruleset_find(two, str_of(keys[k])), &again), OK);
			assert_true(str_eq(first.value, again.value));
			assert_int_equal(first.rule, again.rule);
			assert_string_equal(
				answer(&u, one, keys[k], forward), arena_cstr(&u.arena, first.value));
		}
	}
	ruleset_free(one);
	ruleset_free(two);
}

struct reader {
	const struct ruleset *rs;
	uint64_t seen; /* a bit per context and key: was a rule's value the answer? */
};

static void *
read_along(void *arg)
{
	static const char *const keys[] = { "a", "b", "c" };
	struct reader *r = arg;

	for (unsigned i = 0; i < 60; i++) {
		UNIT(u);
		struct evaluation e;
		char context[200];

		(void)snprintf(context, sizeof(context),
			"{'userId':'user-%u','country':'%s','n':%u,'mail':'%u@corp.com'}", i % 20,
			i % 2 ? "DE" : "US", i % 5, i % 20);
		for (unsigned k = 0; k < 3; k++) {
			assert_status(ruleset_evaluate(prepared(&u, r->rs, context),
					      ruleset_find(r->rs, str_of(keys[k])), &e),
				OK);
			if (e.rule != EVALUATION_DEFAULT)
				r->seen |= UINT64_C(1) << (i % 20 * 3 + k);
		}
	}
	return NULL;
}

/* One ruleset, no lock: ThreadSanitizer looks on. */
static void
threads_share_a_ruleset(void **state)
{
	UNIT(u);
	struct ruleset *rs = compiled(&u, world);
	struct reader readers[4];
	pthread_t threads[4];

	(void)state;
	for (unsigned i = 0; i < COUNT(threads); i++) {
		readers[i] = (struct reader){ .rs = rs };
		assert_int_equal(pthread_create(&threads[i], NULL, read_along, &readers[i]), 0);
	}
	for (unsigned i = 0; i < COUNT(threads); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (unsigned i = 0; i < COUNT(threads); i++)
		assert_true(readers[i].seen != 0 && readers[i].seen == readers[0].seen);
	ruleset_free(rs);
}

/* --- reasons --- */

static const char *
explained(struct unit *u, const struct ruleset *rs, const char *key, const char *context, bool verbose)
{
	struct subject *s = prepared(u, rs, context);
	struct evaluation e;
	struct json_out out;
	struct buf b;
	str text;

	assert_status(ruleset_evaluate(s, ruleset_find(rs, str_of(key)), &e), OK);
	buf_init(&b, &u->arena, MIB);
	json_out_init(&out, &b);
	evaluation_out(&out, NULL, s, &e, verbose);
	assert_status(buf_finish(&b, &text), OK);
	(void)document(u, arena_cstr(&u->arena, text));
	return arena_cstr(&u->arena, text);
}

static void
an_answer_says_why(void **state)
{
	UNIT(u);
	struct ruleset *rs = compiled(&u, world);

	(void)state;
	assert_string_equal(explained(&u, rs, "b", "{'country':'US'}", false),
		"{\"value\":\"y\",\"defaultValue\":\"x\",\"reason\":{\"kind\":\"rule_match\",\"ruleIndex\":0,"
		"\"matchedValue\":\"y\"}}");
	assert_string_equal(explained(&u, rs, "b", "{'country':'DE'}", false),
		"{\"value\":\"x\",\"defaultValue\":\"x\",\"reason\":{\"kind\":\"default\"}}");
	ruleset_free(rs);
}

static void
a_trace_shows_each_condition_and_no_value_of_the_context(void **state)
{
	UNIT(u);
	struct ruleset *rs = compiled(&u, world);

	(void)state;
	assert_string_equal(explained(&u, rs, "b", "{'country':'DE','n':'secret'}", true),
		"{\"value\":\"x\",\"defaultValue\":\"x\",\"reason\":{\"kind\":\"default\",\"trace\":["
		"{\"ruleIndex\":0,\"result\":false,\"condition\":{\"operator\":\"$not\",\"result\":false,"
		"\"conditions\":["
		"{\"operator\":\"$segment\",\"segment\":\"eu\",\"result\":true}]}},"
		"{\"ruleIndex\":1,\"result\":false,\"condition\":{\"operator\":\"$gt\",\"field\":\"n\","
		"\"found\":\"string\",\"result\":false}}]}}");
	assert_non_null(strstr(explained(&u, rs, "a", "{'country':'DE'}", true),
		"\"rollout\":{\"below\":50000,\"bucket\":null,\"result\":false}"));
	assert_non_null(
		strstr(explained(&u, rs, "c", "{'userId':'u','mail':'u@corp.com'}", true), "\"bucket\":"));
	assert_null(strstr(explained(&u, rs, "c", "{'userId':'u','mail':'u@corp.com'}", true), "u@corp"));
	ruleset_free(rs);
}

/* Also those that an evaluation need not ask. */
static void
a_trace_shows_all_parts_of_a_condition(void **state)
{
	UNIT(u);
	struct ruleset *rs = compiled(&u, "{'flags':{'f':{'type':'boolean','defaultValue':false,'rules':[{'"
					  "if':{'$and':[{'field':'x','$equals':1},"
					  "{'$or':[{'field':'y','$exists':true},{'field':'z','$gt':1}]}]},'"
					  "value':true},{'value':true}]}}}");

	(void)state;
	assert_string_equal(explained(&u, rs, "f", "{'y':[],'z':{}}", true),
		"{\"value\":true,\"defaultValue\":false,\"reason\":{\"kind\":\"rule_match\",\"ruleIndex\":1,"
		"\"matchedValue\":true,\"trace\":[{\"ruleIndex\":0,\"result\":false,\"condition\":"
		"{\"operator\":\"$and\",\"result\":false,\"conditions\":["
		"{\"operator\":\"$equals\",\"field\":\"x\",\"found\":\"missing\",\"result\":false},"
		"{\"operator\":\"$or\",\"result\":true,\"conditions\":["
		"{\"operator\":\"$exists\",\"field\":\"y\",\"found\":\"array\",\"result\":true},"
		"{\"operator\":\"$gt\",\"field\":\"z\",\"found\":\"object\",\"result\":false}]}]}},"
		"{\"ruleIndex\":1,\"result\":true}]}}");
	ruleset_free(rs);
}

/* The trace follows the same rules as the answer, for every context. */
static void
a_trace_ends_with_the_rule_that_decided(void **state)
{
	UNIT(u);
	struct ruleset *rs = compiled(&u, world);

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		char context[200], wanted[64];
		struct evaluation e;
		const char *last, *text;

		(void)snprintf(context, sizeof(context), "{'userId':'user-%u','country':'%s','n':%u}", i,
			i % 3 ? "DE" : "US", i % 6);
		assert_status(
			ruleset_evaluate(prepared(&u, rs, context), ruleset_find(rs, STR("b")), &e), OK);
		text = explained(&u, rs, "b", context, true);
		(void)snprintf(wanted, sizeof(wanted), "{\"ruleIndex\":%d,\"result\":%s",
			e.rule < 0 ? 1 : e.rule, e.rule < 0 ? "false" : "true");
		last = strstr(text, wanted);
		assert_non_null(last);
		assert_null(strstr(last + 1, "{\"ruleIndex\""));
	}
	ruleset_free(rs);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operator_has_an_answer_for_every_type),
		cmocka_unit_test(every_operator_tells_right_from_nearly_right),
		cmocka_unit_test(conditions_combine),
		cmocka_unit_test(not_equals_is_the_opposite_of_equals),
		cmocka_unit_test(a_field_with_dots_is_a_name_first_and_a_path_then),
		cmocka_unit_test(a_pattern_is_tried_once_for_each_field),
		cmocka_unit_test(the_first_rule_that_matches_wins),
		cmocka_unit_test(a_ruleset_outlives_its_document),
		cmocka_unit_test(deny_wins_over_allow_and_allow_over_rules),
		cmocka_unit_test(segments_that_share_segments_are_decided_once),
		cmocka_unit_test(raising_a_percent_only_adds_people),
		cmocka_unit_test(a_rollout_takes_its_share_and_a_salt_draws_again),
		cmocka_unit_test(without_a_target_only_a_full_rollout_holds),
		cmocka_unit_test(the_share_ends_exactly_at_the_bucket),
		cmocka_unit_test(rules_of_one_flag_share_their_buckets),
		cmocka_unit_test(a_context_is_an_object_of_bounded_size),
		cmocka_unit_test(a_full_arena_is_no_answer),
		cmocka_unit_test(the_same_question_has_the_same_answer),
		cmocka_unit_test(threads_share_a_ruleset),
		cmocka_unit_test(an_answer_says_why),
		cmocka_unit_test(a_trace_shows_each_condition_and_no_value_of_the_context),
		cmocka_unit_test(a_trace_shows_all_parts_of_a_condition),
		cmocka_unit_test(a_trace_ends_with_the_rule_that_decided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
