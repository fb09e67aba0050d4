/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pgworld: a fresh database of PostgreSQL with one table, item, behind a proxy that can break it; for one test at a time.
 * Who includes it has defined more STATEMENTS(X), X(name, parameters, columns, writes, text), and `schema`, all tables.
 */
#ifndef TESTS_UNIT_DB_PGWORLD_H
#define TESTS_UNIT_DB_PGWORLD_H

#include "../unit.h"

#include "base/check.h"
#include "db/engine.h"
#include "pgproxy.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- statements of our own, behind the program's --- */

#define ALL_STATEMENTS(X)                                                                                    \
	X(item_add, 2, 0, true, "INSERT INTO item (id, note) VALUES ($1, $2)")                               \
	X(item_count, 0, 1, false, "SELECT count(*) FROM item")                                              \
	X(item_find, 1, 1, false, "SELECT count(*) FROM item WHERE id = $1")                                 \
	STATEMENTS(X)

#define X(name_, params_, columns_, writes_, text)                                                           \
	static struct sql name_ = { .name = #name_,                                                          \
		.sqlite = "",                                                                                \
		.postgres = (text),                                                                          \
		.params = (params_),                                                                         \
		.columns = (columns_),                                                                       \
		.writes = (writes_) };
ALL_STATEMENTS(X)
#undef X

static const struct sql *all[512];
static struct migration steps[64];
static struct db_catalog catalog = { .sql = all, .migrations = steps };

static void
make_catalog(void)
{
	CHECK(sql_count + 32 < 512 && migration_count + 1 < 64);
	for (size_t i = 0; i < sql_count; i++)
		all[i] = sql_all[i];
	catalog.sql_count = sql_count;
#define X(name_, ...)                                                                                        \
	name_.index = (uint16_t)catalog.sql_count;                                                           \
	all[catalog.sql_count++] = &name_;
	ALL_STATEMENTS(X)
#undef X
	for (size_t i = 0; i < migration_count; i++)
		steps[i] = migrations[i];
	steps[migration_count] = (struct migration){
		.version = 1000, .min_compatible = 1, .name = "test", .sqlite = "", .postgres = schema
	};
	catalog.migration_count = migration_count + 1;
}

/* --- a fresh database behind a proxy --- */

static const char *server; /* COUNTERSIGN_TEST_POSTGRES */

/* One word of the server's URL. */
static void
server_part(const char *keyword, const char *otherwise, char *out, size_t size)
{
	PQconninfoOption *options = PQconninfoParse(server, NULL);

	CHECK(options != NULL);
	(void)snprintf(out, size, "%s", otherwise);
	for (PQconninfoOption *o = options; o->keyword; o++) {
		if (strcmp(o->keyword, keyword) == 0 && o->val && o->val[0])
			(void)snprintf(out, size, "%s", o->val);
	}
	PQconninfoFree(options);
}

/* Something done behind the engine's back, on a connection of its own. */
static void
admin(const char *url, const char *text)
{
	PGconn *c = PQconnectdb(url);
	PGresult *r = PQexec(c, text);

	if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK) {
		print_error("%s: %s", text, PQresultErrorMessage(r));
		assert_true(false);
	}
	PQclear(r);
	PQfinish(c);
}

struct world {
	char name[64];
	char direct[400], url[400]; /* past the proxy, and through it */
	struct pgproxy *proxy;
	struct db *db;
	struct unit u;
};

static void
open_db(struct world *w, int connections)
{
	struct db_options o = { .postgres_url = w->url, .connections = connections, .catalog = &catalog };
	int applied;

	assert_status(db_open(&w->u.cx, &o, &w->db), OK);
	w->u.cx.db = w->db;
	assert_status(db_migrate(&w->u.cx, &applied), OK);
	assert_status(db_prepare(&w->u.cx), OK);
}

static int
setup(void **state)
{
	static int count;
	struct world *w = calloc(1, sizeof(*w));
	char host[200], port[16], user[64], sql[200];

	CHECK(w != NULL);
	arena_init(&w->u.arena, LIMIT_REQUEST_ARENA);
	ctx_init(&w->u.cx, &w->u.arena);
	(void)snprintf(w->name, sizeof(w->name), "countersign_%d_%d", (int)getpid(), count++);
	server_part("host", "127.0.0.1", host, sizeof(host));
	server_part("port", "5432", port, sizeof(port));
	server_part("user", "postgres", user, sizeof(user));
	(void)snprintf(sql, sizeof(sql), "CREATE DATABASE %s", w->name);
	admin(server, sql);
	(void)snprintf(sql, sizeof(sql), "ALTER DATABASE %s SET deadlock_timeout = '50ms'", w->name);
	admin(server, sql);
	w->proxy = pgproxy_start(host, port);
	(void)snprintf(
		w->direct, sizeof(w->direct), "host=%s port=%s user=%s dbname=%s", host, port, user, w->name);
	(void)snprintf(w->url, sizeof(w->url),
		"postgresql://%s@127.0.0.1:%d/%s?sslmode=disable&gssencmode=disable", user,
		pgproxy_port(w->proxy), w->name);
	open_db(w, 2);
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;
	char sql[200];

	db_close(w->db);
	pgproxy_stop(w->proxy);
	(void)snprintf(sql, sizeof(sql), "DROP DATABASE %s WITH (FORCE)", w->name);
	admin(server, sql);
	arena_done(&w->u.arena);
	free(w);
	return 0;
}

struct number {
	int64_t n;
};
static const struct field number_row[] = { FIELD_INT(struct number, n), FIELD_END };

static status
count_items(struct ctx *cx, void *arg)
{
	return db_one(cx, &item_count, number_row, arg);
}

static int64_t
items(struct world *w)
{
	struct number found = { -1 };

	assert_status(db_read(&w->u.cx, count_items, &found), OK);
	return found.n;
}

static struct db_stats
stats(const struct world *w)
{
	struct db_stats s;

	db_stats(w->db, &s);
	return s;
}

#define COMMIT_BIND "\0commit\0", 8

/* The Bind message of one of our statements. */
static void
arm_statement(struct world *w, enum pgproxy_action action, const struct sql *s)
{
	char needle[16] = { 0 };
	int len = snprintf(needle + 1, sizeof(needle) - 1, "s%u", (unsigned)s->index);

	pgproxy_arm(w->proxy, action, needle, (size_t)len + 2);
}

#define ON_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
