/* SPDX-License-Identifier: Apache-2.0 */
/* Straight code on a loop: it waits without the thread, and is refused what would hold it up. */
#include "base/fiber/fiber.h"
#include "base/fiber/waiter.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/scoped.h"
#include "unit.h"

#include <poll.h>
#include <stdatomic.h>

struct world {
	struct fibers *all;
	atomic_int wakes;
	void *last_ended;
	int ended;
};

static void
wake(void *arg)
{
	atomic_fetch_add(&((struct world *)arg)->wakes, 1);
}

static void
ended(void *arg, void *job)
{
	struct world *w = arg;

	w->last_ended = job;
	w->ended++;
}

static void
open_world(struct world *w, size_t most)
{
	*w = (struct world){ 0 };
	w->all = fibers_new(&(struct fibers_options){ .most = most, .wake = wake, .ended = ended, .arg = w });
}

struct job {
	struct fiber *self;
	int steps, waits;
	int64_t until_us;
};

static void
do_job(struct fiber *self, void *arg)
{
	struct job *j = arg;
	volatile char deep[64 * 1024]; /* a stack of its own */

	j->self = self;
	for (size_t i = 0; i < (size_t)j->waits; i++) {
		deep[i * 4096] = (char)i;
		j->steps++;
		fiber_wait(self, j->until_us);
		CHECK(deep[i * 4096] == (char)i);
	}
	j->steps++;
}

static void
what_does_not_wait_ends_at_once(void **state)
{
	struct job j = { 0 };
	struct world w;

	(void)state;
	open_world(&w, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fibers_start(w.all, do_job, &j), FIBER_ENDED);
	assert_int_equal(j.steps, 3);
	assert_int_equal(w.ended, 0); /* who started it knows */
	fibers_free(w.all);
}

static void
who_waits_goes_on_when_called_and_not_before(void **state)
{
	struct job a = { .waits = 2, .until_us = INT64_MAX }, b = { .waits = 1, .until_us = INT64_MAX };
	struct world w;

	(void)state;
	open_world(&w, 2);
	assert_int_equal(fibers_start(w.all, do_job, &a), FIBER_WAITS);
	assert_int_equal(fibers_start(w.all, do_job, &b), FIBER_WAITS);
	assert_int_equal(fibers_start(w.all, do_job, &b), FIBER_NONE); /* no more of them */
	fibers_go_on(w.all);
	fibers_check_time(w.all);
	assert_int_equal(a.steps, 1);
	fiber_call(b.self);
	fiber_call(b.self);
	fiber_call(a.self);
	assert_int_equal(atomic_load(&w.wakes), 1); /* once for both */
	fibers_go_on(w.all);
	assert_int_equal(a.steps, 2);
	assert_int_equal(b.steps, 2);
	assert_int_equal(w.ended, 1);
	assert_ptr_equal(w.last_ended, &b);
	assert_true(fibers_waiting(w.all));
	fiber_call(a.self);
	fibers_go_on(w.all);
	assert_int_equal(a.steps, 3);
	assert_false(fibers_waiting(w.all));
	fibers_free(w.all);
}

static void
who_waits_goes_on_when_its_time_is_over(void **state)
{
	struct job a = { .waits = 1, .until_us = clock_mono_us() - 1 },
		   b = { .waits = 1, .until_us = INT64_MAX };
	struct world w;

	(void)state;
	open_world(&w, 2);
	(void)fibers_start(w.all, do_job, &a);
	(void)fibers_start(w.all, do_job, &b);
	fiber_call(a.self); /* and is called, too: it goes on once */
	fibers_check_time(w.all);
	assert_int_equal(a.steps, 2);
	assert_int_equal(b.steps, 1);
	fibers_go_on(w.all);
	assert_int_equal(w.ended, 1);
	fiber_call(b.self);
	fibers_go_on(w.all);
	assert_int_equal(w.ended, 2);
	fibers_free(w.all);
}

static void
call_first(struct fiber *self, void *arg)
{
	struct job *j = arg;

	fiber_call(self); /* somebody was quicker than the wait */
	fiber_wait(self, INT64_MAX);
	j->steps++;
}

static void
a_word_before_the_wait_is_not_lost(void **state)
{
	struct job j = { 0 };
	struct world w;

	(void)state;
	open_world(&w, 1);
	assert_int_equal(fibers_start(w.all, call_first, &j), FIBER_ENDED);
	assert_int_equal(j.steps, 1);
	fibers_free(w.all);
}

struct asks {
	struct ctx *cx;
	bool refuses, was_refused;
};

static void
ask(struct fiber *self, void *arg)
{
	struct asks *a = arg;

	a->cx->fiber = self;
	a->was_refused = fiber_refused(a->cx);
	a->refuses = fiber_refuses(a->cx);
}

