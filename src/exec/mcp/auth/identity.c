/* SPDX-License-Identifier: Apache-2.0 */
/* Who we are at an issuer: registered by hand, by a document of ours, or by asking (RFC 7591). */
#include "exec/mcp/auth/auth.h"

#include "json/out.h"

static bool
takes(const struct issuer *i, const char *method)
{
	if (!i->methods || i->methods->type != JSON_ARRAY)
		return false;
	JSON_EACH (one, i->methods)
		if (one->type == JSON_STRING && str_eq(one->text, str_of(method)))
			return true;
	return false;
}

/* How we prove who we are, with a secret or without. */
static str
choose(const struct issuer *i, bool secret)
{
	if (!secret)
		return STR("none");
	if (!i->methods || takes(i, "client_secret_basic"))
		return STR("client_secret_basic");
	if (takes(i, "client_secret_post"))
		return STR("client_secret_post");
	return takes(i, "none") ? STR("none") : STR("client_secret_post");
}

/* --- asking to be registered --- */

/* Only a browser on this machine reaches a redirect to it. */
static bool
is_native(str uri)
{
	return !str_starts(uri, STR("https://"));
}

static str
describe(struct ctx *cx, const struct mcp_oauth *o, const struct issuer *i)
{
	bool secret = !i->methods || takes(i, "client_secret_basic") || takes(i, "client_secret_post");
	struct json_out out;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_OAUTH_DOCUMENT);
	json_out_init(&out, &b);
	json_out_object(&out, NULL);
	json_out_str(&out, "client_name", o->client_name.len ? o->client_name : STR("Countersign"));
	json_out_array(&out, "redirect_uris");
	json_out_str(&out, NULL, o->redirect_uri);
	json_out_end(&out);
	json_out_array(&out, "grant_types");
	json_out_str(&out, NULL, STR("authorization_code"));
	json_out_str(&out, NULL, STR("refresh_token"));
	json_out_end(&out);
	json_out_array(&out, "response_types");
	json_out_str(&out, NULL, STR("code"));
	json_out_end(&out);
	json_out_str(&out, "application_type", is_native(o->redirect_uri) ? STR("native") : STR("web"));
	json_out_str(&out, "token_endpoint_auth_method", choose(i, secret));
	json_out_end(&out);
	return buf_str(&b);
}

static status
remember(struct ctx *cx, struct mcp_auth *a, const struct issuer *i, const struct identity *who)
{
	struct json_out out;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_OAUTH_DOCUMENT);
	json_out_init(&out, &b);
	json_out_object(&out, NULL);
	json_out_str(&out, "issuer", i->name);
	json_out_str(&out, "redirect_uri", a->c->options.oauth->redirect_uri);
	json_out_str(&out, "client_id", who->client_id);
	json_out_str(&out, "client_secret", who->client_secret);
	json_out_str(&out, "method", who->method);
	json_out_end(&out);
	return auth_save(cx, a, "client", &b);
}

static status
ask(struct ctx *cx, struct mcp_auth *a, const struct issuer *i, struct identity *out)
{
	struct http_client_request r = { .method = "POST",
		.url = i->registration_endpoint,
		.body = describe(cx, a->c->options.oauth, i) };
	struct http_client_answer answer;
	struct json *doc;
	str method;

	TRY(auth_ask(cx, a->c, &r, &answer));
	if ((answer.status != 200 && answer.status != 201) || json_parse(cx, answer.body, &doc) != OK ||
		!mcp_text(doc, "client_id").len)
		return fail(cx, E_UNAVAILABLE, "the authorization server does not register us: HTTP %d",
			answer.status);
	out->client_id = mcp_text(doc, "client_id");
	out->client_secret = mcp_text(doc, "client_secret");
	method = mcp_text(doc, "token_endpoint_auth_method");
	out->method = choose(i, out->client_secret.len > 0);
	if (method.len && (!i->methods || takes(i, arena_cstr(cx->arena, method))))
		out->method = method;
	return remember(cx, a, i, out);
}

/* --- which it is --- */

/* What belongs to one issuer, and one redirect, is not shown to another. */
static status
recall(struct ctx *cx, struct mcp_auth *a, const struct issuer *i, struct identity *out)
{
	struct json *doc;

	*out = (struct identity){ 0 };
	TRY(auth_load(cx, a, "client", &doc));
	if (!doc || !str_eq(mcp_text(doc, "issuer"), i->name) ||
		!str_eq(mcp_text(doc, "redirect_uri"), a->c->options.oauth->redirect_uri))
		return OK;
	*out = (struct identity){ mcp_text(doc, "client_id"), mcp_text(doc, "client_secret"),
		mcp_text(doc, "method") };
	return OK;
}

status
identity_find(struct ctx *cx, struct mcp_auth *a, const struct issuer *i, struct identity *out)
{
	const struct mcp_oauth *o = a->c->options.oauth;

	if (o->client_id.len) {
		*out = (struct identity){ o->client_id, o->client_secret,
			choose(i, o->client_secret.len > 0) };
		return OK;
	}
	if (o->document_url.len && i->takes_documents) {
		*out = (struct identity){ .client_id = o->document_url, .method = STR("none") };
		return OK;
	}
	TRY(recall(cx, a, i, out));
	if (out->client_id.len)
		return OK;
	if (!i->registration_endpoint.len)
		return fail(cx, E_UNAVAILABLE,
			"the authorization server registers nobody by itself: register us there, and enter "
			"the client's id");
	return ask(cx, a, i, out);
}
