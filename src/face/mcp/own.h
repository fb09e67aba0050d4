/* SPDX-License-Identifier: Apache-2.0 */
/* own: Countersign's own host, in parts. Private to mcp. */
#ifndef FACE_MCP_OWN_H
#define FACE_MCP_OWN_H

#include "core/op.h"
#include "face/mcp/call.h"

/* The operation of that name; it is there. */
const struct op *own_op(const char *name);

/*
 * Runs an operation as this caller, over mcp, with input as REST's body would be: identified, entitled, recorded
 * and undone by the same way. *out_text is its answer, a JSON object. Errors as op_run, and E_INVALID where the
 * input has not its form.
 */
status own_run(struct mcp_call *c, const struct op *op, const struct json *input, str *out_text) MUST_USE;

/* Where a list goes on, from cursor; fails with RPC_PARAMS. */
status own_cursor(struct mcp_call *c, size_t *out_from) MUST_USE;

/* --- tools.c: the list --- */
/* What one does with a proposal: a tool of ours that the registry does not have. */
struct own_fixed {
	const char *name, *op, *title, *doc;
	bool reads, once; /* readOnlyHint, idempotentHint */
};
const struct own_fixed *own_fixed(str name); /* or NULL */
status own_tools(struct mcp_call *c, struct json_out *o) MUST_USE;
status own_tools_fingerprint(struct mcp_call *c, uint64_t *out) MUST_USE;

/* --- calls.c --- */
status own_call(struct mcp_call *c, str name, const struct json *input, struct json_out *o) MUST_USE;

/* --- intent.c: why, in the agent's own words --- */
struct tool;
/* The tool's input as MCP publishes it: with the argument `intent`, unless it has one of its own. */
status own_intent_schema(struct mcp_call *c, const struct tool *t, const struct json **out) MUST_USE;
/* The input without it, and it as tool_call takes it, or NULL. t NULL: no such tool, which is answered alike. */
status own_intent_take(struct mcp_call *c, const struct tool *t, const struct json *input,
	const struct json **out_input, struct json **out_intent) MUST_USE;
/* Issues of it say where it stood in the arguments. */
void own_intent_issues(struct mcp_call *c);

/* --- results.c: content, structuredContent and isError --- */
status own_write_value(struct mcp_call *c, const struct json *value, struct json_out *o) MUST_USE;
struct tool;
status own_write_theirs(
	struct mcp_call *c, const struct tool *t, const struct json *value, struct json_out *o) MUST_USE;
status own_write_proposal(struct mcp_call *c, const struct json *proposal, struct json_out *o) MUST_USE;
/* The same as the end of a call: denied, expired or unknown is an error then. note: said first; may be empty. */
status
own_write_outcome(struct mcp_call *c, const struct json *proposal, str note, struct json_out *o) MUST_USE;
/* {kind, tool, issues} for what the model can repair, {kind, tool, code, …} for what it should know (PA-7). */
void own_write_refusal(struct mcp_call *c, str name, status s, struct json_out *o);

/* --- waiting.c: a proposal for clients that can wait for it --- */
/* The result of a call that became this proposal: a task, a question, or the proposal itself. */
status own_hand_out(struct mcp_call *c, const struct json *proposal, struct json_out *o) MUST_USE;
/* The call again, with what own_hand_out had it keep: the same proposal, never a second one. */
status own_resume(struct mcp_call *c, str name, struct json_out *o) MUST_USE;
status own_task(struct mcp_call *c, enum mcp_task what, str id, const struct json *answers,
	struct json_out *o) MUST_USE;

/* --- resources.c --- */
#define OWN_PROPOSALS "countersign://proposals/"
status own_resources(struct mcp_call *c, struct json_out *o) MUST_USE;
status own_templates(struct mcp_call *c, struct json_out *o) MUST_USE;
status own_read(struct mcp_call *c, str uri, struct json_out *o) MUST_USE;
/* Ids of proposals that wait, those that begin with typed. */
status own_pending(struct mcp_call *c, str typed, struct json_out *o) MUST_USE;

/* --- prompts.c --- */
status own_prompts(struct mcp_call *c, struct json_out *o) MUST_USE;
status own_prompt(struct mcp_call *c, str name, const struct json *input, struct json_out *o) MUST_USE;

#endif
