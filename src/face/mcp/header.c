/* SPDX-License-Identifier: Apache-2.0 */
/* What the head of a request must say: where it was sent from, and in the modern era what its body says. */
#include "face/mcp/call.h"

#include <sodium.h>

/* --- Host and Origin: a page of somebody else must not reach us through a browser (DNS rebinding) --- */

/* Is that all, or is it followed by a port? */
static bool
is_port(str rest)
{
	for (size_t i = 1; i < rest.len; i++)
		if (rest.ptr[i] < '0' || rest.ptr[i] > '9')
			return false;
	return !rest.len || rest.ptr[0] == ':';
}

/* "host:port" -> "host"; "[::1]:80" -> "[::1]"; empty: it is neither */
static str
without_port(str host)
{
	size_t end = str_find(host, ']');
	str name = { host.ptr, end < host.len ? end + 1 : str_find(host, ':') };

	return is_port(str_skip(host, name.len)) ? name : (str){ 0 };
}

static bool
is_loopback(str host)
{
	str name = without_port(host);

	return str_eq_nocase(name, STR("localhost")) || str_eq(name, STR("127.0.0.1")) ||
	       str_eq(name, STR("[::1]"));
}

/* What stands behind "scheme://", or empty. */
static str
authority(str url)
{
	if (str_starts(url, STR("http://")))
		return str_skip(url, 7);
	return str_starts(url, STR("https://")) ? str_skip(url, 8) : (str){ 0 };
}

static str
public_host(const struct mcp_call *c)
{
	str host = authority(c->cx->public_url);

	return (str){ host.ptr, str_find(host, '/') };
}

status
header_check_host(struct mcp_call *c)
{
	str host = http_header(c->x, STR("Host")), origin = http_header(c->x, STR("Origin"));
	str from = authority(origin), ours = public_host(c);
	bool any = c->mcp->options.any_host;

	if (!is_loopback(host) && !(ours.len && str_eq_nocase(host, ours)) && !(any && host.len))
		return rpc_fail(c, 403, 403, "this server is not called by that name (Host)");
	if (!origin.len || is_loopback(from) || (ours.len && str_eq_nocase(from, ours)) ||
		(any && str_eq_nocase(from, host)))
		return OK;
	return rpc_fail(c, 403, 403, "pages from elsewhere may not call this server (Origin)");
}

/* --- Accept --- */

