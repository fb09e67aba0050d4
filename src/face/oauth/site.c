/* SPDX-License-Identifier: Apache-2.0 */
#include "face/oauth/site.h"

#include "base/limits.h"
#include "face/rest/credential.h"
#include "json/out.h"

/* --- our name --- */

/* "host:port" -> "host"; "[::1]:80" -> "[::1]" */
static str
without_port(str host)
{
	size_t end = str_find(host, ']');

	return (str){ host.ptr, end < host.len ? end + 1 : str_find(host, ':') };
}

static bool
is_loopback(str host)
{
	str name = without_port(host), port = str_skip(host, name.len);
	int64_t n;

	if (port.len && !(port.ptr[0] == ':' && str_to_int(str_skip(port, 1), &n) && n > 0 && n < 65536))
		return false;
	return str_eq(name, STR("localhost")) || str_eq(name, STR("127.0.0.1")) || str_eq(name, STR("[::1]"));
}

status
site_base(struct http_exchange *x, const bool *nameless, str *out_base)
{
	str host = http_header(x, STR("Host"));

	if (x->cx->public_url.len) {
		*out_base = x->cx->public_url;
		return OK;
	}
	if (*nameless)
		return fail(x->cx, E_NOT_FOUND,
			"OAuth needs to know by which name this server is reached: set public-url");
	if (!is_loopback(host))
		return fail(x->cx, E_NOT_FOUND, "this server is not called by that name (Host)");
	*out_base = arena_printf(x->cx->arena, "%s://%.*s", x->req.tls ? "https" : "http", STR_ARG(host));
	return OK;
}

str
site_resource(struct arena *a, str base)
{
	return arena_printf(a, "%.*s/mcp", STR_ARG(base));
}

/* --- who is there --- */

struct credential *
site_person(const struct http_exchange *x)
{
	struct credential *c = ARENA_NEW(x->cx->arena, struct credential);

	*c = *credential_of(x);
	c->bearer = (str){ 0 };
	c->transport = "oauth";
	return c;
}

bool
site_from_elsewhere(const struct http_exchange *x)
{
	str site = http_header(x, STR("Sec-Fetch-Site"));

	return str_eq(site, STR("cross-site")) || str_eq(site, STR("same-site"));
}

/* --- forms --- */

static const struct site_param *
find(const struct site_param *table, str name)
{
	for (; table->name; table++)
		if (str_eq(name, str_of(table->name)))
			return table;
	return NULL;
}

status
site_params(struct ctx *cx, str form, const struct site_param *table, void *out)
{
	str name, value;
	size_t at = 0;
	bool ok;

	while (http_form_next(cx->arena, form, &at, &name, &value, &ok)) {
		const struct site_param *p = ok ? find(table, name) : NULL;
		str *to = p ? (str *)(void *)((char *)out + p->offset) : NULL;

		if (!ok)
			return fail(cx, E_INVALID, "a parameter cannot be decoded");
		if (!p)
			continue;
		if (to->ptr)
			return fail(cx, E_INVALID, "%s is given twice", p->name);
		*to = value.ptr ? value : STR("");
	}
	return OK;
}

/* --- answers --- */

void
site_allow(struct http_exchange *x)
{
	http_add_header(x, STR("Access-Control-Allow-Origin"), STR("*"));
}

void
site_begin(struct http_exchange *x, int http, struct json_out *o)
{
	x->status = http;
	x->content_type = "application/json";
	buf_init(&x->body, x->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(o, &x->body);
	json_out_object(o, NULL);
}

/* RFC 6749 section 5.2: a grant that is not good is 400, whatever it is with us. */
static const struct {
	status s;
	int http;
	const char *code;
} errors[] = {
	{ E_INVALID, 400, "invalid_request" },
	{ E_BAD_JSON, 400, "invalid_request" },
	{ E_FORBIDDEN, 400, "invalid_grant" },
	{ E_SCOPE, 400, "invalid_scope" },
	{ E_RATE_LIMITED, 429, "too_many_requests" },
	{ E_NOT_FOUND, 404, "not_found" },
};

void
site_refuse(struct http_exchange *x, status s, const char *code)
{
	int http = status_info(s)->http >= 500 ? status_info(s)->http : 400;
	struct json_out o;

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].s != s)
			continue;
		http = s == E_FORBIDDEN && code ? 403 : errors[i].http;
		code = code ? code : errors[i].code;
	}
	if (x->cx->error.code != s)
		x->cx->error = (struct error){ .code = s }; /* for the log */
	for (size_t i = 0; i < x->cx->header_count; i++)
		http_add_header(x, str_of(x->cx->headers[i].name), x->cx->headers[i].value);
	site_allow(x);
	site_begin(x, http, &o);
	json_out_str(&o, "error", str_of(code ? code : http < 500 ? "invalid_request" : "server_error"));
	json_out_str(&o, "error_description",
		s == E_INTERNAL ? str_of(status_info(s)->sentence) : ctx_message(x->cx, s));
	json_out_end(&o);
}
