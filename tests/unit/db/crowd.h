/* SPDX-License-Identifier: Apache-2.0 */
/* crowd: several transactions that SQLite's writer finds in its queue at once. For its tests. */
#ifndef TESTS_DB_CROWD_H
#define TESTS_DB_CROWD_H

#include "tests/unit/db/world.h"

#include "base/clock.h"
#include "base/fault.h"
#include "db/sqlite.h"

static inline int
make_world(void **state)
{
	struct world *w = malloc(sizeof(*w));

	CHECK(w != NULL);
	world_make(w, false);
	world_open(w);
	*state = w;
	return 0;
}

static inline int
drop_world(void **state)
{
	CHECK(fault_arm("tx_before_begin:1:off"));
	clock_release();
	world_done(*state);
	free(*state);
	return 0;
}

#define JOBS 9
#define ODD  4 /* the one in the middle that breaks the batch */

struct task {
	int64_t id;
	int runs, hooks;
	tx_fn *extra; /* done after the row was added */
};

static inline void
note_hook(void *arg)
{
	struct task *t = arg;

	t->hooks++;
}

static inline status
do_task(struct ctx *cx, void *arg)
{
	struct task *t = arg;

	t->runs++;
	tx_after_commit(cx, note_hook, t);
	TRY(add_item(cx, &t->id));
	return t->extra ? t->extra(cx, t) : OK;
}

struct crowd {
	struct task tasks[JOBS];
	struct hand hands[JOBS];
	struct db_stats before, after;
};

/* Has all tasks run in one batch: they queue up behind a transaction that stands at a gate. */
static inline void
run_as_one_batch(struct world *w, struct crowd *crowd)
{
	struct gate gate = GATE_INIT;
	struct hand holder;

	clock_freeze(clock_mono_us()); /* a batch ends after 2 ms, but not on a busy machine in this test */
	hand_init(&holder, w->cx.db, stand_at_gate, &gate);
	hand_start(&holder);
	gate_wait(&gate, &gate.reached);
	for (size_t i = 0; i < JOBS; i++) {
		crowd->tasks[i].id = (int64_t)i;
		hand_init(&crowd->hands[i], w->cx.db, do_task, &crowd->tasks[i]);
		hand_start(&crowd->hands[i]);
		await_queue(w->cx.db, (int64_t)i + 1); /* in this order */
	}
	db_stats(w->cx.db, &crowd->before);
	gate_set(&gate, &gate.opened);
	CHECK(hand_join(&holder) == OK);
	for (size_t i = 0; i < JOBS; i++)
		(void)!hand_join(&crowd->hands[i]);
	db_stats(w->cx.db, &crowd->after);
}

static inline void
assert_all_but(struct world *w, const struct crowd *crowd, size_t odd, status odd_status)
{
	for (size_t i = 0; i < JOBS; i++) {
		status expected = i == odd ? odd_status : OK;

		assert_string_equal(status_info(crowd->hands[i].result)->name, status_info(expected)->name);
		assert_int_equal(crowd->tasks[i].hooks, expected == OK);
	}
	assert_int_equal(count_items(&w->cx), odd_status == OK ? JOBS : JOBS - 1);
}

#define ON_WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, drop_world)

#endif
