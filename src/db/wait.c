/* SPDX-License-Identifier: Apache-2.0 */
#include "db/wait.h"

#include "base/check.h"
#include "base/clock.h"

void
wait_init(pthread_cond_t *c)
{
	pthread_condattr_t attributes;

	CHECK(pthread_condattr_init(&attributes) == 0);
	CHECK(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
	CHECK(pthread_cond_init(c, &attributes) == 0);
	CHECK(pthread_condattr_destroy(&attributes) == 0);
}

struct timespec
wait_until(int64_t deadline_us)
{
	int64_t left_us = deadline_us - clock_mono_us();
	struct timespec t;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0); /* checksrc: allow clock_gettime (pthread's clock) */
	if (left_us <= 0)
		return t;
	t.tv_sec += (time_t)(left_us / SECOND_US);
	t.tv_nsec += (long)(left_us % SECOND_US) * 1000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

bool
wait_for(const struct ctx *cx, pthread_cond_t *c, pthread_mutex_t *m)
{
	struct timespec t;

	if (!cx->deadline_us) {
		CHECK(pthread_cond_wait(c, m) == 0);
		return true;
	}
	if (cx->deadline_us <= clock_mono_us())
		return false;
	t = wait_until(cx->deadline_us);
	(void)pthread_cond_timedwait(c, m, &t);
	return true; /* or too late: the next call says so */
}
