/* SPDX-License-Identifier: Apache-2.0 */
#include "core/oidc/oidc.h"

#include "base/clock.h"
#include "base/limits.h"
#include "core/ident/caller.h"
#include "core/ident/secret.h"
#include "core/oidc/account.h"
#include "core/oidc/flow.h"
#include "core/oidc/jwt.h"
#include "core/oidc/provider.h"
#include "http/client/form.h"

#include <inttypes.h>

static status
require(struct ctx *cx)
{
	return cx->oidc ? OK
			: fail(cx, E_NOT_FOUND,
				  "this server has no identity provider; sign in with a password");
}

/* What a flow is bound to: a cookie of another provider or client opens nothing. */
static str
about(struct ctx *cx)
{
	const struct oidc_options *o = oidc_options(cx->oidc);

	return arena_printf(cx->arena, "%.*s %.*s", STR_ARG(o->issuer), STR_ARG(o->client_id));
}

/* Lax: the way back begins on the provider's site. */
static str
flow_cookie(struct ctx *cx, str value, int64_t max_age)
{
	return arena_printf(cx->arena,
		OIDC_COOKIE "=%.*s; Path=/; Max-Age=%" PRId64 "; Secure; HttpOnly; SameSite=Lax",
		STR_ARG(value), max_age);
}

static void
go_to(struct ctx *cx, str where, struct json_out *out)
{
	ctx_header(cx, "Location", where);
	buf_add(out->buf, STR("Go on where Location says.\n"));
}

/* --- there --- */

struct start_in {
	str return_to, org;
	bool step_up;
};
static const struct field start_in[] = {
	FIELD_TEXT(struct start_in, return_to, .max = LIMIT_OIDC_RETURN,
		.doc = "Where to go on afterwards: a path of this server; / unless said."),
	FIELD_TEXT(struct start_in, org, .max = LIMIT_NAME,
		.doc = "The organization's slug, where somebody is in several."),
	FIELD_BOOL(struct start_in, step_up,
		.doc = "The provider shall ask who it is again, whatever it remembers."),
	FIELD_END,
};

static str
authorization_url(struct ctx *cx, const struct provider *p, const struct flow *f)
{
	const struct oidc_options *o = oidc_options(cx->oidc);
	bool has_query = str_find(p->authorization_endpoint, '?') < p->authorization_endpoint.len;
	struct buf query;

	buf_init(&query, cx->arena, LIMIT_HTTP_HEAD);
	form_add(&query, "response_type", STR("code"));
	form_add(&query, "client_id", o->client_id);
	form_add(&query, "redirect_uri", o->redirect_uri);
	form_add(&query, "scope", STR("openid email"));
	form_add(&query, "state", f->state);
	form_add(&query, "nonce", f->nonce);
	form_add(&query, "code_challenge", flow_challenge(cx, f));
	form_add(&query, "code_challenge_method", STR("S256"));
	if (f->step_up) {
		form_add(&query, "prompt", STR("login"));
		form_add(&query, "max_age", STR("0")); /* then the token must say when that was (auth_time) */
	}
	return arena_printf(cx->arena, "%.*s%s%.*s", STR_ARG(p->authorization_endpoint),
		has_query ? "&" : "?", STR_ARG(buf_str(&query)));
}

static status
describe(struct ctx *cx, struct provider *out)
{
	status s;

	TRY(oidc_enter(cx, cx->oidc));
	s = provider_describe(cx, cx->oidc, out);
	oidc_leave(cx->oidc);
	return s;
}

