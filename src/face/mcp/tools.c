/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools: those of the registry that the caller may see, and what one does with a proposal (MCP-2).
 *
 * A call goes through the gate as REST's tool_call does. What ran is its result; what did not is a proposal,
 * and that is a success (PA-8). What the model can repair or should know is a tool error with its code (PA-7);
 * only what concerns the protocol, the credential or the budget is a JSON-RPC error. A blocked tool is answered
 * as one that does not exist (TL-2).
 */
#include "core/gate/gate.h"
#include "face/mcp/own.h"
#include "json/bind.h"

/* --- what one does with proposals --- */

static const struct fixed {
	const char *name, *op, *title, *doc;
	bool reads, once; /* readOnlyHint, idempotentHint */
} fixed[] = {
	{ "apply_proposal", "proposal_apply", "Apply a proposal",
		"Executes an approved proposal, exactly as it was shown, once. It takes no other arguments.",
		false, true },
	{ "cancel_proposal", "proposal_cancel", "Cancel a proposal",
		"Takes back a proposal of yours that is not wanted any more.", false, true },
	{ "describe_proposal", "proposal_get", "Describe a proposal",
		"Shows a proposal: what would happen, who must agree, its state and its outcome.", true,
		true },
	{ "wait_proposal", "proposal_wait", "Wait for a decision",
		"Waits until a proposal is decided, at most 30 seconds, and shows it. Where it is still "
		"pending, call again.",
		true, true },
	{ "list_proposals", "proposal_list", "List proposals",
		"Lists the proposals that you may see, newest first.", true, true },
};
#define FIXED (sizeof(fixed) / sizeof(fixed[0]))

static const struct fixed *
find_fixed(str name)
{
	for (size_t i = 0; i < FIXED; i++)
		if (str_eq(name, str_of(fixed[i].name)))
			return &fixed[i];
	return NULL;
}

/* --- the list --- */

static void
write_hints(struct json_out *o, bool reads, bool destroys, bool once)
{
	json_out_object(o, "annotations");
	json_out_bool(o, "readOnlyHint", reads);
	json_out_bool(o, "destructiveHint", destroys);
	json_out_bool(o, "idempotentHint", once);
	json_out_bool(o, "openWorldHint", false);
	json_out_end(o);
}

/* What a client can rely on of a proposal; describe_proposal's own operation documents all of it. Every tool that
 * changes something repeats it, so it is short. */
#define A_TEXT "{\"type\":\"string\"}"
static const char proposal_schema[] =
	"{\"type\":\"object\",\"properties\":{\"proposalId\":" A_TEXT ",\"status\":" A_TEXT
	",\"state\":" A_TEXT ",\"summary\":" A_TEXT ",\"viewHash\":" A_TEXT ",\"expiresAt\":" A_TEXT
	",\"approveUrl\":" A_TEXT ",\"card\":{\"type\":\"object\"}},\"required\":[\"proposalId\",\"status\","
	"\"state\",\"summary\",\"approveUrl\"]}";

static void
write_fixed(struct mcp_call *c, const struct fixed *f, struct json_out *o)
{
	const struct op *op = own_op(f->op);

	json_out_object(o, NULL);
	json_out_str(o, "name", str_of(f->name));
	json_out_str(o, "title", str_of(f->title));
	json_out_str(o, "description", str_of(f->doc));
	json_out_value(o, "inputSchema", field_schema(c->cx->arena, op->in));
	if (strcmp(f->op, "proposal_list") == 0)
		json_out_value(o, "outputSchema", field_schema(c->cx->arena, op->out));
	else
		json_out_raw(o, "outputSchema", str_of(proposal_schema));
	write_hints(o, f->reads, false, f->once);
	json_out_end(o);
}

/* What a call of a tool that changes something gives: a proposal, or where it ran at once its output. */
static void
write_output(const struct tool *t, struct json_out *o)
{
	if (!t->out_schema) {
		json_out_raw(o, "outputSchema", str_of(proposal_schema));
		return;
	}
	json_out_object(o, "outputSchema");
	json_out_str(o, "type", STR("object"));
	json_out_array(o, "anyOf");
	json_out_raw(o, NULL, str_of(t->out_schema));
	json_out_raw(o, NULL, str_of(proposal_schema));
	json_out_end(o);
	json_out_end(o);
}

static status
write_tool(struct mcp_call *c, const struct tool *t, struct json_out *o)
{
	struct json *schema = NULL;

	if (t->in)
		schema = field_schema(c->cx->arena, t->in);
	else
		TRY(json_parse(c->cx, str_of(t->in_schema), &schema));
	json_out_object(o, NULL);
	json_out_str(o, "name", tool_model_name(c->cx->arena, t));
	json_out_str(o, "title", str_of(t->title));
	json_out_str(o, "description", str_of(t->doc));
	json_out_value(o, "inputSchema", schema);
	if (t->effect != OP_READ || t->out_schema)
		write_output(t, o);
	write_hints(o, t->effect == OP_READ, t->effect == OP_DESTRUCTIVE, t->effect == OP_READ);
	json_out_end(o);
	return OK;
}

