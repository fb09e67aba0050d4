/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json: a document as a tree in an arena.
 *
 * Strict RFC 8259 and stricter: UTF-8 and surrogate pairs are checked,
 * duplicate keys are refused, depth, nodes and bytes are capped (limits.h), nothing
 * may follow the document. U+0000 in a string is refused: neither database keeps it.
 * Numbers keep their source text, so that what is signed is what was sent; an
 * exponent of more than LIMIT_JSON_EXPONENT digits is refused.
 *
 * The tree borrows from the text where it can (numbers, strings without
 * escapes): the text must live as long as the tree. A tree is not changed
 * after it has been made.
 */
#ifndef JSON_JSON_H
#define JSON_JSON_H

#include "base/ctx.h"

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_type type;
	bool truth;	    /* BOOL */
	uint32_t count;	    /* ARRAY, OBJECT: how many children */
	str text;	    /* STRING: decoded; NUMBER: the source text */
	str key;	    /* the decoded name, where this is a member of an object */
	struct json *child; /* ARRAY, OBJECT: the first */
	struct json *next;  /* the next child of the same parent */
};

/* Walks the children of an array or object; nothing for other types. */
#define JSON_EACH(var, parent) for (const struct json *var = (parent)->child; var; var = var->next)

/*
 * Reads one document.
 *
 * E_BAD_JSON   not a document we accept; the message says what, at which line and column
 * E_TOO_LARGE  more than LIMIT_JSON_BYTES, LIMIT_JSON_NODES or the arena's cap
 *              (too deep is E_BAD_JSON)
 */
status json_parse(struct ctx *cx, str text, struct json **out_doc) MUST_USE;

/* The same, but \u0000 may stand in a string: for documents that are only looked at, never kept. */
status json_parse_any(struct ctx *cx, str text, struct json **out_doc) MUST_USE;

/* The same as json_parse, but of members with one name the last counts: for mend.h. */
status json_parse_last(struct ctx *cx, str text, struct json **out_doc) MUST_USE;

/* The same as json_parse, for a document that we keep and that is made of many small ones: the maxima are
 * LIMIT_JSON_STORED_BYTES and LIMIT_JSON_STORED_NODES. */
status json_parse_stored(struct ctx *cx, str text, struct json **out_doc) MUST_USE;

/* The member called key, or NULL (also where o is not an object). */
const struct json *json_get(const struct json *o, str key);

/* The child at index, or NULL (also where a is not an array). */
const struct json *json_at(const struct json *a, size_t index);

/*
 * The number as an integer: only where it is one exactly and fits (1, -7, 1.0 and
 * 1e2 are; 1.5 and 1e400 are not). False otherwise, *out_n untouched.
 */
bool json_to_int(const struct json *n, int64_t *out_n);

/* The nearest double (infinite where it overflows). */
double json_to_double(const struct json *n);

/* "null", "boolean", "number", "string", "array", "object". */
const char *json_type_name(enum json_type t);

/*
 * The members of an object in canonical order (RFC 8785: by UTF-16 code units of
 * the name), count of them. In the arena; NULL where its cap does not allow it.
 */
const struct json **json_sorted(struct arena *a, const struct json *object);

/* Compares two names in that order. Both are UTF-8. */
int json_key_cmp(str a, str b);

/*
 * Are they the same value? Objects regardless of order; numbers by exact
 * mathematical value of any size (1.0 equals 1, 10 equals 1e1); strings by bytes.
 */
bool json_equal(const struct json *a, const struct json *b);

/* Compares two numbers by exact mathematical value: negative, 0, positive. */
int json_number_cmp(const struct json *a, const struct json *b);

/*
 * Builders for documents of our own (all in the arena; no parsing).
 * Adding appends at the end; the key is not copied, nor checked for duplicates.
 */
struct json *json_new_object(struct arena *a);
struct json *json_new_array(struct arena *a);
struct json *json_new_string(struct arena *a, str text);
struct json *json_new_int(struct arena *a, int64_t n);
struct json *json_new_bool(struct arena *a, bool truth);
struct json *json_new_null(struct arena *a);
/* A copy of the node that shares its children, so that a value can stand in a second parent. */
struct json *json_share(struct arena *a, const struct json *value);
void json_add_member(struct json *object, str key, struct json *value);
void json_add_item(struct json *array, struct json *value);

#endif
