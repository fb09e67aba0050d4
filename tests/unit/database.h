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
#include <stdio.h>
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

static inline struct db_options
database_options(const struct database *d)
{
	return d->postgres ? (struct db_options){ .postgres_url = d->url, .connections = 10 }
			   : (struct db_options){ .sqlite_dir = d->dir.path, .create = true };
}

#endif
