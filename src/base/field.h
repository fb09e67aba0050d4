/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field: a C struct described as data, so that one table reads it from JSON,
 * writes it to JSON, fills it from a database row and documents it.
 *
 *	struct note { int64_t id; str title; bool done; };
 *	static const struct field note_fields[] = {
 *		FIELD_INT(struct note, id, .need = true, .doc = "Which note."),
 *		FIELD_TEXT(struct note, title, .min = 1, .max = 200, .doc = "One line."),
 *		FIELD_BOOL(struct note, done),
 *		FIELD_END,
 *	};
 *
 * Members are snake_case; in JSON they are camelCase (base_rev, baseRev). In a
 * row the fields stand in the order of the statement's columns.
 */
#ifndef BASE_FIELD_H
#define BASE_FIELD_H

#include "base/str.h"

struct json;

enum field_type {
	FIELD_TYPE_END,
	FIELD_TYPE_INT,	 /* int64_t */
	FIELD_TYPE_BOOL, /* bool */
	FIELD_TYPE_TEXT, /* str, UTF-8; from a row: not NULL, or empty */
	FIELD_TYPE_BLOB, /* str, bytes; rows only */
	FIELD_TYPE_JSON, /* struct json *: any document; NULL where it is absent. From a row: str is parsed by
			    the caller */
};

struct field {
	const char *name; /* the member's name, snake_case */
	enum field_type type;
	size_t offset;
	bool need;	  /* absent is an error, and so is null, except for JSON: there it is a value */
	int64_t min, max; /* INT: the value; TEXT: the length in bytes; both 0: not bounded;
			     max below min: no upper bound */
	const char *doc;  /* one sentence */
	const char *const *choices; /* TEXT: the only values, NULL-terminated; NULL: any */
};

/* 0 where the member has the type that the table says; else it does not compile. */
#define FIELD_IS(have, want) (0 * sizeof(char[__builtin_types_compatible_p(have, want) ? 1 : -1]))
#define FIELD_OF(t, st, member, type_, ...)                                                                  \
	{                                                                                                    \
		.name = #member, .type = (t),                                                                \
		.offset = offsetof(st, member) + FIELD_IS(__typeof__(((st *)0)->member), type_), __VA_ARGS__ \
	}
#define FIELD_INT(st, member, ...)  FIELD_OF(FIELD_TYPE_INT, st, member, int64_t, __VA_ARGS__)
#define FIELD_BOOL(st, member, ...) FIELD_OF(FIELD_TYPE_BOOL, st, member, bool, __VA_ARGS__)
#define FIELD_TEXT(st, member, ...) FIELD_OF(FIELD_TYPE_TEXT, st, member, str, __VA_ARGS__)
#define FIELD_BLOB(st, member, ...) FIELD_OF(FIELD_TYPE_BLOB, st, member, str, __VA_ARGS__)
#define FIELD_JSON(st, member, ...) FIELD_OF(FIELD_TYPE_JSON, st, member, struct json *, __VA_ARGS__)
#define FIELD_END                                                                                            \
	{                                                                                                    \
		.type = FIELD_TYPE_END                                                                       \
	}

#endif
