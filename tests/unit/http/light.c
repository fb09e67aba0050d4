/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers on the loop: they wait there without holding anybody up, and what would is done by a worker (EX-5). */
#include "fixture.h"

#include "base/clock.h"
#include "base/fiber/fiber.h"
#include "base/fiber/waiter.h"
#include "http/client/wait.h"

#define CROWD (LIMIT_FIBERS + 1)

/* --- handlers --- */

struct guest {
	struct guest *next;
	struct waiter waiter;
};
static struct guest *guests; /* under world.lock */
static int pipe_ends[2];

static bool
always(const struct http_exchange *x, void *arg)
{
	(void)x;
	(void)arg;
	return true;
}

static bool
never(const struct http_exchange *x, void *arg)
{
	(void)x;
	(void)arg;
	return false;
}

static void
answer(struct http_exchange *x, const char *what)
{
	x->status = 200;
	x->content_type = "application/json";
	buf_printf(&x->body, "\"%s %s\"", what, x->cx->fiber ? "on the loop" : "by a worker");
}

/* Until released. */
static void
wait_here(struct http_exchange *x, void *arg)
{
	struct guest me;

	(void)arg;
	waiter_init(&me.waiter, x->cx);
	{
		scoped_lock held = lock(&world.lock);

		me.next = guests;
		guests = &me;
		world.entered++;
		(void)pthread_cond_broadcast(&world.changed);
		while (!world.released)
			waiter_wait(&me.waiter, &world.lock, clock_mono_us() + PATIENCE_MS * INT64_C(1000));
		if (http_gone(x))
			world.saw_gone++;
		for (struct guest **at = &guests; *at; at = &(*at)->next)
			if (*at == &me) {
				*at = me.next;
				break;
			}
	}
	waiter_done(&me.waiter);
	answer(x, "waited");
}

static void
release_all(void)
{
	scoped_lock held = lock(&world.lock);

	world.released = 1000;
	for (struct guest *g = guests; g; g = g->next)
		waiter_call(&g->waiter);
	(void)pthread_cond_broadcast(&world.changed);
}

/* Says something, and then does what a thread may do and no other. */
static void
hold_up(struct http_exchange *x, void *arg)
{
	bool spoiled = x->cx->public_url.len > 0;

	if (arg && x->cx->fiber)
		http_wait(x->cx->fiber, NULL, 0, 1);
	x->status = 201;
	x->content_type = "text/plain";
	buf_add(&x->body, STR("half of it"));
	if (x->cx->fiber)
		http_add_header(x, STR("X-Half"), STR("yes"));
	x->cx->public_url = STR("changed");
	if (fiber_refuses(x->cx))
		return;
	x->status = 0;
	x->body.len = 0;
	answer(x, spoiled ? "spoiled" : "whole");
}

static void
read_pipe(struct http_exchange *x, void *arg)
{
	struct pollfd p = { .fd = pipe_ends[0], .events = POLLIN };
	char byte = '?';

	(void)arg;
	change(&world.entered, 1);
	while (!p.revents)
		http_wait(x->cx->fiber, &p, 1, 10);
	CHECK(read(pipe_ends[0], &byte, 1) == 1 && byte == '!');
	answer(x, "read");
}

static void
end_at_once(struct http_exchange *x, void *arg)
{
	(void)arg;
	answer(x, "done");
}

static const struct http_route routes[] = {
	{ HTTP_GET_, "/light", HTTP_WORKER, .handler = end_at_once, .light = always },
	{ HTTP_GET_, "/", HTTP_INLINE, .handler = say_hello },
	{ HTTP_POST_, "/echo", HTTP_WORKER, .takes_body = true, .handler = echo },
	{ HTTP_GET_, "/wait", HTTP_WORKER, .handler = wait_here, .light = always },
	{ HTTP_GET_, "/not", HTTP_WORKER, .handler = wait_here, .light = never },
	{ HTTP_GET_, "/heavy", HTTP_WORKER, .handler = hold_up, .light = always },
	{ HTTP_GET_, "/heavier", HTTP_WORKER, .handler = hold_up, .light = always, .arg = &guests },
	{ HTTP_GET_, "/pipe", HTTP_WORKER, .handler = read_pipe, .light = always },
};

