/* SPDX-License-Identifier: Apache-2.0 */
/* The schema and its versions, on every engine. */
#include "tests/unit/db/engines.h"

/* Opens as the program of that schema version and migrates. */
static status
migrate_as(struct world *w, int version, int *out_applied)
{
	w->catalog = catalog_at(version);
	assert_status(world_try_open(w, &w->cx.db), OK);
	return db_migrate(&w->cx, out_applied);
}

static void
assert_schema(struct world *w, int64_t version, int64_t min_compatible)
{
	struct db_schema schema;

	assert_status(db_schema(&w->cx, &schema), OK);
	assert_int_equal(schema.version, version);
	assert_int_equal(schema.min_compatible, min_compatible);
}

static void
migrations_run_once(void **state)
{
	struct world *w = *state;
	int applied = -1;

	w->catalog = catalog_at(2);
	assert_status(world_try_open(w, &w->cx.db), OK);
	assert_schema(w, 0, 0);
	assert_status(db_migrate(&w->cx, &applied), OK);
	assert_int_equal(applied, 2);
	assert_status(db_migrate(&w->cx, &applied), OK);
	assert_int_equal(applied, 0);
	assert_schema(w, 2, 1);
	world_close(w);
	assert_status(migrate_as(w, 3, &applied), OK);
	assert_int_equal(applied, 1);
	assert_schema(w, 3, 2);
}

static void
an_interrupted_migration_goes_on_where_it_stopped(void **state)
{
	struct world *w = *state;
	int applied = -1;

	if (!fault_enabled()) {
		print_message("skipped: built without fault points\n");
		skip();
	}
	assert_true(fault_arm("migrate_between:1:fail"));
	assert_status(migrate_as(w, 3, &applied), E_UNAVAILABLE);
	assert_int_equal(applied, -1);
	assert_schema(w, 1, 1);
	assert_status(db_migrate(&w->cx, &applied), OK);
	assert_int_equal(applied, 2);
	assert_status(db_prepare(&w->cx), OK);
}

static void
a_migration_that_fails_leaves_nothing(void **state)
{
	struct world *w = *state;
	static const char bad[] = "CREATE TABLE half (id BIGINT); INSERT INTO nowhere (id) VALUES (1);";
	static const char good[] = "CREATE TABLE half (id BIGINT);";
	struct migration list[] = { test_migrations[0], test_migrations[1],
		{ .version = 3, .min_compatible = 1, .name = "bad", .sqlite = bad, .postgres = bad } };
	int applied = -1;

	w->catalog = catalog_at(2);
	w->catalog.migrations = list;
	w->catalog.migration_count = 3;
	assert_status(world_try_open(w, &w->cx.db), OK);
	assert_true(db_migrate(&w->cx, &applied) != OK);
	assert_int_equal(applied, -1);
	assert_schema(w, 2, 1);
	list[2].sqlite = list[2].postgres = good;
	assert_status(db_migrate(&w->cx, &applied), OK);
	assert_int_equal(applied, 1);
}

static void
a_newer_schema_is_refused_unless_it_allows_us(void **state)
{
	struct world *w = *state;
	int applied = -1;

	assert_status(migrate_as(w, 4, &applied), OK);
	world_close(w);
	applied = -1;
	assert_status(migrate_as(w, 2, &applied), E_SCHEMA);
	assert_int_equal(applied, -1);
	assert_schema(w, 4, 4); /* and left alone */
	world_close(w);
	assert_status(migrate_as(w, 3, &applied), E_SCHEMA);
	world_close(w);
	assert_status(migrate_as(w, 4, &applied), OK);
	assert_int_equal(applied, 0);
}

static status
set_remark(struct ctx *cx, void *arg)
{
	(void)arg;
	return db_run(cx, SQL_REMARK_SET, INT(1), TEXT(STR("new")));
}

/* The upgrade: the old program works before and after the new one has migrated, both see each
 * other's rows. Where two processes may have the database (PostgreSQL) they do so at the same time. */
