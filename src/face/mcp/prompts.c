/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts: what people ask their agent for again and again. */
#include "face/mcp/own.h"

static const struct prompt {
	const char *name, *title, *doc, *text;
	bool takes_id; /* its one argument, which ends the text */
} prompts[] = {
	{ "review_pending_proposals", "Review my pending proposals",
		"Goes through the proposals that wait for a decision.",
		"Call list_proposals with {\"status\": \"pending\"}. For each one call describe_proposal and "
		"tell "
		"me in two sentences what would happen and what the risk is, then its approveUrl. Do not "
		"apply "
		"or cancel anything.",
		false },
	{ "follow_proposal", "Follow a proposal to its end",
		"Waits for a decision and applies what was approved.",
		"Call wait_proposal until the proposal is not pending any more. If it was approved, call "
		"apply_proposal, or where its text says that a person applies it wait for that, and tell me "
		"the "
		"outcome; if it was denied or has expired, tell me why and do "
		"not "
		"propose it again unless I ask. The proposal's id is ",
		true },
};
#define PROMPTS (sizeof(prompts) / sizeof(prompts[0]))

static status
list(struct ctx *cx, void *arg)
{
	struct json_out *o = arg;

	(void)cx;
	for (size_t i = 0; i < PROMPTS; i++) {
		json_out_object(o, NULL);
		json_out_str(o, "name", str_of(prompts[i].name));
		json_out_str(o, "title", str_of(prompts[i].title));
		json_out_str(o, "description", str_of(prompts[i].doc));
		json_out_array(o, "arguments");
		if (prompts[i].takes_id) {
			json_out_object(o, NULL);
			json_out_str(o, "name", STR("id"));
			json_out_str(o, "description", STR("Which proposal."));
			json_out_bool(o, "required", true);
			json_out_end(o);
		}
		json_out_end(o);
		json_out_end(o);
	}
	return OK;
}

status
own_prompts(struct mcp_call *c, struct json_out *o)
{
	json_out_array(o, "prompts");
	TRY(mcp_enter(c, list, o));
	json_out_end(o);
	return OK;
}

static void
write(const struct prompt *p, str text, struct json_out *o)
{
	json_out_str(o, "description", str_of(p->doc));
	json_out_array(o, "messages");
	json_out_object(o, NULL);
	json_out_str(o, "role", STR("user"));
	json_out_object(o, "content");
	json_out_str(o, "type", STR("text"));
	json_out_str(o, "text", text);
	json_out_end(o);
	json_out_end(o);
	json_out_end(o);
}

status
own_prompt(struct mcp_call *c, str name, const struct json *input, struct json_out *o)
{
	str id = message_text(input, STR("id"));

	TRY(mcp_identify(c));
	for (size_t i = 0; i < PROMPTS; i++) {
		const struct prompt *p = &prompts[i];

		if (!str_eq(name, str_of(p->name)))
			continue;
		if (p->takes_id && !id.len)
			return rpc_fail(c, RPC_PARAMS, 200, "this prompt needs the argument id");
		write(p,
			p->takes_id ? arena_printf(c->cx->arena, "%s%.*s.", p->text, STR_ARG(id))
				    : str_of(p->text),
			o);
		return OK;
	}
	return rpc_fail(c, RPC_PARAMS, 200, "there is no such prompt");
}
