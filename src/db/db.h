/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db: one interface, two databases (SQLite, PostgreSQL).
 *
 *	db_open -> db_migrate -> db_prepare -> tx_run / db_read ... -> db_close
 *
 * A transaction is a function. It may run more than once (a serialization
 * failure, a batch that had to be taken apart), so it does no I/O, waits for
 * nothing and sets its results in arg only; what must happen outside happens in
 * after-commit hooks. It commits wholly or leaves nothing.
 *
 * Statements are objects made by tools/sqlgen from .sql files; there is no
 * function that takes SQL text.
 *
 * What the caller can be told:
 *	OK                committed, durable
 *	E_COMMIT_UNKNOWN  COMMIT was sent and no answer came; PostgreSQL only, and only
 *	                  where the probe could not settle it
 *	anything else     nothing was changed
 */
#ifndef DB_DB_H
#define DB_DB_H

#include "base/ctx.h"
#include "base/field.h"

/* One named statement, generated. Compare and pass by pointer. */
struct sql {
	const char *name;	       /* "proposal_get", from the .sql file */
	const char *sqlite, *postgres; /* the text for each engine */
	uint16_t index;		       /* its place in sql_all */
	uint8_t params, columns;       /* columns 0: gives no rows */
	bool writes;		       /* refused inside db_read */
};

/* All statements of the program, generated. Prepared by db_prepare. */
extern const struct sql *const sql_all[];
extern const size_t sql_count;

/* A migration, generated from src/db/migrations/NNNN_name.sql. */
struct migration {
	int version;
	int min_compatible; /* the oldest binary schema version that may still work after this */
	const char *name;
	const char *sqlite, *postgres;
};
extern const struct migration migrations[];
extern const size_t migration_count;

/* What a database is opened with. The program has one; a test brings its own, which is how two
 * versions of the binary can be tried in one process. */
struct db_catalog {
	const struct sql *const *sql; /* sql[i]->index == i */
	size_t sql_count;
	const struct migration *migrations; /* ascending by version */
	size_t migration_count;
};

/* A parameter. */
struct db_value {
	enum { DB_NULL, DB_INT, DB_TEXT, DB_BLOB } type;
	int64_t number;
	str bytes;
};
#define DB_INT_(n) ((struct db_value){ .type = DB_INT, .number = (int64_t)(n) })
#define INT(n)	   DB_INT_(n)
#define TEXT(s)	   ((struct db_value){ .type = DB_TEXT, .bytes = (s) })
#define BLOB(s)	   ((struct db_value){ .type = DB_BLOB, .bytes = (s) })
#define NIL	   ((struct db_value){ .type = DB_NULL })
/* The parameters of a call, as one array with its length. The NIL before them is for calls without any. */
#define DB_ARGS(...)  (const struct db_value[]){ NIL, ##__VA_ARGS__ } + 1, DB_COUNT(__VA_ARGS__)
#define DB_COUNT(...) (sizeof((const struct db_value[]){ NIL, ##__VA_ARGS__ }) / sizeof(struct db_value) - 1)

struct db_options {
	const char *sqlite_dir;	  /* SQLite: the data directory (the file is countersign.db in it), or */
	const char *postgres_url; /* PostgreSQL: a connection string, several hosts allowed */
	int connections;	  /* readers (SQLite) or connections (PostgreSQL) */
	int batch; /* SQLite: transactions in one commit, at most LIMIT_TX_BATCH; 1: one each; 0: the default
		    */
	int checkpoint; /* SQLite: pages in the log after which it is copied into the file; 0: the default */
	bool create;	/* SQLite: make the file where it is missing */
	const struct db_catalog *catalog; /* NULL: the program's own */
};

/*
 * E_UNAVAILABLE  cannot be opened or reached; the message says what to do
 * E_BUSY         another process has this data directory open
 * E_READ_ONLY    the file or directory cannot be written
 */
status db_open(struct ctx *cx, const struct db_options *options, struct db **out_db) MUST_USE;

/* Where the sockets of a PostgreSQL on this machine may be, by its connection string; how many of `most`. */
size_t db_socket_folders(struct arena *a, const char *postgres_url, str *out, size_t most);

/* Waits for what was accepted, then closes. */
void db_close(struct db *db);

/* "sqlite" or "postgres", and the engine's version. */
const char *db_engine(const struct db *db);
status db_engine_version(struct ctx *cx, str *out_text) MUST_USE;

/* --- schema --- */

struct db_schema {
	int64_t version;	/* of the database; 0: empty */
	int64_t min_compatible; /* the oldest binary that may use it */
};

status db_schema(struct ctx *cx, struct db_schema *out) MUST_USE;

/*
 * Brings the schema up to this binary's version, each migration in its own
 * transaction, one process at a time (advisory lock). Running it again does nothing.
 * A newer schema that still allows this binary (min_compatible) is left alone.
 *
 * E_SCHEMA  the database is newer than this binary can use
 */
status db_migrate(struct ctx *cx, int *out_applied) MUST_USE;

/*
 * Prepares every statement against the schema, on every connection.
 *
 * E_SCHEMA  a statement does not fit; the message names it
 */
status db_prepare(struct ctx *cx) MUST_USE;

/* --- transactions --- */

typedef status tx_fn(struct ctx *cx, void *arg);

/* After COMMIT's answer is lost: did the transaction's row arrive? Runs in a fresh read on the primary. */
typedef status tx_probe_fn(struct ctx *cx, void *arg, bool *out_committed);

/*
 * Runs fn in a transaction on the primary and commits. If fn fails, or the commit
 * does, nothing of it remains and the status is handed on.
 *
 * E_BUSY            the queue is full, or fn was rerun too often
 * E_DISK_FULL E_READ_ONLY E_UNAVAILABLE  as they say
 * E_COMMIT_UNKNOWN  see above; probe may be NULL
 */
