/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/quick/behind.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/scoped.h"
#include "core/event.h"
#include "db/db.h"

#include <stdlib.h>
#include <time.h>

#include "core/gate/gate.sql.h" /* SQL_GATE_*, generated from gate.sql */

/* Rows that go together, and their text. */
struct batch {
	struct arena arena;
	struct gate_row rows[LIMIT_BEHIND];
	size_t count;
};

struct behind {
	struct behind_options options;
	pthread_t thread;
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t news;  /* a first row, a full batch, the end */
	struct batch *filling, *writing;
	int64_t write_at_us; /* clock_mono_us */
	bool failing, ended;
};

/* --- adding --- */

static void
copy_row(struct arena *a, const struct gate_row *from, struct gate_row *to)
{
	*to = *from;
	to->org_id = arena_str(a, from->org_id);
	to->id = arena_str(a, from->id);
	to->principal_id = arena_str(a, from->principal_id);
	to->token_id = arena_str(a, from->token_id);
	to->tool = arena_str(a, from->tool);
	to->args_hash = arena_str(a, from->args_hash);
}

bool
behind_add(struct behind *b, const struct gate_row *row)
{
	scoped_lock held = lock(&b->lock);
	struct batch *batch = b->filling;

	if (b->failing || b->ended || batch->count == LIMIT_BEHIND)
		return false;
	copy_row(&batch->arena, row, &batch->rows[batch->count++]);
	if (batch->count == 1)
		b->write_at_us = clock_mono_us() + LIMIT_BEHIND_US;
	if (batch->count == 1 || batch->count == LIMIT_BEHIND / 2)
		CHECK(pthread_cond_signal(&b->news) == 0);
	return true;
}

/* --- writing --- */

/* Some of a batch: the writer is not held for long. */
struct piece {
	const struct gate_row *rows;
	size_t count;
};

static status
write_piece(struct ctx *cx, void *arg)
{
	const struct piece *p = arg;

	for (size_t i = 0; i < p->count; i++) {
		const struct gate_row *r = &p->rows[i];

		TRY(db_later(cx, SQL_GATE_RECORD_BEHIND, TEXT(r->org_id), TEXT(r->id), TEXT(r->principal_id),
			r->token_id.len ? TEXT(r->token_id) : NIL, TEXT(str_of(r->transport)), TEXT(r->tool),
			TEXT(str_of(r->effect)), TEXT(str_of(r->state)), TEXT(r->args_hash),
			INT(r->called_at)));
	}
	return OK;
}

static void
publish(struct ctx *cx, const struct piece *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct event e = gate_row_event(cx->arena, &p->rows[i]);

		event_publish(cx->events, &e);
	}
}

/* What the database refuses for good is dropped, and said: the rest must not wait for it. */
static bool
write_or_drop(struct behind *b, struct arena *a, struct piece *p)
{
	struct ctx cx;
	status s;

	ctx_init(&cx, a);
	cx.db = b->options.db;
	cx.events = b->options.events;
	s = tx_run(&cx, write_piece, p);
	if (s == OK)
		publish(&cx, p);
	else
		LOG(LOG_WARN, "calls.not_written", LOG_INT("rows", (int64_t)p->count),
			LOG_STR("why", ctx_message(&cx, s)));
	arena_reset(a);
	return s == OK || status_info(s)->http < 500;
}

static void
sleep_until(struct behind *b, int64_t at_us)
{
	struct timespec t = { .tv_sec = at_us / SECOND_US, .tv_nsec = at_us % SECOND_US * 1000 };

	(void)pthread_cond_timedwait(&b->news, &b->lock, &t);
}

/* The rows that are due, in b->writing. False: the end, and there are none. */
static bool
next_batch(struct behind *b)
{
	scoped_lock held = lock(&b->lock);
	struct batch *full;

	while (!b->filling->count && !b->ended)
		CHECK(pthread_cond_wait(&b->news, &b->lock) == 0);
	while (!b->ended && b->filling->count < LIMIT_BEHIND / 2 && clock_mono_us() < b->write_at_us)
		sleep_until(b, b->write_at_us);
	full = b->filling;
	b->filling = b->writing;
	b->writing = full;
	return full->count > 0;
}

/* What could not be written is tried again, and nothing is added meanwhile. False: not at the end. */
static bool
rest(struct behind *b)
{
	scoped_lock held = lock(&b->lock);
	int64_t until_us = clock_mono_us() + LIMIT_BEHIND_REST_US;

	b->failing = true;
	while (!b->ended && clock_mono_us() < until_us)
		sleep_until(b, until_us);
	return !b->ended;
}

static void
recover(struct behind *b)
{
	scoped_lock held = lock(&b->lock);

	b->failing = false;
}

static void
write_batch(struct behind *b, struct arena *a)
{
	struct batch *batch = b->writing;
	size_t done = 0;

	while (done < batch->count) {
		size_t left = batch->count - done;
		struct piece p = { batch->rows + done,
			left < LIMIT_BEHIND_PIECE ? left : LIMIT_BEHIND_PIECE };

		if (write_or_drop(b, a, &p)) {
			recover(b);
			done += p.count;
		} else if (!rest(b)) {
			return;
		}
	}
}

static void *
run(void *arg)
{
	struct behind *b = arg;
	struct arena a;

	arena_init(&a, LIMIT_BEHIND_BYTES);
	while (next_batch(b)) {
		write_batch(b, &a);
		b->writing->count = 0;
		arena_reset(&b->writing->arena);
	}
	arena_done(&a);
	return NULL;
}

/* --- life --- */

static struct batch *
new_batch(void)
{
	struct batch *b = calloc(1, sizeof(*b));

	CHECK(b != NULL);
	arena_init(&b->arena, LIMIT_BEHIND_BYTES);
	return b;
}

static void
free_batch(struct batch *b)
{
	arena_done(&b->arena);
	free(b);
}

struct behind *
behind_start(const struct behind_options *o)
{
	struct behind *b = calloc(1, sizeof(*b));
	pthread_condattr_t attributes;

	CHECK(b != NULL);
	b->options = *o;
	b->filling = new_batch();
	b->writing = new_batch();
	CHECK(pthread_mutex_init(&b->lock, NULL) == 0 && pthread_condattr_init(&attributes) == 0);
	CHECK(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
	CHECK(pthread_cond_init(&b->news, &attributes) == 0);
	(void)pthread_condattr_destroy(&attributes);
	CHECK(pthread_create(&b->thread, NULL, run, b) == 0);
	return b;
}

static void
end(struct behind *b)
{
	scoped_lock held = lock(&b->lock);

	b->ended = true;
	CHECK(pthread_cond_broadcast(&b->news) == 0);
}

void
behind_stop(struct behind *b)
{
	if (!b)
		return;
	end(b);
	CHECK(pthread_join(b->thread, NULL) == 0);
	CHECK(pthread_mutex_destroy(&b->lock) == 0 && pthread_cond_destroy(&b->news) == 0);
	free_batch(b->filling);
	free_batch(b->writing);
	free(b);
}
