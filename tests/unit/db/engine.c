/* SPDX-License-Identifier: Apache-2.0 */
/* What db.c decides by itself: reruns, lost commits, broken savepoints. The engine here is a script. */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "db/engine.h"

/* What the engine will say, and what was asked of it. */
static struct script {
	status transact; /* what it says after the function has run */
	unsigned reruns; /* and how often it asks to run again before it is done */
	status settle, read, savepoint, undo, now;
	unsigned transacted, settled, undone;
} script;

static status
say_transact(struct ctx *cx, struct tx *tx)
{
	status s = tx_call(cx, tx, NULL);

	script.transacted++;
	tx->rerun = script.transacted <= script.reruns;
	if (tx->rerun)
		return E_BUSY;
	return s == OK ? script.transact : s;
}

static status
say_read(struct ctx *cx, struct tx *tx)
{
	TRY(script.read);
	return tx_call(cx, tx, NULL);
}

static status
say_settle(struct ctx *cx, struct tx *tx)
{
	(void)cx;
	(void)tx;
	script.settled++;
	return script.settle;
}

static status
say_savepoint(struct ctx *cx, struct tx *tx)
{
	(void)cx;
	(void)tx;
	return script.savepoint;
}

static status
say_undo(struct ctx *cx, struct tx *tx)
{
	(void)cx;
	(void)tx;
	script.undone++;
	return script.undo;
}

static status
say_now(struct ctx *cx, struct tx *tx, int64_t *out_us)
{
	(void)cx;
	(void)tx;
	*out_us = 42;
	return script.now;
}

static const struct engine scripted = {
	.name = "script",
	.transact = say_transact,
	.read = say_read,
	.settle = say_settle,
	.savepoint = say_savepoint,
	.undo = say_undo,
	.now = say_now,
};

#define ON_SCRIPT(u, ...)                                                                                    \
	UNIT(u);                                                                                             \
	struct db db = { .engine = &scripted };                                                              \
	u.cx.db = &db;                                                                                       \
	script = (struct script){ __VA_ARGS__ };                                                             \
	(void)state

static void
count(void *arg)
{
	++*(int *)arg;
}

static status
hook_twice(struct ctx *cx, void *arg)
{
	tx_after_commit(cx, count, arg);
	tx_after_commit(cx, count, arg);
	return OK;
}

static void
a_rerun_forgets_the_hooks_of_the_run_before(void **state)
{
	ON_SCRIPT(u, .reruns = 3);
	int hooks = 0;
	struct db_stats stats;

	assert_status(tx_run(&u.cx, hook_twice, &hooks), OK);
	assert_int_equal(script.transacted, 4);
	assert_int_equal(hooks, 2);
	db_stats(&db, &stats);
	assert_int_equal(stats.reruns, 3);
	assert_int_equal(stats.transactions, 1);
}

static status
fill_arena(struct ctx *cx, void *arg)
{
	(void)arg;
	return arena_try(cx->arena, LIMIT_REQUEST_ARENA / 2 + 1) ? OK : E_TOO_LARGE;
}

static void
a_rerun_gives_back_the_memory_of_the_run_before(void **state)
{
	ON_SCRIPT(u, .reruns = 5);

	assert_status(tx_run(&u.cx, fill_arena, NULL), OK);
}

static void
reruns_come_to_an_end(void **state)
{
	ON_SCRIPT(u, .reruns = 1000);
	int hooks = 0;

	assert_status(tx_run(&u.cx, hook_twice, &hooks), E_BUSY);
	assert_int_equal(script.transacted, LIMIT_TX_RERUNS + 1);
	assert_int_equal(hooks, 0);
}

static void
reruns_end_at_the_deadline(void **state)
{
	ON_SCRIPT(u, .reruns = 1000);
	int hooks = 0;

	u.cx.deadline_us = 1;
	assert_status(tx_run(&u.cx, hook_twice, &hooks), E_BUSY);
	assert_int_equal(script.transacted, 1);
}

/* --- COMMIT's answer is lost --- */

static status
probe_yes(struct ctx *cx, void *arg, bool *out_committed)
{
	(void)cx;
	(void)arg;
	*out_committed = true;
	return OK;
}

static status
probe_no(struct ctx *cx, void *arg, bool *out_committed)
{
	(void)cx;
	(void)arg;
	*out_committed = false;
	return OK;
}

static status
probe_fails(struct ctx *cx, void *arg, bool *out_committed)
{
	(void)arg;
	*out_committed = true;
	return fail(cx, E_INTERNAL, "nothing to see");
}

static void
a_lost_commit_that_the_probe_finds_is_a_commit(void **state)
{
	ON_SCRIPT(u, .transact = E_COMMIT_UNKNOWN);
	int hooks = 0;

	assert_status(tx_run_probed(&u.cx, hook_twice, &hooks, probe_yes), OK);
	assert_int_equal(hooks, 2);
	assert_int_equal(script.settled, 1);
}

