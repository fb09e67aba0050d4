/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project: a project with its environments: what flags, configs and segments are in (ID-1, FL-1).
 *
 *	project_create --> environment_create: version 1 has every item of the project in its empty state
 *	               `-> project_change: another target field is a new version of every environment
 *
 * What is the same in all environments is changed under the lock of the project, states under those of the
 * environments (store.h); project_lock takes all of them, in this order. Inside tx_run (project_get:
 * db_read too), with cx->caller; sees one organization. Rights and the record are the caller's business.
 */
#ifndef DOMAIN_FLAG_STORE_PROJECT_H
#define DOMAIN_FLAG_STORE_PROJECT_H

#include "domain/flag/store/store.h"

#define PROJECT_TARGET_FIELD "userId" /* of a project that names none */

struct project {
	str id, slug, name;
	str target_field; /* empty: PROJECT_TARGET_FIELD */
	int64_t created_at, updated_at;
	struct environment *environments; /* project_lock: all of them, locked, in the order of their ids */
	size_t environment_count;
};

/* E_NOT_FOUND  unknown, or another tenant's */
status project_get(struct ctx *cx, str id, struct project *out) MUST_USE; /* without its environments */
status project_lock(struct ctx *cx, str id, struct project *out) MUST_USE;

/* Makes p->slug, name and target_field one; sets the rest. E_KEY_COLLISION; E_INVALID  no key, no field */
status project_create(struct ctx *cx, struct project *p, int64_t now_us) MUST_USE;

/* Gives a locked project another name and target field. E_INVALID  no field: issues as ruleset_compile */
status project_change(struct ctx *cx, struct project *p, str name, str target_field, int64_t now_us) MUST_USE;

/*
 * Makes e->slug, name, production and approval_gate an environment of a locked project, and sets the rest. It
 * has every item in its empty state; a config with a schema, which that might not fit, has the default value
 * of the project's first environment.
 *
 * E_KEY_COLLISION; E_INVALID  no key; E_CONFLICT  it has LIMIT_ENVIRONMENTS already
 */
status environment_create(struct ctx *cx, struct project *p, struct environment *e, int64_t now_us) MUST_USE;

/* Gives a locked environment e's name, production and approval_gate, and a new updated_at; no new version. */
status environment_change(struct ctx *cx, struct environment *e, int64_t now_us) MUST_USE;

#endif
