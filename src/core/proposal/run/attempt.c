/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/run/attempt.h"

#include "base/fault.h"
#include "base/hash/sha256.h"
#include "base/limits.h"
#include "core/audit/audit.h"
#include "core/id.h"
#include "core/ident/secret.h"
#include "core/oidc/jwt.h"
#include "core/proposal/row.h"
#include "core/proposal/tally.h"
#include "db/db.h"

#include "core/proposal/run/attempt.sql.h" /* SQL_ATTEMPT_*, generated from attempt.sql */

static const struct field columns[] = {
	FIELD_TEXT(struct attempt, id),
	FIELD_TEXT(struct attempt, proposal_id),
	FIELD_INT(struct attempt, fence),
	FIELD_TEXT(struct attempt, applier_id),
	FIELD_TEXT(struct attempt, approvals),
	FIELD_INT(struct attempt, claimed_at),
	FIELD_INT(struct attempt, deadline_at),
	FIELD_TEXT(struct attempt, outcome),
	FIELD_INT(struct attempt, sent),
	FIELD_INT(struct attempt, http_status),
	FIELD_TEXT(struct attempt, result),
	FIELD_TEXT(struct attempt, why),
	FIELD_INT(struct attempt, ended_at),
	FIELD_TEXT(struct attempt, evidence),
	FIELD_TEXT(struct attempt, settled_by),
	FIELD_TEXT(struct attempt, settled_reason),
	FIELD_INT(struct attempt, settled_at),
	FIELD_TEXT(struct attempt, mac),
	FIELD_END,
};

/* --- the row --- */

static str
seal(struct ctx *cx, str org_id, const struct attempt *a)
{
	str parts[] = { STR("attempt"), org_id, a->id, a->proposal_id, arena_int(cx->arena, a->fence),
		a->applier_id, a->approvals, arena_int(cx->arena, a->claimed_at),
		arena_int(cx->arena, a->deadline_at), a->outcome, arena_int(cx->arena, a->sent),
		arena_int(cx->arena, a->http_status), secret_hash(cx->arena, a->result), a->why,
		arena_int(cx->arena, a->ended_at), secret_hash(cx->arena, a->evidence), a->settled_by,
		a->settled_reason, arena_int(cx->arena, a->settled_at) };

	return row_mac(cx, parts, sizeof(parts) / sizeof(parts[0]));
}

status
attempt_get(struct ctx *cx, const struct proposal *p, struct attempt *out)
{
	struct attempt a = { 0 };
	status s = db_one(cx, SQL_ATTEMPT_OF, columns, &a, TEXT(p->org_id), TEXT(p->id), INT(p->fence));

	if (s == E_NOT_FOUND)
		return fail(cx, s, "proposal %.*s was never claimed", STR_ARG(p->id));
	TRY(s);
	if (!str_eq_secret(seal(cx, p->org_id, &a), a.mac))
		return fail(cx, E_TAMPERED, "the attempt of proposal %.*s was changed outside of Countersign",
			STR_ARG(p->id));
	*out = a;
	return OK;
}

static struct db_value
or_null(str s)
{
	if (!s.len)
		return NIL;
	return TEXT(s);
}

static status
store(struct ctx *cx, str org_id, struct attempt *a)
{
	a->mac = seal(cx, org_id, a);
	return db_run(cx, SQL_ATTEMPT_WRITE, TEXT(org_id), TEXT(a->id), TEXT(a->outcome), INT(a->sent),
		INT(a->http_status), or_null(a->result), or_null(a->why),
		a->ended_at ? INT(a->ended_at) : NIL, or_null(a->evidence), or_null(a->settled_by),
		or_null(a->settled_reason), a->settled_at ? INT(a->settled_at) : NIL, TEXT(a->mac));
}

/* --- what is on record --- */