static void
two_versions_of_the_program_work_side_by_side(void **state)
{
	struct world *old = *state;
	struct world new = *old;
	int64_t id = 1;
	int applied = -1;

	arena_init(&new.arena, LIMIT_REQUEST_ARENA);
	ctx_init(&new.cx, &new.arena);
	assert_status(migrate_as(old, 2, &applied), OK);
	assert_status(db_prepare(&old->cx), OK);
	assert_status(tx_run(&old->cx, add_item, &id), OK);
	if (!on_postgres)
		world_close(old);
	assert_status(migrate_as(&new, 3, &applied), OK);
	assert_int_equal(applied, 1);
	assert_status(db_prepare(&new.cx), OK);
	assert_status(tx_run(&new.cx, set_remark, NULL), OK);
	if (!on_postgres)
		world_close(&new);
	else
		assert_status(tx_run(&old->cx, add_item, &(int64_t){ 3 }), OK); /* over the change */
	world_close(old);
	assert_status(migrate_as(old, 2, &applied), OK); /* an old one that starts now */
	assert_int_equal(applied, 0);
	assert_status(db_prepare(&old->cx), OK);
	id = 2;
	assert_status(tx_run(&old->cx, add_item, &id), OK);
	assert_int_equal(count_items(&old->cx), on_postgres ? 3 : 2);
	world_close(&new);
	arena_done(&new.arena);
}

static void
a_statement_that_does_not_fit_the_schema_fails_at_the_start(void **state)
{
	struct world *w = *state;
	int applied;

	w->catalog = catalog_at(3);
	w->catalog.migration_count = 2; /* the statements of 3 on the schema of 2 */
	assert_status(world_try_open(w, &w->cx.db), OK);
	assert_status(db_migrate(&w->cx, &applied), OK);
	assert_status(db_prepare(&w->cx), E_SCHEMA);
	assert_true(strstr(ctx_message(&w->cx, E_SCHEMA).ptr, "remark_set") != NULL);
}

static void *
migrate_beside(void *arg)
{
	struct world *w = arg;
	int applied = 0;

	w->connections = 2;
	CHECK(world_try_open(w, &w->cx.db) == OK);
	CHECK(db_migrate(&w->cx, &applied) == OK);
	w->batch = applied; /* handed back in a place that PostgreSQL does not use */
	return NULL;
}

static void
several_migrators_apply_each_migration_once(void **state)
{
	struct world *w = *state, worlds[4];
	pthread_t threads[4];
	int applied = 0;

	if (!on_postgres) {
		print_message("skipped on SQLite: one process has the directory\n");
		skip();
	}
	w->catalog = catalog_at(3);
	for (size_t i = 0; i < 4; i++) {
		worlds[i] = *w;
		arena_init(&worlds[i].arena, LIMIT_REQUEST_ARENA);
		ctx_init(&worlds[i].cx, &worlds[i].arena);
		CHECK(pthread_create(&threads[i], NULL, migrate_beside, &worlds[i]) == 0);
	}
	for (size_t i = 0; i < 4; i++) {
		CHECK(pthread_join(threads[i], NULL) == 0);
		applied += worlds[i].batch;
		world_close(&worlds[i]);
		arena_done(&worlds[i].arena);
	}
	assert_int_equal(applied, 3);
}

static const struct CMUnitTest tests[] = {
	ON_EMPTY(migrations_run_once),
	ON_EMPTY(an_interrupted_migration_goes_on_where_it_stopped),
	ON_EMPTY(a_migration_that_fails_leaves_nothing),
	ON_EMPTY(a_newer_schema_is_refused_unless_it_allows_us),
	ON_EMPTY(two_versions_of_the_program_work_side_by_side),
	ON_EMPTY(a_statement_that_does_not_fit_the_schema_fails_at_the_start),
	ON_EMPTY(several_migrators_apply_each_migration_once),
};

int
main(void)
{
	return on_every_engine("migrate", tests, sizeof(tests) / sizeof(*tests));
}
