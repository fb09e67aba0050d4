/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/mcp/auth/auth.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "core/oidc/jwt.h"

#include <sodium.h>
#include <stdlib.h>

#define STEP_UPS 2u /* of one request; a server that is never content is left alone */

struct mcp_auth *
mcp_auth_new(struct mcp_client *c)
{
	struct mcp_auth *a = calloc(1, sizeof(*a));

	CHECK(a); /* no memory */
	a->c = c;
	CHECK(pthread_mutex_init(&a->turn, NULL) == 0 && pthread_mutex_init(&a->mutex, NULL) == 0);
	return a;
}

void
mcp_auth_free(struct mcp_auth *a)
{
	if (a->tokens)
		sodium_memzero(a->tokens, strlen(a->tokens));
	free(a->tokens);
	CHECK(pthread_mutex_destroy(&a->turn) == 0 && pthread_mutex_destroy(&a->mutex) == 0);
	free(a);
}

str
auth_random(struct arena *a)
{
	unsigned char bytes[32];

	random_bytes(bytes, sizeof(bytes));
	return base64url(a, (str){ (const char *)bytes, sizeof(bytes) });
}

/* --- the store --- */

static str
place(struct ctx *cx, const struct mcp_auth *a, const char *what)
{
	return arena_printf(cx->arena, "%.*s/%s", STR_ARG(a->c->options.name), what);
}

status
auth_load(struct ctx *cx, struct mcp_auth *a, const char *what, struct json **out_doc)
{
	const struct mcp_store *s = &a->c->options.oauth->store;
	str text = { 0 };

	*out_doc = NULL;
	TRY(s->load(s->arg, cx, place(cx, a, what), &text));
	if (text.len && json_parse(cx, text, out_doc) != OK)
		return fail(cx, E_INTERNAL, "what was kept of an authorization cannot be read");
	return OK;
}

status
auth_save(struct ctx *cx, struct mcp_auth *a, const char *what, const struct buf *text)
{
	const struct mcp_store *s = &a->c->options.oauth->store;
	str all;

	TRY(buf_finish(text, &all));
	return s->save(s->arg, cx, place(cx, a, what), all);
}

/* --- turns --- */

static status
enter(struct ctx *cx, struct mcp_auth *a)
{
	const struct mcp_store *s = &a->c->options.oauth->store;

	return s->enter ? s->enter(s->arg, cx) : OK;
}

/* What was said of the work in between stays said. */
static void
leave(struct ctx *cx, struct mcp_auth *a)
{
	const struct mcp_store *s = &a->c->options.oauth->store;
	struct error said = cx->error;

	if (s->leave)
		s->leave(s->arg, cx);
	cx->error = said;
}

status
auth_save_in_turn(struct ctx *cx, struct mcp_auth *a, const struct grant *g)
{
	status s;

	TRY(enter(cx, a));
	s = grant_save(cx, a, g);
	leave(cx, a);
	return s;
}

/* --- tokens --- */

static bool
is_good(const struct grant *g)
{
	return g->access.len && (!g->until_us || clock_now_us() < g->until_us);
}

static bool
can_renew(const struct mcp_auth *a, const struct grant *g)
{
	return g->access.len && (g->refresh.len || a->c->options.oauth->machine);
}

/* In the turn of all processes. A refresh token that is not taken is forgotten, with all that came with it. */
static status
renew_alone(struct ctx *cx, struct mcp_auth *a, struct grant *g)
{
	struct grant now;
	status s;

	TRY(grant_load(cx, a, true, &now));
	if (!str_eq(now.access, g->access)) { /* another process was quicker */
		*g = now;
		return OK;
	}
	s = grant_renew(cx, a, g);
	if (s == E_UNAUTHENTICATED) {
		ctx_clear(cx);
		*g = (struct grant){ 0 };
		return grant_save(cx, a, NULL);
	}
	TRY(s);
	return grant_save(cx, a, g);
}

/* With the turn of this process. */
static status
renew(struct ctx *cx, struct mcp_auth *a, struct grant *g)
{
	status s;

	TRY(enter(cx, a));
	s = renew_alone(cx, a, g);
	leave(cx, a);
	return s;
}

status
mcp_auth_token(struct ctx *cx, struct mcp_auth *a, str *out_token)
{
	struct grant g;

	TRY(grant_load(cx, a, false, &g));
	if (!is_good(&g) && can_renew(a, &g)) {
		scoped_lock held = lock(&a->turn);

		TRY(grant_load(cx, a, true, &g)); /* somebody else may have done it */
		if (!is_good(&g) && can_renew(a, &g))
			TRY(renew(cx, a, &g));
	}
	*out_token = g.access;
	return OK;
}

/* --- a refusal --- */

/* What a machine gets by its own word. */
static status
get_for_machine(struct ctx *cx, struct mcp_auth *a, const struct issuer *i, str scope)
{
	struct grant g = { .issuer = i->name,
		.resource = i->resource,
		.token_endpoint = i->token_endpoint,
		.revocation_endpoint = i->revocation_endpoint,
		.scope = scope };
	status s;

	TRY(identity_find(cx, a, i, &g.identity));
	s = grant_machine(cx, a, &g);
	if (s == E_UNAUTHENTICATED)
		atomic_store(&a->c->unauthorized, true);
	TRY(s);
	return auth_save_in_turn(cx, a, &g);
}

