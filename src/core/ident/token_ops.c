/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens as operations: list, mint, renew, revoke. What may be minted is mint.c's business. */
#include "base/clock.h"
#include "base/limits.h"
#include "core/people/change.h"
#include "core/ident/mint.h"
#include "db/db.h"

#include "core/ident/token.sql.h" /* SQL_TOKEN_*, generated from token.sql */

/* --- a token as it is shown --- */

struct row {
	str id, name, hint, principal_id, kind, principal_name, delegator_id, level, rules, environments,
		keys;
	int64_t verbs, production_verbs, rate_per_minute;
	bool approval_required, auto_mode;
	str cidrs;
	int64_t vote_until, ttl_us, expires_at, revoked_at, created_at;
	str audience, client_id;
};
static const struct field row[] = {
	FIELD_TEXT(struct row, id),
	FIELD_TEXT(struct row, name),
	FIELD_TEXT(struct row, hint),
	FIELD_TEXT(struct row, principal_id),
	FIELD_TEXT(struct row, kind),
	FIELD_TEXT(struct row, principal_name),
	FIELD_TEXT(struct row, delegator_id),
	FIELD_TEXT(struct row, level),
	FIELD_TEXT(struct row, rules),
	FIELD_TEXT(struct row, environments),
	FIELD_TEXT(struct row, keys),
	FIELD_INT(struct row, verbs),
	FIELD_INT(struct row, production_verbs),
	FIELD_INT(struct row, rate_per_minute),
	FIELD_BOOL(struct row, approval_required),
	FIELD_BOOL(struct row, auto_mode),
	FIELD_TEXT(struct row, cidrs),
	FIELD_INT(struct row, vote_until),
	FIELD_INT(struct row, ttl_us),
	FIELD_INT(struct row, expires_at),
	FIELD_INT(struct row, revoked_at),
	FIELD_INT(struct row, created_at),
	FIELD_TEXT(struct row, audience),
	FIELD_TEXT(struct row, client_id),
	FIELD_END,
};

/* The answer of mint and renew; items of the list have the same members, but never `token`. */
struct token_out {
	str token, id, name, hint, principal_id, principal_kind, principal_name, delegator_id, level, mode,
		vote_until, expires_at, revoked_at, created_at, audience, client_id;
	struct json *rules, *environments, *keys, *actions, *production_actions, *cidrs, *warnings;
	int64_t rate_per_minute;
	bool approval_required;
};
static const struct field token_out[] = {
	FIELD_TEXT(struct token_out, token, .doc = "The secret. It is shown here and never again."),
	FIELD_JSON(struct token_out, warnings, .doc = "What was left out, or what is dangerous: sentences."),
	FIELD_TEXT(struct token_out, id, .need = true, .doc = "The token's id."),
	FIELD_TEXT(struct token_out, name, .need = true, .doc = "What it is for."),
	FIELD_TEXT(struct token_out, hint, .need = true, .doc = "Its kind and last four characters."),
	FIELD_TEXT(struct token_out, principal_id, .need = true, .doc = "Whose actions these are."),
	FIELD_TEXT(struct token_out, principal_kind, .need = true, .doc = "user, agent or service."),
	FIELD_TEXT(struct token_out, principal_name, .need = true, .doc = "Their name."),
	FIELD_TEXT(struct token_out, delegator_id, .doc = "The person whose authority it has."),
	FIELD_TEXT(struct token_out, level, .need = true, .doc = "The level; empty: only rules."),
	FIELD_JSON(struct token_out, rules, .need = true, .doc = "Its single rules."),
	FIELD_JSON(struct token_out, environments, .need = true, .doc = "Ids, or \"all\"."),
	FIELD_JSON(struct token_out, keys, .need = true, .doc = "Keys and prefixes, or \"all\"."),
	FIELD_JSON(struct token_out, actions, .doc = "The only verbs it may use."),
	FIELD_JSON(struct token_out, production_actions, .doc = "The only verbs it may use in production."),
	FIELD_INT(struct token_out, rate_per_minute, .need = true, .doc = "Tool calls in any 60 seconds."),
	FIELD_BOOL(struct token_out, approval_required, .need = true,
		.doc = "Whether all it changes needs approval."),
	FIELD_TEXT(struct token_out, mode, .need = true, .doc = "approve or auto."),
	FIELD_JSON(struct token_out, cidrs, .need = true, .doc = "Where it may come from; empty: anywhere."),
	FIELD_TEXT(struct token_out, vote_until, .doc = "Until when it may vote."),
	FIELD_TEXT(struct token_out, expires_at, .need = true, .doc = "When it ends."),
	FIELD_TEXT(struct token_out, revoked_at, .doc = "When it was revoked."),
	FIELD_TEXT(struct token_out, created_at, .need = true, .doc = "When it was minted."),
	FIELD_TEXT(struct token_out, audience, .doc = "The one address it is good at (OAuth)."),
	FIELD_TEXT(struct token_out, client_id, .doc = "The OAuth client that has it."),
	FIELD_END,
};

