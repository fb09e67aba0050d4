/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "json/ecma.h"
#include "json/regex.h"

/* Compiles, asks, frees. */
static bool
finds(const char *pattern, const char *text)
{
	UNIT(u);
	struct regex *r = NULL;
	bool found;

	if (regex_new(&u.cx, str_of(pattern), REGEX_ECMA, &r) != OK)
		print_error("%s: %.*s\n", pattern, STR_ARG(u.cx.error.message));
	assert_non_null(r);
	found = regex_find(r, str_of(text));
	regex_free(r);
	return found;
}

static void
ecma_patterns_mean_what_ecma_says(void **state)
{
	static const struct {
		const char *pattern, *yes, *no;
	} cases[] = {
		{ "^a.c$", "abc", "a\nc" },
		{ "^a.c$",
			"a\xf0\x9f\x90\xb2"
			"c",
			"a\xe2\x80\xa8"
			"c" }, /* U+2028 ends a line */
		{ "a$", "ba", "a\n" },
		{ "b", "abc", "ac" },
		{ "^\\d+\\D$", "12x",
			"12\xd9\xa3"
			"4" },
		{ "^\\w\\W$", "_-", "\xc3\xa9-" },
		{ "^\\s\\S$", "\xc2\xa0x", "x " },
		{ "^[\\s]$", "\xef\xbb\xbf", "x" },
		{ "^[\\S]$", "x", "\xe3\x80\x80" },
		{ "^[^\\d]$", "x", "5" },
		{ "^\\cA\\cz$", "\x01\x1a", "AZ" },
		{ "^\\t\\n\\v\\f\\r$", "\t\n\v\f\r", "tnvfr" },
		{ "^\\x41\\u0042\\u{43}$", "ABC", "x41" },
		{ "^\\u{1F432}$", "\xf0\x9f\x90\xb2", "x" },
		{ "^[\\u{1F432}-\\u{1F433}]$", "\xf0\x9f\x90\xb3", "\xf0\x9f\x90\xb4" },
		{ "^\\/\\.$", "/.", "x" },
		{ "^[a\\-z]$", "-", "b" },
		{ "^[\\b]$", "\b", "b" },
		{ "^[a-]$", "-", "b" },
		{ "^[-a]$", "-", "b" },
		{ "^[.*(]$", "(", "x" },
		{ "^[\\]\\\\]$", "]", "x" },
		{ "\\bfoo\\b", "a foo b", "afoo" },
		{ "\\Bo", "fo", "o" },
		{ "^\\p{Lu}\\p{Lowercase_Letter}$", "\xc3\x89\xc3\xa9", "ee" },
		{ "^\\P{L}$", "1", "a" },
		{ "^\\p{Script=Greek}\\P{Script=Greek}$",
			"\xce\xb1"
			"a",
			"aa" },
		{ "^[\\p{Letter}\\p{digit}_-]+$",
			"\xc3\xa9"
			"1_-",
			"a b" },
		{ "^[+--]$", ",", "." },
		{ "^[a-c-e]$", "-", "d" },
		{ "^[[:alpha:]$", ":", "b" }, /* RE2's names of classes are not ECMA's */
		{ "^[\\S\\n]$", "\n", " " },
		{ "^[^]$", "x", "" },
		{ "^(?:a|b)(?<n>c)(d)?$", "acd", "ab" },
		{ "^a{2}b{1,}c{0,2}d*?e+?f??$", "aabcce", "abe" },
		{ "^\\0?$", "", "0" },
		{ "^(?:)$", "", "x" },
		{ "a||b", "zzz", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!finds(cases[i].pattern, cases[i].yes) ||
			(cases[i].no && finds(cases[i].pattern, cases[i].no))) {
			print_error("%s\n", cases[i].pattern);
			assert_true(false);
		}
	}
	assert_false(finds("[]", "x"));
}

static void
what_is_not_a_pattern_is_refused_with_a_sentence(void **state)
{
	static const char *const wrong[] = { "(", ")", "(a", "a)", "[", "[a", "[a-", "[\\", "\\", "*", "a**",
		"a+*", "^*", "$+", "\\b+", "(*)", "|*", "{", "}", "]", "a{", "a{2", "a{,2}", "a{2,1}", "a{x}",
		"\\a", "\\-", "\\_", "\\u12", "\\u{}", "\\u{110000}", "\\u{12", "\\x1", "\\c1", "\\01",
		"[b-a]", "[\\d-x]", "[a-\\d]", "[\\q]", "\\p", "\\p{", "\\p{}", "\\p{a b}", "(?i)a",
		"(?P<n>x)", "(?#x)", "(?<>a)", "(?<1>a)", "(?<n a)", "\\k", "\\kn", "(?", "\\A", "\\z", "\\Z",
		"\\Qa\\E", "\\C", "\\pL", "\\p{^L}", "a{1,2}{3}", "\xff" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		UNIT(u);
		struct regex *r = NULL;
		struct ecma_text text;

		if (regex_new(&u.cx, str_of(wrong[i]), REGEX_ECMA, &r) == OK)
			print_error("taken: %s\n", wrong[i]);
		assert_null(r);
		assert_int_equal(u.cx.error.code, E_INVALID);
		assert_true(u.cx.error.message.len > 10);
		assert_status(ecma_translate(&u.cx, str_of(wrong[i]), &text), E_INVALID);
	}
}

