/* SPDX-License-Identifier: Apache-2.0 */
/* The fixture's tools that ask the client something first. */
#include "face/mcp/fixture.h"

#define FORM(message, schema)                                                                                \
	"{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"" message            \
	"\",\"requestedSchema\":{\"type\":\"object\"," schema "}}}"
#define NAME_FORM                                                                                            \
	FORM("What is your name?", "\"properties\":{\"name\":{\"type\":\"string\"}},\"required\":["          \
				   "\"name\"]")
#define SAMPLE                                                                                               \
	"{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[{\"role\":\"user\",\"content\":"   \
	"{\"type\":\"text\",\"text\":\"What is the capital of France?\"}}],\"maxTokens\":100}}"
#define ROOTS "{\"method\":\"roots/list\",\"params\":{}}"

status
fixture_ask(struct mcp_call *c, const char *asks, const char *keeps)
{
	TRY(json_parse(c->cx, str_of(asks), &c->asks));
	c->keeps = str_of(keeps);
	return OK;
}

/* The client's answer to that question, an object; or NULL: it has to be asked (again). */
static const struct json *
answer_to(const struct mcp_call *c, const char *key)
{
	const struct json *answer = c->answers ? json_get(c->answers, str_of(key)) : NULL;

	return answer && answer->type == JSON_OBJECT ? answer : NULL;
}

static status
finish(struct mcp_call *c, const char *front, const struct json *answer, struct json_out *o)
{
	str text = { 0 };

	if (answer)
		TRY(json_text(c->cx, answer, &text));
	fixture_text(o, arena_printf(c->cx->arena, "%s%.*s", front, STR_ARG(text)));
	return OK;
}

/* One question, one answer. */
static status
ask_one(struct mcp_call *c, const char *key, const char *asks, const char *keeps, struct json_out *o)
{
	const struct json *answer = answer_to(c, key);

	return answer ? finish(c, "answered: ", answer, o) : fixture_ask(c, asks, keeps);
}

/* --- both eras --- */

static status
sampling(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	return ask_one(c, "sample", "{\"sample\":" SAMPLE "}", "", o);
}

static status
elicitation(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	return ask_one(c, "user",
		"{\"user\":" FORM("Who are you?",
			"\"properties\":{\"username\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
			"\"required\":[\"username\",\"email\"]") "}",
		"", o);
}

static status
defaults(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	return ask_one(c, "form",
		"{\"form\":" FORM("Please review",
			"\"properties\":{\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
			"\"age\":{\"type\":\"integer\",\"default\":30},\"score\":{\"type\":\"number\","
			"\"default\":95.5},"
			"\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
			"\"default\":"
			"\"active\"},"
			"\"verified\":{\"type\":\"boolean\",\"default\":true}},\"required\":[]") "}",
		"", o);
}

#define TITLED(a, b, c)                                                                                      \
	"[{\"const\":\"" a "1\",\"title\":\"" b " One\"},{\"const\":\"" a "2\",\"title\":\"" b               \
	" Two\"},{\"const\":\"" a "3\",\"title\":\"" b c "\"}]"

static status
enums(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	return ask_one(c, "form",
		"{\"form\":" FORM("Please select",
			"\"properties\":{\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\","
			"\"option2\","
			"\"option3\"]},"
			"\"titledSingle\":{\"type\":\"string\",\"oneOf\":" TITLED("value", "Option",
				" Three") "},"
					  "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\","
					  "\"opt3\"],\"enumNames\":"
					  "[\"Option One\",\"Option Two\",\"Option Three\"]},"
					  "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":"
					  "\"string\",\"enum\":[\"option1\","
					  "\"option2\",\"option3\"]}},"
					  "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":" TITLED(
						  "value", "Choice", " Three") "}}},\"required\":[]") "}",
		"", o);
}

/* --- the modern era: a result that asks --- */

static status
result_elicitation(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	return ask_one(c, "user_name", "{\"user_name\":" NAME_FORM "}", "", o);
}

status
fixture_ask_name(struct mcp_call *c)
{
	return fixture_ask(c, "{\"user_name\":" NAME_FORM "}", "");
}

status
fixture_ask_prompt(struct mcp_call *c, struct json_out *o)
{
	if (!answer_to(c, "user_context"))
		return fixture_ask(c,
			"{\"user_context\":" FORM("What is it about?",
				"\"properties\":{\"context\":{\"type\":\"string\"}},"
				"\"required\":[\"context\"]") "}",
			"");
	json_out_raw(o, "messages",
		STR("[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"With what you "
		    "said.\"}}]"));
	return OK;
}

static status
result_sampling(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	return ask_one(c, "capital", "{\"capital\":" SAMPLE "}", "", o);
}

static status
result_roots(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	return ask_one(c, "roots", "{\"roots\":" ROOTS "}", "", o);
}

static status
result_state(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	if (!c->state.len || !answer_to(c, "confirm"))
		return fixture_ask(c, "{\"confirm\":" NAME_FORM "}", "asked");
	return finish(c, "state-ok", NULL, o);
}

static status
result_multiple(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	if (!answer_to(c, "user_name") || !answer_to(c, "greeting") || !answer_to(c, "client_roots"))
		return fixture_ask(c,
			"{\"user_name\":" NAME_FORM ",\"greeting\":" SAMPLE ",\"client_roots\":" ROOTS "}",
			"asked");
	return finish(c, "answered: ", c->answers, o);
}

static status
result_rounds(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	if (str_eq(c->state, STR("second")) && answer_to(c, "step2"))
		return finish(c, "both rounds", NULL, o);
	if (str_eq(c->state, STR("first")) && answer_to(c, "step1"))
		return fixture_ask(c, "{\"step2\":" NAME_FORM "}", "second");
	return fixture_ask(c, "{\"step1\":" NAME_FORM "}", "first");
}

static status
result_capabilities(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	if (c->answers && c->answers->count)
		return finish(c, "answered: ", c->answers, o);
	return fixture_ask(c, "{\"user_name\":" NAME_FORM ",\"capital\":" SAMPLE "}", "");
}

#define STRING_ARGUMENT(name)                                                                                \
	"{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"string\"}},\"required\":[\"" name     \
	"\"]}"

const struct fixture_tool fixture_asking_tools[] = {
	{ "test_sampling", "Asks the client's model", .schema = STRING_ARGUMENT("prompt"), .run = sampling },
	{ "test_elicitation", "Asks the client's user", .schema = STRING_ARGUMENT("message"),
		.run = elicitation },
	{ "test_elicitation_sep1034_defaults", "Asks with defaults", .run = defaults },
	{ "test_elicitation_sep1330_enums", "Asks with choices", .run = enums },
	{ "test_input_required_result_elicitation", "Asks for a name", .run = result_elicitation },
	{ "test_input_required_result_sampling", "Asks for a sample", .run = result_sampling },
	{ "test_input_required_result_list_roots", "Asks for roots", .run = result_roots },
	{ "test_input_required_result_request_state", "Asks, and keeps a state", .run = result_state },
	{ "test_input_required_result_multiple_inputs", "Asks three things", .run = result_multiple },
	{ "test_input_required_result_multi_round", "Asks twice", .run = result_rounds },
	{ "test_input_required_result_tampered_state", "Asks, and looks at its state", .run = result_state },
	{ "test_input_required_result_capabilities", "Asks what the client can answer",
		.run = result_capabilities },
	{ 0 },
};
