/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: how they are got, renewed and kept. */
#include "exec/mcp/auth/auth.h"

#include "base/check.h"
#include "base/clock.h"
#include "http/client/form.h"
#include "json/out.h"

#include <sodium.h>
#include <stdlib.h>

#define EARLY_US (30 * SECOND_US) /* a token that ends so soon may end on the way */

/* --- kept --- */

static int64_t
int_of(const struct json *doc, const char *key)
{
	const struct json *v = json_get(doc, str_of(key));
	int64_t n = 0;

	return v && v->type == JSON_NUMBER && json_to_int(v, &n) ? n : 0;
}

static struct grant
read_grant(const struct json *doc)
{
	return (struct grant){ .issuer = mcp_text(doc, "issuer"),
		.resource = mcp_text(doc, "resource"),
		.token_endpoint = mcp_text(doc, "token_endpoint"),
		.revocation_endpoint = mcp_text(doc, "revocation_endpoint"),
		.identity = { mcp_text(doc, "client_id"), mcp_text(doc, "client_secret"),
			mcp_text(doc, "method") },
		.access = mcp_text(doc, "access_token"),
		.refresh = mcp_text(doc, "refresh_token"),
		.scope = mcp_text(doc, "scope"),
		.until_us = int_of(doc, "until_us") };
}

static void
keep(struct mcp_auth *a, str text)
{
	scoped_lock held = lock(&a->mutex);
	char *copy = text.len ? malloc(text.len + 1) : NULL;

	CHECK(copy || !text.len); /* no memory */
	if (copy) {
		memcpy(copy, text.ptr, text.len);
		copy[text.len] = '\0';
	}
	if (a->tokens)
		sodium_memzero(a->tokens, strlen(a->tokens));
	free(a->tokens);
	a->tokens = copy;
	a->loaded = true;
}

static bool
recall(struct ctx *cx, struct mcp_auth *a, str *out)
{
	scoped_lock held = lock(&a->mutex);

	*out = arena_str(cx->arena, str_of(a->tokens));
	return a->loaded;
}

status
grant_load(struct ctx *cx, struct mcp_auth *a, bool again, struct grant *out)
{
	struct json *doc = NULL;
	str text;

	*out = (struct grant){ 0 };
	if (!recall(cx, a, &text) || again) {
		TRY(auth_load(cx, a, "tokens", &doc));
		text = (str){ 0 };
		if (doc)
			TRY(json_text(cx, doc, &text));
		keep(a, text);
	}
	if (!doc && text.len && json_parse(cx, text, &doc) != OK)
		return OK;
	if (doc)
		*out = read_grant(doc);
	return OK;
}

status
grant_save(struct ctx *cx, struct mcp_auth *a, const struct grant *g)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_OIDC_ANSWER);
	if (g) {
		json_out_init(&o, &b);
		json_out_object(&o, NULL);
		json_out_str(&o, "issuer", g->issuer);
		json_out_str(&o, "resource", g->resource);
		json_out_str(&o, "token_endpoint", g->token_endpoint);
		json_out_str(&o, "revocation_endpoint", g->revocation_endpoint);
		json_out_str(&o, "client_id", g->identity.client_id);
		json_out_str(&o, "client_secret", g->identity.client_secret);
		json_out_str(&o, "method", g->identity.method);
		json_out_str(&o, "access_token", g->access);
		json_out_str(&o, "refresh_token", g->refresh);
		json_out_str(&o, "scope", g->scope);
		json_out_int(&o, "until_us", g->until_us);
		json_out_end(&o);
	}
	TRY(auth_save(cx, a, "tokens", &b));
	keep(a, buf_str(&b));
	if (g)
		atomic_store(&a->c->unauthorized, false);
	return OK;
}

/* --- the token endpoint --- */

/* Words by which it says that who we are, or what we have, is not good enough; others are its own trouble. */
static bool
is_refusal(const struct http_client_answer *answer, str error)
{
	static const char *const words[] = { "invalid_grant", "invalid_client", "unauthorized_client",
		"invalid_scope", "invalid_target", NULL };

	for (size_t i = 0; (answer->status == 400 || answer->status == 401) && words[i]; i++)
		if (str_eq(error, str_of(words[i])))
			return true;
	return false;
}

