/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/upstream/authorization.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "core/ident/caller.h"
#include "core/ident/secret.h"
#include "core/people/change.h"
#include "db/db.h"
#include "exec/safe.h"
#include "exec/upstream/clients.h"
#include "json/bind.h"

#include "exec/upstream/authorization.sql.h" /* SQL_AUTHORIZATION_*, generated from authorization.sql */

#include <stdlib.h>
#include <time.h>

#define MANAGE "mcp.upstream.manage"

struct kept {
	str client_secret_id, tokens_secret_id, flow_secret_id, flow_by;
	int64_t flow_until, fence, turn_until;
};
static const struct field kept[] = {
	FIELD_TEXT(struct kept, client_secret_id),
	FIELD_TEXT(struct kept, tokens_secret_id),
	FIELD_TEXT(struct kept, flow_secret_id),
	FIELD_TEXT(struct kept, flow_by),
	FIELD_INT(struct kept, flow_until),
	FIELD_INT(struct kept, fence),
	FIELD_INT(struct kept, turn_until),
	FIELD_END,
};

/* Empty where nothing is kept. */
static status
get_kept(struct ctx *cx, str org_id, str id, struct kept *out)
{
	status s = db_one(cx, SQL_AUTHORIZATION_GET, kept, out, TEXT(org_id), TEXT(id));

	if (s != E_NOT_FOUND)
		return s;
	ctx_clear(cx);
	*out = (struct kept){ 0 };
	return OK;
}

/* With the upstream's lock: the row is there from here on. */
static status
lock_kept(struct ctx *cx, str org_id, str id, struct upstream *of, struct kept *out)
{
	TRY(upstream_lock(cx, org_id, id, of));
	TRY(db_run(cx, SQL_AUTHORIZATION_ADD, TEXT(org_id), TEXT(id)));
	return get_kept(cx, org_id, id, out);
}

/* --- states --- */

/* With the upstream's lock. That somebody has to do something is on record. */
static status
set_state(struct ctx *cx, const struct upstream *of, str state)
{
	struct audit_entry e = { .action = AUDIT_RECORD_CHANGED,
		.org_id = of->org_id,
		.resource_type = STR("upstream"),
		.resource_id = of->id,
		.resource_key = of->name,
		.reason = STR("it needs to be authorized") };

	if (str_eq(of->auth_state, state))
		return OK;
	TRY(db_run(cx, SQL_AUTHORIZATION_STATE, TEXT(of->org_id), TEXT(of->id), TEXT(state)));
	return str_eq(state, STR("needed")) ? audit_add(cx, &e, NULL) : OK;
}

static status
need(struct ctx *cx, void *arg)
{
	const struct upstream *of = arg;
	struct upstream now;

	TRY(upstream_lock(cx, of->org_id, of->id, &now));
	if (now.version != of->version) /* somebody has changed it meanwhile: it is another story */
		return OK;
	return set_state(cx, &now, STR("needed"));
}

status
authorization_need(struct ctx *cx, const struct upstream *of)
{
	struct upstream copy = *of;

	return tx_run(cx, need, &copy);
}

status
authorization_unneed(struct ctx *cx, const struct upstream *of)
{
	struct kept k;

	if (!str_eq(of->auth_state, STR("needed")))
		return OK;
	TRY(get_kept(cx, of->org_id, of->id, &k));
	return set_state(cx, of, k.tokens_secret_id.len ? STR("given") : (str){ 0 });
}

status
authorization_drop(struct ctx *cx, const struct upstream *of)
{
	struct kept k;

	TRY(get_kept(cx, of->org_id, of->id, &k));
	TRY(safe_drop(cx, of->org_id, k.client_secret_id));
	TRY(safe_drop(cx, of->org_id, k.tokens_secret_id));
	TRY(safe_drop(cx, of->org_id, k.flow_secret_id));
	return db_run(cx, SQL_AUTHORIZATION_FORGET, TEXT(of->org_id), TEXT(of->id));
}

