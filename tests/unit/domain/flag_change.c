/* SPDX-License-Identifier: Apache-2.0 */
/* The blast radius (FL-5, PA-6), and what a survey of the reservoir counts. */
#include "tests/unit/domain/flag.h"

#include "domain/flag/change/impact.h"
#include "domain/flag/reservoir/impl.h"
#include "domain/flag/reservoir/tally.h"

#define DOC                                                                                                  \
	"{'targetField':'userId','flags':{"                                                                  \
	"'direct':{'type':'boolean','defaultValue':false,'rules':[{'if':{'$segment':'inner'},'value':true}]" \
	"},"                                                                                                 \
	"'deep':{'type':'boolean','defaultValue':false,'rules':["                                            \
	"{'if':{'$and':[{'field':'a','$exists':true},{'$not':{'$segment':'outer'}}]},'value':true}]},"       \
	"'apart':{'type':'boolean','defaultValue':true,'rules':[]}},"                                        \
	"'configs':{'sized':{'type':'json','defaultValue':{'$segment':'inner'},'rules':[]}},"                \
	"'segments':{'inner':{'allowList':['u1']},'outer':{'rules':[{'if':{'$segment':'inner'}}]},"          \
	"'other':{'allowList':['u9']}}}"

static struct store_edit
edit(struct unit *u, enum resource r, const char *key, const char *state)
{
	return (struct store_edit){
		.resource = r, .key = str_of(key), .state = state ? document(u, state) : NULL
	};
}

static void
a_segment_is_seen_through_all_that_depends_on_it_and_nothing_else(void **state)
{
	UNIT(u);
	struct store_edit e = edit(&u, RESOURCE_SEGMENT, "inner", "{'allowList':['u2']}");
	const struct json *contexts = document(&u, "[{'userId':'u1','a':1},{'userId':'u2'},{'userId':'u3'}]");
	struct impact_pair pair;
	struct impact made;

	(void)state;
	assert_status(impact_open(&u.cx, document(&u, DOC), &e, 1, &pair), OK);
	assert_int_equal(pair.key_count, 2); /* a value that looks like a condition is none */
	assert_str(pair.keys[0], "direct");
	assert_str(pair.keys[1], "deep");
	assert_status(impact_make(&u.cx, &pair, contexts, &made), OK);
	assert_int_equal(made.contexts, 3);
	assert_int_equal(made.changed, 2);
	impact_close(&pair);
}

static void
what_goes_is_null_and_what_is_not_asked_for_is_not_made(void **state)
{
	UNIT(u);
	struct store_edit e = edit(&u, RESOURCE_FLAG, "apart", NULL);
	const struct json *first;
	struct impact_pair pair;
	struct impact made;

	(void)state;
	assert_status(impact_open(&u.cx, document(&u, DOC), &e, 1, &pair), OK);
	assert_status(impact_make(&u.cx, &pair, NULL, &made), OK);
	assert_null(made.radius);
	assert_status(impact_make(&u.cx, &pair, document(&u, "[{}]"), &made), OK);
	first = json_at(made.radius, 0);
	assert_int_equal(json_get(json_get(first, STR("preview")), STR("apart"))->type, JSON_NULL);
	assert_true(json_get(json_get(json_get(first, STR("live")), STR("apart")), STR("value"))->truth);
	assert_int_equal(made.changed, 1);
	impact_close(&pair);
}

static void
a_context_that_cannot_be_evaluated_is_named(void **state)
{
	UNIT(u);
	struct store_edit e = edit(&u, RESOURCE_FLAG, "apart", NULL);
	struct impact_pair pair;
	struct impact made;

	(void)state;
	assert_status(impact_open(&u.cx, document(&u, DOC), &e, 1, &pair), OK);
	assert_status(impact_make(&u.cx, &pair, document(&u, "[{},1]"), &made), E_INVALID);
	assert_str(u.cx.error.issues[0].path, "/spotCheck/1");
	impact_close(&pair);
}

