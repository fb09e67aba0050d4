/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/database.h"
#include "tests/unit/unit.h"

#include "core/ident/org.h"
#include "core/keys.h"
#include "exec/safe.h"

#include <sodium.h>

struct world {
	struct database database;
	struct unit u;
	struct keys keys;
	struct org_first first;
};

static void
world_make(struct world *w, bool postgres)
{
	struct ctx *cx = &w->u.cx;
	struct db_options options;
	int applied;

	arena_init(&w->u.arena, LIMIT_REQUEST_ARENA);
	ctx_init(cx, &w->u.arena);
	database_make(&w->database, postgres);
	options = database_options(&w->database);
	assert_status(db_open(cx, &options, &cx->db), OK);
	assert_status(db_migrate(cx, &applied), OK);
	assert_status(db_prepare(cx), OK);
	assert_true(sodium_init() >= 0);
	memset(&w->keys, 7, sizeof(w->keys));
	cx->keys = &w->keys;
	assert_status(org_bootstrap(cx, STR("ada@example.org"), &w->first), OK);
}

static void
world_drop(struct world *w)
{
	db_close(w->u.cx.db);
	database_drop(&w->database);
	arena_done(&w->u.arena);
}

struct step {
	str org_id, text, id;
	struct safe_text got;
};

static status
put_tx(struct ctx *cx, void *arg)
{
	struct step *s = arg;

	return safe_put(cx, s->org_id, s->text, &s->id);
}

static status
get_tx(struct ctx *cx, void *arg)
{
	struct step *s = arg;

	return safe_get(cx, s->org_id, s->id, &s->got);
}

static status
drop_tx(struct ctx *cx, void *arg)
{
	struct step *s = arg;

	return safe_drop(cx, s->org_id, s->id);
}

static void
check_engine(bool postgres)
{
	struct world w;
	struct ctx *cx = &w.u.cx;
	struct step one, none, other;
	struct keys others;

	world_make(&w, postgres);
	one = (struct step){ .org_id = w.first.org_id, .text = STR("hunter2\0behind it") };
	assert_status(tx_run(cx, put_tx, &one), OK);
	assert_status(db_read(cx, get_tx, &one), OK);
	assert_true(str_eq(one.got.text, one.text));
	safe_done(&one.got);
	assert_null(one.got.memory);
	assert_int_equal(one.got.text.len, 0);

	other = (struct step){ .org_id = STR("another"), .id = one.id };
	assert_status(db_read(cx, get_tx, &other), E_NOT_FOUND);
	memset(&others, 8, sizeof(others));
	cx->keys = &others;
	assert_status(db_read(cx, get_tx, &one), E_TAMPERED);
	assert_null(one.got.memory);
	cx->keys = NULL;
	assert_status(db_read(cx, get_tx, &one), E_INTERNAL);
	assert_status(tx_run(cx, put_tx, &one), E_INTERNAL);
	cx->keys = &w.keys;

	none = (struct step){ .org_id = w.first.org_id };
	assert_status(db_read(cx, get_tx, &none), OK); /* no secret, and none is needed */
	assert_null(none.got.memory);
	safe_done(&none.got);

	assert_status(tx_run(cx, drop_tx, &one), OK);
	assert_status(db_read(cx, get_tx, &one), E_NOT_FOUND);
	assert_status(tx_run(cx, drop_tx, &one), OK);
	world_drop(&w);
}

static void
a_secret_comes_back_only_to_its_organization_under_its_key_file_EX_1(void **state)
{
	(void)state;
	check_engine(false);
	if (database_server())
		check_engine(true);
	else
		print_message("skipped on PostgreSQL: COUNTERSIGN_TEST_POSTGRES is not set\n");
}

static void
a_secret_is_neither_empty_nor_endless(void **state)
{
	static char much[LIMIT_SAFE_BYTES + 1];
	struct step s;
	struct world w;

	(void)state;
	memset(much, 'x', sizeof(much));
	world_make(&w, false);
	s = (struct step){ .org_id = w.first.org_id };
	assert_status(tx_run(&w.u.cx, put_tx, &s), E_INVALID);
	s.text = (str){ much, sizeof(much) };
	assert_status(tx_run(&w.u.cx, put_tx, &s), E_TOO_LARGE);
	s.text.len--;
	assert_status(tx_run(&w.u.cx, put_tx, &s), OK);
	world_drop(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_comes_back_only_to_its_organization_under_its_key_file_EX_1),
		cmocka_unit_test(a_secret_is_neither_empty_nor_endless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