/* --- what a client keeps --- */

struct authorization {
	char *org_id, *id;
	int64_t fence; /* of our turn; of who has the client's */
};

static char *
copy(str s)
{
	char *text = malloc(s.len + 1);

	CHECK(text != NULL);
	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	return text;
}

struct authorization *
authorization_new(const struct upstream *of)
{
	struct authorization *a = calloc(1, sizeof(*a));

	CHECK(a != NULL);
	a->org_id = copy(of->org_id);
	a->id = copy(of->id);
	return a;
}

void
authorization_free(struct authorization *a)
{
	if (!a)
		return;
	free(a->org_id);
	free(a->id);
	free(a);
}

struct keeping {
	struct authorization *a;
	bool tokens; /* or who we are */
	str text;
	bool mine;
};

/* What it is that the client calls "<name>/tokens" or "<name>/client". */
static struct keeping
about(struct authorization *a, str name)
{
	const str tokens = STR("/tokens");
	bool is_tokens = name.len >= tokens.len &&
			 str_eq((str){ name.ptr + name.len - tokens.len, tokens.len }, tokens);

	return (struct keeping){ .a = a, .tokens = is_tokens };
}

static status
load(struct ctx *cx, void *arg)
{
	struct keeping *l = arg;
	str org_id = str_of(l->a->org_id);
	scoped_secret secret = { 0 };
	struct kept k;

	TRY(get_kept(cx, org_id, str_of(l->a->id), &k));
	TRY(safe_get(cx, org_id, l->tokens ? k.tokens_secret_id : k.client_secret_id, &secret));
	l->text = arena_str(cx->arena, secret.text);
	return OK;
}

static status
load_text(void *arg, struct ctx *cx, str name, str *out_text)
{
	struct keeping l = about(arg, name);

	TRY(db_read(cx, load, &l));
	*out_text = l.text;
	return OK;
}

static status
replace(struct ctx *cx, str org_id, str old, str text, str *out_id)
{
	*out_id = (str){ 0 };
	TRY(safe_drop(cx, org_id, old));
	return text.len ? safe_put(cx, org_id, text, out_id) : OK;
}

static status
save(struct ctx *cx, void *arg)
{
	const struct keeping *s = arg;
	str org_id = str_of(s->a->org_id), id = str_of(s->a->id), secret_id;
	struct upstream of;
	struct kept k;

	TRY(lock_kept(cx, org_id, id, &of, &k));
	if (!s->tokens) {
		TRY(replace(cx, org_id, k.client_secret_id, s->text, &secret_id));
		return db_run(cx, SQL_AUTHORIZATION_CLIENT, TEXT(org_id), TEXT(id), TEXT(secret_id));
	}
	if (k.fence != s->a->fence)
		return fail(cx, E_CONFLICT, "the authorization was changed meanwhile");
	TRY(replace(cx, org_id, k.tokens_secret_id, s->text, &secret_id));
	TRY(db_run(cx, SQL_AUTHORIZATION_TOKENS, TEXT(org_id), TEXT(id), TEXT(secret_id)));
	return set_state(cx, &of, s->text.len ? STR("given") : STR("needed"));
}

/* Tokens that are known must not be lost for a moment without the database: the old refresh token may be none any more. */
static status
save_text(void *arg, struct ctx *cx, str name, str text)
{
	struct keeping k = about(arg, name);
	status s;

	k.text = text;
	s = tx_run(cx, save, &k);
	for (int tries = 0; status_info(s)->http >= 500 && s != OK && tries < LIMIT_OUTCOME_TRIES; tries++) {
		struct timespec t = { .tv_nsec = 10000000L << (tries < 6 ? tries : 6) };

		ctx_clear(cx);
		(void)nanosleep(&t, NULL); /* the database is away: there is nothing to wait on */
		s = tx_run(cx, save, &k);
	}
	return s;
}

