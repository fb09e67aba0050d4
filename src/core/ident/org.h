/* SPDX-License-Identifier: Apache-2.0 */
/*
 * org: the tenant. An organization has projects, a project has environments
 * (ID-1), and an organization has roles. org_bootstrap makes the first of each, once.
 */
#ifndef CORE_IDENT_ORG_H
#define CORE_IDENT_ORG_H

#include "core/ident/caller.h"

/* How the first organization is to begin. */
struct org_wish {
	str name;	    /* empty: "Default" */
	str admin_email;    /* kept in lower case */
	str admin_password; /* empty: one is made */
};

/* What `countersign init` prints, once. */
struct org_first {
	str admin_email, admin_password, admin_token, agent_token;
	str org_id, project_id, production_id, staging_id;
	str admin_id, agent_id;
};

/*
 * Makes the organization, project and environments `default`, production and staging, the five roles, one
 * admin person with a personal token that may vote for an hour (issue 3), and one agent with the safe default
 * token (ID-7).
 *
 * E_EXISTS   there is an organization already; nothing was changed
 * E_INVALID  the address is not one, or the password is too short or too long
 */
status org_begin(struct ctx *cx, const struct org_wish *wish, struct org_first *out) MUST_USE;

/* The same, with nothing but the address decided. */
status org_bootstrap(struct ctx *cx, str admin_email, struct org_first *out) MUST_USE;

/* Is there an organization already? */
status org_exists(struct ctx *cx, bool *out_exists) MUST_USE;

/* The organization's settings (JSON text) and the version of its policy. Inside tx_run or db_read.
 * E_NOT_FOUND */
struct org_settings {
	str settings;
	int64_t policy_version;
};
status org_settings(struct ctx *cx, str org_id, struct org_settings *out) MUST_USE;

#endif
