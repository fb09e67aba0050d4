/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fiber/waiter.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fiber/fiber.h"

#include <time.h>

void
waiter_init(struct waiter *w, const struct ctx *cx)
{
	pthread_condattr_t monotonic;

	w->fiber = cx->fiber;
	if (w->fiber)
		return;
	CHECK(pthread_condattr_init(&monotonic) == 0);
	CHECK(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
	CHECK(pthread_cond_init(&w->word, &monotonic) == 0);
	CHECK(pthread_condattr_destroy(&monotonic) == 0);
}

void
waiter_done(struct waiter *w)
{
	if (!w->fiber)
		CHECK(pthread_cond_destroy(&w->word) == 0);
}

/* pthread has a clock of its own, which stands still while the machine sleeps: so nobody waits for long at once. */
static struct timespec
soon(int64_t until_us)
{
	int64_t left_us = until_us - clock_mono_us();
	struct timespec t;

	left_us = left_us < 0 ? 0 : left_us > SECOND_US ? SECOND_US : left_us;
	/* checksrc: allow clock_gettime (pthread takes this clock and no other) */
	CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	t.tv_nsec += (long)(left_us % SECOND_US) * 1000;
	t.tv_sec += left_us / SECOND_US + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

void
waiter_wait(struct waiter *w, pthread_mutex_t *held, int64_t until_us)
{
	if (w->fiber) {
		CHECK(pthread_mutex_unlock(held) == 0);
		fiber_wait(w->fiber, until_us);
		CHECK(pthread_mutex_lock(held) == 0);
	} else {
		struct timespec t = soon(until_us);

		(void)pthread_cond_timedwait(&w->word, held, &t);
	}
}

void
waiter_call(struct waiter *w)
{
	if (w->fiber)
		fiber_call(w->fiber);
	else
		CHECK(pthread_cond_signal(&w->word) == 0);
}
