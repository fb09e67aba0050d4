/* SPDX-License-Identifier: Apache-2.0 */
/* answers: what a ruleset says to one context, for the keys that were asked for: {KEY: {...} | null}. */
#ifndef DOMAIN_FLAG_LIVE_ANSWERS_H
#define DOMAIN_FLAG_LIVE_ANSWERS_H

#include "core/ident/caller.h"
#include "domain/flag/evaluate.h"

/* Which keys: all that there are, or these, which are different. */
struct asked {
	bool all;
	const str *keys;
	size_t count;
};

/*
 * From "keys": "*", null or none (NULL) is all.
 *
 * E_INVALID  with an issue at /keys
 */
status asked_read(struct ctx *cx, const struct json *keys, struct asked *out) MUST_USE;

/* E_SCOPE  names the first key that the caller may not see; all: none, they are left out */
status
asked_check(struct ctx *cx, const struct asked *a, const struct caller *c, str environment_id) MUST_USE;

struct answers {
	const struct ruleset *rules;
	const struct asked *asked;
	const struct caller *caller;
	str environment_id;
	bool verbose;
};

/* Writes the member. Errors as subject_prepare; then nothing was written. */
status answers_out(struct ctx *cx, struct json_out *o, const char *member, const struct answers *a,
	const struct json *context) MUST_USE;

/* For what is asked for in a row: what was wrong with a context of the list is said of this one. */
status answers_check(struct ctx *cx, const struct json *context, str path) MUST_USE;

#endif
