/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer: one thread that has the only connection which writes.
 *
 *	BEGIN IMMEDIATE; (SAVEPOINT s; function; RELEASE s)*; COMMIT; answer all
 *
 * A batch is everything that has queued up while the last one was being synced, and what comes
 * while it is young; it never waits for company. A function that fails undoes its own savepoint
 * only. Nobody is answered before COMMIT, not even with a failure: that may rest on what another
 * function of the batch wrote.
 *
 * When a batch breaks (SQLite ended the transaction early, or COMMIT said that
 * nothing was written) its functions run again one by one, so that each gets the
 * answer it deserves.
 *
 * An error at COMMIT that is none of the harmless ones means that the commit
 * record may or may not be on the disk. No further answer would be honest, and the
 * next start reads the log and knows; so the process ends with EXIT_COMMIT_UNKNOWN
 * and nobody is answered.
 */
#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/scoped.h"
#include "db/sqlite.h"

#include <errno.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

/* One transaction that waits for the writer. On its caller's stack. */
struct job {
	struct job *next, *previous;
	struct ctx *cx; /* the writer's from taken to done */
	struct tx *tx;
	bool taken;
	status result;
	atomic_bool done;
	sem_t woken; /* not a condition: who is woken needs no lock, and there are many at once */
};

struct batch {
	struct job *jobs[LIMIT_TX_BATCH];
	size_t count;
};

enum outcome { COMMITTED, BROKEN };

/* --- waiting --- */

void
wait_init(pthread_cond_t *c)
{
	pthread_condattr_t attributes;

	CHECK(pthread_condattr_init(&attributes) == 0);
	CHECK(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
	CHECK(pthread_cond_init(c, &attributes) == 0);
	CHECK(pthread_condattr_destroy(&attributes) == 0);
}

/* A deadline by base/clock, by the clock that pthread waits with. */
static struct timespec
mono_at(int64_t deadline_us)
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
	t = mono_at(cx->deadline_us);
	(void)pthread_cond_timedwait(c, m, &t);
	return true; /* or too late: the next call says so */
}

/* --- the queue; the mutex is held --- */

static void
enqueue(struct writer *w, struct job *job)
{
	job->previous = w->last;
	if (w->last)
		w->last->next = job;
	else
		w->first = job;
	w->last = job;
	w->waiting++;
	atomic_store(&w->db->counters.queue_now, (int64_t)w->waiting);
}

static void
dequeue(struct writer *w, struct job *job)
{
	*(job->previous ? &job->previous->next : &w->first) = job->next;
	*(job->next ? &job->next->previous : &w->last) = job->previous;
	job->next = job->previous = NULL;
	w->waiting--;
	atomic_store(&w->db->counters.queue_now, (int64_t)w->waiting);
}

/* The next job, if there is one now. */
static struct job *
take(struct writer *w)
{
	scoped_lock held = lock(&w->mutex);
	struct job *job = w->first;

	if (!job)
		return NULL;
	dequeue(w, job);
	job->taken = true;
	return job;
}

/* Waits for a job; false at the end, when there will be no more. */
static bool
await(struct writer *w)
{
	scoped_lock held = lock(&w->mutex);

	while (!w->first && !w->stop)
		CHECK(pthread_cond_wait(&w->arrived, &w->mutex) == 0);
	return w->first != NULL;
}

/* A job is gone as soon as its caller knows. */
static void
answer(const struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		atomic_store(&b->jobs[i]->done, true);
		CHECK(sem_post(&b->jobs[i]->woken) == 0);
	}
}

/* --- one transaction function --- */

static int
undo(struct connection *c)
{
	int rc = connection_do(c, VERB_UNDO);

	return rc == SQLITE_OK ? connection_do(c, VERB_RELEASE) : rc;
}

static status
call(struct connection *c, struct job *job)
{
	status s = tx_call(job->cx, job->tx, c);

	if (s == OK && FAULT_FAILS(tx_after_function))
		s = fail(job->cx, E_UNAVAILABLE, "stopped after the function");
	return s;
}

