/* SPDX-License-Identifier: Apache-2.0 */
/* The fixture's tools that answer by themselves; those that ask first are in fixture_asking.c. */
#include "face/mcp/fixture.h"

#define TEXT(text)     "{\"type\":\"text\",\"text\":\"" text "\"}"
#define IMAGE	       "{\"type\":\"image\",\"data\":\"" FIXTURE_PNG "\",\"mimeType\":\"image/png\"}"
#define CONTENT(items) "{\"content\":[" items "]}"

void
fixture_text(struct json_out *o, str text)
{
	json_out_array(o, "content");
	json_out_object(o, NULL);
	json_out_str(o, "type", STR("text"));
	json_out_str(o, "text", text);
	json_out_end(o);
	json_out_end(o);
}

static status
progress(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	stream_progress(c, 0, 100, STR("begun"));
	stream_progress(c, 50, 100, STR("half of it"));
	stream_progress(c, 100, 100, STR("done"));
	fixture_text(o, STR("Three notifications of progress were sent."));
	return OK;
}

static status
logging(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	int info = stream_level_of(STR("info"));

	(void)input;
	stream_log(c, info, STR("Tool execution started"));
	stream_log(c, info, STR("Tool processing data"));
	stream_log(c, info, STR("Tool execution completed"));
	fixture_text(o, STR("Three messages were logged."));
	return OK;
}

static status
reconnection(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	c->drops = true;
	fixture_text(o, STR("Reconnection test completed successfully."));
	return OK;
}

static status
missing_capability(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	if (!(c->can & MCP_CAN_SAMPLE)) {
		c->data = STR("{\"requiredCapabilities\":{\"sampling\":{}}}");
		return rpc_fail(c, RPC_CAPABILITY, 400, "this tool needs the client's sampling");
	}
	fixture_text(o, STR("The client can sample."));
	return OK;
}

static status
streaming(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	stream_progress(c, 1, 1, STR("streamed"));
	fixture_text(o, STR("Streamed, and nothing was asked."));
	return OK;
}

static status
change_tools(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	fixture_change(c, MCP_TOOLS);
	fixture_text(o, STR("The list of tools has changed."));
	return OK;
}

static status
change_prompts(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	fixture_change(c, MCP_PROMPTS);
	fixture_text(o, STR("The list of prompts has changed."));
	return OK;
}

static const char full_schema[] =
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/"
	"schema\",\"type\":\"object\",\"$defs\":{\"address\":"
	"{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{\"street\":{\"type\":\"string\"},"
	"\"city\":"
	"{\"type\":\"string\"}}}},\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":"
	"\"#/$defs/"
	"address\"},\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},\"phone\":"
	"{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},\"allOf\":[{\"anyOf\":[{\"required\":["
	"\"phone\"]},"
	"{\"required\":[\"email\"]}]}],\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"
	"\"required\":"
	"[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},"
	"\"additionalProperties\":false}";

const struct fixture_tool fixture_tools[] = {
	{ "test_simple_text", "Gives a text",
		.result = CONTENT(TEXT("This is a simple text response for testing.")) },
	{ "test_image_content", "Gives an image", .result = CONTENT(IMAGE) },
	{ "test_audio_content", "Gives a sound",
		.result = CONTENT(
			"{\"type\":\"audio\",\"data\":\"" FIXTURE_WAV "\",\"mimeType\":\"audio/wav\"}") },
	{ "test_embedded_resource", "Gives a resource",
		.result = CONTENT("{\"type\":\"resource\",\"resource\":{\"uri\":\"test://"
				  "embedded-resource\",\"mimeType\":"
				  "\"text/plain\",\"text\":\"This is an embedded resource content.\"}}") },
	{ "test_multiple_content_types", "Gives a text, an image and a resource",
		.result = CONTENT(TEXT(
			"Multiple content types test:") "," IMAGE ",{\"type\":\"resource\",\"resource\":{"
							"\"uri\":\"test://mixed-content-resource\","
							"\"mimeType\":\"application/"
							"json\",\"text\":\"{}\"}}") },
	{ "test_error_handling", "Fails",
		.result = "{\"content\":[" TEXT(
			"This tool intentionally returns an error for testing") "],\"isError\":true}" },
	{ "test_tool_with_progress", "Says how far it is", .run = progress },
	{ "test_tool_with_logging", "Logs while it works", .run = logging },
	{ "test_logging_tool", "Logs where the request wants it", .run = logging },
	{ "test_reconnection", "Breaks its stream off", .run = reconnection },
	{ "json_schema_2020_12_tool", "Has a schema with everything", .schema = full_schema,
		.result = CONTENT(TEXT("valid")) },
	{ "test_x_mcp_header", "Has an argument that a header repeats",
		.schema = "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\",\"x-mcp-"
			  "header\":"
			  "\"Region\"}}}",
		.result = CONTENT(TEXT("The headers are right.")) },
	{ "test_missing_capability", "Needs a client that can sample", .run = missing_capability },
	{ "test_streaming_elicitation", "Streams", .run = streaming },
	{ "test_trigger_tool_change", "Changes the list of tools", .run = change_tools },
	{ "test_trigger_prompt_change", "Changes the list of prompts", .run = change_prompts },
	{ 0 },
};