struct listing {
	struct mcp_call *call;
	struct json_out *out; /* NULL: only the fingerprint */
	size_t from, seen;
	uint64_t fingerprint;
	bool more;
};

static bool
is_on_page(struct listing *l)
{
	size_t n = l->seen++;

	l->more = l->more || n >= l->from + LIMIT_MCP_PAGE;
	return l->out && n >= l->from && n < l->from + LIMIT_MCP_PAGE;
}

static status
list_registry(struct ctx *cx, struct listing *l)
{
	struct permission_snapshot snapshot;

	TRY(permission_load(cx, cx->caller, &snapshot));
	for (size_t i = 0; i < registry_count(cx->tools); i++) {
		const struct tool *t = registry_at(cx->tools, i);

		if (!gate_lists(cx->caller, &snapshot, t))
			continue;
		l->fingerprint = l->fingerprint * 31 + message_hash(str_of(t->name));
		if (is_on_page(l))
			TRY(write_tool(l->call, t, l->out));
	}
	return OK;
}

static status
list(struct ctx *cx, void *arg)
{
	struct listing *l = arg;

	for (size_t i = 0; i < FIXED; i++)
		if (is_on_page(l))
			write_fixed(l->call, &fixed[i], l->out);
	return list_registry(cx, l);
}

status
own_tools(struct mcp_call *c, struct json_out *o)
{
	struct listing l = { .call = c, .out = o };

	TRY(own_cursor(c, &l.from));
	json_out_array(o, "tools");
	TRY(mcp_enter(c, list, &l));
	json_out_end(o);
	if (l.from && l.from >= l.seen)
		return rpc_fail(c, RPC_PARAMS, 200, "this cursor is not one of ours");
	if (l.more)
		json_out_str(
			o, "nextCursor", arena_printf(c->cx->arena, "after-%zu", l.from + LIMIT_MCP_PAGE));
	return OK;
}

status
own_tools_fingerprint(struct mcp_call *c, uint64_t *out)
{
	struct listing l = { .call = c };

	TRY(mcp_enter(c, list, &l));
	*out = l.fingerprint;
	return OK;
}

/* --- results --- */

static void
write_text(struct json_out *o, str text)
{
	json_out_array(o, "content");
	json_out_object(o, NULL);
	json_out_str(o, "type", STR("text"));
	json_out_str(o, "text", text);
	json_out_end(o);
	json_out_end(o);
}

static status
write_value(struct mcp_call *c, const struct json *value, struct json_out *o)
{
	str text;

	TRY(json_text(c->cx, value, &text));
	write_text(o, text);
	if (value->type == JSON_OBJECT || c->modern) /* of the legacy era: objects only */
		json_out_raw(o, "structuredContent", text);
	return OK;
}

/* What a model says to a person about it, whose client shows only text. */
static str
describe(struct mcp_call *c, const struct json *p)
{
	str id = message_text(p, STR("proposalId")), state = message_text(p, STR("state"));
	struct buf b;

	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	buf_printf(&b, "%.*s\nProposal %.*s is %.*s", STR_ARG(message_text(p, STR("summary"))), STR_ARG(id),
		STR_ARG(message_text(p, STR("status"))));
	if (str_eq(state, STR("pending")))
		buf_printf(&b,
			": nothing has been changed yet. A person decides at\n%.*s\nbefore %.*s. Call "
			"wait_proposal "
			"with {\"id\":\"%.*s\"} until it is approved, then apply_proposal with the same.",
			STR_ARG(message_text(p, STR("approveUrl"))),
			STR_ARG(message_text(p, STR("expiresAt"))), STR_ARG(id));
	else if (str_eq(state, STR("approved")))
		buf_printf(&b,
			": nothing has been changed yet. Call apply_proposal with {\"id\":\"%.*s\"} to "
			"execute it.",
			STR_ARG(id));
	else
		buf_add(&b, STR("."));
	return buf_str(&b);
}

static status
write_proposal(struct mcp_call *c, const struct json *p, struct json_out *o)
{
	const struct json *result = json_get(p, STR("result"));
	str text = describe(c, p), more;

	if (result) {
		TRY(json_text(c->cx, result, &more));
		text = arena_printf(c->cx->arena, "%.*s\n%.*s", STR_ARG(text), STR_ARG(more));
	}
	write_text(o, text);
	TRY(json_text(c->cx, p, &more));
	json_out_raw(o, "structuredContent", more);
	if (str_eq(message_text(p, STR("state")), STR("failed")))
		json_out_bool(o, "isError", true);
	return OK;
}

