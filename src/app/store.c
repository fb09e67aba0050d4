/* SPDX-License-Identifier: Apache-2.0 */
#include "app/store.h"

#include "app/app.h"
#include "db/db.h"

#include <errno.h>
#include <sys/stat.h>

static status
make_directory(struct ctx *cx, str path)
{
	const char *name = arena_cstr(cx->arena, path);
	struct stat st;

	if (mkdir(name, 0700) == 0)
		return OK;
	if (errno != EEXIST)
		return fail(cx, E_UNAVAILABLE,
			"the data directory %s cannot be made: %s; make it, or give another with --data",
			name, strerror(errno));
	if (stat(name, &st) != 0 || !S_ISDIR(st.st_mode))
		return fail(cx, E_UNAVAILABLE,
			"%s is not a directory, so it cannot hold the data; give another with --data", name);
	return OK;
}

status
store_open(struct ctx *cx, bool create)
{
	const struct config *c = &cx->app->config;
	struct db_options o = {
		.connections = (int)c->database_connections,
		.batch = (int)c->sqlite_batch,
		.create = create,
	};

	if (c->database.len) {
		o.postgres_url = arena_cstr(cx->arena, c->database);
	} else {
		o.sqlite_dir = arena_cstr(cx->arena, c->data);
		if (create)
			TRY(make_directory(cx, c->data));
	}
	TRY(db_open(cx, &o, &cx->app->db));
	cx->db = cx->app->db;
	return OK;
}

void
store_close(struct ctx *cx)
{
	db_close(cx->db);
	cx->db = cx->app->db = NULL;
}

status
store_describe(struct ctx *cx, str *out_text)
{
	const struct config *c = &cx->app->config;
	bool postgres = c->database.len > 0;
	str version, place = c->data;

	TRY(db_engine_version(cx, &version));
	for (size_t row = 0; postgres && row < setting_count; row++)
		if (strcmp(settings[row].flag.name, "database") == 0)
			place = config_shown(cx->arena, c, &settings[row]);
	*out_text = arena_printf(cx->arena, "%s %.*s %s %.*s", postgres ? "PostgreSQL" : "SQLite",
		STR_ARG(version), postgres ? "at" : "in", STR_ARG(place));
	return OK;
}
