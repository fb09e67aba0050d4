/* SPDX-License-Identifier: Apache-2.0 */
/* Who has used how much of what they may call in a minute (TL-9), for people who look after agents. */
#include "core/gate/budget.h"

#include "base/clock.h"
#include "base/limits.h"
#include "db/db.h"
#include "json/out.h"

#include "core/gate/budget.sql.h" /* SQL_BUDGET_USED, generated from budget.sql */

struct used {
	str id, name, kind;
	int64_t used, oldest, cap;
};
static const struct field row[] = {
	FIELD_TEXT(struct used, id),
	FIELD_TEXT(struct used, name),
	FIELD_TEXT(struct used, kind),
	FIELD_INT(struct used, used),
	FIELD_INT(struct used, oldest),
	FIELD_INT(struct used, cap),
	FIELD_END,
};

struct list_out {
	struct json *items;
};
static const struct field list_out[] = {
	FIELD_JSON(struct list_out, items, .need = true,
		.doc = "Who called in the last 60 seconds, most calls first, at most 50: {principalId, name, "
		       "kind, used, cap, freeAt}. cap is that of the widest token; freeAt is when the oldest "
		       "calls no longer count."),
	FIELD_END,
};

static void
write_used(struct json_out *o, const struct used *u)
{
	json_out_object(o, NULL);
	json_out_str(o, "principalId", u->id);
	json_out_str(o, "name", u->name);
	json_out_str(o, "kind", u->kind);
	json_out_int(o, "used", u->used);
	json_out_int(o, "cap", u->cap ? u->cap : LIMIT_PERSON_RATE);
	json_out_time(o, "freeAt", u->oldest + BUDGET_WINDOW_US);
	json_out_end(o);
}

static status
run_list(struct ctx *cx, const void *in, struct json_out *out)
{
	struct used *rows;
	int64_t now_us;
	size_t count;

	(void)in;
	TRY(tx_now_us(cx, &now_us));
	TRY(db_all(cx, SQL_BUDGET_USED, row, sizeof(*rows), &rows, &count, TEXT(cx->caller->org_id),
		INT(now_us - BUDGET_WINDOW_US), INT(now_us)));
	json_out_array(out, "items");
	for (size_t i = 0; i < count; i++)
		if (!caller_is_narrowed(cx->caller) || str_eq(rows[i].id, cx->caller->principal_id))
			write_used(out, &rows[i]);
	json_out_end(out);
	return OK;
}

const struct op budget_ops[] = {
	{ .name = "budget_list",
		.method = "GET",
		.path = "/api/v1/budgets",
		.rule = "access.agent.read",
		.tx = OP_TX_READ,
		.doc = "Lists who has called tools in the last minute, and how much of their budget that "
		       "was. A token for some environments or keys only sees its own.",
		.out = list_out,
		.errors = OP_ERRORS(E_UNAVAILABLE),
		.run = run_list },
	{ 0 },
};
