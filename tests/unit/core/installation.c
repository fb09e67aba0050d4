/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tempdir.h"
#include "tests/unit/unit.h"

#include "core/installation.h"
#include "db/db.h"

static struct db *
open_migrated(struct ctx *cx, const char *dir)
{
	struct db_options options = { .sqlite_dir = dir, .create = true };
	int applied;

	assert_status(db_open(cx, &options, &cx->db), OK);
	assert_status(db_migrate(cx, &applied), OK);
	assert_int_equal(applied, migration_count);
	assert_status(db_prepare(cx), OK);
	return cx->db;
}

static void
an_installation_is_made_once(void **state)
{
	UNIT(u);
	TEMPDIR(dir);
	struct installation made, again = { .name = STR("untouched") }, got;
	struct db *db = open_migrated(&u.cx, dir.path);

	(void)state;
	assert_status(installation_get(&u.cx, &again), E_NOT_FOUND);
	assert_status(installation_create(&u.cx, STR("Acme"), &made), OK);
	assert_int_equal(made.id.len, 32);
	assert_status(installation_create(&u.cx, STR("Other"), &again), E_EXISTS);
	assert_str(again.name, "untouched");
	assert_str(ctx_message(&u.cx, E_EXISTS), "this installation was made before; nothing was changed");
	assert_status(installation_get(&u.cx, &got), OK);
	assert_str(got.name, "Acme");
	assert_true(str_eq(got.id, made.id));
	assert_int_equal(got.created_at_us, made.created_at_us);
	db_close(db);
}

static void
an_installation_needs_a_name_of_bounded_length(void **state)
{
	UNIT(u);
	TEMPDIR(dir);
	char longer[LIMIT_INSTALLATION_NAME + 1];
	struct installation out;
	struct db *db = open_migrated(&u.cx, dir.path);

	(void)state;
	memset(longer, 'x', sizeof(longer));
	assert_status(installation_create(&u.cx, STR(""), &out), E_INVALID);
	assert_status(installation_create(&u.cx, (str){ longer, sizeof(longer) }, &out), E_INVALID);
	assert_status(installation_create(&u.cx, STR("\xff"), &out), E_INVALID);
	assert_status(installation_get(&u.cx, &out), E_NOT_FOUND);
	assert_status(installation_create(&u.cx, (str){ longer, sizeof(longer) - 1 }, &out), OK);
	db_close(db);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_installation_is_made_once),
		cmocka_unit_test(an_installation_needs_a_name_of_bounded_length),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
