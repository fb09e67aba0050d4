/* SPDX-License-Identifier: Apache-2.0 */
/* AU-4: what was decided is remembered outside the database; checkpoints that were given are held. */
#include "core/audit/seal/numbers.h"

#include "base/check.h"
#include "base/clock.h"
#include "core/audit/seal/given.h"
#include "tempdir.h"
#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#define ORG STR("org-1")

static struct numbers *
open_in(struct ctx *cx, const char *dir)
{
	struct numbers *n = NULL;

	assert_status(numbers_open(cx, dir, &n), OK);
	return n;
}

static void
a_lower_number_than_was_seen_is_behind(void **state)
{
	UNIT(u);
	TEMPDIR(d);
	struct numbers *n = open_in(&u.cx, d.path);

	(void)state;
	assert_false(numbers_behind(n, ORG, STR("p"), 0)); /* nothing was seen */
	numbers_see(n, ORG, STR("p"), 3, 0);
	numbers_see(n, ORG, STR("p"), 2, 0); /* late news change nothing */
	assert_true(numbers_behind(n, ORG, STR("p"), 2));
	assert_false(numbers_behind(n, ORG, STR("p"), 3));
	assert_false(numbers_behind(n, ORG, STR("p"), 4));
	assert_false(numbers_behind(n, STR("org-2"), STR("p"), 1));
	assert_false(numbers_behind(n, ORG, STR(""), 1));
	assert_false(numbers_behind(NULL, ORG, STR("p"), 1));
	numbers_free(n);
}

static void
it_outlives_a_restart_and_a_write_that_was_cut_off(void **state)
{
	UNIT(u);
	TEMPDIR(d);
	struct numbers *n = open_in(&u.cx, d.path);
	int fd;

	(void)state;
	numbers_see(n, ORG, STR("p"), 3, 0);
	assert_status(numbers_write(&u.cx, n), OK);
	assert_status(numbers_write(&u.cx, n), OK); /* nothing new */
	numbers_free(n);
	fd = open(arena_printf(&u.arena, "%s/numbers", d.path).ptr, O_WRONLY | O_APPEND | O_CLOEXEC);
	CHECK(fd >= 0 && write(fd, "half a record", 13) == 13 && close(fd) == 0);
	n = open_in(&u.cx, d.path);
	assert_true(numbers_behind(n, ORG, STR("p"), 2));
	numbers_see(n, ORG, STR("q"), 5, 0);
	assert_status(numbers_write(&u.cx, n), OK);
	numbers_free(n);
	n = open_in(&u.cx, d.path);
	assert_true(numbers_behind(n, ORG, STR("p"), 2) && numbers_behind(n, ORG, STR("q"), 4));
	numbers_free(n);
}

static void
where_there_is_no_room_what_matters_longest_stays(void **state)
{
	UNIT(u);
	TEMPDIR(d);
	struct numbers *n = open_in(&u.cx, d.path);
	int64_t now = clock_now_us();
	int kept = 0;

	(void)state;
	numbers_see(n, ORG, STR(""), 9, 0); /* for ever */
	for (int i = 0; i < 3 * (int)LIMIT_NUMBERS; i++) {
		struct arena_mark mark = arena_mark(&u.arena);

		numbers_see(n, ORG, arena_printf(&u.arena, "p%d", i), 2, now + i);
		arena_rewind(&u.arena, mark);
	}
	for (int i = 0; i < (int)LIMIT_NUMBERS / 2; i++)
		kept += numbers_behind(
			n, ORG, arena_printf(&u.arena, "p%d", 3 * (int)LIMIT_NUMBERS - 1 - i), 1);
	assert_true(numbers_behind(n, ORG, STR(""), 8));
	assert_true(kept > (int)LIMIT_NUMBERS / 2 * 95 /
				   100); /* the newest: some buckets have more than their share */
	numbers_free(n);
}

static void
a_folder_that_is_gone_is_said_and_nothing_is_forgotten(void **state)
{
	UNIT(u);
	TEMPDIR(d);
	struct numbers *n = open_in(&u.cx, d.path), *none = NULL;
	const char *away = arena_printf(&u.arena, "%s.away", d.path).ptr;

	(void)state;
	numbers_see(n, ORG, STR("p"), 2, 0);
	CHECK(rename(d.path, away) == 0);
	assert_status(numbers_write(&u.cx, n), E_UNAVAILABLE);
	CHECK(rename(away, d.path) == 0);
	assert_status(numbers_write(&u.cx, n), OK);
	numbers_free(n);
	n = open_in(&u.cx, d.path);
	assert_true(numbers_behind(n, ORG, STR("p"), 1));
	numbers_free(n);
	assert_status(numbers_open(&u.cx, "/dev/null", &none), E_UNAVAILABLE);
	assert_null(none);
}

static void
a_checkpoint_that_was_given_is_taken_once_and_a_newer_one_again(void **state)
{
	UNIT(u);
	struct given *g = given_new();
	struct tree_checkpoint small = { .size = 3, .note = STR("three") }, large = { 5, STR("five") };
	str org_id, note;

	(void)state;
	assert_true(given_add(g, ORG, &small));
	assert_false(given_add(g, ORG, &small)); /* a client that asks again and again wakes nobody */
	assert_true(given_take(g, &u.arena, &org_id, &note));
	assert_str(org_id, "org-1");
	assert_str(note, "three");
	assert_false(given_take(g, &u.arena, &org_id, &note));
	assert_true(given_add(g, ORG, &large));
	assert_false(given_add(g, ORG, &small));
	assert_true(given_take(g, &u.arena, &org_id, &note));
	assert_str(note, "five");
	for (unsigned i = 0; i < 2 * LIMIT_AUDIT_GIVEN; i++)
		assert_true(given_add(g, arena_printf(&u.arena, "org-%u", i + 10), &small));
	given_free(g);
	given_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lower_number_than_was_seen_is_behind),
		cmocka_unit_test(it_outlives_a_restart_and_a_write_that_was_cut_off),
		cmocka_unit_test(where_there_is_no_room_what_matters_longest_stays),
		cmocka_unit_test(a_folder_that_is_gone_is_said_and_nothing_is_forgotten),
		cmocka_unit_test(a_checkpoint_that_was_given_is_taken_once_and_a_newer_one_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
