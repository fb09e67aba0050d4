/* SPDX-License-Identifier: Apache-2.0 */
/* What became of what is unknown (EX-4): a probe asks the other system, and where it does not say, a person decides.
 * Nothing is sent again. */
#include "core/proposal/row.h"
#include "core/proposal/run/send.h"
#include "core/proposal/sight.h"
#include "core/proposal/wire.h"
#include "core/id.h"
#include "db/db.h"

#define REASON_BYTES 2000

/* --- who may say so --- */

/* A tool may be gone since: what it was called says whose it was. */
static str
rule_of(struct ctx *cx, const struct proposal *p)
{
	const struct tool *t = tool_find(cx->tools, p->tool);

	if (t)
		return row_approve_rule(cx->arena, t);
	return str_starts(p->tool, STR("mcp__")) ? STR("mcp.tool.approve") : STR("webhook.tool.approve");
}

static status
check_person(struct ctx *cx, const struct proposal *p)
{
	const char *const needed[] = { rule_of(cx, p).ptr, NULL };

	if (cx->caller->kind != PRINCIPAL_USER || cx->caller->via_token)
		return fail(cx, E_FORBIDDEN,
			"Forbidden: settle (a person who is signed in says what became of it)");
	return caller_require(cx, cx->caller, "settle", needed);
}

static status
find(struct ctx *cx, str id, struct proposal *out)
{
	TRY(row_lock(cx, cx->caller->org_id, id, out));
	TRY(sight_require(cx, out));
	TRY(check_person(cx, out));
	if (out->state == PROPOSAL_UNKNOWN)
		return OK;
	return fail(cx, E_CONFLICT, "it is %.*s: only what is unknown is settled", STR_ARG(out->state_name));
}

/* --- settle --- */

static const char *const outcomes[] = { "applied", "failed", NULL };

struct settle_in {
	str id, outcome, reason;
};
static const struct field settle_in[] = {
	FIELD_TEXT(struct settle_in, id, .need = true, .min = 1, .max = 64, .doc = "Which proposal."),
	FIELD_TEXT(struct settle_in, outcome, .need = true, .choices = outcomes,
		.doc = "What you have found out: it was done (applied), or it was not (failed)."),
	FIELD_TEXT(struct settle_in, reason, .need = true, .min = 1, .max = REASON_BYTES,
		.doc = "How you know, at most 2000 bytes."),
	FIELD_END,
};

static status
run_settle(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct settle_in *i = in;
	struct proposal p;

	TRY(find(cx, i->id, &p));
	TRY(attempt_settle(cx, &p, str_eq(i->outcome, STR("applied")), i->reason));
	return wire_whole(cx, &p, (str){ 0 }, out);
}

/* --- probe --- */

struct probing {
	struct sending *sending;
	struct outside_answer answer;
	struct proposal p;
	struct json_out *out;
	str id;
};

/* The tool that an admin has named as the one to ask: the option `probe`. */
static status
probe_tool(struct ctx *cx, const struct proposal *p, const struct tool **out)
{
	const struct tool *t = tool_find(cx->tools, p->tool);
	const struct json *name = NULL;
	struct json *options;

	if (t && t->outside && t->outside->options.len) {
		TRY(json_parse(cx, t->outside->options, &options));
		name = json_get(options, STR("probe"));
	}
	*out = name && name->type == JSON_STRING ? tool_find(cx->tools, name->text) : NULL;
	if (!*out || (*out)->effect != OP_READ || !(*out)->outside)
		return fail(cx, E_CONFLICT,
			"%.*s has no tool that could tell; find out by other means, and settle it",
			STR_ARG(p->tool));
	return OK;
}

/* Of what was sent, what the probe takes: the members that its schema names, and the key by which it was sent. */
static status
probe_input(struct ctx *cx, const struct proposal *p, const struct tool *probe, struct json **out)
{
	struct json *payload, *schema, *input = json_new_object(cx->arena);
	const struct json *properties;

	TRY(json_parse(cx, p->payload, &payload));
	TRY(json_parse(cx, tool_in_text(cx->tools, probe), &schema));
	properties = json_get(schema, STR("properties"));
	for (const struct json *takes = properties ? properties->child : NULL; takes; takes = takes->next) {
		const struct json *has = json_get(payload, takes->key);

		if (has)
			json_add_member(input, takes->key, json_share(cx->arena, has));
		else if (str_eq(takes->key, STR("idempotencyKey")))
			json_add_member(input, takes->key, json_new_string(cx->arena, p->id));
	}
	*out = input;
	return OK;
}

/* What it says of this proposal: {idempotencyKey, outcome}, which only somebody writes who was told what we ask. */
static enum outside_end
read_verdict(const struct json *said, str key)
{
	const struct json *of = said ? json_get(said, STR("idempotencyKey")) : NULL,
			  *outcome = said ? json_get(said, STR("outcome")) : NULL;

	if (!of || of->type != JSON_STRING || !str_eq(of->text, key) || !outcome ||
		outcome->type != JSON_STRING)
		return OUTSIDE_LOST;
	if (str_eq(outcome->text, STR("done")))
		return OUTSIDE_DONE;
	return str_eq(outcome->text, STR("refused")) ? OUTSIDE_REFUSED : OUTSIDE_LOST;
}