static void
write_verbs(struct json_out *o, const char *key, int64_t verbs)
{
	if (!verbs)
		return;
	json_out_array(o, key);
	for (int v = 0; v < VERBS; v++)
		if (verbs & 1 << v)
			json_out_str(o, NULL, str_of(verb_name((enum verb)v)));
	json_out_end(o);
}

static void
write_time(struct json_out *o, const char *key, int64_t us)
{
	if (us)
		json_out_time(o, key, us);
}

static void
write_token(struct json_out *o, const void *item)
{
	const struct row *t = item;

	json_out_str(o, "id", t->id);
	json_out_str(o, "name", t->name);
	json_out_str(o, "hint", t->hint);
	json_out_str(o, "principalId", t->principal_id);
	json_out_str(o, "principalKind", t->kind);
	json_out_str(o, "principalName", t->principal_name);
	if (t->delegator_id.len)
		json_out_str(o, "delegatorId", t->delegator_id);
	json_out_str(o, "level", t->level);
	json_out_raw(o, "rules", t->rules);
	json_out_raw(o, "environments", t->environments);
	json_out_raw(o, "keys", t->keys);
	write_verbs(o, "actions", t->verbs);
	write_verbs(o, "productionActions", t->production_verbs);
	json_out_int(o, "ratePerMinute", t->rate_per_minute);
	json_out_bool(o, "approvalRequired", t->approval_required);
	json_out_str(o, "mode", t->auto_mode ? STR("auto") : STR("approve"));
	json_out_raw(o, "cidrs", t->cidrs);
	write_time(o, "voteUntil", t->vote_until);
	json_out_time(o, "expiresAt", t->expires_at);
	write_time(o, "revokedAt", t->revoked_at);
	json_out_time(o, "createdAt", t->created_at);
	if (t->audience.len) {
		json_out_str(o, "audience", t->audience);
		json_out_str(o, "clientId", t->client_id);
	}
}

/* --- whose it is --- */

/* People see and end what they hold or delegated; an agent only the token it comes with. */
static bool
is_own(const struct caller *c, const struct row *t)
{
	if (c->kind != PRINCIPAL_USER)
		return str_eq(c->token_id, t->id);
	return str_eq(c->principal_id, t->principal_id) || str_eq(c->principal_id, t->delegator_id);
}

static status
find(struct ctx *cx, str id, struct row *out)
{
	status s = db_one(cx, SQL_TOKEN_GET, row, out, TEXT(cx->caller->org_id), TEXT(id));

	return s == E_NOT_FOUND ? fail(cx, E_NOT_FOUND, "there is no token with this id") : s;
}

static status
load(struct ctx *cx, str id, struct row *out)
{
	const struct caller *c = cx->caller;
	static const char *const needed[] = { "access.token.manage", NULL };

	TRY(find(cx, id, out));
	if (is_own(c, out))
		return OK;
	if (c->kind != PRINCIPAL_USER)
		return fail(cx, E_FORBIDDEN, "an agent ends only the token it comes with");
	return caller_require(cx, c, "this token", needed);
}

/* --- list --- */

