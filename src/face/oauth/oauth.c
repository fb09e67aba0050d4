/* SPDX-License-Identifier: Apache-2.0 */
/* Routes, and what we say of ourselves (RFC 9728, RFC 8414). */
#include "face/oauth/oauth.h"

#include "base/check.h"
#include "base/limits.h"
#include "core/oauth/document.h"
#include "core/oauth/scope.h"
#include "exec/upstream/authorization.h"
#include "face/oauth/endpoints.h"
#include "face/oauth/page.h"
#include "face/oauth/site.h"
#include "json/out.h"

/* --- metadata --- */

static void
list(struct json_out *o, const char *key, const char *one, const char *two)
{
	json_out_array(o, key);
	json_out_str(o, NULL, str_of(one));
	if (two)
		json_out_str(o, NULL, str_of(two));
	json_out_end(o);
}

/* The document's object is open, or it is refused. */
static bool
begin(struct http_exchange *x, void *arg, struct json_out *o, str *out_base)
{
	status s = site_base(x, arg, out_base);

	if (s != OK) {
		site_refuse(x, s, NULL);
		return false;
	}
	site_allow(x);
	site_begin(x, 200, o);
	return true;
}

static void
resource(struct http_exchange *x, void *arg)
{
	struct json_out o;
	str base;

	if (!begin(x, arg, &o, &base))
		return;
	json_out_str(&o, "resource", site_resource(x->cx->arena, base));
	json_out_array(&o, "authorization_servers");
	json_out_str(&o, NULL, base);
	json_out_end(&o);
	list(&o, "scopes_supported", "read", "propose");
	list(&o, "bearer_methods_supported", "header", NULL);
	json_out_str(&o, "resource_name", STR("Countersign"));
	json_out_end(&o);
}

static void
endpoint(struct json_out *o, struct arena *a, const char *key, str base, const char *path)
{
	json_out_str(o, key, arena_printf(a, "%.*s%s", STR_ARG(base), path));
}

static void
server(struct http_exchange *x, void *arg)
{
	struct arena *a = x->cx->arena;
	struct json_out o;
	str base;

	if (!begin(x, arg, &o, &base))
		return;
	json_out_str(&o, "issuer", base);
	endpoint(&o, a, "authorization_endpoint", base, "/oauth/authorize");
	endpoint(&o, a, "token_endpoint", base, "/oauth/token");
	endpoint(&o, a, "revocation_endpoint", base, "/oauth/revoke");
	if (oauth_options(x->cx->oauth)->registrations)
		endpoint(&o, a, "registration_endpoint", base, "/oauth/register");
	list(&o, "scopes_supported", "read", "propose");
	list(&o, "response_types_supported", "code", NULL);
	list(&o, "response_modes_supported", "query", NULL);
	list(&o, "grant_types_supported", "authorization_code", "refresh_token");
	list(&o, "token_endpoint_auth_methods_supported", "none", NULL);
	list(&o, "revocation_endpoint_auth_methods_supported", "none", NULL);
	list(&o, "code_challenge_methods_supported", "S256", NULL);
	json_out_bool(&o, "authorization_response_iss_parameter_supported", true);
	json_out_bool(&o, "client_id_metadata_document_supported", true);
	json_out_end(&o);
}

/* --- what browsers ask first --- */

static void
preflight(struct http_exchange *x, void *arg)
{
	(void)arg;
	x->status = 204;
	site_allow(x);
	http_add_header(x, STR("Access-Control-Allow-Methods"), STR("GET, POST, OPTIONS"));
	http_add_header(x, STR("Access-Control-Allow-Headers"),
		STR("Content-Type, Authorization, MCP-Protocol-Version"));
	http_add_header(x, STR("Access-Control-Max-Age"), STR("86400"));
}

/* --- routes --- */

enum takes { NOTHING, JSON, FORM };

static const struct {
	enum http_method method;
	const char *path;
	http_handler *handler;
	enum takes takes;
	bool shared; /* with pages of other origins */
} routes[] = {
	{ HTTP_GET_, "/.well-known/oauth-protected-resource", resource, NOTHING, true },
	{ HTTP_GET_, OAUTH_METADATA, resource, NOTHING, true },
	{ HTTP_GET_, "/.well-known/oauth-authorization-server", server, NOTHING, true },
	{ HTTP_POST_, "/oauth/register", oauth_register, JSON, true },
	{ HTTP_POST_, "/oauth/token", oauth_token, FORM, true },
	{ HTTP_POST_, "/oauth/revoke", oauth_revoke, FORM, true },
	{ HTTP_GET_, "/oauth/authorize", oauth_authorize, NOTHING, false },
	{ HTTP_POST_, "/oauth/authorize", oauth_consent, FORM, false },
	{ HTTP_POST_, "/oauth/sign-in", oauth_sign_in, FORM, false },
	{ HTTP_GET_, AUTHORIZATION_CALLBACK, oauth_upstream, NOTHING, false },
};

status
oauth_routes(struct ctx *cx, bool *nameless, struct http_route *out)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		bool talks = routes[i].handler == resource || routes[i].handler == server;

		out[n++] = (struct http_route){ .method = routes[i].method,
			.path = routes[i].path,
			.where = talks ? HTTP_INLINE : HTTP_WORKER,
			.takes_body = routes[i].takes != NOTHING,
			.takes_form = routes[i].takes == FORM,
			.body_max = LIMIT_OAUTH_FORM,
			.handler = routes[i].handler,
			.arg = nameless };
		if (routes[i].shared)
			out[n++] = (struct http_route){
				.method = HTTP_OPTIONS_, .path = routes[i].path, .handler = preflight
			};
	}
	TRY(page_style(cx, &out[n++]));
	CHECK(n == OAUTH_ROUTES);
	return OK;
}
