/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/proposal.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/random.h"
#include "core/audit/audit.h"
#include "core/event.h"
#include "core/gate/gate.h"
#include "core/gate/settings.h"
#include "core/id.h"
#include "core/card/card.h"
#include "core/outside/source.h"
#include "core/proposal/agreed/agreed.h"
#include "core/proposal/handler.h"
#include "core/proposal/kept/retention.h"
#include "core/proposal/row.h"
#include "core/proposal/run/send.h"
#include "core/proposal/sight.h"
#include "core/proposal/tally.h"
#include "db/db.h"
#include "json/canon.h"

#include "core/proposal/proposal.sql.h" /* SQL_PROPOSAL_*, generated from proposal.sql */

/* What is being made, step by step. */
struct making {
	const struct propose_in *in;
	struct gate_pass pass;
	struct policy_rules rules;
	struct policy_facts facts;
	struct policy_decision decision;
	struct handler_run run;
	bool ran; /* the dry-run has been made; a read that needs approval is not run */
	struct proposal p;
	struct card card;
	struct db_rows *open; /* how many the proposer has already; NULL: not asked yet */
};

/* --- an answer that was given before (PA-12) --- */

/* Everything that was asked: the same request has the same hash. */
static status
hash_request(struct ctx *cx, const struct propose_in *in, str *out)
{
	struct json *all = json_new_object(cx->arena);

	json_add_member(all, STR("tool"), json_new_string(cx->arena, in->tool));
	json_add_member(all, STR("input"), json_share(cx->arena, in->input));
	json_add_member(all, STR("risk"), json_new_string(cx->arena, in->risk_level));
	json_add_member(all, STR("gdpr"), json_new_bool(cx->arena, in->gdpr));
	json_add_member(all, STR("hipaa"), json_new_bool(cx->arena, in->hipaa));
	json_add_member(all, STR("noApproval"), json_new_bool(cx->arena, in->no_approval));
	return canon_hash(cx, all, out);
}

struct id_row {
	str id;
};
static const struct field id_row[] = { FIELD_TEXT(struct id_row, id), FIELD_END };

/* E_NOT_FOUND: the key is new. */
static status
replay(struct ctx *cx, const struct propose_in *in, str request_hash, struct proposal *out)
{
	struct id_row found;

	if (!in->idempotency_key.len)
		return E_NOT_FOUND;
	TRY(db_one(cx, SQL_PROPOSAL_BY_KEY, id_row, &found, TEXT(cx->caller->org_id),
		TEXT(cx->caller->principal_id), TEXT(in->idempotency_key)));
	TRY(row_get(cx, cx->caller->org_id, found.id, out));
	/* the same agent for another person, or with another scope: it is not told what the first answer was */
	if (!str_eq(out->request_hash, request_hash) || !sight_is_party(cx, out) || !sight_of(cx, out))
		return fail(cx, E_IDEMPOTENCY,
			"this idempotency key was used for another request; use a new one");
	return OK;
}

/* --- what policy says --- */

static void
decide(struct ctx *cx, struct making *m, unsigned deceives, const struct handler_place *at)
{
	const struct caller *c = cx->caller;
	struct policy_facts f = { .tool = m->pass.tool,
		.principal = c->kind,
		.tier = m->pass.tier,
		.tier_stored = m->pass.tier_stored,
		.override_ = m->pass.override_,
		.auto_mode = c->auto_mode,
		.token_requires = c->approval_required,
		.in_session = gate_in_session(c),
		.may_vote = gate_may_vote(cx, c, m->pass.tool),
		.production = at->production,
		.environment_gate = at->gate,
		.in_environment = at->in_environment,
		.has_verb = at->may,
		.declared_gdpr = m->in->gdpr,
		.declared_hipaa = m->in->hipaa,
		.schema_known = tool_inspectable(cx->tools, m->pass.tool),
		.wants_no_approval = m->in->no_approval,
		.deceptive = deceives != 0 };

	if (m->in->risk_level.len)
		(void)risk_of(m->in->risk_level, &f.declared);
	m->facts = f;
	policy_decide(&m->rules, &f, &m->decision);
}

static status
refuse(struct ctx *cx, const struct making *m)
{
	return fail(cx, E_FORBIDDEN, "Forbidden: %s (%s)", m->pass.tool->name, m->decision.reasons[0]);
}

/* --- the row --- */

