/* SPDX-License-Identifier: Apache-2.0 */
#include "base/check.h"
#include "db/sqlite.h"

#include <errno.h>
#include <stdlib.h>

static const char *const verb_text[] = {
	[VERB_BEGIN] = "BEGIN",
	[VERB_BEGIN_WRITE] = "BEGIN IMMEDIATE",
	[VERB_COMMIT] = "COMMIT",
	[VERB_ROLLBACK] = "ROLLBACK",
	[VERB_SAVE] = "SAVEPOINT s",
	[VERB_UNDO] = "ROLLBACK TO s",
	[VERB_RELEASE] = "RELEASE s",
};

/*
 * FULL: NORMAL would lose acknowledged commits at power loss. trusted_schema and
 * defensive: a file somebody gave us cannot run functions from its schema. The
 * writer checkpoints by itself, after it has answered (sqlite_writer.c). temp_store:
 * what a savepoint needs to undo itself is kept in memory; the default writes it to a
 * temporary file as soon as a batch has touched sixteen pages, only to delete it. cache_size: 16 MiB a
 * connection instead of 2, which the upper levels of the indexes alone fill.
 */
static const char settings[] = "PRAGMA synchronous=FULL;"
			       "PRAGMA foreign_keys=ON;"
			       "PRAGMA recursive_triggers=ON;"
			       "PRAGMA trusted_schema=OFF;"
			       "PRAGMA wal_autocheckpoint=0;"
			       "PRAGMA temp_store=MEMORY;"
			       "PRAGMA cache_size=-16384;"
			       "PRAGMA journal_size_limit=67108864;";

/* Nobody else has the file, so waiting is for recovery and checkpoints of our own connections. */
#define BUSY_TIMEOUT_MS 5000

/* --- errors --- */

static status
constraint_status(int code)
{
	switch (code) {
	case SQLITE_CONSTRAINT_UNIQUE:
	case SQLITE_CONSTRAINT_PRIMARYKEY:
	case SQLITE_CONSTRAINT_ROWID:
		return E_EXISTS;
	case SQLITE_CONSTRAINT_FOREIGNKEY:
		return E_REFERENCED;
	default:
		return E_INVALID;
	}
}

static status
status_of(int code, int system_errno)
{
	switch (code & 0xff) {
	case SQLITE_CONSTRAINT:
		return constraint_status(code);
	case SQLITE_FULL:
		return E_DISK_FULL;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return E_READ_ONLY;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return E_BUSY;
	case SQLITE_TOOBIG:
		return E_TOO_LARGE;
	case SQLITE_IOERR:
		return system_errno == ENOSPC || system_errno == EDQUOT ? E_DISK_FULL : E_UNAVAILABLE;
	case SQLITE_INTERRUPT:
	case SQLITE_CANTOPEN:
	case SQLITE_NOTADB:
	case SQLITE_NOMEM:
		return E_UNAVAILABLE;
	default:
		return E_INTERNAL;
	}
}

status
connection_fail(struct ctx *cx, struct connection *c, int code)
{
	status s = status_of(code, sqlite3_system_errno(c->handle));

	return fail(cx, s, "%s (SQLite: %s)", status_info(s)->sentence, sqlite3_errmsg(c->handle));
}

/* --- opening --- */

static int
note_frames(void *arg, sqlite3 *handle, const char *name, int frames)
{
	struct connection *c = arg;

	(void)handle;
	(void)name;
	c->wal_frames = frames;
	return SQLITE_OK;
}

/* Runs "PRAGMA journal_mode=WAL" and looks whether it did: SQLite does not call a refusal an error. */
static int
set_wal(struct connection *c)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(c->handle, "PRAGMA journal_mode=WAL", -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		rc = sqlite3_stricmp((const char *)sqlite3_column_text(stmt, 0), "wal") ? SQLITE_CANTOPEN
											: SQLITE_OK;
	(void)sqlite3_finalize(stmt);
	return rc;
}

static int
prepare_verbs(struct connection *c)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < VERB_COUNT; i++)
		rc = sqlite3_prepare_v3(
			c->handle, verb_text[i], -1, SQLITE_PREPARE_PERSISTENT, &c->verbs[i], NULL);
	return rc;
}