static void
a_lost_commit_that_the_probe_does_not_find_is_none(void **state)
{
	ON_SCRIPT(u, .transact = E_COMMIT_UNKNOWN);
	int hooks = 0;

	assert_status(tx_run_probed(&u.cx, hook_twice, &hooks, probe_no), E_UNAVAILABLE);
	assert_int_equal(hooks, 0);
}

static void
assert_unknown(struct ctx *cx, tx_probe_fn *probe)
{
	struct db_stats stats;
	int hooks = 0;

	assert_status(tx_run_probed(cx, hook_twice, &hooks, probe), E_COMMIT_UNKNOWN);
	assert_int_equal(hooks, 0);
	db_stats(cx->db, &stats);
	assert_int_equal(stats.unknown, 1);
	assert_int_equal(stats.transactions, 0);
}

static void
without_a_probe_a_lost_commit_stays_unknown(void **state)
{
	ON_SCRIPT(u, .transact = E_COMMIT_UNKNOWN);

	assert_unknown(&u.cx, NULL);
}

static void
while_it_can_still_commit_it_stays_unknown(void **state)
{
	ON_SCRIPT(u, .transact = E_COMMIT_UNKNOWN, .settle = E_UNAVAILABLE);

	assert_unknown(&u.cx, probe_no);
}

static void
where_the_probe_fails_it_stays_unknown(void **state)
{
	ON_SCRIPT(u, .transact = E_COMMIT_UNKNOWN);

	assert_unknown(&u.cx, probe_fails);
}

static void
where_the_probe_cannot_read_it_stays_unknown(void **state)
{
	ON_SCRIPT(u, .transact = E_COMMIT_UNKNOWN, .read = E_UNAVAILABLE);

	assert_unknown(&u.cx, probe_yes);
}

/* --- what breaks inside --- */

static status
nothing(struct ctx *cx, void *arg)
{
	(void)cx;
	(void)arg;
	return OK;
}

static status
try_nothing(struct ctx *cx, void *arg)
{
	(void)arg;
	(void)!tx_try(cx, nothing, NULL);
	return OK;
}

static void
a_savepoint_that_cannot_be_set_dooms_the_transaction(void **state)
{
	ON_SCRIPT(u, .savepoint = E_UNAVAILABLE);

	assert_status(tx_run(&u.cx, try_nothing, NULL), E_UNAVAILABLE);
	assert_int_equal(script.undone, 0);
}

static void
a_savepoint_that_cannot_be_undone_dooms_the_transaction(void **state)
{
	ON_SCRIPT(u, .undo = E_UNAVAILABLE);

	assert_status(tx_run(&u.cx, try_nothing, NULL), E_UNAVAILABLE);
	assert_int_equal(script.undone, 1);
}

static status
ask_time(struct ctx *cx, void *arg)
{
	(void)!tx_now_us(cx, arg);
	return OK;
}

static void
a_clock_that_does_not_answer_dooms_the_transaction(void **state)
{
	ON_SCRIPT(u, .now = E_UNAVAILABLE);
	int64_t now_us = 7;

	assert_status(tx_run(&u.cx, ask_time, &now_us), E_UNAVAILABLE);
	assert_int_equal(now_us, 7);
	script.now = OK;
	assert_status(db_read(&u.cx, ask_time, &now_us), OK);
	assert_int_equal(now_us, 42);
}

static void
closing_nothing_is_fine(void **state)
{
	(void)state;
	db_close(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rerun_forgets_the_hooks_of_the_run_before),
		cmocka_unit_test(a_rerun_gives_back_the_memory_of_the_run_before),
		cmocka_unit_test(reruns_come_to_an_end),
		cmocka_unit_test(reruns_end_at_the_deadline),
		cmocka_unit_test(a_lost_commit_that_the_probe_finds_is_a_commit),
		cmocka_unit_test(a_lost_commit_that_the_probe_does_not_find_is_none),
		cmocka_unit_test(without_a_probe_a_lost_commit_stays_unknown),
		cmocka_unit_test(while_it_can_still_commit_it_stays_unknown),
		cmocka_unit_test(where_the_probe_fails_it_stays_unknown),
		cmocka_unit_test(where_the_probe_cannot_read_it_stays_unknown),
		cmocka_unit_test(a_savepoint_that_cannot_be_set_dooms_the_transaction),
		cmocka_unit_test(a_savepoint_that_cannot_be_undone_dooms_the_transaction),
		cmocka_unit_test(a_clock_that_does_not_answer_dooms_the_transaction),
		cmocka_unit_test(closing_nothing_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