static void
only_a_fiber_is_refused_what_holds_up(void **state)
{
	UNIT(u);
	struct asks a = { .cx = &u.cx };
	struct world w;

	(void)state;
	assert_false(fiber_refuses(&u.cx));
	assert_false(fiber_refused(&u.cx));
	open_world(&w, 1);
	for (int i = 0; i < 2; i++) { /* the next job begins anew */
		assert_int_equal(fibers_start(w.all, ask, &a), FIBER_ENDED);
		assert_false(a.was_refused);
		assert_true(a.refuses);
		assert_true(fiber_refused(&u.cx));
	}
	assert_int_equal(u.cx.error.code, E_BUSY);
	fibers_free(w.all);
}

/* --- from other threads --- */

#define ROUNDS	5000
#define PLAYERS 4

struct player {
	struct ctx cx;
	pthread_mutex_t lock;
	struct waiter *waits; /* NULL: nobody */
	int balls, caught;
};

static void
play(struct fiber *self, void *arg)
{
	struct player *p = arg;
	struct waiter me;

	p->cx.fiber = self;
	waiter_init(&me, &p->cx);
	CHECK(pthread_mutex_lock(&p->lock) == 0);
	while (p->caught < ROUNDS) {
		p->waits = &me;
		while (!p->balls)
			waiter_wait(&me, &p->lock, INT64_MAX);
		p->balls--;
		p->caught++;
	}
	p->waits = NULL;
	CHECK(pthread_mutex_unlock(&p->lock) == 0);
	waiter_done(&me);
}

static void *throw(void *arg)
{
	struct player *players = arg;

	for (int i = 0; i < ROUNDS * PLAYERS; i++) {
		struct player *p = &players[i % PLAYERS];
		scoped_lock held = lock(&p->lock);

		p->balls++;
		if (p->waits)
			waiter_call(p->waits);
	}
	return NULL;
}

static void
no_word_of_another_thread_is_lost(void **state)
{
	struct player players[PLAYERS] = { 0 };
	struct world w;
	pthread_t thread;

	(void)state;
	open_world(&w, PLAYERS);
	for (size_t i = 0; i < PLAYERS; i++) {
		CHECK(pthread_mutex_init(&players[i].lock, NULL) == 0);
		assert_int_equal(fibers_start(w.all, play, &players[i]), FIBER_WAITS);
	}
	CHECK(pthread_create(&thread, NULL, throw, players) == 0);
	while (w.ended < PLAYERS)
		fibers_go_on(w.all);
	CHECK(pthread_join(thread, NULL) == 0);
	for (size_t i = 0; i < PLAYERS; i++) {
		assert_int_equal(players[i].caught, ROUNDS);
		CHECK(pthread_mutex_destroy(&players[i].lock) == 0);
	}
	fibers_free(w.all);
}

/* The same waiter on a thread. */
static void *
catch_one(void *arg)
{
	struct player *p = arg;
	struct waiter me;

	waiter_init(&me, &p->cx);
	{
		scoped_lock held = lock(&p->lock);

		p->waits = &me;
		while (!p->balls)
			waiter_wait(&me, &p->lock, clock_mono_us() + 50 * SECOND_US);
		p->caught++;
		p->waits = NULL;
	}
	waiter_done(&me);
	return NULL;
}

static void
a_thread_waits_the_same_way(void **state)
{
	struct player p = { 0 };
	struct waiter late;
	pthread_t thread;

	(void)state;
	CHECK(pthread_mutex_init(&p.lock, NULL) == 0);
	CHECK(pthread_create(&thread, NULL, catch_one, &p) == 0);
	{
		scoped_lock held = lock(&p.lock);

		p.balls++;
		if (p.waits)
			waiter_call(p.waits);
	}
	CHECK(pthread_join(thread, NULL) == 0);
	assert_int_equal(p.caught, 1);
	waiter_init(&late, &p.cx);
	{
		scoped_lock held = lock(&p.lock);

		waiter_wait(&late, &p.lock, clock_mono_us() - SECOND_US); /* it is over already */
	}
	waiter_done(&late);
	CHECK(pthread_mutex_destroy(&p.lock) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_wait_ends_at_once),
		cmocka_unit_test(who_waits_goes_on_when_called_and_not_before),
		cmocka_unit_test(who_waits_goes_on_when_its_time_is_over),
		cmocka_unit_test(a_word_before_the_wait_is_not_lost),
		cmocka_unit_test(only_a_fiber_is_refused_what_holds_up),
		cmocka_unit_test(no_word_of_another_thread_is_lost),
		cmocka_unit_test(a_thread_waits_the_same_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
