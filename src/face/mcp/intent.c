/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent says about a call, in its own words: an argument that every tool of the registry takes besides its
 * own. It is not the tool's: it is taken out before the call and goes on the card, where the call becomes a
 * proposal, marked as the agent's (PA-11).
 */
#include "core/gate/tool.h"
#include "face/mcp/own.h"
#include "json/bind.h"

#define INTENT "intent"
#define PATH   "/intent"

struct words {
	str intent;
};
static const struct field words[] = {
	FIELD_TEXT(struct words, intent, .max = 500,
		.doc = "Why, in your own words: shown to who decides, marked as the agent's."),
	FIELD_END,
};

static status
read_schema(struct mcp_call *c, const struct tool *t, struct json **out, const struct json **out_properties)
{
	TRY(json_parse(c->cx, tool_in_text(c->cx->tools, t), out));
	*out_properties = json_get(*out, STR("properties"));
	return OK;
}

/* The members of all (NULL: none) but that one. */
static struct json *
without(struct arena *a, const struct json *all, str key)
{
	struct json *o = json_new_object(a);

	if (!all)
		return o;
	JSON_EACH (member, all)
		if (!str_eq(member->key, key))
			json_add_member(o, member->key, json_share(a, member));
	return o;
}

status
own_intent_schema(struct mcp_call *c, const struct tool *t, const struct json **out)
{
	struct arena *a = c->cx->arena;
	const struct json *properties, *mine;
	struct json *schema, *more;

	TRY(read_schema(c, t, &schema, &properties));
	*out = schema;
	if (properties && json_get(properties, STR(INTENT)))
		return OK; /* one of its own */
	mine = json_get(json_get(field_schema(a, words), STR("properties")), STR(INTENT));
	more = without(a, properties, STR(INTENT));
	json_add_member(more, STR(INTENT), json_share(a, mine));
	schema = without(a, schema, STR("properties"));
	json_add_member(schema, STR("properties"), more);
	*out = schema;
	return OK;
}

status
own_intent_take(struct mcp_call *c, const struct tool *t, const struct json *input,
	const struct json **out_input, struct json **out_intent)
{
	const struct json *said = json_get(input, STR(INTENT)), *properties = NULL;
	struct json *schema;

	*out_input = input;
	*out_intent = NULL;
	if (said && t)
		TRY(read_schema(c, t, &schema, &properties));
	if (!said || (properties && json_get(properties, STR(INTENT))))
		return OK;
	*out_input = without(c->cx->arena, input, STR(INTENT));
	*out_intent = json_new_object(c->cx->arena);
	json_add_member(*out_intent, STR("summary"), json_share(c->cx->arena, said));
	return OK;
}

void
own_intent_issues(struct mcp_call *c)
{
	struct error *e = &c->cx->error;

	for (size_t i = 0; i < e->issue_count; i++)
		if (str_eq(e->issues[i].path, STR(PATH "/summary")))
			e->issues[i].path = STR(PATH);
}
