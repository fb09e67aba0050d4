/* SPDX-License-Identifier: Apache-2.0 */
/* Proposals as operations. What is decided is decided in propose.c, decide.c and apply.c. */
#include "base/clock.h"
#include "base/limits.h"
#include "core/audit/audit.h"
#include "core/event.h"
#include "core/gate/gate.h"
#include "core/id.h"
#include "core/proposal/handler.h"
#include "core/proposal/row.h"
#include "core/proposal/run/part.h"
#include "core/proposal/sight.h"
#include "core/proposal/wire.h"
#include "core/slot.h"
#include "db/db.h"

#define REASON_CHARACTERS 2000
#define REASON_BYTES	  (INT64_C(4) * REASON_CHARACTERS)
#define PAGE		  50
#define PAGE_MOST	  200

#define ID_FIELD(st) FIELD_TEXT(st, id, .need = true, .min = 1, .max = 64, .doc = "Which proposal.")

/* --- what is kept of a refusal --- */

/* Attempts that smell of deceit are on record (a refusal leaves nothing else behind). */
static status
record_refusal(struct ctx *cx, str id, status s)
{
	struct audit_entry e = { .action = AUDIT_REFUSED,
		.resource_type = STR("proposal"),
		.resource_id = id,
		.resource_key = id,
		.proposal_id = id,
		.reason = str_of(status_info(s)->code),
		.outcome = STR("refused") };

	return audit_add(cx, &e, NULL);
}

struct id_in {
	str id;
};
static const struct field id_in[] = { ID_FIELD(struct id_in), FIELD_END };

/* Of a decision: everything but "not there", "not yours" and "too late", which are everyday life. */
static status
refused_decision(struct ctx *cx, const void *in, status s)
{
	const struct id_in *i = in; /* every decision's input begins with the id */
	bool daily = s == E_NOT_FOUND || s == E_GONE || s == E_APPROVAL || s == E_DRIFT;

	if (daily)
		return OK;
	return record_refusal(cx, i ? i->id : (str){ 0 }, s);
}

static status
refused_read(struct ctx *cx, const void *in, status s)
{
	const struct id_in *i = in;

	return s == E_TAMPERED ? record_refusal(cx, i ? i->id : (str){ 0 }, s) : OK;
}

static status
refused_propose(struct ctx *cx, const void *in, status s)
{
	(void)in;
	TRY(gate_spend(cx)); /* a refused call is a call */
	return s == E_IDEMPOTENCY || s == E_TAMPERED ? record_refusal(cx, (str){ 0 }, s) : OK;
}

/* --- propose --- */

struct propose_body {
	struct json *body;
	const struct json *survey;
};
static const struct field propose_body[] = {
	FIELD_JSON(struct propose_body, body, .need = true,
		.doc = "{tool, input, intent?, idempotencyKey?, expiresInSeconds?, riskLevel?, compliance?, "
		       "provenance?}; {envId, kind, resourceKey, diff, spotCheck?, reason?, "
		       "expiresInSeconds?, "
		       "idempotencyKey?, riskLevel?, compliance?, provenance?}; or the canonical proposal "
		       "document."),
	FIELD_END,
};

status
proposal_answer(struct ctx *cx, const struct propose_in *in, struct json_out *out)
{
	struct part_answer how = { .may_refuse = true };
	struct proposal p;

	TRY(proposal_propose(cx, in, &p, &how.token));
	if (part_runs_at_once(cx, &p))
		TRY(part_apply(cx, &p, &how.why));
	ctx_header(cx, "Location", arena_printf(cx->arena, "/api/v1/proposals/%.*s", STR_ARG(p.id)));
	return part_answer(cx, &p, &how, out);
}

static status
run_propose(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct propose_body *b = in;
	struct propose_in asked;

	TRY(wire_read(cx, b->body, &asked));
	asked.survey = b->survey;
	return proposal_answer(cx, &asked, out);
}

static bool
wants_survey(struct ctx *cx, const void *in)
{
	const struct propose_body *b = in;
	const struct json *name = json_get(b->body, STR("kind"));

	name = name ? name : json_get(b->body, STR("tool"));
	return name && handler_surveys(cx, name->text);
}

