/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mint: what somebody wishes of a new token, and what they may have (ID-4, ID-5, ID-6, ID-7, AP-3).
 *
 * Only people mint, for themselves or for an agent or service that will act on their authority. What
 * they ask for must be covered by their own rights at this moment and, where they come with a token, by
 * everything that token declares: rights, verbs, environments, keys, addresses, end. What they do not say is
 * taken from there. An agent never gets `approve`; it gets `admin` only by an explicit override.
 */
#ifndef CORE_IDENT_MINT_H
#define CORE_IDENT_MINT_H

#include "base/field.h"
#include "core/ident/token.h"
#include "json/json.h"

struct mint_in {
	str name, principal_id, level, project_id, mode;
	struct json *rules, *environments, *keys, *actions, *production_actions, *cidrs;
	int64_t rate_per_minute, ttl_seconds;
	bool approval_required, for_voting, override;
};
extern const struct field mint_in[];

#define MINT_WARNINGS 3u
struct mint {
	struct token_new token;
	enum principal_kind kind;
	const char *warnings[MINT_WARNINGS]; /* sentences; NULL-terminated */
	size_t warning_count;
};

/*
 * Inside tx_run: may the caller mint this, and what will it be?
 *
 * E_FORBIDDEN  it would hold more than its minter, or the caller is no person
 * E_INVALID    it is not a token that can be (the issue says which member)
 * E_NOT_FOUND  there is no such principal
 */
status mint_check(struct ctx *cx, const struct mint_in *in, struct mint *out) MUST_USE;

/* The same, and does it, on record. id empty: a new one. */
status mint_run(struct ctx *cx, const struct mint_in *in, str id, struct mint *out,
	struct token_minted *out_minted) MUST_USE;

/* A token as somebody decides about its end. */
struct mint_token {
	str id, name, hint, principal_id;
	bool revoked;
};

/* Inside tx_run: E_NOT_FOUND. Whose it is, is not looked at. */
status mint_find(struct ctx *cx, str id, struct mint_token *out) MUST_USE;

/* Inside tx_run: ends it and all that was minted with it, on record. E_NOT_FOUND  it has ended */
status mint_end(struct ctx *cx, const struct mint_token *t, int64_t *out_count) MUST_USE;

/* Members of a page of tokens, as token_list answers: those the caller may see. */
status mint_out_page(struct ctx *cx, str after, int64_t limit, struct json_out *out) MUST_USE;

#endif