static void
describe(struct ctx *cx, struct making *m, int64_t now_us)
{
	const struct caller *c = cx->caller;
	const struct tool *t = m->pass.tool;
	int64_t usual = t->ttl_seconds ? t->ttl_seconds : PROPOSAL_TTL_SECONDS;
	int64_t seconds = m->in->expires_in_seconds ? m->in->expires_in_seconds : usual;

	m->p = (struct proposal){ .org_id = c->org_id,
		.id = id_at(cx->arena, now_us),
		.fresh = true,
		.tool = str_of(t->name),
		.tool_version = t->version,
		.effect = str_of(effect_name(t->effect)),
		.proposer_id = c->principal_id,
		.proposer_kind = str_of(principal_kind_name(c->kind)),
		.delegator_id = c->delegator_id,
		.token_id = c->token_id,
		.transport = str_of(c->transport),
		.payload = m->pass.input,
		.payload_hash = m->pass.args_hash,
		.idempotency_key = m->in->idempotency_key,
		.salt = random_hex(cx->arena, 16),
		.minted_id = id_at(cx->arena, now_us),
		.minted_at = now_us,
		.created_at = now_us,
		.expires_at = now_us + seconds * SECOND_US,
		.policy_version = m->rules.version };
}

static status
add_provenance(struct ctx *cx, struct making *m)
{
	struct json *o = json_new_object(cx->arena);

	json_add_member(o, STR("promptVersion"), json_new_string(cx->arena, m->in->prompt_version));
	json_add_member(o, STR("promptHash"), json_new_string(cx->arena, m->in->prompt_hash));
	json_add_member(o, STR("model"), json_new_string(cx->arena, m->in->model));
	json_add_member(o, STR("provider"), json_new_string(cx->arena, m->in->provider));
	json_add_member(o, STR("gdpr"), json_new_bool(cx->arena, m->in->gdpr));
	json_add_member(o, STR("hipaa"), json_new_bool(cx->arena, m->in->hipaa));
	return canon_text(cx, o, &m->p.provenance);
}

/* Whose tool it is, where it is not ours. */
static status
find_source(struct ctx *cx, const struct making *m, struct json **out)
{
	const struct tool *t = m->pass.tool;
	struct outside_source source = { 0 };

	*out = NULL;
	if (!t->outside)
		return OK;
	TRY(source_of(cx, m->p.org_id, t, &source));
	*out = source_card(cx, m->p.org_id, t, &source);
	return OK;
}

static status
make_card(struct ctx *cx, struct making *m)
{
	struct card_asked asked = { .tool = m->pass.tool,
		.input = m->in->input,
		.payload_hash = m->p.payload_hash,
		.decision = &m->decision,
		.by_id = m->p.proposer_id,
		.by_kind = m->p.proposer_kind,
		.by_name = cx->caller->name,
		.for_id = m->p.delegator_id,
		.expires_at = m->p.expires_at,
		.policy_version = m->p.policy_version,
		.survey = m->in->survey,
		.says_summary = m->in->intent_summary,
		.says_reasoning = m->in->intent_reasoning };
	const struct tool_result *seen = m->ran ? &m->run.result : NULL;
	struct handler_place at;

	TRY(handler_place(cx, cx->caller, &m->run, &at));
	if (!at.may_propose)
		return gate_refuse(cx, cx->caller, m->pass.tool, at.production);
	decide(cx, m, card_deceives(cx, &asked, seen), &at);
	if (m->decision.verdict == VERDICT_REFUSE)
		return refuse(cx, m);
	TRY(find_source(cx, m, &asked.source));
	TRY(tally_approvers(cx, m->p.org_id, &m->decision, &asked.approvers));
	TRY(card_make(cx, &asked, seen, &m->card));
	m->p.card = m->card.text;
	TRY(row_card(cx, &m->p, &m->p.card_read));
	m->p.view_hash = m->card.view_hash;
	m->p.summary = m->card.summary;
	m->p.risk = str_of(risk_name(m->decision.risk));
	m->p.votes_needed = m->decision.votes;
	m->p.four_eyes = m->decision.four_eyes;
	m->p.environment_id = m->run.result.environment_id;
	m->p.resource_type = m->run.result.resource_type;
	m->p.resource_key = m->run.result.resource_key;
	m->p.subject = m->run.result.subject;
	/* zero votes needed means inserted as approved; the claim accepts only approved */
	m->p.state = m->p.votes_needed > 0 ? PROPOSAL_PENDING : PROPOSAL_APPROVED;
	TRY(agreed_facts(cx, &m->facts, m->run.result.environment_count > 0, &m->p.facts));
	m->p.proposer_may = at.may;
	m->p.at_once = m->pass.tool->direct && m->decision.verdict == VERDICT_RUN;
	return OK;
}