static void
what_re2_lacks_is_a_pattern_but_refused(void **state)
{
	static const struct {
		const char *pattern, *lacking;
	} cases[] = {
		{ "(?=a)b", "lookaround" },
		{ "(?!a)b", "lookaround" },
		{ "(?<=a)b", "lookaround" },
		{ "(?<!a)b", "lookaround" },
		{ "(a)\\1", "back-references" },
		{ "\\k<n>(?<n>a)", "back-references" },
		{ "\\uD83D\\uDC32", "\\u with half a character (\\u{1F432} is a whole one)" },
		{ "[^\\uD800-\\uDFFF]", "\\u with half a character (\\u{1F432} is a whole one)" },
		{ "a{1001}", "counts above 1000" },
		{ "a{1,999999999}", "counts above 1000" },
		{ "\\p{Emoji}", "this Unicode property" },
		{ "\\p{scx=Greek}", "this Unicode property" },
		{ "\\p{Script=L}", "this Unicode property" },
		{ "\\p{Greek}", "this Unicode property" },
		{ "\\p{C}", "this Unicode property" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		UNIT(u);
		struct regex *r = NULL;
		struct ecma_text text;

		assert_status(ecma_translate(&u.cx, str_of(cases[i].pattern), &text), OK);
		assert_string_equal(text.lacking, cases[i].lacking);
		assert_status(regex_new(&u.cx, str_of(cases[i].pattern), REGEX_ECMA, &r), E_INVALID);
		assert_null(r);
	}
}

static void
an_unknown_property_is_refused_by_re2(void **state)
{
	UNIT(u);
	struct regex *r = NULL;

	(void)state;
	assert_status(regex_new(&u.cx, STR("\\p{Script=Klingon}"), REGEX_ECMA, &r), E_INVALID);
	assert_status(regex_new(&u.cx, STR("[\\P{LC}]"), REGEX_ECMA, &r), E_INVALID);
	assert_null(r);
}

static void
a_pattern_has_a_longest_length(void **state)
{
	char long_pattern[LIMIT_REGEX_BYTES + 2];
	UNIT(u);
	struct regex *r = NULL;
	struct ecma_text text;

	(void)state;
	memset(long_pattern, 'a', sizeof(long_pattern));
	assert_status(
		regex_new(&u.cx, (str){ long_pattern, LIMIT_REGEX_BYTES + 1 }, REGEX_ECMA, &r), E_INVALID);
	assert_status(
		regex_new(&u.cx, (str){ long_pattern, LIMIT_REGEX_BYTES + 1 }, REGEX_RE2, &r), E_INVALID);
	assert_status(ecma_translate(&u.cx, (str){ long_pattern, LIMIT_REGEX_BYTES + 1 }, &text), E_INVALID);
	memset(long_pattern, '[', 1); /* one character of a long list: few instructions */
	long_pattern[LIMIT_REGEX_BYTES - 1] = ']';
	assert_status(regex_new(&u.cx, (str){ long_pattern, LIMIT_REGEX_BYTES }, REGEX_ECMA, &r), OK);
	regex_free(r);
}

static void
a_pattern_that_grows_too_much_is_refused(void **state)
{
	char sets[LIMIT_REGEX_BYTES];
	UNIT(u);
	struct ecma_text text;

	(void)state;
	for (size_t i = 0; i < sizeof(sets); i++)
		sets[i] = i % 2 ? 'S' : '\\';
	sets[0] = '[';
	sets[1] = 'x';
	sets[sizeof(sets) - 1] = ']';
	sets[sizeof(sets) - 2] = 'x';
	assert_status(ecma_translate(&u.cx, (str){ sets, sizeof(sets) }, &text), E_INVALID);
	assert_str(u.cx.error.message, "the pattern is too large");
}

static void
nested_groups_to_the_limit_do_no_harm(void **state)
{
	char deep[LIMIT_REGEX_BYTES];
	UNIT(u);
	struct regex *r = NULL;

	(void)state;
	memset(deep, '(', sizeof(deep) / 2);
	memset(deep + sizeof(deep) / 2, ')', sizeof(deep) / 2);
	if (regex_new(&u.cx, (str){ deep, sizeof(deep) }, REGEX_ECMA, &r) == OK)
		regex_free(r);
	else
		assert_int_equal(u.cx.error.code, E_INVALID);
	memset(deep, '(', sizeof(deep));
	assert_status(regex_new(&u.cx, (str){ deep, sizeof(deep) }, REGEX_ECMA, &r), E_INVALID);
}

static void
a_repeat_bomb_is_refused(void **state)
{
	UNIT(u);
	struct regex *r = NULL;

	(void)state;
	assert_status(regex_new(&u.cx, STR("((((a{100}){100}){100}){100})"), REGEX_ECMA, &r), E_INVALID);
	assert_null(r);
}

static void
a_whole_text_and_a_part_are_different_questions(void **state)
{
	UNIT(u);
	struct regex *r;

	(void)state;
	assert_status(regex_new(&u.cx, STR("b+"), REGEX_RE2, &r), OK);
	assert_true(regex_find(r, STR("abbc")));
	assert_false(regex_full(r, STR("abbc")));
	assert_true(regex_full(r, STR("bbb")));
	assert_false(regex_find(r, (str){ NULL, 0 }));
	regex_free(r);
	regex_free(NULL);
}

static void
re2s_own_dialect_is_left_as_it_is(void **state)
{
	UNIT(u);
	struct regex *r = NULL;

	(void)state;
	assert_status(regex_new(&u.cx, STR("(?i)ABC\\z"), REGEX_RE2, &r), OK);
	assert_true(regex_find(r, STR("xabc")));
	regex_free(r);
	assert_status(regex_new(&u.cx, STR("(?=a)"), REGEX_RE2, &r), E_INVALID);
}

/* --- what it costs --- */

/* As large as a pattern may be and one more, in both dialects; and what RE2 gives up on. */
static void
a_program_has_a_largest_size_in_each_dialect(void **state)
{
	static const struct {
		enum regex_dialect dialect;
		const char *small, *large;
	} cases[] = {
		{ REGEX_RE2, "a{200}", "a{300}" },
		{ REGEX_ECMA, "\\p{L}{1,3}", "\\p{L}{1,4}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		UNIT(u);
		struct regex *r = NULL;

		assert_status(regex_new(&u.cx, str_of(cases[i].large), cases[i].dialect, &r), E_INVALID);
		assert_null(r);
		assert_non_null(strstr(
			arena_cstr(&u.arena, u.cx.error.message), "is too much work: the pattern has"));
		assert_status(regex_new(&u.cx, str_of(cases[i].small), cases[i].dialect, &r), OK);
		regex_free(r);
	}
}

static void
a_match_costs_its_text_times_its_program(void **state)
{
	UNIT(u);
	struct regex *small = NULL, *large = NULL;

	(void)state;
	assert_status(regex_new(&u.cx, STR("a{2}"), REGEX_ECMA, &small), OK);
	assert_status(regex_new(&u.cx, STR("a{800}"), REGEX_ECMA, &large), OK);
	assert_true(regex_program(large) > 100 * regex_program(small) / 2);
	assert_true(regex_steps(large, 2000) >= 2000 * (regex_program(large) / 4));
	assert_true(regex_steps(large, 4000) > 19 * regex_steps(large, 200));
	assert_true(regex_steps(small, 2000) < regex_steps(large, 2000) / 20);
	regex_free(small);
	regex_free(large);
}

static void
compiling_is_charged_to_the_request_also_where_it_fails(void **state)
{
	UNIT(u);
	struct regex *r = NULL;
	unsigned tries = 0;
	status s;

	(void)state;
	do {
		s = regex_new(&u.cx, STR("\\p{L}{1,4}"), REGEX_ECMA, &r);
		tries++;
	} while (s == E_INVALID && tries < 10000);
	assert_status(s, E_TOO_LARGE);
	assert_true(tries > 10);
	assert_null(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ecma_patterns_mean_what_ecma_says),
		cmocka_unit_test(what_is_not_a_pattern_is_refused_with_a_sentence),
		cmocka_unit_test(what_re2_lacks_is_a_pattern_but_refused),
		cmocka_unit_test(an_unknown_property_is_refused_by_re2),
		cmocka_unit_test(a_pattern_has_a_longest_length),
		cmocka_unit_test(a_pattern_that_grows_too_much_is_refused),
		cmocka_unit_test(nested_groups_to_the_limit_do_no_harm),
		cmocka_unit_test(a_repeat_bomb_is_refused),
		cmocka_unit_test(a_whole_text_and_a_part_are_different_questions),
		cmocka_unit_test(re2s_own_dialect_is_left_as_it_is),
		cmocka_unit_test(a_program_has_a_largest_size_in_each_dialect),
		cmocka_unit_test(a_match_costs_its_text_times_its_program),
		cmocka_unit_test(compiling_is_charged_to_the_request_also_where_it_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