/* --- turns --- */

static status
take_turn(struct ctx *cx, void *arg)
{
	struct keeping *t = arg;
	str org_id = str_of(t->a->org_id), id = str_of(t->a->id);
	struct upstream of;
	struct kept k;
	int64_t now_us;

	TRY(lock_kept(cx, org_id, id, &of, &k));
	TRY(tx_now_us(cx, &now_us));
	t->mine = k.turn_until <= now_us;
	if (!t->mine)
		return OK;
	t->a->fence = k.fence + 1;
	return db_run(
		cx, SQL_AUTHORIZATION_TURN, TEXT(org_id), TEXT(id), INT(now_us + LIMIT_UPSTREAM_TURN_US));
}

/* Another process has it for as long as one answer takes, or has died with it. */
static status
enter(void *arg, struct ctx *cx)
{
	int64_t until_us = clock_mono_us() + LIMIT_UPSTREAM_TURN_US;
	struct keeping t = { .a = arg };

	for (;;) {
		struct timespec pause = { .tv_nsec = 50000000 };

		TRY(tx_run(cx, take_turn, &t));
		if (t.mine)
			return OK;
		if (clock_mono_us() >= until_us)
			return fail(
				cx, E_UNAVAILABLE, "another server is renewing the authorization; try again");
		(void)nanosleep(&pause, NULL); /* it is on another machine: nothing to wait on */
	}
}

static status
give_turn(struct ctx *cx, void *arg)
{
	const struct authorization *a = arg;

	return db_run(
		cx, SQL_AUTHORIZATION_LEAVE, TEXT(str_of(a->org_id)), TEXT(str_of(a->id)), INT(a->fence));
}

static void
leave(void *arg, struct ctx *cx)
{
	if (tx_run(cx, give_turn, arg) != OK)
		ctx_clear(cx); /* then it ends by itself */
}

struct mcp_store
authorization_store(struct authorization *a)
{
	return (struct mcp_store){
		.load = load_text, .save = save_text, .enter = enter, .leave = leave, .arg = a
	};
}

/* --- what an admin says of it --- */

static const char *const grants[] = { "authorization_code", "client_credentials", NULL };
struct said {
	str client_id, client_secret, issuer, grant, scope;
};
static const struct field said[] = {
	FIELD_TEXT(struct said, client_id, .need = true, .min = 1, .max = 2000),
	FIELD_TEXT(struct said, client_secret, .max = 8000),
	FIELD_TEXT(struct said, issuer, .max = LIMIT_URI_BYTES),
	FIELD_TEXT(struct said, grant, .choices = grants),
	FIELD_TEXT(struct said, scope, .max = LIMIT_OAUTH_SCOPE_TEXT),
	FIELD_END,
};
static const struct field public[] = {
	FIELD_TEXT(struct said, client_id),
	FIELD_TEXT(struct said, issuer),
	FIELD_TEXT(struct said, grant),
	FIELD_TEXT(struct said, scope),
	FIELD_END,
};

static status
invalid(struct ctx *cx, const char *path, const char *what)
{
	fail_issue(cx, str_of(path), str_of(what));
	return fail(cx, E_INVALID, "%s %s", path, what);
}

status
authorization_check(struct ctx *cx, const struct json *doc, str *out_shown, str *out_secret)
{
	struct said s = { 0 };
	struct json_out o;
	struct buf b;

	TRY(fail_below(cx, STR("/oauth"), json_bind(cx, doc, said, sizeof(s), &s)));
	if (s.client_secret.len && !s.issuer.len)
		return invalid(cx, "/oauth/issuer",
			"is needed with a secret: the server says who its authorization server is, and "
			"could name another one to hear the secret");
	if (str_eq(s.grant, STR("client_credentials")) && !s.client_secret.len)
		return invalid(cx, "/oauth/clientSecret", "is needed: a machine has nothing else to show");
	if (!s.grant.len)
		s.grant = STR("authorization_code");
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_fields(&o, public, &s);
	json_out_end(&o);
	TRY(buf_finish(&b, out_shown));
	*out_secret = s.client_secret;
	return OK;
}

