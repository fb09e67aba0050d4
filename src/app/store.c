/* SPDX-License-Identifier: Apache-2.0 */
#include "app/store.h"

#include "app/app.h"
#include "core/installation.h"
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

static status
load_or_create(struct ctx *cx, const char *path, struct keys *out)
{
	status s = keys_load(cx, path, out);

	if (s != E_NOT_FOUND)
		return s;
	s = keys_create(cx, path, out);
	return s == E_EXISTS ? keys_load(cx, path, out) : s; /* another program was faster */
}

static str
keys_path(struct ctx *cx)
{
	const struct config *c = &cx->app->config;

	return c->keys.len ? c->keys : arena_printf(cx->arena, "%.*s/keys", STR_ARG(c->data));
}

const char *
store_held_dir(struct ctx *cx)
{
	return arena_printf(cx->arena, "%.*s-checkpoints", STR_ARG(keys_path(cx))).ptr;
}

status
store_look_keys(struct ctx *cx)
{
	status s = keys_load(cx, arena_cstr(cx->arena, keys_path(cx)), &cx->app->keys);

	if (s == E_NOT_FOUND) {
		ctx_clear(cx);
		return OK;
	}
	TRY(s);
	cx->keys = &cx->app->keys;
	return OK;
}

status
store_keys(struct ctx *cx, str installation_name)
{
	const struct config *c = &cx->app->config;
	struct installation in;

	if (!c->keys.len)
		TRY(make_directory(cx, c->data));
	TRY(load_or_create(cx, arena_cstr(cx->arena, keys_path(cx)), &cx->app->keys));
	TRY(installation_join(cx, installation_name, keys_fingerprint(cx->arena, &cx->app->keys), &in));
	cx->keys = &cx->app->keys;
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
