/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiter: one thread that waits, under a lock, until another thread wakes it. Each waiter has a condition variable of
 * its own, so that waking one does not wake the others that wait under the same lock.
 *
 *	waiter_init --> [put where others find it] --> waiter_wait ... --> [taken away again] --> waiter_done
 */
#ifndef CORE_OUTSIDE_WAITER_H
#define CORE_OUTSIDE_WAITER_H

#include <pthread.h>
#include <stdint.h>

struct waiter {
	pthread_cond_t woken;
};

void waiter_init(struct waiter *w);
void waiter_done(struct waiter *w);

/* The caller holds the lock; others can take it meanwhile. Returns when it is woken, when the time has passed
 * (clock_mono_us), or for no reason: the caller checks what it waits for, and waits again. */
void waiter_wait(struct waiter *w, pthread_mutex_t *held, int64_t until_us);

/* The caller holds the same lock, so the waiter still exists. */
void waiter_wake(struct waiter *w);

#endif
