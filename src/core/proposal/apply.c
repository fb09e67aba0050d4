/* SPDX-License-Identifier: Apache-2.0 */
/* Apply: the stored payload, once, as it was shown (PA-3, PA-5, PA-6). */
#include "base/clock.h"
#include "base/fault.h"
#include "core/audit/audit.h"
#include "core/gate/gate.h"
#include "core/visibility.h"
#include "core/gate/settings.h"
#include "core/card/card.h"
#include "core/door/authority.h"
#include "core/outside/source.h"
#include "core/proposal/agreed/agreed.h"
#include "core/proposal/handler.h"
#include "core/proposal/proposal.h"
#include "core/proposal/row.h"
#include "core/proposal/run/send.h"
#include "core/proposal/sight.h"
#include "core/proposal/tally.h"
#include "db/db.h"
#include "json/canon.h"
#include "json/out.h"

#include "core/proposal/proposal.sql.h" /* SQL_PROPOSAL_*, generated from proposal.sql */

struct applying {
	struct proposal p;
	const struct tool *tool;
	struct caller proposer; /* as they are now */
	struct json *payload;
	struct permission_snapshot permissions; /* the proposer's */
	struct policy_rules rules;
	struct outside_source source; /* where a tool of another system goes now */
	struct handler_run run;
	bool production, gate; /* its environment is, and its approval gate is on, as it is now */
	bool decided;	       /* policy has decided again on all that it touches */
	bool asks_more;	       /* and asks for more people than have agreed */
	bool refused;	       /* where it acts says no: nobody's failure */
	int64_t now_us;
	int64_t began_us; /* clock_mono_us, before the claim can have been made */
};

/* --- may it happen now? Everything is looked at after the locks. --- */

/* What a read will show is known only when it has run: where it is somebody else's, a narrowed token is not
 * the one to run it. */
static bool
reads_too_far(const struct ctx *cx, const struct applying *a)
{
	const struct scope *s = &cx->caller->scope;

	return a->tool->effect == OP_READ && !str_eq(cx->caller->token_id, a->p.token_id) &&
	       !(s->all_environments && s->all_keys);
}

static status
check_state(struct ctx *cx, struct applying *a)
{
	bool open = a->p.state == PROPOSAL_PENDING || a->p.state == PROPOSAL_APPROVED;

	TRY(tx_now_us(cx, &a->now_us));
	return open && a->p.expires_at > a->now_us ? OK : row_gone(cx, &a->p); /* pending: the votes decide */
}

static status
check_rights(struct ctx *cx, struct applying *a)
{
	struct permission_snapshot snapshot;
	bool stored;

	a->production = true;
	if (a->p.environment_id.len)
		TRY(handler_environment(cx, a->p.environment_id, &a->production, &a->gate));
	a->tool = tool_find(cx->tools, a->p.tool);
	if (cx->caller->kind == PRINCIPAL_SERVICE)
		return fail(cx, E_FORBIDDEN, "service principals cannot use tools");
	TRY(permission_load(cx, cx->caller, &snapshot));
	if (!a->tool || permission_tier(&snapshot, a->tool, &stored) == TIER_BLOCKED)
		return fail(cx, E_NOT_FOUND, "there is no tool called \"%.*s\"", STR_ARG(a->p.tool));
	TRY(caller_require_in(cx, cx->caller, a->tool->name, a->tool->rules, a->production));
	if (a->tool->authority)
		TRY(authority_fresh(cx, a->tool->name));
	if (a->tool->reveals && cx->caller->kind != PRINCIPAL_USER)
		return fail(cx, E_FORBIDDEN, "Forbidden: %s (it makes a secret: a person applies it)",
			a->tool->name);
	if (reads_too_far(cx, a))
		return handler_outside(cx, a->tool);
	return handler_in_scope(cx, cx->caller,
		&(struct handler_run){ .tool = a->tool,
			.result = {
				.environment_id = a->p.environment_id, .resource_key = a->p.resource_key } });
}

