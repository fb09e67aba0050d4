/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out: writes JSON as it goes, into a buf. No tree, no allocation per value.
 *
 *	json_out_object(o, NULL);
 *	json_out_int(o, "revision", 7);        a member, because we are in an object
 *	json_out_array(o, "tags");
 *	json_out_str(o, NULL, tag);            an item, because we are in an array
 *	json_out_end(o);
 *	json_out_end(o);
 *
 * Inside an object every value has a key, elsewhere none (NULL); a writer that
 * breaks this, or ends what it did not begin, is a bug and stops the program.
 * json_out_value takes a whole document as one value, however deep it is.
 * Overflow of the buf is sticky (buf.h). Bytes that are not UTF-8 are written as
 * U+FFFD: a document of ours is always valid.
 */
#ifndef JSON_OUT_H
#define JSON_OUT_H

#include "base/buf.h"
#include "base/field.h"
#include "base/limits.h"
#include "json/json.h"

struct json_out {
	struct buf *buf;
	uint32_t depth;
	bool first;			      /* nothing yet in the innermost container */
	bool keyed;			      /* json_out_key has been, its value has not */
	bool in_object[LIMIT_JSON_DEPTH + 1]; /* what each level is */
};

void json_out_init(struct json_out *o, struct buf *b);

void
json_out_object(struct json_out *o, const char *key); /* begins one; key NULL in an array or at the top */
void json_out_array(struct json_out *o, const char *key);
void json_out_end(struct json_out *o); /* ends the innermost */

void json_out_str(struct json_out *o, const char *key, str text);
void json_out_int(struct json_out *o, const char *key, int64_t n);
void json_out_bool(struct json_out *o, const char *key, bool truth);
void json_out_null(struct json_out *o, const char *key);
void json_out_time(struct json_out *o, const char *key, int64_t us); /* RFC 3339 text */
void json_out_value(
	struct json_out *o, const char *key, const struct json *value); /* numbers as their source text */
void
json_out_raw(struct json_out *o, const char *key, str document); /* a document that is known to be valid */

/* The members of a struct, as its table describes them, into the object that is open. NULL JSON fields are
 * left out. */
void json_out_fields(struct json_out *o, const struct field *fields, const void *from);

/* A member whose name is not a literal (str key). */
void json_out_key(struct json_out *o, str key); /* then one value call with key NULL */

/* Just text as a JSON string, quotes and all, where no json_out is at work. */
void json_out_quoted(struct buf *b, str text);

/* The document as compact text. E_TOO_LARGE as buf_finish. */
status json_text(struct ctx *cx, const struct json *value, str *out_text) MUST_USE;

#endif
