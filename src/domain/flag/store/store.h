/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store: flags, configs and segments as they are kept: identity per project, state per environment (FL-1).
 *
 *	environment_lock --> store_write: laid over the live ruleset, compiled (FL-3), written; version + 1
 *	                     `--after the commit--> event "environment.changed": live/ loads the new ruleset
 *
 * A state is a row that is valid from one version of the environment until the next change of the same
 * name; nothing is overwritten, so the ruleset of any version of the last 90 days can be read.
 * Everything is inside tx_run or db_read, with cx->caller, and sees that caller's organization only.
 * Rights and scopes are the caller's business.
 */
#ifndef DOMAIN_FLAG_STORE_STORE_H
#define DOMAIN_FLAG_STORE_STORE_H

#include "base/ctx.h"
#include "json/json.h"

enum resource { RESOURCE_FLAG, RESOURCE_CONFIG, RESOURCE_SEGMENT, RESOURCES };
const char *resource_name(enum resource r);   /* "flag" */
const char *resource_plural(enum resource r); /* "flags": also the member of the document */

#define STORE_PAST_US (INT64_C(90) * 24 * 3600 * 1000000) /* how far back one can look */

/* The event after a change: its id is the environment's, its data {"environmentId", "version"}. */
#define STORE_EVENT "environment.changed"

struct environment {
	str id, project_id, slug, name;
	str target_field; /* as it is now */
	bool production, approval_gate;
	int64_t version;		/* of the ruleset: 1, 2, ... */
	int64_t created_at, updated_at; /* updated_at: of the ruleset, or when it was made */
};

/* E_NOT_FOUND  unknown, or another tenant's. The second locks it: its version cannot move meanwhile. */
status environment_get(struct ctx *cx, str id, struct environment *out) MUST_USE;
status environment_lock(struct ctx *cx, str id, struct environment *out) MUST_USE;

/*
 * The ruleset document (ruleset.h) of a version; 0: the live one.
 *
 * E_NOT_FOUND  there is, or there is any more, no such version
 */
status
store_document(struct ctx *cx, const struct environment *e, int64_t version, struct json **out) MUST_USE;

/* The version that was live at that time. E_NOT_FOUND  before the environment was made, or too long ago */
status store_version_at(struct ctx *cx, const struct environment *e, int64_t at_us, int64_t *out) MUST_USE;

/* A flag, config or segment as it is in an environment. */
struct store_item {
	str id, key, type, description;
	enum resource resource;
	const struct json *schema;	/* of a config; NULL: none */
	const struct json *state;	/* its entry in the document; the description is not in it */
	int64_t created_at, updated_at; /* updated_at: the later of identity and state; its ETag */
};
/* E_NOT_FOUND */
status store_find(struct ctx *cx, const struct environment *e, enum resource r, str key,
	struct store_item *out) MUST_USE;

/* The next ones behind the key `after`, at most so many, in the order of their keys. */
status store_page(struct ctx *cx, const struct environment *e, enum resource r, str after, int64_t most,
	struct store_item **out, size_t *out_count) MUST_USE;

/* One change of a state: the whole entry as the document will have it, or NULL: no longer there. */
struct store_edit {
	enum resource resource;
	str key;
	const struct json *state;
};

/*
 * The document with the edits in it: what store_write would make live. Shares with doc, which is unchanged. What
 * cannot be is said by ruleset_compile of the result; its issues' paths begin with /flags/KEY and so on.
 */
struct json *
store_overlay(struct ctx *cx, const struct json *doc, const struct store_edit *edits, size_t count);

/*
 * Writes them as one new version of a locked environment, which *e then has; each name at most once. Where
 * nothing differs from what is live there is no new version. Only the state: who creates something, deletes it
 * or changes its type or schema does so in all environments of the project (item.h).
 *
 * E_NOT_FOUND  there is no such flag, config, segment
 * E_INVALID    the ruleset would not be one: issues as ruleset_compile gives them; or another type or schema
 * E_IN_USE     a segment would go that others name; issues: path "flag.KEY" ..., those in the caller's scope
 */
status store_write(struct ctx *cx, struct environment *e, const struct store_edit *edits, size_t count,
	int64_t now_us) MUST_USE;

/* Outside a transaction, without a caller: forgets states that ended more than STORE_PAST_US ago. Any time. */
status store_sweep(struct ctx *cx) MUST_USE;

#endif