struct standing {
	bool disabled, token_revoked, delegator_disabled;
};
static const struct field standing[] = {
	FIELD_BOOL(struct standing, disabled),
	FIELD_BOOL(struct standing, token_revoked),
	FIELD_BOOL(struct standing, delegator_disabled),
	FIELD_END,
};

static status
lost_standing(struct ctx *cx, const struct applying *a, const char *why)
{
	return fail(cx, E_FORBIDDEN, "Forbidden: %s (%s)", a->tool->name, why);
}

/* A call runs as the one who asked for it (TL-3): what they may no longer ask for is not done, whoever
 * applies it. */
static status
check_proposer(struct ctx *cx, struct applying *a)
{
	const struct proposal *p = &a->p;
	struct standing now;
	bool stored;

	TRY(db_one(cx, SQL_PROPOSAL_PROPOSER, standing, &now, TEXT(p->org_id), TEXT(p->proposer_id),
		TEXT(p->token_id), TEXT(p->delegator_id)));
	if (now.disabled || now.token_revoked || now.delegator_disabled)
		return lost_standing(cx, a, "the credential it was proposed with was revoked");
	TRY(caller_again(cx, p->org_id, p->proposer_id, p->token_id, &a->proposer));
	TRY(permission_load(cx, &a->proposer, &a->permissions));
	if (permission_tier(&a->permissions, a->tool, &stored) == TIER_BLOCKED)
		return lost_standing(cx, a, "the tool was blocked for the agent that proposed it");
	if (!gate_may_propose(&a->proposer, a->tool, a->production))
		return lost_standing(cx, a, "the one who proposed it may no longer propose it");
	return OK;
}

/* The card has the policy's version and the tool's inside: with another one it is another card. */
static status
check_versions(struct ctx *cx, struct applying *a)
{
	TRY(policy_rules_load(cx, a->p.org_id, &a->rules));
	if (a->rules.version != a->p.policy_version)
		return fail(cx, E_DRIFT, "the organization's policy has changed since; propose again");
	if (a->p.tool_version != a->tool->version)
		return fail(cx, E_DRIFT, "the tool has another version now; propose again");
	return OK;
}

/* Of a tool that is not ours the card says whose it is, where, and what opens it there. A card from before it did cannot be
 * compared. */
static status
check_source(struct ctx *cx, struct applying *a)
{
	struct json *now;
	bool same;
	status s;

	if (!a->tool->outside)
		return OK;
	s = source_of(cx, a->p.org_id, a->tool, &a->source);
	if (s == E_NOT_FOUND)
		return fail(cx, E_DRIFT, "the system that would do it is not there any more; propose again");
	TRY(s);
	now = source_card(cx, a->p.org_id, a->tool, &a->source);
	TRY(source_is(cx, json_get(a->p.card_read, STR("source")), now, &same));
	return same ? OK
		    : fail(cx, E_DRIFT,
			      "its source (address, credential, declaration) is not what was shown; propose "
			      "again");
}

/* --- does policy still say what was agreed to? (PA-3) --- */

/* What the card says of risk and teams is what people agreed to: more than that is another card. */
static status
check_card(struct ctx *cx, const struct applying *a, const struct policy_decision *now)
{
	enum risk shown;
	size_t g, t;

	if (!risk_of(a->p.risk, &shown) || now->risk > shown || (now->four_eyes && !a->p.four_eyes))
		return fail(cx, E_DRIFT, "its risk is higher now than its card says; propose again");
	for (g = 0; g < now->group_count; g++) {
		for (t = 0; t < a->p.tally->group_count; t++)
			if (str_eq(a->p.tally->groups[t].team_id, now->groups[g].team_id) &&
				a->p.tally->groups[t].needed >= now->groups[g].votes)
				break;
		if (t == a->p.tally->group_count)
			return fail(
				cx, E_DRIFT, "another team is asked now than its card says; propose again");
	}
	return OK;
}

