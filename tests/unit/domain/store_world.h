/* SPDX-License-Identifier: Apache-2.0 */
/* store_world: a fresh installation with its project and two environments, on either engine, and short words
 * for what tests of flags do there. */
#ifndef TESTS_STORE_WORLD_H
#define TESTS_STORE_WORLD_H

#include "tests/unit/database.h"
#include "tests/unit/unit.h"

#include "core/event.h"
#include "core/ident/caller.h"
#include "core/ident/org.h"
#include "domain/flag/store/item.h"
#include "json/out.h"

#include <sqlite3.h>

struct world {
	struct database database;
	struct arena arena;
	struct ctx cx;
	struct caller caller;
	struct org_first first;
};

static bool on_postgres; /* which engine this round is for */

static inline int
make_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct db_options options;
	int applied;

	CHECK(w != NULL);
	arena_init(&w->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&w->cx, &w->arena);
	w->cx.keys = unit_keys();
	database_make(&w->database, on_postgres);
	options = database_options(&w->database);
	assert_status(db_open(&w->cx, &options, &w->cx.db), OK);
	assert_status(db_migrate(&w->cx, &applied), OK);
	assert_status(db_prepare(&w->cx), OK);
	assert_status(org_bootstrap(&w->cx, STR("ada@example.org"), &w->first), OK);
	w->caller = (struct caller){ .org_id = w->first.org_id,
		.principal_id = w->first.admin_id,
		.rules = { .level = LEVEL_ADMIN },
		.scope = { .all_environments = true, .all_keys = true } };
	w->cx.caller = &w->caller;
	w->cx.events = event_hub_new(0);
	*state = w;
	return 0;
}

static inline int
drop_world(void **state)
{
	struct world *w = *state;

	event_hub_free(w->cx.events);
	db_close(w->cx.db);
	database_drop(&w->database);
	arena_done(&w->arena);
	free(w);
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

static inline struct json *
parse(struct world *w, const char *text)
{
	struct json *doc;

	assert_status(json_parse(&w->cx, str_of(text), &doc), OK);
	return doc;
}

static inline const char *
text_of(struct world *w, const struct json *doc)
{
	str text;

	assert_status(json_text(&w->cx, doc, &text), OK);
	return arena_cstr(&w->arena, text);
}

/* Changes the database past us: for time, which nobody can wait for. */
static inline void
behind_the_back(struct world *w, const char *sql)
{
	if (w->database.postgres) {
		PGconn *c = PQconnectdb(w->database.url);
		PGresult *r = PQexec(c, sql);

		CHECK(PQresultStatus(r) == PGRES_COMMAND_OK);
		PQclear(r);
		PQfinish(c);
	} else {
		sqlite3 *handle;

		CHECK(sqlite3_open(arena_printf(&w->arena, "%s/countersign.db", w->database.dir.path).ptr,
			      &handle) == SQLITE_OK);
		CHECK(sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK);
		CHECK(sqlite3_close(handle) == SQLITE_OK);
	}
}

/* --- making something --- */

struct make {
	struct item_new item;
	str project_id, id;
};

static inline status
make_tx(struct ctx *cx, void *arg)
{
	struct make *m = arg;
	struct project p;
	int64_t now_us;

	TRY(project_lock(cx, m->project_id, &p));
	TRY(tx_now_us(cx, &now_us));
	return item_create(cx, &p, &m->item, now_us, &m->id);
}

static inline status
try_make(struct world *w, struct item_new item)
{
	struct make m = { .item = item, .project_id = w->first.project_id };

	return tx_run(&w->cx, make_tx, &m);
}

/* A flag or config of the project, in all its environments; rules may be NULL. */
static inline void
make_value(struct world *w, enum resource r, const char *key, const char *type, const char *value,
	const char *rules)
{
	assert_status(try_make(w, (struct item_new){ r, str_of(key), str_of(type), STR(""), NULL,
					  { parse(w, value), rules ? parse(w, rules) : NULL } }),
		OK);
}

static inline void
make_segment(struct world *w, const char *key, const char *rules)
{
	assert_status(try_make(w, (struct item_new){ RESOURCE_SEGMENT, str_of(key), STR(""), STR(""), NULL,
					  { rules ? parse(w, rules) : NULL } }),
		OK);
}

/* --- changing it in one environment --- */

struct edits {
	str environment_id;
	const struct store_edit *items;
	size_t count;
	struct environment environment; /* as it is afterwards */
};

static inline status
write_tx(struct ctx *cx, void *arg)
{
	struct edits *w = arg;
	int64_t now_us;

	TRY(environment_lock(cx, w->environment_id, &w->environment));
	TRY(tx_now_us(cx, &now_us));
	return store_write(cx, &w->environment, w->items, w->count, now_us);
}

static inline status
try_write(struct world *w, str environment_id, enum resource r, const char *key, const char *state,
	int64_t *out_version)
{
	struct store_edit edit = { r, str_of(key), state ? parse(w, state) : NULL };
	struct edits edits = { .environment_id = environment_id, .items = &edit, .count = 1 };
	status s = tx_run(&w->cx, write_tx, &edits);

	if (out_version)
		*out_version = edits.environment.version;
	return s;
}

/* --- reading --- */

struct reading {
	str environment_id;
	int64_t version, at_us; /* which one; at_us: the one of then, 0: version says */
	struct environment environment;
	struct json *doc;
};

static inline status
read_tx(struct ctx *cx, void *arg)
{
	struct reading *r = arg;

	TRY(environment_get(cx, r->environment_id, &r->environment));
	if (r->at_us)
		TRY(store_version_at(cx, &r->environment, r->at_us, &r->version));
	return store_document(cx, &r->environment, r->version, &r->doc);
}

static inline const char *
document(struct world *w, str environment_id, int64_t version)
{
	struct reading r = { .environment_id = environment_id, .version = version };

	assert_status(db_read(&w->cx, read_tx, &r), OK);
	return text_of(w, r.doc);
}

static inline struct environment
environment_now(struct world *w, str environment_id)
{
	struct reading r = { .environment_id = environment_id };

	assert_status(db_read(&w->cx, read_tx, &r), OK);
	return r.environment;
}

#endif
