/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/budget.h"

#include "base/clock.h"

#include "base/limits.h"
#include "core/gate/quick/lease.h"
#include "db/db.h"

#include <inttypes.h>

#include "core/gate/budget.sql.h" /* SQL_BUDGET_*, generated from budget.sql */

#define WINDOW_US   BUDGET_WINDOW_US
#define SLOTS	    INT64_C(128) /* of one principal, at most; above it a slot holds several calls */
#define LEASE_LEAST 8		 /* calls of a slot: for fewer it is not worth to hold them */
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

/* Slots are made when they are needed, twice as many each time. False: there are as many as there may be. */
static status
make_slots(struct ctx *cx, const struct caller *c, bool *out_more)
{
	struct number_row have;
	int64_t want;

	TRY(db_one(cx, SQL_BUDGET_COUNT, number_row, &have, TEXT(c->org_id), TEXT(c->principal_id)));
	want = have.n < SLOTS_FIRST ? SLOTS_FIRST : 2 * have.n;
	for (int64_t slot = have.n; slot < want && slot < slots_of(c); slot++)
		TRY(db_later(cx, SQL_BUDGET_ADD, TEXT(c->org_id), TEXT(c->principal_id), INT(slot)));
	*out_more = have.n < slots_of(c);
	return OK;
}

/* Calls of the window, and when the oldest slot of them was taken. */
struct usage {
	int64_t count, oldest;
	bool taken; /* a slot was free */
};

static status
count(struct ctx *cx, const struct caller *c, int64_t now_us, struct usage *out)
{
	struct usage u = { .oldest = now_us };
	struct taken_row *rows;
	size_t found;

	TRY(db_all(cx, SQL_BUDGET_TAKEN, taken_row, sizeof(*rows), &rows, &found, TEXT(c->org_id),
		TEXT(c->principal_id), INT(now_us - WINDOW_US)));
	for (size_t i = 0; i < found; i++) {
		u.count += rows[i].used;
		if (rows[i].taken_at < u.oldest)
			u.oldest = rows[i].taken_at;
	}
	*out = u;
	return OK;
}

/* *out: with this call, where there was room for it. */
static status
take(struct ctx *cx, const struct caller *c, int64_t now_us, struct usage *out)
{
	struct db_rows slot;

	/* a slot above the cap (it was lowered) is not looked at */
	TRY(db_ask(cx, SQL_BUDGET_TAKE, number_row, sizeof(struct number_row), &slot, TEXT(c->org_id),
		TEXT(c->principal_id), INT(now_us), INT(now_us - WINDOW_US), INT(c->rate_per_minute),
		INT(slots_of(c))));
	TRY(count(cx, c, now_us, out));
	out->taken = slot.count > 0;
	return OK;
}

/* --- calls to be lent to this process --- */

struct room_row {
	int64_t slot, used;
};
static const struct field room_row[] = {
	FIELD_INT(struct room_row, slot),
	FIELD_INT(struct room_row, used),
	FIELD_END,
};

/* How many calls a slot holds, as budget_take says it. */
static int64_t
share(const struct caller *c, int64_t slot)
{
	return (c->rate_per_minute - slot + slots_of(c) - 1) / slots_of(c);
}

struct lending {
	struct leases *leases;
	const struct credential *to;
	struct lease lease;
};

static void
lend(void *arg)
{
	const struct lending *l = arg;

	lease_put(l->leases, l->to, &l->lease);
}

/* A slot is filled: one call of it is this one, the others are for those that follow. Nothing is done where the
 * principal's other calls leave no room for all of them. */
static status
take_many(struct ctx *cx, const struct caller *c, int64_t now_us, struct usage *out)
{
	struct lending *l = ARENA_NEW(cx->arena, struct lending);
	int64_t calls, until = now_us + LIMIT_LEASE_US;
	struct room_row *room;
	struct db_rows found;
	struct usage u;

	TRY(db_ask(cx, SQL_BUDGET_ROOM, room_row, sizeof(*room), &found, TEXT(c->org_id),
		TEXT(c->principal_id), INT(now_us), INT(now_us - WINDOW_US), INT(c->rate_per_minute),
		INT(slots_of(c))));
	TRY(count(cx, c, now_us, &u));
	room = found.rows;
	calls = found.count ? share(c, room->slot) - room->used : 0;
	if (calls < 2 || u.count + calls > c->rate_per_minute)
		return OK;
	TRY(db_later(cx, SQL_BUDGET_FILL, TEXT(c->org_id), TEXT(c->principal_id), INT(room->slot),
		INT(room->used + calls), INT(until)));
	u.count++;
	u.taken = true;
	*l = (struct lending){ cx->leases, cx->credential,
		{ c->org_id, c->principal_id, room->slot, until, tx_began_us(cx) + LIMIT_LEASE_US, calls - 1,
			{ .cap = c->rate_per_minute,
				.left = c->rate_per_minute - u.count - (calls - 1),
				.reset_us = u.oldest + WINDOW_US } } };
	tx_after_commit(cx, lend, l);
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
	struct usage used = { 0 };
	bool more = true;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	if (cx->leases && c->via_token && share(c, SLOTS - 1) >= LEASE_LEAST &&
		lease_wanted(cx->leases, cx->credential))
		TRY(take_many(cx, c, now_us, &used));
	if (!used.taken)
		TRY(take(cx, c, now_us, &used));
	/* again where others made the same slots at the same moment, and took them all: a burst of first calls */
	while (!used.taken && more) {
		TRY(make_slots(cx, c, &more));
		TRY(take(cx, c, now_us, &used));
	}
	b.left = b.cap > used.count ? b.cap - used.count : 0;
	b.reset_us = used.count ? used.oldest + WINDOW_US : now_us;
	*out = b;
	/* the principal's calls with other tokens, whose caps are higher, count as well */
	return used.taken && used.count <= b.cap ? OK : limited(cx, &b, now_us);
}
