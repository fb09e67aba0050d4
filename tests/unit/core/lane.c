/* SPDX-License-Identifier: Apache-2.0 */
/* EX-5: who is slow or broken holds up nobody else. */
#include "core/outside/lane.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "unit.h"

#include <poll.h>
#include <stdio.h>
#include <pthread.h>
#include <stdatomic.h>

static void
open_world(struct ctx *cx)
{
	cx->lanes = lanes_new();
}

static void
what_does_not_answer_is_not_asked_for_a_while(void **state)
{
	UNIT(u);

	(void)state;
	open_world(&u.cx);
	for (int i = 0; i < LIMIT_LANE_FAILURES; i++) {
		assert_status(lane_enter(&u.cx, STR("org"), STR("a")), OK);
		lane_leave(&u.cx, STR("a"), false);
	}
	assert_string_equal(lane_look(&u.cx, STR("a")).breaker, "open");
	assert_true(lane_look(&u.cx, STR("a")).open_us > 0);
	assert_int_equal(lane_look(&u.cx, STR("a")).last_us, 0); /* it never answered */
	assert_status(lane_enter(&u.cx, STR("org"), STR("a")), E_UNAVAILABLE);
	assert_status(lane_enter(&u.cx, STR("org"), STR("b")), OK); /* another one is not held up */
	lane_leave(&u.cx, STR("b"), true);
	lanes_free(u.cx.lanes);
}

static void
use(struct ctx *cx, str name, int times, bool answers)
{
	for (int i = 0; i < times; i++) {
		assert_status(lane_enter(cx, STR("org"), name), OK);
		lane_leave(cx, name, answers);
	}
}

/* After the rest one call finds out how the other system is, and nobody else goes with it. */
static void
after_the_rest_one_call_is_let_through(void **state)
{
	UNIT(u);

	(void)state;
	open_world(&u.cx);
	clock_freeze(SECOND_US);
	for (int i = 0; i < LIMIT_LANE_FAILURES; i++) {
		assert_status(lane_enter(&u.cx, STR("org"), STR("a")), OK);
		lane_leave(&u.cx, STR("a"), false);
	}
	clock_freeze(SECOND_US + LIMIT_LANE_REST_US - 1);
	assert_status(lane_enter(&u.cx, STR("org"), STR("a")), E_UNAVAILABLE);
	clock_freeze(SECOND_US + LIMIT_LANE_REST_US);
	assert_status(lane_enter(&u.cx, STR("org"), STR("a")), OK);
	assert_string_equal(lane_look(&u.cx, STR("a")).breaker, "trying");
	assert_status(lane_enter(&u.cx, STR("org"), STR("a")), E_UNAVAILABLE);
	lane_leave(&u.cx, STR("a"), true);
	assert_string_equal(lane_look(&u.cx, STR("a")).breaker, "closed");
	use(&u.cx, STR("a"), 2, true);
	clock_release();
	lanes_free(u.cx.lanes);
}

static void
an_answer_forgives_what_was_before(void **state)
{
	UNIT(u);

	(void)state;
	open_world(&u.cx);
	for (int i = 0; i < 3 * LIMIT_LANE_FAILURES; i++) {
		assert_status(lane_enter(&u.cx, STR("org"), STR("a")), OK);
		lane_leave(&u.cx, STR("a"), i % 3 == 0);
	}
	assert_string_equal(lane_look(&u.cx, STR("a")).breaker, "closed");
	assert_int_equal(lane_look(&u.cx, STR("a")).open_us, 0);
	assert_true(lane_look(&u.cx, STR("a")).last_us > 0);
	lanes_free(u.cx.lanes);
}

