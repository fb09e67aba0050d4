/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include "base/check.h"

#include "rig.sql.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>

/* Generated: the program's own schema table first, then what rig.sql and migrations/ say. */
extern const struct sql *const rig_sql_all[];
extern const size_t rig_sql_count, rig_migration_count;
extern const struct migration rig_migrations[];

/* The engine's own PRAGMA must not undo what the control asked for. */
static int
authorize(void *arg, int action, const char *name, const char *value, const char *schema, const char *trigger)
{
	(void)arg, (void)schema, (void)trigger;
	return action == SQLITE_PRAGMA && value && sqlite3_stricmp(name, "synchronous") == 0 ? SQLITE_IGNORE
											     : SQLITE_OK;
}

static int
weaken(sqlite3 *db, const char **out_error, const struct sqlite3_api_routines *api)
{
	(void)out_error, (void)api;
	(void)sqlite3_exec(db, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
	return sqlite3_set_authorizer(db, authorize, NULL);
}

void
rig_weaken(void)
{
	CHECK(sqlite3_auto_extension((void (*)(void))weaken) == SQLITE_OK);
}

static status
ready(struct ctx *cx)
{
	int applied;

	TRY(db_migrate(cx, &applied));
	return db_prepare(cx);
}

status
rig_open(struct ctx *cx, const struct rig_options *o)
{
	const struct db_catalog catalog = {
		.sql = rig_sql_all,
		.sql_count = rig_sql_count,
		.migrations = rig_migrations,
		.migration_count = rig_migration_count,
	};
	const struct db_options options = {
		.sqlite_dir = o->dir,
		.connections = 1,
		.batch = o->batch,
		.checkpoint = o->checkpoint,
		.create = true,
		.catalog = &catalog,
	};
	status s;

	TRY(db_open(cx, &options, &cx->db));
	s = ready(cx);
	if (s != OK) {
		db_close(cx->db);
		cx->db = NULL;
	}
	return s;
}

str
rig_body(struct arena *a, int64_t id)
{
	size_t dice = (size_t)(((uint64_t)id * 2654435761u) >> 7);
	size_t len = 40 + dice % (dice % 8 == 0 ? 5961 : 400);
	char word[24];
	size_t word_len = (size_t)snprintf(word, sizeof(word), "%" PRId64 ".", id);
	char *body = arena_try_bytes(a, len);

	CHECK(body);
	for (size_t i = 0; i < len; i++)
		body[i] = i + 16 < len ? word[i % word_len] : '=';
	return (str){ .ptr = body, .len = len };
}

status
rig_put(struct ctx *cx, int64_t id)
{
	TRY(db_run(cx, SQL_RIG_PUT_FIRST, INT(id)));
	TRY(db_run(cx, SQL_RIG_PUT_SECOND, INT(id), TEXT(rig_body(cx->arena, id))));
	return db_run(cx, SQL_RIG_COUNT);
}