status
authorization_read(struct ctx *cx, str shown, str secret, struct mcp_oauth *out)
{
	struct said s = { 0 };
	struct json *doc;

	if (!shown.len)
		return OK;
	TRY(json_parse(cx, shown, &doc));
	TRY(json_bind(cx, doc, public, sizeof(s), &s));
	out->client_id = s.client_id;
	out->client_secret = secret;
	out->issuer = s.issuer;
	out->scope = s.scope;
	out->machine = str_eq(s.grant, STR("client_credentials"));
	return OK;
}

/* --- somebody goes there --- */

struct finding {
	str org_id, id;
	struct upstream of;
};

static status
find(struct ctx *cx, void *arg)
{
	struct finding *f = arg;

	return upstream_get(cx, f->org_id, f->id, &f->of);
}

/* What prepare finds for run. */
struct found {
	struct mcp_flow flow;
	str id;
};

struct id_in {
	str id;
	struct found *found;
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Which server."),
	FIELD_END,
};

struct begin_out {
	str url, expires_at;
};
static const struct field begin_out[] = {
	FIELD_TEXT(struct begin_out, url, .need = true,
		.doc = "The address to open in a browser: the server's authorization server asks there."),
	FIELD_TEXT(struct begin_out, expires_at, .need = true,
		.doc = "Until then the way back is good (RFC 3339), once, for who asked."),
	FIELD_END,
};

static status
prepare_begin(struct ctx *cx, void *in)
{
	struct id_in *i = in;
	struct finding f = { .org_id = cx->caller->org_id, .id = i->id };

	TRY(db_read(cx, find, &f));
	if (!cx->public_url.len)
		return fail(cx, E_CONFLICT,
			"an authorization server sends the browser back to us: set public-url, so that we "
			"know where that is");
	i->found = ARENA_NEW(cx->arena, struct found);
	return upstreams_authorize(cx, &f.of, &i->found->flow);
}

static status
run_begin(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct id_in *i = in;
	const struct mcp_flow *flow = &i->found->flow;
	str secret_id;
	struct upstream u;
	struct kept k;

	TRY(lock_kept(cx, cx->caller->org_id, i->id, &u, &k));
	TRY(replace(cx, u.org_id, k.flow_secret_id, flow->kept, &secret_id));
	TRY(db_run(cx, SQL_AUTHORIZATION_FLOW, TEXT(u.org_id), TEXT(u.id), TEXT(secret_id),
		TEXT(secret_hash(cx->arena, flow->state)), TEXT(cx->caller->principal_id),
		INT(flow->until_us)));
	json_out_str(out, "url", flow->url);
	json_out_time(out, "expiresAt", flow->until_us);
	return OK;
}

/* --- and comes back --- */

struct finish_in {
	str back;
	struct found *found;
};
static const struct field finish_in[] = {
	FIELD_TEXT(struct finish_in, back, .need = true, .min = 1, .max = LIMIT_HTTP_TARGET,
		.doc = "The address to which the browser was sent back, or its query."),
	FIELD_END,
};

struct coming {
	str org_id, principal_id, state;
	str id, kept;
};
static const struct field by_state[] = {
	FIELD_TEXT(struct coming, id),
	FIELD_END,
};

/* The same words for a state that nobody began with, somebody else's, one that came back before, and an old one. */
static status
refuse(struct ctx *cx)
{
	return fail(cx, E_CONFLICT,
		"you have not begun this authorization, or too long ago, or it has come back already; begin "
		"again");
}

