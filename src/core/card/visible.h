/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visible: text as a person will really see it (AP-7).
 *
 * Characters that hide or reorder (control, format, bidi, zero-width, tag, variation selectors, private use, not
 * assigned, line and paragraph separators) and marks that are drawn through letters or heaped on them become visible as
 * \u{202E}; they are never dropped. Joiners and selectors stay where a script or an emoji needs them. What imitates
 * (alike.h), many blank lines or an endless line stay as they are but are reported. Pure.
 */
#ifndef CORE_CARD_VISIBLE_H
#define CORE_CARD_VISIBLE_H

#include "json/json.h"

/* What was found, as bits. */
enum visible_found {
	VISIBLE_CONTROL = 1, /* control and other characters without a glyph */
	VISIBLE_BIDI = 2,    /* changes the order of what is read */
	VISIBLE_ZERO_WIDTH = 4,
	VISIBLE_MIXED = 8,    /* one word in two scripts that look alike */
	VISIBLE_PADDING = 16, /* hides by distance: more than 20 blank lines, or 200 spaces of any kind */
	VISIBLE_ALIKE = 32,   /* is read as what it is not: "асе" beside Latin, "1ОО" */
	VISIBLE_MARKS = 64,   /* marks that strike letters out, hide behind them or are heaped on them */
};

/* The text to show. *found gets the bits (it is added to). Newlines and tabs stay. */
str visible_text(struct arena *a, str text, unsigned *found);

/* The same for what must stay on one line: newlines and tabs are made visible, too. */
str visible_line(struct arena *a, str text, unsigned *found);

/* A copy of the document with every string and key made visible. */
struct json *visible_json(struct arena *a, const struct json *doc, unsigned *found);

/* A sentence for each bit, or NULL after the last. bit is 0, 1, 2 ... */
const char *visible_sentence(unsigned bit);

#endif