static bool
accepts(const struct mcp_call *c, str type, str range)
{
	str rest = http_header(c->x, STR("Accept")), one, name, parameters;

	if (!rest.len)
		return true;
	while (rest.len) {
		if (!str_cut(rest, ',', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		name = str_trim(str_cut(one, ';', &name, &parameters) ? name : one);
		if (str_eq_nocase(name, type) || str_eq_nocase(name, range) || str_eq(name, STR("*/*")))
			return true;
	}
	return false;
}

bool
header_accepts_stream(const struct mcp_call *c)
{
	return accepts(c, STR("text/event-stream"), STR("text/*"));
}

status
header_check_accept(struct mcp_call *c)
{
	if (accepts(c, STR("application/json"), STR("application/*")))
		return OK;
	return rpc_fail(c, RPC_REQUEST, 406, "Accept must list application/json and text/event-stream");
}

/* --- values --- */

/* =?base64?…?= decoded; anything else stands for itself. False: it is neither. */
static bool
decode(struct arena *a, str value, str *out)
{
	const str begin = STR("=?base64?"), end = STR("?=");
	size_t room, len;
	char *bytes;

	*out = value;
	if (!str_starts(value, begin) || !str_ends(value, end) || value.len < begin.len + end.len)
		return true;
	value = (str){ value.ptr + begin.len, value.len - begin.len - end.len };
	room = value.len + 1;
	bytes = arena_alloc(a, room); /* a header: small */
	if (sodium_base642bin((unsigned char *)bytes, room, value.ptr, value.len, NULL, &len, NULL,
		    sodium_base64_VARIANT_ORIGINAL) != 0)
		return false;
	*out = (str){ bytes, len };
	return str_is_utf8(*out);
}

/* NULL: it is not there. Where it is there twice it says two things, and *out_value is none of them. */
static const struct http_header *
find(const struct mcp_call *c, str name, str *out_value)
{
	const struct http_header *found = NULL;

	for (size_t i = 0; i < c->x->req.header_count; i++) {
		const struct http_header *h = &c->x->req.headers[i];

		if (!str_eq_nocase(h->name, name))
			continue;
		*out_value = !found ? str_trim(h->value) : STR("\x01");
		found = h;
	}
	return found;
}

/* Does the header say what the body says? */
static status
check_same(struct mcp_call *c, str name, str body)
{
	str value;

	if (!find(c, name, &value))
		return rpc_fail(c, RPC_HEADER, 400, "the header %.*s is missing", STR_ARG(name));
	if (!decode(c->cx->arena, value, &value) || !str_eq(value, body))
		return rpc_fail(
			c, RPC_HEADER, 400, "the header %.*s does not say what the body says", STR_ARG(name));
	return OK;
}

/* --- arguments that headers repeat (x-mcp-header) --- */

static bool
same_value(const struct json *value, str text)
{
	struct json number = { .type = JSON_NUMBER, .text = text };
	int64_t a, b;

	if (value->type == JSON_STRING)
		return str_eq(value->text, text);
	if (value->type == JSON_BOOL)
		return str_eq(text, value->truth ? STR("true") : STR("false"));
	return value->type == JSON_NUMBER && str_to_int(text, &b) && json_to_int(value, &a) &&
	       json_to_int(&number, &b) && a == b;
}

static status
check_argument(struct mcp_call *c, str header, const struct json *value)
{
	str name = arena_printf(c->cx->arena, "Mcp-Param-%.*s", STR_ARG(header)), text;
	const struct http_header *h = find(c, name, &text);
	bool has = value && value->type != JSON_NULL;

	if (!h && !has)
		return OK;
	if (!h)
		return rpc_fail(c, RPC_HEADER, 400, "the header %.*s is missing", STR_ARG(name));
	if (!has || !decode(c->cx->arena, text, &text) || !same_value(value, text))
		return rpc_fail(
			c, RPC_HEADER, 400, "the header %.*s does not say what the body says", STR_ARG(name));
	return OK;
}

static status
check_arguments(struct mcp_call *c, const struct json *schema, const struct json *input, unsigned depth)
{
	const struct json *properties = json_get(schema, STR("properties"));

	if (!properties || depth > 8)
		return OK;
	JSON_EACH (property, properties) {
		const struct json *value = input ? json_get(input, property->key) : NULL;
		str header = message_text(property, STR("x-mcp-header"));

		if (header.len)
			TRY(check_argument(c, header, value));
		TRY(check_arguments(c, property, value, depth + 1));
	}
	return OK;
}

/* --- the ladder of the modern era --- */

static status
check_envelope(struct mcp_call *c)
{
	const struct json *version = c->meta ? json_get(c->meta, STR(MCP_META "protocolVersion")) : NULL;
	const struct json *can = c->meta ? json_get(c->meta, STR(MCP_META "clientCapabilities")) : NULL;

	if (!version || version->type != JSON_STRING)
		return rpc_fail(
			c, RPC_PARAMS, 400, "params._meta needs " MCP_META "protocolVersion, a string");
	if (!can || can->type != JSON_OBJECT)
		return rpc_fail(
			c, RPC_PARAMS, 400, "params._meta needs " MCP_META "clientCapabilities, an object");
	return OK;
}

static status
check_version(struct mcp_call *c)
{
	str version = message_text(c->meta, STR(MCP_META "protocolVersion"));
	struct buf b;

	TRY(check_same(c, STR("MCP-Protocol-Version"), version));
	if (str_eq(version, STR(MCP_MODERN)))
		return OK;
	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	buf_add(&b, STR("{\"supported\":[\"" MCP_MODERN "\"],\"requested\":"));
	json_out_quoted(&b, version);
	buf_add_char(&b, '}');
	c->data = buf_str(&b);
	return rpc_fail(c, RPC_VERSION, 400, "this protocol version is not supported");
}

status
header_check_modern(struct mcp_call *c)
{
	const struct mcp_method *method = method_find(c->method);
	const struct json *schema;
	str name;

	TRY(check_envelope(c));
	TRY(check_version(c));
	TRY(check_same(c, STR("Mcp-Method"), c->method));
	if (!method || !method->named)
		return OK;
	name = message_text(c->params, str_of(method->named));
	TRY(check_same(c, STR("Mcp-Name"), name));
	schema = str_eq(c->method, STR("tools/call")) && c->mcp->host->schema ? c->mcp->host->schema(c, name)
									      : NULL;
	return schema ? check_arguments(c, schema, message_param(c, STR("arguments")), 0) : OK;
}
