/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member: the principals of an organization (ID-2): people, trusted back ends, and agents.
 *
 *	created --disable--> disabled (every token and session of theirs ends in the same transaction)
 *	   ^------enable--------'
 *
 * Nobody is deleted: the record names them for ever. There is always at least one admin, and nobody
 * gives a role that holds more than they do. Agents have no roles: their rights are their tokens'.
 */
#ifndef CORE_PEOPLE_MEMBER_H
#define CORE_PEOPLE_MEMBER_H

#include "core/op.h"

extern const struct op member_ops[]; /* people and services */
extern const struct op agent_ops[];

/* The domains an agent proposes in (PA-11), NULL-terminated. */
extern const char *const member_domains[];

/* An address as it is stored: in lower case. E_INVALID  it has not the form of one, or is not ASCII */
status member_email(struct ctx *cx, str email, str *out_email) MUST_USE;

/* Inside tx_run, after a change of rights: E_CONFLICT  nobody is left who is admin */
status member_check_admin(struct ctx *cx) MUST_USE;

/* Inside tx_run or db_read: how many people who are not shut out are admin. */
status member_count_admins(struct ctx *cx, str org_id, int64_t *out) MUST_USE;

/*
 * Inside tx_run; needs no caller. This person may more than before, or signs in with a new credential that somebody else
 * had a hand in: their votes no longer count for proposals from before (AP-3, docs/decisions/0032).
 */
status member_rights_widened(struct ctx *cx, str org_id, str principal_id) MUST_USE;

/* Private to people and ident: one principal, and the steps that people and agents share. */
struct member {
	str id, kind, name, email, domain;
	int64_t disabled_at, created_at;
};
status member_load(struct ctx *cx, str id, bool agent, struct member *out) MUST_USE;
status member_page(struct ctx *cx, bool agents, str after, int64_t limit, struct member **out_rows,
	size_t *out_count) MUST_USE;
status member_store(struct ctx *cx, const struct member *m) MUST_USE;
status member_set_disabled(struct ctx *cx, const struct member *m, bool disabled) MUST_USE;
/* Inside tx_run: a new agent, by its id, name, domain and time; on record. */
status member_add_agent(struct ctx *cx, const struct member *m) MUST_USE;
/* Members of a page of agents, as agent_list answers. */
status member_out_agents(struct ctx *cx, str after, int64_t limit, struct json_out *out) MUST_USE;
status member_rename(struct ctx *cx, const struct member *m, str name, str domain) MUST_USE;

#endif
