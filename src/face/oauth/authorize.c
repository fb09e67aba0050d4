/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The authorization endpoint: somebody signs in, reads, and agrees or not.
 *
 *	GET  /oauth/authorize?...   no session: sign in; else what is asked for, as a page
 *	POST /oauth/sign-in?...     a session, and back
 *	POST /oauth/authorize?...   the decision: a code, or a refusal, to where the client wants it
 *
 * A request that cannot work is refused before anybody types a password. A stranger still makes us fetch nothing: a
 * client's document is asked for after they have signed in. The request stays in the address; it is checked again in
 * full when the decision comes. What is wrong before the redirect URI is known to be the client's is a page; afterwards
 * the client hears of it, from a stranger's browser only when they follow the link: anybody may register a client, and
 * we are nobody's redirector (RFC 9700 section 4.11.2).
 *
 * No answer to a form leads away: browsers hold every redirect that follows to the form-action of the page it was on,
 * the client's own redirects too. So a POST answers with a page, and that goes on by itself.
 */
#include "base/clock.h"
#include "base/check.h"
#include "base/limits.h"
#include "core/ident/session.h"
#include "core/oauth/document.h"
#include "core/oauth/pkce.h"
#include "core/oauth/redirect.h"
#include "core/oauth/scope.h"
#include "face/oauth/endpoints.h"
#include "face/oauth/page.h"
#include "face/oauth/site.h"
#include "http/client/form.h"
#include "json/bind.h"

struct ask {
	str response_type, client_id, redirect_uri, scope, state, challenge, method, resource;
	/* found out */
	str base;
	struct client client;
	struct rules rules;
	const char *error; /* for the client; NULL: none */
};
static const struct site_param ask_params[] = {
	{ "response_type", offsetof(struct ask, response_type) },
	{ "client_id", offsetof(struct ask, client_id) },
	{ "redirect_uri", offsetof(struct ask, redirect_uri) },
	{ "scope", offsetof(struct ask, scope) },
	{ "state", offsetof(struct ask, state) },
	{ "code_challenge", offsetof(struct ask, challenge) },
	{ "code_challenge_method", offsetof(struct ask, method) },
	{ "resource", offsetof(struct ask, resource) },
	{ 0 },
};

/* --- what is asked --- */

/* What the client hears: the code of RFC 6749, and our sentence. */
static status
tell(struct ctx *cx, struct ask *a, const char *code, const char *sentence)
{
	a->error = code;
	return fail(cx, E_INVALID, "%s", sentence);
}

/* Where the answer goes is known: E_INVALID with a->error is for the client. */
static status
check_rest(struct ctx *cx, struct ask *a)
{
	if (!str_eq(a->response_type, STR("code")))
		return tell(cx, a, "unsupported_response_type", "response_type must be code");
	if (!pkce_challenge_valid(a->challenge) || !str_eq(a->method, STR("S256")))
		return tell(cx, a, "invalid_request",
			"PKCE with S256 is needed: code_challenge, code_challenge_method");
	if (a->resource.len && !str_eq(a->resource, site_resource(cx->arena, a->base)))
		return tell(cx, a, "invalid_target", "this server lets into its own resource only");
	if (scope_read(cx, a->scope, &a->rules) != OK) {
		a->error = "invalid_scope";
		return E_INVALID;
	}
	return OK;
}

static status
read_ask(struct http_exchange *x, const bool *nameless, struct ask *a)
{
	struct ctx *cx = x->cx;

	TRY(site_base(x, nameless, &a->base));
	TRY(site_params(cx, x->req.query, ask_params, a));
	if (!a->client_id.len || !a->redirect_uri.len)
		return fail(cx, E_INVALID, "client_id and redirect_uri are needed");
	if (a->state.len > LIMIT_OAUTH_STATE)
		return fail(cx, E_INVALID, "state is longer than %u bytes", LIMIT_OAUTH_STATE);
	return OK;
}

static status
refuse_redirect(struct ctx *cx)
{
	return fail(cx, E_INVALID, "the application has not registered this redirect_uri");
}

static status
check_all(struct ctx *cx, struct ask *a)
{
	TRY(client_find(cx, a->client_id, &a->client));
	if (!client_redirects_to(&a->client, a->redirect_uri))
		return refuse_redirect(cx);
	return check_rest(cx, a);
}

/* All of it but the document, which would tell whose the redirect URI is: so the client hears of nothing. */
static status
check_without_document(struct ctx *cx, struct ask *a)
{
	status s = redirect_valid(a->redirect_uri) ? check_rest(cx, a) : refuse_redirect(cx);

	a->error = NULL;
	return s;
}

