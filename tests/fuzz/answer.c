/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz answer: a message of an MCP server's as our client reads it: what it is, whose it is; a list of tools with what
 * headers repeat, and those headers for a call.
 *
 * A message is one thing only; what answers a request has a result or an error; a header that goes out has a name and a
 * value that are one line of a head.
 */
#include "base/check.h"
#include "exec/mcp/inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_field(const struct http_client_field *f)
{
	CHECK(f->name.len > 0);
	for (size_t i = 0; i < f->name.len; i++)
		CHECK(f->name.ptr[i] > ' ' && f->name.ptr[i] < 0x7f && f->name.ptr[i] != ':');
	for (size_t i = 0; i < f->value.len; i++)
		CHECK((f->value.ptr[i] >= ' ' && f->value.ptr[i] < 0x7f) || f->value.ptr[i] == '\t');
}

/* Each tool of the list is called with what its own schema is: any object will do. */
static void
check_tools(struct arena *a, const struct json *result)
{
	struct http_client_field fields[LIMIT_MCP_HEADERS];
	struct mcp_params *p = mcp_params_new();
	const struct json *tools = json_get(result, STR("tools"));

	mcp_params_learn(p, result, true);
	mcp_params_learn(p, result, false);
	for (const struct json *t = tools && tools->type == JSON_ARRAY ? tools->child : NULL; t;
		t = t->next) {
		struct json *call = json_new_object(a);
		const struct json *example = json_get(t, STR("example"));
		size_t n;

		(void)mcp_params_ok(t);
		json_add_member(call, STR("name"), json_new_string(a, mcp_text(t, "name")));
		if (example)
			json_add_member(call, STR("arguments"), json_share(a, example));
		n = mcp_params_add(p, a, call, fields, LIMIT_MCP_HEADERS);
		CHECK(n <= LIMIT_MCP_HEADERS);
		for (size_t i = 0; i < n; i++)
			check_field(&fields[i]);
	}
	mcp_params_free(p);
}

static void
check_message(struct ctx *cx, struct mcp_client *c, const struct json *m)
{
	enum mcp_kind kind = mcp_message_kind(m);
	const struct json *result = json_get(m, STR("result"));
	str text;

	CHECK(!mcp_message_answers(m, 1) || (kind == MCP_ANSWER && (result || json_get(m, STR("error")))));
	CHECK(!mcp_message_code(m) || json_get(m, STR("error")));
	if (kind == MCP_NOTICE)
		mcp_message_notice(c, m);
	if (kind == MCP_REQUEST && mcp_message_respond(cx, c, m, &text) == OK)
		CHECK(str_is_utf8(text) && str_find(text, '\n') == text.len);
	if (result && result->type == JSON_OBJECT)
		check_tools(cx->arena, result);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mcp_client c; /* nobody is asked: what is counted in it is all that is used of it */
	struct json *doc;
	struct arena a;
	struct ctx cx;

	if (size > 64 * KIB)
		return 0;
	arena_init(&a, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &a);
	if (json_parse_any(&cx, (str){ (const char *)data, size }, &doc) == OK)
		check_message(&cx, &c, doc);
	arena_done(&a);
	return 0;
}
