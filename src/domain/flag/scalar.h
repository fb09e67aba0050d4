/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar: a value that rules compare, and sets of them.
 *
 * Numbers are compared by exact value (9007199254740993 is not 9007199254740992), texts by bytes, and nothing
 * is converted: "5" is not 5. A set finds in constant time; its hash is seeded, so
 * that nobody who writes lists can make it slow.
 */
#ifndef DOMAIN_FLAG_SCALAR_H
#define DOMAIN_FLAG_SCALAR_H

#include "json/json.h"

enum scalar_type { SCALAR_NONE, SCALAR_BOOL, SCALAR_NUMBER, SCALAR_TEXT, SCALAR_ARRAY, SCALAR_OBJECT };

struct scalar {
	enum scalar_type type; /* NONE: missing, or null */
	bool truth;	       /* BOOL */
	union {
		double number;	/* NUMBER: the nearest double */
		uint64_t begin; /* TEXT: most differ here, and short ones are all here */
	};
	str text; /* TEXT; NUMBER: as it was written */
};

/* What value is; arrays and objects only by their type. Borrows the text. NULL gives NONE. */
struct scalar scalar_of(const struct json *value);

/* The number that text is, written as JSON writes numbers. False where it is none; *out is then untouched. */
bool scalar_number(str text, struct scalar *out);

/* Both are numbers: negative, 0, positive. */
int scalar_order(const struct scalar *a, const struct scalar *b);

/* The first eight bytes; of a shorter text a word that, with its length, says all of them. */
static inline uint64_t
scalar_begin(str text)
{
	uint64_t word = 0;
	uint32_t first, last;

	if (text.len >= sizeof(word)) {
		memcpy(&word, text.ptr, sizeof(word));
	} else if (text.len >= sizeof(first)) {
		memcpy(&first, text.ptr, sizeof(first));
		memcpy(&last, text.ptr + text.len - sizeof(last), sizeof(last));
		word = (uint64_t)first << 32 | last;
	} else if (text.len) {
		const unsigned char *p = (const unsigned char *)text.ptr;

		word = (uint64_t)p[0] << 16 | (uint64_t)p[text.len / 2] << 8 | p[text.len - 1];
	}
	return word;
}

/* In place: a struct handed over by value costs more than looking it up. */
static inline void
scalar_set_text(struct scalar *out, str text)
{
	out->type = SCALAR_TEXT;
	out->begin = scalar_begin(text);
	out->text.ptr = text.ptr;
	out->text.len = text.len;
}

static inline struct scalar
scalar_text(str text)
{
	struct scalar s = { 0 };

	scalar_set_text(&s, text);
	return s;
}

/* False for arrays, objects and what is missing. */
static inline bool
scalar_equal(const struct scalar *a, const struct scalar *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == SCALAR_TEXT)
		return a->begin == b->begin && a->text.len == b->text.len &&
		       (a->text.len <= sizeof(a->begin) ||
			       memcmp(a->text.ptr, b->text.ptr, a->text.len) == 0);
	if (a->type == SCALAR_NUMBER)
		return scalar_order(a, b) == 0;
	return a->type == SCALAR_BOOL && a->truth == b->truth;
}

#define SET_NONE UINT32_MAX

/* Values in the order in which they were added; begins as {.arena, .seed}. */
struct set {
	struct arena *arena;
	uint64_t seed;
	struct scalar *values;
	uint32_t *index; /* places in values, plus one; NULL while there are only a few */
	uint32_t count, room, mask;
};

/* Makes room for n in all. E_TOO_LARGE: the arena's cap. */
status set_reserve(struct set *s, uint32_t n) MUST_USE;

/* Adds a copy of v unless it is there; *out_at is where. E_TOO_LARGE: the arena's cap. */
status set_add(struct set *s, struct scalar v, uint32_t *out_at) MUST_USE;

/* Where v is, or SET_NONE. */
uint32_t set_find(const struct set *s, const struct scalar *v);

#endif
