/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/seal/numbers.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash/sha256.h"
#include "base/limits.h"
#include "base/scoped.h"
#include "core/audit/seal/held.h"
#include "db/db.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is remembered of one chain, and how it stands in the file. */
struct seen {
	unsigned char of[16]; /* of SHA-256 of organization and chain */
	int64_t number;
	int64_t until_us; /* 0: for ever */
};
_Static_assert(sizeof(struct seen) == 32, "a record of the file");

#define PLACES	8u /* of a bucket: where all are taken, the one that matters least long gives way */
#define BUCKETS (LIMIT_NUMBERS / PLACES)

struct numbers {
	pthread_mutex_t lock;
	struct seen all[BUCKETS][PLACES];
	struct seen *fresh; /* not written yet */
	size_t fresh_count, fresh_room;
	char *dir;
};

/* --- the table --- */

static void
name_of(str org_id, str chain, unsigned char out[16])
{
	unsigned char hash[SHA256_BYTES];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, org_id);
	sha256_add(&s, STR("\n"));
	sha256_add(&s, chain);
	sha256_done(&s, hash);
	memcpy(out, hash, 16);
}

static struct seen *
bucket_of(struct numbers *n, const unsigned char of[16])
{
	uint32_t at;

	memcpy(&at, of, sizeof(at));
	return n->all[at % BUCKETS];
}

static struct seen *
find(struct numbers *n, const unsigned char of[16])
{
	struct seen *bucket = bucket_of(n, of);

	for (size_t i = 0; i < PLACES; i++)
		if (bucket[i].number && memcmp(bucket[i].of, of, 16) == 0)
			return &bucket[i];
	return NULL;
}

static bool
sooner(const struct seen *a, const struct seen *b)
{
	if (!a->number || !b->number)
		return !a->number && b->number;
	return a->until_us && (!b->until_us || a->until_us < b->until_us);
}

/* True: it was news. */
static bool
put(struct numbers *n, const struct seen *s)
{
	struct seen *place = find(n, s->of), *bucket = bucket_of(n, s->of);

	if (place && place->number >= s->number)
		return false;
	if (!place)
		place = bucket;
	for (size_t i = 1; place->number && memcmp(place->of, s->of, 16) != 0 && i < PLACES; i++)
		if (sooner(&bucket[i], place))
			place = &bucket[i];
	*place = *s;
	return true;
}

static void
note_fresh(struct numbers *n, const struct seen *s)
{
	if (n->fresh_count == n->fresh_room) {
		size_t room = n->fresh_room ? 2 * n->fresh_room : 64;
		struct seen *more = realloc(n->fresh, room * sizeof(*more));

		CHECK(more != NULL);
		n->fresh = more;
		n->fresh_room = room;
	}
	n->fresh[n->fresh_count++] = *s;
}

void
numbers_see(struct numbers *n, str org_id, str chain, int64_t number, int64_t until_us)
{
	struct seen s = { .number = number, .until_us = until_us };
	scoped_lock held = lock(&n->lock);

	name_of(org_id, chain, s.of);
	if (put(n, &s) && n->fresh_count < LIMIT_NUMBERS)
		note_fresh(n, &s);
}

bool
numbers_behind(struct numbers *n, str org_id, str chain, int64_t number)
{
	unsigned char of[16];
	const struct seen *s;

	if (!n)
		return false;
	scoped_lock held = lock(&n->lock);
	name_of(org_id, chain, of);
	s = find(n, of);
	return s && s->number > number;
}

struct later_seen {
	struct numbers *numbers;
	str org_id, chain;
	int64_t number, until_us;
};

static void
see_now(void *arg)
{
	const struct later_seen *l = arg;

	numbers_see(l->numbers, l->org_id, l->chain, l->number, l->until_us);
}

void
numbers_see_later(struct ctx *cx, str org_id, str chain, int64_t number, int64_t until_us)
{
	struct later_seen *l;

	/* a transaction that decides about many leaves its hooks to others: what it decided is seen when it is sealed */
	if (!cx->numbers || tx_hooks_left(cx) < LIMIT_TX_HOOKS / 2)
		return;
	if (!cx->numbers ||
		number <
			2) /* the first entry of a proposal is when it is made: there is nothing to put back */
		return;
	l = ARENA_NEW(cx->arena, struct later_seen);
	*l = (struct later_seen){ cx->numbers, org_id, chain, number, until_us };
	tx_after_commit(cx, see_now, l);
}