static status
approvals_of(struct ctx *cx, const struct proposal *p, str *out)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_array(&o, NULL);
	for (size_t i = 0; p->tally && i < p->tally->count; i++) {
		const struct vote *v = &p->tally->votes[i];

		if (!v->counts)
			continue;
		json_out_object(&o, NULL);
		json_out_str(&o, "personId", v->person_id);
		json_out_str(&o, "name", v->name);
		json_out_time(&o, "at", v->voted_at);
		json_out_end(&o);
	}
	json_out_end(&o);
	return buf_finish(&b, out);
}

/* [{personId, …}] -> [personId, …] */
static status
approvers_of(struct ctx *cx, str approvals, str *out)
{
	struct json *all, *ids = json_new_array(cx->arena);

	TRY(json_parse(cx, approvals, &all));
	JSON_EACH (one, all)
		json_add_item(ids, json_share(cx->arena, json_get(one, STR("personId"))));
	return json_text(cx, ids, out);
}

/* An entry about the proposal; the one of the effect itself is about what it names outside. */
static status
record(struct ctx *cx, const struct proposal *p, const struct attempt *a, enum audit_action action,
	str *out_id)
{
	bool effect = action == AUDIT_TOOL_EXECUTED;
	struct audit_entry e = { .action = action,
		.org_id = p->org_id,
		.resource_type = effect ? p->resource_type : STR("proposal"),
		.resource_key = effect ? p->resource_key : p->id,
		.resource_id = effect ? p->resource_key : p->id,
		.proposal_id = p->id,
		.tool = p->tool,
		.reason = arena_printf(cx->arena, "proposal:%.*s", STR_ARG(p->id)),
		.tool_call_id = p->tool_call_id,
		.args_hash = p->payload_hash,
		.risk = p->risk,
		.applier_id = a->applier_id,
		.agent_id = str_eq(p->proposer_kind, STR("agent")) ? p->proposer_id : (str){ 0 },
		.outcome = a->outcome,
		.chain = p->chain };

	TRY(approvers_of(cx, a->approvals, &e.approvers));
	return audit_add(cx, &e, out_id);
}

/* --- the claim --- */

static status
add(struct ctx *cx, const struct proposal *p, struct attempt *a)
{
	a->mac = seal(cx, p->org_id, a);
	return db_run(cx, SQL_ATTEMPT_ADD, TEXT(p->org_id), TEXT(a->id), TEXT(a->proposal_id), INT(a->fence),
		TEXT(a->applier_id), TEXT(a->approvals), INT(a->claimed_at), INT(a->deadline_at),
		TEXT(a->outcome), TEXT(a->mac));
}

status
attempt_claim(struct ctx *cx, struct proposal *p, const struct tool *t, struct attempt *out)
{
	struct attempt a = { .proposal_id = p->id,
		.fence = p->fence + 1,
		.applier_id = cx->caller->principal_id,
		.outcome = STR("open") };
	struct proposal next = *p;

	TRY(tx_now_us(cx, &a.claimed_at));
	TRY(approvals_of(cx, p, &a.approvals));
	a.id = id_at(cx->arena, a.claimed_at);
	a.deadline_at = a.claimed_at + LIMIT_SEND_LEASE_US + t->outside->deadline_ms * 1000;
	next.fence = a.fence;
	next.deadline_at = a.deadline_at;
	next.applier_id = a.applier_id;
	TRY(record(cx, &next, &a, AUDIT_PROPOSAL_EXECUTING, NULL));
	TRY(row_step(cx, &next, PROPOSAL_EVENT_CLAIM));
	TRY(add(cx, &next, &a));
	if (FAULT_FAILS(claim_after_record))
		return fail(cx, E_UNAVAILABLE, "stopped before the claim was committed");
	proposal_emit(cx, &next);
	*p = next;
	*out = a;
	return OK;
}

/* --- what became of it --- */

static const char *const outcomes[] = { [OUTSIDE_LOST] = "lost",
	[OUTSIDE_NOT_SENT] = "not_sent",
	[OUTSIDE_REFUSED] = "refused",
	[OUTSIDE_DONE] = "done",
	[OUTSIDE_WAITING] = "waiting" };

/* What they said is kept as it came where it is JSON, and as a text where it is not: a result that cannot be stored
 * would be no result. */
