/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/budget.h"

#include "base/clock.h"

#include "db/db.h"

#include <inttypes.h>

#include "core/gate/budget.sql.h" /* SQL_BUDGET_*, generated from budget.sql */

#define WINDOW_US   (60 * SECOND_US)
#define SLOTS	    INT64_C(128) /* of one principal, at most; above it a slot holds several calls */
#define SLOTS_FIRST 16		 /* made at a principal's first call */

struct slots_row {
	int64_t count, oldest;
};
static const struct field slots_row[] = {
	FIELD_INT(struct slots_row, count),
	FIELD_INT(struct slots_row, oldest),
	FIELD_END,
};

static int64_t
slots_of(const struct caller *c)
{
	return c->rate_per_minute < SLOTS ? c->rate_per_minute : SLOTS;
}

/* Slots are made when they are needed, twice as many each time. */
static status
make_slots(struct ctx *cx, const struct caller *c)
{
	struct slots_row have;
	int64_t want;

	TRY(db_one(cx, SQL_BUDGET_COUNT, slots_row, &have, TEXT(c->org_id), TEXT(c->principal_id)));
	want = have.count < SLOTS_FIRST ? SLOTS_FIRST : 2 * have.count;
	for (int64_t slot = have.count; slot < want && slot < slots_of(c); slot++)
		TRY(db_later(cx, SQL_BUDGET_ADD, TEXT(c->org_id), TEXT(c->principal_id), INT(slot)));
	return OK;
}

/* *out_used: what is taken with this one and since when. E_NOT_FOUND  no slot is free */
static status
take(struct ctx *cx, const struct caller *c, int64_t now_us, struct slots_row *out_used)
{
	struct slots_row used;

	/* a slot above the cap (it was lowered) is not looked at */
	TRY(db_one(cx, SQL_BUDGET_TAKE, slots_row, &used, TEXT(c->org_id), TEXT(c->principal_id), INT(now_us),
		INT(now_us - WINDOW_US), INT(c->rate_per_minute), INT(slots_of(c))));
	if (!used.oldest)
		used.oldest = now_us;
	*out_used = used;
	return OK;
}

static status
limited(struct ctx *cx, const struct budget *b, int64_t now_us)
{
	return fail(cx, E_RATE_LIMITED,
		"%" PRId64 " calls a minute are used up; the next one is free in %" PRId64 " s", b->cap,
		(b->reset_us - now_us + SECOND_US - 1) / SECOND_US);
}

status
budget_take(struct ctx *cx, const struct caller *c, struct budget *out)
{
	struct budget b = { .cap = c->rate_per_minute };
	struct slots_row used;
	int64_t now_us;
	status taken;

	TRY(tx_now_us(cx, &now_us));
	taken = take(cx, c, now_us, &used);
	if (taken == E_NOT_FOUND) {
		ctx_clear(cx);
		TRY(make_slots(cx, c));
		taken = take(cx, c, now_us, &used);
	}
	if (taken == E_NOT_FOUND)
		TRY(db_one(cx, SQL_BUDGET_FREE, slots_row, &used, TEXT(c->org_id), TEXT(c->principal_id),
			INT(now_us - WINDOW_US)));
	else
		TRY(taken);
	b.left = b.cap > used.count ? b.cap - used.count : 0;
	b.reset_us = used.count ? used.oldest + WINDOW_US : now_us;
	*out = b;
	/* the principal's calls with other tokens, whose caps are higher, count as well */
	return taken == OK && used.count <= b.cap ? OK : limited(cx, &b, now_us);
}