status tx_run(struct ctx *cx, tx_fn *fn, void *arg) MUST_USE;
status tx_run_probed(struct ctx *cx, tx_fn *fn, void *arg, tx_probe_fn *probe) MUST_USE;

/* Runs fn in one consistent read: statements that write are refused (a bug: stops the program). */
status db_read(struct ctx *cx, tx_fn *fn, void *arg) MUST_USE;

/* Inside tx_run: hook runs once, in the caller's thread, after the commit is durable; in order; not at all
 * without it. */
typedef void tx_hook_fn(void *arg);
void tx_after_commit(struct ctx *cx, tx_hook_fn *hook, void *arg);

/* Inside tx_run: how many more hooks the transaction may have. */
size_t tx_hooks_left(const struct ctx *cx);

/* Inside tx_run: runs fn and undoes what it did, whatever it says; hands its status on. The dry-run. */
status tx_try(struct ctx *cx, tx_fn *fn, void *arg) MUST_USE;

/*
 * The same, but what fn ran by db_later last is not waited for, nor is that it was undone: if it fails, so does
 * the next statement or the transaction, with its status. For who would give up then anyhow.
 */
status tx_try_later(struct ctx *cx, tx_fn *fn, void *arg) MUST_USE;

/* Inside tx_run: runs fn and keeps what it did where it says OK, undoes it where not; hands its status on. A
 * part that may fail without the rest. */
status tx_nest(struct ctx *cx, tx_fn *fn, void *arg) MUST_USE;

/* Inside tx_run: a lock was waited for, so the time that was read before is over: tx_now_us asks again. */
void tx_waited(struct ctx *cx);

/* Inside tx_run: the database's clock in microseconds; the same for the whole transaction, until tx_waited.
 */
status tx_now_us(struct ctx *cx, int64_t *out_us) MUST_USE;

/* Inside tx_run: a moment of clock_mono_us before the one that tx_now_us gives. */
int64_t tx_began_us(const struct ctx *cx);

/* Inside tx_run or db_read: tx_now_us will be asked for soon, so the clock is read along with the next
 * statement.
 */
status tx_now_later(struct ctx *cx) MUST_USE;

/* Inside tx_run or db_read: a statement of the caller's own has just read the clock: tx_now_us need not. */
void tx_now_is(struct ctx *cx, int64_t now_us);

/* --- statements, inside tx_run or db_read --- */
/*
 * Common errors: E_EXISTS (unique), E_REFERENCED (foreign key), E_INVALID (check,
 * not null), and those of tx_run. On PostgreSQL any of them dooms the transaction: hand them on.
 */

/* A number of parameters that is not the statement's is a bug: it is logged with both, and stops the program.
 */

/*
 * Runs a statement whose answer nobody needs yet. On PostgreSQL it travels with the next statement and costs
 * no round trip; its failure is the next statement's, or that of the tx_nest, tx_try or transaction it stands
 * in.
 */
#define db_later(cx, sql, ...) db_later_args((cx), (sql), DB_ARGS(__VA_ARGS__))
status db_later_args(struct ctx *cx, const struct sql *s, const struct db_value *args, size_t count) MUST_USE;

/* Runs a statement; *out_rows (may be NULL) is how many rows it touched. */
#define db_run(cx, sql, ...)		     db_run_args((cx), (sql), NULL, DB_ARGS(__VA_ARGS__))
#define db_run_count(cx, sql, out_rows, ...) db_run_args((cx), (sql), (out_rows), DB_ARGS(__VA_ARGS__))
status db_run_args(struct ctx *cx, const struct sql *s, int64_t *out_rows, const struct db_value *args,
	size_t count) MUST_USE;

/* The one row, into *out by its field table. E_NOT_FOUND where there is none; *out untouched. */
#define db_one(cx, sql, fields, out, ...) db_one_args((cx), (sql), (fields), (out), DB_ARGS(__VA_ARGS__))
status db_one_args(struct ctx *cx, const struct sql *s, const struct field *fields, void *out,
	const struct db_value *args, size_t count) MUST_USE;

/* All rows, as an array of structs of this size in the arena. E_TOO_LARGE beyond LIMIT_DB_ROWS or the arena's
 * cap. */
#define db_all(cx, sql, fields, size, out_rows, out_count, ...)                                              \
	db_all_args((cx), (sql), (fields), (size), (void **)(out_rows), (out_count), DB_ARGS(__VA_ARGS__))
status db_all_args(struct ctx *cx, const struct sql *s, const struct field *fields, size_t size,
	void **out_rows, size_t *out_count, const struct db_value *args, size_t count) MUST_USE;

/*
 * As db_all, but the answer is not waited for: *out, which must live until then, has the rows once another
 * statement was waited for (db_run, db_one, db_all, db_wait), and a failure is that statement's. For few
 * rows.
 */
struct db_rows {
	void *rows;
	size_t count;
};
#define db_ask(cx, sql, fields, size, out, ...)                                                              \
	db_ask_args((cx), (sql), (fields), (size), (out), DB_ARGS(__VA_ARGS__))
status db_ask_args(struct ctx *cx, const struct sql *s, const struct field *fields, size_t size,
	struct db_rows *out, const struct db_value *args, size_t count) MUST_USE;

/* Waits for what db_ask and db_later left to be waited for. */
status db_wait(struct ctx *cx) MUST_USE;

/* --- figures for /metrics --- */
struct db_stats {
	int64_t transactions, batches, reruns, unknown, reconnects, queue_now, round_trips, commits_waiting;
};
void db_stats(const struct db *db, struct db_stats *out);

#endif
