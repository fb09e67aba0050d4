/* SPDX-License-Identifier: Apache-2.0 */
#include "core/oauth/grant.h"

#include "base/clock.h"
#include "base/limits.h"
#include "core/id.h"
#include "core/ident/secret.h"
#include "core/ident/token.h"
#include "core/oauth/pkce.h"
#include "core/oauth/register.h"
#include "core/oauth/scope.h"
#include "core/people/change.h"
#include "core/people/member.h"
#include "core/people/name.h"
#include "db/db.h"

#include "core/oauth/grant.sql.h" /* SQL_GRANT_*, generated from grant.sql */

#define SECRET_KIND_CODE    "code"
#define SECRET_KIND_REFRESH "ref"

/* --- consent --- */

static const struct field person_row[] = {
	FIELD_TEXT(struct grant_person, name),
	FIELD_TEXT(struct grant_person, email),
	FIELD_TEXT(struct grant_person, org),
	FIELD_END,
};

status
grant_person(struct ctx *cx, struct grant_person *out)
{
	return db_one(cx, SQL_GRANT_PERSON, person_row, out, TEXT(cx->caller->org_id),
		TEXT(cx->caller->principal_id));
}

struct agent_row {
	str id;
	int64_t disabled_at;
};
static const struct field agent_row[] = {
	FIELD_TEXT(struct agent_row, id),
	FIELD_INT(struct agent_row, disabled_at),
	FIELD_END,
};

/* The client chose its name. One that could deceive was said to be so on the consent page, and is not taken over. */
static str
agent_name(struct ctx *cx, str client_name)
{
	if (name_check(cx, "/name", client_name) == OK)
		return arena_printf(cx->arena, "%.*s (OAuth)", STR_ARG(client_name));
	ctx_clear(cx);
	return STR("An application with a misleading name (OAuth)");
}

static status
add_agent(struct ctx *cx, const struct grant_wish *w, int64_t now_us, str *out_id)
{
	const struct caller *c = cx->caller;
	struct member m = { .kind = STR("agent"),
		.name = agent_name(cx, w->client_name),
		.domain = STR("operations"),
		.created_at = now_us };

	m.id = id_at(cx->arena, now_us);
	TRY(member_add_agent(cx, &m));
	TRY(db_run(cx, SQL_GRANT_ADD_AGENT, TEXT(c->org_id), TEXT(c->principal_id), TEXT(w->client_id),
		TEXT(m.id)));
	*out_id = m.id;
	return OK;
}

/* One agent for a person and a client, however often they agree. */
static status
find_agent(struct ctx *cx, const struct grant_wish *w, int64_t now_us, str *out_id)
{
	const struct caller *c = cx->caller;
	struct agent_row row;
	status s = db_one(cx, SQL_GRANT_AGENT, agent_row, &row, TEXT(c->org_id), TEXT(c->principal_id),
		TEXT(w->client_id));

	if (s == E_NOT_FOUND) {
		ctx_clear(cx);
		return add_agent(cx, w, now_us, out_id);
	}
	TRY(s);
	if (row.disabled_at)
		return fail(cx, E_FORBIDDEN,
			"the agent that this application is for you has been disabled by an admin");
	*out_id = row.id;
	return OK;
}

static struct json *
describe(struct arena *a, str client_id, str client_name, str redirect_uri, str resource, str scope)
{
	struct json *o = json_new_object(a);

	change_text(a, o, "clientId", client_id);
	change_text(a, o, "clientName", client_name);
	change_text(a, o, "redirectUri", redirect_uri);
	change_text(a, o, "resource", resource);
	return change_text(a, o, "scope", scope);
}

status
grant_give(struct ctx *cx, const struct grant_wish *w, str *out_code)
{
	const struct caller *c = cx->caller;
	str code = secret_new(cx->arena, SECRET_KIND_CODE), scope = scope_text(cx->arena, &w->scope);
	str agent_id, id;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	TRY(find_agent(cx, w, now_us, &agent_id));
	id = id_at(cx->arena, now_us);
	TRY(db_run(cx, SQL_GRANT_ADD, TEXT(c->org_id), TEXT(id), TEXT(c->principal_id), TEXT(agent_id),
		TEXT(w->client_id), TEXT(w->client_name), TEXT(w->redirect_uri), TEXT(w->resource),
		TEXT(scope), TEXT(secret_hash(cx->arena, code)), TEXT(w->challenge),
		INT(now_us + LIMIT_OAUTH_CODE_US), INT(now_us), INT(now_us + LIMIT_OAUTH_GRANT_US)));
	TRY(register_use(cx, w->client_id));
	TRY(change_record(cx, AUDIT_GRANT_GIVEN, "grant", id, agent_id, NULL,
		describe(cx->arena, w->client_id, w->client_name, w->redirect_uri, w->resource, scope)));
	*out_code = code;
	return OK;
}

