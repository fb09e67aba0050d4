/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/store/direct.h"

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
		return fail(cx, E_SCOPE, "the environment %.*s is outside the scope of your token",
			STR_ARG(e->slug));
	return fail(cx, E_SCOPE, "the key %.*s is outside the scope of your token", STR_ARG(key));
}

static status
may(struct ctx *cx, const struct environment *e, enum resource r, enum verb verb, str key, const char *kind)
{
	str rule = rule_of(cx, r, verb);

	if (!caller_may_in(cx->caller, rule, e->production))
		return fail(cx, E_FORBIDDEN,
			"Forbidden: changing the environment %.*s (missing permission: %.*s); propose it: %s",
			STR_ARG(e->slug), STR_ARG(rule), kind);
	return direct_in_scope(cx, e, key);
}

static status
wanted_by_token(struct ctx *cx, const char *kind)
{
	if (!cx->caller->approval_required)
		return OK;
	return fail(cx, E_APPROVAL, "what this token asks for needs approval; propose it: %s", kind);
}

status
direct_may_write(struct ctx *cx, const struct environment *e, enum resource r, enum verb verb, str key,
	const char *kind)
{
	TRY(may(cx, e, r, verb, key, kind));
	TRY(wanted_by_token(cx, kind));
	if (e->approval_gate)
		return fail(cx, E_APPROVAL, "changes in the environment %.*s need approval; propose it: %s",
			STR_ARG(e->slug), kind);
	return OK;
}

status
direct_may_write_all(struct ctx *cx, const struct project *p, enum resource r, enum verb verb, str key,
	const char *kind, bool gate)
{
	TRY(wanted_by_token(cx, kind));
	for (size_t i = 0; i < p->environment_count; i++)
		TRY(gate ? direct_may_write(cx, &p->environments[i], r, verb, key, kind)
			 : may(cx, &p->environments[i], r, verb, key, kind));
	return OK;
}