/* --- refusals --- */

static void
write_issues(const struct error *e, struct json_out *o)
{
	json_out_array(o, "issues");
	for (size_t i = 0; i < e->issue_count; i++) {
		json_out_object(o, NULL);
		json_out_str(o, "path", e->issues[i].path);
		json_out_str(o, "message", e->issues[i].message);
		json_out_end(o);
	}
	json_out_end(o);
}

/* {kind, tool, issues} for what the model can repair, {kind, tool, code, …} for what it should know (PA-7). */
static void
write_refusal(struct mcp_call *c, str name, status s, struct json_out *o)
{
	const struct error *e = &c->cx->error;
	struct json_out inner;
	struct buf b;

	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&inner, &b);
	json_out_object(&inner, NULL);
	json_out_str(&inner, "kind", s == E_INVALID ? STR("feedback") : STR("error"));
	json_out_str(&inner, "tool", name);
	json_out_str(&inner, "code", str_of(status_info(s)->code));
	json_out_str(&inner, "message", ctx_message(c->cx, s));
	if (s == E_INVALID)
		write_issues(e, &inner);
	if (e->code == s && e->details.len)
		json_out_raw(&inner, "details", e->details);
	json_out_end(&inner);
	write_text(o, buf_str(&b));
	json_out_bool(o, "isError", true);
}

/* Is it the protocol's, the credential's or the budget's, rather than the tool's? */
static bool
is_fault(const struct mcp_call *c, status s)
{
	return c->code || s == E_UNAUTHENTICATED || s == E_RATE_LIMITED || status_info(s)->http >= 500;
}

struct hiding {
	const struct tool *tool;
	bool hidden;
};

static status
look_for(struct ctx *cx, void *arg)
{
	struct hiding *h = arg;
	struct permission_snapshot snapshot;
	bool stored;

	TRY(permission_load(cx, cx->caller, &snapshot)); /* also where there is no tool: both take as long */
	h->hidden = !h->tool || permission_tier(&snapshot, h->tool, &stored) == TIER_BLOCKED;
	return OK;
}

/* Not found: is it the tool, or what the tool looked for? */
static status
refuse_missing(struct mcp_call *c, str name, const struct tool *t, struct json_out *o)
{
	struct error said = c->cx->error;
	struct hiding h = { .tool = t };

	TRY(mcp_enter(c, look_for, &h));
	if (h.hidden) {
		c->code = RPC_PARAMS;
		return fail(c->cx, E_NOT_FOUND, "there is no tool called \"%.*s\"", STR_ARG(name));
	}
	c->cx->error = said;
	write_refusal(c, name, E_NOT_FOUND, o);
	return OK;
}

/* --- calls --- */

static const struct tool *
find_tool(const struct registry *tools, str name)
{
	const struct tool *t = tool_of_model(tools, name);

	return t ? t : tool_find(tools, name);
}

static status
call_tool(struct mcp_call *c, str name, const struct json *input, struct json_out *o)
{
	const struct tool *t = find_tool(c->cx->tools, name);
	struct json *body = json_new_object(c->cx->arena), *answer;
	const struct json *proposal;
	str text;
	status s;

	json_add_member(
		body, STR("tool"), json_new_string(c->cx->arena, t ? str_of(t->name) : STR("no such tool")));
	json_add_member(body, STR("input"), json_share(c->cx->arena, input));
	s = own_run(c, own_op("tool_call"), body, &text);
	if (s == E_NOT_FOUND)
		return refuse_missing(c, name, t, o);
	if (s != OK && is_fault(c, s))
		return s;
	if (s != OK) {
		write_refusal(c, name, s, o);
		return OK;
	}
	TRY(json_parse(c->cx, text, &answer));
	proposal = json_get(answer, STR("proposal"));
	return proposal ? write_proposal(c, proposal, o) : write_value(c, json_get(answer, STR("result")), o);
}

static status
call_fixed(struct mcp_call *c, const struct fixed *f, const struct json *input, struct json_out *o)
{
	struct json *answer;
	str text;
	status s = own_run(c, own_op(f->op), input, &text);

	if (s != OK && is_fault(c, s))
		return s;
	if (s != OK) {
		write_refusal(c, str_of(f->name), s, o);
		return OK;
	}
	TRY(json_parse(c->cx, text, &answer));
	return json_get(answer, STR("proposals")) ? write_value(c, answer, o) : write_proposal(c, answer, o);
}

status
own_call(struct mcp_call *c, str name, const struct json *input, struct json_out *o)
{
	const struct fixed *f = find_fixed(name);

	return f ? call_fixed(c, f, input, o) : call_tool(c, name, input, o);
}