/* Whoever takes it out has it: it is gone with that. */
static status
take_flow(struct ctx *cx, void *arg)
{
	struct coming *c = arg;
	str hash = secret_hash(cx->arena, c->state);
	scoped_secret secret = { 0 };
	struct upstream of;
	struct kept k;
	int64_t now_us;
	status s = db_one(cx, SQL_AUTHORIZATION_BY_STATE, by_state, c, TEXT(c->org_id), TEXT(hash),
		TEXT(c->principal_id));

	if (s == E_NOT_FOUND)
		return refuse(cx);
	TRY(s);
	TRY(lock_kept(cx, c->org_id, c->id, &of, &k));
	s = db_one(cx, SQL_AUTHORIZATION_BY_STATE, by_state, c, TEXT(c->org_id), TEXT(hash),
		TEXT(c->principal_id)); /* with the lock */
	TRY(tx_now_us(cx, &now_us));
	if (s == E_NOT_FOUND || (s == OK && k.flow_until < now_us))
		return refuse(cx);
	TRY(s);
	/* the tokens that come now are another credential: what was claimed with the old one is not sent */
	TRY(db_run(cx, SQL_AUTHORIZATION_GIVEN, TEXT(c->org_id), TEXT(c->id)));
	TRY(safe_get(cx, c->org_id, k.flow_secret_id, &secret));
	c->kept = arena_str(cx->arena, secret.text);
	TRY(safe_drop(cx, c->org_id, k.flow_secret_id));
	return db_run(cx, SQL_AUTHORIZATION_FLOW, TEXT(c->org_id), TEXT(c->id), TEXT((str){ 0 }),
		TEXT((str){ 0 }), TEXT((str){ 0 }), INT(0));
}

static status
prepare_finish(struct ctx *cx, void *in)
{
	struct finish_in *i = in;
	struct coming c = { .org_id = cx->caller->org_id,
		.principal_id = cx->caller->principal_id,
		.state = mcp_flow_state(cx, i->back) };
	struct finding f = { .org_id = c.org_id };
	status s;

	if (!c.state.len)
		return refuse(cx);
	TRY(tx_run(cx, take_flow, &c));
	f.id = c.id;
	TRY(db_read(cx, find, &f));
	s = upstreams_authorized(cx, &f.of, c.kept, i->back);
	if (s == E_UNAUTHENTICATED) /* at the other server, not here */
		return fail(cx, E_CONFLICT, "%.*s", STR_ARG(ctx_message(cx, s)));
	TRY(s);
	i->found = ARENA_NEW(cx->arena, struct found);
	i->found->id = f.of.id;
	return OK;
}

static status
change(struct ctx *cx, const struct upstream *u, const char *state, struct json_out *out)
{
	struct upstream now;
	struct json *before, *after;

	TRY(upstream_picture(cx, u, &before));
	TRY(db_run(cx, SQL_AUTHORIZATION_CHANGED, TEXT(u->org_id), TEXT(u->id), TEXT(str_of(state))));
	TRY(upstream_get(cx, u->org_id, u->id, &now));
	TRY(upstream_picture(cx, &now, &after));
	TRY(change_record(cx, AUDIT_RECORD_CHANGED, "upstream", u->id, u->name, before, after));
	upstream_write(cx, out, &now);
	return OK;
}

static status
run_finish(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct finish_in *i = in;
	struct upstream u;
	struct kept k;

	TRY(lock_kept(cx, cx->caller->org_id, i->found->id, &u, &k));
	if (!k.tokens_secret_id.len) /* somebody has forgotten it meanwhile */
		return refuse(cx);
	u.auth_state = STR("needed"); /* as it was before somebody went */
	return change(cx, &u, "given", out);
}

/* --- the end of it --- */

void
authorization_revoke(struct ctx *cx, str org_id, str id)
{
	struct finding f = { .org_id = org_id, .id = id };
	status s = db_read(cx, find, &f);

	if (s == OK && str_eq(f.of.kind, STR("http")))
		s = upstreams_revoke(cx, &f.of);
	if (s != OK && s != E_NOT_FOUND)
		LOG(LOG_WARN, "upstream.not_revoked", LOG_STR("name", f.of.name),
			LOG_STR("why", ctx_message(cx, s)));
	ctx_clear(cx);
}

