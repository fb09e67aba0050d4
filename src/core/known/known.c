/* SPDX-License-Identifier: Apache-2.0 */
#include "core/known/known.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/scoped.h"
#include "core/known/keep.h"

#include <stdatomic.h>
#include <stdlib.h>

#define SETS 1024u
#define WAYS 4u /* callers of one set: so that two busy ones seldom push each other out */

/* A caller and who copies it just now: the table counts as one. */
struct kept {
	struct caller caller;
	unsigned char key[KEEP_KEY];
	uint64_t used; /* when it was last asked for, in finds: the oldest of a set makes room */
	atomic_uint users;
	max_align_t rest[];
};

struct known {
	unsigned char secret[KEEP_SECRET]; /* constant */
	pthread_mutex_t lock;
	uint64_t finds;
	struct kept *table[SETS][WAYS];
};

struct known *
known_new(void)
{
	struct known *k = calloc(1, sizeof(*k));

	CHECK(k != NULL);
	random_bytes(k->secret, sizeof(k->secret));
	CHECK(pthread_mutex_init(&k->lock, NULL) == 0);
	return k;
}

static void
drop(struct kept *k)
{
	if (k && atomic_fetch_sub(&k->users, 1) == 1)
		free(k);
}

void
known_free(struct known *k)
{
	if (!k)
		return;
	for (size_t s = 0; s < SETS; s++)
		for (size_t w = 0; w < WAYS; w++)
			drop(k->table[s][w]);
	CHECK(pthread_mutex_destroy(&k->lock) == 0);
	free(k);
}

/* Where the key is in the table, or where it would go: an empty place, or that of the oldest. */
static struct kept **
place(struct known *k, const unsigned char *key)
{
	struct kept **set = k->table[(key[0] | (unsigned)key[1] << 8) % SETS], **best = &set[0];

	for (size_t w = 0; w < WAYS; w++) {
		if (set[w] && memcmp(set[w]->key, key, KEEP_KEY) == 0)
			return &set[w];
		if (*best && (!set[w] || set[w]->used < (*best)->used))
			best = &set[w];
	}
	return best;
}

static struct kept *
get(struct known *k, const unsigned char *key)
{
	scoped_lock held = lock(&k->lock);
	struct kept *found = *place(k, key);

	if (!found || memcmp(found->key, key, KEEP_KEY) != 0)
		return NULL;
	found->used = ++k->finds;
	(void)atomic_fetch_add(&found->users, 1);
	return found;
}

bool
known_find(struct known *k, struct arena *a, const struct credential *c, struct caller *out)
{
	unsigned char key[KEEP_KEY];
	struct kept *found;
	void *room;

	keep_key(k->secret, c->bearer, key);
	found = get(k, key);
	if (!found)
		return false;
	room = arena_try(a, keep_room(&found->caller));
	if (room)
		keep_copy(&found->caller, room, out);
	drop(found);
	return room != NULL;
}

/* Gives back what was there. */
static struct kept *
put(struct known *k, struct kept *one)
{
	scoped_lock held = lock(&k->lock);
	struct kept **at = place(k, one->key), *old = *at;

	one->used = ++k->finds;
	*at = one;
	return old;
}

void
known_keep(struct known *k, const struct credential *c, const struct caller *caller)
{
	size_t room = keep_room(caller);
	struct kept *one;

	CHECK(caller->via_token && c->bearer.len);
	if (room > LIMIT_KNOWN_CALLER)
		return;
	one = malloc(sizeof(*one) + room);
	CHECK(one != NULL);
	keep_copy(caller, one->rest, &one->caller);
	keep_key(k->secret, c->bearer, one->key);
	atomic_init(&one->users, 1);
	drop(put(k, one));
}
