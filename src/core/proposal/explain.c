/* SPDX-License-Identifier: Apache-2.0 */
/* What policy would say, and why: decides nothing, keeps nothing. */
#include "base/limits.h"
#include "core/gate/gate.h"
#include "core/gate/settings.h"
#include "core/visibility.h"
#include "core/proposal/handler.h"
#include "core/proposal/proposal.h"
#include "core/proposal/tally.h"
#include "core/card/visible.h"
#include "db/db.h"

#include "core/gate/permission.sql.h" /* SQL_PERMISSION_*, generated from permission.sql */

struct explain_in {
	str principal_id, tool, environment_id;
	struct json *input;
};
static const struct field explain_in[] = {
	FIELD_TEXT(struct explain_in, principal_id, .max = 64, .doc = "For whom; you yourself unless said."),
	FIELD_TEXT(
		struct explain_in, tool, .need = true, .min = 1, .max = LIMIT_TOOL_NAME, .doc = "Its name."),
	FIELD_JSON(struct explain_in, input, .doc = "What it would be called with."),
	FIELD_TEXT(struct explain_in, environment_id, .max = 64, .doc = "Where; production unless said."),
	FIELD_END,
};

struct explain_out {
	str verdict, permission_status;
	struct json *risk, *reasons, *groups;
	int64_t votes, policy_version;
	bool four_eyes, proposer_may_confirm, stored, has_verb;
};
static const char *const verdicts[] = { "refuse", "ask", "run", NULL };
static const struct field explain_out[] = {
	FIELD_TEXT(struct explain_out, verdict, .need = true, .choices = verdicts,
		.doc = "What would be decided."),
	FIELD_JSON(struct explain_out, reasons, .need = true, .doc = "Every rule that applies, in words."),
	FIELD_JSON(struct explain_out, risk, .need = true, .doc = "The level and what raised it."),
	FIELD_INT(struct explain_out, votes, .need = true, .doc = "How many people must agree."),
	FIELD_JSON(struct explain_out, groups, .need = true,
		.doc = "The teams of whom so many must be among them: {teamId, team, votes}."),
	FIELD_BOOL(struct explain_out, four_eyes, .need = true,
		.doc = "The person it is proposed for cannot be one of them."),
	FIELD_BOOL(struct explain_out, proposer_may_confirm, .need = true,
		.doc = "Who proposes it, a person, can be one of them: signed in, for the stored card."),
	FIELD_TEXT(struct explain_out, permission_status, .need = true, .doc = "The tool's tier for them."),
	FIELD_BOOL(
		struct explain_out, stored, .need = true, .doc = "An admin said so; otherwise the default."),
	FIELD_BOOL(struct explain_out, has_verb, .need = true,
		.doc = "They hold the tool's own rules, not only the right to propose."),
	FIELD_INT(struct explain_out, policy_version, .need = true, .doc = "Of the rules this follows."),
	FIELD_END,
};

struct kind_row {
	str kind;
};
static const struct field kind_row[] = { FIELD_TEXT(struct kind_row, kind), FIELD_END };

/* Another principal, without a credential: an agent then holds nothing by itself, a person their roles. */
static status
load_subject(struct ctx *cx, str id, struct caller *out)
{
	static const char *const needed[] = { "policy.settings.read", NULL };
	struct kind_row row;
	struct caller c = { .org_id = cx->caller->org_id, .principal_id = id };
	status s;

	TRY(caller_require(cx, cx->caller, "policy_explain", needed));
	s = db_one(cx, SQL_PERMISSION_PRINCIPAL, kind_row, &row, TEXT(c.org_id), TEXT(id));
	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "there is no principal with this id");
	TRY(s);
	if (!principal_kind_of(row.kind, &c.kind))
		return fail(cx, E_INTERNAL, "a principal of a kind that there is not");
	c.scope.all_environments = c.scope.all_keys = true;
	if (c.kind == PRINCIPAL_USER)
		TRY(caller_live_rules(cx, c.org_id, id, &c.rules));
	*out = c;
	return OK;
}

