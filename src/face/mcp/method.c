/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of both eras. Each reads its params and asks the host. */
#include "face/mcp/call.h"

/* --- what we can do --- */

static void
flag_object(struct json_out *o, const char *key, const char *member, bool truth)
{
	json_out_object(o, key);
	if (member)
		json_out_bool(o, member, truth);
	json_out_end(o);
}

static void
write_capabilities(struct mcp_call *c, struct json_out *o)
{
	json_out_object(o, "capabilities");
	flag_object(o, "tools", "listChanged", true);
	flag_object(o, "prompts", "listChanged", true);
	json_out_object(o, "resources");
	json_out_bool(o, "subscribe", true);
	json_out_bool(o, "listChanged", true);
	json_out_end(o);
	flag_object(o, "completions", NULL, false);
	flag_object(o, "logging", NULL, false);
	if (c->modern && c->mcp->host->task) {
		json_out_object(o, "extensions");
		flag_object(o, MCP_META "tasks", NULL, false);
		json_out_end(o);
	}
	json_out_end(o);
}

static void
write_hints(struct mcp_call *c, struct json_out *o)
{
	if (!c->modern)
		return;
	json_out_int(o, "ttlMs", c->mcp->host->ttl_ms);
	json_out_str(o, "cacheScope", str_of(c->mcp->host->scope));
}

/* --- the beginning --- */

static bool
declares(const struct json *capabilities, str name, str part)
{
	const struct json *one = json_get(capabilities, name);

	return one && one->type == JSON_OBJECT && (!part.len || json_get(one, part));
}

static unsigned
read_capabilities(const struct json *k)
{
	const struct json *elicit = json_get(k, STR("elicitation"));
	unsigned can = 0;

	if (elicit && elicit->type == JSON_OBJECT && (!elicit->count || json_get(elicit, STR("form"))))
		can |= MCP_CAN_ELICIT;
	if (declares(k, STR("elicitation"), STR("url")))
		can |= MCP_CAN_ELICIT_URL;
	if (declares(k, STR("sampling"), (str){ 0 }))
		can |= MCP_CAN_SAMPLE;
	if (declares(k, STR("roots"), (str){ 0 }))
		can |= MCP_CAN_ROOTS;
	if (declares(k, STR("extensions"), STR(MCP_META "tasks")))
		can |= MCP_CAN_TASKS;
	return can;
}

static status
run_initialize(struct mcp_call *c, struct json_out *o)
{
	str wanted = message_text(c->params, STR("protocolVersion"));
	const struct json *can = message_param(c, STR("capabilities"));
	const struct json *info = message_param(c, STR("clientInfo"));
	size_t version = 0;

	if (!wanted.len || !can || can->type != JSON_OBJECT || !info || info->type != JSON_OBJECT)
		return rpc_fail(
			c, RPC_PARAMS, 200, "initialize needs protocolVersion, capabilities and clientInfo");
	for (size_t i = 0; session_versions[i]; i++)
		if (str_eq(wanted, str_of(session_versions[i])))
			version = i;
	TRY(mcp_identify(c));
	c->can = read_capabilities(can);
	c->version = session_versions[version];
	json_out_str(o, "protocolVersion", str_of(c->version));
	write_capabilities(c, o);
	json_out_str(o, "instructions", str_of(c->mcp->host->instructions));
	http_add_header(c->x, STR("Mcp-Session-Id"), session_new(c, version));
	return OK;
}

static status
run_discover(struct mcp_call *c, struct json_out *o)
{
	TRY(mcp_identify(c));
	json_out_array(o, "supportedVersions");
	json_out_str(o, NULL, STR(MCP_MODERN));
	json_out_end(o);
	write_capabilities(c, o);
	json_out_str(o, "instructions", str_of(c->mcp->host->instructions));
	write_hints(c, o);
	return OK;
}

static status
run_ping(struct mcp_call *c, struct json_out *o)
{
	(void)o;
	return mcp_identify(c);
}

static status
run_set_level(struct mcp_call *c, struct json_out *o)
{
	int level = stream_level_of(message_text(c->params, STR("level")));

	(void)o;
	TRY(mcp_identify(c));
	if (level < 0)
		return rpc_fail(c, RPC_PARAMS, 200, "level must be one of the eight of syslog");
	session_set_level(c, level);
	return OK;
}