/* Nobody is there now. Who wants more than we have stops this one call; who wants another token stops all of them. */
static status
wait_for_somebody(
	struct ctx *cx, struct mcp_auth *a, const struct issuer *i, struct grant *g, str scope, bool step_up)
{
	if (step_up) {
		g->scope = scope; /* for who authorizes us next */
		TRY(auth_save_in_turn(cx, a, g));
		return fail(cx, E_UNAUTHENTICATED,
			"the MCP server wants more than it was authorized for; somebody has to authorize it "
			"again at %.*s",
			STR_ARG(i->name));
	}
	atomic_store(&a->c->unauthorized, true);
	return fail(cx, E_UNAUTHENTICATED,
		"the MCP server wants an authorization that somebody has to give at %.*s", STR_ARG(i->name));
}

static status
ask_somebody(struct ctx *cx, struct mcp_auth *a, const struct issuer *i, str scope)
{
	const struct mcp_oauth *o = a->c->options.oauth;
	struct mcp_flow flow;
	str back;

	TRY(flow_begin(cx, a, i, scope, &flow));
	TRY(o->visit(o->visit_arg, cx, flow.url, &back));
	return flow_end(cx, a, flow.kept, back);
}

/* What the server asks for now, and what we had: a step up loses nothing. */
static str
wanted(struct ctx *cx, const struct mcp_auth *a, const struct challenge *ch, const struct issuer *i,
	const struct grant *g)
{
	str scope = scope_union(cx->arena, a->c->options.oauth->scope, ch->scope.len ? ch->scope : i->scopes);

	return str_eq(g->issuer, i->name) ? scope_union(cx->arena, g->scope, scope) : scope;
}

static bool
is_step_up(const struct mcp_reply *r, const struct challenge *ch)
{
	return r->status == 403 && str_eq(ch->error, STR("insufficient_scope"));
}

/* With the turn. A token that was just renewed and is refused is not renewed again. */
static status
get_token(struct ctx *cx, struct mcp_auth *a, const struct challenge *ch, struct grant *g, bool step_up,
	unsigned tries)
{
	const struct mcp_oauth *o = a->c->options.oauth;
	struct issuer i;
	bool same;
	str scope;

	TRY(issuer_find(cx, a->c, ch, &i));
	same = str_eq(g->issuer, i.name) && str_eq(g->resource, i.resource);
	if (!step_up && !tries && same && g->refresh.len) {
		TRY(renew(cx, a, g));
		if (g->access.len)
			return OK;
	}
	scope = wanted(cx, a, ch, &i, g);
	if (o->machine && (step_up || !tries))
		return get_for_machine(cx, a, &i, scope);
	if (!o->visit || o->machine)
		return wait_for_somebody(cx, a, &i, g, scope, step_up);
	return ask_somebody(cx, a, &i, scope);
}

status
mcp_auth_refused(struct ctx *cx, struct mcp_auth *a, str token, const struct mcp_reply *reply, unsigned tries,
	bool *out_again)
{
	scoped_lock held = lock(&a->turn);
	struct challenge ch;
	struct grant g;
	bool step_up;

	challenge_read(cx->arena, reply, &ch);
	step_up = is_step_up(reply, &ch);
	*out_again = false;
	if ((reply->status == 403 && !step_up) || tries > STEP_UPS)
		return OK;
	TRY(grant_load(cx, a, true, &g));
	if (g.access.len && !str_eq(g.access, token)) /* somebody else was quicker */
		*out_again = true;
	else
		TRY(get_token(cx, a, &ch, &g, step_up, tries));
	*out_again = true;
	return OK;
}

/* --- in two steps --- */

/* A request without a token, to hear what the server wants. */
static status
knock(struct ctx *cx, struct mcp_client *c, struct challenge *out)
{
	int64_t until_us = clock_mono_us() + (int64_t)LIMIT_OIDC_MS * 1000;
	struct mcp_letter l = { .id = 1,
		.method = STR("tools/list"),
		.session = { .era = MCP_MODERN, .version = STR(MCP_MODERN_VERSION) },
		.send_by_us = until_us,
		.deadline_us = until_us };
	struct mcp_reply r;

	TRY(mcp_message_write(cx, c, &l));
	mcp_http_send(cx, c, &l, (str){ 0 }, &r);
	if (!r.status)
		return fail(cx, E_UNAVAILABLE, "the MCP server gives no answer: %.*s", STR_ARG(r.why));
	challenge_read(cx->arena, &r, out);
	return OK;
}

status
mcp_client_authorize(struct ctx *cx, struct mcp_client *c, struct mcp_flow *out)
{
	struct challenge ch;
	struct issuer i;
	struct grant g;

	if (!c->auth)
		return fail(cx, E_UNAVAILABLE, "this MCP server is not set up for OAuth");
	TRY(knock(cx, c, &ch));
	TRY(issuer_find(cx, c, &ch, &i));
	TRY(grant_load(cx, c->auth, true, &g));
	return flow_begin(cx, c->auth, &i, wanted(cx, c->auth, &ch, &i, &g), out);
}

status
mcp_client_authorized(struct ctx *cx, struct mcp_client *c, str kept, str back)
{
	scoped_lock held = c->auth ? lock(&c->auth->turn) : NULL;

	if (!c->auth)
		return fail(cx, E_UNAVAILABLE, "this MCP server is not set up for OAuth");
	return flow_end(cx, c->auth, kept, back);
}

bool
mcp_client_unauthorized(const struct mcp_client *c)
{
	return atomic_load(&c->unauthorized);
}

status
mcp_client_revoke(struct ctx *cx, struct mcp_client *c)
{
	struct grant g;

	if (!c->auth)
		return OK;
	TRY(grant_load(cx, c->auth, true, &g));
	return grant_tell_end(cx, c->auth, &g);
}
