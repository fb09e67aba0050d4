/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes core/card's table of characters (core/card/looks.h) from what Debian's ICU knows of them. Runs while
 * Countersign is built:	looks OUTPUT
 */
#include "core/card/looks.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/uset.h>
#include <unicode/uspoof.h>

#define CHARACTERS 0x110000
#define MOST_KINDS 60000

static USpoofChecker *checker;

static void
check(UErrorCode e, const char *what)
{
	if (U_SUCCESS(e))
		return;
	fprintf(stderr, "looks: %s: %s\n", what, u_errorName(e));
	exit(1);
}

/* --- the script --- */

static uint32_t
other_script(UScriptCode s)
{
	static UScriptCode seen[LOOKS_SCRIPTS];
	static uint32_t count;
	uint32_t i = 0;

	if (uscript_getUsage(s) != USCRIPT_USAGE_RECOMMENDED)
		return LOOKS_RARE;
	while (i < count && seen[i] != s)
		i++;
	if (i == count)
		seen[count++] = s;
	if (LOOKS_FIRST_OTHER + i >= LOOKS_SCRIPTS) {
		fprintf(stderr, "looks: there are more scripts than LOOKS_SCRIPTS\n");
		exit(1);
	}
	return LOOKS_FIRST_OTHER + i;
}

static uint32_t
script_of(UChar32 c)
{
	UErrorCode e = U_ZERO_ERROR;
	UScriptCode s = uscript_getScript(c, &e);

	check(e, "script");
	switch ((int)s) {
	case USCRIPT_COMMON:
	case USCRIPT_INHERITED:
	case USCRIPT_UNKNOWN:
		return LOOKS_NO_SCRIPT;
	case USCRIPT_LATIN:
		return LOOKS_LATIN;
	case USCRIPT_CYRILLIC:
		return LOOKS_CYRILLIC;
	case USCRIPT_GREEK:
		return LOOKS_GREEK;
	case USCRIPT_ARMENIAN:
		return LOOKS_ARMENIAN;
	case USCRIPT_GEORGIAN:
		return LOOKS_GEORGIAN;
	case USCRIPT_HAN:
	case USCRIPT_HIRAGANA:
	case USCRIPT_KATAKANA:
	case USCRIPT_BOPOMOFO:
	case USCRIPT_HANGUL:
		return LOOKS_CJK;
	default:
		return other_script(s);
	}
}

/* --- what it is taken for --- */

/* The skeleton of one character without the marks on it. */
static int
skeleton(UChar32 c, UChar *out, int most)
{
	UErrorCode e = U_ZERO_ERROR;
	UChar text[2], whole[64];
	int32_t n = 0, length, kept = 0;

	U16_APPEND_UNSAFE(text, n, c);
	length = uspoof_getSkeleton(checker, 0, text, n, whole, 64, &e);
	check(e, "skeleton");
	for (int32_t i = 0; i < length && kept < most; i++)
		if (u_charType(whole[i]) != U_NON_SPACING_MARK)
			out[kept++] = whole[i];
	return kept;
}

/* Signs that end or divide an address; a full-width one in a sentence of Chinese or Japanese is an ordinary one, so only
 * those that the rules of domain names read as a dot, and those of a path, are listed here (UTS 46). */
static char
sign(UChar32 c)
{
	static const struct {
		UChar32 c;
		char as;
	} wide[] = { { 0x3002, '.' }, { 0xff0e, '.' }, { 0xff61, '.' }, { 0xff0f, '/' }, { 0xff20, '@' },
		{ 0xff03, '#' }, { 0xff3c, '\\' } };

	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
		if (wide[i].c == c)
			return wide[i].as;
	return 0;
}