static status
read_tokens(struct ctx *cx, const struct http_client_answer *answer, struct grant *g)
{
	struct json *doc = NULL;
	int64_t seconds;

	if (json_parse(cx, answer->body, &doc) != OK)
		doc = NULL;
	if (is_refusal(answer, mcp_text(doc, "error")))
		return fail(cx, E_UNAUTHENTICATED, "the authorization server refuses it (%.*s); begin again",
			STR_ARG(mcp_text(doc, "error")));
	if (answer->status != 200 || !mcp_text(doc, "access_token").len)
		return fail(cx, E_UNAVAILABLE, "the authorization server gives no token: HTTP %d",
			answer->status);
	if (!str_eq_nocase(mcp_text(doc, "token_type"), STR("Bearer")))
		return fail(cx, E_UNAVAILABLE,
			"the authorization server gives a token of a kind that we do not know");
	g->access = mcp_text(doc, "access_token");
	if (mcp_text(doc, "refresh_token").len) /* else the old one stays good */
		g->refresh = mcp_text(doc, "refresh_token");
	if (mcp_text(doc, "scope").len)
		g->scope = mcp_text(doc, "scope");
	seconds = int_of(doc, "expires_in");
	g->until_us =
		seconds > 0 && seconds < INT32_MAX ? clock_now_us() + seconds * SECOND_US - EARLY_US : 0;
	return OK;
}

/* A form to one of its addresses, with who we are. */
static status
send_form(struct ctx *cx, struct mcp_auth *a, const struct grant *g, str url, struct buf *form,
	struct http_client_answer *out)
{
	struct http_client_request r = {
		.method = "POST", .url = url, .type = "application/x-www-form-urlencoded"
	};

	if (str_eq(g->identity.method, STR("client_secret_basic")))
		r.basic = form_basic(cx->arena, g->identity.client_id, g->identity.client_secret);
	else
		form_add(form, "client_id", g->identity.client_id);
	if (str_eq(g->identity.method, STR("client_secret_post")))
		form_add(form, "client_secret", g->identity.client_secret);
	TRY(buf_finish(form, &r.body));
	return auth_ask(cx, a->c, &r, out);
}

static status
post(struct ctx *cx, struct mcp_auth *a, struct grant *g, struct buf *form)
{
	struct http_client_answer answer;

	form_add(form, "resource", g->resource);
	TRY(send_form(cx, a, g, g->token_endpoint, form, &answer));
	return read_tokens(cx, &answer, g);
}

status
grant_exchange(struct ctx *cx, struct mcp_auth *a, struct grant *g, str code, str verifier)
{
	struct buf form;

	buf_init(&form, cx->arena, LIMIT_OIDC_ANSWER);
	form_add(&form, "grant_type", STR("authorization_code"));
	form_add(&form, "code", code);
	form_add(&form, "redirect_uri", a->c->options.oauth->redirect_uri);
	form_add(&form, "code_verifier", verifier);
	return post(cx, a, g, &form);
}

status
grant_renew(struct ctx *cx, struct mcp_auth *a, struct grant *g)
{
	struct buf form;

	if (!g->refresh.len)
		return grant_machine(cx, a, g);
	buf_init(&form, cx->arena, LIMIT_OIDC_ANSWER);
	form_add(&form, "grant_type", STR("refresh_token"));
	form_add(&form, "refresh_token", g->refresh);
	return post(cx, a, g, &form);
}

status
grant_machine(struct ctx *cx, struct mcp_auth *a, struct grant *g)
{
	struct buf form;

	buf_init(&form, cx->arena, LIMIT_OIDC_ANSWER);
	form_add(&form, "grant_type", STR("client_credentials"));
	if (g->scope.len)
		form_add(&form, "scope", g->scope);
	return post(cx, a, g, &form);
}

status
grant_tell_end(struct ctx *cx, struct mcp_auth *a, const struct grant *g)
{
	struct http_client_answer answer;
	struct buf form;

	if (!g->revocation_endpoint.len || !g->access.len)
		return OK;
	buf_init(&form, cx->arena, LIMIT_OIDC_ANSWER);
	form_add(&form, "token", g->refresh.len ? g->refresh : g->access);
	form_add(&form, "token_type_hint", g->refresh.len ? STR("refresh_token") : STR("access_token"));
	return send_form(cx, a, g, g->revocation_endpoint, &form, &answer);
}
