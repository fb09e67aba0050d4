/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fault.h"

#include "base/check.h"
#include "base/str.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum mode { MODE_OFF, MODE_KILL, MODE_FAIL, MODE_BREAK, MODE_STOP, MODE_COUNT };

static const char *const mode_names[] = {
	[MODE_OFF] = "off",
	[MODE_KILL] = "kill",
	[MODE_FAIL] = "fail",
	[MODE_BREAK] = "break",
	[MODE_STOP] = "stop",
};

static const struct {
	const char *name, *doc;
} points[] = {
#define X(n, d) [FAULT_##n] = { .name = #n, .doc = d },
	FAULT_POINTS(X)
#undef X
};

/* What is armed. Written before threads start, or by a test between requests. */
static struct {
	_Atomic int mode;
	_Atomic int point;
	_Atomic long left; /* passings until it acts */
} armed;

const char *
fault_name(enum fault_point p)
{
	CHECK((unsigned)p < FAULT_COUNT);
	return points[p].name;
}

const char *
fault_doc(enum fault_point p)
{
	CHECK((unsigned)p < FAULT_COUNT);
	return points[p].doc;
}

bool
fault_enabled(void)
{
#ifdef COUNTERSIGN_FAULTS
	return true;
#else
	return false;
#endif
}

static bool
find_point(str name, int *out_point)
{
	for (int p = 0; p < FAULT_COUNT; p++) {
		if (str_eq(name, str_of(points[p].name))) {
			*out_point = p;
			return true;
		}
	}
	return false;
}

static bool
find_mode(str name, int *out_mode)
{
	for (int m = MODE_OFF; m < MODE_COUNT; m++) {
		if (str_eq(name, str_of(mode_names[m]))) {
			*out_mode = m;
			return true;
		}
	}
	return false;
}

bool
fault_arm(const char *spec)
{
	str name, rest, count, mode_text;
	int64_t n;
	int point, mode;

	if (!str_cut(str_of(spec), ':', &name, &rest) || !str_cut(rest, ':', &count, &mode_text))
		return false;
	if (!find_point(name, &point) || !str_to_int(count, &n) || n < 1 || !find_mode(mode_text, &mode))
		return false;
	atomic_store(&armed.point, point);
	atomic_store(&armed.left, (long)n);
	atomic_store(&armed.mode, mode);
	return true;
}

static enum fault_planted planted; /* written before threads start */

static const char *const plant_names[] = {
#define X(n, d) [PLANT_##n] = #n,
	FAULT_PLANTS(X)
#undef X
};

bool
fault_plant(const char *name)
{
	for (size_t p = 1; fault_enabled() && p < sizeof(plant_names) / sizeof(plant_names[0]); p++) {
		if (str_eq(str_of(name), str_of(plant_names[p]))) {
			planted = (enum fault_planted)p;
			return true;
		}
	}
	return false;
}

#ifdef COUNTERSIGN_FAULTS
bool
fault_is_planted(enum fault_planted p)
{
	return planted == p;
}

bool
fault_pass(enum fault_point p)
{
	int mode = atomic_load_explicit(&armed.mode, memory_order_relaxed);
	long left;

	if (mode == MODE_OFF || atomic_load(&armed.point) != (int)p)
		return false;
	left = atomic_fetch_sub(&armed.left, 1) - 1;
	if (left > 0 || (left < 0 && mode != MODE_BREAK))
		return false;
	if (mode == MODE_KILL)
		(void)kill(getpid(), SIGKILL);
	if (mode == MODE_STOP)
		(void)raise(SIGSTOP);
	return mode == MODE_FAIL || mode == MODE_BREAK;
}
#endif
