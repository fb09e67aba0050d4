/* SPDX-License-Identifier: Apache-2.0 */
/* Text as a person will really see it (AP-7): a corpus of ways to deceive, and what must stay as it is. */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "core/card/looks.h"
#include "core/card/visible.h"

#include <stdio.h>

static void
assert_shown(const char *text, const char *shown, unsigned expected)
{
	unsigned found = 0;

	UNIT(u);
	assert_str(visible_text(&u.arena, str_of(text), &found), shown);
	if (found != expected)
		print_error("%s\n", text);
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
	assert_shown("pa\u200b\u0443", "pa\\u{200B}\u0443", VISIBLE_MIXED | VISIBLE_ZERO_WIDTH);
}

/* It is shown as it is, and reported as `expected`. */
static void
assert_found(const char *text, unsigned expected)
{
	assert_shown(text, text, expected);
}

static void
letters_that_nobody_uses_for_words_are_mixed_in(void **state)
{
	(void)state;
	assert_found("paypa\u217c.com", VISIBLE_MIXED);		      /* a Roman numeral */
	assert_found("\ua4d1aypal", VISIBLE_MIXED);		      /* Lisu */
	assert_found("p\u2c81ypal", VISIBLE_MIXED);		      /* Coptic */
	assert_found("g\U0001042cogle", VISIBLE_MIXED);		      /* Deseret */
	assert_found("g\u13aaogle", VISIBLE_MIXED);		      /* Cherokee */
	assert_found("pa\u017fsword", VISIBLE_MIXED);		      /* a long s */
	assert_found("Stop\u01c3now", VISIBLE_MIXED | VISIBLE_ALIKE); /* a click, no exclamation mark */
	assert_found("g\u12d0\u12d0gle", VISIBLE_MIXED);	      /* Ethiopic, with Latin on both sides */
	assert_found("Chapter \u2162", 0);			      /* a numeral alone is one */
	assert_found("10 \u03bcs, 50 k\u03a9", 0);
}

static void
a_word_in_another_script_that_reads_as_latin_is_reported_beside_latin(void **state)
{
	(void)state;
	assert_found("Transfer it to \u0430\u0441\u0435", VISIBLE_ALIKE);
	assert_found(
		"Transfer it to \u0430\u0441\u0435 now, \u043f\u0440\u0438\u0432\u0435\u0442", VISIBLE_ALIKE);
	assert_found("\u0430\u0441\u0435", 0); /* nothing beside it is Latin */
	assert_found(
		"\u041a\u0443\u043f\u0438 \u0441\u0430\u0445\u0430\u0440 Docker", 0); /* among its like */
	assert_found("\ua4d1\ua4ee\ua4ec", VISIBLE_ALIKE); /* nobody writes Lisu without a reason */
	assert_found("A\n\u0430) one\n", VISIBLE_ALIKE);
	assert_found("Set \u03b1 to 1", 0);
	assert_found("\u041e\u0421-Linux", VISIBLE_MIXED); /* of no line in Cyrillic */
	assert_found("\u0414\u043b\u044f \u041e\u0421-Linux", 0);
	assert_found("\u0414\u043b\u044f \u0441\u0441.com", VISIBLE_MIXED);
}

static void
signs_and_digits_that_read_as_letters_are_reported(void **state)
{
	(void)state;
	assert_found("pa\u222apal", VISIBLE_ALIKE); /* a union */
	assert_found("paypa\u2223", VISIBLE_ALIKE); /* divides */
	assert_found("C\U0001d216\u22c3SS", VISIBLE_ALIKE);
	assert_found("g\u0665ogle", VISIBLE_MIXED); /* an Arabic five */
	assert_found("A\u222aB, a\u2223b", 0);
	assert_found("1920\u00d71080, width\u00d7height", 0);
}

static void
letters_that_read_as_digits_are_reported(void **state)
{
	(void)state;
	assert_found("Pay 1\u041e\u041e euro", VISIBLE_ALIKE);
	assert_found("Pay 1\u039f\u039f euro", VISIBLE_ALIKE);
	assert_found("\u0417\u0430\u043f\u043b\u0430\u0442\u0438 1\u041e\u041e \u0435\u0432\u0440\u043e",
		VISIBLE_ALIKE);
	assert_found("Pay 1\u0660\u0660", VISIBLE_ALIKE); /* digits of two scripts in one number */
	assert_found("\u0434\u043e\u043c 2\u0431, 5\u0430", 0);
	assert_found("\u03c4\u03bf 2\u03bf \u03bc\u03ad\u03c1\u03bf\u03c2", 0);
}

static void
signs_that_move_the_end_of_an_address_are_reported(void **state)
{
	static const char *const signs[] = { "\u2044", "\u2215", "\u29f8", "\uff0f", "\uff0e", "\u3002",
		"\uff61", "\u2024", "\ua789", "\uff20" };

	(void)state;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "https://good.example%sevil", signs[i]);
		assert_found(text, VISIBLE_ALIKE);
	}
	assert_found("1\u20442 of it", 0);
	assert_found("Redis\u3002Kafka\u4e5f\u8981", 0); /* a sentence ends */
	assert_found("10\uff0e000", VISIBLE_ALIKE);
}

static void
marks_that_hide_or_strike_out_are_made_visible(void **state)
{
	(void)state;
	assert_shown("a\u0336d\u0336", "a\\u{0336}d\\u{0336}", VISIBLE_MARKS);
	assert_shown("p\u0338ay", "p\\u{0338}ay", VISIBLE_MARKS);
	assert_shown("o\u20dd", "o\\u{20DD}", VISIBLE_MARKS);
	assert_shown("admi\u0307n", "admi\\u{0307}n", VISIBLE_MARKS); /* a dot on a dot */
	assert_shown("a\u0301\u0301", "a\u0301\\u{0301}", VISIBLE_MARKS);
	assert_shown("a\u0300\u0301\u0302\u0303\u0304", "a\u0300\u0301\u0302\u0303\\u{0304}", VISIBLE_MARKS);
	assert_shown("1\ufe0f\u20e3", "1\ufe0f\u20e3", 0); /* a key */
}

