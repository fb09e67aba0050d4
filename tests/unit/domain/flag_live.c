/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled rulesets: loaded once, never older than what was committed, gone when nobody uses them (FL-2, FL-4). */
#include "tests/unit/domain/store_world.h"

#include "base/clock.h"
#include "base/log.h"
#include "domain/flag/live/live.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#define HOUR_US	   (3600 * SECOND_US)
#define STATE(n)   "{\"type\":\"number\",\"defaultValue\":" #n ",\"rules\":[]}"
#define A_LITTLE   (24u * KIB)
#define NO_WATCHER HOUR_US /* its first round finds nothing (begin waits for its end), the next is far away */

static void
begin(struct world *w, struct live_options o)
{
	struct live_stats s;

	o.base = &w->cx;
	w->cx.live = live_new(&o);
	do {
		(void)sched_yield();
		live_stats(w->cx.live, &s);
	} while (s.rounds == 0);
}

static void
end(struct world *w)
{
	live_free(w->cx.live);
	w->cx.live = NULL;
}

static int64_t
loads(struct world *w)
{
	struct live_stats s;

	live_stats(w->cx.live, &s);
	return s.loads;
}

static int64_t
environments(struct world *w)
{
	struct live_stats s;

	live_stats(w->cx.live, &s);
	return s.environments;
}

static const struct live_ruleset *
taken(struct world *w, str environment_id)
{
	const struct live_ruleset *r;

	assert_status(live_take(&w->cx, w->first.org_id, environment_id, &r), OK);
	return r;
}

static int64_t
version_of(struct world *w, str environment_id)
{
	const struct live_ruleset *r = taken(w, environment_id);
	int64_t version = r->version;

	live_release(r);
	return version;
}

static bool
is_ready(struct world *w, str environment_id)
{
	const struct live_ruleset *r = live_peek(w->cx.live, w->first.org_id, environment_id);

	live_release(r);
	return r != NULL;
}

static void
a_ruleset_is_loaded_once(void **state)
{
	struct world *w = *state;
	str id = w->first.staging_id;
	const struct live_ruleset *r;

	make_value(w, RESOURCE_CONFIG, "n", "number", "7", NULL);
	begin(w, (struct live_options){ .lag_us = NO_WATCHER });
	assert_false(is_ready(w, id));
	r = taken(w, id);
	assert_int_equal(r->version, 2);
	assert_true(str_eq(r->org_id, w->first.org_id));
	assert_true(str_eq(r->environment_id, id));
	assert_str(ruleset_find(r->rules, STR("n"))->default_value, "7");
	live_release(r);
	assert_true(is_ready(w, id));
	assert_int_equal(version_of(w, id), 2);
	assert_int_equal(loads(w), 1);
	end(w);
}

static void
what_this_process_has_committed_is_live_at_once(void **state)
{
	struct world *w = *state;
	str id = w->first.staging_id;

	make_value(w, RESOURCE_CONFIG, "n", "number", "7", NULL);
	begin(w, (struct live_options){ .lag_us = NO_WATCHER });
	assert_int_equal(version_of(w, id), 2);
	assert_int_equal(version_of(w, w->first.production_id), 2);
	assert_status(try_write(w, id, RESOURCE_CONFIG, "n", STATE(8), NULL), OK);
	assert_false(is_ready(w, id));
	assert_true(is_ready(w, w->first.production_id));
	assert_int_equal(version_of(w, id), 3);
	assert_true(is_ready(w, id));
	end(w);
}

/* Another server's event does not come here. */
static void
write_elsewhere(struct world *w, str id, const char *text)
{
	struct event_hub *events = w->cx.events;

	w->cx.events = NULL;
	assert_status(try_write(w, id, RESOURCE_CONFIG, "n", text, NULL), OK);
	w->cx.events = events;
}

