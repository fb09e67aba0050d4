/* SPDX-License-Identifier: Apache-2.0 */
/* world: a migrated database for one test, and threads beside it. For the tests of db. */
#ifndef TESTS_DB_WORLD_H
#define TESTS_DB_WORLD_H

#include "tests/unit/unit.h"

#include "tests/unit/database.h"

#include <pthread.h>
#include <sys/wait.h>

#include "tests/unit/db/counter.sql.h"
#include "tests/unit/db/item.sql.h"
#include "tests/unit/db/remark.sql.h"

extern const struct sql *const test_sql_all[];
extern const size_t test_sql_count;
extern const struct migration test_migrations[];

#define REMARK_STATEMENTS 2 /* the last ones: they need schema 3 */

/* The program as it was when the schema had this version. */
static inline struct db_catalog
catalog_at(int version)
{
	return (struct db_catalog){
		.sql = test_sql_all,
		.sql_count = test_sql_count - (version < 3 ? REMARK_STATEMENTS : 0),
		.migrations = test_migrations,
		.migration_count = (size_t)version,
	};
}

struct world {
	struct database database;
	struct arena arena;
	struct ctx cx;
	struct db_catalog catalog;
	int connections, batch; /* 0: the default */
};

static inline status
world_try_open(struct world *w, struct db **out_db)
{
	struct db_options options = database_options(&w->database);

	options.catalog = &w->catalog;
	options.batch = w->batch;
	if (w->connections)
		options.connections = w->connections;
	return db_open(&w->cx, &options, out_db);
}

static inline void
world_open(struct world *w)
{
	int applied;

	assert_status(world_try_open(w, &w->cx.db), OK);
	assert_status(db_migrate(&w->cx, &applied), OK);
	assert_status(db_prepare(&w->cx), OK);
}

static inline void
world_close(struct world *w)
{
	db_close(w->cx.db);
	w->cx.db = NULL;
}

static inline void
world_make(struct world *w, bool postgres)
{
	*w = (struct world){ .catalog = catalog_at(2) };
	database_make(&w->database, postgres);
	arena_init(&w->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&w->cx, &w->arena);
}

static inline void
world_done(struct world *w)
{
	world_close(w);
	arena_done(&w->arena);
	database_drop(&w->database);
}

/* --- a second hand: a thread with its own context --- */

struct hand {
	pthread_t thread;
	struct arena arena;
	struct ctx cx;
	tx_fn *fn;
	void *arg;
	status result;
};

static inline void *
hand_run(void *arg)
{
	struct hand *h = arg;

	h->result = tx_run(&h->cx, h->fn, h->arg);
	return NULL;
}

/* Begins tx_run(fn, arg) in a thread; its context can be set before in h->cx after hand_init. */
static inline void
hand_init(struct hand *h, struct db *db, tx_fn *fn, void *arg)
{
	*h = (struct hand){ .fn = fn, .arg = arg };
	arena_init(&h->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&h->cx, &h->arena);
	h->cx.db = db;
}

static inline void
hand_start(struct hand *h)
{
	CHECK(pthread_create(&h->thread, NULL, hand_run, h) == 0);
}

static inline status
hand_join(struct hand *h)
{
	CHECK(pthread_join(h->thread, NULL) == 0);
	arena_done(&h->arena);
	return h->result;
}

/* --- a gate that a transaction's function stands at until the test opens it --- */

struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t moved;
	bool reached, opened;
};

#define GATE_INIT                                                                                            \
	{                                                                                                    \
		.mutex = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER                        \
	}

static inline void
gate_set(struct gate *g, bool *flag)
{
	CHECK(pthread_mutex_lock(&g->mutex) == 0);
	*flag = true;
	CHECK(pthread_cond_broadcast(&g->moved) == 0);
	CHECK(pthread_mutex_unlock(&g->mutex) == 0);
}

static inline void
gate_wait(struct gate *g, const bool *flag)
{
	CHECK(pthread_mutex_lock(&g->mutex) == 0);
	while (!*flag)
		CHECK(pthread_cond_wait(&g->moved, &g->mutex) == 0);
	CHECK(pthread_mutex_unlock(&g->mutex) == 0);
}

static inline status
stand_at_gate(struct ctx *cx, void *arg)
{
	struct gate *g = arg;

	(void)cx;
	gate_set(g, &g->reached);
	gate_wait(g, &g->opened);
	return OK;
}

/* --- small transactions --- */

struct number {
	int64_t n;
};
static const struct field number_row[] = { FIELD_INT(struct number, n), FIELD_END };

static inline status
add_item(struct ctx *cx, void *arg)
{
	const int64_t *id = arg;

	return db_run(cx, SQL_ITEM_ADD, INT(*id), NIL, NIL, INT(0), NIL, NIL);
}

static inline status
count_items_tx(struct ctx *cx, void *arg)
{
	return db_one(cx, SQL_ITEM_COUNT, number_row, arg);
}

static inline int64_t
count_items(struct ctx *cx)
{
	struct number count = { -1 };

	assert_status(db_read(cx, count_items_tx, &count), OK);
	return count.n;
}

/* Waits until that many transactions stand in the queue. */
static inline void
await_queue(struct db *db, int64_t n)
{
	struct db_stats stats;

	do {
		db_stats(db, &stats);
		(void)usleep(200);
	} while (stats.queue_now != n);
}

/* --- what must stop the program --- */

/* Runs fn in a child process and gives how that ended (waitpid's word). */
static inline int
in_child(void (*fn)(void *arg), void *arg)
{
	pid_t pid;
	int how;

	(void)fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(freopen("/dev/null", "w", stderr) != NULL); /* it says why it dies */
		fn(arg);
		_exit(0);
	}
	CHECK(waitpid(pid, &how, 0) == pid);
	return how;
}

#endif
