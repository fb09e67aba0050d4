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
	double number;	       /* NUMBER: the nearest double */
	str text;	       /* TEXT; NUMBER: as it was written */
};

/* What value is; arrays and objects only by their type. Borrows the text. NULL gives NONE. */
struct scalar scalar_of(const struct json *value);
struct scalar scalar_text(str text);

/* Both are numbers: negative, 0, positive. */
int scalar_order(const struct scalar *a, const struct scalar *b);

/* False for arrays, objects and what is missing. */
bool scalar_equal(const struct scalar *a, const struct scalar *b);

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
