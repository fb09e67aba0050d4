/* SPDX-License-Identifier: Apache-2.0 */
#include "face/mcp/call.h"

/* --- reading --- */

const struct json *
message_param(const struct mcp_call *c, str key)
{
	return c->params ? json_get(c->params, key) : NULL;
}

str
message_text(const struct json *object, str key)
{
	const struct json *value = object ? json_get(object, key) : NULL;

	return value && value->type == JSON_STRING ? value->text : (str){ 0 };
}

static bool
is_id(const struct json *id)
{
	int64_t n;

	return id->type == JSON_STRING || (id->type == JSON_NUMBER && json_to_int(id, &n));
}

static status
parse(struct mcp_call *c, struct json **out)
{
	status s = json_parse(c->cx, c->text, out);

	if (s == E_BAD_JSON)
		return rpc_fail(c, RPC_PARSE, 400, "%.*s", STR_ARG(ctx_message(c->cx, s)));
	return s;
}

static status
read_params(struct mcp_call *c, const struct json *message)
{
	c->params = json_get(message, STR("params"));
	if (c->params && c->params->type != JSON_OBJECT)
		return rpc_fail(c, RPC_PARAMS, 400, "params must be an object");
	c->meta = message_param(c, STR("_meta"));
	if (c->meta && c->meta->type != JSON_OBJECT)
		return rpc_fail(c, RPC_PARAMS, 400, "params._meta must be an object");
	return OK;
}

static status
read_one(struct mcp_call *c, const struct json *message)
{
	const struct json *id;

	if (message->type != JSON_OBJECT || !str_eq(message_text(message, STR("jsonrpc")), STR("2.0")))
		return rpc_fail(c, RPC_REQUEST, 400, "this is not a JSON-RPC 2.0 message");
	id = json_get(message, STR("id"));
	if (id && !is_id(id))
		return rpc_fail(c, RPC_REQUEST, 400, "an id is a string or an integer");
	c->id = id;
	c->method = message_text(message, STR("method"));
	if (!c->method.len) {
		if (!id || !(json_get(message, STR("result")) || json_get(message, STR("error"))))
			return rpc_fail(c, RPC_REQUEST, 400, "a message has a method, or is a response");
		c->answer = message;
		return OK;
	}
	return read_params(c, message);
}

status
message_read(struct mcp_call *c, str text)
{
	struct json *message;

	c->text = text;
	TRY(parse(c, &message));
	if (message->type != JSON_ARRAY)
		return read_one(c, message);
	c->batch = message;
	return OK;
}

status
message_read_item(struct mcp_call *c, const struct json *item)
{
	TRY(read_one(c, item));
	return json_text(c->cx, item, &c->text);
}

/* --- writing --- */

static void
write_info(struct json_out *o, const char *key)
{
	json_out_object(o, key);
	json_out_str(o, "name", STR("countersign"));
	json_out_str(o, "title", STR("Countersign"));
	json_out_str(o, "version", STR(COUNTERSIGN_VERSION));
	json_out_end(o);
}

void
message_begin(struct mcp_call *c, struct json_out *o)
{
	json_out_object(o, NULL);
	json_out_str(o, "jsonrpc", STR("2.0"));
	json_out_value(o, "id", c->id);
	json_out_object(o, "result");
}

static void
write_meta(const struct mcp_call *c, struct json_out *o)
{
	json_out_object(o, "_meta");
	if (c->modern)
		write_info(o, MCP_META "serverInfo");
	if (c->source.len) {
		json_out_bool(o, "countersign/untrusted", true);
		json_out_str(o, "countersign/source", c->source);
	}
	json_out_end(o);
}

void
message_end(struct mcp_call *c, struct json_out *o, const char *result_type)
{
	if (c->modern)
		json_out_str(o, "resultType", str_of(result_type));
	if (c->modern || c->source.len)
		write_meta(c, o);
	if (!c->modern && str_eq(c->method, STR("initialize")))
		write_info(o, "serverInfo");
	if (c->last) {
		json_out_raw(o, c->last, STR(""));
		return;
	}
	json_out_end(o);
	json_out_end(o);
}

struct spoken {
	status s;
	int code, http;
};

/* What a refusal is in JSON-RPC. A handler's failure is an answer like any other: HTTP 200. */
static struct spoken
speak(status s)
{
	int http = status_info(s)->http;
	bool transport = http >= 500 || http == 401 || http == 413 || http == 429;

	switch (s) {
	case E_INVALID:
	case E_NOT_FOUND:
		return (struct spoken){ s, RPC_PARAMS, 200 };
	case E_INTERNAL:
		return (struct spoken){ s, RPC_INTERNAL, 500 };
	default:
		return (struct spoken){ s, http, transport ? http : 200 };
	}
}

str
message_error(struct mcp_call *c, status s)
{
	struct spoken spoken = speak(s);
	struct json_out o;
	struct buf b;

	if (!c->code)
		c->code = spoken.code;
	if (!c->http)
		c->http = spoken.http;
	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "jsonrpc", STR("2.0"));
	if (c->id)
		json_out_value(&o, "id", c->id);
	json_out_object(&o, "error");
	json_out_int(&o, "code", c->code);
	json_out_str(
		&o, "message", s == E_INTERNAL ? str_of(status_info(s)->sentence) : ctx_message(c->cx, s));
	if (c->data.len)
		json_out_raw(&o, "data", c->data);
	json_out_end(&o);
	json_out_end(&o);
	return buf_str(&b);
}

str
message_notification(struct arena *a, const char *method, str params)
{
	struct buf b;

	buf_init(&b, a, LIMIT_HTTP_ANSWER);
	buf_printf(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"", method);
	if (params.len) {
		buf_add(&b, STR(",\"params\":"));
		buf_add(&b, params);
	}
	buf_add_char(&b, '}');
	return buf_str(&b);
}

uint64_t
message_hash(str text)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < text.len; i++)
		h = (h ^ (unsigned char)text.ptr[i]) * UINT64_C(1099511628211);
	return h;
}
