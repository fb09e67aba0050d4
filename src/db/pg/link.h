/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pglink: one connection to PostgreSQL, used by one thread at a time.
 *
 *	pglink_open -> pglink_queue / pglink_run ... pglink_end -> ... -> pglink_close
 *
 * It speaks in pipeline mode. A command that has nothing to say (BEGIN,
 * SAVEPOINT) is queued and travels with the next statement, so it costs no
 * round trip; if it fails, that statement reports it. What ends a transaction
 * without being waited for (ROLLBACK, the end of a read) is sent at once and
 * its answer read when the link is used next.
 *
 * A link that is lost stays lost until pglink_open: every call on it is
 * E_UNAVAILABLE. Whether a commit may have happened is for the caller to
 * know; the link only says what it heard.
 *
 * No message made here holds the connection string or values of a row.
 */
#ifndef DB_PG_LINK_H
#define DB_PG_LINK_H

#include "db/engine.h"
#include "db/pg/value.h"

/* Which server process serves a link. The start tells it from a later one with the same number. */
struct backend {
	int64_t pid, started_us;
};

struct pgstatement {
	bool prepared;
	char name[11];			/* the server knows it by */
	uint8_t param[LIMIT_DB_PARAMS]; /* enum pgkind */
};

/* Commands of the engine itself, prepared on every link. */
enum pgcommand {
	PG_BEGIN,
	PG_BEGIN_READ,
	PG_COMMIT,
	PG_ROLLBACK,
	PG_SAVEPOINT,
	PG_UNDO,
	PG_RELEASE,
	PG_NOW, /* gives a row: only for pglink_now */
	PG_COMMAND_COUNT
};

/* A statement among those that travel with the next one, and who hears its rows. */
struct pgquestion {
	int at; /* its place among them, from 1 */
	const struct sql *sql;
	struct row_sink *sink;
};
#define PG_QUESTIONS 4 /* that are open at once; one more waits for the answers to these */

struct pglink {
	PGconn *conn; /* NULL: not connected */
	struct backend backend;
	struct db *db;			       /* for the catalog and the figures */
	unsigned epoch;			       /* the pool's, when this link was opened; 0: never */
	bool opened;			       /* it was connected before: the next time is a reconnect */
	bool complete;			       /* every statement of the catalog is prepared */
	bool unread;			       /* a transaction's end was sent, its answer not read */
	int queued;			       /* commands that travel with the next statement */
	bool later;			       /* statements are among them, which may fail */
	int clock_at;			       /* which of them is the clock, from 1; 0: none */
	int64_t clock_us;		       /* what it said; 0: nothing yet */
	struct pgquestion asked[PG_QUESTIONS]; /* those of them that have an answer, in order */
	int asked_count;
	bool lost;	 /* the connection is of no more use */
	bool contention; /* a serialization failure or a deadlock since this was last cleared */
	bool stale;	 /* what is prepared here no longer fits the schema */
	bool warned;	 /* the server sent a WARNING since this was last cleared */
	bool committed;	 /* the last command's tag was "COMMIT" */
	struct pgstatement *statements; /* by sql->index */
};

/* Connects (anew) to the primary and makes the session ours, or E_UNAVAILABLE. */
status pglink_open(struct ctx *cx, struct pglink *l, const char *url) MUST_USE;
void pglink_close(struct pglink *l);

/* False where the server has hung up, as far as one can see without asking it. */
bool pglink_alive(struct pglink *l);

/* Reads what is still to be read of the last transaction, and says whether the link is alive. */
bool pglink_ready(struct ctx *cx, struct pglink *l);

/*
 * Prepares every statement of the catalog in one round trip.
 * E_SCHEMA  one does not fit the database; the message names it
 */
status pglink_prepare(struct ctx *cx, struct pglink *l) MUST_USE;

/* Adds a command in front of the next statement. */
status pglink_queue(struct ctx *cx, struct pglink *l, enum pgcommand command) MUST_USE;

/*
 * Sends a command whose answer nobody waits for: ROLLBACK, or the end of a read. The answers to all statements
 * were read before (tx_call): PostgreSQL skips what follows a failed statement in the same round trip.
 */
void pglink_end(struct ctx *cx, struct pglink *l, enum pgcommand command);

/*
 * Sends COMMIT behind what is queued and says what came of it: OK; E_COMMIT_UNKNOWN where no clear answer
 * came; else nothing was changed, and the transaction is over. The link is lost after E_COMMIT_UNKNOWN.
 */
status pglink_commit(struct ctx *cx, struct pglink *l) MUST_USE;

/* One statement: see engine.execute. */
status pglink_execute(struct ctx *cx, struct pglink *l, const struct sql *s, const struct db_value *args,
	struct row_sink *sink) MUST_USE;

/* The same, queued. Its failure is reported by whatever is waited for next; sink (or NULL: rows are dropped)
 * is filled then. */
status pglink_later(struct ctx *cx, struct pglink *l, const struct sql *s, const struct db_value *args,
	struct row_sink *sink) MUST_USE;

/* Waits for what pglink_later queued, where that has not happened. */
status pglink_flush(struct ctx *cx, struct pglink *l) MUST_USE;

/* A question of the engine itself: args are numbers, at most four, and so is the answer. */
status pglink_ask(struct ctx *cx, struct pglink *l, const char *sql, const int64_t *args, int count,
	int64_t *out) MUST_USE;

/* The server's clock, in microseconds since 1970. */
status pglink_now(struct ctx *cx, struct pglink *l, int64_t *out_us) MUST_USE;

/* The same, queued: l->clock_us once something was waited for. */
status pglink_now_later(struct ctx *cx, struct pglink *l) MUST_USE;

/* Several statements at once, inside the transaction, however long they take. */
status pglink_script(struct ctx *cx, struct pglink *l, const char *name, const char *text) MUST_USE;

/* Is text a connection string libpq can read? */
bool pglink_readable(const char *url);

/* db_socket_folders (db.h) */
size_t pglink_socket_folders(struct arena *a, const char *url, str *out, size_t most);

#endif
