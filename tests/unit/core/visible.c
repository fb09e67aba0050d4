/* SPDX-License-Identifier: Apache-2.0 */
/* Text as a person will really see it (AP-7): a corpus of ways to deceive, and what must stay as it is. */
#include "tests/unit/unit.h"

#include "core/card/visible.h"

static void
assert_shown(const char *text, const char *shown, unsigned expected)
{
	unsigned found = 0;

	UNIT(u);
	assert_str(visible_text(&u.arena, str_of(text), &found), shown);
	assert_int_equal(found, expected);
}

static void
honest_text_stays_as_it_is(void **state)
{
	(void)state;
	assert_shown("", "", 0);
	assert_shown("Hello,\n\tworld", "Hello,\n\tworld", 0);
	assert_shown("Añadir café, naïve, Øl", "Añadir café, naïve, Øl", 0);
	assert_shown("Привет, мир", "Привет, мир", 0);
	assert_shown("Αθήνα 2024", "Αθήνα 2024", 0);
	assert_shown("日本語 العربية עברית", "日本語 العربية עברית", 0);
	assert_shown("one слово each", "one слово each", 0); /* two scripts, but not in one word */
	assert_shown("🎉 done", "🎉 done", 0);
}

static void
what_hides_or_reorders_is_made_visible_and_named(void **state)
{
	(void)state;
	assert_shown("a\x01"
		     "b",
		"a\\u{0001}b", VISIBLE_CONTROL);
	assert_shown("a\x1b[31m", "a\\u{001B}[31m", VISIBLE_CONTROL);
	assert_shown("a\rb", "a\\u{000D}b", VISIBLE_CONTROL);
	assert_shown("a\x7f", "a\\u{007F}", VISIBLE_CONTROL);
	assert_shown("a\xc2\x85", "a\\u{0085}", VISIBLE_CONTROL);
	assert_shown("pay \xe2\x80\xae"
		     "gnp.exe",
		"pay \\u{202E}gnp.exe", VISIBLE_BIDI);
	assert_shown("\xe2\x81\xa6"
		     "x\xe2\x81\xa9",
		"\\u{2066}x\\u{2069}", VISIBLE_BIDI);
	assert_shown("x\xd8\x9c"
		     "\xe2\x80\x8f",
		"x\\u{061C}\\u{200F}", VISIBLE_BIDI);
	assert_shown("ad\u200bmin", "ad\\u{200B}min", VISIBLE_ZERO_WIDTH);
	assert_shown("ad\u00admin\ufeff\u2060", "ad\\u{00AD}min\\u{FEFF}\\u{2060}", VISIBLE_ZERO_WIDTH);
	assert_shown("a\u3164\u2800\uffa0", "a\\u{3164}\\u{2800}\\u{FFA0}", VISIBLE_ZERO_WIDTH);
	assert_shown("a\ufe0f", "a\\u{FE0F}", VISIBLE_ZERO_WIDTH);
	assert_shown("\U000e0041\U000e007f", "\\u{E0041}\\u{E007F}", VISIBLE_CONTROL); /* tags */
	assert_shown("\U000e0100", "\\u{E0100}", VISIBLE_CONTROL);
	assert_shown("a\u2028b\u2029", "a\\u{2028}b\\u{2029}", VISIBLE_CONTROL);
	assert_shown("\ue000\U000f0000", "\\u{E000}\\u{F0000}", VISIBLE_CONTROL); /* private use */
	assert_shown("\ufff9\ufffc\uffff", "\\u{FFF9}\\u{FFFC}\\u{FFFF}", VISIBLE_CONTROL);
}

static void
bytes_that_are_no_text_are_shown(void **state)
{
	(void)state;
	assert_shown("a\xff", "a\\u{00FF}", VISIBLE_CONTROL);
	assert_shown("\xc3", "\\u{00C3}", VISIBLE_CONTROL);
}

