/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "base/check.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <time.h>

/* The tests' hand on the clock; 0: the real one. */
static _Atomic int64_t frozen_us;

static int64_t
read_us(clockid_t which)
{
	int64_t frozen = atomic_load_explicit(&frozen_us, memory_order_relaxed);
	struct timespec t;

	if (frozen)
		return frozen;
	/* checksrc: allow clock_gettime (this is base/clock) */
	CHECK(clock_gettime(which, &t) == 0);
	return (int64_t)t.tv_sec * SECOND_US + t.tv_nsec / 1000;
}

int64_t
clock_now_us(void)
{
	return read_us(CLOCK_REALTIME);
}

int64_t
clock_mono_us(void)
{
	return read_us(CLOCK_BOOTTIME);
}

void
clock_freeze(int64_t now_us)
{
	atomic_store(&frozen_us, now_us);
}

void
clock_release(void)
{
	atomic_store(&frozen_us, 0);
}

str
clock_text(struct arena *a, int64_t us)
{
	int64_t sub = us % SECOND_US;
	time_t seconds = (time_t)(us / SECOND_US);
	struct tm t;

	if (sub < 0) {
		sub += SECOND_US;
		seconds--;
	}
	CHECK(gmtime_r(&seconds, &t) != NULL);
	return arena_printf(a, "%04d-%02d-%02dT%02d:%02d:%02d.%06" PRId64 "Z", t.tm_year + 1900, t.tm_mon + 1,
		t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, sub);
}