static status
gather(struct ctx *cx, const struct explain_in *i, const struct caller *who, struct policy_facts *out)
{
	struct permission_snapshot snapshot;
	const struct visibility *own;
	struct policy_facts f = { .tool = tool_find(cx->tools, i->tool),
		.principal = who->kind,
		.auto_mode = who->auto_mode,
		.token_requires = who->approval_required,
		.in_session = gate_in_session(who),
		.production = true };
	unsigned found = 0;
	bool self = who == cx->caller;

	TRY(permission_load(cx, who, &snapshot));
	if (f.tool)
		f.tier = permission_tier(&snapshot, f.tool, &f.tier_stored);
	TRY(visibility_of(cx, &own));
	if (!f.tool || !visibility_has_tool(own, str_of(f.tool->name)) ||
		(self && !gate_lists(who, &snapshot, f.tool)))
		return fail(cx, E_NOT_FOUND, "there is no tool called \"%.*s\"", STR_ARG(i->tool));
	f.override_ = permission_override(&snapshot, f.tool);
	f.schema_known = tool_inspectable(cx->tools, f.tool);
	f.in_environment = i->environment_id.len > 0;
	if (f.in_environment)
		TRY(handler_environment(cx, i->environment_id, &f.production, &f.environment_gate));
	f.has_verb = gate_may(who, f.tool, f.production);
	f.may_vote = gate_may_vote(cx, who, f.tool);
	if (i->input) {
		TRY(gate_check_input(cx, f.tool, i->input));
		(void)visible_json(cx->arena, i->input, &found);
	}
	f.deceptive = found != 0;
	*out = f;
	return OK;
}

static void
out_reasons(struct json_out *out, const char *const *reasons)
{
	json_out_array(out, "reasons");
	for (; *reasons; reasons++)
		json_out_str(out, NULL, str_of(*reasons));
	json_out_end(out);
}

static status
run_explain(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct explain_in *i = in;
	const struct caller *who = cx->caller;
	struct caller other;
	struct policy_rules rules;
	struct policy_facts facts;
	struct policy_decision d;
	struct json *groups;

	if (i->principal_id.len && !str_eq(i->principal_id, who->principal_id)) {
		TRY(load_subject(cx, i->principal_id, &other));
		who = &other;
	}
	TRY(policy_rules_load(cx, cx->caller->org_id, &rules));
	TRY(gather(cx, i, who, &facts));
	policy_decide(&rules, &facts, &d);
	TRY(tally_approvers(cx, cx->caller->org_id, &d, &groups));
	json_out_str(out, "verdict", str_of(verdicts[d.verdict]));
	out_reasons(out, d.reasons);
	json_out_object(out, "risk");
	json_out_str(out, "level", str_of(risk_name(d.risk)));
	out_reasons(out, d.risk_reasons);
	json_out_end(out);
	json_out_int(out, "votes", d.votes);
	json_out_value(out, "groups", groups ? groups : json_new_array(cx->arena));
	json_out_bool(out, "fourEyes", d.four_eyes);
	json_out_bool(out, "proposerMayConfirm", d.consent == CONSENT_CONFIRMING);
	json_out_str(out, "permissionStatus", str_of(tier_name(facts.tier)));
	json_out_bool(out, "stored", facts.tier_stored);
	json_out_bool(out, "hasVerb", facts.has_verb);
	json_out_int(out, "policyVersion", rules.version);
	return OK;
}

const struct op explain_ops[] = {
	{ .name = "policy_explain",
		.method = "POST",
		.path = "/api/v1/policy/explain",
		.rule = RULE_ANYBODY,
		.tx = OP_TX_READ,
		.doc = "Says what would be decided about a call, and every reason. It calls nothing and "
		       "costs "
		       "nothing. For another principal it needs policy.settings.read.",
		.in = explain_in,
		.in_size = sizeof(struct explain_in),
		.out = explain_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_UNAVAILABLE),
		.run = run_explain },
	{ 0 },
};
