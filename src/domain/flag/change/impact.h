/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impact: what changes would be answered otherwise, for contexts that somebody names (FL-5, PA-6).
 *
 * Only what the changes touch is evaluated: the flags and configs that change, and those that depend on
 * a segment that changes, the first LIMIT_IMPACT_ITEMS of them. So it costs the same in a large environment
 * as in a small one. Pure: the document and the changes decide, no clock, no database.
 */
#ifndef DOMAIN_FLAG_CHANGE_IMPACT_H
#define DOMAIN_FLAG_CHANGE_IMPACT_H

#include "domain/flag/ruleset.h"
#include "domain/flag/store/store.h"

/* The two rulesets, side by side. */
struct impact_pair {
	struct ruleset *live, *preview;
	const str *keys; /* the flags and configs that may be answered otherwise */
	size_t key_count;
	size_t depending; /* how many there are in all */
};

/*
 * doc: what is live; the edits have been checked by store_write.
 *
 * E_NOT_CACHED  what is live is no ruleset
 */
status impact_open(struct ctx *cx, const struct json *doc, const struct store_edit *edits, size_t count,
	struct impact_pair *out) MUST_USE;
void impact_close(struct impact_pair *p);

struct impact {
	const struct json *radius; /* [{context, live: {KEY: answer | null}, preview}]; NULL: no contexts */
	size_t contexts, changed;  /* how many, and how many of them are answered otherwise */
};

/*
 * contexts: an array of objects, or NULL.
 *
 * E_INVALID, E_TOO_LARGE  a context cannot be evaluated; the issue says which (path "/spotCheck/0")
 */
status impact_make(struct ctx *cx, const struct impact_pair *p, const struct json *contexts,
	struct impact *out) MUST_USE;

/* Calls fn for the flags and configs of doc that look into one of these segments, directly or through others, in the
 * document's order. */
status impact_users(struct ctx *cx, const struct json *doc, const str *segments, size_t count,
	void (*fn)(void *arg, str key), void *arg) MUST_USE;

/* The segments that these flags and configs look into, directly or through others, as a document of the
 * segments of doc; keys: those of flags and configs, or of segments themselves. */
struct json *
impact_segments(struct ctx *cx, const struct json *doc, const struct store_edit *from, size_t count);

#endif