/* --- tests --- */

static void
who_waits_on_the_loop_holds_up_nobody(void **state)
{
	struct client *crowd = calloc(20, sizeof(*crowd));
	struct got g;

	(void)state;
	assert_non_null(crowd);
	START(f, routes, .workers = 1);
	for (int i = 0; i < 20; i++) {
		dial(&crowd[i], &f);
		SAY(crowd[i], GET("/wait"));
	}
	wait_for(&world.entered, 20);
	ask(&f, STR(GET("/")), &g);
	assert_string_equal(g.body, "\"hello\"");
	ask(&f,
		STR("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: "
		    "1\r\n\r\n7"),
		&g);
	assert_string_equal(g.body, "7"); /* the only worker is free */
	release_all();
	for (int i = 0; i < 20; i++) {
		assert_true(hear_answer(&crowd[i], &g));
		assert_string_equal(g.body, "\"waited on the loop\"");
		SAY(crowd[i], GET("/")); /* the connection goes on */
		assert_true(hear_answer(&crowd[i], &g));
		hang_up(&crowd[i]);
	}
	free(crowd);
}

static void
what_holds_up_is_done_by_a_worker_as_if_nobody_had_tried(void **state)
{
	static const char *const paths[] = { GET("/heavy"), GET("/heavier") };
	struct got g;

	(void)state;
	START(f, routes);
	for (size_t i = 0; i < 2; i++) { /* at once, and after it has waited */
		ask(&f, str_of(paths[i]), &g);
		assert_int_equal(g.status, 200);
		assert_string_equal(g.body, "\"whole by a worker\"");
		assert_string_equal(header(&g, "X-Half"), "");
		assert_string_equal(header(&g, "Content-Type"), "application/json");
	}
}

static void
where_there_is_no_worker_either_it_is_refused(void **state)
{
	struct got g;

	(void)state;
	START(f, routes, .workers = 1, .max_jobs = 1);
	DIAL(first, f);
	DIAL(second, f);
	SAY(first, GET("/not")); /* has the worker */
	wait_for(&world.entered, 1);
	SAY(second, GET("/not")); /* has the queue */
	for (;;) {
		struct http_stats s;

		http_server_stats(f.server, &s);
		if (s.jobs_waiting == 1)
			break;
		(void)poll(NULL, 0, 1);
	}
	ask(&f, STR(GET("/heavier")), &g);
	assert_int_equal(g.status, 503);
	assert_string_equal(header(&g, "X-Half"), "");
	release_all();
	assert_true(hear_answer(&first, &g));
	assert_true(hear_answer(&second, &g));
	assert_string_equal(g.body, "\"waited by a worker\"");
}

static void
what_comes_when_all_fibers_wait_is_for_a_worker(void **state)
{
	struct client *crowd = calloc(CROWD, sizeof(*crowd));
	int by_worker = 0;
	struct got g;

	(void)state;
	assert_non_null(crowd);
	START(f, routes);
	for (size_t i = 0; i < CROWD; i++) {
		dial(&crowd[i], &f);
		SAY(crowd[i], GET("/wait"));
	}
	wait_for(&world.entered, CROWD);
	release_all();
	for (size_t i = 0; i < CROWD; i++) {
		assert_true(hear_answer(&crowd[i], &g));
		by_worker += strcmp(g.body, "\"waited by a worker\"") == 0;
		hang_up(&crowd[i]);
	}
	assert_int_equal(by_worker, 1);
	free(crowd);
}

