/* SPDX-License-Identifier: Apache-2.0 */
#include "core/outside/waiter.h"

#include "base/check.h"
#include "base/clock.h"

#include <time.h>

void
waiter_init(struct waiter *w)
{
	pthread_condattr_t monotonic;

	CHECK(pthread_condattr_init(&monotonic) == 0);
	CHECK(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
	CHECK(pthread_cond_init(&w->woken, &monotonic) == 0);
	CHECK(pthread_condattr_destroy(&monotonic) == 0);
}

void
waiter_done(struct waiter *w)
{
	CHECK(pthread_cond_destroy(&w->woken) == 0);
}

/* At most a second ahead: CLOCK_MONOTONIC stands still while the machine is suspended and clock_mono_us does not, so a
 * longer wait could miss its end. */
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
	struct timespec t = soon(until_us);

	(void)pthread_cond_timedwait(&w->woken, held, &t);
}

void
waiter_wake(struct waiter *w)
{
	CHECK(pthread_cond_signal(&w->woken) == 0);
}
