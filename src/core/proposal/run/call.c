/* SPDX-License-Identifier: Apache-2.0 */
/* The call of a tool as an operation: a read runs, at once or outside, and anything else becomes a proposal (TL-5). */
#include "base/limits.h"
#include "core/gate/gate.h"
#include "core/proposal/handler.h"
#include "core/proposal/run/part.h"
#include "core/proposal/run/send.h"
#include "core/proposal/wire.h"
#include "db/db.h"

struct call_in {
	str tool;
	struct json *input, *intent;
	const struct json *survey;
};
static const struct field call_in[] = {
	FIELD_TEXT(struct call_in, tool, .need = true, .min = 1, .max = LIMIT_TOOL_NAME, .doc = "Its name."),
	FIELD_JSON(struct call_in, input, .need = true, .doc = "What the tool takes."),
	FIELD_JSON(struct call_in, intent,
		.doc = "{summary?, reasoning?}: why, in your own words, for who decides where it becomes a "
		       "proposal."),
	FIELD_END,
};

struct call_out {
	str tool_call_id, status;
	struct json *result, *proposal;
};
static const struct field call_out[] = {
	FIELD_TEXT(struct call_out, tool_call_id, .need = true, .doc = "The call."),
	FIELD_TEXT(struct call_out, status, .need = true,
		.doc = "executed; awaiting_operator where it became a proposal that people decide; else that "
		       "proposal's state."),
	FIELD_JSON(struct call_out, result, .doc = "What the tool gave, where it ran."),
	FIELD_JSON(struct call_out, proposal, .doc = "The proposal that it became, where it did not."),
	FIELD_END,
};

/* --- a read of somebody else's: it runs when the transaction is over --- */

struct reading {
	struct sending *sending;
	struct outside_answer answer;
};

static const char *
state_of(const struct reading *r)
{
	return r->answer.end == OUTSIDE_DONE ? "executed" : "failed";
}

static status
record_now(struct ctx *cx, void *arg)
{
	struct reading *r = arg;
	status s;
	str id;

	cx->caller = &r->sending->caller;
	s = gate_record(cx, &r->sending->pass, state_of(r), (str){ 0 }, &id);
	cx->caller = NULL;
	return s;
}

static status
record_read(struct ctx *cx, struct reading *r)
{
	const struct sending *s = r->sending;

	return gate_record_behind(cx, &s->caller, &s->pass, state_of(r), s->called_at)
		       ? OK
		       : tx_run(cx, record_now, r);
}

/* What they say is handed on as it came; where it is no JSON, as a text. */
static void
write_result(struct ctx *cx, const struct outside_answer *a, struct json_out *out)
{
	struct json *value;

	if (!a->result.len)
		json_out_null(out, "result");
	else if (json_parse(cx, a->result, &value) == OK)
		json_out_raw(out, "result", a->result);
	else
		json_out_str(out, "result", a->result);
	ctx_clear(cx);
}

static status
read_outside(struct ctx *cx, void *arg, struct json_out *out)
{
	struct reading r = { .sending = arg };
	const struct outside_call *call = &r.sending->call;

	send_once(cx, call, &r.answer);
	TRY(record_read(cx, &r));
	if (r.answer.end != OUTSIDE_DONE)
		return fail(cx, E_OUTSIDE, "%.*s did not answer %.*s: %.*s",
			STR_ARG(call->tool->outside->source), STR_ARG(call->tool->outside->remote),
			STR_ARG(r.answer.why));
	json_out_str(out, "toolCallId", call->command_id);
	json_out_str(out, "status", STR("executed"));
	write_result(cx, &r.answer, out);
	return OK;
}

static void
read_later(struct ctx *cx, struct sending *s)
{
	cx->later = ARENA_NEW(cx->arena, struct later);
	*cx->later = (struct later){ .fn = read_outside, .arg = s };
}

static status
out_called(struct ctx *cx, struct proposal_called *c, struct json_out *out)
{
	struct part_answer how = { .token = c->token, .called = true, .may_refuse = true };

	if (c->ran) {
		json_out_str(out, "toolCallId", c->tool_call_id);
		json_out_str(out, "status", STR("executed"));
		json_out_value(out, "result", c->value);
		return OK;
	}
	if (c->sending) {
		read_later(cx, c->sending);
		return OK;
	}
	if (part_runs_at_once(cx, &c->p))
		TRY(part_apply(cx, &c->p, &how.why));
	return part_answer(cx, &c->p, &how, out);
}

/* In a write transaction (proposal_call), or in a read (proposal_call_in_read). */
static status
call_by(struct ctx *cx, const struct call_in *i,
	status (*call)(struct ctx *cx, const struct propose_in *in, struct proposal_called *out),
	struct json_out *out)
{
	struct propose_in asked = { .tool = i->tool,
		.input = i->input,
		.idempotency_key = cx->idempotency_key,
		.survey = i->survey };
	struct proposal_called called = { 0 };

	TRY(wire_read_intent(cx, i->intent, &asked));
	TRY(call(cx, &asked, &called));
	return out_called(cx, &called, out);
}

static status
run_call(struct ctx *cx, const void *in, struct json_out *out)
{
	return call_by(cx, in, proposal_call, out);
}

static status
read_path(struct ctx *cx, const void *in, struct json_out *out)
{
	return call_by(cx, in, proposal_call_in_read, out);
}

/* For a tool that may be a read, of a caller whose budget has a call at hand (core/gate/quick/lease). */
static bool
wants_read_path(struct ctx *cx, const void *in)
{
	const struct tool *t = gate_tool(cx, ((const struct call_in *)in)->tool);

	return (!t || t->effect == OP_READ) && gate_ready(cx);
}

static bool
wants_call_survey(struct ctx *cx, const void *in)
{
	return handler_surveys(cx, ((const struct call_in *)in)->tool);
}

static status
survey_call(struct ctx *cx, void *in)
{
	struct call_in *i = in;

	i->survey = handler_survey(cx, i->tool, i->input);
	return OK;
}

static status
refused_call(struct ctx *cx, const void *in, status s)
{
	const struct call_in *i = in;

	(void)s;
	return i ? gate_keep_failed(cx, i->tool, i->input) : gate_spend(cx);
}

const struct op call_ops[] = {
	{ .name = "tool_call",
		.method = "POST",
		.path = "/api/v1/tools/call",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Calls a tool. A read runs at once and leaves a row; anything else becomes a "
		       "proposal.",
		.in = call_in,
		.in_size = sizeof(struct call_in),
		.out = call_out,
		.errors = OP_ERRORS(E_SCOPE, E_NOT_FOUND, E_CONFLICT, E_EXISTS, E_KEY_COLLISION, E_IN_USE,
			E_REFERENCED, E_STEP_UP, E_IDEMPOTENCY, E_TAMPERED, E_TOO_LARGE, E_RATE_LIMITED,
			E_OUTSIDE, E_COMMIT_UNKNOWN, E_UNAVAILABLE, E_NOT_CACHED, E_DISK_FULL, E_READ_ONLY),
		.refused = refused_call,
		.wants_read_path = wants_read_path,
		.read_path = read_path,
		.wants_prepare = wants_call_survey,
		.prepare = survey_call,
		.run = run_call },
	{ 0 },
};
