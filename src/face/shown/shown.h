/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shown: text of others, and the card of a proposal, for people who read text: on a terminal, in a chat.
 *
 * Visible, and never where only our own words stand: nothing in it moves the cursor, hides, or looks like a line
 * that we wrote (AP-7).
 */
#ifndef FACE_SHOWN_SHOWN_H
#define FACE_SHOWN_SHOWN_H

#include "base/buf.h"
#include "base/ctx.h"
#include "json/json.h"

/* --- shown.c --- */

/* The member of o, or NULL: o may be NULL or no object. */
const struct json *part_of(const struct json *o, const char *key);

/* The text that o has under key, or "". Of a missing o, too. */
str text_of(const struct json *o, const char *key);

/* In one line, visible. */
str shown_line(struct arena *a, str text);

/* A cell of a table: in one line, and filled up with blanks to width. Longer text stays whole. */
void shown_cell(struct buf *b, str text, size_t width);

/* Label and text; lines that follow, its own or by the width of the screen, stand behind the label's column.
 */
void shown_field(struct buf *b, const char *label, str text);

/* Label and text in one line however long it is: for what is copied, such as a token. */
void shown_whole(struct buf *b, const char *label, str text);

/* The same as shown_field with a mark (such as "> ") in front of each line, and no label. */
void shown_marked(struct buf *b, const char *mark, str text);

/* The value as one line of JSON, visible. */
str shown_json(struct ctx *cx, const struct json *value);

/* --- card.c --- */

/* How many votes there are of how many that are needed; approvals as the server gives them, or NULL. */
str card_votes(struct ctx *cx, const struct json *approvals);

/* What a person decides on, in the order of AP-6; p is the whole proposal as the server gives it. */
void card_show(struct ctx *cx, struct buf *b, const struct json *p);

/*
 * Is the card of p the one that its viewHash names? Then *out_hash is that hash. E_VIEW
 */
status card_check(struct ctx *cx, const struct json *p, str *out_hash) MUST_USE;

#endif
