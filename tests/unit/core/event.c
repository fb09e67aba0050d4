/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hub: an event wakes who waits and not who rests, a call wakes both.
 *
 * Each wait has a minute, and the test asks what ended it: a wake-up that never comes is a failure, not a slow success.
 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "core/event.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define LONG_US (60 * SECOND_US)

static const struct event news = { .type = STR("proposal.pending") };

/* --- somebody who sleeps in the hub --- */

struct sleeper {
	struct event_hub *hub;
	bool (*wait)(struct event_hub *h, uint64_t seen, int64_t most_us);
	pthread_t thread;
	_Atomic pid_t id;
	bool woken;
};

static void *
sleep_in_hub(void *arg)
{
	struct sleeper *s = arg;

	atomic_store(&s->id, gettid());
	s->woken = s->wait(s->hub, 0, LONG_US);
	return NULL;
}

/* What the kernel says of a thread: S where it sleeps. */
static char
state_of(pid_t id)
{
	char path[64], state = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)id);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	(void)fclose(f);
	return state;
}

/* Returns when the thread sleeps: it does nothing after its id is known but to wait, and nobody holds the hub's lock. */
static void
fall_asleep(struct sleeper *s, struct event_hub *h, bool (*wait)(struct event_hub *, uint64_t, int64_t))
{
	*s = (struct sleeper){ .hub = h, .wait = wait };
	assert_int_equal(pthread_create(&s->thread, NULL, sleep_in_hub, s), 0);
	while (!atomic_load(&s->id) || state_of(atomic_load(&s->id)) != 'S')
		(void)poll(NULL, 0, 1);
}

static bool
was_woken(struct sleeper *s)
{
	assert_int_equal(pthread_join(s->thread, NULL), 0);
	return s->woken;
}

/* --- tests --- */

static void
an_event_wakes_who_waits(void **state)
{
	struct event_hub *h = event_hub_new(1);
	struct sleeper s;

	(void)state;
	fall_asleep(&s, h, event_wait);
	event_publish(h, &news);
	assert_true(was_woken(&s));
	event_hub_free(h);
}

static void
a_call_wakes_who_waits_and_who_rests(void **state)
{
	struct event_hub *h = event_hub_new(1);
	struct sleeper waits, rests;

	(void)state;
	fall_asleep(&waits, h, event_wait);
	fall_asleep(&rests, h, event_rest);
	event_call(h);
	assert_true(was_woken(&waits));
	assert_true(was_woken(&rests));
	event_hub_free(h);
}

static void
an_event_does_not_wake_who_rests(void **state)
{
	struct event_hub *h = event_hub_new(1);
	uint64_t calls = event_calls(h);

	(void)state;
	event_publish(h, &news);
	assert_int_equal(event_calls(h), calls);
	assert_false(event_rest(h, calls, 1)); /* its time is over at once */
	event_hub_free(h);
}

static void
what_came_before_is_not_waited_for(void **state)
{
	struct event_hub *h = event_hub_new(1);

	(void)state;
	event_publish(h, &news);
	assert_true(event_wait(h, 0, LONG_US));
	event_call(h);
	assert_true(event_wait(h, 1, LONG_US));
	assert_true(event_rest(h, 0, LONG_US));
	assert_false(event_wait(h, event_count(h), 1));
	assert_false(event_rest(h, event_calls(h), 1));
	event_hub_free(h);
}

static void
after_the_end_nobody_begins_to_wait(void **state)
{
	struct event_hub *h = event_hub_new(2);
	struct sleeper waits, rests;

	(void)state;
	assert_true(event_wait_begin(h));
	assert_false(event_ended(h));
	fall_asleep(&waits, h, event_wait);
	fall_asleep(&rests, h, event_rest);
	event_end(h);
	assert_true(event_ended(h));
	assert_true(was_woken(&waits));
	assert_true(was_woken(&rests));
	assert_false(event_wait_begin(h));
	event_wait_end(h);
	assert_false(event_wait_begin(h)); /* a place that comes free is none */
	event_hub_free(h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_wakes_who_waits),
		cmocka_unit_test(a_call_wakes_who_waits_and_who_rests),
		cmocka_unit_test(an_event_does_not_wake_who_rests),
		cmocka_unit_test(what_came_before_is_not_waited_for),
		cmocka_unit_test(after_the_end_nobody_begins_to_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
