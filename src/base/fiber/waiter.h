/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiter: one who waits, under a lock, for a word of somebody else's. On a thread it is a condition of its own, so that
 * who is called is the only one who wakes; on a fiber the loop goes on meanwhile.
 *
 *	waiter_init --> [left where others find it] --> waiter_wait ... --> [taken away] --> waiter_done
 */
#ifndef BASE_FIBER_WAITER_H
#define BASE_FIBER_WAITER_H

#include "base/ctx.h"

#include <pthread.h>

struct waiter {
	struct fiber *fiber; /* NULL: a thread */
	pthread_cond_t word;
};

void waiter_init(struct waiter *w, const struct ctx *cx);
void waiter_done(struct waiter *w);

/* With the lock, which others can have meanwhile. Until it is called, or until then (clock_mono_us); it may come back for
 * no reason. */
void waiter_wait(struct waiter *w, pthread_mutex_t *held, int64_t until_us);

/* With the same lock: so it is still there. */
void waiter_call(struct waiter *w);

#endif