static void
the_watcher_sees_what_another_server_has_committed(void **state)
{
	struct world *w = *state;
	str id = w->first.staging_id;
	const struct live_ruleset *r;

	make_value(w, RESOURCE_CONFIG, "n", "number", "7", NULL);
	begin(w, (struct live_options){ .lag_us = NO_WATCHER });
	assert_int_equal(version_of(w, id), 2);
	assert_int_equal(version_of(w, w->first.production_id), 2);
	write_elsewhere(w, id, STATE(8));
	assert_int_equal(version_of(w, id), 2);
	assert_status(live_watch(&w->cx), OK);
	r = live_peek(w->cx.live, w->first.org_id, id); /* it has loaded it, so nobody waits */
	assert_non_null(r);
	assert_int_equal(r->version, 3);
	assert_str(ruleset_find(r->rules, STR("n"))->default_value, "8");
	live_release(r);
	assert_int_equal(loads(w), 3);
	assert_status(live_watch(&w->cx), OK);
	assert_int_equal(loads(w), 3);
	end(w);
}

static void
the_watcher_watches_by_itself(void **state)
{
	struct world *w = *state;
	str id = w->first.staging_id;

	make_value(w, RESOURCE_CONFIG, "n", "number", "7", NULL);
	begin(w, (struct live_options){ 0 });
	assert_int_equal(version_of(w, id), 2);
	write_elsewhere(w, id, STATE(8));
	while (version_of(w, id) != 3) /* the test runner's time limit is the only one */
		(void)sched_yield();
	end(w);
}

static void
what_nobody_has_looked_after_is_asked_for_again_but_not_loaded(void **state)
{
	struct world *w = *state;
	str id = w->first.staging_id;
	int64_t now = clock_now_us();

	clock_freeze(now);
	begin(w, (struct live_options){ .lag_us = NO_WATCHER });
	assert_int_equal(version_of(w, id), 1);
	clock_freeze(now + NO_WATCHER - 1);
	assert_true(is_ready(w, id));
	clock_freeze(now + NO_WATCHER);
	assert_false(is_ready(w, id));
	assert_int_equal(version_of(w, id), 1);
	assert_true(is_ready(w, id));
	assert_int_equal(loads(w), 1);
	clock_freeze(now + 2 * NO_WATCHER - 1);
	assert_status(live_watch(&w->cx), OK);
	clock_freeze(now + 3 * NO_WATCHER - 2);
	assert_true(is_ready(w, id));
	end(w);
	clock_release();
}

static void
a_ruleset_that_is_in_use_outlives_the_next_and_the_environment(void **state)
{
	struct world *w = *state;
	str id = w->first.staging_id;
	const struct live_ruleset *old;

	make_value(w, RESOURCE_CONFIG, "n", "number", "7", NULL);
	begin(w, (struct live_options){ .lag_us = NO_WATCHER });
	old = taken(w, id);
	assert_status(try_write(w, id, RESOURCE_CONFIG, "n", STATE(8), NULL), OK);
	assert_int_equal(version_of(w, id), 3);
	assert_str(ruleset_find(old->rules, STR("n"))->default_value, "7");
	end(w);
	assert_str(ruleset_find(old->rules, STR("n"))->default_value, "7");
	assert_int_equal(old->version, 2);
	live_release(old);
}

static void
what_is_not_there_is_not_found_and_not_kept(void **state)
{
	struct world *w = *state;
	const struct live_ruleset *r;

	begin(w, (struct live_options){ .lag_us = NO_WATCHER });
	assert_status(live_take(&w->cx, w->first.org_id, STR("nothing"), &r), E_NOT_FOUND);
	assert_status(live_take(&w->cx, STR("others"), w->first.staging_id, &r), E_NOT_FOUND);
	assert_int_equal(environments(w), 0);
	live_release(NULL);
	end(w);
	live_free(NULL);
}

