/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange: rulesets as files: our own, which git can diff, and those of flagd and Unleash.
 *
 *	ruleset document --exchange_write--> text --json_parse_stored--> file --exchange_read--> ruleset document
 *	                                     flagd or Unleash file --------'                   `--> remarks
 *
 * Pure: no database, no caller. What a file of another system says and we cannot is never left out
 * without a word: each place is a remark. An item with a refusal among its remarks is not in the document;
 * what else is there answers as it did over there (docs/import.md says where it does not). The
 * document compiles. Its size, and the time it takes, are bounded by that of the file.
 */
#ifndef DOMAIN_FLAG_EXCHANGE_EXCHANGE_H
#define DOMAIN_FLAG_EXCHANGE_EXCHANGE_H

#include "json/json.h"

#define EXCHANGE_VERSION "ruleset/1" /* of our own format: its member "countersign" */

enum exchange_format { EXCHANGE_COUNTERSIGN, EXCHANGE_FLAGD, EXCHANGE_UNLEASH, EXCHANGE_FORMATS };

/* "countersign", "flagd", "unleash". False where name is none of them. */
const char *exchange_format_name(enum exchange_format f);
bool exchange_format_find(str name, enum exchange_format *out_format);

/* Something about one item of the file. */
struct exchange_remark {
	str item;     /* its name over there; empty where it is about the file as a whole */
	str path;     /* a JSON Pointer into the file */
	str message;  /* a sentence whose subject is the path */
	bool refused; /* the item cannot be expressed, and so is left out; else something to know */
	struct exchange_remark *next;
};

struct exchange {
	struct json *ruleset; /* as ruleset.h describes it, with flags, configs and segments */
	const struct exchange_remark *remarks; /* in the file's order, those about the whole result last */
	size_t notes, refusals;
};

/*
 * The document as text: members sorted, one on a line, two blanks deep; ends with a newline. Equal
 * documents give equal texts, but for how their numbers are written.
 *
 * E_TOO_LARGE  more than LIMIT_JSON_STORED_BYTES
 */
status exchange_write(struct ctx *cx, const struct json *ruleset, str *out_text) MUST_USE;

/*
 * target_field: the environment's; flagd's targetingKey is that field here. Our own format has its own.
 *
 * E_INVALID    not a file of this format, or (our own format) not a ruleset: issues with paths into it
 * E_TOO_LARGE  the arena's cap, or as ruleset_compile
 */
status exchange_read(struct ctx *cx, enum exchange_format format, const struct json *file, str target_field,
	struct exchange *out) MUST_USE;

#endif