static status
survey_propose(struct ctx *cx, void *in)
{
	struct propose_body *b = in;
	struct propose_in asked;

	if (wire_read(cx, b->body, &asked) == OK)
		b->survey = handler_survey(cx, asked.tool, asked.input);
	ctx_clear(cx);
	return OK;
}

struct again_in {
	str id;
	const struct json *survey;
};
static const struct field again_in[] = { ID_FIELD(struct again_in), FIELD_END };

static status
run_again(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct again_in *i = in;
	struct propose_in asked;

	TRY(proposal_again(cx, i->id, &asked));
	asked.survey = i->survey;
	return proposal_answer(cx, &asked, out);
}

struct finding {
	str id;
	struct propose_in asked;
};

static status
find_again(struct ctx *cx, void *arg)
{
	struct finding *f = arg;

	return proposal_again(cx, f->id, &f->asked);
}

static status
survey_again(struct ctx *cx, void *in)
{
	struct again_in *i = in;
	struct finding f = { .id = i->id };

	if (db_read(cx, find_again, &f) == OK)
		i->survey = handler_survey(cx, f.asked.tool, f.asked.input);
	ctx_clear(cx);
	return OK;
}

/* --- look --- */

static status
run_get(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct id_in *i = in;
	struct proposal p;

	TRY(row_get(cx, cx->caller->org_id, i->id, &p));
	TRY(sight_require(cx, &p));
	return wire_whole(cx, &p, (str){ 0 }, out);
}

static const char *const states[] = {
#define X(name, text) text,
	PROPOSAL_STATES(X)
#undef X
		NULL
};

struct list_in {
	str status, tool, proposer, cursor;
	int64_t limit;
};
static const struct field list_in[] = {
	FIELD_TEXT(struct list_in, status, .choices = states, .doc = "Only in this state."),
	FIELD_TEXT(struct list_in, tool, .max = 200, .doc = "Only of this tool."),
	FIELD_TEXT(struct list_in, proposer, .max = 64, .doc = "Only of this principal."),
	FIELD_TEXT(struct list_in, cursor, .max = 64, .doc = "Where the page before ended: its nextCursor."),
	FIELD_INT(
		struct list_in, limit, .min = 1, .max = PAGE_MOST, .doc = "At most so many; 50 if not said."),
	FIELD_END,
};

struct list_out {
	struct json *proposals;
	str next_cursor;
};
static const struct field list_out[] = {
	FIELD_JSON(struct list_out, proposals, .need = true, .doc = "Those you may see, newest first."),
	FIELD_TEXT(struct list_out, next_cursor, .doc = "The cursor of the next page; absent on the last."),
	FIELD_END,
};

static status
run_list(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct list_in *i = in;
	int64_t limit = i->limit ? i->limit : PAGE;
	struct row_filter filter = { .before = i->cursor,
		.state = i->status,
		.tool = i->tool,
		.proposer_id = i->proposer,
		.limit = limit };
	struct proposal *rows;
	size_t count;
	str next;

	TRY(id_check_cursor(cx, i->cursor));
	TRY(sight_page(cx, &filter, &rows, &count, &next));
	json_out_array(out, "proposals");
	for (size_t n = 0; n < count; n++) {
		json_out_object(out, NULL);
		TRY(wire_short(cx, &rows[n], out));
		json_out_end(out);
	}
	json_out_end(out);
	if (next.len)
		json_out_str(out, "nextCursor", next);
	return OK;
}

/* --- decide --- */

struct approve_in {
	str id, view_hash;
	bool apply;
};
static const struct field approve_in[] = {
	ID_FIELD(struct approve_in),
	FIELD_TEXT(struct approve_in, view_hash, .need = true, .min = 64, .max = 64,
		.doc = "The viewHash of the card you decided on."),
	FIELD_BOOL(struct approve_in, apply, .doc = "Apply it, too, where this was the last vote it needed."),
	FIELD_END,
};

