/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/sight.h"

#include "core/gate/gate.h"
#include "core/proposal/handler.h"
#include "core/proposal/row.h"

static bool
is_party(const struct ctx *cx, const struct proposal *p)
{
	str me = cx->caller->principal_id;

	return str_eq(me, p->proposer_id) || (p->delegator_id.len && str_eq(me, p->delegator_id));
}

/* The database is asked only where it makes a difference; where it cannot say, the stricter holds. */
static bool
in_production(struct ctx *cx, const struct proposal *p)
{
	bool production = true, gate;

	if (!p->environment_id.len || !cx->caller->scope.production_verbs)
		return true;
	if (handler_environment(cx, p->environment_id, &production, &gate) != OK)
		ctx_clear(cx);
	return production;
}

bool
sight_may_apply(struct ctx *cx, const struct proposal *p)
{
	const struct tool *t = tool_find(cx->tools, p->tool);

	if (!t || cx->caller->kind == PRINCIPAL_SERVICE ||
		!caller_in_scope(cx->caller, p->environment_id, p->resource_key))
		return false;
	return gate_may(cx->caller, t, in_production(cx, p));
}

/* An agent that may read notes is not thereby one who may see what others want to read. */
static bool
may_decide(struct ctx *cx, const struct proposal *p)
{
	const struct tool *t = tool_find(cx->tools, p->tool);

	if (t && cx->caller->kind == PRINCIPAL_USER && caller_may(cx->caller, row_approve_rule(cx->arena, t)))
		return true;
	return t && t->effect != OP_READ && sight_may_apply(cx, p);
}

bool
sight_of(struct ctx *cx, const struct proposal *p)
{
	return is_party(cx, p) || may_decide(cx, p) || caller_may(cx->caller, STR("proposal.proposal.read"));
}

bool
sight_of_result(struct ctx *cx, const struct proposal *p)
{
	return is_party(cx, p) || str_eq(cx->caller->principal_id, p->applier_id) || sight_may_apply(cx, p);
}

status
sight_require(struct ctx *cx, const struct proposal *p)
{
	if (sight_of(cx, p))
		return OK;
	return fail(cx, E_NOT_FOUND, "there is no proposal with this id");
}