static void
the_least_recently_used_one_makes_room(void **state)
{
	struct world *w = *state;
	str first = w->first.staging_id, second = w->first.production_id;

	begin(w, (struct live_options){ .lag_us = NO_WATCHER, .environments = 1 });
	assert_int_equal(version_of(w, first), 1);
	assert_int_equal(version_of(w, second), 1);
	assert_false(is_ready(w, first));
	assert_true(is_ready(w, second));
	assert_int_equal(environments(w), 1);
	end(w);
	begin(w, (struct live_options){ .lag_us = NO_WATCHER, .bytes = 1 }); /* nothing fits: nothing stays */
	assert_int_equal(version_of(w, first), 1);
	assert_int_equal(environments(w), 0);
	assert_int_equal(version_of(w, first), 1);
	assert_int_equal(loads(w), 2);
	end(w);
}

static void
what_cannot_be_loaded_is_said_to_be_so_FL_5(void **state)
{
	struct world *w = *state;
	const struct live_ruleset *r;
	struct arena small;
	struct ctx cx = w->cx;

	make_value(w, RESOURCE_CONFIG, "n", "string", "\"0123456789\"", NULL);
	begin(w, (struct live_options){ .lag_us = NO_WATCHER });
	arena_init(&small, 64);
	cx.arena = &small;
	cx.live = w->cx.live;
	assert_status(live_take(&cx, w->first.org_id, w->first.staging_id, &r), E_NOT_CACHED);
	assert_int_equal(environments(w), 0);
	arena_done(&small);
	assert_int_equal(version_of(w, w->first.staging_id), 2); /* it was not the environment's fault */
	end(w);
}

/* --- many at once --- */

#define READERS	 4
#define VERSIONS 25

struct reader {
	pthread_t thread;
	struct world *world;
	struct ctx base;       /* a copy: the world's own is at work */
	atomic_llong *written; /* the last version that was committed */
	atomic_bool *stop;
	int64_t rounds;
	bool wrong;
};

static void
read_once(struct reader *r, struct ctx *cx, int64_t *seen)
{
	int64_t least = atomic_load(r->written);
	const struct live_ruleset *live = NULL;
	struct subject *s;
	struct evaluation e;
	struct json *context = json_new_object(cx->arena);
	char value[24];

	if (live_take(cx, r->world->first.org_id, r->world->first.staging_id, &live) != OK ||
		subject_prepare(cx, live->rules, context, &s) != OK) {
		r->wrong = true;
		return;
	}
	assert_status(ruleset_evaluate(s, ruleset_find(live->rules, STR("n")), &e), OK);
	(void)snprintf(value, sizeof(value), "%lld", (long long)live->version);
	r->wrong |= live->version < least || live->version < *seen || !str_eq(e.value, str_of(value));
	*seen = live->version;
	live_release(live);
	r->rounds++;
}

static void *
read_on(void *arg)
{
	struct reader *r = arg;
	int64_t seen = 0;
	struct arena a;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	while (!atomic_load(r->stop)) {
		struct ctx cx = r->base;

		cx.arena = &a;
		cx.caller = NULL;
		read_once(r, &cx, &seen);
		live_release(live_peek(cx.live, r->world->first.org_id, r->world->first.staging_id));
		arena_reset(&a);
	}
	arena_done(&a);
	return NULL;
}

static void
write_version(struct world *w, int64_t version)
{
	char text[80];

	(void)snprintf(text, sizeof(text), "{\"type\":\"number\",\"defaultValue\":%lld,\"rules\":[]}",
		(long long)version);
	assert_status(try_write(w, w->first.staging_id, RESOURCE_CONFIG, "n", text, NULL), OK);
}

/* The value is the version: so a mixture of two, or an old one, would show. */
static void
readers_see_whole_rulesets_and_never_an_older_one(void **state)
{
	struct world *w = *state;
	struct reader readers[READERS];
	atomic_llong written = 2;
	atomic_bool stop = false;

	make_value(w, RESOURCE_CONFIG, "n", "number", "2", NULL);
	begin(w, (struct live_options){
			 .environments = 1, .lag_us = 20000 }); /* the watcher is at work, too */
	for (size_t i = 0; i < READERS; i++) {
		readers[i] = (struct reader){ .world = w, .base = w->cx, .written = &written, .stop = &stop };
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
	}
	for (int64_t v = 3; v < 3 + VERSIONS; v++) {
		write_version(w, v);
		atomic_store(&written, v);
		(void)version_of(w, w->first.production_id); /* pushes the other out */
	}
	atomic_store(&stop, true);
	for (size_t i = 0; i < READERS; i++) {
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
		assert_false(readers[i].wrong);
	}
	assert_int_equal(version_of(w, w->first.staging_id), 2 + VERSIONS);
	end(w);
}