static status /* with a key inside a savepoint: the same one may have come at the same moment */
store(struct ctx *cx, void *arg)
{
	struct making *m = arg;
	struct audit_entry entry = { .action = AUDIT_PROPOSAL_CREATED,
		.resource_type = STR("proposal"),
		.resource_id = m->p.id,
		.resource_key = m->p.id,
		.proposal_id = m->p.id,
		.tool = m->p.tool,
		.args_hash = m->p.payload_hash,
		.risk = m->p.risk,
		.reason = m->in->again_of.len
				  ? arena_printf(cx->arena, "repropose:%.*s", STR_ARG(m->in->again_of))
				  : (str){ 0 },
		.with_override = m->pass.override_ && m->decision.verdict == VERDICT_RUN,
		.prompt_version = m->in->prompt_version,
		.prompt_hash = m->in->prompt_hash,
		.model = m->in->model,
		.provider = m->in->provider };

	/* the three rows travel together: a key that is there already is said by the last of them, or by the
	 * nest */
	TRY(gate_record(cx, &m->pass, "proposed", m->p.id, &m->p.tool_call_id));
	TRY(add_provenance(cx, m));
	TRY(row_add(cx, &m->p));
	if (FAULT_FAILS(propose_after_store))
		return fail(cx, E_UNAVAILABLE, "stopped before the audit entry");
	entry.tool_call_id = m->p.tool_call_id;
	entry.chain = &(struct audit_chain){ .proposal_id = m->p.id };
	TRY(audit_add(cx, &entry, NULL));
	proposal_emit(cx, &m->p);
	return OK;
}

static status
dry_run(struct ctx *cx, struct making *m)
{
	m->run = (struct handler_run){ .tool = m->pass.tool,
		.call = { .input = m->in->input,
			.id = m->p.minted_id,
			.now_us = m->p.minted_at,
			.actor_id = m->p.proposer_id } };
	if (m->pass.tool->outside) { /* nothing of it is tried: the card says what is known */
		TRY(handler_foresee(cx, &m->run));
		m->ran = true;
		return handler_in_scope(cx, cx->caller, &m->run);
	}
	/* a read that needs approval is not run before it is approved (TL-6) */
	if (m->pass.tool->effect == OP_READ)
		return OK;
	TRY(tx_try_later(cx, handler_run, &m->run)); /* what fails later fails the proposal, too */
	m->ran = true;
	return handler_in_scope(cx, cx->caller, &m->run);
}

static status
check_request(struct ctx *cx, const struct propose_in *in)
{
	enum risk risk;

	if (in->risk_level.len && !risk_of(in->risk_level, &risk)) {
		fail_issue(cx, STR("/riskLevel"), STR("must be one of: low, medium, high"));
		return fail(cx, E_INVALID, "the risk level is not one");
	}
	return OK;
}

/* What the document says about itself: the tool's version, and the proposer's own domain (PA-11). */
static status
check_document(struct ctx *cx, const struct making *m)
{
	static const struct field domain_row[] = { FIELD_TEXT(struct id_row, id), FIELD_END };
	struct id_row domain;

	if (m->in->tool_version && m->in->tool_version != m->pass.tool->version) {
		fail_issue(cx, STR("/tool/version"), STR("is not the version that there is"));
		return fail(cx, E_INVALID, "version %d of %s is the one that there is", m->pass.tool->version,
			m->pass.tool->name);
	}
	if (!m->in->domain.len)
		return OK;
	TRY(db_one(cx, SQL_PROPOSAL_DOMAIN, domain_row, &domain, TEXT(cx->caller->org_id),
		TEXT(cx->caller->principal_id)));
	if (domain.id.len && !str_eq(domain.id, m->in->domain)) {
		fail_issue(cx, STR("/domain"), STR("must be the proposer's own"));
		return fail(cx, E_INVALID, "the domain must be the proposer's own");
	}
	return OK;
}

