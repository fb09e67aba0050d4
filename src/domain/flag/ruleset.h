/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ruleset: the flags, configs and segments of one environment, compiled.
 *
 *	document --ruleset_compile--> ruleset --ruleset_find, ruleset_evaluate (evaluate.h)--> answers
 *	                                 `--ruleset_free
 *
 *	{"targetField": "userId",
 *	 "flags":    {KEY: {"type", "defaultValue", "rules"?: [RULE], "description"?}},
 *	 "configs":  {KEY: {"type", "defaultValue", "rules"?: [RULE], "description"?, "schema"?}},
 *	 "segments": {KEY: {"rules"?: [{"if"?, "description"?}], "allowList"?, "denyList"?, "description"?}}}
 *	RULE: {"if"?: CONDITION, "value", "rolloutPercent"?: 0 to 100, "salt"?, "description"?}
 *
 * A compiled ruleset lives in its own memory, does not change and does not point
 * into the document: all threads read it at once, without a lock. What it
 * answers depends on the document and the context alone (docs/flags.md).
 * Saving, previewing and proposing compile, so all three refuse with the same words (FL-3).
 */
#ifndef DOMAIN_FLAG_RULESET_H
#define DOMAIN_FLAG_RULESET_H

#include "json/json.h"

struct ruleset;
struct rule;

enum item_type { ITEM_BOOLEAN, ITEM_STRING, ITEM_NUMBER, ITEM_JSON };

/* A flag or a config: the two share one namespace. */
struct item {
	str key;
	bool is_config;
	enum item_type type;
	str default_value; /* JSON text */
	const struct rule *rules;
	uint32_t rule_count;
	uint64_t weight; /* private: without that of the segments */
};

/*
 * E_INVALID    not a ruleset: cx->error.issues has {path into doc, sentence}, the first ones
 * E_TOO_LARGE  compiled, it would take more than LIMIT_RULESET_BYTES
 */
status ruleset_compile(struct ctx *cx, const struct json *doc, struct ruleset **out_rs) MUST_USE;

/*
 * The same of a document that is stored, but for those flags and configs that a change brings: only the values of these are
 * checked against their schemas. Those of all others were checked when they were stored, and are not paid for again.
 */
status ruleset_compile_changed(struct ctx *cx, const struct json *doc, const str *changed, size_t count,
	struct ruleset **out_rs) MUST_USE;
status ruleset_compile_stored(struct ctx *cx, const struct json *doc, struct ruleset **out_rs) MUST_USE;
void ruleset_free(struct ruleset *rs);

/* The item called key, or NULL. */
const struct item *ruleset_find(const struct ruleset *rs, str key);

/* All items in the document's order, flags first. */
size_t ruleset_count(const struct ruleset *rs);
const struct item *ruleset_at(const struct ruleset *rs, size_t index);

/* At most so many comparisons (of about 10 ns) are one answer; a pattern counts as a few thousand. */
uint64_t ruleset_weight(const struct ruleset *rs, const struct item *item);

/* The field of a context that says who it is about. */
str ruleset_target(const struct ruleset *rs);

/* How many bytes it takes, the caches of its patterns not counted. */
size_t ruleset_bytes(const struct ruleset *rs);

const char *item_type_name(enum item_type t);

#endif
