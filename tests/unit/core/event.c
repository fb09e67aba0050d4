/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hub: an event wakes who waits and not who rests, a call wakes both.
 *
 * Each wait has a minute, and the test asks what ended it: a wake-up that never comes is a failure, not a slow success.
 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/limits.h"
#include "core/event.h"
#include "core/slot.h"

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

/* --- slots --- */

#define HELD 300u

struct taking {
	struct arena arena;
	struct ctx cx;
	struct slots *slots;
	struct slot *held[HELD];
	size_t count;
};

static void
taking_init(struct taking *t, int waits)
{
	arena_init(&t->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&t->cx, &t->arena);
	t->slots = slots_new(waits);
	t->count = 0;
}

static void
taking_done(struct taking *t)
{
	while (t->count)
		slot_give_back(t->slots, t->held[--t->count]);
	slots_free(t->slots);
	arena_done(&t->arena);
}

static status
take(struct taking *t, enum slot_kind kind, struct slot_owner owner)
{
	status s = slot_take(&t->cx, t->slots, kind, &owner, &t->held[t->count]);

	t->count += s == OK;
	return s;
}

/* How many a new agent after the other gets, each as many as it may. */
static size_t
fill_with_agents(struct taking *t, enum slot_kind kind, str org)
{
	size_t before = t->count;

	for (int agent = 0; t->count < HELD; agent++) {
		struct slot_owner o = { .org_id = org,
			.principal_id = arena_printf(&t->arena, "agent %d", agent) };
		size_t had = t->count;

		while (t->count < HELD && take(t, kind, o) == OK)
			continue;
		if (t->count == had)
			break;
	}
	return t->count - before;
}

static void
one_agent_holds_a_few_streams_and_not_those_of_others(void **state)
{
	struct slot_owner agent = {
		.org_id = STR("org"), .principal_id = STR("agent"), .delegator_id = STR("ann")
	};
	struct slot_owner of_ben = {
		.org_id = STR("org"), .principal_id = STR("agent"), .delegator_id = STR("ben")
	};
	struct slot_stats stats;
	struct taking t;

	(void)state;
	taking_init(&t, 4);
	for (size_t i = 0; i < LIMIT_STREAMS_HOLDER; i++)
		assert_int_equal(take(&t, SLOT_EVENTS, agent), OK);
	assert_int_equal(take(&t, SLOT_EVENTS, agent), E_RATE_LIMITED);
	assert_non_null(strstr(arena_cstr(&t.arena, t.cx.error.message), "may hold 32"));
	assert_int_equal(take(&t, SLOT_EVENTS, of_ben), OK); /* the same agent for another person */
	assert_int_equal(take(&t, SLOT_MCP, agent), OK);     /* another kind */
	slot_give_back(t.slots, t.held[0]);
	t.held[0] = t.held[--t.count];
	assert_int_equal(take(&t, SLOT_EVENTS, agent), OK);
	assert_int_equal(take(&t, SLOT_EVENTS, agent), E_RATE_LIMITED);
	slot_stats(t.slots, &stats);
	assert_int_equal(stats.held[SLOT_EVENTS], LIMIT_STREAMS_HOLDER + 1);
	assert_int_equal(stats.held[SLOT_MCP], 1);
	assert_int_equal(stats.refused[SLOT_EVENTS], 2);
	taking_done(&t);
}

static void
agents_leave_a_quarter_to_people_and_an_organization_leaves_room_to_others(void **state)
{
	struct taking t;

	(void)state;
	taking_init(&t, 4);
	assert_int_equal(fill_with_agents(&t, SLOT_EVENTS, STR("org")), LIMIT_STREAMS_ORG * 3 / 4);
	for (size_t i = 0; i < LIMIT_STREAMS_ORG / 4; i++) {
		struct slot_owner o = { .org_id = STR("org"),
			.principal_id = arena_printf(&t.arena, "person %zu", i),
			.person = true };

		assert_int_equal(take(&t, SLOT_EVENTS, o), OK);
	}
	assert_int_equal(
		take(&t, SLOT_EVENTS, (struct slot_owner){ STR("org"), STR("one more"), { NULL, 0 }, true }),
		E_RATE_LIMITED);
	assert_int_equal(take(&t, SLOT_EVENTS,
				 (struct slot_owner){ .org_id = STR("other"), .principal_id = STR("agent") }),
		OK);
	taking_done(&t);
}

static void
waits_leave_one_to_people_and_one_agent_has_half(void **state)
{
	struct taking t;

	(void)state;
	taking_init(&t, 8);
	assert_int_equal(
		take(&t, SLOT_WAIT, (struct slot_owner){ .org_id = STR("org"), .principal_id = STR("a") }),
		OK);
	while (take(&t, SLOT_WAIT, (struct slot_owner){ .org_id = STR("org"), .principal_id = STR("a") }) ==
		OK)
		continue;
	assert_int_equal(t.count, 4);
	(void)fill_with_agents(&t, SLOT_WAIT, STR("org"));
	assert_int_equal(t.count, 4); /* three quarters of six, rounded for people */
	(void)fill_with_agents(&t, SLOT_WAIT, STR("other"));
	assert_int_equal(t.count, 6);
	assert_int_equal(
		take(&t, SLOT_WAIT, (struct slot_owner){ STR("org"), STR("person"), { NULL, 0 }, true }), OK);
	taking_done(&t);
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
		cmocka_unit_test(one_agent_holds_a_few_streams_and_not_those_of_others),
		cmocka_unit_test(agents_leave_a_quarter_to_people_and_an_organization_leaves_room_to_others),
		cmocka_unit_test(waits_leave_one_to_people_and_one_agent_has_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
