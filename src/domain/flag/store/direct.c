/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/store/direct.h"

#include "core/gate/gate.h"
#include "core/gate/settings.h"
#include "core/gate/tool.h"
#include "core/ident/caller.h"

static str
rule_of(struct ctx *cx, enum resource r, enum verb verb)
{
	return arena_printf(cx->arena, "flag.%s.%s", resource_name(r), verb_name(verb));
}

status
direct_may_read(struct ctx *cx, const struct environment *e, enum resource r)
{
	str rule = rule_of(cx, r, VERB_READ);

	if (caller_may_in(cx->caller, rule, e->production))
		return OK;
	return fail(cx, E_FORBIDDEN, "Forbidden: reading in the environment %.*s (missing permission: %.*s)",
		STR_ARG(e->slug), STR_ARG(rule));
}

status
direct_in_scope(struct ctx *cx, const struct environment *e, str key)
{
	if (caller_in_scope(cx->caller, e->id, key))
		return OK;
	if (!caller_in_scope(cx->caller, e->id, (str){ 0 }))
		return fail(cx, E_SCOPE, "this environment is outside the scope of your token");
	return fail(cx, E_SCOPE, "the key %.*s is outside the scope of your token", STR_ARG(key));
}

static status
may(struct ctx *cx, const struct environment *e, enum resource r, enum verb verb, str key, const char *kind)
{
	str rule = rule_of(cx, r, verb);

	if (!caller_may_in(cx->caller, rule, e->production))
		return fail(cx, E_FORBIDDEN,
			"Forbidden: changing the environment %.*s (missing permission: %.*s); propose it: "
			"flag.%s",
			STR_ARG(e->slug), STR_ARG(rule), kind);
	return direct_in_scope(cx, e, key);
}

static status
wanted_by_token(struct ctx *cx, const char *kind)
{
	if (!cx->caller->approval_required)
		return OK;
	return fail(cx, E_APPROVAL, "what this token asks for needs approval; propose it: flag.%s", kind);
}

/* The tool that proposes the same. */
static const struct tool *
tool_of(struct ctx *cx, const char *kind)
{
	const struct tool *t = tool_of_kind(cx->tools, str_of(kind));

	return t ? t : tool_find(cx->tools, arena_printf(cx->arena, "flag.%s", kind));
}

/*
 * Does somebody else have a say? A team that policy names always; a gate where agents write, and where
 * policy wants more than the agreement of the person who writes (docs/decisions/0012).
 */
static status
others_are_asked(struct ctx *cx, const struct environment *e, const char *kind, bool *out)
{
	bool person = cx->caller->kind == PRINCIPAL_USER;
	struct policy_facts facts = { .tool = tool_of(cx, kind),
		.principal = cx->caller->kind,
		.production = e->production,
		.environment_gate = e->approval_gate,
		.in_environment = true,
		.has_verb = true,
		.in_session = gate_in_session(cx->caller),
		.schema_known = true };
	struct policy_decision d;
	struct policy_rules rules;

	TRY(policy_rules_of(cx, cx->caller, &rules));
	facts.may_vote = gate_may_vote(cx, cx->caller, facts.tool);
	policy_decide(&rules, &facts, &d);
	*out = d.group_count > 0 || (e->approval_gate && !(person && d.votes == 0));
	return OK;
}

static status
wanted_by_environment(struct ctx *cx, const struct environment *e, const char *kind)
{
	bool asked;

	TRY(others_are_asked(cx, e, kind, &asked));
	if (!asked)
		return OK;
	return fail(cx, E_APPROVAL, "changes in the environment %.*s need approval; propose it: flag.%s",
		STR_ARG(e->slug), kind);
}

status
direct_may_write(struct ctx *cx, const struct environment *e, enum resource r, enum verb verb, str key,
	const char *kind)
{
	TRY(may(cx, e, r, verb, key, kind));
	TRY(wanted_by_token(cx, kind));
	return wanted_by_environment(cx, e, kind);
}

status
direct_may_write_all(struct ctx *cx, const struct project *p, enum resource r, enum verb verb, str key,
	const char *kind, bool gate)
{
	for (size_t i = 0; i < p->environment_count; i++)
		TRY(may(cx, &p->environments[i], r, verb, key, kind));
	TRY(wanted_by_token(cx, kind));
	for (size_t i = 0; gate && i < p->environment_count; i++)
		TRY(wanted_by_environment(cx, &p->environments[i], kind));
	return OK;
}
