/* SPDX-License-Identifier: Apache-2.0 */
/* The list of tools: those of the registry that the caller may see, and what one does with a proposal (MCP-2). */
#include "core/gate/gate.h"
#include "face/mcp/own.h"
#include "json/bind.h"

/* --- what one does with proposals --- */

static const struct own_fixed fixed[] = {
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

const struct own_fixed *
own_fixed(str name)
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
write_fixed(struct mcp_call *c, const struct own_fixed *f, struct json_out *o)
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
