/* SPDX-License-Identifier: Apache-2.0 */
#include "db/db.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "db/engine.h"

#include <stdlib.h>

/* --- opening --- */

static struct db_catalog
program_catalog(void)
{
	return (struct db_catalog){
		.sql = sql_all,
		.sql_count = sql_count,
		.migrations = migrations,
		.migration_count = migration_count,
	};
}

status
db_open(struct ctx *cx, const struct db_options *options, struct db **out_db)
{
	struct db *db = calloc(1, sizeof(*db));
	status s;

	CHECK(db != NULL);
	CHECK((options->sqlite_dir != NULL) != (options->postgres_url != NULL));
	db->engine = options->sqlite_dir ? &engine_sqlite : &engine_postgres;
	db->catalog = options->catalog ? *options->catalog : program_catalog();
	for (size_t i = 0; i < db->catalog.sql_count; i++)
		CHECK(db->catalog.sql[i]->index == i);
	s = db->engine->open(cx, db, options);
	if (s != OK) {
		free(db);
		return s;
	}
	*out_db = db;
	return OK;
}

void
db_close(struct db *db)
{
	if (!db)
		return;
	db->engine->close(db);
	free(db);
}

const char *
db_engine(const struct db *db)
{
	return db->engine->name;
}

status
db_engine_version(struct ctx *cx, str *out_text)
{
	return cx->db->engine->version(cx, cx->db, out_text);
}

status
db_prepare(struct ctx *cx)
{
	return cx->db->engine->prepare(cx, cx->db);
}

void
db_stats(const struct db *db, struct db_stats *out)
{
	const struct db_counters *c = &db->counters;

	*out = (struct db_stats){
		.transactions = atomic_load(&c->transactions),
		.batches = atomic_load(&c->batches),
		.reruns = atomic_load(&c->reruns),
		.unknown = atomic_load(&c->unknown),
		.reconnects = atomic_load(&c->reconnects),
		.queue_now = atomic_load(&c->queue_now),
		.round_trips = atomic_load(&c->round_trips),
		.commits_waiting = db->engine->commits_waiting ? db->engine->commits_waiting(db) : 0,
	};
}

/* --- transactions --- */

static void
start(struct ctx *cx, struct tx *tx, tx_fn *fn, void *arg, bool writes)
{
	CHECK(cx->db != NULL);
	CHECK(cx->tx == NULL); /* no transaction inside another: it would wait for itself */
	*tx = (struct tx){
		.db = cx->db,
		.fn = fn,
		.arg = arg,
		.writes = writes,
		.doomed = OK,
		.mark = arena_mark(cx->arena),
		.work = cx->work.writer,
		.checked = cx->checked,
	};
}

/* The answers that nobody has waited for yet. fn's own failure is the one that counts. */
static status
flush(struct ctx *cx, struct tx *tx, status s)
{
	struct error said = cx->error;
	status flushed = tx->db->engine->flush ? tx->db->engine->flush(cx, tx) : OK;

	if (s == OK)
		return flushed;
	cx->error = said;
	return s;
}

/* The time that was read, if any, is over. */
static void
forget_now(struct tx *tx)
{
	tx->now_us = 0;
	tx->began_us = clock_mono_us();
	tx->now_sent = false;
}

status
tx_call(struct ctx *cx, struct tx *tx, void *connection)
{
	status s;

	if (tx->attempts++ > 0) {
		ctx_clear(cx);
		arena_rewind(cx->arena, tx->mark);
		cx->checked = tx->checked; /* what was asked for since lies there */
	}
	tx->connection = connection;
	cx->work.writer = tx->work;
	cx->work.writing = tx->writes;
	forget_now(tx);
	tx->doomed = OK;
	tx->hook_count = 0;
	cx->tx = tx;
	s = tx->fn(cx, tx->arg);
	cx->tx = NULL;
	cx->work.writing = false;
	s = s == OK ? tx->doomed : s;
	return s == OK && tx->writes ? OK : flush(cx, tx, s); /* what is still queued goes with COMMIT */
}

static bool
out_of_time(const struct ctx *cx)
{
	return cx->deadline_us && clock_mono_us() >= cx->deadline_us;
}

/* Calls the engine until it is done or has been asked often enough. */
static status
run(struct ctx *cx, struct tx *tx)
{
	const struct engine *e = tx->db->engine;

	for (unsigned reruns = 0;; reruns++) {
		status s;

		tx->rerun = false;
		s = tx->writes ? e->transact(cx, tx) : e->read(cx, tx);
		if (s == OK || !tx->rerun || reruns == LIMIT_TX_RERUNS || out_of_time(cx))
			return s;
		atomic_fetch_add(&tx->db->counters.reruns, 1);
	}
}

struct probe {
	tx_probe_fn *fn;
	void *arg;
	bool committed;
};

static status
ask_probe(struct ctx *cx, void *arg)
{
	struct probe *p = arg;

	return p->fn(cx, p->arg, &p->committed);
}

/* COMMIT's answer was lost: what became of it? OK and E_UNAVAILABLE are certain, E_COMMIT_UNKNOWN is not. */
static status
settle(struct ctx *cx, struct tx *tx, tx_probe_fn *probe)
{
	struct probe p = { .fn = probe, .arg = tx->arg };

	if (!probe || tx->db->engine->settle(cx, tx) != OK || db_read(cx, ask_probe, &p) != OK) {
		atomic_fetch_add(&tx->db->counters.unknown, 1);
		return fail(cx, E_COMMIT_UNKNOWN,
			"the database did not answer COMMIT; it is not known whether this took effect");
	}
	if (p.committed) {
		ctx_clear(cx);
		return OK;
	}
	return fail(cx, E_UNAVAILABLE, "the connection to the database was lost; nothing was changed");
}