static void
every_format_character_and_every_space_counts(void **state)
{
	static const uint32_t formats[] = { 0x13430, 0x1343f, 0x110bd, 0x110cd, 0x70f, 0x600, 0x6dd, 0x8e2,
		0x180e, 0x378 };
	static const char *const spaces[] = { "\u202f", "\u205f", "\u1680", "\u00a0", "\u2003", "\u3000" };

	(void)state;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		assert_int_not_equal(LOOKS_HIDES(looks_of(formats[i])), 0);
	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		unsigned found = 0;
		struct buf b;

		UNIT(u);
		buf_init(&b, &u.arena, 4096);
		for (size_t n = 0; n < 300; n++)
			buf_add(&b, str_of(spaces[i]));
		(void)visible_text(&u.arena, buf_str(&b), &found);
		assert_int_equal(found, VISIBLE_PADDING);
	}
}

static void
joiners_and_selectors_stay_only_where_they_are_needed(void **state)
{
	(void)state;
	assert_found("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", 0); /* Persian */
	assert_found("\u0915\u094d\u200d\u092f", 0);			     /* Devanagari */
	assert_found("\U0001f469\u200d\U0001f4bb \u2764\ufe0f\u200d\U0001f525", 0);
	assert_shown("\u0645\u200c\u200c\u0645", "\u0645\\u{200C}\\u{200C}\u0645", VISIBLE_ZERO_WIDTH);
	assert_shown("\u0631\u200c\u0645", "\u0631\\u{200C}\u0645", VISIBLE_ZERO_WIDTH); /* nothing to part */
	assert_shown("\U0001f469\u200dx", "\U0001f469\\u{200D}x", VISIBLE_ZERO_WIDTH);
	assert_shown("\u2764\ufe0f\ufe0f", "\u2764\ufe0f\\u{FE0F}", VISIBLE_ZERO_WIDTH);
	assert_shown("1\ufe0f", "1\\u{FE0F}", VISIBLE_ZERO_WIDTH);
}

/* The list that grows with every false alarm: ordinary sentences of many languages (tests/lib/ordinary.txt). */
static void
ordinary_sentences_stay_unflagged(void **state)
{
	FILE *f = fopen("tests/lib/ordinary.txt", "re");
	size_t sentences = 0, flagged = 0;
	char line[1024];

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned found = 0;
		str text = { line, strcspn(line, "\n") }, shown;

		UNIT(u);
		if (str_starts(text, STR("#")))
			continue;
		shown = visible_text(&u.arena, text, &found);
		sentences++;
		if (!found && str_eq(shown, text))
			continue;
		print_error("found %#x in: %.*s\n", found, STR_ARG(shown));
		flagged++;
	}
	(void)fclose(f);
	assert_true(sentences > 60);
	assert_int_equal(flagged, 0);
}

static void
a_document_is_judged_as_a_whole(void **state)
{
	static const struct {
		const char *text;
		unsigned expected;
	} cases[] = {
		{ "{\"to\": \"\u0430\u0441\u0435\", \"memo\": \"Invoice 12\"}", VISIBLE_ALIKE },
		{ "{\"\u0430\u0441\u0435\": 1, \"paypal\": 2}", VISIBLE_ALIKE },
		{ "{\"title\": \"\u0441\u0430\u0445\u0430\u0440\"}", 0 },
		{ "{\"title\": \"\u0441\u0430\u0445\u0430\u0440\", \"text\": \"\u041a\u0443\u043f\u0438\", "
		  "\"by\": \"Ann\"}",
			0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned found = 0;
		struct json *doc;

		UNIT(u);
		assert_status(json_parse(&u.cx, str_of(cases[i].text), &doc), OK);
		(void)visible_json(&u.arena, doc, &found);
		assert_int_equal(found, cases[i].expected);
	}
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
	for (unsigned bit = 0; 1u << bit <= VISIBLE_MARKS; bit++)
		assert_non_null(visible_sentence(bit));
	assert_null(visible_sentence(7));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(honest_text_stays_as_it_is),
		cmocka_unit_test(what_hides_or_reorders_is_made_visible_and_named),
		cmocka_unit_test(bytes_that_are_no_text_are_shown),
		cmocka_unit_test(a_word_in_two_scripts_is_reported),
		cmocka_unit_test(letters_that_nobody_uses_for_words_are_mixed_in),
		cmocka_unit_test(a_word_in_another_script_that_reads_as_latin_is_reported_beside_latin),
		cmocka_unit_test(signs_and_digits_that_read_as_letters_are_reported),
		cmocka_unit_test(letters_that_read_as_digits_are_reported),
		cmocka_unit_test(signs_that_move_the_end_of_an_address_are_reported),
		cmocka_unit_test(marks_that_hide_or_strike_out_are_made_visible),
		cmocka_unit_test(every_format_character_and_every_space_counts),
		cmocka_unit_test(joiners_and_selectors_stay_only_where_they_are_needed),
		cmocka_unit_test(ordinary_sentences_stay_unflagged),
		cmocka_unit_test(a_document_is_judged_as_a_whole),
		cmocka_unit_test(long_stretches_of_nothing_are_reported),
		cmocka_unit_test(one_line_has_no_line_breaks),
		cmocka_unit_test(a_document_is_shown_with_its_names),
		cmocka_unit_test(every_finding_has_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