static void
a_live_ruleset_that_is_none_is_not_cached(void **state)
{
	UNIT(u);
	struct store_edit e = edit(&u, RESOURCE_FLAG, "f", NULL);
	const struct json *doc = document(&u, "{'flags':{'f':{'type':'nonsense','defaultValue':1}}}");
	struct impact_pair pair;

	(void)state;
	assert_status(impact_open(&u.cx, doc, &e, 1, &pair), E_NOT_CACHED);
	ctx_clear(&u.cx);
	e = edit(&u, RESOURCE_FLAG, "apart", "{'type':'boolean','defaultValue':'text'}");
	assert_status(impact_open(&u.cx, document(&u, DOC), &e, 1, &pair), E_INVALID);
}

static void
the_first_of_many_that_depend_are_shown_and_all_are_counted(void **state)
{
	UNIT(u);
	struct store_edit e = edit(&u, RESOURCE_SEGMENT, "s", "{'allowList':['u1']}");
	struct json *doc, *flags = json_new_object(&u.arena), *segments = json_new_object(&u.arena);
	struct impact_pair pair;

	(void)state;
	for (int i = 0; i < 30; i++)
		json_add_member(flags, arena_printf(&u.arena, "f%d", i),
			json_share(
				&u.arena, document(&u, "{'type':'boolean','defaultValue':false,"
						       "'rules':[{'if':{'$segment':'s'},'value':true}]}")));
	json_add_member(segments, STR("s"), json_new_object(&u.arena));
	doc = json_new_object(&u.arena);
	json_add_member(doc, STR("flags"), flags);
	json_add_member(doc, STR("segments"), segments);
	assert_status(impact_open(&u.cx, doc, &e, 1, &pair), OK);
	assert_int_equal(pair.key_count, LIMIT_IMPACT_ITEMS);
	assert_int_equal(pair.depending, 30);
	impact_close(&pair);
}

static void
segments_below_are_found_through_others(void **state)
{
	UNIT(u);
	const struct json *doc = document(&u, DOC);
	struct store_edit e = { .resource = RESOURCE_FLAG,
		.key = STR("deep"),
		.state = json_get(json_get(doc, STR("flags")), STR("deep")) };
	struct json *below = impact_segments(&u.cx, doc, &e, 1);

	(void)state;
	assert_int_equal(below->count, 2);
	assert_non_null(json_get(below, STR("inner")));
	assert_non_null(json_get(below, STR("outer")));
}

/* --- the survey --- */

static const char *
sentence(struct unit *u, struct tally *t)
{
	return arena_cstr(&u->arena, json_get(tally_json(&u->cx, t), STR("sentence"))->text);
}

static struct tally *
tally(struct unit *u)
{
	struct tally *t = arena_alloc(&u->arena, sizeof(*t));

	t->arena = &u->arena;
	t->target = STR("userId");
	return t;
}

static void
a_survey_says_how_many_and_who_is_more_concerned_than_others(void **state)
{
	UNIT(u);
	struct tally *t = tally(&u);

	(void)state;
	assert_string_equal(sentence(&u, t), "no contexts have been sampled of late");
	for (int i = 0; i < 9812; i++) {
		const char *text = i < 10 ? "{'userId':'x','plan':'enterprise','beta':true}"
					  : "{'userId':'y','plan':'free','beta':false}";
		bool changed = i < 2 || (i >= 100 && i < 402);

		if (changed)
			tally_pair(t, STR("checkout"), STR("false"), STR("true"));
		tally_context(t, document(&u, text), changed);
	}
	assert_string_equal(sentence(&u, t),
		"3.1 % of 9,812 recent contexts change, among them 2 with beta=true and 2 with "
		"plan=enterprise");
	assert_int_equal(json_get(tally_json(&u.cx, t), STR("changes"))->count, 1);
}

static void
groups_that_are_small_many_or_everybody_are_not_named(void **state)
{
	UNIT(u);
	struct tally *t = tally(&u);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		str text =
			arena_printf(&u.arena, "{'userId':'u%d','name':'n%d','rare':%s,'all':'same','n':%d}",
				i, i, i < 4 ? "true" : "null", i % 3);

		tally_context(t, document(&u, arena_cstr(&u.arena, text)), i < 4);
	}
	assert_string_equal(sentence(&u, t), "0.4 % of 1,000 recent contexts change, among them 2 with n=0");
	assert_int_equal(json_get(tally_json(&u.cx, t), STR("groups"))->count, 1);
}

