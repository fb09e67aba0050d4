/* SPDX-License-Identifier: Apache-2.0 */
/* The hub: who waits is woken by an event, who rests is not, and a call wakes both. */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "core/event.h"

#include <pthread.h>

#define LONG_US (60 * SECOND_US) /* nobody waits so long: who does makes the test's time run out */

static void
an_event_ends_a_wait_and_no_rest(void **state)
{
	struct event_hub *h = event_hub_new(1);
	uint64_t seen = event_count(h), calls = event_calls(h);

	(void)state;
	event_publish(h, &(struct event){ .type = STR("proposal.pending") });
	event_wait(h, seen, LONG_US);
	assert_int_equal(event_calls(h), calls);
	event_rest(h, calls, 1); /* its time is over at once */
	event_hub_free(h);
}

static void
a_call_ends_both(void **state)
{
	struct event_hub *h = event_hub_new(1);
	uint64_t seen = event_count(h), calls = event_calls(h);

	(void)state;
	event_call(h);
	event_wait(h, seen, LONG_US);
	event_rest(h, calls, LONG_US);
	event_hub_free(h);
}

static void
after_the_end_nobody_begins_to_wait(void **state)
{
	struct event_hub *h = event_hub_new(2);
	uint64_t seen = event_count(h);

	(void)state;
	assert_true(event_wait_begin(h));
	assert_false(event_ended(h));
	event_end(h);
	assert_true(event_ended(h));
	event_wait(h, seen, LONG_US); /* who waits already looks again */
	assert_false(event_wait_begin(h));
	event_wait_end(h);
	assert_false(event_wait_begin(h)); /* a place that comes free is none */
	event_hub_free(h);
}

static void *
rest(void *arg)
{
	event_rest(arg, 0, LONG_US);
	return NULL;
}

static void
a_call_wakes_who_rests_already(void **state)
{
	struct event_hub *h = event_hub_new(1);
	pthread_t thread;

	(void)state;
	assert_int_equal(event_calls(h), 0);
	assert_int_equal(pthread_create(&thread, NULL, rest, h), 0);
	event_publish(h, &(struct event){ .type = STR("proposal.pending") });
	event_call(h);
	assert_int_equal(pthread_join(thread, NULL), 0);
	event_hub_free(h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_ends_a_wait_and_no_rest),
		cmocka_unit_test(a_call_ends_both),
		cmocka_unit_test(after_the_end_nobody_begins_to_wait),
		cmocka_unit_test(a_call_wakes_who_rests_already),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
