/* SPDX-License-Identifier: Apache-2.0 */
/* The fixture as a host: its lists, resources and prompts. The names and texts are the suite's. */
#include "face/mcp/fixture.h"

#include "core/event.h"

#include <stdatomic.h>

/* The one thing that changes, when the suite asks for it: how often each list has "changed". */
static atomic_uint changes[MCP_TEMPLATES + 1];

void
fixture_change(struct mcp_call *c, enum mcp_list what)
{
	atomic_fetch_add(&changes[what], 1);
	event_publish(c->cx->events, &(struct event){ .type = STR("changed") });
}

static status
fingerprint(struct mcp_call *c, enum mcp_list what, uint64_t *out)
{
	(void)c;
	*out = atomic_load(&changes[what]);
	return OK;
}

/* --- lists --- */

static void
write_tools(const struct fixture_tool *t, struct json_out *o)
{
	for (; t->name; t++) {
		json_out_object(o, NULL);
		json_out_str(o, "name", str_of(t->name));
		json_out_str(o, "description", str_of(t->doc));
		json_out_raw(o, "inputSchema",
			t->schema ? str_of(t->schema)
				  : STR("{\"type\":\"object\",\"additionalProperties\":false}"));
		json_out_end(o);
	}
}

#define ARGUMENT(name, doc) "{\"name\":\"" name "\",\"description\":\"" doc "\",\"required\":true}"

static const char prompts[] =
	"[{\"name\":\"test_simple_prompt\",\"description\":\"A prompt without arguments\"},"
	"{\"name\":\"test_prompt_with_arguments\",\"description\":\"A prompt with two "
	"arguments\",\"arguments\":[" ARGUMENT("arg1", "The first") "," ARGUMENT("arg2",
		"The second") "]},"
			      "{\"name\":\"test_prompt_with_embedded_resource\",\"description\":\"A prompt "
			      "that holds a resource\","
			      "\"arguments\":[" ARGUMENT("resourceUri",
				      "Which one") "]},"
						   "{\"name\":\"test_prompt_with_image\",\"description\":\"A "
						   "prompt that holds an image\"},"
						   "{\"name\":\"test_input_required_result_prompt\","
						   "\"description\":\"A prompt that asks back\"}]";

static const char resources[] =
	"[{\"uri\":\"test://static-text\",\"name\":\"Static text\",\"description\":\"A text\",\"mimeType\":"
	"\"text/plain\"},"
	"{\"uri\":\"test://static-binary\",\"name\":\"Static binary\",\"description\":\"An "
	"image\",\"mimeType\":"
	"\"image/png\"},"
	"{\"uri\":\"test://watched-resource\",\"name\":\"Watched\",\"description\":\"One to "
	"follow\",\"mimeType\":"
	"\"text/plain\"}]";

static const char templates[] =
	"[{\"uriTemplate\":\"test://template/{id}/data\",\"name\":\"Template\",\"description\":\"By id\","
	"\"mimeType\":\"application/json\"}]";

static status
list(struct mcp_call *c, enum mcp_list what, struct json_out *o)
{
	if (message_param(c, STR("cursor")))
		return rpc_fail(c, RPC_PARAMS, 200, "this cursor is not one of ours");
	if (what == MCP_TOOLS) {
		json_out_array(o, "tools");
		write_tools(fixture_tools, o);
		write_tools(fixture_asking_tools, o);
		write_tools(fixture_task_tools, o);
		json_out_end(o);
	} else if (what == MCP_PROMPTS) {
		json_out_raw(o, "prompts", str_of(prompts));
	} else if (what == MCP_RESOURCES) {
		json_out_raw(o, "resources", str_of(resources));
	} else {
		json_out_raw(o, "resourceTemplates", str_of(templates));
	}
	return OK;
}

/* --- tools --- */

const struct fixture_tool *
fixture_find(str name)
{
	static const struct fixture_tool *const tables[] = { fixture_tools, fixture_asking_tools,
		fixture_task_tools };

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct fixture_tool *t = tables[i]; t->name; t++)
			if (str_eq(name, str_of(t->name)))
				return t;
	return NULL;
}

static status
call(struct mcp_call *c, str name, const struct json *input, struct json_out *o)
{
	const struct fixture_tool *t = fixture_find(name);
	struct json *members;

	if (!t)
		return rpc_fail(c, RPC_PARAMS, 200, "there is no such tool");
	if (t->run)
		return t->run(c, input, o);
	TRY(json_parse(c->cx, str_of(t->result), &members));
	JSON_EACH (member, members) {
		json_out_key(o, member->key);
		json_out_value(o, NULL, member);
	}
	return OK;
}