static status
run_start(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct start_in *i = in;
	str session = cx->credential ? cx->credential->session : (str){ 0 };
	struct provider p;
	struct flow f;

	TRY(require(cx));
	if (i->return_to.len && !flow_return_ok(i->return_to))
		return fail(cx, E_INVALID, "/returnTo must be a path of this server, such as /proposals");
	TRY(describe(cx, &p));
	f = flow_new(cx, clock_now_us());
	f.return_to = i->return_to.len ? i->return_to : STR("/");
	f.org = i->org;
	f.step_up = i->step_up;
	if (session.len) /* on the way back the browser will not send it: it is SameSite=Strict */
		f.old_hash = secret_hash(cx->arena, session);
	ctx_header(cx, "Set-Cookie",
		flow_cookie(cx, flow_seal(cx, &f, about(cx)), LIMIT_OIDC_FLOW_US / SECOND_US));
	go_to(cx, authorization_url(cx, &p, &f), out);
	return OK;
}

/* --- and back --- */

struct callback_in {
	str code, state, iss, error;
};
static const struct field callback_in[] = {
	FIELD_TEXT(struct callback_in, code, .max = LIMIT_OIDC_CODE,
		.doc = "What the provider gives for tokens."),
	FIELD_TEXT(struct callback_in, state, .max = LIMIT_NAME, .doc = "What the sign-in began with."),
	FIELD_TEXT(
		struct callback_in, iss, .max = LIMIT_URI_BYTES, .doc = "Which provider answers (RFC 9207)."),
	FIELD_TEXT(struct callback_in, error, .max = LIMIT_NAME, .doc = "Why the provider signs nobody in."),
	FIELD_END,
};

/* Did the provider that we asked send the browser back, and with a code? */
static status
check_answer(struct ctx *cx, const struct provider *p, const struct callback_in *in)
{
	if ((in->iss.len || p->says_issuer) && !str_eq(in->iss, oidc_options(cx->oidc)->issuer))
		return fail(cx, E_UNAUTHENTICATED, "the answer is of another identity provider; begin again");
	if (in->error.len)
		return fail(cx, E_UNAUTHENTICATED, "the identity provider has not signed you in%s",
			str_eq(in->error, STR("access_denied")) ? " (access_denied)" : "");
	if (!in->code.len)
		return fail(cx, E_UNAUTHENTICATED, "the identity provider gives no code; begin again");
	return OK;
}

static status
distrust(struct ctx *cx, status s)
{
	if (s != E_INVALID && s != E_NOT_FOUND)
		return s;
	return fail(cx, E_UNAUTHENTICATED, "the identity provider's token is refused: %.*s",
		STR_ARG(ctx_message(cx, s)));
}

/* A key that we do not know may be new: then the keys are asked for once more. */
static status
verify(struct ctx *cx, const struct provider *p, const struct jwt *t)
{
	struct json *set;
	status s;

	TRY(provider_keys(cx, cx->oidc, p, false, &set));
	s = jwt_verify(cx, t, set);
	if (s != E_NOT_FOUND)
		return s;
	TRY(provider_keys(cx, cx->oidc, p, true, &set));
	return jwt_verify(cx, t, set);
}

static status
check_token(struct ctx *cx, const struct provider *p, const struct flow *f,
	const struct provider_tokens *tokens, struct claims *out)
{
	const struct oidc_options *o = oidc_options(cx->oidc);
	struct claims_wanted want = { .issuer = o->issuer,
		.client_id = o->client_id,
		.nonce = f->nonce,
		.access_token = tokens->access_token,
		.now_us = clock_now_us() };
	struct jwt t;

	TRY(jwt_read(cx, tokens->id_token, &t));
	TRY(verify(cx, p, &t));
	return claims_check(cx, t.claims, &want, out);
}

/* Not all providers put the address into the ID token; it is asked for where it is needed. */
static status
find_person(struct ctx *cx, const struct provider *p, str access_token, struct account *a)
{
	struct json *doc;

	TRY(account_sign_in(cx, a));
	if (a->outcome != ACCOUNT_NO_EMAIL || !p->userinfo_endpoint.len || !access_token.len)
		return account_say(cx, a);
	TRY(provider_userinfo(cx, cx->oidc, p, access_token, &doc));
	TRY(distrust(cx, claims_add(cx, doc, &a->claims)));
	TRY(account_sign_in(cx, a));
	return account_say(cx, a);
}

