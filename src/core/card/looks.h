/* SPDX-License-Identifier: Apache-2.0 */
/*
 * looks: what Unicode says of a character that matters to somebody who reads it.
 *
 * tools/looks.c asks ICU, when Countersign is built, and writes a table of ranges: categories, scripts, joining types,
 * emoji, and what a character is taken for (UTS 39). The program itself needs no ICU (docs/decisions/0039).
 */
#ifndef CORE_CARD_LOOKS_H
#define CORE_CARD_LOOKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Scripts. Those of the family have letters that are drawn like another's of the family. */
enum looks_script {
	LOOKS_NO_SCRIPT, /* digits, signs, marks */
	LOOKS_LATIN,
	LOOKS_CYRILLIC,
	LOOKS_GREEK,
	LOOKS_ARMENIAN,
	LOOKS_GEORGIAN,
	LOOKS_RARE, /* hardly anybody writes them today (UAX 31, tables 4 and 7): Lisu, Coptic, Deseret ... */
	LOOKS_CJK,  /* Han, kana, bopomofo and Hangul: written together, and with Latin */
	LOOKS_FIRST_OTHER, /* the other recommended scripts (UAX 31, table 5), a number each */
	LOOKS_SCRIPTS = 64
};

/* One character in 32 bits. */
#define LOOKS_SCRIPT(look) ((look)&0x3fu)
#define LOOKS_LIKE(look)   ((char)((look) >> 6 & 0x7fu)) /* the ASCII character it is taken for; 0: none */
#define LOOKS_HIDES(look)  ((look) >> 13 & 3u)
#define LOOKS_DIGIT(look)  ((look) >> 28)
enum {
	LOOKS_CONTROL = 1, /* LOOKS_HIDES: not shown, or not assigned */
	LOOKS_BIDI = 2,	   /* ... changes the order of what is read */
	LOOKS_WIDTHLESS = 3,
};
#define LOOKS_BLANK	  (1u << 15) /* a space of any width */
#define LOOKS_LETTER	  (1u << 16)
#define LOOKS_MARK	  (1u << 17) /* stands over or under the letter before it */
#define LOOKS_OVERLAY	  (1u << 18) /* is drawn through or around it */
#define LOOKS_IS_DIGIT	  (1u << 19)
#define LOOKS_PICTURE	  (1u << 20) /* emoji, and their colours of skin */
#define LOOKS_EMOJI	  (1u << 21) /* has a picture's form, too: a variation selector may follow */
#define LOOKS_VIRAMA	  (1u << 22)
#define LOOKS_JOINS_NEXT  (1u << 23) /* of Arabic and its like: is drawn together with the next letter */
#define LOOKS_JOINS_LAST  (1u << 24) /* ... with the last one */
#define LOOKS_RESTRICTED  (1u << 25) /* not for names (UTS 39): phonetic, historic, for compatibility */
#define LOOKS_IMITATION	  (1u << 26) /* a full-width or mathematical letter: nobody types them, they imitate */
#define LOOKS_UPPER	  (1u << 27)
#define LOOKS_DIGIT_SHIFT 28
#define LOOKS_LIKE_SHIFT  6
#define LOOKS_HIDES_SHIFT 13

#define LOOKS_PAGE  256u
#define LOOKS_PAGES (0x110000u / LOOKS_PAGE)

/* Written by tools/looks.c: from[i] is the first character of a range that ends where the next begins; which[i] says
 * which of the kinds it is. page[p] is the range that the first character of a page is in; one more ends the last. */
struct looks_table {
	const uint32_t *from;
	const uint16_t *which;
	const uint32_t *kinds;
	uint16_t page[LOOKS_PAGES + 1];
	uint32_t ascii[128];
};
extern const struct looks_table looks_table;

struct looks_char {
	uint32_t c, look;
	size_t n; /* bytes; 0: a byte that is no UTF-8, and c is that byte */
};

uint32_t looks_of(uint32_t c);

/* The character at text[at]; at < text.len. */
struct looks_char looks_at(str text, size_t at);

/* Where the one after it begins. */
static inline size_t
looks_after(const struct looks_char *c, size_t at)
{
	return at + (c->n ? c->n : 1);
}

#endif