static status
prepare_forget(struct ctx *cx, void *in)
{
	authorization_revoke(cx, cx->caller->org_id, ((const struct id_in *)in)->id);
	return OK;
}

/* The row stays, with the next number: who renews meanwhile comes too late. */
static status
run_forget(struct ctx *cx, const void *in, struct json_out *out)
{
	str org_id = cx->caller->org_id, id = ((const struct id_in *)in)->id;
	struct upstream u;
	struct kept k;

	TRY(lock_kept(cx, org_id, id, &u, &k));
	if (!k.tokens_secret_id.len && !k.client_secret_id.len && !k.flow_secret_id.len)
		return fail(cx, E_CONFLICT, "%.*s was not authorized", STR_ARG(u.name));
	TRY(safe_drop(cx, org_id, k.client_secret_id));
	TRY(safe_drop(cx, org_id, k.tokens_secret_id));
	TRY(safe_drop(cx, org_id, k.flow_secret_id));
	TRY(db_run(cx, SQL_AUTHORIZATION_CLIENT, TEXT(org_id), TEXT(id), TEXT((str){ 0 })));
	TRY(db_run(cx, SQL_AUTHORIZATION_TOKENS, TEXT(org_id), TEXT(id), TEXT((str){ 0 })));
	TRY(db_run(cx, SQL_AUTHORIZATION_FLOW, TEXT(org_id), TEXT(id), TEXT((str){ 0 }), TEXT((str){ 0 }),
		TEXT((str){ 0 }), INT(0)));
	TRY(db_run(cx, SQL_AUTHORIZATION_TURN, TEXT(org_id), TEXT(id), INT(0)));
	return change(cx, &u, "needed", out);
}

const struct op authorization_ops[] = {
	[AUTHORIZATION_BEGIN] = { .name = "upstream_authorize",
		.method = "POST",
		.path = "/api/v1/upstreams/{id}/authorize",
		.rule = MANAGE,
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Begins to authorize us at another MCP server that wants OAuth: gives an address to "
		       "open in a browser.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = begin_out,
		.errors = OP_ERRORS(
			E_NOT_FOUND, E_CONFLICT, E_BUSY, E_TOO_LARGE, E_UNAVAILABLE, E_COMMIT_UNKNOWN),
		.prepare = prepare_begin,
		.run = run_begin },
	[AUTHORIZATION_FINISH] = { .name = "upstream_authorized",
		.method = "POST",
		.path = "/api/v1/upstreams/authorization",
		.rule = MANAGE,
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Ends what upstream_authorize began, by who began it: the page to which the browser "
		       "comes back does the same.",
		.in = finish_in,
		.in_size = sizeof(struct finish_in),
		.out = upstream_shown,
		.errors = OP_ERRORS(
			E_NOT_FOUND, E_CONFLICT, E_BUSY, E_TOO_LARGE, E_UNAVAILABLE, E_COMMIT_UNKNOWN),
		.prepare = prepare_finish,
		.run = run_finish },
	[AUTHORIZATION_FORGET] = { .name = "upstream_unauthorize",
		.method = "DELETE",
		.path = "/api/v1/upstreams/{id}/authorization",
		.rule = MANAGE,
		.effect = OP_DESTRUCTIVE,
		.tx = OP_TX_RIGHTS,
		.doc = "Forgets what was authorized at another MCP server, and tells its authorization "
		       "server where that can be told.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = upstream_shown,
		.errors = OP_ERRORS(E_NOT_FOUND, E_CONFLICT, E_UNAVAILABLE, E_COMMIT_UNKNOWN),
		.prepare = prepare_forget,
		.run = run_forget },
	{ 0 },
};