static char
like(UChar32 c)
{
	static const char as[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ23456789./:@#!?\\";
	UChar mine[64], theirs[64];
	int n;

	if (c < 0x80 || (c >= 0xff01 && c <= 0xff20) || sign(c))
		return sign(c);
	n = skeleton(c, mine, 64);
	for (const char *p = as; *p; p++)
		if (skeleton(*p, theirs, 64) == n && memcmp(mine, theirs, (size_t)n * sizeof(UChar)) == 0)
			return *p;
	return 0;
}

/* --- the rest --- */

static bool
is_reserved(UChar32 c)
{
	/* of pictures and Han characters that a later Unicode has */
	return u_charType(c) == U_UNASSIGNED &&
	       (u_hasBinaryProperty(c, UCHAR_EXTENDED_PICTOGRAPHIC) || (c >= 0x20000 && c < 0x3fffe)) &&
	       !u_hasBinaryProperty(c, UCHAR_NONCHARACTER_CODE_POINT);
}

static uint32_t
hides(UChar32 c)
{
	if (c == '\n' || c == '\t' || is_reserved(c))
		return 0;
	if (u_hasBinaryProperty(c, UCHAR_BIDI_CONTROL))
		return LOOKS_BIDI;
	if ((c >= 0x206a && c <= 0x206f) || c == 0xfffc || c >= 0xe0000)
		return LOOKS_CONTROL;
	if (c == 0x2800 || c == 0x1d159) /* a blank braille cell, a note without a head */
		return LOOKS_WIDTHLESS;
	switch (u_charType(c)) {
	case U_UNASSIGNED:
	case U_CONTROL_CHAR:
	case U_PRIVATE_USE_CHAR:
	case U_SURROGATE:
	case U_LINE_SEPARATOR:
	case U_PARAGRAPH_SEPARATOR:
		return LOOKS_CONTROL;
	default:
		if (u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT))
			return LOOKS_WIDTHLESS;
		return u_charType(c) == U_FORMAT_CHAR ? LOOKS_CONTROL : 0;
	}
}

static uint32_t
joins(UChar32 c)
{
	switch (u_getIntPropertyValue(c, UCHAR_JOINING_TYPE)) {
	case U_JT_DUAL_JOINING:
	case U_JT_JOIN_CAUSING:
		return LOOKS_JOINS_NEXT | LOOKS_JOINS_LAST;
	case U_JT_LEFT_JOINING:
		return LOOKS_JOINS_NEXT;
	case U_JT_RIGHT_JOINING:
		return LOOKS_JOINS_LAST;
	default:
		return 0;
	}
}

static uint32_t
kind_of_sign(UChar32 c)
{
	uint32_t look = 0;
	bool picture = c > 0x7f && (u_hasBinaryProperty(c, UCHAR_EXTENDED_PICTOGRAPHIC) ||
					   u_hasBinaryProperty(c, UCHAR_EMOJI_MODIFIER));

	if (picture)
		look |= LOOKS_PICTURE;
	if (c > 0x7f && u_hasBinaryProperty(c, UCHAR_EMOJI))
		look |= LOOKS_EMOJI;
	if (u_charType(c) == U_SPACE_SEPARATOR)
		look |= LOOKS_BLANK;
	if (u_charType(c) == U_DECIMAL_DIGIT_NUMBER)
		look |= LOOKS_IS_DIGIT | (uint32_t)u_charDigitValue(c) << LOOKS_DIGIT_SHIFT;
	return look;
}

static uint32_t
kind_of_letter(UChar32 c)
{
	int8_t category = u_charType(c);
	uint8_t class = u_getCombiningClass(c);
	uint32_t look = 0;

	if (category == U_NON_SPACING_MARK || category == U_ENCLOSING_MARK)
		look |= LOOKS_MARK;
	else if (u_hasBinaryProperty(c, UCHAR_ALPHABETIC))
		look |= LOOKS_LETTER;
	if (category == U_ENCLOSING_MARK || class == 1)
		look |= LOOKS_OVERLAY;
	if (class == 9)
		look |= LOOKS_VIRAMA;
	if (u_hasBinaryProperty(c, UCHAR_UPPERCASE))
		look |= LOOKS_UPPER;
	if ((c >= 0xff21 && c <= 0xff5a && u_isalpha(c)) || (c >= 0x1d400 && c <= 0x1d7ff))
		look |= LOOKS_IMITATION;
	return look;
}