static void
a_descriptor_is_waited_for_on_the_loop(void **state)
{
	struct got g;

	(void)state;
	assert_int_equal(pipe(pipe_ends), 0);
	START(f, routes);
	DIAL(c, f);
	SAY(c, GET("/pipe"));
	wait_for(&world.entered, 1);
	for (int i = 0; i < 3; i++) { /* meanwhile, and while its waits end and begin again */
		(void)poll(NULL, 0, 7);
		ask(&f, STR(GET("/")), &g);
		assert_int_equal(g.status, 200);
	}
	assert_int_equal(write(pipe_ends[1], "!", 1), 1);
	assert_true(hear_answer(&c, &g));
	assert_string_equal(g.body, "\"read on the loop\"");
	(void)close(pipe_ends[0]);
	(void)close(pipe_ends[1]);
}

static void
a_client_that_leaves_while_its_handler_waits_is_noticed(void **state)
{
	struct http_stats s;

	(void)state;
	START(f, routes);
	{
		DIAL(c, f);
		SAY(c, GET("/wait"));
		wait_for(&world.entered, 1);
	}
	for (int i = 0; i < 3; i++) {
		struct got g;

		ask(&f, STR(GET("/")), &g);
		assert_int_equal(g.status, 200);
	}
	release_all();
	do {
		(void)poll(NULL, 0, 1);
		http_server_stats(f.server, &s);
	} while (s.connections > 0);
	assert_int_equal(world.saw_gone, 1);
}

static void
a_server_that_stops_waits_for_who_waits(void **state)
{
	struct got g;

	(void)state;
	START(f, routes);
	DIAL(c, f);
	SAY(c, GET("/wait"));
	wait_for(&world.entered, 1);
	http_server_stop(f.server);
	(void)poll(NULL, 0, 20);
	release_all();
	assert_true(hear_answer(&c, &g));
	assert_string_equal(g.body, "\"waited on the loop\"");
	assert_string_equal(header(&g, "Connection"), "close");
	join(&f);
}

static void
requests_behind_one_that_waits_have_their_turn(void **state)
{
	struct got g;

	(void)state;
	START(f, routes);
	DIAL(c, f);
	SAY(c, GET("/wait") GET("/heavy") GET("/"));
	wait_for(&world.entered, 1);
	release_all();
	assert_true(hear_answer(&c, &g));
	assert_string_equal(g.body, "\"waited on the loop\"");
	assert_true(hear_answer(&c, &g));
	assert_string_equal(g.body, "\"whole by a worker\"");
	assert_true(hear_answer(&c, &g));
	assert_string_equal(g.body, "\"hello\"");
}

static int64_t
processor_us(void)
{
	struct timespec t;

	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

/* What it looked around for does not come: then it costs nothing. */
static void
after_a_burst_an_idle_server_sleeps(void **state)
{
	int64_t from_us, used_us;
	struct got g;

	(void)state;
	START(f, routes);
	DIAL(c, f);
	for (int i = 0; i < 100; i++) { /* at once, so that they follow each other closely */
		SAY(c, GET("/light") GET("/light") GET("/light") GET("/light") GET("/light") GET("/light")
				GET("/light") GET("/light"));
		for (int j = 0; j < 8; j++) {
			assert_true(hear_answer(&c, &g));
			assert_string_equal(g.body, "\"done on the loop\"");
		}
	}
	from_us = clock_mono_us();
	used_us = processor_us();
	(void)poll(NULL, 0, 300);
	assert_true(processor_us() - used_us < (clock_mono_us() - from_us) / 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_on_the_loop_holds_up_nobody),
		cmocka_unit_test(what_holds_up_is_done_by_a_worker_as_if_nobody_had_tried),
		cmocka_unit_test(where_there_is_no_worker_either_it_is_refused),
		cmocka_unit_test(what_comes_when_all_fibers_wait_is_for_a_worker),
		cmocka_unit_test(a_descriptor_is_waited_for_on_the_loop),
		cmocka_unit_test(a_client_that_leaves_while_its_handler_waits_is_noticed),
		cmocka_unit_test(a_server_that_stops_waits_for_who_waits),
		cmocka_unit_test(requests_behind_one_that_waits_have_their_turn),
		cmocka_unit_test(after_a_burst_an_idle_server_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