/* --- a consent that was given --- */

struct grant {
	str org_id, slug, id, person_id;
	int64_t person_disabled_at;
	str agent_id, agent_name;
	int64_t agent_disabled_at;
	str client_id, client_name, redirect_uri, resource, scope, challenge;
	int64_t code_until, code_used_at;
	str token_id;
	int64_t expires_at, revoked_at;
};
static const struct field grant_row[] = {
	FIELD_TEXT(struct grant, org_id),
	FIELD_TEXT(struct grant, slug),
	FIELD_TEXT(struct grant, id),
	FIELD_TEXT(struct grant, person_id),
	FIELD_INT(struct grant, person_disabled_at),
	FIELD_TEXT(struct grant, agent_id),
	FIELD_TEXT(struct grant, agent_name),
	FIELD_INT(struct grant, agent_disabled_at),
	FIELD_TEXT(struct grant, client_id),
	FIELD_TEXT(struct grant, client_name),
	FIELD_TEXT(struct grant, redirect_uri),
	FIELD_TEXT(struct grant, resource),
	FIELD_TEXT(struct grant, scope),
	FIELD_TEXT(struct grant, challenge),
	FIELD_INT(struct grant, code_until),
	FIELD_INT(struct grant, code_used_at),
	FIELD_TEXT(struct grant, token_id),
	FIELD_INT(struct grant, expires_at),
	FIELD_INT(struct grant, revoked_at),
	FIELD_END,
};

static bool
is_over(const struct grant *g, int64_t now_us)
{
	return g->revoked_at || g->expires_at <= now_us || g->person_disabled_at || g->agent_disabled_at;
}

/* On record as the deed of the agent for its person: the client is who asks. */
static void
act_as(struct ctx *cx, const struct grant *g)
{
	struct caller *c = ARENA_NEW(cx->arena, struct caller);

	*c = (struct caller){ .org_id = g->org_id,
		.org_slug = g->slug,
		.kind = PRINCIPAL_AGENT,
		.principal_id = g->agent_id,
		.name = g->agent_name,
		.delegator_id = g->person_id,
		.token_id = g->token_id,
		.via_token = true,
		.transport = "oauth" };
	cx->caller = c;
}

static status
end_grant(struct ctx *cx, const struct grant *g, int64_t now_us, const char *why)
{
	struct audit_entry e = { .action = AUDIT_TOKEN_REVOKED,
		.resource_type = STR("token"),
		.resource_id = g->token_id,
		.reason = str_of(why) };

	TRY(db_run(cx, SQL_GRANT_END, TEXT(g->org_id), TEXT(g->id), INT(now_us)));
	if (!g->token_id.len)
		return OK;
	TRY(db_run(cx, SQL_GRANT_END_TOKEN, TEXT(g->org_id), TEXT(g->token_id), INT(now_us)));
	act_as(cx, g);
	return audit_add(cx, &e, NULL);
}

static status
say_stolen(struct ctx *cx, const struct grant *g, int64_t now_us, const char *what)
{
	TRY(end_grant(cx, g, now_us, what));
	act_as(cx, g);
	return audit_add(cx,
		&(struct audit_entry){ .action = AUDIT_REFUSED,
			.resource_type = STR("grant"),
			.resource_id = g->id,
			.reason = str_of(what),
			.outcome = STR("refused") },
		NULL);
}

static status
add_refresh(struct ctx *cx, const struct grant *g, int64_t now_us, struct grant_tokens *t)
{
	int64_t until = now_us + LIMIT_OAUTH_REFRESH_US;

	if (until > g->expires_at)
		until = g->expires_at;
	t->refresh = secret_new(cx->arena, SECRET_KIND_REFRESH);
	return db_run(cx, SQL_GRANT_ADD_REFRESH, TEXT(secret_hash(cx->arena, t->refresh)), TEXT(g->org_id),
		TEXT(g->id), INT(until));
}

static int64_t
access_end(const struct grant *g, int64_t now_us)
{
	int64_t until = now_us + LIMIT_OAUTH_ACCESS_US;

	return until < g->expires_at ? until : g->expires_at;
}