static status
keep_result(struct ctx *cx, str said, str *out)
{
	struct json *value;
	struct buf b;

	*out = said;
	if (!said.len || json_parse(cx, said, &value) == OK)
		return OK;
	ctx_clear(cx);
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_quoted(&b, said);
	return buf_finish(&b, out);
}

/* At most so many bytes of it, and no half character. */
static str
clip(str text, size_t most)
{
	if (text.len <= most)
		return text;
	text.len = most;
	while (text.len && ((unsigned char)text.ptr[text.len] & 0xc0) == 0x80)
		text.len--;
	return text;
}

static str
keep_why(struct ctx *cx, str why)
{
	if (!why.len)
		return why;
	if (!str_is_utf8(why) || memchr(why.ptr, 0, why.len))
		return STR("it said something that is not text");
	return arena_str(cx->arena, clip(why, LIMIT_ERROR_MESSAGE));
}

/* Begins one more piece at the end of the list of evidence. */
static void
begin_evidence(struct attempt *a, const char *from, int64_t now_us, struct buf *b, struct json_out *o)
{
	json_out_init(o, b);
	if (a->evidence.len)
		buf_add(b, (str){ a->evidence.ptr, a->evidence.len - 1 });
	buf_add(b, a->evidence.len ? STR(",") : STR("["));
	json_out_object(o, NULL);
	json_out_time(o, "at", now_us);
	json_out_str(o, "from", str_of(from));
}

/* An answer that was not quite JSON, byte for byte where there is room; its hash in any case. */
static status
keep_raw(struct ctx *cx, struct attempt *a, const struct outside_answer *said)
{
	struct json_out o;
	struct buf b;
	int64_t now_us;

	if (!said->raw.len)
		return OK;
	if (!a->why.len)
		a->why = arena_printf(cx->arena,
			"its answer was not quite JSON: %s was replaced; the evidence has it as it came",
			said->mended);
	TRY(tx_now_us(cx, &now_us));
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	begin_evidence(a, "answer", now_us, &b, &o);
	json_out_str(&o, "outcome", a->outcome);
	json_out_str(&o, "sha256", sha256_hex(cx->arena, said->raw));
	json_out_int(&o, "bytes", (int64_t)said->raw.len);
	if (said->raw.len <= LIMIT_EVIDENCE / 2)
		json_out_str(&o, "base64url", base64url(cx->arena, said->raw));
	json_out_end(&o);
	buf_add(&b, STR("]"));
	return buf_finish(&b, &a->evidence);
}

/* One more piece of evidence, at the end of the list. Its outcome is always the proposal's: what it says of that, where
 * somebody was asked (told; what became of the question itself is another member), or else what the answer is. */
static status
add_evidence(struct ctx *cx, struct attempt *a, const char *from, const struct outside_answer *said,
	const char *told)
{
	struct json_out o;
	struct buf b;
	str result;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	TRY(keep_result(cx, said->result, &result));
	if (a->evidence.len + result.len > LIMIT_EVIDENCE)
		return OK; /* there is enough to look at */
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	begin_evidence(a, from, now_us, &b, &o);
	json_out_str(&o, "outcome", str_of(told ? told : outcomes[said->end]));
	if (told)
		json_out_str(&o, "question", str_of(outcomes[said->end]));
	if (said->http_status)
		json_out_int(&o, "httpStatus", said->http_status);
	if (said->why.len)
		json_out_str(&o, "why", keep_why(cx, said->why));
	if (result.len)
		json_out_raw(&o, "result", result);
	json_out_end(&o);
	buf_add(&b, STR("]"));
	return buf_finish(&b, &a->evidence);
}

struct ending {
	enum proposal_event event;
	enum audit_action action;
};

static struct ending
ending_of(enum outside_end end)
{
	if (end == OUTSIDE_DONE)
		return (struct ending){ PROPOSAL_EVENT_SUCCEED, AUDIT_PROPOSAL_APPLIED };
	if (end == OUTSIDE_LOST)
		return (struct ending){ PROPOSAL_EVENT_LOSE, AUDIT_PROPOSAL_UNKNOWN };
	return (struct ending){ PROPOSAL_EVENT_FAIL, AUDIT_PROPOSAL_FAILED };
}