static status
run_approve(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct approve_in *i = in;
	struct part_answer how = { .may_refuse = true };
	struct proposal p;

	TRY(proposal_approve(cx, i->id, i->view_hash, &p));
	if (i->apply)
		TRY(part_apply(cx, &p, &how.why)); /* a second step: its failure does not undo the vote */
	return part_answer(cx, &p, &how, out);
}

struct deny_in {
	str id, view_hash, reason;
};
static const struct field deny_in[] = {
	ID_FIELD(struct deny_in),
	FIELD_TEXT(struct deny_in, view_hash, .need = true, .min = 64, .max = 64,
		.doc = "The viewHash of the card you decided on."),
	FIELD_TEXT(struct deny_in, reason, .max = REASON_BYTES, .doc = "Why; at most 2000 characters."),
	FIELD_END,
};

static status
check_length(struct ctx *cx, const char *path, str text)
{
	size_t characters = 0;

	for (size_t i = 0; i < text.len; i++)
		characters += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
	if (characters <= REASON_CHARACTERS)
		return OK;
	fail_issue(cx, str_of(path), STR("must have at most 2000 characters"));
	return fail(cx, E_INVALID, "%s must have at most 2000 characters", path);
}

static status
run_deny(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct deny_in *i = in;
	struct proposal p;

	TRY(check_length(cx, "/reason", i->reason));
	TRY(proposal_deny(cx, i->id, i->view_hash, i->reason, &p));
	return wire_whole(cx, &p, (str){ 0 }, out);
}

struct cancel_in {
	str id, note;
};
static const struct field cancel_in[] = {
	ID_FIELD(struct cancel_in),
	FIELD_TEXT(struct cancel_in, note, .max = REASON_BYTES, .doc = "Why; at most 2000 characters."),
	FIELD_END,
};

static status
run_cancel(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct cancel_in *i = in;
	struct proposal p;

	TRY(check_length(cx, "/note", i->note));
	TRY(proposal_cancel(cx, i->id, i->note, &p));
	return wire_whole(cx, &p, (str){ 0 }, out);
}

/* --- apply --- */

static status
run_apply(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct id_in *i = in;
	struct proposal p;

	TRY(proposal_apply(cx, &(struct apply_in){ .id = i->id }, &p));
	return part_answer(cx, &p, &(struct part_answer){ 0 }, out);
}

struct token_in {
	str token;
};
static const struct field token_in[] = {
	FIELD_TEXT(
		struct token_in, token, .need = true, .min = 1, .max = 200, .doc = "propose:<id>.<nonce>."),
	FIELD_END,
};

static status
run_apply_token(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct token_in *i = in;
	struct proposal p;

	TRY(proposal_apply(cx, &(struct apply_in){ .token = i->token }, &p));
	return part_answer(cx, &p, &(struct part_answer){ 0 }, out);
}

/* The token is a secret: the record names the proposal, not the nonce. */
static status
refused_token(struct ctx *cx, const void *in, status s)
{
	const struct token_in *i = in;
	struct id_in id = { 0 };
	str rest;

	if (i && str_starts(i->token, STR("propose:")))
		(void)str_cut(str_skip(i->token, 8), '.', &id.id, &rest);
	if (id.id.len > 64)
		id.id.len = 64;
	return refused_decision(cx, &id, s);
}

/* --- wait --- */

struct wait_in {
	str id, known;
	int64_t timeout;
};
static const struct field wait_in[] = {
	ID_FIELD(struct wait_in),
	FIELD_INT(struct wait_in, timeout, .min = 1, .max = LIMIT_WAIT_SECONDS,
		.doc = "At most so many seconds; 25 if not said."),
	FIELD_TEXT(struct wait_in, known, .choices = states,
		.doc = "The state you know: wait until it is another one; pending if not said."),
	FIELD_END,
};

struct looking {
	const struct wait_in *in;
	struct json_out *out;
	bool last, done;
};

static status
look(struct ctx *cx, void *arg)
{
	struct looking *l = arg;
	struct proposal p;
	int64_t now_us;

	TRY(row_get(cx, cx->caller->org_id, l->in->id, &p));
	TRY(sight_require(cx, &p));
	TRY(tx_now_us(cx, &now_us));
	if (!l->last && str_eq(row_state_at(&p, now_us), l->in->known.len ? l->in->known : STR("pending")))
		return OK;
	l->done = true;
	return wire_whole(cx, &p, (str){ 0 }, l->out);
}

