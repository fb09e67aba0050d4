/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/handler.h"

#include "core/ident/caller.h"
#include "db/db.h"

#include "core/proposal/proposal.sql.h" /* SQL_PROPOSAL_*, generated from proposal.sql */

status
handler_run(struct ctx *cx, void *arg)
{
	struct handler_run *run = arg;
	struct tool_result result = { 0 };
	status s;

	if (run->tool->changes_rights)
		TRY(op_need_rights(cx)); /* the dry-run, too: it may be applied in the same breath */
	cx->in_tool = true;
	s = run->tool->run(cx, &run->call, &result);
	cx->in_tool = false;
	TRY(s);
	run->result = result;
	return OK;
}

status
handler_alone(struct ctx *cx)
{
	return cx->in_tool ? fail(cx, E_INTERNAL, "a tool asked for a tool; nothing was done") : OK;
}

status
handler_outside(struct ctx *cx, const struct tool *t)
{
	return fail(cx, E_FORBIDDEN,
		"Forbidden: %s (this environment or resource is outside the token's scope)", t->name);
}

struct environment_row {
	bool production, gate;
};
static const struct field environment_row[] = {
	FIELD_BOOL(struct environment_row, production),
	FIELD_BOOL(struct environment_row, gate),
	FIELD_END,
};

status
handler_environment(struct ctx *cx, str environment_id, bool *out_production, bool *out_gate)
{
	struct environment_row row = { .production = true, .gate = true };
	status s = db_one(cx, SQL_PROPOSAL_ENVIRONMENT, environment_row, &row, TEXT(cx->caller->org_id),
		TEXT(environment_id));

	if (s != E_NOT_FOUND)
		TRY(s);
	*out_production = row.production;
	*out_gate = row.gate;
	return OK;
}
