/* SPDX-License-Identifier: Apache-2.0 */
#include "db/jobs.h"

#include "base/check.h"
#include "base/clock.h"
#include "db/wait.h"

#include <errno.h>

void
job_init(struct job *job, struct ctx *cx, struct tx *tx)
{
	*job = (struct job){ .cx = cx, .tx = tx };
	CHECK(sem_init(&job->woken, 0, 0) == 0);
}

void
job_done(struct job *job)
{
	CHECK(sem_destroy(&job->woken) == 0);
}

void
jobs_add(struct jobs *q, struct job *job)
{
	job->previous = q->last;
	*(q->last ? &q->last->next : &q->first) = job;
	q->last = job;
	q->count++;
	atomic_fetch_add(q->figure, 1);
}

static void
drop(struct jobs *q, struct job *job)
{
	*(job->previous ? &job->previous->next : &q->first) = job->next;
	*(job->next ? &job->next->previous : &q->last) = job->previous;
	job->next = job->previous = NULL;
	q->count--;
	atomic_fetch_sub(q->figure, 1);
}

void
jobs_take(struct jobs *q, struct job *job)
{
	drop(q, job);
	job->taken = true;
}

bool
jobs_take_back(struct jobs *q, struct job *job)
{
	if (!job->taken)
		drop(q, job);
	return !job->taken;
}

void
job_answer(struct job *job)
{
	atomic_store(&job->done, true);
	CHECK(sem_post(&job->woken) == 0);
}

/* A signal, or a clock that pthread reads differently, is no answer. */
bool
job_await(struct job *job, int64_t deadline_us)
{
	struct timespec until;
	int rc;

	do {
		until = wait_until(deadline_us);
		rc = deadline_us ? sem_clockwait(&job->woken, CLOCK_MONOTONIC, &until)
				 : sem_wait(&job->woken);
		CHECK(rc == 0 ? atomic_load(&job->done) : errno == EINTR || errno == ETIMEDOUT);
	} while (rc != 0 && (!deadline_us || clock_mono_us() < deadline_us));
	return rc == 0;
}