/* What answered is remembered while there is room; what failed is kept for longer. */
static void
an_idle_lane_makes_room_for_others(void **state)
{
	UNIT(u);
	char name[16];

	(void)state;
	open_world(&u.cx);
	use(&u.cx, STR("broken"), LIMIT_LANE_FAILURES, false);
	for (unsigned i = 0; i < LIMIT_LANES + 3; i++) {
		(void)snprintf(name, sizeof(name), "lane %u", i);
		use(&u.cx, str_of(name), 1, true);
	}
	assert_int_equal(lane_look(&u.cx, STR("lane 0")).last_us, 0); /* unused for the longest time */
	assert_true(lane_look(&u.cx, str_of(name)).last_us > 0);
	assert_string_equal(lane_look(&u.cx, STR("broken")).breaker, "open");
	lanes_free(u.cx.lanes);
}

/* EX-5: destinations that failed once, and may be gone for ever, hold up nobody. */
static void
destinations_that_once_failed_do_not_use_up_the_lanes(void **state)
{
	UNIT(u);
	char name[16];

	(void)state;
	open_world(&u.cx);
	for (unsigned i = 0; i < 2 * LIMIT_LANES; i++) {
		(void)snprintf(name, sizeof(name), "gone %u", i);
		use(&u.cx, str_of(name), 1 + (int)(i % LIMIT_LANE_FAILURES), false);
	}
	use(&u.cx, STR("healthy"), 1, true);
	assert_int_equal(lane_stats(u.cx.lanes).refused, 0);
	lanes_free(u.cx.lanes);
}

static void
one_organization_leaves_places_for_others(void **state)
{
	UNIT(u);

	(void)state;
	open_world(&u.cx);
	for (int i = 0; i < LIMIT_LANE_ORG_CALLS; i++)
		assert_status(lane_enter(&u.cx, STR("greedy"), arena_printf(u.cx.arena, "lane %d", i)), OK);
	assert_status(lane_enter(&u.cx, STR("greedy"), STR("one more")), E_BUSY);
	assert_status(lane_enter(&u.cx, STR("other"), STR("first")), OK);
	assert_int_equal(lane_stats(u.cx.lanes).calls, LIMIT_LANE_ORG_CALLS + 1);
	assert_int_equal(lane_stats(u.cx.lanes).refused, 1);
	lane_leave(&u.cx, STR("lane 0"), true);
	assert_status(lane_enter(&u.cx, STR("greedy"), STR("one more")), OK);
	lanes_free(u.cx.lanes);
}

#define REFUSED 4
static atomic_int refused;

struct other {
	pthread_t thread;
	struct lanes *lanes;
	status s;
};

static void *
come_late(void *arg)
{
	struct other *o = arg;
	struct arena a;
	struct ctx cx;

	arena_init(&a, MIB);
	ctx_init(&cx, &a);
	cx.lanes = o->lanes;
	o->s = lane_enter(&cx, STR("org"), STR("a"));
	if (o->s == OK)
		lane_leave(&cx, STR("a"), true);
	else
		atomic_fetch_add(&refused, 1);
	arena_done(&a);
	return NULL;
}

/* Some wait, the rest is refused at once; whoever waits gets in when somebody leaves. */
static void
a_crowd_in_front_of_one_lane_is_refused(void **state)
{
	struct other others[LIMIT_LANE_WAITING + REFUSED];
	const size_t count = sizeof(others) / sizeof(others[0]);
	int in = 0;

	(void)state;
	UNIT(u);
	open_world(&u.cx);
	atomic_store(&refused, 0);
	for (int i = 0; i < LIMIT_LANE_CALLS; i++)
		assert_status(lane_enter(&u.cx, STR("org"), STR("a")), OK);
	for (size_t i = 0; i < count; i++) {
		others[i].lanes = u.cx.lanes;
		CHECK(pthread_create(&others[i].thread, NULL, come_late, &others[i]) == 0);
	}
	while (atomic_load(&refused) < REFUSED)
		(void)poll(NULL, 0, 1);
	for (int i = 0; i < LIMIT_LANE_CALLS; i++)
		lane_leave(&u.cx, STR("a"), true);
	for (size_t i = 0; i < count; i++) {
		CHECK(pthread_join(others[i].thread, NULL) == 0);
		assert_true(others[i].s == OK || others[i].s == E_BUSY);
		in += others[i].s == OK;
	}
	assert_int_equal(in, LIMIT_LANE_WAITING);
	assert_int_equal(lane_look(&u.cx, STR("a")).calls, 0);
	lanes_free(u.cx.lanes);
}

