/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock: the only place that asks what time it is. Tests can drive it.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include "base/arena.h"

#include <stdint.h>

#define SECOND_US INT64_C(1000000)

/* Microseconds since 1970, UTC. May jump; for records and expiry. */
int64_t clock_now_us(void);

/* Microseconds that only grow; for durations and deadlines. */
int64_t clock_mono_us(void);

/* For tests: both clocks stand still at now_us until clock_release. */
void clock_freeze(int64_t now_us);
void clock_release(void);

/* "2026-11-15T22:51:44.123456Z" (RFC 3339, always UTC, always microseconds). A time outside of its years
 * 0 to 9999 is shown as the nearest of them. */
str clock_text(struct arena *a, int64_t us);

/*
 * Reads RFC 3339: a date, T, a time, Z or an offset, as clock_text writes it or
 * shorter. Digits behind the microsecond are cut off; the leap second :60 is the
 * second after :59. False where it is none; *out_us is untouched.
 */
bool clock_parse(str text, int64_t *out_us);

#endif