static void
fill(const struct grant *g, const struct token_minted *m, int64_t now_us, struct grant_tokens *t)
{
	t->access = m->secret;
	t->scope = g->scope;
	t->expires_in = (m->expires_at - now_us) / SECOND_US;
}

/* One sentence for all of it: which part was wrong is nobody's business. */
static status
refuse(struct ctx *cx)
{
	return fail(cx, E_FORBIDDEN, "this is not good any more, or not for this client; begin again");
}

/* --- redeeming a code --- */

struct redeeming {
	const struct grant_redeem *in;
	str hash;
	bool good;
	struct grant_tokens tokens;
};

static bool
fits(struct ctx *cx, const struct grant *g, const struct grant_redeem *in, int64_t now_us)
{
	return g->code_until > now_us && !is_over(g, now_us) && str_eq(g->client_id, in->client_id) &&
	       str_eq(g->redirect_uri, in->redirect_uri) &&
	       (!in->resource.len || str_eq(g->resource, in->resource)) &&
	       pkce_matches(cx->arena, in->verifier, g->challenge);
}

static status
mint(struct ctx *cx, struct grant *g, int64_t now_us, struct token_minted *out)
{
	struct rules scope;
	struct token_new t = { .name = g->client_name,
		.principal_id = g->agent_id,
		.delegator_id = g->person_id,
		.audience = g->resource,
		.client_id = g->client_id,
		.all_environments = true,
		.all_keys = true,
		.verbs = ((1u << VERBS) - 1) & ~(1u << VERB_APPROVE),
		.ttl_us = access_end(g, now_us) - now_us };

	TRY(scope_read(cx, g->scope, &scope));
	t.level = scope.level;
	t.rules = scope.items;
	t.rule_count = scope.count;
	TRY(token_mint(cx, g->org_id, PRINCIPAL_AGENT, &t, out));
	g->token_id = out->token_id;
	act_as(cx, g);
	return change_record(cx, AUDIT_TOKEN_MINTED, "token", out->token_id, g->client_name, NULL,
		describe(cx->arena, g->client_id, g->client_name, g->redirect_uri, g->resource, g->scope));
}

/* Of two that bring one code the second waits for the lock, and finds it used. */
static status
redeem_tx(struct ctx *cx, void *arg)
{
	struct redeeming *r = arg;
	struct token_minted minted;
	struct grant g;
	int64_t now_us;
	status s;

	r->good = false;
	TRY(db_later(cx, SQL_GRANT_LOCK_BY_CODE, TEXT(r->hash)));
	s = db_one(cx, SQL_GRANT_BY_CODE, grant_row, &g, TEXT(r->hash));
	if (s == E_NOT_FOUND)
		return OK;
	TRY(s);
	TRY(tx_now_us(cx, &now_us));
	if (g.code_used_at)
		return g.revoked_at ? OK : say_stolen(cx, &g, now_us, "a code was used twice");
	if (!fits(cx, &g, r->in, now_us))
		return OK;
	TRY(mint(cx, &g, now_us, &minted));
	TRY(db_run(cx, SQL_GRANT_USE_CODE, TEXT(g.org_id), TEXT(g.id), INT(now_us), TEXT(g.token_id)));
	TRY(add_refresh(cx, &g, now_us, &r->tokens));
	fill(&g, &minted, now_us, &r->tokens);
	r->good = true;
	return OK;
}

static status
run(struct ctx *cx, tx_fn *fn, void *arg)
{
	status s = tx_run(cx, fn, arg);

	cx->caller = NULL; /* it was the transaction's */
	if (s == OK)
		ctx_clear(cx); /* what was not found was no failure */
	return s;
}

status
grant_redeem(struct ctx *cx, const struct grant_redeem *in, struct grant_tokens *out)
{
	struct redeeming r = { .in = in, .hash = secret_hash(cx->arena, in->code) };

	if (!secret_valid(in->code))
		return refuse(cx);
	TRY(run(cx, redeem_tx, &r));
	if (!r.good)
		return refuse(cx);
	*out = r.tokens;
	return OK;
}

/* --- refreshing --- */

struct refresh_row {
	int64_t expires_at, used_at;
};
static const struct field refresh_row[] = {
	FIELD_INT(struct refresh_row, expires_at),
	FIELD_INT(struct refresh_row, used_at),
	FIELD_END,
};