static int
set_up(struct connection *c, bool writes)
{
	int rc;

	(void)sqlite3_extended_result_codes(c->handle, 1);
	(void)sqlite3_busy_timeout(c->handle, BUSY_TIMEOUT_MS);
	(void)sqlite3_db_config(c->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(c->handle, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	(void)sqlite3_db_config(c->handle, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	if (writes && sqlite3_db_readonly(c->handle, "main") == 1)
		return SQLITE_READONLY;
	rc = writes ? set_wal(c) : SQLITE_OK;
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(c->handle, settings, NULL, NULL, NULL);
	if (rc == SQLITE_OK && writes)
		(void)sqlite3_wal_hook(c->handle, note_frames, c);
	return rc == SQLITE_OK ? prepare_verbs(c) : rc;
}

status
connection_open(struct ctx *cx, struct connection *c, const char *path, bool writes, size_t statements)
{
	int flags = (writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_NOMUTEX;
	int rc;

	*c = (struct connection){ .statement_count = statements };
	c->slots = calloc(statements + 1, sizeof(*c->slots));
	c->cells = calloc(UINT8_MAX, sizeof(*c->cells));
	CHECK(c->slots && c->cells);
	rc = sqlite3_open_v2(path, &c->handle, flags, NULL);
	CHECK(c->handle != NULL);
	if (rc == SQLITE_OK)
		rc = set_up(c, writes);
	if (rc != SQLITE_OK) {
		status s = status_of(rc, sqlite3_system_errno(c->handle));

		s = fail(cx, s == E_INTERNAL ? E_UNAVAILABLE : s, "%s cannot be opened%s: %s", path,
			s == E_READ_ONLY ? " for writing" : "", sqlite3_errstr(rc));
		connection_close(c);
		return s;
	}
	return OK;
}

void
connection_close(struct connection *c)
{
	for (size_t i = 0; i < VERB_COUNT; i++)
		(void)sqlite3_finalize(c->verbs[i]);
	for (size_t i = 0; i < c->statement_count; i++)
		(void)sqlite3_finalize(c->slots[i].stmt);
	CHECK(sqlite3_close(c->handle) == SQLITE_OK);
	free(c->slots);
	free(c->cells);
	*c = (struct connection){ .handle = NULL };
}

/* --- running --- */

int
connection_do(struct connection *c, enum verb v)
{
	(void)sqlite3_step(c->verbs[v]);
	return sqlite3_reset(c->verbs[v]);
}

bool
connection_lost_transaction(const struct connection *c)
{
	return sqlite3_get_autocommit(c->handle) != 0;
}

status
connection_prepare(struct ctx *cx, struct connection *c, const struct sql *s)
{
	sqlite3_stmt *stmt;
	int rc;

	if (c->slots[s->index].stmt)
		return OK;
	rc = sqlite3_prepare_v3(c->handle, s->sqlite, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL);
	if (rc == SQLITE_ERROR)
		return fail(cx, E_SCHEMA, "statement %s does not fit the schema: %s", s->name,
			sqlite3_errmsg(c->handle));
	if (rc != SQLITE_OK)
		return connection_fail(cx, c, rc);
	if (sqlite3_column_count(stmt) != s->columns || sqlite3_bind_parameter_count(stmt) != s->params) {
		(void)sqlite3_finalize(stmt);
		return fail(
			cx, E_SCHEMA, "statement %s has other columns or parameters than it says", s->name);
	}
	c->slots[s->index].stmt = stmt;
	return OK;
}

static int
bind(sqlite3_stmt *stmt, int at, const struct db_value *v)
{
	const char *ptr = v->bytes.ptr ? v->bytes.ptr : ""; /* NULL would bind NULL */

	switch (v->type) {
	case DB_INT:
		return sqlite3_bind_int64(stmt, at, v->number);
	case DB_TEXT:
		return sqlite3_bind_text64(stmt, at, ptr, v->bytes.len, SQLITE_STATIC, SQLITE_UTF8);
	case DB_BLOB:
		return sqlite3_bind_blob64(stmt, at, ptr, v->bytes.len, SQLITE_STATIC);
	case DB_NULL:
		break;
	}
	return sqlite3_bind_null(stmt, at);
}

static int
bind_all(sqlite3_stmt *stmt, const struct sql *s, const struct db_value *args)
{
	int rc = SQLITE_OK;

	for (int i = 0; rc == SQLITE_OK && i < s->params; i++)
		rc = bind(stmt, i + 1, &args[i]);
	return rc;
}

static status
read_cell(struct ctx *cx, const struct sql *s, sqlite3_stmt *stmt, int at, struct db_value *out)
{
	switch (sqlite3_column_type(stmt, at)) {
	case SQLITE_INTEGER:
		*out = INT(sqlite3_column_int64(stmt, at));
		return OK;
	case SQLITE_TEXT:
		out->bytes.ptr = (const char *)sqlite3_column_text(stmt, at);
		*out = TEXT(((str){ out->bytes.ptr, (size_t)sqlite3_column_bytes(stmt, at) }));
		return OK;
	case SQLITE_BLOB:
		out->bytes.ptr = sqlite3_column_blob(stmt, at);
		*out = BLOB(((str){ out->bytes.ptr, (size_t)sqlite3_column_bytes(stmt, at) }));
		return OK;
	case SQLITE_NULL:
		*out = NIL;
		return OK;
	default:
		return fail(
			cx, E_INTERNAL, "statement %s gives a real number, which we do not keep", s->name);
	}
}

static status
deliver(struct ctx *cx, struct connection *c, const struct sql *s, sqlite3_stmt *stmt, struct row_sink *sink)
{
	for (int i = 0; i < s->columns; i++)
		TRY(read_cell(cx, s, stmt, i, &c->cells[i]));
	return sink->row(cx, sink, c->cells);
}

static status
step_all(struct ctx *cx, struct connection *c, const struct sql *s, sqlite3_stmt *stmt, struct row_sink *sink)
{
	int rc;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		TRY(deliver(cx, c, s, stmt, sink));
	if (rc != SQLITE_DONE)
		return connection_fail(cx, c, rc);
	sink->touched = sqlite3_stmt_readonly(stmt) ? 0 : sqlite3_changes64(c->handle);
	return OK;
}

status
connection_execute(struct ctx *cx, struct connection *c, const struct sql *s, const struct db_value *args,
	struct row_sink *sink)
{
	sqlite3_stmt *stmt;
	status done;
	int rc;

	TRY(connection_prepare(cx, c, s));
	stmt = c->slots[s->index].stmt;
	rc = bind_all(stmt, s, args);
	done = rc == SQLITE_OK ? step_all(cx, c, s, stmt, sink) : connection_fail(cx, c, rc);
	(void)sqlite3_reset(stmt); /* says again what step said */
	(void)sqlite3_clear_bindings(stmt);
	return done;
}