static void
a_word_in_two_scripts_is_reported(void **state)
{
	(void)state;
	assert_shown("p\u0430ypal", "p\u0430ypal", VISIBLE_MIXED);	 /* Cyrillic a */
	assert_shown("g\u03bfogle", "g\u03bfogle", VISIBLE_MIXED);	 /* Greek omicron */
	assert_shown("p\u0301\u0430y", "p\u0301\u0430y", VISIBLE_MIXED); /* an accent does not end a word */
	assert_shown("pay_\u0440al", "pay_\u0440al", VISIBLE_MIXED);	 /* nor a joint */
	assert_shown("pay2\u0440al", "pay2\u0440al", VISIBLE_MIXED);	 /* nor a digit */
	assert_shown("\uff41dmin", "\uff41dmin", VISIBLE_MIXED);	 /* full width */
	assert_shown(
		"\U0001d41a\U0001d41d", "\U0001d41a\U0001d41d", VISIBLE_MIXED); /* all of it mathematical */
	assert_shown("\u0570ello", "\u0570ello", VISIBLE_MIXED);		/* Armenian */
	assert_shown("\u0261oogle", "\u0261oogle", VISIBLE_MIXED);		/* phonetic */
	assert_shown(
		"\u0441\u0441.com", "\u0441\u0441.com", VISIBLE_MIXED); /* nor a dot: the end is in ours */
	assert_shown("a@\u0441\u0441", "a@\u0441\u0441", VISIBLE_MIXED);
	assert_shown("good\u2044evil", "good\u2044evil", VISIBLE_MIXED); /* no slash of an address */
	assert_shown("1\u20442 \u0434\u0430. No", "1\u20442 \u0434\u0430. No", 0);
	assert_shown("pa\u200b\u0443", "pa\\u{200B}\u0443", VISIBLE_MIXED | VISIBLE_ZERO_WIDTH);
}

static void
long_stretches_of_nothing_are_reported(void **state)
{
	char text[512];
	unsigned found = 0;

	(void)state;
	UNIT(u);
	memset(text, '\n', 30);
	(void)visible_text(&u.arena, (str){ text, 20 }, &found);
	assert_int_equal(found, 0);
	(void)visible_text(&u.arena, (str){ text, 21 }, &found);
	assert_int_equal(found, VISIBLE_PADDING);
	found = 0;
	memset(text, ' ', sizeof(text));
	(void)visible_text(&u.arena, (str){ text, 200 }, &found);
	assert_int_equal(found, 0);
	(void)visible_text(&u.arena, (str){ text, 201 }, &found);
	assert_int_equal(found, VISIBLE_PADDING);
}

static void
one_line_has_no_line_breaks(void **state)
{
	unsigned found = 0;

	(void)state;
	UNIT(u);
	assert_str(visible_line(&u.arena, STR("a\nb\tc"), &found), "a\\u{000A}b\\u{0009}c");
	assert_int_equal(found, VISIBLE_CONTROL);
}

static void
a_document_is_shown_with_its_names(void **state)
{
	struct json *doc;
	const struct json *shown;
	unsigned found = 0;

	(void)state;
	UNIT(u);
	assert_status(
		json_parse(&u.cx, STR("{\"a\\u202e\": [\"b\\u200b\", 1.50, null, {\"c\": true}]}"), &doc),
		OK);
	shown = visible_json(&u.arena, doc, &found);
	assert_int_equal(found, VISIBLE_BIDI | VISIBLE_ZERO_WIDTH);
	assert_str(shown->child->key, "a\\u{202E}");
	assert_int_equal(shown->child->count, 4);
	assert_str(json_at(shown->child, 0)->text, "b\\u{200B}");
	assert_str(json_at(shown->child, 1)->text, "1.50");
	assert_true(json_get(json_at(shown->child, 3), STR("c"))->truth);
	assert_str(doc->child->key, "a\xe2\x80\xae"); /* the document itself is not touched */
}

static void
every_finding_has_a_sentence(void **state)
{
	(void)state;
	for (unsigned bit = 0; 1u << bit <= VISIBLE_PADDING; bit++)
		assert_non_null(visible_sentence(bit));
	assert_null(visible_sentence(5));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(honest_text_stays_as_it_is),
		cmocka_unit_test(what_hides_or_reorders_is_made_visible_and_named),
		cmocka_unit_test(bytes_that_are_no_text_are_shown),
		cmocka_unit_test(a_word_in_two_scripts_is_reported),
		cmocka_unit_test(long_stretches_of_nothing_are_reported),
		cmocka_unit_test(one_line_has_no_line_breaks),
		cmocka_unit_test(a_document_is_shown_with_its_names),
		cmocka_unit_test(every_finding_has_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