/* OK: *out is the proposal that this key had before. E_NOT_FOUND: the key is new. */
static status
answer_again(
	struct ctx *cx, const struct propose_in *in, str request_hash, struct proposal *out, str *out_token)
{
	TRY(replay(cx, in, request_hash, out));
	*out_token = row_token(cx, out);
	return OK;
}

static status
make(struct ctx *cx, struct making *m, str request_hash)
{
	int64_t now_us;

	if (!m->open)
		TRY(retention_ask(cx, &m->open));
	TRY(retention_room(cx, m->open));
	TRY(check_document(cx, m));
	TRY(tx_now_us(cx, &now_us));
	TRY(policy_rules_of(cx, cx->caller, &m->rules));
	describe(cx, m, now_us);
	m->p.request_hash = request_hash;
	TRY(dry_run(cx, m));
	if (FAULT_FAILS(propose_after_dry_run))
		return fail(cx, E_UNAVAILABLE, "stopped after the dry-run");
	TRY(make_card(cx, m));
	return m->in->idempotency_key.len ? tx_nest(cx, store, m) : store(cx, m);
}

/* Behind the gate. */
static status
propose(struct ctx *cx, struct making *m, struct proposal *out, str *out_token)
{
	str request_hash;
	status s;

	TRY(hash_request(cx, m->in, &request_hash));
	s = answer_again(cx, m->in, request_hash, out, out_token);
	if (s != E_NOT_FOUND)
		return s;
	ctx_clear(cx);
	s = make(cx, m, request_hash);
	if (s == E_EXISTS && m->in->idempotency_key.len)
		return answer_again(cx, m->in, request_hash, out, out_token); /* it has just been used */
	TRY(s);
	*out = m->p;
	*out_token = row_token(cx, &m->p);
	return OK;
}

status
proposal_propose(struct ctx *cx, const struct propose_in *in, struct proposal *out, str *out_token)
{
	struct making m = { .in = in };

	TRY(handler_alone(cx));
	TRY(check_request(cx, in));
	TRY(retention_ask(cx, &m.open));
	TRY(gate_enter(cx, in->tool, in->input, &m.pass));
	return propose(cx, &m, out, out_token);
}

/* --- again --- */

static str
text_of(const struct json *o, str key)
{
	const struct json *value = json_get(o, key);

	return value && value->type == JSON_STRING ? value->text : (str){ 0 };
}

static bool
truth_of(const struct json *o, str key)
{
	const struct json *value = json_get(o, key);

	return value && value->truth;
}

/* What was asked for, from what was stored of it. The risk it had is the floor of the new one, and a wish for no
 * approval is not repeated. */
status
proposal_again(struct ctx *cx, str id, struct propose_in *out)
{
	struct json *payload, *card, *from;
	const struct json *says;
	struct proposal p;

	TRY(row_get(cx, cx->caller->org_id, id, &p));
	TRY(sight_require(cx, &p));
	if (p.erased.len)
		return fail(cx, E_CONFLICT, "what it said was erased; propose it in full");
	TRY(json_parse(cx, p.payload, &payload));
	TRY(json_parse(cx, p.card, &card));
	TRY(json_parse(cx, p.provenance, &from));
	says = json_get(card, STR("agentSays"));
	*out = (struct propose_in){ .tool = p.tool,
		.input = payload,
		.intent_summary = text_of(says, STR("summary")),
		.intent_reasoning = text_of(says, STR("reasoning")),
		.idempotency_key = cx->idempotency_key,
		.expires_in_seconds = (p.expires_at - p.created_at) / SECOND_US,
		.risk_level = p.risk,
		.gdpr = truth_of(from, STR("gdpr")),
		.hipaa = truth_of(from, STR("hipaa")),
		.prompt_version = text_of(from, STR("promptVersion")),
		.prompt_hash = text_of(from, STR("promptHash")),
		.model = text_of(from, STR("model")),
		.provider = text_of(from, STR("provider")),
		.again_of = p.id };
	return OK;
}

/* --- a call: a read that policy lets run runs at once (TL-5) --- */