static status
run_listen(struct mcp_call *c, struct json_out *o)
{
	const struct json *filter = message_param(c, STR("notifications"));

	(void)o;
	if (!filter || filter->type != JSON_OBJECT)
		return rpc_fail(c, RPC_PARAMS, 200, "notifications must be an object");
	TRY(mcp_identify(c));
	c->can = read_capabilities(json_get(c->meta, STR(MCP_META "clientCapabilities")));
	return listen_begin(c, (str){ 0 });
}

/* --- lists --- */

static status
list(struct mcp_call *c, enum mcp_list what, struct json_out *o)
{
	TRY(c->mcp->host->list(c, what, o));
	write_hints(c, o);
	return OK;
}

static status
run_tools_list(struct mcp_call *c, struct json_out *o)
{
	return list(c, MCP_TOOLS, o);
}

static status
run_prompts_list(struct mcp_call *c, struct json_out *o)
{
	return list(c, MCP_PROMPTS, o);
}

static status
run_resources_list(struct mcp_call *c, struct json_out *o)
{
	return list(c, MCP_RESOURCES, o);
}

static status
run_templates_list(struct mcp_call *c, struct json_out *o)
{
	return list(c, MCP_TEMPLATES, o);
}

/* --- calls --- */

/* What came back with the answers to our questions. */
static status
read_answers(struct mcp_call *c)
{
	const struct json *answers = message_param(c, STR("inputResponses"));
	str state = message_text(c->params, STR("requestState"));

	if (!c->modern)
		return OK; /* a legacy client answers on its own; stream.c has put it there */
	c->can = read_capabilities(json_get(c->meta, STR(MCP_META "clientCapabilities")));
	if (answers && answers->type != JSON_OBJECT)
		return rpc_fail(c, RPC_PARAMS, 200, "inputResponses must be an object");
	c->answers = answers;
	return state.len ? state_open(c, state, &c->state) : OK;
}

/* name and arguments of tools/call and prompts/get */
static status
read_named(struct mcp_call *c, str *out_name, const struct json **out_input)
{
	const struct json *name = message_param(c, STR("name")), *input = message_param(c, STR("arguments"));

	if (!name || name->type != JSON_STRING)
		return rpc_fail(c, RPC_PARAMS, 200, "name must be a string");
	if (input && input->type != JSON_OBJECT)
		return rpc_fail(c, RPC_PARAMS, 200, "arguments must be an object");
	*out_name = name->text;
	*out_input = input ? input : json_new_object(c->cx->arena);
	if (!c->modern)
		return OK;
	if (message_text(c->params, STR("requestState")).len)
		TRY(mcp_identify(c)); /* what was sealed is bound to who it is */
	return read_answers(c);
}

static status
run_tools_call(struct mcp_call *c, struct json_out *o)
{
	const struct json *input;
	str name;

	TRY(read_named(c, &name, &input));
	return c->mcp->host->call(c, name, input, o);
}

static status
run_prompts_get(struct mcp_call *c, struct json_out *o)
{
	const struct json *input;
	str name;

	TRY(read_named(c, &name, &input));
	return c->mcp->host->prompt(c, name, input, o);
}

static status
not_there(struct mcp_call *c, str uri)
{
	struct buf b;

	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	buf_add(&b, STR("{\"uri\":"));
	json_out_quoted(&b, uri);
	buf_add_char(&b, '}');
	if (uri.len <= LIMIT_MCP_URI) /* a longer one is none of ours, and not worth sending back */
		c->data = buf_str(&b);
	return rpc_fail(c, c->modern ? RPC_PARAMS : RPC_RESOURCE, 200, "there is no such resource");
}

static status
run_resources_read(struct mcp_call *c, struct json_out *o)
{
	str uri = message_text(c->params, STR("uri"));
	status s;

	if (!uri.len)
		return rpc_fail(c, RPC_PARAMS, 200, "uri must be a string");
	s = c->mcp->host->read(c, uri, o);
	if (s == E_NOT_FOUND)
		return not_there(c, uri);
	TRY(s);
	write_hints(c, o);
	return OK;
}

static status
run_subscribe(struct mcp_call *c, struct json_out *o)
{
	str uri = message_text(c->params, STR("uri"));
	uint64_t seen = 0;

	(void)o;
	TRY(mcp_identify(c));
	if (!uri.len)
		return rpc_fail(c, RPC_PARAMS, 200, "uri must be a string");
	TRY(listen_look(c, uri, &seen));
	if (!seen)
		return not_there(c, uri);
	return session_follow(c, uri, seen);
}