/* --- the file: one record after the other, the last of a chain counts --- */

static const char *
path_of(struct ctx *cx, const char *dir, const char *end)
{
	return arena_printf(cx->arena, "%s/numbers%s", dir, end).ptr;
}

static status
no_file(struct ctx *cx, const char *dir)
{
	return fail(
		cx, E_UNAVAILABLE, "%s cannot be read or written: %s", path_of(cx, dir, ""), strerror(errno));
}

static status
load(struct ctx *cx, struct numbers *n)
{
	scoped_fd fd = open(path_of(cx, n->dir, ""), O_RDONLY | O_CLOEXEC);
	struct seen page[256];
	ssize_t got;

	if (fd < 0)
		return errno == ENOENT ? OK : no_file(cx, n->dir);
	while ((got = read(fd, page, sizeof(page))) > 0)
		for (size_t i = 0; i < (size_t)got / sizeof(page[0]); i++)
			(void)!put(n, &page[i]);
	return got < 0 ? no_file(cx, n->dir) : OK;
}

static bool
write_seen(int fd, const struct seen *s, size_t count)
{
	ssize_t size = (ssize_t)(count * sizeof(*s));

	return fd >= 0 && write(fd, s, (size_t)size) == size;
}

/* Only what is remembered and may still matter. */
static bool
write_all(struct numbers *n, int fd)
{
	int64_t now = clock_now_us();
	bool written = fd >= 0;

	for (size_t b = 0; b < BUCKETS; b++)
		for (size_t i = 0; written && i < PLACES; i++)
			if (n->all[b][i].number && (!n->all[b][i].until_us || n->all[b][i].until_us > now))
				written = write_seen(fd, &n->all[b][i], 1);
	return written && fsync(fd) == 0;
}

/* Somebody else on this machine may have written, too. */
static status
write_anew(struct ctx *cx, struct numbers *n)
{
	const char *draft = path_of(cx, n->dir, ".new");
	scoped_fd fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	TRY(load(cx, n));
	if (!write_all(n, fd) || rename(draft, path_of(cx, n->dir, "")) != 0)
		return no_file(cx, n->dir);
	return OK;
}

static status
append(struct ctx *cx, struct numbers *n, const struct seen *fresh, size_t count)
{
	scoped_fd fd = open(path_of(cx, n->dir, ""), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return no_file(cx, n->dir);
	/* half a record of a write that was cut off would move all that follow */
	if (st.st_size > (off_t)LIMIT_NUMBERS_FILE || st.st_size % (off_t)sizeof(struct seen)) {
		scoped_lock held = lock(&n->lock);

		return write_anew(cx, n);
	}
	return write_seen(fd, fresh, count) && fdatasync(fd) == 0 ? OK : no_file(cx, n->dir);
}

static struct seen *
take_fresh(struct numbers *n, size_t *out_count)
{
	scoped_lock held = lock(&n->lock);
	struct seen *fresh = n->fresh;

	*out_count = n->fresh_count;
	n->fresh = NULL;
	n->fresh_count = n->fresh_room = 0;
	return fresh;
}

/* What could not be written is not forgotten. */
static void
keep_fresh(struct numbers *n, const struct seen *fresh, size_t count)
{
	scoped_lock held = lock(&n->lock);

	for (size_t i = 0; i < count && n->fresh_count < LIMIT_NUMBERS; i++)
		note_fresh(n, &fresh[i]);
}

status
numbers_write(struct ctx *cx, struct numbers *n)
{
	scoped_fd folder = -1;
	size_t count;
	struct seen *fresh = take_fresh(n, &count);
	status s = count ? held_lock(cx, n->dir, &folder) : OK;

	if (count && s == OK)
		s = append(cx, n, fresh, count);
	if (s != OK)
		keep_fresh(n, fresh, count);
	free(fresh);
	return s;
}

status
numbers_open(struct ctx *cx, const char *dir, struct numbers **out)
{
	struct numbers *n = calloc(1, sizeof(*n));
	status s;

	CHECK(n != NULL && asprintf(&n->dir, "%s", dir) >= 0);
	CHECK(pthread_mutex_init(&n->lock, NULL) == 0);
	s = load(cx, n);
	if (s == OK)
		*out = n;
	else
		numbers_free(n);
	return s;
}

void
numbers_free(struct numbers *n)
{
	if (!n)
		return;
	CHECK(pthread_mutex_destroy(&n->lock) == 0);
	free(n->fresh);
	free(n->dir);
	free(n);
}