static str
all_reasons(struct ctx *cx, const struct policy_decision *d)
{
	str all = { 0 };

	for (size_t i = 0; d->reasons[i]; i++)
		all = arena_printf(cx->arena, "%.*s%s%s", STR_ARG(all), i ? "; " : "", d->reasons[i]);
	return all;
}

/* Votes are counted against the greater number: looser never lowers what was agreed. */
static status
count_votes(struct ctx *cx, struct applying *a, const struct policy_decision *now)
{
	struct tally *tally = arena_alloc(cx->arena, sizeof(*tally));
	bool more = now->verdict == VERDICT_ASK && now->votes > a->p.votes_needed;

	if (more)
		a->p.votes_needed = now->votes;
	if (more || !a->p.tally)
		TRY(tally_count(cx, &a->p, tally));
	else
		*tally = *a->p.tally;
	a->p.tally = tally;
	TRY(check_card(cx, a, now));
	if (tally->enough)
		return OK;
	a->asks_more = more;
	return more ? fail(cx, E_APPROVAL, "more approvals are needed than when it was proposed (%.*s): %.*s",
			      STR_ARG(all_reasons(cx, now)), STR_ARG(tally->missing))
		    : fail(cx, E_APPROVAL, "%.*s", STR_ARG(tally->missing));
}

/* Policy decides again, on the facts of now; place: where it acts, as the proposer has it. */
static status
decide_again(struct ctx *cx, struct applying *a, const struct handler_place *place)
{
	struct agreed_now now = { &a->rules, a->tool, &a->proposer, &a->permissions, *place };
	struct policy_decision d;

	TRY(agreed_again(cx, &a->p, &now, &d));
	if (d.verdict == VERDICT_REFUSE)
		return fail(cx, E_FORBIDDEN, "Forbidden: %s (%s)", a->tool->name, d.reasons[0]);
	a->decided = true;
	return count_votes(cx, a, &d);
}

/* Where one tool changes several environments, which they are is known when it has run (check_places). Until then the
 * votes count as they were asked for. */
static status
check_votes(struct ctx *cx, struct applying *a)
{
	struct handler_place place = { .production = a->production,
		.gate = a->gate,
		.in_environment = a->p.environment_id.len > 0,
		.may = gate_may(&a->proposer, a->tool, a->production) };
	struct policy_decision as_agreed = { .verdict = VERDICT_RUN };
	bool several;

	TRY(agreed_several(cx, &a->p, &several));
	TRY(several ? count_votes(cx, a, &as_agreed) : decide_again(cx, a, &place));
	/* what was missing is there again, such as the tool: no other vote is needed */
	if (a->p.state == PROPOSAL_PENDING)
		return row_step(cx, &a->p, PROPOSAL_EVENT_QUORUM);
	return OK;
}

/* --- doing it --- */

/* State that moved on since: somebody else's change, not this proposal's failure. */
static bool
is_drift(status s)
{
	return s == E_NOT_FOUND || s == E_EXISTS || s == E_KEY_COLLISION || s == E_CONFLICT ||
	       s == E_REFERENCED;
}

static bool
is_failure(status s)
{
	return s == E_INVALID || s == E_FORBIDDEN || s == E_SCOPE || s == E_TOO_LARGE || s == E_BAD_JSON;
}

/* A read shows what the one who asked could see by themselves, whoever applies it (TL-3): the result is
 * theirs. */
static status
read_as_proposer(struct ctx *cx, struct applying *a)
{
	const struct caller *applier = cx->caller;
	status s;

	cx->caller = &a->proposer;
	s = handler_run(cx, &a->run);
	cx->caller = applier;
	if (s == E_NOT_FOUND)
		return fail(cx, E_INVALID, "%.*s", STR_ARG(ctx_message(cx, s)));
	TRY(s);
	return handler_in_scope(cx, &a->proposer, &a->run);
}