static void *
fail_to_take(void *arg)
{
	struct reader *r = arg;
	struct ctx cx = r->base;
	const struct live_ruleset *live;
	struct arena small;

	arena_init(&small, 64);
	cx.arena = &small;
	r->wrong = live_take(&cx, r->world->first.org_id, r->world->first.staging_id, &live) != E_NOT_CACHED;
	arena_done(&small);
	return NULL;
}

static void
who_waits_for_a_load_that_fails_hears_of_it(void **state)
{
	struct world *w = *state;
	struct reader readers[READERS];

	make_value(w, RESOURCE_CONFIG, "n", "number", "2", NULL);
	begin(w, (struct live_options){ .lag_us = NO_WATCHER });
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < READERS; i++) {
			readers[i] = (struct reader){ .world = w, .base = w->cx };
			assert_int_equal(
				pthread_create(&readers[i].thread, NULL, fail_to_take, &readers[i]), 0);
		}
		for (size_t i = 0; i < READERS; i++) {
			assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
			assert_false(readers[i].wrong);
		}
	}
	assert_int_equal(environments(w), 0);
	end(w);
}

static void *
cry_wolf(void *arg)
{
	struct reader *r = arg;
	struct event e = {
		.org_id = r->world->first.org_id, .type = STR(STORE_EVENT), .id = r->world->first.staging_id
	};

	while (!atomic_load(r->stop))
		event_publish(r->base.events, &e);
	return NULL;
}

/* Who takes gets what was the newest when they came, also where it changes faster than it can be loaded. */
static void
changes_without_end_keep_nobody_waiting(void **state)
{
	struct world *w = *state;
	struct reader readers[READERS];
	atomic_llong written = 2;
	atomic_bool stop = false;

	make_value(w, RESOURCE_CONFIG, "n", "number", "2", NULL);
	begin(w, (struct live_options){ .lag_us = NO_WATCHER });
	for (size_t i = 0; i < READERS; i++) {
		readers[i] = (struct reader){ .world = w, .base = w->cx, .written = &written, .stop = &stop };
		assert_int_equal(
			pthread_create(&readers[i].thread, NULL, i ? read_on : cry_wolf, &readers[i]), 0);
	}
	for (int i = 0; i < 100; i++)
		assert_int_equal(version_of(w, w->first.staging_id), 2);
	atomic_store(&stop, true);
	for (size_t i = 0; i < READERS; i++) {
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
		assert_false(readers[i].wrong);
	}
	end(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ON_WORLD(a_ruleset_is_loaded_once),
		ON_WORLD(what_this_process_has_committed_is_live_at_once),
		ON_WORLD(the_watcher_sees_what_another_server_has_committed),
		ON_WORLD(the_watcher_watches_by_itself),
		ON_WORLD(what_nobody_has_looked_after_is_asked_for_again_but_not_loaded),
		ON_WORLD(a_ruleset_that_is_in_use_outlives_the_next_and_the_environment),
		ON_WORLD(what_is_not_there_is_not_found_and_not_kept),
		ON_WORLD(the_least_recently_used_one_makes_room),
		ON_WORLD(what_cannot_be_loaded_is_said_to_be_so_FL_5),
		ON_WORLD(readers_see_whole_rulesets_and_never_an_older_one),
		ON_WORLD(who_waits_for_a_load_that_fails_hears_of_it),
		ON_WORLD(changes_without_end_keep_nobody_waiting),
	};

	return on_every_engine("live", tests, sizeof(tests) / sizeof(tests[0]));
}
