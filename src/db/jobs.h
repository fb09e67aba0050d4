/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs: transactions that wait for SQLite's writer thread.
 *
 *	job_init -> jobs_add -> (jobs_take by another thread) -> job_answer -> job_await is over -> job_done
 *
 * A job is on its caller's stack, and gone as soon as the caller knows. Its ctx belongs to whoever has taken it
 * until it is answered. The list is guarded by a mutex of its owner's.
 */
#ifndef DB_JOBS_H
#define DB_JOBS_H

#include "db/engine.h"

#include <semaphore.h>

struct job {
	struct job *next, *previous;
	struct ctx *cx;
	struct tx *tx;
	bool taken;
	status result;
	atomic_bool done;
	sem_t woken; /* not a condition: who is woken needs no lock, and there are many at once */
};

struct jobs {
	struct job *first, *last; /* in order of arrival */
	size_t count;
	_Atomic int64_t *figure; /* counts them, too, for /metrics */
};

void job_init(struct job *job, struct ctx *cx, struct tx *tx);
void job_done(struct job *job);

/* The mutex is held. */
void jobs_add(struct jobs *q, struct job *job);
/* Removes it for somebody who will answer it. */
void jobs_take(struct jobs *q, struct job *job);
/* Removes it for good; false: it has been taken. */
bool jobs_take_back(struct jobs *q, struct job *job);

/* Its caller goes on. */
void job_answer(struct job *job);

/* Waits for that. False: the deadline (clock_mono_us; 0: none) passed first. */
bool job_await(struct job *job, int64_t deadline_us);

#endif