/* A payload that today's schema refuses can never be applied: that is its end, not an error of this request. */
static status
check_payload(struct ctx *cx, struct applying *a)
{
	TRY(json_parse(cx, a->p.payload, &a->payload));
	return gate_check_input(cx, a->tool, a->payload);
}

/* What it touched is known now: in each of those environments the one who applies needs the tool's own
 * rules, and the one who asked the right to ask; and policy decides about all of them. */
static status
check_places(struct ctx *cx, struct applying *a)
{
	struct handler_place mine, theirs;

	if (!a->run.result.environment_count && a->decided)
		return OK; /* check_rights, check_proposer and check_votes have seen the only one */
	TRY(handler_in_scope(cx, cx->caller, &a->run));
	TRY(handler_place(cx, cx->caller, &a->run, &mine));
	TRY(handler_place(cx, &a->proposer, &a->run, &theirs));
	if (!mine.may)
		return fail(cx, E_FORBIDDEN, "Forbidden: %s (not in every environment that it changes)",
			a->tool->name);
	if (!theirs.may_propose)
		return lost_standing(cx, a, "the one who proposed it may no longer propose it");
	return decide_again(cx, a, &theirs);
}

/* Inside a savepoint: what does not come out as it was shown is undone. */
static status
execute(struct ctx *cx, void *arg)
{
	struct applying *a = arg;
	struct card now;
	status s;

	TRY(check_payload(cx, a));
	a->run = (struct handler_run){ .tool = a->tool,
		.call = { .input = a->payload,
			.id = a->p.minted_id,
			.now_us = a->p.minted_at,
			.actor_id = a->p.proposer_id,
			.proposal_id = a->p.id,
			.seen_version = card_version(a->p.card_read) } };
	if (a->tool->effect == OP_READ)
		return read_as_proposer(cx, a);
	s = handler_run(cx, &a->run);
	if (s == OK)
		s = db_wait(cx); /* what it has not waited for is still its own */
	if (is_drift(s))
		return fail(
			cx, E_DRIFT, "it can no longer be done as shown: %.*s", STR_ARG(ctx_message(cx, s)));
	TRY(s);
	TRY(card_again(cx, a->p.card_read, a->payload, &a->run.result, &now));
	if (!str_eq(now.view_hash, a->p.view_hash))
		return fail(cx, E_DRIFT, "what would happen is no longer what was shown; propose again");
	s = check_places(cx, a);
	a->refused = s != OK;
	return s;
}

static status
approvers(struct ctx *cx, const struct applying *a, str *out)
{
	struct json *list = json_new_array(cx->arena);

	for (size_t i = 0; i < a->p.tally->count; i++)
		if (a->p.tally->votes[i].counts)
			json_add_item(list, json_new_string(cx->arena, a->p.tally->votes[i].person_id));
	return json_text(cx, list, out);
}

static enum audit_action
change_action(const struct tool_result *r)
{
	if (!r->before && !r->after)
		return AUDIT_TOOL_EXECUTED;
	return r->before && r->after ? AUDIT_RECORD_CHANGED
	       : r->after	     ? AUDIT_RECORD_CREATED
				     : AUDIT_RECORD_DELETED;
}

/* Both halves of the story (AU-6): the change, and the proposal that led to it. */
static status
record(struct ctx *cx, struct applying *a, enum audit_action action, const char *outcome)
{
	const struct tool_result *r = &a->run.result;
	struct audit_entry change = { .action = change_action(r),
		.resource_type = r->resource_type,
		.resource_key = r->resource_key,
		.resource_id = r->resource_id,
		.proposal_id = a->p.id,
		.tool = a->p.tool,
		.reason = arena_printf(cx->arena, "proposal:%.*s", STR_ARG(a->p.id)),
		.tool_call_id = a->p.tool_call_id,
		.args_hash = a->p.payload_hash,
		.risk = a->p.risk,
		.applier_id = cx->caller->principal_id,
		.agent_id = str_eq(a->p.proposer_kind, STR("agent")) ? a->p.proposer_id : (str){ 0 },
		.version = r->version,
		.before = r->before,
		.after = r->after,
		.subject = r->before || r->after ? r->subject : (str){ 0 },
		.outcome = str_of(outcome),
		.chain = a->p.chain };
	struct audit_entry proposal = change;