static void
shares_are_never_rounded_to_nobody_or_everybody(void **state)
{
	UNIT(u);
	struct tally *one = tally(&u), *most = tally(&u), *none = tally(&u);

	(void)state;
	for (int i = 0; i < 10000; i++) {
		tally_context(one, document(&u, "{}"), i == 0);
		tally_context(most, document(&u, "{}"), i != 0);
		tally_context(none, document(&u, "{}"), false);
	}
	assert_string_equal(sentence(&u, one), "less than 0.1 % of 10,000 recent contexts change");
	assert_string_equal(sentence(&u, most), "more than 99.9 % of 10,000 recent contexts change");
	assert_string_equal(sentence(&u, none), "none of 10,000 recent contexts changes");
}

static void
pairs_are_bounded_and_long_values_are_not_shown_whole(void **state)
{
	UNIT(u);
	struct tally *t = tally(&u);
	char longer[200];
	const struct json *changes;

	(void)state;
	memset(longer, '1', sizeof(longer));
	for (int i = 0; i < 100; i++)
		tally_pair(t, arena_printf(&u.arena, "k%d", i), STR("1"), STR(""));
	for (int i = 0; i < 3; i++)
		tally_pair(t, STR("k7"), (str){ longer, sizeof(longer) }, STR("null"));
	assert_int_equal(t->pair_count, TALLY_PAIRS);
	t->pair_count--;
	for (int i = 0; i < 3; i++)
		tally_pair(t, STR("k7"), (str){ longer, sizeof(longer) }, STR("null"));
	changes = json_get(tally_json(&u.cx, t), STR("changes"));
	assert_int_equal(changes->count, TALLY_SHOWN);
	assert_str(json_get(json_at(changes, 0), STR("before"))->text, "(a value of 200 bytes)");
	assert_null(json_get(json_at(changes, 1), STR("after")));
}

static void
who_a_context_is_about_is_found_as_rules_find_it(void **state)
{
	static const struct {
		const char *context, *field, *who;
	} cases[] = {
		{ "{'userId':'u1'}", "userId", "u1" },
		{ "{'userId':42.0}", "userId", "42" },
		{ "{'userId':1.5}", "userId", "" },
		{ "{'userId':null}", "userId", "" },
		{ "{}", "userId", "" },
		{ "{'user':{'id':'u2'}}", "user.id", "u2" },
		{ "{'user.id':'u3','user':{'id':'u2'}}", "user.id", "u3" },
		{ "{'a':{'b':{'c':'u4'}}}", "a.b.c", "u4" },
		{ "{'a':{'b.c':'u5'}}", "a.b.c", "" },
	};

	(void)state;
	UNIT(u);
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_str(sampling_who(&u.arena, document(&u, cases[i].context), str_of(cases[i].field)),
			cases[i].who);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_segment_is_seen_through_all_that_depends_on_it_and_nothing_else),
		cmocka_unit_test(what_goes_is_null_and_what_is_not_asked_for_is_not_made),
		cmocka_unit_test(a_context_that_cannot_be_evaluated_is_named),
		cmocka_unit_test(a_live_ruleset_that_is_none_is_not_cached),
		cmocka_unit_test(the_first_of_many_that_depend_are_shown_and_all_are_counted),
		cmocka_unit_test(segments_below_are_found_through_others),
		cmocka_unit_test(a_survey_says_how_many_and_who_is_more_concerned_than_others),
		cmocka_unit_test(groups_that_are_small_many_or_everybody_are_not_named),
		cmocka_unit_test(shares_are_never_rounded_to_nobody_or_everybody),
		cmocka_unit_test(pairs_are_bounded_and_long_values_are_not_shown_whole),
		cmocka_unit_test(who_a_context_is_about_is_found_as_rules_find_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
