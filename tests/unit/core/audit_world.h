/* SPDX-License-Identifier: Apache-2.0 */
/* audit_world: a migrated database with keys and a caller, on either engine, for tests of the audit. */
#ifndef TESTS_AUDIT_WORLD_H
#define TESTS_AUDIT_WORLD_H

#include "tests/unit/database.h"
#include "tests/unit/unit.h"

#include "core/audit/audit.h"
#include "core/audit/export.h"
#include "core/audit/query.h"
#include "core/audit/seal/seal.h"
#include "core/audit/verify.h"
#include "core/id.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <sys/stat.h>

struct world {
	struct database database;
	struct tempdir dir;
	struct arena arena;
	struct ctx cx;
	struct keys keys;
	struct caller caller;
	char held[96]; /* the folder of held checkpoints */
	str org;
};

static bool on_postgres; /* which engine this round is for */

static inline void
world_open(struct world *w)
{
	struct db_options options = database_options(&w->database);
	int applied;

	assert_status(db_open(&w->cx, &options, &w->cx.db), OK);
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
world_init(struct world *w, bool postgres)
{
	arena_init(&w->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&w->cx, &w->arena);
	tempdir_make(&w->dir);
	database_make(&w->database, postgres);
	(void)snprintf(w->held, sizeof(w->held), "%s/held", w->dir.path);
	CHECK(mkdir(w->held, 0700) == 0);
	assert_status(keys_create(&w->cx, arena_printf(&w->arena, "%s/keys", w->dir.path).ptr, &w->keys), OK);
	w->org = STR("0192f3c4-0000-7000-8000-00000000000a");
	w->caller = (struct caller){ .org_id = w->org,
		.org_slug = STR("acme"),
		.kind = PRINCIPAL_USER,
		.principal_id = STR("person-1"),
		.scope = { .all_environments = true, .all_keys = true },
		.transport = "rest" };
	w->cx.keys = &w->keys;
	w->cx.caller = &w->caller;
	world_open(w);
}

static inline void
world_done(struct world *w)
{
	if (w->cx.db)
		world_close(w);
	database_drop(&w->database);
	tempdir_done(&w->dir);
	arena_done(&w->arena);
}

static inline int
make_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	CHECK(w != NULL);
	world_init(w, on_postgres);
	*state = w;
	return 0;
}

static inline int
drop_world(void **state)
{
	world_done(*state);
	free(*state);
	return 0;
}

#define ON_WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, drop_world)

static inline int
on_every_engine(const char *name, const struct CMUnitTest *tests, size_t count)
{
	char title[64];
	int failed;

	(void)snprintf(title, sizeof(title), "%s on SQLite", name);
	on_postgres = false;
	failed = _cmocka_run_group_tests(title, tests, count, NULL, NULL);
	if (!database_server()) {
		print_message("skipped: PostgreSQL, because COUNTERSIGN_TEST_POSTGRES is not set\n");
		return failed;
	}
	(void)snprintf(title, sizeof(title), "%s on PostgreSQL", name);
	on_postgres = true;
	return failed + _cmocka_run_group_tests(title, tests, count, NULL, NULL);
}

/* --- doing things --- */

struct add {
	struct audit_entry entry;
	str id;
};

static inline status
add_tx(struct ctx *cx, void *arg)
{
	struct add *a = arg;

	return audit_add(cx, &a->entry, &a->id);
}

static inline str
add_entry(struct world *w, const struct audit_entry *e)
{
	struct add a = { .entry = *e };

	assert_status(tx_run(&w->cx, add_tx, &a), OK);
	return a.id;
}

static inline struct json *
parse(struct world *w, const char *text)
{
	struct json *doc;

	assert_status(json_parse(&w->cx, str_of(text), &doc), OK);
	return doc;
}

/* An entry with a change: {"n":i} -> {"n":i+1}, under the subject's key. */
static inline str
add_change(struct world *w, int i, str subject)
{
	struct audit_entry e = { .action = AUDIT_RECORD_CHANGED,
		.resource_type = STR("note"),
		.resource_key = STR("n"),
		.resource_id = arena_printf(&w->arena, "note-%d", i),
		.tool = i % 2 ? STR("note.update") : STR("note.create"),
		.subject = subject,
		.version = i + 1,
		.before = parse(w, arena_printf(&w->arena, "{\"n\":%d,\"secret\":\"violet\"}", i).ptr),
		.after = parse(w, arena_printf(&w->arena, "{\"n\":%d,\"secret\":\"violet\"}", i + 1).ptr) };

	return add_entry(w, &e);
}