static status
run_unsubscribe(struct mcp_call *c, struct json_out *o)
{
	str uri = message_text(c->params, STR("uri"));

	(void)o;
	TRY(mcp_identify(c));
	if (!uri.len)
		return rpc_fail(c, RPC_PARAMS, 200, "uri must be a string");
	session_unfollow(c, uri);
	return OK;
}

static status
run_complete(struct mcp_call *c, struct json_out *o)
{
	const struct json *ref = message_param(c, STR("ref")), *argument = message_param(c, STR("argument"));
	str type = message_text(ref, STR("type"));

	if (!argument || !(str_eq(type, STR("ref/prompt")) || str_eq(type, STR("ref/resource"))))
		return rpc_fail(c, RPC_PARAMS, 200, "completion needs ref and argument");
	json_out_object(o, "completion");
	json_out_array(o, "values");
	TRY(c->mcp->host->complete(
		c, ref, message_text(argument, STR("name")), message_text(argument, STR("value")), o));
	json_out_end(o);
	json_out_end(o);
	return OK;
}

/* --- tasks: calls whose result is fetched (an extension of the modern era) --- */

status
task_require(struct mcp_call *c)
{
	if (c->can & MCP_CAN_TASKS)
		return OK;
	c->data = STR("{\"requiredCapabilities\":{\"extensions\":{\"" MCP_META "tasks\":{}}}}");
	return rpc_fail(c, RPC_CAPABILITY, 400, "this needs the client's tasks extension");
}

static status
task(struct mcp_call *c, enum mcp_task what, struct json_out *o)
{
	const struct json *answers = message_param(c, STR("inputResponses"));
	str id = message_text(c->params, STR("taskId"));

	TRY(mcp_identify(c));
	if (!c->mcp->host->task)
		return rpc_fail(c, RPC_METHOD, 404, "there is no such method");
	c->can = read_capabilities(json_get(c->meta, STR(MCP_META "clientCapabilities")));
	TRY(task_require(c));
	if (!id.len)
		return rpc_fail(c, RPC_PARAMS, 200, "taskId must be a string");
	if (what == MCP_TASK_UPDATE && (!answers || answers->type != JSON_OBJECT))
		return rpc_fail(c, RPC_PARAMS, 200, "inputResponses must be an object");
	return c->mcp->host->task(c, what, id, answers, o);
}

static status
run_task_get(struct mcp_call *c, struct json_out *o)
{
	return task(c, MCP_TASK_GET, o);
}

static status
run_task_update(struct mcp_call *c, struct json_out *o)
{
	return task(c, MCP_TASK_UPDATE, o);
}

static status
run_task_cancel(struct mcp_call *c, struct json_out *o)
{
	return task(c, MCP_TASK_CANCEL, o);
}

/* --- the table --- */

static const struct mcp_method methods[] = {
	{ "initialize", .legacy = true, .run = run_initialize },
	{ "ping", .legacy = true, .run = run_ping },
	{ "logging/setLevel", .legacy = true, .run = run_set_level },
	{ "resources/subscribe", .legacy = true, .run = run_subscribe },
	{ "resources/unsubscribe", .legacy = true, .run = run_unsubscribe },
	{ "server/discover", .modern = true, .run = run_discover },
	{ "subscriptions/listen", .modern = true, .run = run_listen },
	{ "tools/list", true, true, NULL, run_tools_list },
	{ "tools/call", true, true, "name", run_tools_call },
	{ "prompts/list", true, true, NULL, run_prompts_list },
	{ "prompts/get", true, true, "name", run_prompts_get },
	{ "resources/list", true, true, NULL, run_resources_list },
	{ "resources/templates/list", true, true, NULL, run_templates_list },
	{ "resources/read", true, true, "uri", run_resources_read },
	{ "tasks/get", .modern = true, .named = "taskId", .run = run_task_get },
	{ "tasks/update", .modern = true, .named = "taskId", .run = run_task_update },
	{ "tasks/cancel", .modern = true, .named = "taskId", .run = run_task_cancel },
	{ "completion/complete", true, true, NULL, run_complete },
};

const struct mcp_method *
method_find(str name)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (str_eq(name, str_of(methods[i].name)))
			return &methods[i];
	return NULL;
}

const struct mcp_method *
method_of(const struct mcp_call *c)
{
	const struct mcp_method *m = method_find(c->method);

	return m && (c->modern ? m->modern : m->legacy) ? m : NULL;
}
