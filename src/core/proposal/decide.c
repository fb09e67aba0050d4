/* SPDX-License-Identifier: Apache-2.0 */
/* Votes, refusals, cancelling and expiry: what happens to a proposal before it is applied. */
#include "base/fault.h"
#include "core/audit/audit.h"
#include "core/door/authority.h"
#include "core/event.h"
#include "core/visibility.h"
#include "core/proposal/proposal.h"
#include "core/proposal/row.h"
#include "core/proposal/sight.h"
#include "core/proposal/tally.h"
#include "db/db.h"

/* --- who may --- */

static status
not_a_voter(struct ctx *cx, const char *why)
{
	return fail(cx, E_FORBIDDEN, "Forbidden: this vote (%s)", why);
}

/* What concerns who may approve asks for more than the rule to approve: a fresh session, and the operation's own rule. */
static status
check_authority(struct ctx *cx, const struct proposal *p, const struct tool *t)
{
	struct json *payload;

	if (t->authority)
		TRY(authority_fresh(cx, t->name));
	if (!t->may_decide)
		return OK;
	TRY(json_parse(cx, p->payload, &payload));
	return t->may_decide(cx, payload);
}

/* Who proposed it votes only to confirm it: where the card says so, and signed in (AP-3). */
static status
check_own(struct ctx *cx, const struct proposal *p, bool approves)
{
	enum policy_consent consent;

	if (!str_eq(cx->caller->principal_id, p->proposer_id))
		return OK;
	TRY(row_consent(cx, p, &consent));
	if (consent != CONSENT_CONFIRMING || !approves)
		return not_a_voter(cx, approves ? "the one who proposed cannot vote"
						: "the one who proposed cannot vote; cancel it");
	return cx->caller->via_token
		       ? not_a_voter(cx, "a token does not confirm what its person asked for; sign in")
		       : OK;
}

/* AP-3: with the right since before it was proposed, or somebody could make voters for what is there already. To refuse
 * is always easy (AP-6). */
static status
check_since(struct ctx *cx, const struct proposal *p, bool approves)
{
	bool before = true;

	if (approves)
		TRY(row_since(cx, p, cx->caller->principal_id, &before));
	return before ? OK
		      : not_a_voter(cx,
				"what you may do, or how you sign in, was changed after this was proposed; "
				"propose it again, or ask somebody else who may vote");
}

/* AP-3: an explicit act of a person, who is not the one who asked, or confirms it. */
static status
check_voter(struct ctx *cx, const struct proposal *p, bool approves)
{
	const struct caller *c = cx->caller;
	const struct tool *t = tool_find(cx->tools, p->tool);
	const char *needed[2] = { NULL, NULL };
	bool heavy = str_eq(p->effect, STR("destructive")) || str_eq(p->risk, STR("high"));

	if (!t)
		return row_gone(cx, p);
	if (c->kind != PRINCIPAL_USER)
		return not_a_voter(cx, "only people vote");
	if (!c->may_vote)
		return not_a_voter(cx, "sign in, or use a personal token that was minted for voting");
	if (c->via_token && str_eq(str_of(c->transport), STR("mcp")))
		return not_a_voter(cx, "tokens do not vote over MCP");
	if (c->via_token && heavy && approves) /* to refuse is always easy (AP-6) */
		return not_a_voter(cx, "a token cannot vote on what is destructive or of high risk; sign in");
	TRY(check_own(cx, p, approves));
	if (p->four_eyes && str_eq(c->principal_id, p->delegator_id))
		return not_a_voter(cx, "four eyes: the person it was proposed for cannot vote");
	needed[0] = row_approve_rule(cx->arena, t).ptr;
	TRY(caller_require(cx, c, t->name, needed));
	TRY(check_since(cx, p, approves));
	return approves ? check_authority(cx, p, t) : OK;
}

/* Locks it. Who may not see it hears that it is not there. */
static status
find(struct ctx *cx, str id, struct proposal *out)
{
	TRY(row_lock(cx, cx->caller->org_id, id, out));
	return sight_require(cx, out);
}

/* The proposer takes back what they asked for whatever their scope is (PA-13); not of a tool that is not there. */
static status
find_to_cancel(struct ctx *cx, str id, struct proposal *out, bool *out_own)
{
	const struct visibility *v;

	TRY(row_lock(cx, cx->caller->org_id, id, out));
	TRY(visibility_of(cx, &v));
	*out_own = str_eq(out->proposer_id, cx->caller->principal_id) && sight_is_party(cx, out) &&
		   visibility_has_tool(v, out->tool);
	return *out_own ? OK : sight_require(cx, out);
}

/* Is it still open, by the database's clock? */
static status
check_open(struct ctx *cx, const struct proposal *p)
{
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	if ((p->state != PROPOSAL_PENDING && p->state != PROPOSAL_APPROVED) || p->expires_at <= now_us)
		return row_gone(cx, p);
	return OK;
}

/* --- votes --- */

static status
audit_decision(struct ctx *cx, const struct proposal *p, enum audit_action action, const struct vote *v)
{
	struct audit_entry entry = row_entry(p, action);

	entry.decision = v->decision;
	entry.via_token = v->via_token;
	return audit_add(cx, &entry, NULL);
}