/* Runs the function in a savepoint of its own. False where the transaction around it is gone. */
static bool
run_saved(struct connection *c, struct job *job)
{
	int rc = connection_do(c, VERB_SAVE);

	if (rc != SQLITE_OK) {
		job->result = connection_fail(job->cx, c, rc);
		return false;
	}
	job->result = call(c, job);
	if (connection_lost_transaction(c)) {
		if (job->result == OK)
			job->result = fail(job->cx, E_UNAVAILABLE, "the transaction was ended early");
		return false;
	}
	rc = job->result == OK ? connection_do(c, VERB_RELEASE) : undo(c);
	if (rc != SQLITE_OK && job->result == OK)
		job->result = connection_fail(job->cx, c, rc);
	return rc == SQLITE_OK;
}

/* --- a batch --- */

static void
roll_back(struct connection *c)
{
	if (!connection_lost_transaction(c))
		CHECK(connection_do(c, VERB_ROLLBACK) == SQLITE_OK || connection_lost_transaction(c));
}

static void
fail_all(struct batch *b, struct connection *c, int rc)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->jobs[i]->result == OK)
			b->jobs[i]->result = connection_fail(b->jobs[i]->cx, c, rc);
}

static _Noreturn void
die_unknown(struct connection *c, int rc)
{
	LOG(LOG_ERROR, "db.commit_unknown", LOG_INT("sqlite", rc),
		LOG_STR("message", str_of(sqlite3_errmsg(c->handle))), LOG_INT("exit", EXIT_COMMIT_UNKNOWN));
	_exit(EXIT_COMMIT_UNKNOWN);
}

/* Codes of COMMIT after which nothing of it is in the log, or can be taken out of it. The log is written in
 * order and its last frame is the commit, so a full disk is one of them; what comes after that frame is not.
 */
static bool
surely_not_committed(struct connection *c, int rc)
{
	switch (rc & 0xff) {
	case SQLITE_INTERRUPT:
	case SQLITE_CONSTRAINT:
	case SQLITE_BUSY:
		return true;
	case SQLITE_FULL:
		roll_back(c);
		return connection_cut_log(c) == SQLITE_OK;
	default:
		return false;
	}
}

static enum outcome
commit(struct connection *c, struct batch *b)
{
	int rc = FAULT_FAILS(tx_before_commit) ? SQLITE_INTERRUPT : connection_do(c, VERB_COMMIT);

	if (rc == SQLITE_OK && FAULT_FAILS(tx_after_commit))
		rc = SQLITE_IOERR;
	if (rc == SQLITE_OK)
		return COMMITTED;
	if (PLANTED(commit_unheard)) {
		roll_back(c);
		return COMMITTED;
	}
	fail_all(b, c, rc);
	if (!surely_not_committed(c, rc))
		die_unknown(c, rc);
	return BROKEN;
}

/* Who was there when it began is in it, however long that takes: a COMMIT in between would only make them
 * wait for one more sync. */
static bool
wants_more(const struct writer *w, const struct batch *b, size_t there, int64_t began_us)
{
	return b->count < w->batch_max &&
	       (b->count < there || clock_mono_us() - began_us < LIMIT_TX_BATCH_US);
}

/* Runs what is queued into the open transaction. */
static enum outcome
fill(struct writer *w, struct batch *b)
{
	struct connection *c = &w->connection;
	size_t there = (size_t)atomic_load(&w->db->counters.queue_now);
	int64_t began_us = clock_mono_us();
	struct job *job;

	while (wants_more(w, b, there, began_us) && (job = take(w))) {
		b->jobs[b->count++] = job;
		if (!run_saved(c, job) || (b->count > 1 && FAULT_FAILS(batch_between)))
			return BROKEN;
	}
	return COMMITTED;
}

static bool
begin(struct connection *c, int *out_rc)
{
	int rc = FAULT_FAILS(tx_before_begin) ? SQLITE_INTERRUPT : connection_do(c, VERB_BEGIN_WRITE);

	if (rc == SQLITE_OK && FAULT_FAILS(tx_after_begin))
		rc = SQLITE_INTERRUPT;
	*out_rc = rc;
	return rc == SQLITE_OK;
}

/* One job in a transaction of its own; its result is final. */
static void
run_alone(struct writer *w, struct job *job)
{
	struct batch alone = { .jobs = { job }, .count = 1 };
	struct connection *c = &w->connection;
	int rc;

	job->result = OK;
	if (!begin(c, &rc))
		fail_all(&alone, c, rc);
	else if (run_saved(c, job))
		(void)commit(c, &alone);
	roll_back(c);
	atomic_fetch_add(&w->db->counters.batches, 1);
}