static void
run_hooks(const struct tx *tx)
{
	FAULT(tx_before_hooks);
	for (size_t i = 0; i < tx->hook_count; i++)
		tx->hooks[i].fn(tx->hooks[i].arg);
}

status
tx_run_probed(struct ctx *cx, tx_fn *fn, void *arg, tx_probe_fn *probe)
{
	struct tx tx;
	status s;

	start(cx, &tx, fn, arg, true);
	s = run(cx, &tx);
	if (s == E_COMMIT_UNKNOWN)
		s = settle(cx, &tx, probe);
	TRY(s);
	atomic_fetch_add(&tx.db->counters.transactions, 1);
	run_hooks(&tx);
	return OK;
}

status
tx_run(struct ctx *cx, tx_fn *fn, void *arg)
{
	return tx_run_probed(cx, fn, arg, NULL);
}

status
db_read(struct ctx *cx, tx_fn *fn, void *arg)
{
	struct tx tx;

	start(cx, &tx, fn, arg, false);
	return run(cx, &tx);
}

void
tx_after_commit(struct ctx *cx, tx_hook_fn *hook, void *arg)
{
	struct tx *tx = cx->tx;

	CHECK(tx && tx->writes && tx->hook_count < LIMIT_TX_HOOKS);
	tx->hooks[tx->hook_count++] = (struct tx_hook){ .fn = hook, .arg = arg };
}

size_t
tx_hooks_left(const struct ctx *cx)
{
	CHECK(cx->tx != NULL);
	return LIMIT_TX_HOOKS - cx->tx->hook_count;
}

/* A statement or savepoint failed: nothing more is executed, and tx_call will not say OK. */
static status
doom(struct tx *tx, status s)
{
	if (s != OK && tx->doomed == OK)
		tx->doomed = s;
	return s;
}

enum nested { NESTED_UNDO, NESTED_UNDO_LATER, NESTED_KEEP };

/* Runs fn behind a savepoint; what it did stays only where it may and fn says OK. */
static status
run_nested(struct ctx *cx, tx_fn *fn, void *arg, enum nested how)
{
	struct tx *tx = cx->tx;
	size_t hooks;
	status s, undone;
	bool inside;

	CHECK(tx && tx->writes);
	TRY(tx->doomed);
	hooks = tx->hook_count;
	inside = tx->nested;
	/* A statement that fails before the savepoint is not undone by it: its failure is the transaction's, not fn's. */
	TRY(doom(tx, flush(cx, tx, OK)));
	TRY(doom(tx, tx->db->engine->savepoint(cx, tx)));
	tx->asked = false;
	tx->nested = true;
	s = fn(cx, arg);
	tx->nested = inside;
	s = s == OK ? tx->doomed : s;
	/* inside of another one it is waited for: while this savepoint may still stand, undo would mean this one */
	if (how != NESTED_UNDO_LATER || s != OK || inside || tx->asked)
		s = flush(cx, tx, s);
	if (how == NESTED_KEEP && s == OK)
		return doom(tx, tx->db->engine->keep(cx, tx));
	tx->hook_count = hooks;
	tx->doomed = OK;
	undone = tx->db->engine->undo(cx, tx);
	if (undone != OK) /* what fn met broke the whole transaction: a full disk, a lost connection */
		return doom(tx, s != OK ? s : undone);
	return s;
}

status
tx_try(struct ctx *cx, tx_fn *fn, void *arg)
{
	return run_nested(cx, fn, arg, NESTED_UNDO);
}

status
tx_try_later(struct ctx *cx, tx_fn *fn, void *arg)
{
	return run_nested(cx, fn, arg, NESTED_UNDO_LATER);
}

status
tx_nest(struct ctx *cx, tx_fn *fn, void *arg)
{
	return run_nested(cx, fn, arg, NESTED_KEEP);
}

status
db_wait(struct ctx *cx)
{
	struct tx *tx = cx->tx;

	CHECK(tx != NULL);
	TRY(tx->doomed);
	return doom(tx, flush(cx, tx, OK));
}

void
tx_waited(struct ctx *cx)
{
	CHECK(cx->tx != NULL);
	forget_now(cx->tx);
}

int64_t
tx_began_us(const struct ctx *cx)
{
	CHECK(cx->tx != NULL);
	return cx->tx->began_us;
}

status
tx_now_later(struct ctx *cx)
{
	struct tx *tx = cx->tx;

	CHECK(tx != NULL);
	TRY(tx->doomed);
	if (tx->now_us || tx->now_sent || !tx->db->engine->now_later)
		return OK;
	tx->now_sent = true;
	return doom(tx, tx->db->engine->now_later(cx, tx));
}

void
tx_now_is(struct ctx *cx, int64_t now_us)
{
	CHECK(cx->tx != NULL);
	if (!cx->tx->now_us)
		cx->tx->now_us = now_us;
}

status
tx_now_us(struct ctx *cx, int64_t *out_us)
{
	struct tx *tx = cx->tx;

	CHECK(tx != NULL);
	TRY(tx->doomed);
	if (!tx->now_us)
		TRY(doom(tx, tx->db->engine->now(cx, tx, &tx->now_us)));
	*out_us = tx->now_us;
	return OK;
}
