/* SPDX-License-Identifier: Apache-2.0 */
/* From a server to its authorization server: protected resource metadata (RFC 9728), then its own (RFC 8414). */
#include "exec/mcp/auth/auth.h"

#define PLACES_MAX 3u

/* "https://host:port" and "/path" (or empty), without query. */
struct address {
	str origin, path;
};

static bool
split(str url, struct address *out)
{
	size_t at = str_starts(url, STR("https://"))  ? 8
		    : str_starts(url, STR("http://")) ? 7
						      : 0,
	       end = at, stop;

	while (end < url.len && url.ptr[end] != '/' && url.ptr[end] != '?' && url.ptr[end] != '#')
		end++;
	if (!at || end == at)
		return false;
	stop = end;
	while (stop < url.len && url.ptr[stop] != '?' && url.ptr[stop] != '#')
		stop++;
	*out = (struct address){ { url.ptr, end }, { url.ptr + end, stop - end } };
	while (out->path.len && out->path.ptr[out->path.len - 1] == '/')
		out->path.len--;
	return true;
}

bool
auth_address_ok(const struct mcp_client *c, str url)
{
	bool plain = str_starts(c->options.url, STR("http://")) && str_starts(url, STR("http://"));

	for (size_t i = 0; i < url.len; i++)
		if (url.ptr[i] <= ' ' || url.ptr[i] > '~' || url.ptr[i] == '#' || url.ptr[i] == '\\')
			return false;
	return (plain || str_starts(url, STR("https://"))) && url.len <= LIMIT_URI_BYTES;
}

status
auth_ask(struct ctx *cx, struct mcp_client *c, struct http_client_request *r, struct http_client_answer *out)
{
	status s;

	if (!auth_address_ok(c, r->url))
		return fail(cx, E_UNAVAILABLE, "an address of the authorization server is not https://");
	r->ca_file = c->options.ca_file;
	r->public_only = true;
	r->allow = c->options.allow;
	r->allow_count = c->options.allow_count;
	r->allow_name = "networks";
	r->timeout_ms = LIMIT_OIDC_MS;
	r->max_answer = LIMIT_OIDC_ANSWER;
	s = http_client_run(cx, r, out);
	if (s != OK)
		return fail(cx, E_UNAVAILABLE, "the authorization server does not answer: %.*s",
			STR_ARG(ctx_message(cx, s)));
	return OK;
}

/* --- documents --- */

/* The document at the first place that has one; NULL: none has. */
static status
get_first(struct ctx *cx, struct mcp_client *c, const str *places, size_t count, struct json **out_doc)
{
	struct http_client_answer answer;
	struct json *doc;

	for (size_t i = 0; i < count; i++) {
		struct http_client_request r = { .method = "GET", .url = places[i] };

		TRY(auth_ask(cx, c, &r, &answer));
		if (answer.status != 200)
			continue;
		if (json_parse(cx, answer.body, &doc) != OK || doc->type != JSON_OBJECT)
			return fail(cx, E_UNAVAILABLE, "%.*s is no JSON object", STR_ARG(places[i]));
		*out_doc = doc;
		return OK;
	}
	*out_doc = NULL;
	return OK;
}

static bool
is_true(const struct json *doc, const char *key)
{
	const struct json *v = json_get(doc, str_of(key));

	return v && v->type == JSON_BOOL && v->truth;
}

static bool
lists(const struct json *doc, const char *key, const char *word)
{
	const struct json *list = json_get(doc, str_of(key));

	if (!list || list->type != JSON_ARRAY)
		return false;
	JSON_EACH (one, list)
		if (one->type == JSON_STRING && str_eq(one->text, str_of(word)))
			return true;
	return false;
}

/* --- the server's --- */

/* A token for the resource is one for the server: it is the server's address, or a part of its beginning. */
static bool
covers(str resource, str url)
{
	struct address r, u;

	return split(resource, &r) && split(url, &u) && str_eq_nocase(r.origin, u.origin) &&
	       str_starts(u.path, r.path) && (u.path.len == r.path.len || u.path.ptr[r.path.len] == '/');
}

static status
find_resource(struct ctx *cx, struct mcp_client *c, const struct challenge *ch, struct json **out_doc)
{
	str url = c->options.url, places[PLACES_MAX];
	struct address a;
	size_t n = 0;

	if (!split(url, &a))
		return fail(cx, E_UNAVAILABLE, "the address of the MCP server is none");
	if (ch->metadata_url.len) {
		places[n++] = ch->metadata_url;
	} else {
		if (a.path.len)
			places[n++] = arena_printf(cx->arena, "%.*s/.well-known/oauth-protected-resource%.*s",
				STR_ARG(a.origin), STR_ARG(a.path));
		places[n++] = arena_printf(
			cx->arena, "%.*s/.well-known/oauth-protected-resource", STR_ARG(a.origin));
	}
	return get_first(cx, c, places, n, out_doc);
}

