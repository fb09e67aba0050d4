/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/mcp/inside.h"

#include "json/out.h"

str
mcp_text(const struct json *object, const char *key)
{
	const struct json *v = object ? json_get(object, str_of(key)) : NULL;

	return v && v->type == JSON_STRING ? v->text : (str){ 0 };
}

/* --- writing --- */

static void
write_info(struct json_out *o, const char *key)
{
	json_out_object(o, key);
	json_out_str(o, "name", STR("countersign"));
	json_out_str(o, "version", STR(COUNTERSIGN_VERSION));
	json_out_end(o);
}

static str
capabilities(const struct mcp_client *c)
{
	return c->options.capabilities.len ? c->options.capabilities : STR("{}");
}

/* Each message of the modern era says who speaks. */
static void
write_meta(struct json_out *o, const struct mcp_client *c, const struct mcp_letter *l)
{
	json_out_object(o, "_meta");
	json_out_str(o, MCP_META "protocolVersion", l->session.version);
	write_info(o, MCP_META "clientInfo");
	json_out_raw(o, MCP_META "clientCapabilities", capabilities(c));
	json_out_end(o);
}

static void
write_params(struct json_out *o, const struct mcp_client *c, const struct mcp_letter *l)
{
	bool hello = str_eq(l->method, STR("initialize"));

	json_out_object(o, "params");
	if (l->params)
		JSON_EACH (one, l->params) {
			json_out_key(o, one->key);
			json_out_value(o, NULL, one);
		}
	if (hello) {
		json_out_str(o, "protocolVersion", l->session.version);
		json_out_raw(o, "capabilities", capabilities(c));
		write_info(o, "clientInfo");
	} else if (l->session.era == MCP_MODERN) {
		write_meta(o, c, l);
	}
	json_out_end(o);
}

status
mcp_message_write(struct ctx *cx, const struct mcp_client *c, struct mcp_letter *l)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "jsonrpc", STR("2.0"));
	if (l->id)
		json_out_int(&o, "id", l->id);
	json_out_str(&o, "method", l->method);
	if (l->params || l->id)
		write_params(&o, c, l);
	json_out_end(&o);
	return buf_finish(&b, &l->body);
}

/* --- reading --- */

enum mcp_kind
mcp_message_kind(const struct json *message)
{
	const struct json *id = json_get(message, STR("id"));
	bool named = mcp_text(message, "method").len > 0;

	if (!str_eq(mcp_text(message, "jsonrpc"), STR("2.0")))
		return MCP_NO_MESSAGE;
	if (named)
		return id ? MCP_REQUEST : MCP_NOTICE;
	return json_get(message, STR("result")) || json_get(message, STR("error")) ? MCP_ANSWER
										   : MCP_NO_MESSAGE;
}

bool
mcp_message_answers(const struct json *message, int64_t id)
{
	const struct json *its = json_get(message, STR("id"));
	int64_t n;

	if (mcp_message_kind(message) != MCP_ANSWER)
		return false;
	/* an error may come without an id: then it is of the only request that there is on a connection */
	if (!its || its->type == JSON_NULL)
		return json_get(message, STR("error")) != NULL;
	return its->type == JSON_NUMBER && json_to_int(its, &n) && n == id;
}

int64_t
mcp_message_code(const struct json *message)
{
	const struct json *error = json_get(message, STR("error"));
	const struct json *code = error ? json_get(error, STR("code")) : NULL;
	int64_t n = 0;

	return code && code->type == JSON_NUMBER && json_to_int(code, &n) ? n : 0;
}

void
mcp_message_notice(struct mcp_client *c, const struct json *message)
{
	if (str_eq(mcp_text(message, "method"), STR("notifications/tools/list_changed")))
		(void)atomic_fetch_add(&c->changes, 1);
}

/* --- what the server asks --- */

static void
write_answer(struct ctx *cx, struct mcp_client *c, const struct json *request, struct json_out *o)
{
	str method = mcp_text(request, "method"), result;

	if (str_eq(method, STR("ping"))) {
		json_out_raw(o, "result", STR("{}"));
	} else if (c->options.answer && c->options.answer(c->options.answer_arg, cx, method,
						json_get(request, STR("params")), &result)) {
		json_out_raw(o, "result", result);
	} else {
		json_out_object(o, "error");
		json_out_int(o, "code", -32601);
		json_out_str(o, "message", STR("this client answers no such question"));
		json_out_end(o);
	}
}

status
mcp_message_respond(struct ctx *cx, struct mcp_client *c, const struct json *request, str *out_text)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "jsonrpc", STR("2.0"));
	json_out_value(&o, "id", json_get(request, STR("id")));
	write_answer(cx, c, request, &o);
	json_out_end(&o);
	return buf_finish(&b, out_text);
}