static inline str
add_plain(struct world *w, int i)
{
	struct audit_entry e = { .action = AUDIT_PROPOSAL_CREATED,
		.proposal_id = arena_printf(&w->arena, "proposal-%d", i / 2),
		.tool = STR("note.create") };

	return add_entry(w, &e);
}

static inline status
add_many_tx(struct ctx *cx, void *arg)
{
	const int *count = arg;
	struct audit_entry e = { .action = AUDIT_TOOL_EXECUTED, .tool = STR("note.get") };

	for (int i = 0; i < *count; i++)
		TRY(audit_add(cx, &e, NULL));
	return OK;
}

/* In one transaction: a disk that syncs slowly is not what we test. */
static inline void
add_plain_many(struct world *w, int count)
{
	assert_status(tx_run(&w->cx, add_many_tx, &count), OK);
}

static inline struct sealed
seal(struct world *w)
{
	struct sealed done;

	assert_status(audit_seal(&w->cx, w->org, w->held, &done), OK);
	return done;
}

static inline str
read_text(struct world *w, const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text;

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	text = arena_alloc(&w->arena, (size_t)st.st_size + 1);
	CHECK(read(fd, text, (size_t)st.st_size) == st.st_size);
	(void)close(fd);
	return (str){ text, (size_t)st.st_size };
}

static inline void
write_text(const char *path, str text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, text.ptr, text.len) == (ssize_t)text.len);
	(void)close(fd);
}

static inline const char *
export_to(struct world *w, enum audit_format format)
{
	const char *path = arena_printf(&w->arena, "%s/export", w->dir.path).ptr;
	struct audit_export e = { .org_id = w->org, .format = format };
	struct audit_exported at;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	assert_status(audit_export_file(&w->cx, &e, fd, &at), OK);
	(void)close(fd);
	return path;
}

static inline str
public_key(struct world *w)
{
	return checkpoint_key_text(&w->arena, checkpoint_origin(&w->arena, w->org), w->keys.sign_public);
}

static inline str
held_note(struct world *w)
{
	str note;

	assert_status(held_read(&w->cx, w->held, w->org, &note), OK);
	return note;
}

/* The problem that a verification of the database finds; empty: none. */
static inline str
database_problem(struct world *w, str held)
{
	struct audit_report r;

	assert_status(audit_verify_database(&w->cx, w->org, STR(""), held, &r), OK);
	return r.problem;
}

/* --- an attacker with the database's password: SQL of any kind, past us --- */

/* True where it succeeded. The database must be closed on SQLite. */
static inline bool
attack_sqlite(struct world *w, const char *text)
{
	sqlite3 *db;
	bool done;

	CHECK(sqlite3_open(arena_printf(&w->arena, "%s/countersign.db", w->database.dir.path).ptr, &db) ==
		SQLITE_OK);
	(void)sqlite3_exec(db, "PRAGMA recursive_triggers=ON", NULL, NULL, NULL);
	done = sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK;
	(void)sqlite3_close(db);
	return done;
}

static inline bool
attack_postgres(struct world *w, const char *text)
{
	PGconn *c = PQconnectdb(w->database.url);
	PGresult *r;
	bool done;

	CHECK(PQstatus(c) == CONNECTION_OK);
	r = PQexec(c, text);
	done = PQresultStatus(r) == PGRES_COMMAND_OK;
	PQclear(r);
	PQfinish(c);
	return done;
}

static inline bool
attack(struct world *w, const char *text)
{
	bool done;

	if (w->database.postgres)
		return attack_postgres(w, text);
	world_close(w);
	done = attack_sqlite(w, text);
	world_open(w);
	return done;
}

/* The same after the triggers are gone. */
static inline bool
attack_unguarded(struct world *w, const char *table, const char *text)
{
	return attack(w,
		w->database.postgres
			? arena_printf(&w->arena,
				  "ALTER TABLE %s DISABLE TRIGGER ALL; %s; ALTER TABLE %s ENABLE TRIGGER ALL",
				  table, text, table)
				  .ptr
			: arena_printf(&w->arena,
				  "DROP TRIGGER IF EXISTS %s_no_update; DROP TRIGGER IF EXISTS %s_no_delete; "
				  "%s",
				  table, table, text)
				  .ptr);
}

#endif
