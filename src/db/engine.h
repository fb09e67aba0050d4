/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine: what db.c asks of a database. sqlite.c and postgres.c each give one
 * table of functions; nothing else knows which database it is.
 *
 *	open -> transact / read / prepare ... -> close
 *
 * Division of labour. db.c: argument and column counts, filling structs, hooks,
 * when a function is run again and how often, when a transaction is doomed,
 * migrations, figures. The engine: connections, BEGIN and COMMIT, one statement,
 * savepoints, the clock, and the translation of its errors into status.
 *
 * A transaction, seen from the engine (thread of its choice, the caller waits):
 *
 *	begin;  s = tx_call(cx, tx, connection);  s == OK ? commit : roll back;  return
 *
 * Between begin and the end of tx_call it is called back through execute,
 * savepoint, ... with the same tx; tx->connection is what it gave to tx_call.
 */
#ifndef DB_ENGINE_H
#define DB_ENGINE_H

#include "base/limits.h"
#include "db/db.h"

#include <stdatomic.h>

struct tx_hook {
	tx_hook_fn *fn;
	void *arg;
};

/* One transaction or read, from tx_run or db_read until it returns. Lives on the caller's stack. */
struct tx {
	struct db *db;
	tx_fn *fn;
	void *arg;
	bool writes;	  /* from tx_run; false: from db_read */
	void *connection; /* the engine's; set by tx_call */
	int64_t now_us;	  /* tx_now_us, once it was asked; 0: not yet */
	int64_t began_us; /* clock_mono_us before the clock was read */
	bool now_sent;	  /* now_later was called, and nothing has been waited for since */

	/*
	 * Set by transact or read together with a failure: nothing was changed, and the
	 * same function may succeed if run again (serialization failure, deadlock, a
	 * connection lost before COMMIT was sent). db.c calls again, LIMIT_TX_RERUNS times.
	 */
	bool rerun;

	/* the engine's own: how often the connection was lost, and whose COMMIT was not answered */
	int losses;
	int64_t lost_pid, lost_started_us;

	/* db.c's own */
	status doomed; /* the first statement that failed; nothing is executed after it */
	bool nested;   /* inside of tx_try or tx_nest */
	bool asked;    /* db_ask, since this was last cleared: somebody's memory may wait for rows */
	int attempts;
	uint64_t work; /* steps in write transactions before this one (base/meter/meter.h) */
	struct checked *checked;
	struct arena_mark mark; /* where the caller's arena stood; an attempt's memory goes with it */
	struct tx_hook hooks[LIMIT_TX_HOOKS];
	size_t hook_count;
};

/*
 * Where the rows of one statement go. The engine calls row once for each, in order, with
 * sql->columns cells whose bytes need to live only during the call. A failure stops the
 * delivery and is handed on by execute as it is. row is NULL where sql->columns is 0.
 */
struct row_sink {
	status (*row)(struct ctx *cx, struct row_sink *sink, const struct db_value *cells);
	int64_t touched; /* set by execute: rows inserted, updated or deleted; 0 for a SELECT */
};

struct engine {
	const char *name; /* "sqlite" */

	/* Errors as db_open. On OK db->self is set; on failure nothing is left open. */
	status (*open)(struct ctx *cx, struct db *db, const struct db_options *options);

	/* Waits for what was accepted, then frees db->self. */
	void (*close)(struct db *db);

	/* The version of the engine itself, "3.40.1". */
	status (*version)(struct ctx *cx, struct db *db, str *out_text);

	/* How many COMMITs have waited for an answer for longer than LIMIT_PG_COMMIT_SLOW_US. NULL: none ever does. */
	int64_t (*commits_waiting)(const struct db *db);

	/*
	 * Runs tx_call in a transaction on the primary and commits.
	 * OK: durable. E_COMMIT_UNKNOWN: COMMIT was sent and its answer is lost.
	 * Anything else: nothing was changed; see tx->rerun.
	 * Honours cx->deadline_us while waiting for its turn (E_BUSY, and tx_call never ran).
	 */
	status (*transact)(struct ctx *cx, struct tx *tx);

