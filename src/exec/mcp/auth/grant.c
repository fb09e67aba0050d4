/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: how they are got, renewed and kept. */
#include "exec/mcp/auth/auth.h"

#include "base/check.h"
#include "base/clock.h"
#include "core/oidc/provider.h"
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
	return OK;
}

/* --- the token endpoint --- */

/* "id:secret", both escaped before (RFC 6749, 2.3.1), in base64. */
static str
basic(struct ctx *cx, const struct identity *who)
{
	struct buf pair;
	size_t room;
	char *text;

	buf_init(&pair, cx->arena, LIMIT_CLIENT_CREDENTIAL);
	form_escape(&pair, who->client_id);
	buf_add_char(&pair, ':');
	form_escape(&pair, who->client_secret);
	room = sodium_base64_ENCODED_LEN(pair.len, sodium_base64_VARIANT_ORIGINAL);
	text = arena_alloc(cx->arena, room);
	(void)sodium_bin2base64(
		text, room, (const unsigned char *)pair.ptr, pair.len, sodium_base64_VARIANT_ORIGINAL);
	return str_of(text);
}

static status
read_tokens(struct ctx *cx, const struct http_client_answer *answer, struct grant *g)
{
	struct json *doc = NULL;
	int64_t seconds;

	if (json_parse(cx, answer->body, &doc) != OK)
		doc = NULL;
	if (answer->status == 400 && str_eq(mcp_text(doc, "error"), STR("invalid_grant")))
		return fail(cx, E_UNAUTHENTICATED,
			"the authorization server does not take it any more; begin again");
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

static status
post(struct ctx *cx, struct mcp_auth *a, struct grant *g, struct buf *form)
{
	struct http_client_request r = {
		.method = "POST", .url = g->token_endpoint, .type = "application/x-www-form-urlencoded"
	};
	struct http_client_answer answer;

	form_add(form, "resource", g->resource);
	if (str_eq(g->identity.method, STR("client_secret_basic")))
		r.basic = basic(cx, &g->identity);
	else
		form_add(form, "client_id", g->identity.client_id);
	if (str_eq(g->identity.method, STR("client_secret_post")))
		form_add(form, "client_secret", g->identity.client_secret);
	TRY(buf_finish(form, &r.body));
	TRY(auth_ask(cx, a->c, &r, &answer));
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

	buf_init(&form, cx->arena, LIMIT_OIDC_ANSWER);
	form_add(&form, "grant_type", STR("refresh_token"));
	form_add(&form, "refresh_token", g->refresh);
	return post(cx, a, g, &form);
}