static str
join(struct ctx *cx, const struct json *list)
{
	str all = { 0 };

	if (list && list->type == JSON_ARRAY)
		JSON_EACH (one, list)
			if (one->type == JSON_STRING)
				all = scope_union(cx->arena, all, one->text);
	return all;
}

/* Servers from before the metadata are their own authorization servers. */
static status
read_resource(struct ctx *cx, struct mcp_client *c, const struct json *doc, struct issuer *out)
{
	const struct json *servers = doc ? json_get(doc, STR("authorization_servers")) : NULL;
	struct address a;

	if (!doc && split(c->options.url, &a)) {
		out->resource = c->options.url;
		out->name = a.origin;
		return OK;
	}
	out->resource = mcp_text(doc, "resource");
	if (!covers(out->resource, c->options.url))
		return fail(cx, E_UNAVAILABLE,
			"the MCP server's metadata is about another resource than the server");
	if (!servers || servers->type != JSON_ARRAY || !servers->child || servers->child->type != JSON_STRING)
		return fail(cx, E_UNAVAILABLE, "the MCP server's metadata names no authorization server");
	out->name = servers->child->text;
	out->scopes = join(cx, json_get(doc, STR("scopes_supported")));
	return OK;
}

/* --- the authorization server's --- */

/* named: the server says itself that the issuer is one. */
static status
find_server(struct ctx *cx, struct mcp_client *c, str issuer, bool named, struct json **out_doc)
{
	str places[PLACES_MAX];
	struct address a;
	size_t n = 0;

	if (!auth_address_ok(c, issuer) || !split(issuer, &a))
		return fail(cx, E_UNAVAILABLE, "the address of the authorization server is not https://");
	places[n++] = arena_printf(cx->arena, "%.*s/.well-known/oauth-authorization-server%.*s",
		STR_ARG(a.origin), STR_ARG(a.path));
	places[n++] = arena_printf(
		cx->arena, "%.*s/.well-known/openid-configuration%.*s", STR_ARG(a.origin), STR_ARG(a.path));
	if (a.path.len)
		places[n++] = arena_printf(cx->arena, "%.*s%.*s/.well-known/openid-configuration",
			STR_ARG(a.origin), STR_ARG(a.path));
	TRY(get_first(cx, c, places, n, out_doc));
	if (!*out_doc && !named)
		return fail(cx, E_UNAVAILABLE,
			"the MCP server wants credentials, and does not say who gives them: it may need a "
			"token that somebody enters");
	if (!*out_doc)
		return fail(cx, E_UNAVAILABLE, "the authorization server does not describe itself");
	return OK;
}

static bool
is_missing(const struct mcp_client *c, str url, bool needed)
{
	return url.len || needed ? !auth_address_ok(c, url) : false;
}

static status
read_server(struct ctx *cx, struct mcp_client *c, const struct json *doc, struct issuer *out)
{
	bool people = !c->options.oauth->machine; /* who is no machine goes there and agrees */

	if (!str_eq(mcp_text(doc, "issuer"), out->name))
		return fail(cx, E_UNAVAILABLE, "the authorization server calls itself by another name");
	out->authorization_endpoint = mcp_text(doc, "authorization_endpoint");
	out->token_endpoint = mcp_text(doc, "token_endpoint");
	out->registration_endpoint = mcp_text(doc, "registration_endpoint");
	out->revocation_endpoint = mcp_text(doc, "revocation_endpoint");
	if (is_missing(c, out->authorization_endpoint, people) || is_missing(c, out->token_endpoint, true) ||
		is_missing(c, out->registration_endpoint, false) ||
		is_missing(c, out->revocation_endpoint, false))
		return fail(cx, E_UNAVAILABLE,
			"an address of the authorization server is missing or is not https://");
	if (people && !lists(doc, "code_challenge_methods_supported", "S256"))
		return fail(cx, E_UNAVAILABLE, "the authorization server does not know PKCE with S256");
	out->methods = json_get(doc, STR("token_endpoint_auth_methods_supported"));
	out->says_issuer = is_true(doc, "authorization_response_iss_parameter_supported");
	out->takes_documents = is_true(doc, "client_id_metadata_document_supported");
	out->gives_offline = lists(doc, "scopes_supported", "offline_access");
	return OK;
}

status
issuer_find(struct ctx *cx, struct mcp_client *c, const struct challenge *ch, struct issuer *out)
{
	str only = c->options.oauth->issuer;
	struct issuer found = { 0 };
	struct json *doc;

	TRY(find_resource(cx, c, ch, &doc));
	TRY(read_resource(cx, c, doc, &found));
	if (only.len && !str_eq(found.name, only))
		return fail(cx, E_UNAVAILABLE,
			"the MCP server names another authorization server than the one that knows us");
	TRY(find_server(cx, c, found.name, doc != NULL, &doc));
	TRY(read_server(cx, c, doc, &found));
	*out = found;
	return OK;
}
