/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commit: clients that each insert one row per transaction for some seconds.
 *
 *	bench-commit (sqlite DIR | postgres URL) CLIENTS SECONDS BATCH
 *
 * Prints "transactions microseconds batches". bench/commit.py compares.
 */
#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "db/db.h"

#include "commit.sql.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

/* Generated from commit.sql and migrations/. */
extern const struct sql *const commit_sql_all[];
extern const size_t commit_sql_count, commit_migration_count;
extern const struct migration commit_migrations[];

#define BODY_BYTES 200
#define MOST	   64

struct client {
	pthread_t thread;
	struct db *db;
	int64_t number, done, until_us;
};

static status
put(struct ctx *cx, void *arg)
{
	static const char body[BODY_BYTES] = { [0 ... BODY_BYTES - 1] = 'x' };
	const struct client *c = arg;

	return db_run(cx, SQL_COMMIT_INSERT, INT(c->number), INT(c->done),
		TEXT(((str){ .ptr = body, .len = BODY_BYTES })));
}

static void *
drive(void *arg)
{
	struct client *c = arg;
	struct arena arena;
	struct ctx cx;

	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	cx.db = c->db;
	for (; clock_mono_us() < c->until_us; c->done++) {
		CHECK(tx_run(&cx, put, c) == OK);
		arena_reset(&arena);
	}
	arena_done(&arena);
	return NULL;
}

static void
measure(struct db *db, int clients, int64_t seconds)
{
	struct client client[MOST];
	struct db_stats before, after;
	int64_t from_us = clock_mono_us(), done = 0;

	db_stats(db, &before);
	for (int i = 0; i < clients; i++) {
		client[i] =
			(struct client){ .db = db, .number = i, .until_us = from_us + seconds * SECOND_US };
		CHECK(pthread_create(&client[i].thread, NULL, drive, &client[i]) == 0);
	}
	for (int i = 0; i < clients; i++) {
		CHECK(pthread_join(client[i].thread, NULL) == 0);
		done += client[i].done;
	}
	db_stats(db, &after);
	(void)printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", done, clock_mono_us() - from_us,
		after.batches - before.batches);
}

static status
run(struct ctx *cx, const struct db_options *options, int clients, int64_t seconds)
{
	int applied;

	TRY(db_open(cx, options, &cx->db));
	TRY(db_migrate(cx, &applied));
	TRY(db_prepare(cx));
	measure(cx->db, clients, seconds);
	db_close(cx->db);
	return OK;
}

int
main(int argc, char **argv)
{
	const struct db_catalog catalog = {
		.sql = commit_sql_all,
		.sql_count = commit_sql_count,
		.migrations = commit_migrations,
		.migration_count = commit_migration_count,
	};
	struct db_options options = { .create = true, .catalog = &catalog };
	int64_t clients, seconds, batch;
	struct arena arena;
	struct ctx cx;
	status s;

	if (argc != 6 || !str_to_int(str_of(argv[3]), &clients) || !str_to_int(str_of(argv[4]), &seconds) ||
		!str_to_int(str_of(argv[5]), &batch) || clients < 1 || clients > MOST) {
		(void)fputs("bench-commit (sqlite DIR | postgres URL) CLIENTS SECONDS BATCH\n", stderr);
		return 2;
	}
	if (strcmp(argv[1], "sqlite") == 0)
		options.sqlite_dir = argv[2];
	else
		options.postgres_url = argv[2];
	options.connections = (int)clients;
	options.batch = (int)batch;
	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	s = run(&cx, &options, (int)clients, seconds);
	if (s != OK) {
		str why = ctx_message(&cx, s);
		(void)fprintf(stderr, "bench-commit: %s: %.*s\n", status_info(s)->name, STR_ARG(why));
	}
	arena_done(&arena);
	return s == OK ? 0 : 1;
}