/* --- where it goes on --- */

/* From an address that a browser was led to, not from a form. */
static void
go_to(struct http_exchange *x, str where)
{
	x->status = 303;
	x->content_type = "text/plain; charset=utf-8";
	http_add_header(x, STR("Location"), where);
	buf_init(&x->body, x->cx->arena, LIMIT_HTTP_ANSWER);
	buf_add(&x->body, STR("Go on where Location says.\n"));
}

static void
add_headers(struct http_exchange *x)
{
	for (size_t i = 0; i < x->cx->header_count; i++)
		http_add_header(x, str_of(x->cx->headers[i].name), x->cx->headers[i].value);
}

/* The client's address, whose redirect URI has been checked, with either a code or an error. */
static str
address_back(struct arena *arena, const struct ask *a, str code, const char *error, str sentence)
{
	bool has_query = str_find(a->redirect_uri, '?') < a->redirect_uri.len;
	struct buf query;

	buf_init(&query, arena, LIMIT_HTTP_HEAD);
	if (code.len)
		form_add(&query, "code", code);
	if (error)
		form_add(&query, "error", str_of(error));
	if (error && sentence.len)
		form_add(&query, "error_description", sentence);
	if (a->state.len)
		form_add(&query, "state", a->state);
	form_add(&query, "iss", a->base);
	return arena_printf(arena, "%.*s%s%.*s", STR_ARG(a->redirect_uri), has_query ? "&" : "?",
		STR_ARG(buf_str(&query)));
}

static str
error_back(const struct http_exchange *x, const struct ask *a, status s)
{
	if (!a->error)
		return (str){ 0 };
	return address_back(x->cx->arena, a, (str){ 0 }, a->error, ctx_message(x->cx, s));
}

/* --- the page --- */

static status
nothing(struct ctx *cx, void *arg)
{
	(void)cx;
	(void)arg;
	return OK;
}

struct view {
	struct ask *ask;
	struct page_consent *page;
};

static status
look(struct ctx *cx, void *arg)
{
	struct view *v = arg;

	v->page->scope = v->ask->rules;
	scope_keep(cx->arena, cx->caller, &v->page->scope);
	return grant_person(cx, &v->page->person);
}

static status
check_scope(struct ctx *cx, struct ask *a, const struct rules *kept)
{
	if (kept->level == LEVEL_NONE && !kept->count)
		return tell(cx, a, "invalid_scope", "you hold none of what the application asks for");
	return OK;
}

static status
show(struct http_exchange *x, const bool *nameless, struct ask *a)
{
	struct page_consent page = { .client = &a->client, .query = x->req.query };
	struct view v = { a, &page };

	TRY(read_ask(x, nameless, a));
	TRY(check_all(x->cx, a));
	TRY(op_read(x->cx, look, &v));
	TRY(check_scope(x->cx, a, &page.scope));
	page.redirect_uri = a->redirect_uri;
	page.csrf = session_csrf(x->cx->arena, x->cx->credential->session);
	page_consent(x, &page);
	return OK;
}

/* Nobody is signed in. Would it be of use? */
static void
welcome(struct http_exchange *x, const bool *nameless)
{
	struct ask a = { 0 };
	status s = read_ask(x, nameless, &a);

	if (s == OK && document_is_id(a.client_id))
		s = check_without_document(x->cx, &a);
	else if (s == OK)
		s = check_all(x->cx, &a);
	if (s == OK)
		page_sign_in(x, 200, x->req.query, (str){ 0 });
	else
		page_problem(x, s, error_back(x, &a, s));
}

void
oauth_authorize(struct http_exchange *x, void *arg)
{
	struct ask a = { 0 };
	status s;

	x->cx->credential = site_person(x);
	if (!x->cx->credential->session.len && site_from_elsewhere(x)) {
		page_again(x, "/oauth/authorize");
		return;
	}
	s = op_read(x->cx, nothing, NULL);
	if (s == OK)
		s = show(x, arg, &a);
	if (s == E_UNAUTHENTICATED)
		welcome(x, arg);
	else if (s != OK && a.error)
		go_to(x, error_back(x, &a, s));
	else if (s != OK)
		page_problem(x, s, (str){ 0 });
}

/* --- the decision --- */

struct decision {
	str csrf, decision;
};
static const struct site_param decision_params[] = {
	{ "csrf", offsetof(struct decision, csrf) },
	{ "decision", offsetof(struct decision, decision) },
	{ 0 },
};

struct consent {
	struct ask *ask;
	bool allow;
	str *code;
};

