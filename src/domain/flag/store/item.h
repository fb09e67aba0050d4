/* SPDX-License-Identifier: Apache-2.0 */
/*
 * item: what flags, configs and segments are, for a project and so in all its environments at once (FL-1).
 *
 *	project_lock --> item_create, item_delete, item_reschema: one new version of each environment
 *	             `-> item_describe: the description is in no ruleset, so there is none
 *
 * Inside tx_run, with cx->caller; sees one organization.
 * Rights, scopes, approval and the record are the caller's business.
 */
#ifndef DOMAIN_FLAG_STORE_ITEM_H
#define DOMAIN_FLAG_STORE_ITEM_H

#include "domain/flag/store/project.h"

struct item_new {
	enum resource resource;
	str key, type, description;  /* type: empty for segments */
	const struct json *schema;   /* of a config, or NULL */
	const struct json *state[3]; /* defaultValue, rules, NULL; of a segment: rules, allowList, denyList */
};

/*
 * An entry of the ruleset document. What is NULL in state is an empty list, or the default of the type:
 * false, "", 0, null.
 */
struct json *item_entry(struct ctx *cx, const struct item_new *n);

/*
 * Makes it, with the same state in every environment. *out_id is its id.
 *
 * E_KEY_COLLISION  the key is taken; flags and configs share theirs
 * E_CONFLICT       the project has no environment, so the state would be nowhere
 * E_INVALID        the rulesets would not be some: issues as ruleset_compile gives them
 */
status item_create(struct ctx *cx, struct project *p, const struct item_new *n, int64_t now_us, str *out_id)
	MUST_USE;

/* From all environments. E_NOT_FOUND; E_IN_USE as store_write */
status item_delete(struct ctx *cx, struct project *p, enum resource r, str key, int64_t now_us) MUST_USE;

/*
 * Many changes at once: one new version of `here`, which is one of the project's, and one of each other
 * environment where there is something new, or something goes.
 *
 * edits: states here; those that are new are among them; NULL goes from the project. made: what is new; in the
 * other environments it begins with its default value, without rules or lists.
 *
 * E_KEY_COLLISION, E_INVALID, E_IN_USE as item_create, store_write
 */
struct item_many {
	const struct item_new *made;
	size_t made_count;
	const struct store_edit *edits;
	size_t edit_count;
};
status item_write_many(struct ctx *cx, struct project *p, struct environment *here, const struct item_many *m,
	int64_t now_us) MUST_USE;

/* The identity of one: its state and schema are not in *out. E_NOT_FOUND */
status
item_get(struct ctx *cx, const struct project *p, enum resource r, str key, struct store_item *out) MUST_USE;

/* What is the same as before changes nothing, here and below. E_NOT_FOUND; E_INVALID  longer than LIMIT_FLAG_TEXT */
status item_describe(struct ctx *cx, const struct project *p, enum resource r, str key, str description,
	int64_t now_us) MUST_USE;

/* Another schema for a config; NULL: none. E_NOT_FOUND; E_INVALID  no schema, or some state does not fit it */
status
item_reschema(struct ctx *cx, struct project *p, str key, const struct json *schema, int64_t now_us) MUST_USE;

/*
 * After one of these, or store_write, failed with s: issues about the item (/configs/KEY/schema/...) become
 * issues about the body that described it (/jsonSchema/...); those about the item itself are at `itself`, and
 * those about something else at the whole body. Gives s back.
 */
status item_body_paths(struct ctx *cx, enum resource r, str key, str itself, status s) MUST_USE;

#endif