static const struct json *
schema(struct mcp_call *c, str name)
{
	const struct fixture_tool *t = fixture_find(name);
	struct json *doc;

	if (!t || !t->schema || json_parse(c->cx, str_of(t->schema), &doc) != OK)
		return NULL;
	return doc;
}

/* --- resources --- */

static void
write_content(struct json_out *o, str uri, str type, const char *key, str data)
{
	json_out_array(o, "contents");
	json_out_object(o, NULL);
	json_out_str(o, "uri", uri);
	json_out_str(o, "mimeType", type);
	json_out_str(o, key, data);
	json_out_end(o);
	json_out_end(o);
}

static status
read(struct mcp_call *c, str uri, struct json_out *o)
{
	const str front = STR("test://template/"), end = STR("/data");

	if (str_eq(uri, STR("test://static-text"))) {
		write_content(o, uri, STR("text/plain"), "text", STR("The text of the static resource."));
	} else if (str_eq(uri, STR("test://static-binary"))) {
		write_content(o, uri, STR("image/png"), "blob", STR(FIXTURE_PNG));
	} else if (str_eq(uri, STR("test://watched-resource"))) {
		write_content(o, uri, STR("text/plain"), "text", STR("It has not changed."));
	} else if (str_starts(uri, front) && str_ends(uri, end) && uri.len > front.len + end.len) {
		str id = { uri.ptr + front.len, uri.len - front.len - end.len };

		write_content(o, uri, STR("application/json"), "text",
			arena_printf(c->cx->arena, "{\"id\":\"%.*s\",\"data\":\"of %.*s\"}", STR_ARG(id),
				STR_ARG(id)));
	} else {
		return fail(c->cx, E_NOT_FOUND, "there is no such resource");
	}
	return OK;
}

/* --- prompts --- */

static void
begin_message(struct json_out *o)
{
	json_out_object(o, NULL);
	json_out_str(o, "role", STR("user"));
	json_out_object(o, "content");
}

static void
end_message(struct json_out *o)
{
	json_out_end(o);
	json_out_end(o);
}

static void
write_words(struct json_out *o, str text)
{
	begin_message(o);
	json_out_str(o, "type", STR("text"));
	json_out_str(o, "text", text);
	end_message(o);
}

static void
write_embedded(struct json_out *o, str uri)
{
	begin_message(o);
	json_out_str(o, "type", STR("resource"));
	json_out_object(o, "resource");
	json_out_str(o, "uri", uri);
	json_out_str(o, "mimeType", STR("text/plain"));
	json_out_str(o, "text", STR("The text of the embedded resource."));
	json_out_end(o);
	end_message(o);
}

static void
write_image(struct json_out *o)
{
	begin_message(o);
	json_out_str(o, "type", STR("image"));
	json_out_str(o, "data", STR(FIXTURE_PNG));
	json_out_str(o, "mimeType", STR("image/png"));
	end_message(o);
}

static status
prompt(struct mcp_call *c, str name, const struct json *input, struct json_out *o)
{
	if (str_eq(name, STR("test_input_required_result_prompt")))
		return fixture_ask_prompt(c, o);
	json_out_array(o, "messages");
	if (str_eq(name, STR("test_simple_prompt"))) {
		write_words(o, STR("This is a simple prompt for testing."));
	} else if (str_eq(name, STR("test_prompt_with_arguments"))) {
		write_words(o, arena_printf(c->cx->arena, "Prompt with arguments: arg1='%.*s', arg2='%.*s'",
				       STR_ARG(message_text(input, STR("arg1"))),
				       STR_ARG(message_text(input, STR("arg2")))));
	} else if (str_eq(name, STR("test_prompt_with_embedded_resource"))) {
		write_embedded(o, message_text(input, STR("resourceUri")));
		write_words(o, STR("Please process the embedded resource above."));
	} else if (str_eq(name, STR("test_prompt_with_image"))) {
		write_image(o);
		write_words(o, STR("Please analyze the image above."));
	} else {
		return rpc_fail(c, RPC_PARAMS, 200, "there is no such prompt");
	}
	json_out_end(o);
	return OK;
}

static status
complete(struct mcp_call *c, const struct json *ref, str argument, str typed, struct json_out *o)
{
	(void)c;
	(void)ref;
	(void)argument;
	if (str_starts(STR("paris"), typed))
		json_out_str(o, NULL, STR("paris"));
	return OK;
}

const struct mcp_host mcp_fixture_host = {
	.instructions = "The fixture of the MCP conformance suite.",
	.open = true,
	.subscribes = true,
	.scope = "public",
	.ttl_ms = 1000,
	.list = list,
	.call = call,
	.prompt = prompt,
	.read = read,
	.complete = complete,
	.fingerprint = fingerprint,
	.task = fixture_task,
	.schema = schema,
};