/* Not every provider does what prompt=login asks for; the token says when the person was there. */
static status
check_fresh(struct ctx *cx, const struct flow *f, const struct claims *c)
{
	int64_t began_us = f->until_us - LIMIT_OIDC_FLOW_US;

	if (!f->step_up || c->authenticated_at >= began_us - LIMIT_OIDC_SKEW_US)
		return OK;
	return fail(cx, E_UNAUTHENTICATED,
		"the identity provider has not asked who you are again (auth_time); sign in with a password, "
		"or "
		"ask who runs the provider");
}

static status
come_back(struct ctx *cx, const struct callback_in *in, const struct flow *f, struct account *a)
{
	struct provider_tokens tokens;
	struct provider p;

	TRY(flow_use(cx, f));
	TRY(provider_describe(cx, cx->oidc, &p));
	TRY(check_answer(cx, &p, in));
	TRY(provider_exchange(cx, cx->oidc, &p, in->code, f->verifier, &tokens));
	TRY(distrust(cx, check_token(cx, &p, f, &tokens, &a->claims)));
	a->org = f->org;
	TRY(check_fresh(cx, f, &a->claims));
	a->start = (struct session_start){ .secret = secret_new(cx->arena, SECRET_KIND_SESSION),
		.old_hash = f->old_hash,
		.how = f->step_up ? STR("oidc step-up") : STR("oidc"),
		.elsewhere = true,
		.authenticated_at = a->claims.authenticated_at };
	return find_person(cx, &p, tokens.access_token, a);
}

static status
run_callback(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct callback_in *i = in;
	str sealed = cx->credential ? cx->credential->flow : (str){ 0 };
	struct account a = { 0 };
	struct flow f;
	status done;

	TRY(require(cx));
	TRY(flow_open(cx, sealed, about(cx), i->state, clock_now_us(), &f));
	TRY(oidc_enter(cx, cx->oidc));
	done = come_back(cx, i, &f, &a);
	oidc_leave(cx->oidc);
	if (done == OK)
		session_cookie(cx, &a.start);
	ctx_header_add(cx, "Set-Cookie", flow_cookie(cx, (str){ 0 }, 0));
	TRY(done);
	go_to(cx, f.return_to, out);
	return OK;
}

#define REDIRECT_TYPE "text/plain; charset=utf-8"

const struct op oidc_ops[] = {
	{ .name = "session_oidc_start",
		.method = "GET",
		.path = "/api/v1/session/oidc",
		.rule = RULE_PUBLIC,
		.doc = "Sends the browser to the identity provider to sign in. It comes back to "
		       "session_oidc_callback within ten minutes, once.",
		.in = start_in,
		.in_size = sizeof(struct start_in),
		.success = 303,
		.content_type = REDIRECT_TYPE,
		.errors = OP_ERRORS(E_NOT_FOUND, E_UNAVAILABLE),
		.run = run_start },
	/* a GET that begins a session: the provider sends the browser here, and that is how browsers are sent
	 */
	{ .name = "session_oidc_callback",
		.method = "GET",
		.path = OIDC_CALLBACK,
		.rule = RULE_PUBLIC,
		.doc = "Where the identity provider sends the browser back to. It begins a session as "
		       "session_start does and goes on to returnTo.",
		.in = callback_in,
		.in_size = sizeof(struct callback_in),
		.open_query = true,
		.success = 303,
		.content_type = REDIRECT_TYPE,
		.errors = OP_ERRORS(E_UNAUTHENTICATED, E_FORBIDDEN, E_NOT_FOUND, E_UNAVAILABLE, E_DISK_FULL,
			E_READ_ONLY, E_COMMIT_UNKNOWN),
		.run = run_callback },
	{ 0 },
};