/* The proposal follows its attempt: state, result, entries, in this order, in one transaction. */
static status
follow(struct ctx *cx, struct proposal *p, const struct attempt *a, struct ending e)
{
	if (e.event == PROPOSAL_EVENT_SUCCEED)
		p->result = a->result;
	else
		p->error = a->why;
	if (e.event != PROPOSAL_EVENT_LOSE)
		p->resolved_at = a->ended_at;
	if (e.event == PROPOSAL_EVENT_SUCCEED)
		TRY(record(cx, p, a, AUDIT_TOOL_EXECUTED, &p->applied_audit_id));
	TRY(record(cx, p, a, e.action, e.event == PROPOSAL_EVENT_SUCCEED ? NULL : &p->applied_audit_id));
	TRY(row_step(cx, p, e.event));
	if (FAULT_FAILS(outcome_after_step))
		return fail(cx, E_UNAVAILABLE, "stopped before the outcome was committed");
	proposal_emit(cx, p);
	return OK;
}

static status
end(struct ctx *cx, struct proposal *p, struct attempt *a, const struct outside_answer *said)
{
	a->outcome = str_of(outcomes[said->end]);
	if (said->sent) /* a callback sends nothing: what was sent before stays */
		a->sent = said->sent;
	if (said->http_status)
		a->http_status = said->http_status;
	a->why = keep_why(cx, said->why);
	TRY(keep_result(cx, said->result, &a->result));
	TRY(keep_raw(cx, a, said));
	if (said->end == OUTSIDE_WAITING)
		return store(cx, p->org_id, a);
	TRY(tx_now_us(cx, &a->ended_at));
	TRY(store(cx, p->org_id, a));
	return follow(cx, p, a, ending_of(said->end));
}

/* The same answer once more, because its first commit was not heard of, or somebody says it twice. */
static bool
is_repeat(const struct attempt *a, int64_t fence, const struct outside_answer *said)
{
	return a->fence == fence && str_eq(a->outcome, str_of(outcomes[said->end])) &&
	       str_eq(a->result, said->result);
}

struct id_row {
	str id;
};
static const struct field id_row[] = { FIELD_TEXT(struct id_row, id), FIELD_END };

status
attempt_finish(struct ctx *cx, str org_id, str attempt_id, int64_t fence, const struct outside_answer *said,
	struct proposal *out)
{
	struct id_row of;
	struct proposal p;
	struct attempt a;
	status s = db_one(cx, SQL_ATTEMPT_PROPOSAL, id_row, &of, TEXT(org_id), TEXT(attempt_id));

	if (s == E_NOT_FOUND)
		return fail(cx, s, "there is no such attempt");
	TRY(s);
	TRY(row_lock(cx, org_id, of.id, &p));
	TRY(attempt_get(cx, &p, &a));
	if (p.state == PROPOSAL_EXECUTING && p.fence == fence && str_eq(a.id, attempt_id) && !a.ended_at) {
		TRY(end(cx, &p, &a, said));
	} else if (!is_repeat(&a, fence, said)) {
		TRY(add_evidence(cx, &a, "late answer", said, NULL));
		TRY(store(cx, org_id, &a));
	}
	if (out)
		*out = p;
	return OK;
}

status
attempt_lose(struct ctx *cx, str org_id, str proposal_id, bool *out_lost)
{
	static const char *const why = "no outcome was heard of in time: it may have been done, or not";
	struct proposal p;
	struct attempt a;
	int64_t now_us;

	TRY(row_lock(cx, org_id, proposal_id, &p));
	TRY(tx_now_us(cx, &now_us));
	*out_lost = false;
	if (p.state != PROPOSAL_EXECUTING || p.deadline_at + LIMIT_SEND_SLACK_US > now_us)
		return OK; /* somebody was faster, or is */
	TRY(attempt_get(cx, &p, &a));
	TRY(end(cx, &p, &a,
		&(struct outside_answer){ .end = OUTSIDE_LOST, .why = str_of(why), .result = a.result }));
	*out_lost = true;
	return OK;
}

