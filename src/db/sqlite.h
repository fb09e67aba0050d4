/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite: the parts of the SQLite engine, among themselves.
 *
 *	sqlite.c             the engine's table; opening, the lock on the directory, readers
 *	sqlite_connection.c  one connection: its settings, statements, errors
 *	sqlite_log.c         the log that commits are written to (WAL), as SQLite documents it
 *	sqlite_writer.c      the thread that writes: queue, batches, group commit
 */
#ifndef DB_SQLITE_H
#define DB_SQLITE_H

#include "db/jobs.h"

#include <pthread.h>
#include <sqlite3.h>

/* --- one connection; used by one thread at a time --- */

/* The statements that make transactions, prepared once for each connection. */
enum verb {
	VERB_BEGIN,
	VERB_BEGIN_WRITE,
	VERB_COMMIT,
	VERB_ROLLBACK,
	VERB_SAVE,
	VERB_UNDO,
	VERB_RELEASE,
	VERB_COUNT
};

struct connection {
	sqlite3 *handle;
	sqlite3_stmt *verbs[VERB_COUNT];
	struct slot {
		sqlite3_stmt *stmt; /* NULL: not prepared yet */
	} * slots;		    /* by sql->index */
	size_t statement_count;
	struct db_value *cells; /* of the row that is being delivered */
	int wal_frames;		/* in the log after the last commit */
};

/* Opens path, which exists. Errors as db_open; nothing is left open on failure. */
status connection_open(struct ctx *cx, struct connection *c, const char *path, bool writes, size_t statements)
	MUST_USE;
void connection_close(struct connection *c);

/* Runs one of the verbs; gives SQLite's extended code. */
int connection_do(struct connection *c, enum verb v) MUST_USE;

/* Describes SQLite's code (and the connection's last message) as a status. */
status connection_fail(struct ctx *cx, struct connection *c, int code) MUST_USE;

/* E_SCHEMA  the statement does not fit the schema */
status connection_prepare(struct ctx *cx, struct connection *c, const struct sql *s) MUST_USE;

/* As in struct engine. */
status connection_execute(struct ctx *cx, struct connection *c, const struct sql *s,
	const struct db_value *args, struct row_sink *sink) MUST_USE;

/* True where SQLite has ended the transaction by itself (disk full, interrupt, I/O error): nothing remains.
 */
bool connection_lost_transaction(const struct connection *c);

/*
 * After a COMMIT that failed for want of room, outside a transaction: cuts the log behind the last
 * committed page and syncs it. What the failed COMMIT left there may look whole to the next recovery, where a
 * write that broke off met the same bytes of an older page. Gives SQLite's code.
 */
int connection_cut_log(struct connection *c) MUST_USE;

/* --- the writer --- */

struct writer {
	struct db *db;
	struct connection connection; /* the thread's, from writer_start to writer_stop */
	size_t batch_max, queue_max;
	int checkpoint_frames; /* in the log, after which it is copied into the file; set before the start */

	pthread_t thread;
	pthread_mutex_t mutex; /* over all below */
	pthread_cond_t arrived;
	struct jobs waiting;
	bool stop;
};

/* Takes over w->connection, which is open. */
void writer_start(struct writer *w, struct db *db, size_t batch_max);

/* Waits until everything accepted has run, then ends the thread. */
void writer_stop(struct writer *w);

/*
 * Has tx run by the writer and waits for it. As transact in struct engine.
 * E_BUSY  the queue is full, or cx->deadline_us passed while it waited there
 */
status writer_run(struct writer *w, struct ctx *cx, struct tx *tx) MUST_USE;

/* The exit code after a COMMIT whose outcome nobody can know: see sqlite_writer.c. */
#define EXIT_COMMIT_UNKNOWN 70

/* For tests. Its connection may be used by a transaction's function only. */
struct writer *sqlite_writer(struct db *db);

#endif
