/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token: a bearer credential that declares what it is for (ID-5, ID-6, ID-7).
 *
 *	mint --> live --renew--> live
 *	           |--revoke--> revoked (with everything minted from it)
 *	           `--time----> expired
 *
 * A token never holds more than its minter has at that moment, and what it holds is
 * intersected with the delegator's live rights at every decision. Never "*", and never
 * `approve` for an agent. Shown once; only its hash is stored.
 */
#ifndef CORE_IDENT_TOKEN_H
#define CORE_IDENT_TOKEN_H

#include "core/ident/caller.h"
#include "core/op.h"

#define TOKEN_TTL_LEAST_US (INT64_C(3600) * 1000000)	   /* an hour */
#define TOKEN_TTL_MOST_US  (INT64_C(90) * 86400 * 1000000) /* 90 days */
#define TOKEN_TTL_AGENT_US (INT64_C(7) * 86400 * 1000000)  /* the default for agents */
#define TOKEN_RATE	   60

/* The safe default for an agent (ID-7): read and propose in production, write and toggle too elsewhere. */
#define TOKEN_AGENT_PRODUCTION_VERBS (1u << VERB_READ | 1u << VERB_PROPOSE)
#define TOKEN_AGENT_VERBS	     (TOKEN_AGENT_PRODUCTION_VERBS | 1u << VERB_TOGGLE | 1u << VERB_WRITE)

struct token_new {
	str id; /* empty: a new one */
	str name;
	str principal_id; /* whose actions these will be */
	str delegator_id; /* empty for a personal token */
	str parent_id;	  /* the token it is minted with; empty: a session, or init */
	str audience;	  /* the one resource it is for, and the client of OAuth that has it; or empty */
	str client_id;
	enum level level; /* a template, or LEVEL_NONE with rules */
	const str *rules;
	size_t rule_count;
	bool all_environments, all_keys;
	const str *environments, *keys, *cidrs;
	size_t environment_count, key_count, cidr_count;
	uint32_t verbs, production_verbs; /* as in struct scope */
	int64_t rate_per_minute;	  /* 0: TOKEN_RATE */
	int64_t ttl_us;			  /* 0: the default of its kind */
	bool approval_required, auto_mode;
	int64_t vote_us; /* personal: how long it may vote, at most an hour; 0: not at all */
};

struct token_minted {
	str token_id, secret, hint;
	int64_t expires_at;
};

extern const struct op token_ops[];

/* Inside tx_run: stores it. No rights are looked at: that is the caller's business (token_ops). */
status token_mint(struct ctx *cx, str org_id, enum principal_kind kind, const struct token_new *t,
	struct token_minted *out) MUST_USE;

/* Inside tx_run: another secret for a live token, which lives until then. The old one ends. E_NOT_FOUND */
status
token_rotate(struct ctx *cx, str org_id, str token_id, int64_t expires_at, struct token_minted *out) MUST_USE;

/* Inside tx_run: revokes the token and everything minted from it; *out_count says how many. E_NOT_FOUND */
status token_revoke(struct ctx *cx, str org_id, str token_id, int64_t *out_count) MUST_USE;

/* Inside tx_run: ends a person's sessions. */
status token_end_sessions(struct ctx *cx, str org_id, str person_id) MUST_USE;

/* Inside tx_run: revokes everything the person holds or delegated, and ends their sessions (ID-6). */
status token_revoke_person(struct ctx *cx, str org_id, str person_id) MUST_USE;

#endif