/* Who waits for a place in front of what turns out to be broken is not let in one by one. */
static void
who_waits_for_what_is_broken_hears_it_at_once(void **state)
{
	struct other others[3];
	const size_t count = sizeof(others) / sizeof(others[0]);

	(void)state;
	UNIT(u);
	open_world(&u.cx);
	for (int i = 0; i < LIMIT_LANE_FAILURES - 1; i++) {
		assert_status(lane_enter(&u.cx, STR("org"), STR("a")), OK);
		lane_leave(&u.cx, STR("a"), false);
	}
	for (int i = 0; i < LIMIT_LANE_CALLS; i++)
		assert_status(lane_enter(&u.cx, STR("org"), STR("a")), OK);
	for (size_t i = 0; i < count; i++) {
		others[i].lanes = u.cx.lanes;
		CHECK(pthread_create(&others[i].thread, NULL, come_late, &others[i]) == 0);
	}
	while (lane_look(&u.cx, STR("a")).waiting < (int64_t)count)
		(void)poll(NULL, 0, 1);
	lane_leave(&u.cx, STR("a"), false); /* one more than it takes: the others are still in it */
	for (size_t i = 0; i < count; i++) {
		CHECK(pthread_join(others[i].thread, NULL) == 0);
		assert_status(others[i].s, E_UNAVAILABLE);
	}
	for (int i = 1; i < LIMIT_LANE_CALLS; i++)
		lane_leave(&u.cx, STR("a"), true);
	assert_int_equal(lane_look(&u.cx, STR("a")).calls, 0);
	lanes_free(u.cx.lanes);
}

static void
there_is_an_end_to_lanes_that_are_in_use(void **state)
{
	UNIT(u);

	(void)state;
	open_world(&u.cx);
	for (size_t i = 0; i < LIMIT_LANES; i++)
		assert_status(lane_enter(&u.cx, i % 2 ? STR("a") : STR("b"),
				      arena_printf(u.cx.arena, "lane %zu", i)),
			OK);
	assert_status(lane_enter(&u.cx, STR("a"), STR("one more")), E_BUSY);
	lane_leave(&u.cx, STR("lane 7"), true);
	assert_status(lane_enter(&u.cx, STR("a"), STR("one more")), OK);
	lanes_free(u.cx.lanes);
}

static int lent;

static bool
lend(void *arg)
{
	(void)arg;
	return ++lent <= 1;
}

static void
back(void *arg)
{
	(void)arg;
	lent = 0;
}

static void
the_place_of_the_worker_is_lent_and_comes_back(void **state)
{
	const struct ctx_place place = { lend, back, NULL };
	UNIT(u);

	(void)state;
	open_world(&u.cx);
	u.cx.place = &place;
	lent = 0;
	assert_status(lane_enter(&u.cx, STR("org"), STR("a")), OK);
	assert_int_equal(lent, 1);
	assert_status(lane_enter(&u.cx, STR("org"), STR("b")), E_BUSY); /* none left to lend */
	lane_leave(&u.cx, STR("a"), true);
	assert_int_equal(lent, 0);
	lanes_free(u.cx.lanes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_answer_is_not_asked_for_a_while),
		cmocka_unit_test(after_the_rest_one_call_is_let_through),
		cmocka_unit_test(an_answer_forgives_what_was_before),
		cmocka_unit_test(an_idle_lane_makes_room_for_others),
		cmocka_unit_test(destinations_that_once_failed_do_not_use_up_the_lanes),
		cmocka_unit_test(one_organization_leaves_places_for_others),
		cmocka_unit_test(a_crowd_in_front_of_one_lane_is_refused),
		cmocka_unit_test(who_waits_for_what_is_broken_hears_it_at_once),
		cmocka_unit_test(there_is_an_end_to_lanes_that_are_in_use),
		cmocka_unit_test(the_place_of_the_worker_is_lent_and_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