/* Its whole answer is that, or its member `result` (webhooks), or its `structuredContent` (MCP). OUTSIDE_LOST: it does not
 * say, so it stays unknown. */
static enum outside_end
verdict(struct ctx *cx, const struct probing *b)
{
	static const char *const places[] = { "result", "structuredContent" };
	enum outside_end found;
	struct json *answer;

	if (b->answer.end != OUTSIDE_DONE || json_parse(cx, b->answer.result, &answer) != OK) {
		ctx_clear(cx);
		return OUTSIDE_LOST;
	}
	found = read_verdict(answer, b->p.id);
	for (size_t i = 0; i < 2 && found == OUTSIDE_LOST; i++)
		found = read_verdict(json_get(answer, str_of(places[i])), b->p.id);
	return found;
}

static status
settle_by(struct ctx *cx, struct probing *b, enum outside_end said)
{
	bool done = said == OUTSIDE_DONE;

	if (said == OUTSIDE_LOST || b->p.state != PROPOSAL_UNKNOWN) /* a person may have been faster */
		return OK;
	return attempt_settle(cx, &b->p, done,
		arena_printf(cx->arena, "%s was asked, and answered: %s", b->sending->call.tool->name,
			done ? "done" : "refused"));
}

static status
keep_answer(struct ctx *cx, void *arg)
{
	struct probing *b = arg;
	bool done = b->answer.end == OUTSIDE_DONE;
	enum outside_end said;
	str id;

	TRY(row_lock(cx, b->sending->call.org_id, b->id, &b->p));
	cx->caller = &b->sending->caller;
	TRY(gate_record(cx, &b->sending->pass, done ? "executed" : "failed", (str){ 0 }, &id));
	said = verdict(cx, b);
	TRY(attempt_keep_probe(cx, &b->p, &b->answer, said));
	return settle_by(cx, b, said);
}

static status
show(struct ctx *cx, void *arg)
{
	struct probing *b = arg;

	cx->caller = &b->sending->caller;
	return wire_whole(cx, &b->p, (str){ 0 }, b->out);
}

static status
probe_outside(struct ctx *cx, void *arg, struct json_out *out)
{
	struct probing *b = arg;
	status s;

	b->out = out;
	send_once(cx, &b->sending->call, &b->answer);
	s = tx_run(cx, keep_answer, b);
	if (s == OK)
		s = db_read(cx, show, b);
	cx->caller = NULL;
	return s;
}

struct id_in {
	str id;
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .min = 1, .max = 64, .doc = "Which proposal."),
	FIELD_END,
};

static status
run_probe(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct id_in *i = in;
	struct probing *b = ARENA_NEW(cx->arena, struct probing);
	const struct tool *probe;
	struct gate_pass pass;
	struct json *input;
	int64_t now_us;

	*b = (struct probing){ .id = i->id };
	TRY(find(cx, i->id, &b->p));
	TRY(probe_tool(cx, &b->p, &probe));
	TRY(probe_input(cx, &b->p, probe, &input));
	TRY(gate_enter(cx, str_of(probe->name), input, &pass));
	TRY(send_possible(cx, probe));
	TRY(tx_now_us(cx, &now_us));
	pass.call_id = id_at(cx->arena, now_us);
	b->sending = send_read(cx, &pass, now_us);
	cx->later = ARENA_NEW(cx->arena, struct later);
	*cx->later = (struct later){ .fn = probe_outside, .arg = b };
	return wire_whole(cx, &b->p, (str){ 0 }, out);
}

#define SETTLE_ERRORS                                                                                        \
	OP_ERRORS(E_SCOPE, E_NOT_FOUND, E_CONFLICT, E_TAMPERED, E_TOO_LARGE, E_RATE_LIMITED,                 \
		E_COMMIT_UNKNOWN, E_UNAVAILABLE, E_DISK_FULL, E_READ_ONLY)

const struct op settle_ops[] = {
	{ .name = "proposal_settle",
		.method = "POST",
		.path = "/api/v1/proposals/{id}/settle",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Says what became of a proposal whose outcome is unknown, and how one knows. Only a "
		       "person who is "
		       "signed in and may approve it; nothing is sent.",
		.in = settle_in,
		.in_size = sizeof(struct settle_in),
		.out = wire_out,
		.errors = SETTLE_ERRORS,
		.run = run_settle },
	{ .name = "proposal_probe",
		.method = "POST",
		.path = "/api/v1/proposals/{id}/probe",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Asks the other system what became of a proposal whose outcome is unknown, by the "
		       "tool that an admin has named for it. Its answer is kept as evidence; where it is "
		       "{idempotencyKey, outcome: done | refused} of this proposal, it settles it.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = wire_out,
		.errors = SETTLE_ERRORS,
		.run = run_probe },
	{ 0 },
};
