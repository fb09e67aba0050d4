/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engines: runs a list of tests once for each engine: SQLite always, PostgreSQL where
 * COUNTERSIGN_TEST_POSTGRES names a server. Each test has a fresh database.
 */
#ifndef TESTS_DB_ENGINES_H
#define TESTS_DB_ENGINES_H

#include "tests/unit/db/world.h"

#include "base/clock.h"
#include "base/fault.h"

static bool on_postgres; /* which engine this round is for */

static inline int
make_world(void **state)
{
	struct world *w = malloc(sizeof(*w));

	CHECK(w != NULL);
	world_make(w, on_postgres);
	world_open(w);
	*state = w;
	return 0;
}

static inline int
drop_world(void **state)
{
	fault_arm("tx_before_begin:1:off");
	clock_release();
	world_done(*state);
	free(*state);
	return 0;
}

static inline int
make_empty_world(void **state)
{
	struct world *w = malloc(sizeof(*w));

	CHECK(w != NULL);
	world_make(w, on_postgres);
	*state = w;
	return 0;
}

/* --- small transactions --- */

struct row {
	struct db_value args[6];
};

static inline status
add_row(struct ctx *cx, void *arg)
{
	const struct row *r = arg;

	return db_run_args(cx, SQL_ITEM_ADD, NULL, r->args, 6);
}

static inline status
make_counters(struct ctx *cx, void *arg)
{
	const int64_t *n = arg;

	return db_run(cx, SQL_COUNTER_MAKE, INT(*n));
}

/* A test on a migrated database, and on an empty one. */
#define ON_WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, drop_world)
#define ON_EMPTY(test) cmocka_unit_test_setup_teardown(test, make_empty_world, drop_world)

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

#endif