static status
check_vote(struct ctx *cx, const struct proposal *p, str view_hash, bool approves)
{
	TRY(check_open(cx, p));
	TRY(check_voter(cx, p, approves));
	if (!str_eq_secret(view_hash, p->view_hash))
		return fail(cx, E_VIEW,
			"the viewHash is not that of the stored card; look at the proposal again");
	return OK;
}

static status
cast(struct ctx *cx, struct proposal *p, str view_hash, const char *decision, str reason, struct vote *out)
{
	struct vote v = { .person_id = cx->caller->principal_id,
		.decision = str_of(decision),
		.reason = reason,
		.view_hash = view_hash,
		.via_token = cx->caller->via_token };
	status s;

	TRY(tx_now_us(cx, &v.voted_at));
	s = row_add_vote(cx, p, &v);
	if (s == E_EXISTS)
		return fail(cx, E_CONFLICT, "you have voted on this proposal already");
	TRY(s);
	event_emit(
		cx, &(struct event){ .org_id = p->org_id,
			    .type = STR("approval.decided"),
			    .id = p->id,
			    .data = arena_printf(cx->arena, "{\"proposalId\":\"%.*s\",\"decision\":\"%s\"}",
				    STR_ARG(p->id), decision) });
	*out = v;
	return OK;
}

/* What is approved takes a vote only in place of one that no longer counts (AP-4). */
static status
check_missing(struct ctx *cx, const struct proposal *p)
{
	struct tally t = { 0 };

	if (p->state == PROPOSAL_APPROVED)
		TRY(tally_count(cx, p, &t));
	return t.enough ? fail(cx, E_CONFLICT, "it is approved already: no vote is missing") : OK;
}

status
proposal_approve(struct ctx *cx, str id, str view_hash, struct proposal *out)
{
	struct tally *t = arena_alloc(cx->arena, sizeof(*t));
	struct proposal p;
	struct vote v;

	TRY(find(cx, id, &p));
	TRY(check_vote(cx, &p, view_hash, true));
	TRY(check_missing(cx, &p));
	TRY(cast(cx, &p, view_hash, "approved", (str){ 0 }, &v));
	if (FAULT_FAILS(vote_after_store))
		return fail(cx, E_UNAVAILABLE, "stopped after the vote");
	TRY(tally_count(cx, &p, t));
	p.tally = t;
	TRY(audit_decision(cx, &p, AUDIT_PROPOSAL_APPROVED, &v));
	if (p.state == PROPOSAL_PENDING && t->enough)
		TRY(row_step(cx, &p, PROPOSAL_EVENT_QUORUM));
	if (p.state == PROPOSAL_APPROVED && !t->enough)
		TRY(row_step(cx, &p, PROPOSAL_EVENT_RECOUNT));
	TRY(row_count(cx, &p));
	if (FAULT_FAILS(vote_after_step))
		return fail(cx, E_UNAVAILABLE, "stopped after the audit entry");
	proposal_emit(cx, &p);
	*out = p;
	return OK;
}

status
proposal_deny(struct ctx *cx, str id, str view_hash, str reason, struct proposal *out)
{
	struct proposal p;
	struct vote v;

	TRY(find(cx, id, &p));
	TRY(check_vote(cx, &p, view_hash, false));
	TRY(cast(cx, &p, view_hash, reason.len ? "denied_with_reason" : "denied", reason, &v));
	p.resolved_at = v.voted_at;
	TRY(audit_decision(cx, &p, AUDIT_PROPOSAL_DENIED, &v));
	TRY(row_step(cx, &p, PROPOSAL_EVENT_DENY));
	proposal_emit(cx, &p);
	*out = p;
	return OK;
}

/* --- cancel (PA-13) --- */

status
proposal_cancel(struct ctx *cx, str id, str note, struct proposal *out)
{
	struct audit_entry entry;
	struct proposal p;
	bool own;

	TRY(find_to_cancel(cx, id, &p, &own));
	if (!own && !sight_may_apply(cx, &p))
		return fail(cx, E_FORBIDDEN, "Forbidden: cancel (only who proposed it, or could apply it)");
	TRY(check_open(cx, &p));
	TRY(tx_now_us(cx, &p.resolved_at));
	p.error = note;
	entry = row_entry(&p, AUDIT_PROPOSAL_CANCELLED);
	TRY(audit_add(cx, &entry, NULL));
	TRY(row_step(cx, &p, PROPOSAL_EVENT_CANCEL));
	proposal_emit(cx, &p);
	*out = p;
	return OK;
}

/* --- expiry: decided wherever somebody acts; this only tidies up --- */

status
proposal_expire(struct ctx *cx, str org_id, str id, bool *out_expired)
{
	struct audit_entry entry;
	struct proposal p;
	int64_t now_us;

	TRY(row_lock(cx, org_id, id, &p));
	TRY(tx_now_us(cx, &now_us));
	*out_expired = false;
	if ((p.state != PROPOSAL_PENDING && p.state != PROPOSAL_APPROVED) || p.expires_at > now_us)
		return OK; /* somebody was faster */
	p.resolved_at = now_us;
	entry = row_entry(&p, AUDIT_PROPOSAL_EXPIRED);
	TRY(audit_add(cx, &entry, NULL));
	TRY(row_step(cx, &p, PROPOSAL_EVENT_EXPIRE));
	if (FAULT_FAILS(expire_after_step))
		return fail(cx, E_UNAVAILABLE, "stopped after the audit entry");
	proposal_emit(cx, &p);
	*out_expired = true;
	return OK;
}
