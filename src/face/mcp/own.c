/* SPDX-License-Identifier: Apache-2.0 */
#include "face/mcp/own.h"

#include "base/check.h"
#include "core/audit/audit.h"
#include "core/proposal/proposal.h"
#include "json/bind.h"

const struct op *
own_op(const char *name)
{
	static const struct op *const tables[] = { proposal_ops, call_ops, audit_ops };
	const struct op *found = NULL;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		OP_EACH (op, tables[i])
			if (strcmp(op->name, name) == 0)
				found = op;
	CHECK(found != NULL);
	return found;
}

/* --- an operation, as this caller, in this session --- */

struct doing {
	struct mcp_call *call;
	const struct op *op;
	void *in;
};

static status
run(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct doing *d = in;

	TRY(mcp_bind(d->call));
	return d->op->run(cx, d->in, out);
}

static status
refused(struct ctx *cx, const void *in, status s)
{
	const struct doing *d = in;

	return d->op->refused(cx, d->in, s);
}

static bool
wants_read_path(struct ctx *cx, const void *in)
{
	const struct doing *d = in;

	return d->op->wants_read_path(cx, d->in);
}

static status
read_path(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct doing *d = in;

	TRY(mcp_bind(d->call));
	return d->op->read_path(cx, d->in, out);
}

static bool
wants_prepare(struct ctx *cx, const void *in)
{
	const struct doing *d = in;

	return !d->op->wants_prepare || d->op->wants_prepare(cx, d->in);
}

static status
prepare(struct ctx *cx, void *in)
{
	const struct doing *d = in;

	return d->op->prepare(cx, d->in);
}

static status
write(struct mcp_call *c, const struct op *op, void *in, str *out_text)
{
	struct doing d = { c, op, in };
	struct op as = *op;
	struct json_out o;
	struct buf b;

	as.run = run;
	as.refused = op->refused ? refused : NULL;
	as.prepare = op->prepare ? prepare : NULL;
	as.wants_prepare = wants_prepare;
	as.read_path = op->read_path ? read_path : NULL;
	as.wants_read_path = op->read_path ? wants_read_path : NULL;
	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	TRY(op_run(c->cx, &as, &d, &o));
	json_out_end(&o);
	return buf_finish(&b, out_text);
}

status
own_run(struct mcp_call *c, const struct op *op, const struct json *input, str *out_text)
{
	void *in = arena_alloc(c->cx->arena, op->in_size);
	status s = json_bind(c->cx, input, op->in, op->in_size, in);

	return s == OK ? write(c, op, in, out_text) : op_refused(c->cx, op, NULL, s);
}

/* --- pages --- */

status
own_cursor(struct mcp_call *c, size_t *out_from)
{
	const struct json *cursor = message_param(c, STR("cursor"));
	int64_t n = 0;

	if (cursor && (cursor->type != JSON_STRING || !str_starts(cursor->text, STR("after-")) ||
			      !str_to_int(str_skip(cursor->text, 6), &n) || n < 1))
		return rpc_fail(c, RPC_PARAMS, 200, "this cursor is not one of ours");
	*out_from = (size_t)n;
	return OK;
}

/* Of a list that is one page. */
static status
no_cursor(struct mcp_call *c)
{
	size_t from;

	TRY(own_cursor(c, &from));
	return from ? rpc_fail(c, RPC_PARAMS, 200, "this cursor is not one of ours") : OK;
}

/* --- the host --- */

static status
list(struct mcp_call *c, enum mcp_list what, struct json_out *o)
{
	switch (what) {
	case MCP_TOOLS:
		return own_tools(c, o);
	case MCP_PROMPTS:
		TRY(no_cursor(c));
		return own_prompts(c, o);
	case MCP_RESOURCES:
		return own_resources(c, o);
	case MCP_TEMPLATES:
	default:
		TRY(no_cursor(c));
		return own_templates(c, o);
	}
}

static status
complete(struct mcp_call *c, const struct json *ref, str argument, str typed, struct json_out *o)
{
	(void)ref;
	return own_pending(c, str_eq(argument, STR("id")) ? typed : STR("-"), o);
}

static status
one(struct ctx *cx, void *arg)
{
	(void)cx;
	*(uint64_t *)arg = 1;
	return OK;
}

/* Prompts never change. Which proposals there are changes all the time: who wants to know reads the list. */
static status
fingerprint(struct mcp_call *c, enum mcp_list what, uint64_t *out)
{
	return what == MCP_TOOLS ? own_tools_fingerprint(c, out) : mcp_enter(c, one, out);
}

const struct mcp_host mcp_own_host = {
	.instructions =
		"Countersign: you propose, people and policy decide. Reads run at once. A tool that changes "
		"something answers with a proposal whose status is awaiting_operator: nothing has happened "
		"yet. "
		"Show the person its approveUrl, call wait_proposal until it is approved, then "
		"apply_proposal, unless it says that a person applies it. Say why in `intent`. "
		"You cannot approve anything yourself. When in doubt read countersign://docs/concepts.",
	.scope = "private",
	.ttl_ms = 5000,
	.list = list,
	.call = own_call,
	.prompt = own_prompt,
	.read = own_read,
	.complete = complete,
	.fingerprint = fingerprint,
	.task = own_task,
};