struct list_in {
	str after;
	int64_t limit;
};
static const struct field list_in[] = { OP_PAGE_FIELDS(struct list_in), FIELD_END };

status
mint_out_page(struct ctx *cx, str after, int64_t limit, struct json_out *out)
{
	const struct caller *c = cx->caller;
	str mine = { 0 };
	struct row *rows;
	size_t count;

	if (!caller_may(c, STR("access.token.manage")))
		mine = c->principal_id;
	TRY(db_all(cx, SQL_TOKEN_LIST, row, sizeof(*rows), &rows, &count, TEXT(c->org_id), TEXT(after),
		INT(op_page_rows(limit)), TEXT(mine)));
	op_list(out, rows, sizeof(*rows), count, limit, write_token);
	return OK;
}

static status
run_list(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct list_in *p = in;

	return mint_out_page(cx, p->after, p->limit, out);
}

/* --- mint --- */

static void
write_warnings(struct json_out *out, const struct mint *m)
{
	if (!m->warning_count)
		return;
	json_out_array(out, "warnings");
	for (size_t i = 0; i < m->warning_count; i++)
		json_out_str(out, NULL, str_of(m->warnings[i]));
	json_out_end(out);
}

/* What was minted, for the record: everything but the secret. */
static struct json *
describe(struct arena *a, const struct row *t, const struct mint *m)
{
	struct json *o = json_new_object(a), *warnings = json_new_array(a);

	change_text(a, o, "name", t->name);
	change_text(a, o, "hint", t->hint);
	change_text(a, o, "principalId", t->principal_id);
	change_text(a, o, "level", t->level);
	change_text(a, o, "rules", t->rules);
	change_text(a, o, "environments", t->environments);
	change_text(a, o, "keys", t->keys);
	change_text(a, o, "expiresAt", clock_text(a, t->expires_at));
	for (size_t i = 0; m && i < m->warning_count; i++)
		json_add_item(warnings, json_new_string(a, str_of(m->warnings[i])));
	if (warnings->count)
		json_add_member(o, STR("warnings"), warnings);
	return o;
}

static status
mint(struct ctx *cx, const struct mint_in *in, str id, struct mint *m, struct token_minted *minted,
	struct row *t)
{
	str org_id = cx->caller->org_id;

	TRY(mint_check(cx, in, m));
	m->token.id = id;
	TRY(token_mint(cx, org_id, m->kind, &m->token, minted));
	TRY(db_one(cx, SQL_TOKEN_GET, row, t, TEXT(org_id), TEXT(minted->token_id)));
	return change_record(
		cx, AUDIT_TOKEN_MINTED, "token", t->id, t->name, NULL, describe(cx->arena, t, m));
}

status
mint_run(struct ctx *cx, const struct mint_in *in, str id, struct mint *out, struct token_minted *out_minted)
{
	struct token_minted minted;
	struct mint m;
	struct row t;

	TRY(mint(cx, in, id, &m, &minted, &t));
	*out = m;
	*out_minted = minted;
	return OK;
}

static status
run_mint(struct ctx *cx, const void *in, struct json_out *out)
{
	struct token_minted minted;
	struct mint m;
	struct row t;

	TRY(mint(cx, in, (str){ 0 }, &m, &minted, &t));
	json_out_str(out, "token", minted.secret);
	write_warnings(out, &m);
	write_token(out, &t);
	return OK;
}

/* --- renew, revoke --- */