	/* Runs tx_call in one snapshot that cannot write, and ends it. On the primary, too. */
	status (*read)(struct ctx *cx, struct tx *tx);

	/*
	 * After E_COMMIT_UNKNOWN, before the caller's probe: OK means that the lost transaction can no
	 * longer commit, so what the probe sees is the truth. NULL: this engine never says
	 * E_COMMIT_UNKNOWN.
	 */
	status (*settle)(struct ctx *cx, struct tx *tx);

	/* Prepares every statement of db->catalog on every connection, also on those opened later.
	 * E_SCHEMA: a statement does not fit; the message names it. */
	status (*prepare)(struct ctx *cx, struct db *db);

	/* --- called inside tx_call --- */

	/*
	 * Runs one statement; count equals s->params. Prepares it first where that has not happened
	 * (migrations run before db_prepare). Cells: integers (and booleans) as DB_INT, text as DB_TEXT,
	 * bytes as DB_BLOB, NULL as DB_NULL; another type is E_INTERNAL.
	 * E_EXISTS unique or primary key, E_REFERENCED foreign key, E_INVALID check or not null,
	 * E_BUSY serialization failure, deadlock or lock timeout, E_DISK_FULL, E_READ_ONLY, E_UNAVAILABLE,
	 * E_INTERNAL for what we should have known. A serialization failure is remembered by the engine
	 * and becomes tx->rerun when transact returns.
	 */
	status (*execute)(struct ctx *cx, struct tx *tx, const struct sql *s, const struct db_value *args,
		size_t count, struct row_sink *sink);

	/*
	 * later: as execute, but the answer comes with that of the next execute, which reports a failure;
	 * sink may be NULL, and lives until then. flush waits for it where nothing else did. Both NULL:
	 * execute is as good.
	 */
	status (*later)(struct ctx *cx, struct tx *tx, const struct sql *s, const struct db_value *args,
		size_t count, struct row_sink *sink);
	status (*flush)(struct ctx *cx, struct tx *tx);

	/* tx_try: sets a savepoint (they nest), and undoes everything since the newest one and forgets it.
	 * undo also brings a transaction back that a failed statement had doomed. */
	status (*savepoint)(struct ctx *cx, struct tx *tx);
	status (*undo)(struct ctx *cx, struct tx *tx);
	/* tx_nest: forgets the newest savepoint and keeps what was done since. */
	status (*keep)(struct ctx *cx, struct tx *tx);

	/* The clock that decides, in microseconds: the same for the whole transaction. */
	status (*now)(struct ctx *cx, struct tx *tx, int64_t *out_us);
	/* Reads the clock along with the next execute; now then says what it said. NULL: now costs nothing.
	 */
	status (*now_later)(struct ctx *cx, struct tx *tx);

	/* Migrations: keeps other migrators out until this transaction ends (advisory lock). */
	status (*migrate_lock)(struct ctx *cx, struct tx *tx);

	/* Migrations: runs this engine's text of m, several statements, inside this transaction. */
	status (*script)(struct ctx *cx, struct tx *tx, const struct migration *m);
};

extern const struct engine engine_sqlite;
extern const struct engine engine_postgres;

struct db {
	const struct engine *engine;
	void *self; /* the engine's own */
	struct db_catalog catalog;
	struct db_counters {
		/* counted by db.c */
		_Atomic int64_t transactions, reruns, unknown;
		/* counted by the engine: COMMITs sent, connections made anew, transactions waiting,
		 * times the server was waited for (PostgreSQL) */
		_Atomic int64_t batches, reconnects, queue_now, round_trips;
	} counters;
};

/*
 * For engines: one attempt at the transaction's function, on this connection. Forgets what an
 * earlier attempt left (hooks, error, memory). OK means commit; where a statement failed it is
 * never OK, whatever the function said. A transaction's last statements may still be queued (later):
 * COMMIT goes behind them and says what became of all.
 */
status tx_call(struct ctx *cx, struct tx *tx, void *connection) MUST_USE;

#endif
