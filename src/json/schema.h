/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema: JSON Schema draft 2020-12. Compiled once, used many times, from any
 * number of threads.
 *
 *	schema_new -> schema_check ... -> schema_free
 *
 * Never touches the network: a $ref to another document is looked up among the
 * documents given at compile time (and the 2020-12 meta-schemas, built in), else compiling
 * fails. Regular expressions are RE2 (linear time); what RE2 cannot express
 * (lookaround, back-references) is refused at compile time with a sentence.
 * `format` is an annotation, as 2020-12 says, unless asserted by the options or the vocabulary.
 * Schemas that name draft 6, 7 or 2019-09 are read as 2020-12; what is not valid there is refused.
 */
#ifndef JSON_SCHEMA_H
#define JSON_SCHEMA_H

#include "json/json.h"

struct schema;

struct schema_document {
	str uri;
	const struct json *doc;
};

struct schema_options {
	const struct schema_document *documents; /* what $ref may name besides the schema itself */
	size_t document_count;
	bool assert_format;
};

struct schema_issues {
	struct issue *issues; /* {path into the instance, sentence}; at most LIMIT_SCHEMA_ISSUES */
	size_t count;
};

/*
 * Compiles doc. The schema owns a copy of what it needs; doc may go.
 *
 * E_INVALID    not a valid schema, a $ref leads nowhere or back to itself, an unsupported pattern,
 *              multipleOf with more than 18 significant digits: the issue says where
 * E_TOO_LARGE  more subschemas, patterns, anchors or references than limits.h allows, or more work than a request may
 *              cause (base/meter/meter.h)
 */
status schema_new(struct ctx *cx, const struct json *doc, const struct schema_options *options,
	struct schema **out_schema) MUST_USE;
void schema_free(struct schema *s);

/*
 * Checks a value. *out_issues empty: it is valid. Sentences are written for
 * a person ("must be at least 1", "is not a known property; known are: a, b").
 *
 * E_TOO_LARGE  it takes more work than the request may cause: the answer is not known, treat as invalid
 */
status schema_check(struct ctx *cx, const struct schema *s, const struct json *value,
	struct schema_issues *out_issues) MUST_USE;

#endif