static status
run_consent(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct consent *c = in;
	struct ask *a = c->ask;
	struct grant_wish w = { .client_id = a->client_id,
		.client_name = a->client.name,
		.redirect_uri = a->redirect_uri,
		.resource = site_resource(cx->arena, a->base),
		.scope = a->rules,
		.challenge = a->challenge };

	(void)out;
	if (!c->allow)
		return OK;
	scope_keep(cx->arena, cx->caller, &w.scope);
	TRY(check_scope(cx, a, &w.scope));
	return grant_give(cx, &w, c->code);
}

/* By the one way in: locks, who it is, whether the page is ours. It is no operation of the API. */
static const struct op consent_op = { .name = "oauth_consent",
	.rule = RULE_ANYBODY,
	.effect = OP_MUTATE,
	.tx = OP_TX_RIGHTS,
	.run = run_consent };

static status
decide(struct http_exchange *x, const bool *nameless, struct ask *a, const struct decision *d)
{
	str code = { 0 };
	struct consent c = { .ask = a, .allow = str_eq(d->decision, STR("allow")), .code = &code };
	struct json_out out;
	struct buf nowhere;

	if (!c.allow && !str_eq(d->decision, STR("deny")))
		return fail(x->cx, E_INVALID, "the decision is allow or deny");
	TRY(read_ask(x, nameless, a));
	TRY(check_all(x->cx, a));
	buf_init(&nowhere, x->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&out, &nowhere);
	TRY(op_run(x->cx, &consent_op, &c, &out));
	page_back(x, address_back(x->cx->arena, a, code, c.allow ? NULL : "access_denied",
			     STR("the person said no")));
	return OK;
}

void
oauth_consent(struct http_exchange *x, void *arg)
{
	struct credential *c = site_person(x);
	struct decision d = { 0 };
	struct ask a = { 0 };
	status s = site_params(x->cx, x->req.body, decision_params, &d);

	c->csrf = d.csrf;
	x->cx->credential = c;
	if (s == OK)
		s = op_read(x->cx, nothing, NULL); /* before a stranger makes us look at a client */
	if (s == OK)
		s = decide(x, arg, &a, &d);
	if (s == E_UNAUTHENTICATED)
		page_sign_in(x, 401, x->req.query, STR("Your session has ended. Sign in again."));
	else if (s != OK && a.error)
		page_back(x, error_back(x, &a, s));
	else if (s != OK)
		page_problem(x, s, (str){ 0 });
}

/* --- signing in --- */

struct sign_in {
	str email, password, org;
};
static const struct site_param sign_in_params[] = {
	{ "email", offsetof(struct sign_in, email) },
	{ "password", offsetof(struct sign_in, password) },
	{ "org", offsetof(struct sign_in, org) },
	{ 0 },
};

static const struct op *
session_start(void)
{
	OP_EACH (op, session_ops)
		if (strcmp(op->name, "session_start") == 0)
			return op;
	CHECK(false);
}

/* By the operation that POST /api/v1/session is: the same limits, the same record, the same cookie. */
static status
sign_in(struct http_exchange *x)
{
	const struct op *op = session_start();
	struct ctx *cx = x->cx;
	struct json *body = json_new_object(cx->arena);
	void *in = arena_alloc(cx->arena, op->in_size);
	struct sign_in s = { 0 };
	struct json_out out;
	struct buf nowhere;

	if (!cx->credential->same_origin)
		return fail(cx, E_FORBIDDEN, "signing in must come from our own page");
	TRY(site_params(cx, x->req.body, sign_in_params, &s));
	json_add_member(body, STR("email"), json_new_string(cx->arena, s.email));
	json_add_member(body, STR("password"), json_new_string(cx->arena, s.password));
	if (s.org.len)
		json_add_member(body, STR("org"), json_new_string(cx->arena, s.org));
	TRY(json_bind(cx, body, op->in, op->in_size, in));
	buf_init(&nowhere, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&out, &nowhere);
	json_out_object(&out, NULL);
	return op_run(cx, op, in, &out);
}

void
oauth_sign_in(struct http_exchange *x, void *arg)
{
	status s;

	(void)arg;
	x->cx->credential = site_person(x);
	s = sign_in(x);
	add_headers(x);
	if (s == OK)
		page_again(x, "/oauth/authorize");
	else if (s == E_UNAUTHENTICATED || s == E_RATE_LIMITED || s == E_INVALID)
		page_sign_in(x, status_info(s)->http, x->req.query, ctx_message(x->cx, s));
	else
		page_problem(x, s, (str){ 0 });
}
