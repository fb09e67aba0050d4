/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that seals: every organization that has something to seal, a little more than once a second. */
#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/scoped.h"
#include "core/audit/seal.h"
#include "db/db.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

struct sealer {
	struct sealer_options options;
	char *held_dir;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop, kicked; /* under the lock, as the rest */
	struct sealer_stats stats;
	int64_t complained_us; /* when a refusal was last written to the log */
};

#define COMPLAIN_US (60 * SECOND_US) /* a refusal stays true; once a minute is enough */

struct due {
	str org_id;
};
static const struct field due_fields[] = { FIELD_TEXT(struct due, org_id), FIELD_END };

struct due_list {
	struct due *orgs;
	size_t count;
};

static status
find_due(struct ctx *cx, void *arg)
{
	struct due_list *l = arg;

	return db_all(cx, SQL_AUDIT_DUE, due_fields, sizeof(struct due), &l->orgs, &l->count);
}

static void
complain(struct sealer *s, const struct ctx *cx, str org_id, status why)
{
	int64_t now = clock_mono_us();

	if (s->complained_us && now - s->complained_us < COMPLAIN_US)
		return;
	s->complained_us = now;
	LOG(LOG_ERROR, why == E_CONFLICT ? "audit.refused" : "audit.seal", LOG_STR("org", org_id),
		LOG_STR("message", ctx_message(cx, why)));
}

static void
note_round(struct sealer *s, const struct sealer_stats *round)
{
	scoped_lock held = lock(&s->lock);

	s->stats.rounds++;
	s->stats.entries += round->entries;
	s->stats.checkpoints += round->checkpoints;
	s->stats.failures += round->failures;
	s->stats.refused = round->refused;
}

static void
seal_one(struct sealer *s, struct ctx *cx, str org_id, struct sealer_stats *round)
{
	struct sealed done = { .size = 0 };
	status why = audit_seal(cx, org_id, s->held_dir, &done);

	round->entries += done.entries;
	round->checkpoints += done.signed_now;
	if (done.more)
		sealer_kick(s);
	if (why == OK)
		return;
	round->failures++;
	round->refused += why == E_CONFLICT;
	complain(s, cx, org_id, why);
	ctx_clear(cx);
}

static void
seal_round(struct sealer *s, struct arena *a)
{
	struct sealer_stats round = { .rounds = 0 };
	struct due_list due = { .count = 0 };
	struct ctx cx;
	status why;

	ctx_init(&cx, a);
	cx.db = s->options.db;
	cx.keys = s->options.keys;
	why = db_read(&cx, find_due, &due);
	if (why != OK) {
		round.failures++;
		complain(s, &cx, STR(""), why);
	}
	for (size_t i = 0; i < due.count; i++)
		seal_one(s, &cx, due.orgs[i].org_id, &round);
	note_round(s, &round);
	arena_reset(a);
}

/* The condition's clock is not that of base/clock, which goes on while the machine sleeps. */
static struct timespec
after_ms(int ms)
{
	struct timespec t;

	/* checksrc: allow clock_gettime (pthread_cond_timedwait takes this clock and no other) */
	CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000L;
	if (t.tv_nsec >= 1000000000L) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000L;
	}
	return t;
}

/* Waits for the next round. False: it is time to end. */
static bool
wait_turn(struct sealer *s)
{
	struct timespec until = after_ms(s->options.interval_ms);
	scoped_lock held = lock(&s->lock);

	while (!s->stop && !s->kicked)
		if (pthread_cond_timedwait(&s->wake, &s->lock, &until) == ETIMEDOUT)
			break;
	s->kicked = false;
	return !s->stop;
}

static void *
run(void *arg)
{
	struct sealer *s = arg;
	struct arena a;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	do {
		seal_round(s, &a);
	} while (wait_turn(s));
	seal_round(s, &a);
	arena_done(&a);
	return NULL;
}

status
sealer_start(struct ctx *cx, const struct sealer_options *o, struct sealer **out_sealer)
{
	pthread_condattr_t attr;
	struct sealer *s;

	if (mkdir(o->held_dir, 0700) != 0 && errno != EEXIST)
		return fail(cx, E_UNAVAILABLE, "%s cannot be made: %s", o->held_dir, strerror(errno));
	s = calloc(1, sizeof(*s));
	CHECK(s != NULL);
	s->options = *o;
	if (!s->options.interval_ms)
		s->options.interval_ms = LIMIT_AUDIT_SEAL_MS;
	CHECK(asprintf(&s->held_dir, "%s", o->held_dir) >= 0);
	CHECK(pthread_mutex_init(&s->lock, NULL) == 0);
	CHECK(pthread_condattr_init(&attr) == 0 && pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
	CHECK(pthread_cond_init(&s->wake, &attr) == 0 && pthread_condattr_destroy(&attr) == 0);
	CHECK(pthread_create(&s->thread, NULL, run, s) == 0);
	*out_sealer = s;
	return OK;
}

void
sealer_kick(struct sealer *s)
{
	scoped_lock held = lock(&s->lock);

	s->kicked = true;
	CHECK(pthread_cond_signal(&s->wake) == 0);
}

void
sealer_stats(struct sealer *s, struct sealer_stats *out)
{
	scoped_lock held = lock(&s->lock);

	*out = s->stats;
}

static void
tell_to_stop(struct sealer *s)
{
	scoped_lock held = lock(&s->lock);

	s->stop = true;
	CHECK(pthread_cond_signal(&s->wake) == 0);
}

void
sealer_stop(struct sealer *s)
{
	if (!s)
		return;
	tell_to_stop(s);
	CHECK(pthread_join(s->thread, NULL) == 0);
	CHECK(pthread_cond_destroy(&s->wake) == 0 && pthread_mutex_destroy(&s->lock) == 0);
	free(s->held_dir);
	free(s);
}