	TRY(approvers(cx, a, &change.approvers));
	if (action == AUDIT_PROPOSAL_APPLIED && !PLANTED(apply_unrecorded))
		TRY(audit_add(cx, &change, &a->p.applied_audit_id));
	proposal.action = action;
	proposal.resource_type = STR("proposal");
	proposal.resource_key = proposal.resource_id = a->p.id;
	proposal.before = proposal.after = NULL;
	proposal.subject = (str){ 0 };
	proposal.approvers = change.approvers;
	return audit_add(cx, &proposal, action == AUDIT_PROPOSAL_APPLIED ? NULL : &a->p.applied_audit_id);
}

static status
finish(struct ctx *cx, struct applying *a, status outcome)
{
	a->p.resolved_at = a->now_us;
	a->p.applier_id = cx->caller->principal_id;
	if (outcome != OK) {
		a->p.error = ctx_message(cx, outcome);
		ctx_clear(cx);
		a->run.result = (struct tool_result){ 0 };
		TRY(record(cx, a, AUDIT_PROPOSAL_FAILED, "failed"));
		return row_step(cx, &a->p, PROPOSAL_EVENT_FAIL);
	}
	if (a->run.result.value)
		TRY(json_text(cx, a->run.result.value, &a->p.result));
	if (a->run.result.reveal)
		TRY(json_text(cx, a->run.result.reveal, &a->p.reveal));
	a->p.applied_version = a->run.result.version;
	if (a->run.result.subject.len) /* a read names it only when it has run */
		a->p.subject = a->run.result.subject;
	TRY(record(cx, a, AUDIT_PROPOSAL_APPLIED, "applied"));
	if (FAULT_FAILS(apply_after_record))
		return fail(cx, E_UNAVAILABLE, "stopped before the state moved");
	TRY(row_step(cx, &a->p, PROPOSAL_EVENT_SUCCEED));
	return FAULT_FAILS(apply_after_step) ? fail(cx, E_UNAVAILABLE, "stopped before the commit") : OK;
}

/* --- a bug that a rig plants (base/fault.h): the effect in a transaction of its own --- */

struct split {
	struct ctx *cx;
	struct applying a;
};

static void
execute_after_commit(void *arg)
{
	struct split *l = arg;

	(void)!tx_run(l->cx, execute, &l->a);
}

static status
execute_later(struct ctx *cx, struct applying *a)
{
	struct split *l = arena_alloc(cx->arena, sizeof(*l));

	*l = (struct split){ .cx = cx, .a = *a };
	tx_after_commit(cx, execute_after_commit, l);
	return tx_try(cx, execute, a);
}

/* --- what somebody else does: claimed here, sent after the commit (EX-4) --- */

/* Is what was previewed still so? *out_look: nobody has looked again yet. */
static status
check_preview(struct ctx *cx, const struct applying *a, str seen, bool *out_look)
{
	const struct json *preview = json_get(a->p.card_read, STR("preview"));
	const struct json *digest = preview ? json_get(preview, STR("digest")) : NULL;

	*out_look = false;
	if (!a->tool->recheck || !digest || digest->type != JSON_STRING)
		return OK;
	*out_look = seen.len == 0;
	return *out_look || str_eq(seen, digest->text)
		       ? OK
		       : fail(cx, E_DRIFT, "what it would change is no longer what was shown; propose again");
}

static status
claim(struct ctx *cx, struct applying *a, const struct apply_in *in)
{
	status s = check_payload(cx, a);
	struct attempt attempt;
	bool look;

	if (is_failure(s))
		return finish(cx, a, s);
	TRY(s);
	TRY(send_possible(cx, a->tool));
	TRY(check_preview(cx, a, in->seen, &look));
	if (look) {
		a->p.sending = send_looks(cx, a->tool);
		return OK;
	}
	TRY(attempt_claim(cx, &a->p, a->tool, &attempt));
	a->p.sending = send_claimed(cx, &a->p, a->tool, &attempt, a->began_us, &a->source);
	return OK;
}

