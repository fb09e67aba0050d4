/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/handler.h"

#include "core/ident/caller.h"
#include "db/db.h"

#include "core/proposal/handler.sql.h" /* SQL_HANDLER_*, generated from handler.sql */

status
handler_run(struct ctx *cx, void *arg)
{
	struct handler_run *run = arg;
	struct tool_result result = { 0 };

	TRY(run->tool->run(cx, &run->call, &result));
	run->result = result;
	return OK;
}

struct production_row {
	bool production;
};
static const struct field production_row[] = { FIELD_BOOL(struct production_row, production), FIELD_END };

status
handler_production(struct ctx *cx, str environment_id, bool *out_production)
{
	struct production_row row = { .production = true };
	status s = db_one(cx, SQL_HANDLER_PRODUCTION, production_row, &row, TEXT(cx->caller->org_id),
		TEXT(environment_id));

	if (s != E_NOT_FOUND)
		TRY(s);
	*out_production = row.production;
	return OK;
}
