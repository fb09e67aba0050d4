/* SPDX-License-Identifier: Apache-2.0 */
/* What clients ask: tokens for a code or a refresh token, the end of them, and to be known. */
#include "base/log.h"
#include "core/oauth/grant.h"
#include "core/oauth/register.h"
#include "face/oauth/endpoints.h"
#include "face/oauth/site.h"
#include "json/out.h"

/* --- tokens --- */

struct asked {
	str grant_type, code, redirect_uri, client_id, code_verifier, resource, refresh_token, scope, token;
};
static const struct site_param asked[] = {
	{ "grant_type", offsetof(struct asked, grant_type) },
	{ "code", offsetof(struct asked, code) },
	{ "redirect_uri", offsetof(struct asked, redirect_uri) },
	{ "client_id", offsetof(struct asked, client_id) },
	{ "code_verifier", offsetof(struct asked, code_verifier) },
	{ "resource", offsetof(struct asked, resource) },
	{ "refresh_token", offsetof(struct asked, refresh_token) },
	{ "scope", offsetof(struct asked, scope) },
	{ "token", offsetof(struct asked, token) },
	{ 0 },
};

static status
need(struct ctx *cx, str value, const char *name)
{
	return value.len ? OK : fail(cx, E_INVALID, "%s is missing", name);
}

static status
redeem(struct ctx *cx, const struct asked *a, struct grant_tokens *out)
{
	struct grant_redeem r = { .code = a->code,
		.client_id = a->client_id,
		.redirect_uri = a->redirect_uri,
		.verifier = a->code_verifier,
		.resource = a->resource };

	TRY(need(cx, a->code, "code"));
	TRY(need(cx, a->redirect_uri, "redirect_uri"));
	TRY(need(cx, a->code_verifier, "code_verifier"));
	return grant_redeem(cx, &r, out);
}

static status
refresh(struct ctx *cx, const struct asked *a, struct grant_tokens *out)
{
	struct grant_refresh r = { .refresh = a->refresh_token,
		.client_id = a->client_id,
		.resource = a->resource,
		.scope = a->scope };

	TRY(need(cx, a->refresh_token, "refresh_token"));
	return grant_refresh(cx, &r, out);
}

static status
exchange(struct http_exchange *x, const bool *nameless, struct grant_tokens *out, const char **out_code)
{
	struct ctx *cx = x->cx;
	struct asked a = { 0 };
	str base;

	TRY(site_base(x, nameless, &base));
	TRY(site_params(cx, x->req.body, asked, &a));
	TRY(need(cx, a.grant_type, "grant_type"));
	TRY(need(cx, a.client_id, "client_id"));
	if (a.resource.len && !str_eq(a.resource, site_resource(cx->arena, base))) {
		*out_code = "invalid_target";
		return fail(cx, E_INVALID, "this server gives tokens for its own resource only");
	}
	if (str_eq(a.grant_type, STR("authorization_code")))
		return redeem(cx, &a, out);
	if (str_eq(a.grant_type, STR("refresh_token")))
		return refresh(cx, &a, out);
	*out_code = "unsupported_grant_type";
	return fail(cx, E_INVALID, "grant_type must be authorization_code or refresh_token");
}

void
oauth_token(struct http_exchange *x, void *arg)
{
	struct grant_tokens t;
	const char *code = NULL;
	struct json_out o;
	status s = exchange(x, arg, &t, &code);

	if (s != OK) {
		site_refuse(x, s, code);
		return;
	}
	site_allow(x);
	site_begin(x, 200, &o);
	json_out_str(&o, "access_token", t.access);
	json_out_str(&o, "token_type", STR("Bearer"));
	json_out_int(&o, "expires_in", t.expires_in);
	json_out_str(&o, "refresh_token", t.refresh);
	json_out_str(&o, "scope", t.scope);
	json_out_end(&o);
}

/* --- the end of them --- */

static status
revoke(struct ctx *cx, str form)
{
	struct asked a = { 0 };

	TRY(site_params(cx, form, asked, &a));
	TRY(need(cx, a.token, "token"));
	TRY(need(cx, a.client_id, "client_id"));
	return grant_revoke(cx, a.token, a.client_id);
}

/* Who brings a token that is none hears the same as who brought one: it is not good any more (RFC 7009). */
void
oauth_revoke(struct http_exchange *x, void *arg)
{
	struct json_out o;
	status s = revoke(x->cx, x->req.body);

	(void)arg;
	if (s != OK) {
		site_refuse(x, s, NULL);
		return;
	}
	site_allow(x);
	site_begin(x, 200, &o);
	json_out_end(&o);
}

/* --- to be known --- */

static void
write_client(struct http_exchange *x, const struct registration *r)
{
	struct json_out o;

	site_allow(x);
	site_begin(x, 201, &o);
	json_out_str(&o, "client_id", r->id);
	json_out_int(&o, "client_id_issued_at", r->created_at / 1000000);
	if (r->name.len)
		json_out_str(&o, "client_name", r->name);
	json_out_array(&o, "redirect_uris");
	for (size_t i = 0; i < r->redirect_count; i++)
		json_out_str(&o, NULL, r->redirects[i]);
	json_out_end(&o);
	json_out_array(&o, "grant_types");
	json_out_str(&o, NULL, STR("authorization_code"));
	json_out_str(&o, NULL, STR("refresh_token"));
	json_out_end(&o);
	json_out_array(&o, "response_types");
	json_out_str(&o, NULL, STR("code"));
	json_out_end(&o);
	json_out_str(&o, "token_endpoint_auth_method", STR("none"));
	json_out_end(&o);
}

static const char *
error_of(status s)
{
	switch (s) {
	case E_REFERENCED:
		return "invalid_redirect_uri";
	case E_INVALID:
	case E_BAD_JSON:
		return "invalid_client_metadata";
	case E_FORBIDDEN:
		return "access_denied";
	default:
		return NULL;
	}
}

void
oauth_register(struct http_exchange *x, void *arg)
{
	struct registration r;
	struct json *metadata;
	str base;
	status s = site_base(x, arg, &base);

	if (s == OK)
		s = json_parse(x->cx, x->req.body, &metadata);
	if (s == OK)
		s = register_client(x->cx, metadata, x->req.peer, &r);
	if (s != OK) {
		site_refuse(x, s, error_of(s));
		return;
	}
	LOG(LOG_INFO, "oauth.registered", LOG_STR("client", r.id), LOG_STR("peer", x->req.peer));
	write_client(x, &r);
}