static void
rerun_singly(struct writer *w, struct batch *b)
{
	if (b->count == 1)
		return; /* it was alone already: what it says is the answer */
	for (size_t i = 0; i < b->count; i++) {
		atomic_fetch_add(&w->db->counters.reruns, 1);
		run_alone(w, b->jobs[i]);
	}
}

static void
run_batch(struct writer *w)
{
	struct connection *c = &w->connection;
	struct batch b = { .count = 0 };
	enum outcome outcome;
	int rc;

	if (!begin(c, &rc)) {
		roll_back(c);
		b.jobs[0] = take(w);
		b.count = b.jobs[0] != NULL;
		if (b.count)
			b.jobs[0]->result = OK;
		fail_all(&b, c, rc);
		answer(&b);
		return;
	}
	outcome = fill(w, &b);
	if (outcome == COMMITTED)
		outcome = commit(c, &b);
	atomic_fetch_add(&w->db->counters.batches, 1);
	roll_back(c);
	if (outcome == BROKEN)
		rerun_singly(w, &b);
	answer(&b);
}

/* After the answers, so that nobody waits for it. What fails here is tried again next time. */
static void
checkpoint(const struct writer *w, struct connection *c)
{
	if (c->wal_frames < w->checkpoint_frames)
		return;
	(void)sqlite3_wal_checkpoint_v2(c->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	c->wal_frames = 0;
}

static void *
write_batches(void *arg)
{
	struct writer *w = arg;

	while (await(w)) {
		run_batch(w);
		checkpoint(w, &w->connection);
	}
	return NULL;
}

/* --- for the callers --- */

void
writer_start(struct writer *w, struct db *db, size_t batch_max)
{
	w->db = db;
	w->batch_max = batch_max;
	w->queue_max = LIMIT_TX_QUEUE;
	CHECK(pthread_mutex_init(&w->mutex, NULL) == 0);
	wait_init(&w->arrived);
	CHECK(pthread_create(&w->thread, NULL, write_batches, w) == 0);
}

void
writer_stop(struct writer *w)
{
	{
		scoped_lock held = lock(&w->mutex);
		w->stop = true;
		CHECK(pthread_cond_signal(&w->arrived) == 0);
	}
	CHECK(pthread_join(w->thread, NULL) == 0);
	CHECK(pthread_cond_destroy(&w->arrived) == 0);
	CHECK(pthread_mutex_destroy(&w->mutex) == 0);
}

static bool
queue(struct writer *w, struct job *job)
{
	scoped_lock held = lock(&w->mutex);

	if (w->waiting >= w->queue_max)
		return false;
	enqueue(w, job);
	return true;
}

/* Takes the job back where the writer has not taken it. */
static bool
take_back(struct writer *w, struct job *job)
{
	scoped_lock held = lock(&w->mutex);

	if (!job->taken)
		dequeue(w, job);
	return !job->taken;
}

/* False: the deadline (0: none) passed first. A signal, or a clock that pthread reads differently, is no answer. */
static bool
await_until(struct job *job, int64_t deadline_us)
{
	struct timespec until;
	int rc;

	do {
		until = mono_at(deadline_us);
		rc = deadline_us ? sem_clockwait(&job->woken, CLOCK_MONOTONIC, &until)
				 : sem_wait(&job->woken);
		CHECK(rc == 0 ? atomic_load(&job->done) : errno == EINTR || errno == ETIMEDOUT);
	} while (rc != 0 && (!deadline_us || clock_mono_us() < deadline_us));
	return rc == 0;
}

/* Queues the job and waits. The job's function has not run where this says E_BUSY. */
static status
queue_and_wait(struct writer *w, struct job *job)
{
	if (!queue(w, job))
		return fail(job->cx, E_BUSY, "too many transactions are waiting; nothing was changed");
	CHECK(pthread_cond_signal(&w->arrived) == 0); /* who is called needs the lock at once */
	if (await_until(job, job->cx->deadline_us))
		return job->result;
	if (take_back(w, job))
		return fail(job->cx, E_BUSY, "the database was busy for too long; nothing was changed");
	(void)await_until(job, 0); /* it runs: a commit is waited for, whatever the deadline says */
	return job->result;
}

status
writer_run(struct writer *w, struct ctx *cx, struct tx *tx)
{
	struct job job = { .cx = cx, .tx = tx };
	status s;

	CHECK(sem_init(&job.woken, 0, 0) == 0);
	s = queue_and_wait(w, &job);
	CHECK(sem_destroy(&job.woken) == 0);
	return s;
}
