/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that seals: every organization that has something to seal, a little more than once a second. */
#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/scoped.h"
#include "core/audit/seal/begin.h"
#include "core/audit/seal/chain.h"
#include "core/audit/seal/given.h"
#include "core/audit/seal/numbers.h"
#include "core/audit/seal/seal.h"
#include "db/db.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define COMPLAIN_US    (60 * SECOND_US) /* what is wrong stays wrong: each once a minute is enough */
#define COMPLAINTS_MAX 64u		/* things that are wrong at once, each remembered */
#define SIGNED_PAGE    1000u		/* as audit_signed has it */

/* Something that was written to the log: one thing that is wrong does not keep another one quiet. */
struct complaint {
	char org_id[65];
	status why;
	int64_t at_us;
};

struct sealer {
	struct sealer_options options;
	char *held_dir;
	struct given *given;
	struct numbers *numbers;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop, kicked; /* under the lock, as the figures */
	struct sealer_stats stats;
	struct complaint complaints[COMPLAINTS_MAX]; /* the thread's own */
	size_t complaint_next;
};

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

static bool
said_lately(struct sealer *s, str org_id, status why)
{
	struct complaint c = { .why = why, .at_us = clock_mono_us() }, *old = NULL;

	memcpy(c.org_id, org_id.ptr, org_id.len < sizeof(c.org_id) ? org_id.len : sizeof(c.org_id) - 1);
	for (size_t i = 0; i < COMPLAINTS_MAX && !old; i++)
		if (s->complaints[i].at_us && s->complaints[i].why == why &&
			strcmp(s->complaints[i].org_id, c.org_id) == 0)
			old = &s->complaints[i];
	if (old && c.at_us - old->at_us < COMPLAIN_US)
		return true;
	*(old ? old : &s->complaints[s->complaint_next++ % COMPLAINTS_MAX]) = c;
	return false;
}

static void
complain(struct sealer *s, const struct ctx *cx, str org_id, status why)
{
	if (!said_lately(s, org_id, why))
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

struct round {
	struct sealer_stats stats;
	str *refused; /* of which organizations, each once */
	struct ctx cx;
};

static void
fell_short(struct sealer *s, struct round *r, str org_id, status why)
{
	r->stats.failures++;
	complain(s, &r->cx, org_id, why);
	ctx_clear(&r->cx);
	if (why != E_CONFLICT)
		return;
	for (int64_t i = 0; i < r->stats.refused; i++)
		if (str_eq(r->refused[i], org_id))
			return;
	if (r->stats.refused < (int64_t)LIMIT_AUDIT_REFUSED)
		r->refused[r->stats.refused++] = org_id;
}

/* --- what others have signed, and what was given in answers --- */

struct signed_row {
	str org_id;
	struct tree_checkpoint last;
};
static const struct field signed_fields[] = {
	FIELD_TEXT(struct signed_row, org_id),
	FIELD_INT(struct signed_row, last.size),
	FIELD_TEXT(struct signed_row, last.note),
	FIELD_END,
};

struct signed_page {
	str after;
	struct signed_row *rows;
	size_t count;
};

static status
find_signed(struct ctx *cx, void *arg)
{
	struct signed_page *p = arg;

	return db_all(
		cx, SQL_AUDIT_SIGNED, signed_fields, sizeof(*p->rows), &p->rows, &p->count, TEXT(p->after));
}

struct following {
	str org_id;
	struct held_news news;
};

/* What others have sealed is remembered: the last of it, where it is much. */
static status
follow(struct ctx *cx, void *arg)
{
	const struct following *f = arg;
	int64_t most = f->news.to - (int64_t)LIMIT_AUDIT_FOLLOW;

	return chain_follow(cx, f->org_id, f->news.from > most ? f->news.from : most, f->news.to);
}

/* Mostly it is the one that is held already. */
static void
hold(struct sealer *s, struct round *r, str org_id, str note)
{
	struct arena_mark mark = arena_mark(r->cx.arena);
	struct following f = { .org_id = org_id };
	str held = { NULL, 0 };
	status why = held_read(&r->cx, s->held_dir, org_id, &held);

	if (why == OK && !str_eq(held, note))
		why = held_keep(&r->cx, s->held_dir, org_id, note, &f.news);
	if (why == OK && f.news.from < f.news.to)
		why = db_read(&r->cx, follow, &f);
	if (why != OK)
		fell_short(s, r, org_id, why);
	arena_rewind(r->cx.arena, mark);
}

static void
hold_signed(struct sealer *s, struct round *r)
{
	struct signed_page page = { .count = 0 };
	status why;

	do {
		why = db_read(&r->cx, find_signed, &page);
		for (size_t i = 0; why == OK && i < page.count; i++)
			hold(s, r, page.rows[i].org_id, page.rows[i].last.note);
		if (page.count)
			page.after = page.rows[page.count - 1].org_id;
	} while (why == OK && page.count == SIGNED_PAGE);
	if (why != OK)
		fell_short(s, r, STR(""), why);
}

static void
hold_given(struct sealer *s, struct round *r)
{
	str org_id, note;

	while (given_take(s->given, r->cx.arena, &org_id, &note))
		hold(s, r, org_id, note);
}

/* --- a round --- */

static void
seal_one(struct sealer *s, struct round *r, str org_id)
{
	struct sealed done = { .size = 0 };
	status why = audit_seal(&r->cx, org_id, s->held_dir, &done);

	r->stats.entries += done.entries;
	r->stats.checkpoints += done.signed_now;
	if (done.more)
		sealer_kick(s);
	if (why != OK)
		fell_short(s, r, org_id, why);
}

static void
seal_round(struct sealer *s, struct arena *a)
{
	struct round r = { .refused = arena_alloc(a, LIMIT_AUDIT_REFUSED * sizeof(str)) };
	struct due_list due = { .count = 0 };
	status why;

	ctx_init(&r.cx, a);
	r.cx.db = s->options.db;
	r.cx.keys = s->options.keys;
	r.cx.numbers = s->numbers;
	hold_given(s, &r);
	hold_signed(s, &r);
	why = db_read(&r.cx, find_due, &due);
	if (why != OK)
		fell_short(s, &r, STR(""), why);
	for (size_t i = 0; i < due.count; i++)
		seal_one(s, &r, due.orgs[i].org_id);
	why = numbers_write(&r.cx, s->numbers);
	if (why != OK)
		fell_short(s, &r, STR(""), why);
	note_round(s, &r.stats);
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
	struct numbers *numbers;
	pthread_condattr_t attr;
	struct sealer *s;

	if (mkdir(o->held_dir, 0700) != 0 && errno != EEXIST)
		return fail(cx, E_UNAVAILABLE, "%s cannot be made: %s", o->held_dir, strerror(errno));
	TRY(audit_begin(cx, o->held_dir));
	TRY(numbers_open(cx, o->held_dir, &numbers));
	s = calloc(1, sizeof(*s));
	CHECK(s != NULL);
	s->options = *o;
	if (!s->options.interval_ms)
		s->options.interval_ms = LIMIT_AUDIT_SEAL_MS;
	s->given = given_new();
	s->numbers = numbers;
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

struct numbers *
sealer_numbers(struct sealer *s)
{
	return s->numbers;
}

void
sealer_gives(struct sealer *s, str org_id, const struct tree_checkpoint *c)
{
	if (given_add(s->given, org_id, c))
		sealer_kick(s);
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
	given_free(s->given);
	numbers_free(s->numbers);
	free(s->held_dir);
	free(s);
}
