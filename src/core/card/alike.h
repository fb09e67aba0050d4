/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alike: letters, digits and signs that are taken for others (AP-7, UTS 39).
 *
 * A word is mixed where letters of two scripts that look alike touch, or where a part of it reads as Latin and hangs on
 * a Latin one ("сс.com"). A word that is all in another script and reads as Latin ("асе") deceives beside Latin text,
 * and is an ordinary word beside words of its own script: so a line is judged as a whole, and a document, too. Pure.
 */
#ifndef CORE_CARD_ALIKE_H
#define CORE_CARD_ALIKE_H

#include "core/card/looks.h"

enum alike_found {
	ALIKE_MIXED = 1, /* a word mixes scripts */
	ALIKE_READS = 2, /* something reads as what it is not */
};

/* What the texts of a document have among them. */
struct alike_document {
	bool latin;	  /* a Latin word */
	uint64_t clear;	  /* scripts of which there is a word that cannot be taken for a Latin one */
	uint64_t suspect; /* scripts of which a word reads as Latin where its text does not say which it is */
};

/* The bits of one text, and adds it to the document. */
unsigned alike_read(str text, struct alike_document *d);

/* The bits that only the whole document shows. */
unsigned alike_judge(const struct alike_document *d);

#endif
