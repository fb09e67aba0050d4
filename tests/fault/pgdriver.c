/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pgdriver: writes to a PostgreSQL database from several threads and says, one
 * line each, what it was told. tests/fault/run-postgres kills it or its server
 * and compares.
 *
 *	pgdriver faults                       the named fault points, one a line
 *	pgdriver prepare URL                  makes the tables
 *	pgdriver write URL [name=number ...]  first threads each probe plant
 *
 * A transaction writes a pair of rows and counts itself in two of four
 * counters, in an order that makes deadlocks. It says "try ID", then "ok ID",
 * "no ID E_X" or "unknown ID"; "bad ID ..." is a broken promise seen from inside.
 * It goes on until each thread has been told "ok" often enough, or has tried
 * twenty times as often.
 */
#include "base/check.h"
#include "base/fault.h"
#include "db/engine.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { COUNTERS = 4, MINE = 4 };
enum plant {
	SOUND,
	EARLY,
	SPLIT
}; /* bugs for the rig to find: "ok" before COMMIT, two transactions for one */

static struct sql put_first = {
	.name = "put_first", .postgres = "INSERT INTO rig_first (id) VALUES ($1)", .params = 1, .writes = true
};
static struct sql put_second = { .name = "put_second",
	.postgres = "INSERT INTO rig_second (id, body) VALUES ($1, repeat('x', 300))",
	.params = 1,
	.writes = true };
static struct sql count_up = { .name = "count_up",
	.postgres = "UPDATE rig_counter SET n = n + 1 WHERE id = $1",
	.params = 1,
	.writes = true };
static struct sql find = { .name = "find",
	.postgres = "SELECT count(*) FROM rig_first JOIN rig_second USING (id) WHERE id = $1",
	.params = 1,
	.columns = 1 };

static const char tables[] = "CREATE TABLE rig_first (id bigint PRIMARY KEY);"
			     "CREATE TABLE rig_second (id bigint PRIMARY KEY, body text NOT NULL);"
			     "CREATE TABLE rig_counter (id bigint PRIMARY KEY, n bigint NOT NULL);"
			     "INSERT INTO rig_counter SELECT g, 0 FROM generate_series(0, 3) g;";

#define STATEMENTS 2048u

static const struct sql *all[STATEMENTS];
static struct migration steps[64];

static struct db_catalog
make_catalog(void)
{
	struct sql *mine[MINE] = { &put_first, &put_second, &count_up, &find };

	CHECK(sql_count + MINE < STATEMENTS && migration_count + 1 < 64);
	for (size_t i = 0; i < sql_count; i++)
		all[i] = sql_all[i];
	for (size_t i = 0; i < MINE; i++) {
		mine[i]->index = (uint16_t)(sql_count + i);
		all[sql_count + i] = mine[i];
	}
	for (size_t i = 0; i < migration_count; i++)
		steps[i] = migrations[i];
	steps[migration_count] = (struct migration){
		.version = 1000, .min_compatible = 1, .name = "rig", .sqlite = "", .postgres = tables
	};
	return (struct db_catalog){
		.sql = all,
		.sql_count = sql_count + MINE,
		.migrations = steps,
		.migration_count = migration_count + 1,
	};
}

/* One write call, so that a line is there wholly or not at all, also after a kill. */
__attribute__((format(printf, 1, 2))) static void
say(const char *format, ...)
{
	char line[256];
	va_list ap;
	int len;

	va_start(ap, format);
	len = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	CHECK(len > 0 && (size_t)len < sizeof(line));
	if (write(STDOUT_FILENO, line, (size_t)len) != len)
		_exit(2);
}

struct options {
	int64_t first, threads, each, probe, plant;
};

struct job {
	int64_t id;
	enum plant plant;
	int hooks;
};

static void
count_hook(void *arg)
{
	((struct job *)arg)->hooks++;
}

static status
put_all(struct ctx *cx, void *arg)
{
	struct job *j = arg;

	tx_after_commit(cx, count_hook, j);
	TRY(db_run(cx, &put_first, INT(j->id)));
	TRY(db_run(cx, &count_up, INT(j->id % COUNTERS)));
	TRY(db_run(cx, &put_second, INT(j->id)));
	TRY(db_run(cx, &count_up, INT(j->id / COUNTERS % COUNTERS)));
	if (j->plant == EARLY)
		say("ok %" PRId64 "\n", j->id);
	return OK;
}

static status
put_one(struct ctx *cx, void *arg)
{
	return db_run(cx, &put_first, INT(((struct job *)arg)->id));
}

static status
put_other(struct ctx *cx, void *arg)
{
	return db_run(cx, &put_second, INT(((struct job *)arg)->id));
}

struct found {
	int64_t n;
};
static const struct field found_row[] = { FIELD_INT(struct found, n), FIELD_END };

static status
probe(struct ctx *cx, void *arg, bool *out_committed)
{
	struct found found;

	TRY(db_one(cx, &find, found_row, &found, INT(((struct job *)arg)->id)));
	*out_committed = found.n == 1;
	return OK;
}

static status
transact(struct ctx *cx, struct job *j, bool probed)
{
	if (j->plant != SPLIT)
		return tx_run_probed(cx, put_all, j, probed ? probe : NULL);
	j->hooks = 1;
	TRY(tx_run(cx, put_one, j));
	return tx_run(cx, put_other, j);
}

