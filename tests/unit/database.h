/* SPDX-License-Identifier: Apache-2.0 */
/*
 * database: a fresh database for one test, on either engine.
 *
 *	struct database d;
 *	database_make(&d, postgres);
 *	... db_open(cx, (struct db_options[]){ database_options(&d) }, &db) ...
 *	database_drop(&d);
 *
 * PostgreSQL needs COUNTERSIGN_TEST_POSTGRES: the URL of a server on which we may create databases.
 */
#ifndef TESTS_DATABASE_H
#define TESTS_DATABASE_H

#include <libpq-fe.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/random.h"
#include "db/db.h"
#include "tests/unit/tempdir.h"

struct database {
	bool postgres;
	struct tempdir dir; /* SQLite */
	char name[64];	    /* PostgreSQL */
	char url[1024];
};

static inline const char *
database_server(void)
{
	const char *url = getenv("COUNTERSIGN_TEST_POSTGRES");

	return url && *url ? url : NULL;
}

static inline void
database_command(const char *format, const char *name)
{
	PGconn *c = PQconnectdb(database_server());
	PGresult *r;
	char text[128];

	CHECK(PQstatus(c) == CONNECTION_OK);
	(void)snprintf(text, sizeof(text), "%s %s", format, name);
	r = PQexec(c, text);
	if (PQresultStatus(r) != PGRES_COMMAND_OK)
		(void)fprintf(stderr, "%s: %s", text, PQerrorMessage(c));
	CHECK(PQresultStatus(r) == PGRES_COMMAND_OK);
	PQclear(r);
	PQfinish(c);
}

static inline void
database_make(struct database *d, bool postgres)
{
	const char *server = database_server();
	unsigned char id[6];

	*d = (struct database){ .postgres = postgres };
	if (!postgres) {
		tempdir_make(&d->dir);
		return;
	}
	random_bytes(id, sizeof(id));
	(void)snprintf(d->name, sizeof(d->name), "countersign_test_%02x%02x%02x%02x%02x%02x", id[0], id[1],
		id[2], id[3], id[4], id[5]);
	database_command("CREATE DATABASE", d->name);
	/* the last dbname wins, in a URL as in a list of keywords */
	(void)snprintf(d->url, sizeof(d->url), "%s%sdbname=%s", server,
		!strstr(server, "://") ? " "
		: strchr(server, '?')  ? "&"
				       : "?",
		d->name);
}

static inline void
database_drop(struct database *d)
{
	char text[80];

	if (!d->postgres) {
		tempdir_done(&d->dir);
		return;
	}
	(void)snprintf(text, sizeof(text), "%s WITH (FORCE)", d->name);
	database_command("DROP DATABASE IF EXISTS", text);
}

/* The first number that the statement gives, asked beside the program; 0: no row. */
static inline int64_t
database_number(const struct database *d, const char *sql)
{
	char path[PATH_MAX];
	sqlite3 *handle;
	sqlite3_stmt *s;
	int64_t n;

	if (d->postgres) {
		PGconn *c = PQconnectdb(d->url);
		PGresult *r = PQexec(c, sql);

		CHECK(PQresultStatus(r) == PGRES_TUPLES_OK || PQresultStatus(r) == PGRES_COMMAND_OK);
		n = PQntuples(r) ? strtoll(PQgetvalue(r, 0, 0), NULL, 10) : 0;
		PQclear(r);
		PQfinish(c);
		return n;
	}
	(void)snprintf(path, sizeof(path), "%s/countersign.db", d->dir.path);
	CHECK(sqlite3_open(path, &handle) == SQLITE_OK);
	CHECK(sqlite3_prepare_v2(handle, sql, -1, &s, NULL) == SQLITE_OK);
	n = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
	CHECK(sqlite3_finalize(s) == SQLITE_OK);
	CHECK(sqlite3_close(handle) == SQLITE_OK);
	return n;
}

static inline struct db_options
database_options(const struct database *d)
{
	return d->postgres ? (struct db_options){ .postgres_url = d->url, .connections = 10 }
			   : (struct db_options){ .sqlite_dir = d->dir.path, .create = true };
}

#endif
