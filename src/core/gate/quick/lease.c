/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/quick/lease.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/scoped.h"
#include "core/id.h"
#include "core/known/keep.h"
#include "db/db.h"

#include <stdlib.h>

#include "core/gate/budget.sql.h" /* SQL_BUDGET_*, generated from budget.sql */

#define SETS	   ((size_t)256)
#define WAYS	   ((size_t)4)
#define SPARE	   256u
#define FILLING_US INT64_C(50000) /* a transaction that has not come back by then will not */

struct held {
	unsigned char key[KEEP_KEY];
	int64_t asked_us;   /* when the database was last asked; 0: nobody's place */
	int64_t filling_us; /* when somebody last set out to fill a slot: one at a time */
	struct lease lease;
	char org_id[ID_LENGTH], principal_id[ID_LENGTH]; /* what lease's point to */
};

struct leases {
	unsigned char secret[KEEP_SECRET]; /* constant */
	pthread_mutex_t lock;		   /* guards the rest */
	struct held all[SETS][WAYS];
	struct held spare[SPARE]; /* that are over, or came too late to be of use: to be given back */
};

struct leases *
leases_new(void)
{
	struct leases *l = calloc(1, sizeof(*l));

	CHECK(l != NULL);
	random_bytes(l->secret, sizeof(l->secret));
	CHECK(pthread_mutex_init(&l->lock, NULL) == 0);
	return l;
}

void
leases_free(struct leases *l)
{
	if (!l)
		return;
	CHECK(pthread_mutex_destroy(&l->lock) == 0);
	free(l);
}

/* --- the table: with the lock held --- */

static struct held *
set_of(struct leases *l, const unsigned char *key)
{
	return l->all[(key[0] | (unsigned)key[1] << 8) % SETS];
}

static struct held *
find(struct leases *l, const unsigned char *key)
{
	struct held *set = set_of(l, key);

	for (size_t w = 0; w < WAYS; w++)
		if (set[w].asked_us && memcmp(set[w].key, key, KEEP_KEY) == 0)
			return &set[w];
	return NULL;
}

/* A new one for the key, in place of the one that was asked for longest ago and holds nothing; or NULL. */
static struct held *
make(struct leases *l, const unsigned char *key)
{
	struct held *set = set_of(l, key), *best = NULL;

	for (size_t w = 0; w < WAYS; w++)
		if (!set[w].lease.calls && (!best || set[w].asked_us < best->asked_us))
			best = &set[w];
	if (best) {
		*best = (struct held){ 0 };
		memcpy(best->key, key, KEEP_KEY);
	}
	return best;
}

static bool
has_calls(const struct held *h)
{
	return h && h->lease.calls > 0 && clock_mono_us() < h->lease.until_us;
}

static str
keep_id(char room[ID_LENGTH], str id)
{
	CHECK(id.len <= ID_LENGTH);
	memcpy(room, id.ptr, id.len);
	return (str){ room, id.len };
}

static void
hold(struct held *h, const struct lease *what)
{
	h->lease = *what;
	h->lease.org_id = keep_id(h->org_id, what->org_id);
	h->lease.principal_id = keep_id(h->principal_id, what->principal_id);
	h->filling_us = 0;
}

/* To be given back by the next sweep. False: there are too many already. */
static bool
hold_spare(struct leases *l, const struct lease *what)
{
	for (size_t i = 0; i < SPARE; i++) {
		if (!l->spare[i].lease.calls) {
			hold(&l->spare[i], what);
			l->spare[i].lease.until_us = 0;
			return true;
		}
	}
	return false;
}

/* What is left of a lease that is over makes room for the next one: a token that stays busy does not wait for the
 * sweep. */
static void
lay_aside(struct leases *l, struct held *h, int64_t now_us)
{
	if (h->lease.calls && now_us >= h->lease.until_us && hold_spare(l, &h->lease))
		h->lease.calls = 0;
}

/* --- taking --- */

bool
lease_wanted(struct leases *l, const struct credential *c)
{
	unsigned char key[KEEP_KEY];
	int64_t now_us = clock_mono_us();
	struct held *h;
	bool busy;

	keep_key(l->secret, c->bearer, key);
	scoped_lock held = lock(&l->lock);
	h = find(l, key);
	if (h)
		lay_aside(l, h, now_us);
	busy = h && !h->lease.calls && now_us - h->asked_us < LIMIT_LEASE_US &&
	       now_us - h->filling_us > FILLING_US;
	if (!h)
		h = make(l, key);
	if (!h)
		return false;
	h->asked_us = now_us;
	if (busy)
		h->filling_us = now_us;
	return busy;
}

void
lease_put(struct leases *l, const struct credential *c, const struct lease *what)
{
	unsigned char key[KEEP_KEY];
	struct held *h;

	keep_key(l->secret, c->bearer, key);
	scoped_lock held = lock(&l->lock);
	h = find(l, key);
	if (h && !h->lease.calls)
		hold(h, what);
	else /* two were filled for one token, or the token was pushed out meanwhile */
		(void)hold_spare(l, what); /* no room: it comes free with its window */
}

bool
lease_ready(struct leases *l, const struct credential *c)
{
	unsigned char key[KEEP_KEY];

	keep_key(l->secret, c->bearer, key);
	scoped_lock held = lock(&l->lock);
	return has_calls(find(l, key));
}

bool
lease_take(struct leases *l, const struct credential *c, struct budget *out)
{
	unsigned char key[KEEP_KEY];
	struct held *h;

	keep_key(l->secret, c->bearer, key);
	scoped_lock held = lock(&l->lock);
	h = find(l, key);
	if (!has_calls(h))
		return false;
	h->lease.calls--;
	*out = h->lease.budget;
	out->left += h->lease.calls;
	return true;
}

/* --- giving back --- */

/* With the lock held: it is over, and there are calls left of it, which are nobody's then. */
static bool
is_over(struct held *h, int64_t now_us, struct arena *a, struct lease *out)
{
	if (!h->lease.calls || now_us < h->lease.until_us)
		return false;
	*out = h->lease;
	out->org_id = arena_str(a, out->org_id);
	out->principal_id = arena_str(a, out->principal_id);
	h->lease.calls = 0;
	return true;
}

static bool
take_over(struct leases *l, struct arena *a, struct lease *out)
{
	int64_t now_us = clock_mono_us();
	scoped_lock held = lock(&l->lock);

	for (size_t i = 0; i < SETS * WAYS; i++)
		if (is_over(&l->all[i / WAYS][i % WAYS], now_us, a, out))
			return true;
	for (size_t i = 0; i < SPARE; i++)
		if (is_over(&l->spare[i], now_us, a, out))
			return true;
	return false;
}

static status
give_back(struct ctx *cx, void *arg)
{
	const struct lease *l = arg;

	return db_run(cx, SQL_BUDGET_GIVE_BACK, TEXT(l->org_id), TEXT(l->principal_id), INT(l->slot),
		INT(l->taken_at), INT(l->calls));
}

status
lease_sweep(struct ctx *cx)
{
	struct lease l;

	while (cx->leases && take_over(cx->leases, cx->arena, &l))
		TRY(tx_run(cx, give_back, &l));
	return OK;
}