struct renew_in {
	str id;
	int64_t ttl_seconds;
};
static const struct field renew_in[] = {
	FIELD_TEXT(struct renew_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which token."),
	FIELD_INT(struct renew_in, ttl_seconds, .min = TOKEN_TTL_LEAST_US / 1000000,
		.max = TOKEN_TTL_MOST_US / 1000000,
		.doc = "How long from now; as long as before unless said."),
	FIELD_END,
};

static status
run_renew(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct renew_in *r = in;
	const struct caller *c = cx->caller;
	int64_t now_us, ttl_us, until;
	struct row t;

	TRY(load(cx, r->id, &t));
	TRY(tx_now_us(cx, &now_us));
	if (c->kind != PRINCIPAL_USER)
		return fail(cx, E_FORBIDDEN, "only people renew tokens");
	if (t.revoked_at || t.expires_at <= now_us)
		return fail(cx, E_CONFLICT, "this token has ended; mint a new one");
	if (t.audience.len)
		return fail(cx, E_CONFLICT, "its client refreshes this token; nobody else renews it");
	if (t.vote_until)
		return fail(cx, E_CONFLICT, "a token that may vote is not renewed; mint a new one");
	ttl_us = r->ttl_seconds ? r->ttl_seconds * 1000000 : t.ttl_us;
	until = now_us + ttl_us;
	if (c->expires_at && until > c->expires_at) /* a token cannot give itself, or others, more time */
		until = c->expires_at > t.expires_at ? c->expires_at : t.expires_at;
	TRY(db_run(cx, SQL_TOKEN_RENEW, TEXT(c->org_id), TEXT(t.id), INT(until), INT(ttl_us)));
	t.expires_at = until;
	TRY(change_record(
		cx, AUDIT_TOKEN_RENEWED, "token", t.id, t.name, NULL, describe(cx->arena, &t, NULL)));
	write_token(out, &t);
	return OK;
}

struct id_in {
	str id;
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which token."),
	FIELD_END,
};
struct revoked_out {
	int64_t revoked;
};
static const struct field revoked_out[] = {
	FIELD_INT(
		struct revoked_out, revoked, .need = true, .doc = "How many: it, and those minted with it."),
	FIELD_END,
};

status
mint_find(struct ctx *cx, str id, struct mint_token *out)
{
	struct row t;

	TRY(find(cx, id, &t));
	*out = (struct mint_token){ .id = t.id,
		.name = t.name,
		.hint = t.hint,
		.principal_id = t.principal_id,
		.revoked = t.revoked_at != 0 };
	return OK;
}

status
mint_end(struct ctx *cx, const struct mint_token *t, int64_t *out_count)
{
	int64_t count;

	TRY(token_revoke(cx, cx->caller->org_id, t->id, &count));
	TRY(change_record(cx, AUDIT_TOKEN_REVOKED, "token", t->id, t->name, NULL, NULL));
	*out_count = count;
	return OK;
}

static status
run_revoke(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct id_in *i = in;
	int64_t count;
	struct row t;

	TRY(load(cx, i->id, &t));
	TRY(mint_end(cx, &(struct mint_token){ .id = t.id, .name = t.name }, &count));
	json_out_int(out, "revoked", count);
	return OK;
}

const struct op token_ops[] = {
	{ .name = "token_list",
		.method = "GET",
		.path = "/api/v1/tokens",
		.rule = RULE_ANYBODY,
		.tx = OP_TX_READ,
		.doc = "Lists tokens, never their secrets. One sees those one holds or delegated; with "
		       "access.token.manage all of the organization's.",
		.in = list_in,
		.in_size = sizeof(struct list_in),
		.out = op_list_out,
		.run = run_list },
	{ .name = "token_mint",
		.method = "POST",
		.path = "/api/v1/tokens",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Mints a token, for oneself or for an agent or service that acts on one's authority. "
		       "It never "
		       "holds more than its minter does, now or at any later decision.",
		.in = mint_in,
		.in_size = sizeof(struct mint_in),
		.out = token_out,
		.success = 201,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_mint },
	{ .name = "token_renew",
		.method = "POST",
		.path = "/api/v1/tokens/{id}/renew",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Gives a living token more time. With a token, never more than that one has itself.",
		.in = renew_in,
		.in_size = sizeof(struct renew_in),
		.out = token_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_CONFLICT),
		.run = run_renew },
	{ .name = "token_revoke",
		.method = "DELETE",
		.path = "/api/v1/tokens/{id}",
		.rule = RULE_ANYBODY,
		.effect = OP_DESTRUCTIVE,
		.tx = OP_TX_RIGHTS,
		.doc = "Ends a token and everything that was minted with it, at once and on every server.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = revoked_out,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_revoke },
	{ 0 },
};
