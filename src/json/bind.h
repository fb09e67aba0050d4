/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind: turns a JSON object into a C struct by its field table (base/field.h).
 *
 * Strict: an unknown member, a wrong type, a missing needed member, a value out
 * of bounds or not among the choices are issues with path and sentence; all of
 * them are gathered, not only the first.
 */
#ifndef JSON_BIND_H
#define JSON_BIND_H

#include "base/field.h"
#include "json/json.h"

/*
 * Fills *out from object. Members that are absent leave what is there (the
 * caller's defaults). Text borrows from the document.
 *
 * E_INVALID  the issues are in cx->error; *out is untouched
 */
status json_bind(struct ctx *cx, const struct json *object, const struct field *fields, size_t size,
	void *out) MUST_USE;

/*
 * Reads one text (a path parameter, a query value, a flag on the command line)
 * into the field f of *out, with the same checks and sentences. BOOL is "true" or "false".
 *
 * E_INVALID  the issue, at path "/" + name, is in cx->error
 */
status json_bind_text(struct ctx *cx, const struct field *f, str text, void *out) MUST_USE;

/*
 * The strings of an array (NULL: none), at most max of them. E_INVALID otherwise, with an issue at path.
 */
status json_bind_strings(struct ctx *cx, const struct json *array, str path, size_t max,
	const str **out_items, size_t *out_count) MUST_USE;

/* The field whose camelCase name is key, or NULL. */
const struct field *field_by_key(const struct field *fields, str key);

/* base_rev -> baseRev */
str field_key(struct arena *a, const char *name);

/* The names of all members that JSON can have: "id, baseRev", or "none". */
str field_keys(struct arena *a, const struct field *fields);

/* The JSON Schema of a table: {type: object, properties, required, additionalProperties: false}. */
struct json *field_schema(struct arena *a, const struct field *fields);

#endif