/* The database is the truth; a hint only makes us look sooner. */
static status
wait_for(struct ctx *cx, struct looking *l, int64_t until_us)
{
	while (!l->done) {
		struct arena_mark mark = arena_mark(cx->arena);
		uint64_t seen = event_count(cx->events);
		int64_t left_us = until_us - clock_mono_us();

		l->last = left_us <= 0 || event_ended(cx->events);
		TRY(op_read(cx, look, l));
		if (l->done)
			break;
		arena_rewind(cx->arena, mark);
		event_wait(cx->events, seen, left_us < LIMIT_EVENT_POLL_US ? left_us : LIMIT_EVENT_POLL_US);
	}
	return OK;
}

/* A place that waits, and no more of them than are for this caller. */
static bool
may_wait(struct ctx *cx, struct slot **out)
{
	const struct slot_owner owner = slot_owner_of(cx->caller);

	if (cx->hasty || !event_wait_begin(cx->events))
		return false;
	if (slot_take(cx, event_slots(cx->events), SLOT_WAIT, &owner, out) == OK)
		return true;
	event_wait_end(cx->events);
	ctx_clear(cx);
	cx->header_count = 0; /* no Retry-After: it is answered */
	return false;
}

static status
run_wait(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct wait_in *i = in;
	struct looking l = { .in = i, .out = out };
	int64_t timeout = i->timeout ? i->timeout : LIMIT_WAIT_SECONDS - 5;
	struct slot *slot;
	status s;

	if (!may_wait(cx, &slot)) {
		l.last = true;
		return op_read(cx, look, &l);
	}
	s = wait_for(cx, &l, clock_mono_us() + timeout * SECOND_US);
	event_wait_end(cx->events);
	slot_give_back(event_slots(cx->events), slot);
	return s;
}

/* --- events --- */

static status
run_events(struct ctx *cx, const void *in, struct json_out *out)
{
	(void)cx;
	(void)in;
	(void)out;
	return OK; /* whoever has a credential may listen; what they hear is decided event by event */
}

#define DECISION_ERRORS                                                                                      \
	OP_ERRORS(E_SCOPE, E_NOT_FOUND, E_CONFLICT, E_VIEW, E_TAMPERED, E_GONE, E_DRIFT, E_IN_USE,           \
		E_APPROVAL, E_STEP_UP, E_TOO_LARGE, E_COMMIT_UNKNOWN, E_UNAVAILABLE, E_NOT_CACHED,           \
		E_DISK_FULL, E_READ_ONLY)

#define PROPOSE_ERRORS                                                                                       \
	OP_ERRORS(E_SCOPE, E_NOT_FOUND, E_CONFLICT, E_EXISTS, E_KEY_COLLISION, E_IN_USE, E_REFERENCED,       \
		E_IDEMPOTENCY, E_TAMPERED, E_STEP_UP, E_TOO_LARGE, E_RATE_LIMITED, E_COMMIT_UNKNOWN,         \
		E_UNAVAILABLE, E_NOT_CACHED, E_DISK_FULL, E_READ_ONLY)

