/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ident/recall.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/scoped.h"
#include "core/known/keep.h"

#include <stdatomic.h>
#include <stdlib.h>

#define SETS 1024u
#define WAYS 4u /* callers of one set: so that two busy ones seldom push each other out */

/* A caller and who uses it: the table counts as one user. */
struct kept {
	struct caller caller; /* first: what users hold; its texts and lists are in rest */
	unsigned char key[KEEP_KEY];
	int64_t at_us;
	bool renewing; /* somebody has been sent to the database */
	atomic_uint users;
	max_align_t rest[];
};

/* Evaluations of one token in one second. */
struct rate {
	uint64_t token; /* hash of its id: another one with the same place begins anew */
	int64_t second, count;
};

struct recall {
	unsigned char secret[KEEP_SECRET]; /* constant */
	pthread_mutex_t lock;
	uint64_t changes;
	int64_t per_second;
	struct kept *table[SETS][WAYS];
	struct rate rates[SETS];
};

struct recall *
recall_new(int64_t per_second)
{
	struct recall *r = calloc(1, sizeof(*r));

	CHECK(r != NULL);
	r->per_second = per_second;
	random_bytes(r->secret, sizeof(r->secret));
	CHECK(pthread_mutex_init(&r->lock, NULL) == 0);
	return r;
}

static void
drop(struct kept *k)
{
	if (k && atomic_fetch_sub(&k->users, 1) == 1)
		free(k);
}

void
recall_free(struct recall *r)
{
	if (!r)
		return;
	for (size_t s = 0; s < SETS; s++)
		for (size_t w = 0; w < WAYS; w++)
			drop(r->table[s][w]);
	CHECK(pthread_mutex_destroy(&r->lock) == 0);
	free(r);
}

static struct kept *
new_kept(const struct caller *caller)
{
	struct caller lean = *caller;
	struct kept *k;

	lean.settings = lean.session_id = (str){ NULL, 0 };
	lean.tier_count = 0;
	lean.tiers_read = false;
	k = malloc(sizeof(*k) + keep_room(&lean));
	CHECK(k != NULL);
	keep_copy(&lean, k->rest, &k->caller);
	k->renewing = false;
	atomic_init(&k->users, 1);
	return k;
}

/* --- the table --- */

/* Where the key is in the table, or where it would go: an empty place, or that of the oldest. */
static struct kept **
place(struct recall *r, const unsigned char *key)
{
	struct kept **set = r->table[(key[0] | (unsigned)key[1] << 8) % SETS], **best = &set[0];

	for (size_t w = 0; w < WAYS; w++) {
		if (set[w] && memcmp(set[w]->key, key, sizeof(set[w]->key)) == 0)
			return &set[w];
		if (*best && (!set[w] || set[w]->at_us < (*best)->at_us))
			best = &set[w];
	}
	return best;
}

struct recall_mark
recall_begin(struct recall *r)
{
	scoped_lock held = lock(&r->lock);

	return (struct recall_mark){ clock_mono_us(), r->changes };
}

/* Gives back what was there, or k where it may not stay. */
static struct kept *
put(struct recall *r, uint64_t changes, struct kept *k)
{
	scoped_lock held = lock(&r->lock);
	struct kept **at = place(r, k->key), *old = *at;

	if (r->changes != changes)
		return k;
	*at = k;
	return old;
}

void
recall_keep(struct recall *r, struct recall_mark m, const struct credential *c, const struct caller *caller)
{
	struct kept *k;

	if (!caller->via_token || !c->bearer.len ||
		caller->audience.len) /* that one is not good everywhere */
		return;
	k = new_kept(caller);
	k->at_us = m.at_us;
	keep_key(r->secret, c->bearer, k->key);
	drop(put(r, m.changes, k));
}

static struct kept *
get(struct recall *r, const unsigned char *key)
{
	scoped_lock held = lock(&r->lock);
	struct kept *k = *place(r, key);
	int64_t age_us;

	if (!k || memcmp(k->key, key, sizeof(k->key)) != 0)
		return NULL;
	age_us = clock_mono_us() - k->at_us;
	if (age_us >= LIMIT_RECALL_US)
		return NULL;
	if (age_us >= LIMIT_RECALL_US / 2 && !k->renewing) {
		k->renewing = true;
		return NULL;
	}
	(void)atomic_fetch_add(&k->users, 1);
	return k;
}

const struct caller *
recall_find(struct recall *r, const struct credential *c)
{
	unsigned char key[KEEP_KEY];
	struct kept *k;

	if (!c->bearer.len)
		return NULL;
	keep_key(r->secret, c->bearer, key);
	k = get(r, key);
	if (!k)
		return NULL;
	if (k->caller.expires_at > clock_now_us() && caller_may_come_from(&k->caller, c->peer))
		return &k->caller;
	drop(k);
	return NULL;
}

void
recall_release(const struct caller *c)
{
	/* what users hold is const; its count is ours */
	drop((struct kept *)(uintptr_t)c);
}

static struct kept *
take_out(struct recall *r, const unsigned char *key)
{
	scoped_lock held = lock(&r->lock);
	struct kept **at = place(r, key), *k = *at;

	if (!k || memcmp(k->key, key, sizeof(k->key)) != 0)
		return NULL;
	*at = NULL;
	return k;
}

void
recall_drop(struct recall *r, const struct credential *c)
{
	unsigned char key[KEEP_KEY];

	if (!c->bearer.len)
		return;
	keep_key(r->secret, c->bearer, key);
	drop(take_out(r, key));
}

void
recall_forget(struct recall *r, str org_id)
{
	scoped_lock held = lock(&r->lock);

	r->changes++;
	for (size_t s = 0; s < SETS; s++) {
		for (size_t w = 0; w < WAYS; w++) {
			struct kept **at = &r->table[s][w];

			if (!*at || !str_eq((*at)->caller.org_id, org_id))
				continue;
			drop(*at);
			*at = NULL;
		}
	}
}

/* --- how often --- */

static bool
is_too_often(struct recall *r, uint64_t token)
{
	scoped_lock held = lock(&r->lock);
	struct rate *rate = &r->rates[token % SETS];
	int64_t second = clock_mono_us() / SECOND_US;

	if (rate->token != token || rate->second != second)
		*rate = (struct rate){ .token = token, .second = second };
	return ++rate->count > r->per_second;
}

status
recall_count(struct ctx *cx, const struct caller *c)
{
	uint64_t token = UINT64_C(14695981039346656037); /* FNV-1a */

	if (!cx->recall || !cx->recall->per_second || !c->token_id.len)
		return OK;
	for (size_t i = 0; i < c->token_id.len; i++)
		token = (token ^ (unsigned char)c->token_id.ptr[i]) * UINT64_C(1099511628211);
	if (!is_too_often(cx->recall, token))
		return OK;
	ctx_header(cx, "Retry-After", STR("1"));
	return fail(cx, E_RATE_LIMITED, "this token may evaluate %lld times a second here; wait a second",
		(long long)cx->recall->per_second);
}