static uint32_t
look_at(UChar32 c, const USet *allowed)
{
	uint32_t look = script_of(c) | (uint32_t)like(c) << LOOKS_LIKE_SHIFT | hides(c) << LOOKS_HIDES_SHIFT;

	look |= kind_of_letter(c) | kind_of_sign(c) | joins(c);
	return uset_contains(allowed, c) ? look : look | LOOKS_RESTRICTED;
}

/* --- writing it down --- */

struct table {
	uint32_t kinds[MOST_KINDS];
	uint32_t from[CHARACTERS];
	uint32_t which[CHARACTERS];
	size_t kind_count, count;
};

static uint32_t
kind_number(struct table *t, uint32_t look)
{
	uint32_t i = 0;

	while (i < t->kind_count && t->kinds[i] != look)
		i++;
	if (i == MOST_KINDS) {
		fprintf(stderr, "looks: there are more kinds of characters than MOST_KINDS\n");
		exit(1);
	}
	if (i == t->kind_count)
		t->kinds[t->kind_count++] = look;
	return i;
}

static void
gather(struct table *t)
{
	UErrorCode e = U_ZERO_ERROR;
	const USet *recommended = uspoof_getRecommendedSet(&e), *inclusion = uspoof_getInclusionSet(&e);
	USet *allowed = uset_cloneAsThawed(recommended);
	uint32_t last = 0;

	check(e, "sets");
	uset_addAll(allowed, inclusion);
	for (UChar32 c = 0; c < CHARACTERS; c++) {
		uint32_t look = look_at(c, allowed);

		if (c > 0 && look == last)
			continue;
		t->from[t->count] = (uint32_t)c;
		t->which[t->count++] = kind_number(t, look);
		last = look;
	}
	uset_close(allowed);
}

static void
write_list(FILE *f, const char *type, const char *name, const uint32_t *list, size_t count)
{
	fprintf(f, "static const %s %s[] = {", type, name);
	for (size_t i = 0; i < count; i++)
		fprintf(f, "%s0x%x,", i % 12 ? " " : "\n\t", list[i]);
	fprintf(f, "\n};\n");
}

static size_t
range_of(const struct table *t, uint32_t c)
{
	size_t i = 0;

	while (i + 1 < t->count && t->from[i + 1] <= c)
		i++;
	return i;
}

static void
write_pages(FILE *f, const struct table *t)
{
	for (uint32_t p = 0; p < LOOKS_PAGES; p++)
		fprintf(f, "%s%zu,", p % 16 ? " " : "\n\t", range_of(t, p * LOOKS_PAGE));
	fprintf(f, " %zu,", t->count - 1);
}

static void
write_table(FILE *f, const struct table *t)
{
	fprintf(f,
		"/* Written by tools/looks.c from ICU " U_ICU_VERSION ", Unicode " U_UNICODE_VERSION ". */\n"
		"#include \"core/card/looks.h\"\n\n");
	write_list(f, "uint32_t", "from", t->from, t->count);
	write_list(f, "uint16_t", "which", t->which, t->count);
	write_list(f, "uint32_t", "kinds", t->kinds, t->kind_count);
	fprintf(f, "const struct looks_table looks_table = { from, which, kinds, {");
	write_pages(f, t);
	fprintf(f, "\n}, {");
	for (size_t c = 0; c < 128; c++)
		fprintf(f, "%s0x%x,", c % 12 ? " " : "\n\t", t->kinds[t->which[range_of(t, (uint32_t)c)]]);
	fprintf(f, "\n} };\n");
}

int
main(int argc, char **argv)
{
	static struct table table;
	UErrorCode e = U_ZERO_ERROR;
	FILE *f;

	if (argc != 2) {
		fprintf(stderr, "looks OUTPUT\n");
		return 2;
	}
	checker = uspoof_open(&e);
	check(e, "checker");
	gather(&table);
	uspoof_close(checker);
	f = fopen(argv[1], "w");
	if (!f) {
		perror(argv[1]);
		return 1;
	}
	write_table(f, &table);
	return fclose(f) == 0 ? 0 : 1;
}
