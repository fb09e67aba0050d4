/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/budget.h"

#include "base/clock.h"

#include "db/db.h"

#include <inttypes.h>

#include "core/gate/budget.sql.h" /* SQL_BUDGET_*, generated from budget.sql */

#define WINDOW_US   BUDGET_WINDOW_US
#define SLOTS	    INT64_C(128) /* of one principal, at most; above it a slot holds several calls */
#define SLOTS_FIRST 4		 /* made at a principal's first call; each call reads them */

struct number_row {
	int64_t n;
};
static const struct field number_row[] = { FIELD_INT(struct number_row, n), FIELD_END };

struct taken_row {
	int64_t used, taken_at;
};
static const struct field taken_row[] = {
	FIELD_INT(struct taken_row, used),
	FIELD_INT(struct taken_row, taken_at),
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
	struct number_row have;
	int64_t want;

	TRY(db_one(cx, SQL_BUDGET_COUNT, number_row, &have, TEXT(c->org_id), TEXT(c->principal_id)));
	want = have.n < SLOTS_FIRST ? SLOTS_FIRST : 2 * have.n;
	for (int64_t slot = have.n; slot < want && slot < slots_of(c); slot++)
		TRY(db_later(cx, SQL_BUDGET_ADD, TEXT(c->org_id), TEXT(c->principal_id), INT(slot)));
	return OK;
}

/* Calls of the window, and when the oldest slot of them was taken. */
struct usage {
	int64_t count, oldest;
	bool taken; /* a slot was free */
};

/* *out: with this call, where there was room for it. */
static status
take(struct ctx *cx, const struct caller *c, int64_t now_us, struct usage *out)
{
	struct usage u = { .oldest = now_us };
	struct taken_row *rows;
	struct db_rows slot;
	size_t count;

	/* a slot above the cap (it was lowered) is not looked at */
	TRY(db_ask(cx, SQL_BUDGET_TAKE, number_row, sizeof(struct number_row), &slot, TEXT(c->org_id),
		TEXT(c->principal_id), INT(now_us), INT(now_us - WINDOW_US), INT(c->rate_per_minute),
		INT(slots_of(c))));
	TRY(db_all(cx, SQL_BUDGET_TAKEN, taken_row, sizeof(*rows), &rows, &count, TEXT(c->org_id),
		TEXT(c->principal_id), INT(now_us - WINDOW_US)));
	for (size_t i = 0; i < count; i++) {
		u.count += rows[i].used;
		if (rows[i].taken_at < u.oldest)
			u.oldest = rows[i].taken_at;
	}
	u.taken = slot.count > 0;
	*out = u;
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
	struct usage used;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	TRY(take(cx, c, now_us, &used));
	if (!used.taken) {
		TRY(make_slots(cx, c));
		TRY(take(cx, c, now_us, &used));
	}
	b.left = b.cap > used.count ? b.cap - used.count : 0;
	b.reset_us = used.count ? used.oldest + WINDOW_US : now_us;
	*out = b;
	/* the principal's calls with other tokens, whose caps are higher, count as well */
	return used.taken && used.count <= b.cap ? OK : limited(cx, &b, now_us);
}