/* --- what was found out afterwards --- */

/* The reason is a person's own words: it is kept encrypted beside the log, as values are (AU-5). */
static status
record_settled(struct ctx *cx, struct proposal *p, const struct attempt *a, bool applied)
{
	struct json *after = json_new_object(cx->arena);
	struct audit_entry e = { .action = AUDIT_PROPOSAL_SETTLED,
		.resource_type = STR("proposal"),
		.resource_key = p->id,
		.resource_id = p->id,
		.proposal_id = p->id,
		.tool = p->tool,
		.tool_call_id = p->tool_call_id,
		.args_hash = p->payload_hash,
		.risk = p->risk,
		.applier_id = a->applier_id,
		.decision = applied ? STR("applied") : STR("failed"),
		.after = after,
		.outcome = a->outcome,
		.chain = p->chain };

	json_add_member(after, STR("outcome"), json_new_string(cx->arena, e.decision));
	json_add_member(after, STR("reason"), json_new_string(cx->arena, a->settled_reason));
	return audit_add(cx, &e, &p->applied_audit_id);
}

status
attempt_settle(struct ctx *cx, struct proposal *p, bool applied, str reason)
{
	struct proposal next = *p;
	struct attempt a;

	TRY(attempt_get(cx, p, &a));
	TRY(tx_now_us(cx, &a.settled_at));
	a.settled_by = cx->caller->principal_id;
	a.settled_reason = reason;
	TRY(store(cx, p->org_id, &a));
	next.resolved_at = a.settled_at;
	if (applied)
		next.error = (str){ 0 };
	TRY(record_settled(cx, &next, &a, applied));
	TRY(record(cx, &next, &a, applied ? AUDIT_PROPOSAL_APPLIED : AUDIT_PROPOSAL_FAILED, NULL));
	TRY(row_step(cx, &next, applied ? PROPOSAL_EVENT_SUCCEED : PROPOSAL_EVENT_FAIL));
	proposal_emit(cx, &next);
	*p = next;
	return OK;
}

status
attempt_keep_probe(
	struct ctx *cx, struct proposal *p, const struct outside_answer *said, enum outside_end told)
{
	struct attempt a;

	TRY(attempt_get(cx, p, &a));
	TRY(add_evidence(cx, &a, "probe", said, told == OUTSIDE_LOST ? "unknown" : outcomes[told]));
	return store(cx, p->org_id, &a);
}

/* --- shown --- */

void
attempt_write(const struct attempt *a, bool with_result, struct json_out *o)
{
	json_out_str(o, "attemptId", a->id);
	json_out_int(o, "fence", a->fence);
	json_out_str(o, "applierId", a->applier_id);
	json_out_raw(o, "approvals", a->approvals);
	json_out_time(o, "claimedAt", a->claimed_at);
	json_out_time(o, "deadlineAt", a->deadline_at);
	json_out_str(o, "outcome", a->outcome);
	json_out_int(o, "sentBytes", a->sent);
	if (a->http_status)
		json_out_int(o, "httpStatus", a->http_status);
	if (a->why.len)
		json_out_str(o, "why", a->why);
	if (a->ended_at)
		json_out_time(o, "endedAt", a->ended_at);
	if (a->result.len && with_result)
		json_out_raw(o, "answer", a->result);
	if (a->evidence.len && with_result)
		json_out_raw(o, "evidence", a->evidence);
	if (!a->settled_at)
		return;
	json_out_str(o, "settledBy", a->settled_by);
	json_out_str(o, "settledReason", a->settled_reason);
	json_out_time(o, "settledAt", a->settled_at);
}

status
attempt_erase(struct ctx *cx, const struct proposal *p)
{
	struct attempt a;

	TRY(attempt_get(cx, p, &a));
	a.result = a.why = a.evidence = (str){ 0 };
	return store(cx, p->org_id, &a);
}