/* Behind the gate: *out has a result, or what is to be sent. */
static status
run_read(struct ctx *cx, struct making *m, struct proposal_called *out)
{
	struct handler_place at;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	m->pass.call_id = id_at(cx->arena, now_us);
	m->run = (struct handler_run){ .tool = m->pass.tool,
		.call = { .input = m->in->input,
			.id = m->pass.call_id,
			.now_us = now_us,
			.actor_id = cx->caller->principal_id } };
	TRY(m->pass.tool->outside ? handler_locate(cx, &m->run) : handler_run(cx, &m->run));
	TRY(handler_in_scope(cx, cx->caller, &m->run));
	TRY(handler_place(cx, cx->caller, &m->run, &at));
	if (!at.may)
		return gate_refuse(cx, cx->caller, m->pass.tool, at.production);
	out->tool_call_id = m->pass.call_id;
	if (m->pass.tool->outside) {
		TRY(send_possible(cx, m->pass.tool));
		out->sending = send_read(cx, &m->pass, now_us);
		return OK;
	}
	out->ran = true;
	out->value = m->run.result.value;
	return OK;
}

/* Policy lets it run, or asks and misses nobody: a person who may read it has agreed by asking (docs/policy.md), so there
 * is nothing to wait for. It is a read: with their own token, too, but for what is of high risk; over MCP a model asks. */
static bool
runs_now(const struct ctx *cx, const struct policy_decision *d)
{
	bool own = d->consent == CONSENT_CONFIRMING && d->votes == 1 && d->risk != RISK_HIGH &&
		   strcmp(cx->caller->transport, "mcp") != 0;

	return d->verdict == VERDICT_RUN || (d->verdict == VERDICT_ASK && (d->votes == 0 || own));
}

/* What policy says of a read that has passed the gate. */
static status
judge_read(struct ctx *cx, struct making *m)
{
	TRY(policy_rules_of(cx, cx->caller, &m->rules));
	decide(cx, m, 0, &(struct handler_place){ .production = true, .may = m->pass.has_verb });
	return OK;
}

status
proposal_call(struct ctx *cx, const struct propose_in *in, struct proposal_called *out)
{
	struct making m = { .in = in };
	const struct tool *t;

	TRY(handler_alone(cx));
	t = tool_find(cx->tools, in->tool);
	if (t && t->effect != OP_READ) /* it will be a proposal */
		TRY(retention_ask(cx, &m.open));
	TRY(gate_enter(cx, in->tool, in->input, &m.pass));
	if (m.pass.tool->effect != OP_READ)
		return propose(cx, &m, &out->p, &out->token);
	TRY(judge_read(cx, &m));
	if (m.decision.verdict == VERDICT_REFUSE)
		return refuse(cx, &m);
	if (!runs_now(cx, &m.decision))
		return propose(cx, &m, &out->p, &out->token);
	TRY(run_read(cx, &m, out));
	return out->ran ? gate_record(cx, &m.pass, "executed", (str){ 0 }, &out->tool_call_id) : OK;
}

/* Paid for last: whatever fails before is said, and charged, by the transaction that runs instead. */
status
proposal_call_in_read(struct ctx *cx, const struct propose_in *in, struct proposal_called *out)
{
	struct proposal_called called = { 0 };
	struct making m = { .in = in };
	int64_t now_us;

	TRY(handler_alone(cx));
	TRY(gate_look(cx, in->tool, in->input, &m.pass));
	if (m.pass.tool->effect != OP_READ)
		return E_BUSY;
	TRY(judge_read(cx, &m));
	if (!runs_now(cx, &m.decision))
		return E_BUSY;
	TRY(run_read(cx, &m, &called));
	if (called.sending)
		TRY(send_prepare(cx, called.sending));
	TRY(tx_now_us(cx, &now_us));
	if (!gate_pay(cx) || (called.ran && !gate_record_behind(cx, cx->caller, &m.pass, "executed", now_us)))
		return E_BUSY;
	*out = called;
	return OK;
}

void
proposal_emit(struct ctx *cx, const struct proposal *p)
{
	/* its row says how many entries it has, or nobody could use it again */
	CHECK(!p->chain || p->chain->kept == p->chain->number);
	event_emit(cx, &(struct event){ .org_id = p->org_id,
			       .id = p->id,
			       .type = arena_printf(cx->arena, "proposal.%.*s", STR_ARG(p->state_name)),
			       .data = arena_printf(cx->arena,
				       "{\"proposalId\":\"%.*s\",\"tool\":\"%.*s\",\"status\":\"%.*s\","
				       "\"risk\":\"%.*s\"}",
				       STR_ARG(p->id), STR_ARG(p->tool), STR_ARG(p->state_name),
				       STR_ARG(p->risk)) });
}