struct refreshing {
	const struct grant_refresh *in;
	str hash;
	bool good, too_much;
	struct grant_tokens tokens;
};

static status
check_scope(struct ctx *cx, const struct grant *g, struct refreshing *r)
{
	struct rules granted, asked;

	if (!r->in->scope.len)
		return OK;
	TRY(scope_read(cx, g->scope, &granted));
	r->too_much = scope_read(cx, r->in->scope, &asked) != OK || !scope_holds(&granted, &asked);
	return OK;
}

static status
rotate(struct ctx *cx, const struct grant *g, int64_t now_us, struct refreshing *r)
{
	struct token_minted minted;
	status s = token_rotate(cx, g->org_id, g->token_id, access_end(g, now_us), &minted);

	if (s == E_NOT_FOUND) /* somebody has revoked it */
		return OK;
	TRY(s);
	TRY(db_run(cx, SQL_GRANT_USE_REFRESH, TEXT(g->org_id), TEXT(r->hash), INT(now_us)));
	TRY(db_run(cx, SQL_GRANT_FORGET_REFRESH, TEXT(g->org_id), INT(now_us)));
	TRY(add_refresh(cx, g, now_us, &r->tokens));
	fill(g, &minted, now_us, &r->tokens);
	r->good = true;
	act_as(cx, g);
	return change_record(cx, AUDIT_TOKEN_RENEWED, "token", g->token_id, g->client_name, NULL, NULL);
}

static status
refresh_tx(struct ctx *cx, void *arg)
{
	struct refreshing *r = arg;
	struct refresh_row row;
	struct grant g;
	int64_t now_us;
	status s;

	r->good = r->too_much = false;
	TRY(db_later(cx, SQL_GRANT_LOCK_BY_REFRESH, TEXT(r->hash)));
	s = db_one(cx, SQL_GRANT_BY_REFRESH, grant_row, &g, TEXT(r->hash));
	if (s == E_NOT_FOUND)
		return OK;
	TRY(s);
	TRY(db_one(cx, SQL_GRANT_REFRESH_GET, refresh_row, &row, TEXT(g.org_id), TEXT(r->hash)));
	TRY(tx_now_us(cx, &now_us));
	if (!str_eq(g.client_id, r->in->client_id))
		return OK;
	if (row.used_at)
		return g.revoked_at ? OK : say_stolen(cx, &g, now_us, "a refresh token was used twice");
	if (row.expires_at <= now_us || is_over(&g, now_us) ||
		(r->in->resource.len && !str_eq(g.resource, r->in->resource)))
		return OK;
	TRY(check_scope(cx, &g, r));
	return r->too_much ? OK : rotate(cx, &g, now_us, r);
}

status
grant_refresh(struct ctx *cx, const struct grant_refresh *in, struct grant_tokens *out)
{
	struct refreshing r = { .in = in, .hash = secret_hash(cx->arena, in->refresh) };

	if (!secret_valid(in->refresh))
		return refuse(cx);
	TRY(run(cx, refresh_tx, &r));
	if (r.too_much)
		return fail(cx, E_SCOPE, "a refresh gives what was agreed to, not more");
	if (!r.good)
		return refuse(cx);
	*out = r.tokens;
	return OK;
}

/* --- the client gives it back --- */

struct revoking {
	str hash, client_id;
};

static status
revoke_tx(struct ctx *cx, void *arg)
{
	const struct revoking *r = arg;
	struct grant g;
	int64_t now_us;
	status s;

	TRY(db_later(cx, SQL_GRANT_LOCK_BY_REFRESH, TEXT(r->hash)));
	TRY(db_later(cx, SQL_GRANT_LOCK_BY_TOKEN, TEXT(r->hash)));
	s = db_one(cx, SQL_GRANT_BY_REFRESH, grant_row, &g, TEXT(r->hash));
	if (s == E_NOT_FOUND)
		s = db_one(cx, SQL_GRANT_BY_TOKEN, grant_row, &g, TEXT(r->hash));
	if (s == E_NOT_FOUND)
		return OK;
	TRY(s);
	if (g.revoked_at || !str_eq(g.client_id, r->client_id))
		return OK;
	TRY(tx_now_us(cx, &now_us));
	return end_grant(cx, &g, now_us, "by its client");
}

status
grant_revoke(struct ctx *cx, str token, str client_id)
{
	struct revoking r = { secret_hash(cx->arena, token), client_id };

	if (!secret_valid(token))
		return OK;
	return run(cx, revoke_tx, &r);
}
