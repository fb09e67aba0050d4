/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer: one thread that has the only connection which writes.
 *
 *	BEGIN IMMEDIATE; (SAVEPOINT s; function; RELEASE s)*; COMMIT; answer all
 *
 * A batch is everything that has queued up while the last one was being synced, and what comes
 * while it is young; it never waits for more to come. A function that fails undoes its own savepoint
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
#include "db/wait.h"

#include <unistd.h>

struct batch {
	struct job *jobs[LIMIT_TX_BATCH];
	size_t count;
};

enum outcome { COMMITTED, BROKEN };

/* --- the queue --- */

/* The next job, if there is one now. */
static struct job *
take(struct writer *w)
{
	scoped_lock held = lock(&w->mutex);
	struct job *job = w->waiting.first;

	if (job)
		jobs_take(&w->waiting, job);
	return job;
}

/* Waits for a job; false at the end, when there will be no more. */
static bool
await(struct writer *w)
{
	scoped_lock held = lock(&w->mutex);

	while (!w->waiting.first && !w->stop)
		CHECK(pthread_cond_wait(&w->arrived, &w->mutex) == 0);
	return w->waiting.first != NULL;
}

static void
answer(const struct batch *b)
{
	for (size_t i = 0; i < b->count; i++)
		job_answer(b->jobs[i]);
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

	(void)pthread_setname_np(
		pthread_self(), "writer"); /* a name that top and tests/fault/run-cost show */
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
	w->waiting.figure = &db->counters.queue_now;
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

	if (w->waiting.count >= w->queue_max)
		return false;
	jobs_add(&w->waiting, job);
	return true;
}

/* Takes the job back where the writer has not taken it. */
static bool
take_back(struct writer *w, struct job *job)
{
	scoped_lock held = lock(&w->mutex);

	return jobs_take_back(&w->waiting, job);
}

/* Queues the job and waits. The job's function has not run where this says E_BUSY. */
static status
queue_and_wait(struct writer *w, struct job *job)
{
	if (!queue(w, job))
		return fail(job->cx, E_BUSY, "too many transactions are waiting; nothing was changed");
	CHECK(pthread_cond_signal(&w->arrived) == 0); /* who is called needs the lock at once */
	if (job_await(job, job->cx->deadline_us))
		return job->result;
	if (take_back(w, job))
		return fail(job->cx, E_BUSY, "the database was busy for too long; nothing was changed");
	(void)job_await(job, 0); /* it runs: a commit is waited for, whatever the deadline says */
	return job->result;
}

status
writer_run(struct writer *w, struct ctx *cx, struct tx *tx)
{
	struct job job;
	status s;

	job_init(&job, cx, tx);
	s = queue_and_wait(w, &job);
	job_done(&job);
	return s;
}