static status
look(struct ctx *cx, void *arg)
{
	bool committed;

	TRY(probe(cx, arg, &committed));
	return committed ? OK : E_NOT_FOUND;
}

/* What tx_run promises must be so, seen from its caller. */
static void
compare(struct ctx *cx, struct job *j, status s)
{
	status seen = db_read(cx, look, j);

	if (j->plant != SOUND)
		return;
	if (j->hooks != (s == OK))
		say("bad %" PRId64 " hook ran %d times after %s\n", j->id, j->hooks, status_info(s)->name);
	if (s == OK && seen == E_NOT_FOUND)
		say("bad %" PRId64 " cannot read what was acknowledged\n", j->id);
	if (s != OK && s != E_COMMIT_UNKNOWN && seen == OK)
		say("bad %" PRId64 " can read what was refused\n", j->id);
}

static status
run_one(struct ctx *cx, struct job *j, bool probed)
{
	const struct timespec pause = {
		.tv_nsec = 5000000
	}; /* a server that starts up is not asked all the time */
	status s;

	say("try %" PRId64 "\n", j->id);
	s = transact(cx, j, probed);
	if (s == OK && j->plant != EARLY)
		say("ok %" PRId64 "\n", j->id);
	else if (s == E_COMMIT_UNKNOWN)
		say("unknown %" PRId64 "\n", j->id);
	else if (s != OK)
		say("no %" PRId64 " %s\n", j->id, status_info(s)->name);
	compare(cx, j, s);
	if (s != OK)
		(void)nanosleep(&pause, NULL);
	arena_reset(cx->arena);
	ctx_clear(cx);
	return s;
}

struct client {
	pthread_t thread;
	const struct options *o;
	struct db *db;
	int64_t first;
	bool probed;
};

static void *
serve(void *arg)
{
	struct client *c = arg;
	struct arena arena;
	struct ctx cx;
	int64_t done = 0;

	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	cx.db = c->db;
	for (int64_t i = 0; done < c->o->each && i < 20 * c->o->each; i++) {
		struct job j = { .id = c->first + i, .plant = (enum plant)c->o->plant };

		done += run_one(&cx, &j, c->probed) == OK;
	}
	arena_done(&arena);
	return NULL;
}

static int
write_all(struct db *db, const struct options *o)
{
	struct client clients[9];

	CHECK(o->threads >= 1 && o->threads <= 9);
	for (int64_t t = 0; t < o->threads; t++) {
		clients[t] = (struct client){ .o = o,
			.db = db,
			.first = o->first + t * 100000,
			.probed = o->probe == 1 || (o->probe == 2 && t % 2) };
		CHECK(pthread_create(&clients[t].thread, NULL, serve, &clients[t]) == 0);
	}
	for (int64_t t = 0; t < o->threads; t++)
		CHECK(pthread_join(clients[t].thread, NULL) == 0);
	return 0;
}

static int
open_and_write(const char *url, const struct options *o, bool prepare_only)
{
	const struct db_catalog catalog = make_catalog();
	struct db_options options = {
		.postgres_url = url, .connections = (int)o->threads, .catalog = &catalog
	};
	struct arena arena;
	struct ctx cx;
	int applied;
	status s;

	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	s = db_open(&cx, &options, &cx.db);
	if (s == OK)
		s = db_migrate(&cx, &applied);
	if (s == OK)
		s = db_prepare(&cx);
	if (s != OK)
		(void)fprintf(stderr, "pgdriver: %.*s\n", STR_ARG(ctx_message(&cx, s)));
	else if (!prepare_only)
		(void)write_all(cx.db, o);
	db_close(cx.db);
	arena_done(&arena);
	return s == OK ? 0 : 3;
}

static bool
set(struct options *o, str word)
{
	const struct {
		str name;
		int64_t *to;
	} table[] = { { STR("first"), &o->first }, { STR("threads"), &o->threads }, { STR("each"), &o->each },
		{ STR("probe"), &o->probe }, { STR("plant"), &o->plant } };
	str name, number;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (str_cut(word, '=', &name, &number) && str_eq(name, table[i].name))
			return str_to_int(number, table[i].to);
	}
	return false;
}

static int
usage(const char *why)
{
	(void)fprintf(stderr, "pgdriver: %s (faults | prepare URL | write URL [name=number ...])\n", why);
	return 2;
}

int
main(int argc, char **argv)
{
	struct options o = { .first = 1, .threads = 4, .each = 10 };
	const char *fault = getenv("COUNTERSIGN_FAULT");

	if (argc == 2 && strcmp(argv[1], "faults") == 0) {
		for (int p = 0; p < FAULT_COUNT; p++)
			say("%s\n", fault_name((enum fault_point)p));
		return fault_enabled() ? 0 : usage("this build has no fault points");
	}
	if (argc < 3 || (strcmp(argv[1], "write") != 0 && strcmp(argv[1], "prepare") != 0))
		return usage("what?");
	for (int i = 3; i < argc; i++) {
		if (!set(&o, str_of(argv[i])))
			return usage("an option is not name=number");
	}
	if (fault && !fault_arm(fault))
		return usage("COUNTERSIGN_FAULT is not name:n:mode");
	return open_and_write(argv[2], &o, strcmp(argv[1], "prepare") == 0);
}
