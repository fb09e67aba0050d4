/* SPDX-License-Identifier: Apache-2.0 */
/* wait: conditions that wait until a deadline of base/clock, whatever becomes of the wall clock. */
#ifndef DB_WAIT_H
#define DB_WAIT_H

#include "base/ctx.h"

#include <pthread.h>
#include <time.h>

/* A condition whose timed waits do not follow the wall clock. */
void wait_init(pthread_cond_t *c);

/* Waits for c, at most until cx->deadline_us. False where that has passed. */
bool wait_for(const struct ctx *cx, pthread_cond_t *c, pthread_mutex_t *m);

/* A deadline by base/clock, which a test may have frozen, by the clock that pthread waits with. */
struct timespec wait_until(int64_t deadline_us);

#endif
