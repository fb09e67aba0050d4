/* SPDX-License-Identifier: Apache-2.0 */
#include "db/pg/company.h"

#include "base/check.h"
#include "base/scoped.h"

void
company_init(struct company *c, struct db *db)
{
	*c = (struct company){ .waiting = { .figure = &db->counters.queue_now } };
	CHECK(pthread_mutex_init(&c->mutex, NULL) == 0);
}

void
company_done(struct company *c)
{
	CHECK(!c->led && !c->under_way && !c->waiting.count);
	CHECK(pthread_mutex_destroy(&c->mutex) == 0);
}

/* Who leads next, if it is time; the mutex is held. */
static struct job *
next_leader(struct company *c)
{
	struct job *next = c->waiting.first;

	if (!next || c->led || c->waiting.count < c->under_way)
		return NULL;
	jobs_take(&c->waiting, next);
	next->word = JOB_LEADS;
	c->led = true;
	return next;
}

static struct job *
add(struct company *c, struct job *job)
{
	scoped_lock held = lock(&c->mutex);

	jobs_add(&c->waiting, job);
	return next_leader(c);
}

static bool
leave(struct company *c, struct job *job)
{
	scoped_lock held = lock(&c->mutex);

	return jobs_take_back(&c->waiting, job);
}

bool
company_join(struct company *c, struct job *job)
{
	struct job *leader = add(c, job);

	if (leader == job)
		return true;
	if (leader)
		job_answer(leader);
	if (job_await(job, job->cx->deadline_us))
		return true;
	if (leave(c, job))
		return false;
	(void)job_await(job, 0); /* it runs, or leads: a commit is waited for, whatever the deadline says */
	return true;
}

size_t
company_gather(struct company *c, struct job *leader, struct job *out[LIMIT_TX_COMPANY])
{
	scoped_lock held = lock(&c->mutex);
	struct job *job = c->waiting.first, *next;
	size_t count = 0;

	out[count++] = leader;
	for (; job && count < LIMIT_TX_COMPANY; job = next) {
		next = job->next;
		if (!str_eq(job->tx->together, leader->tx->together))
			continue;
		jobs_take(&c->waiting, job);
		out[count++] = job;
	}
	c->under_way += count;
	atomic_fetch_add(c->waiting.figure, (int64_t)count - 1); /* they wait for the leader now */
	return count;
}

/* So many are done, and the lead is free: who has it then? */
static struct job *
go_on(struct company *c, size_t done, bool led)
{
	scoped_lock held = lock(&c->mutex);

	c->under_way -= done;
	if (led)
		c->led = false;
	return next_leader(c);
}

void
company_pass(struct company *c)
{
	struct job *next = go_on(c, 0, true);

	if (next)
		job_answer(next);
}

void
company_end(struct company *c, struct job *const *jobs, size_t count)
{
	struct job *next = go_on(c, count, false);

	if (next)
		job_answer(next);
	atomic_fetch_sub(c->waiting.figure, (int64_t)count - 1);
	for (size_t i = 1; i < count; i++)
		job_answer(jobs[i]);
}