const struct op proposal_ops[] = {
	{ .name = "proposal_create",
		.method = "POST",
		.path = "/api/v1/proposals",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Proposes a call of a tool. It is validated and dry-run, nothing is changed; the "
		       "answer "
		       "shows exactly what would happen and who must agree.",
		.in = propose_body,
		.in_size = sizeof(struct propose_body),
		.whole_body = true,
		.out = wire_out,
		.success = 201,
		.errors = PROPOSE_ERRORS,
		.refused = refused_propose,
		.wants_prepare = wants_survey,
		.prepare = survey_propose,
		.run = run_propose },
	{ .name = "proposal_repropose",
		.method = "POST",
		.path = "/api/v1/proposals/{id}/repropose",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Proposes the stored payload of a proposal again, as it would happen now: a new "
		       "proposal with a fresh card. Who may propose it may; the old one stays as it is.",
		.in = again_in,
		.in_size = sizeof(struct again_in),
		.out = wire_out,
		.success = 201,
		.errors = PROPOSE_ERRORS,
		.refused = refused_propose,
		.prepare = survey_again,
		.run = run_again },
	{ .name = "proposal_list",
		.method = "GET",
		.path = "/api/v1/proposals",
		.rule = RULE_ANYBODY,
		.tx = OP_TX_READ,
		.doc = "Lists the proposals that you may see, newest first.",
		.in = list_in,
		.in_size = sizeof(struct list_in),
		.out = list_out,
		.errors = OP_ERRORS(E_UNAVAILABLE),
		.run = run_list },
	{ .name = "proposal_get",
		.method = "GET",
		.path = "/api/v1/proposals/{id}",
		.rule = RULE_ANYBODY,
		.tx = OP_TX_READ,
		.doc = "Shows a proposal: its card, its votes, its outcome.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = wire_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_TAMPERED, E_UNAVAILABLE),
		.refused = refused_read,
		.run = run_get },
	{ .name = "proposal_approve",
		.method = "POST",
		.path = "/api/v1/proposals/{id}/approve",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Votes for the card you saw. Nothing is executed unless you say apply; if applying "
		       "then "
		       "fails, the vote stays.",
		.in = approve_in,
		.in_size = sizeof(struct approve_in),
		.out = wire_out,
		.errors = DECISION_ERRORS,
		.refused = refused_decision,
		.run = run_approve },
	{ .name = "proposal_deny",
		.method = "POST",
		.path = "/api/v1/proposals/{id}/deny",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Denies the proposal for good. One veto is enough.",
		.in = deny_in,
		.in_size = sizeof(struct deny_in),
		.out = wire_out,
		.errors = DECISION_ERRORS,
		.refused = refused_decision,
		.run = run_deny },
	{ .name = "proposal_cancel",
		.method = "POST",
		.path = "/api/v1/proposals/{id}/cancel",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Takes a proposal back. Who proposed it may, and whoever could apply it.",
		.in = cancel_in,
		.in_size = sizeof(struct cancel_in),
		.out = wire_out,
		.errors = DECISION_ERRORS,
		.refused = refused_decision,
		.run = run_cancel },
	{ .name = "proposal_apply",
		.method = "POST",
		.path = "/api/v1/proposals/{id}/apply",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Executes the stored payload, once. It takes no arguments, and needs the tool's own "
		       "rules.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = wire_out,
		.errors = DECISION_ERRORS,
		.refused = refused_decision,
		.run = run_apply },
	{ .name = "proposal_apply_token",
		.method = "POST",
		.path = "/api/v1/proposals/apply",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Executes the stored payload of the token's proposal, once. The token is not consent: "
		       "votes "
		       "and rules are checked.",
		.in = token_in,
		.in_size = sizeof(struct token_in),
		.out = wire_out,
		.errors = DECISION_ERRORS,
		.refused = refused_token,
		.run = run_apply_token },
	{ .name = "proposal_wait",
		.method = "GET",
		.path = "/api/v1/proposals/{id}/wait",
		.rule = RULE_ANYBODY,
		.tx = OP_TX_OWN,
		.doc = "Waits until the proposal is decided, or the time is over, and shows it. Where too "
		       "many "
		       "wait already it answers at once; ask again.",
		.in = wait_in,
		.in_size = sizeof(struct wait_in),
		.out = wire_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_TAMPERED, E_UNAVAILABLE),
		.refused = refused_read,
		.run = run_wait },
	{ .name = "event_stream",
		.method = "GET",
		.path = "/api/v1/events",
		.rule = RULE_ANYBODY,
		.tx = OP_TX_READ,
		.doc = "Follows what happens, as Server-Sent Events: proposal.<state>, approval.decided and "
		       "tool.called, each only to those who may see it. Events are hints, metadata only; "
		       "look at "
		       "the proposal for the truth.",
		.content_type = "text/event-stream",
		.streams = true,
		.errors = OP_ERRORS(E_RATE_LIMITED, E_UNAVAILABLE),
		.run = run_events },
	{ 0 },
};
