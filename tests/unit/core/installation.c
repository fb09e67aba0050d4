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
the_first_keys_to_come_decide_for_good(void **state)
{
	UNIT(u);
	TEMPDIR(dir);
	struct installation made, again, other = { .name = STR("untouched") };
	struct db *db = open_migrated(&u.cx, dir.path);

	(void)state;
	assert_status(installation_get(&u.cx, &other), E_NOT_FOUND);
	assert_status(installation_join(&u.cx, STR("Acme"), STR("00ff"), &made), OK);
	assert_int_equal(made.id.len, 32);
	assert_status(installation_join(&u.cx, STR("Other"), STR("11ff"), &other), E_CONFLICT);
	assert_str(other.name, "untouched");
	assert_non_null(strstr(u.cx.error.message.ptr, "11ff"));
	assert_status(installation_join(&u.cx, STR("Other"), STR("00ff"), &again), OK);
	assert_str(again.name, "Acme");
	assert_str(again.keys, "00ff");
	assert_true(str_eq(again.id, made.id));
	assert_status(installation_get(&u.cx, &again), OK);
	assert_int_equal(again.created_at_us, made.created_at_us);
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
	assert_status(installation_join(&u.cx, STR(""), STR("00ff"), &out), E_INVALID);
	assert_status(
		installation_join(&u.cx, (str){ longer, sizeof(longer) }, STR("00ff"), &out), E_INVALID);
	assert_status(installation_join(&u.cx, STR("\xff"), STR("00ff"), &out), E_INVALID);
	assert_status(installation_get(&u.cx, &out), E_NOT_FOUND);
	assert_status(installation_join(&u.cx, (str){ longer, sizeof(longer) - 1 }, STR("00ff"), &out), OK);
	db_close(db);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_keys_to_come_decide_for_good),
		cmocka_unit_test(an_installation_needs_a_name_of_bounded_length),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