/* "propose:<id>.<nonce>" -> id */
static bool
id_of_token(str token, str *out_id)
{
	str nonce;

	return str_starts(token, STR("propose:")) && str_cut(str_skip(token, 8), '.', out_id, &nonce);
}

static status
no_such_token(struct ctx *cx)
{
	return fail(cx, E_NOT_FOUND, "there is no proposal with this token");
}

static status
find(struct ctx *cx, const struct apply_in *in, struct applying *a)
{
	const struct visibility *v;
	str id = in->id;
	status s;

	if (in->token.len && !id_of_token(in->token, &id))
		return no_such_token(cx);
	s = row_lock(cx, cx->caller->org_id, id, &a->p);
	if (in->token.len && s == E_NOT_FOUND)
		return no_such_token(cx);
	TRY(s);
	if (!in->token.len)
		return sight_require(cx, &a->p);
	TRY(visibility_of(cx, &v));
	return row_token_is(cx, &a->p, in->token) && visibility_has_tool(v, a->p.tool) ? OK
										       : no_such_token(cx);
}

/* In our own database: done, or failed, in this transaction. */
static status
do_it(struct ctx *cx, struct applying *a)
{
	status s = PLANTED(apply_split) ? execute_later(cx, a) : tx_nest(cx, execute, a);

	if (s == OK && FAULT_FAILS(apply_after_execute))
		return fail(cx, E_UNAVAILABLE, "stopped before anything was recorded");
	if (s != OK && (a->refused || !is_failure(s)))
		return s;
	if (!PLANTED(clock_before_lock))
		tx_waited(cx); /* the handler may have waited for a lock, and time does not */
	TRY(check_state(cx, a));
	TRY(finish(cx, a, s));
	proposal_emit(cx, &a->p);
	return OK;
}

/* Policy asks for more people than have agreed: the new number is stored, and it is pending (again). */
static status
reopen(struct ctx *cx, struct applying *a)
{
	struct audit_entry e = { .action = AUDIT_PROPOSAL_REOPENED,
		.resource_type = STR("proposal"),
		.resource_key = a->p.id,
		.resource_id = a->p.id,
		.proposal_id = a->p.id,
		.tool = a->p.tool,
		.tool_call_id = a->p.tool_call_id,
		.args_hash = a->p.payload_hash,
		.risk = a->p.risk };

	a->p.asks_more = ctx_message(cx, E_APPROVAL);
	ctx_clear(cx);
	e.chain = a->p.chain;
	TRY(audit_add(cx, &e, NULL));
	TRY(row_step(cx, &a->p, PROPOSAL_EVENT_RECOUNT));
	proposal_emit(cx, &a->p);
	return OK;
}

static status
check_all(struct ctx *cx, struct applying *a)
{
	TRY(check_rights(cx, a));
	TRY(check_state(cx, a));
	TRY(check_proposer(cx, a));
	TRY(check_versions(cx, a));
	TRY(check_source(cx, a));
	return check_votes(cx, a);
}

status
proposal_apply(struct ctx *cx, const struct apply_in *in, struct proposal *out)
{
	struct applying a = { .began_us = clock_mono_us() };
	status s;

	TRY(handler_alone(cx));
	TRY(find(cx, in, &a));
	if (!in->token.len || sight_of(cx, &a.p))
		TRY(check_state(cx, &a)); /* who sees it sees that it is over: no right would help */
	s = check_all(cx, &a);
	if (s == OK)
		s = a.tool->outside ? claim(cx, &a, in) : do_it(cx, &a);
	TRY(s == E_APPROVAL && a.asks_more ? reopen(cx, &a) : s);
	*out = a.p;
	return OK;
}
