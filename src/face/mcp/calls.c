/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of tools. Each goes through the gate as REST's tool_call does. Only what concerns the protocol, the
 * credential or the budget is a JSON-RPC error; all else is a result. A blocked tool is answered as one that does
 * not exist (TL-2).
 */
#include "base/clock.h"
#include "core/gate/gate.h"
#include "core/gate/toolset.h"
#include "face/mcp/own.h"

/* Is it the protocol's, the credential's or the budget's, rather than the tool's? */
static bool
is_fault(const struct mcp_call *c, status s)
{
	return c->code || challenge_steps_up(c, s) || s == E_UNAUTHENTICATED || s == E_RATE_LIMITED ||
	       status_info(s)->http >= 500;
}

static const struct tool *
find_tool(const struct registry *tools, str name)
{
	const struct tool *t = tool_of_model(tools, name);

	return t ? t : tool_find(tools, name);
}

struct hiding {
	str name;
	bool hidden;
};

static status
look_for(struct ctx *cx, void *arg)
{
	struct hiding *h = arg;
	const struct tool *t = find_tool(cx->tools, h->name); /* as of now */
	struct permission_snapshot snapshot;
	bool stored;

	TRY(permission_load(cx, cx->caller, &snapshot)); /* also where there is no tool: both take as long */
	h->hidden = !t || permission_tier(&snapshot, t, &stored) == TIER_BLOCKED;
	return OK;
}

/* Not found: is it the tool, or what the tool looked for? */
static status
refuse_missing(struct mcp_call *c, str name, struct json_out *o)
{
	struct error said = c->cx->error;
	struct hiding h = { .name = name };

	TRY(mcp_enter(c, look_for, &h));
	if (h.hidden) {
		c->code = RPC_PARAMS;
		if (name.len > LIMIT_TOOL_NAME)
			return fail(c->cx, E_NOT_FOUND, "there is no tool whose name is so long");
		return fail(c->cx, E_NOT_FOUND, "there is no tool called \"%.*s\"", STR_ARG(name));
	}
	c->cx->error = said;
	own_write_refusal(c, name, E_NOT_FOUND, o);
	return OK;
}

/* --- calls --- */

/* One of another system's is the organization's: who asks must be known first. */
static status
look_up(struct mcp_call *c, str name, const struct tool **out)
{
	const struct tool *t = find_tool(c->cx->tools, name);

	if (!t && toolset_names(name) && toolset_recall(c->cx))
		t = find_tool(c->cx->tools, name);
	if (!t && toolset_names(name)) {
		TRY(mcp_identify(c));
		t = find_tool(c->cx->tools, name);
	}
	*out = t;
	return OK;
}

static status
call_tool(struct mcp_call *c, str name, const struct json *input, struct json_out *o)
{
	struct json *body = json_new_object(c->cx->arena), *answer;
	const struct json *proposal, *own;
	const struct tool *t;
	struct json *intent;
	str text;
	status s;

	TRY(look_up(c, name, &t));
	TRY(own_intent_take(c, t, input, &own, &intent));
	json_add_member(
		body, STR("tool"), json_new_string(c->cx->arena, t ? str_of(t->name) : STR("no such tool")));
	json_add_member(body, STR("input"), json_share(c->cx->arena, own));
	if (intent)
		json_add_member(body, STR("intent"), intent);
	s = own_run(c, own_op("tool_call"), body, &text);
	if (s == E_NOT_FOUND)
		return refuse_missing(c, name, o);
	own_intent_issues(c);
	if (s != OK && is_fault(c, s))
		return s;
	if (s != OK) {
		own_write_refusal(c, name, s, o);
		return OK;
	}
	TRY(json_parse(c->cx, text, &answer));
	proposal = json_get(answer, STR("proposal"));
	if (proposal)
		return own_hand_out(c, proposal, o);
	return t && t->provider == TOOL_MCP ? own_write_theirs(c, t, json_get(answer, STR("result")), o)
					    : own_write_value(c, json_get(answer, STR("result")), o);
}

/* Nothing has happened yet that the caller does not know. */
static bool
waits_on(struct mcp_call *c, const struct json *input, const struct json *answer)
{
	str known = message_text(input, STR("known"));
	const struct json *timeout = json_get(input, STR("timeout"));
	int64_t seconds = LIMIT_WAIT_SECONDS - 5;

	if (timeout && !json_to_int(timeout, &seconds))
		return false;
	return str_eq(message_text(answer, STR("state")), known.len ? known : STR("pending")) &&
	       park_more(c, seconds * SECOND_US);
}

static status
call_fixed(struct mcp_call *c, const struct own_fixed *f, const struct json *input, struct json_out *o)
{
	bool waits = strcmp(f->op, "proposal_wait") == 0;
	struct json *answer;
	str text;
	status s;

	c->cx->hasty = waits && (c->answers_to || park_possible(c)); /* then the engine waits, or nobody */
	s = own_run(c, own_op(f->op), input, &text);
	if (s != OK && is_fault(c, s))
		return s;
	if (s != OK) {
		own_write_refusal(c, str_of(f->name), s, o);
		return OK;
	}
	TRY(json_parse(c->cx, text, &answer));
	if (waits && waits_on(c, input, answer))
		return OK;
	return json_get(answer, STR("proposals")) ? own_write_value(c, answer, o)
						  : own_write_proposal(c, answer, o);
}

status
own_call(struct mcp_call *c, str name, const struct json *input, struct json_out *o)
{
	const struct own_fixed *f = own_fixed(name);

	if (c->state.len)
		return own_resume(c, name, o);
	return f ? call_fixed(c, f, input, o) : call_tool(c, name, input, o);
}
