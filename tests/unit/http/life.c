/* SPDX-License-Identifier: Apache-2.0 */
/* The life of connections: slow ones, too many, those that leave, and the end of a server. */
#include "fixture.h"

#include <fcntl.h>
#include <sys/resource.h>

#define BIG (8u * MIB) /* more than two kernels buffer */

static void
say_much(struct http_exchange *x, void *arg)
{
	static char much[BIG];

	(void)arg;
	x->status = 200;
	http_answer_fixed(x, "application/json", (str){ much, sizeof(much) });
}

static const struct http_route routes[] = {
	{ HTTP_GET_, "/", HTTP_INLINE, .handler = say_hello },
	{ HTTP_GET_, "/block", HTTP_WORKER, .handler = block },
	{ HTTP_GET_, "/much", HTTP_INLINE, .handler = say_much },
	{ HTTP_POST_, "/echo", HTTP_WORKER, .takes_body = true, .handler = echo },
};
#define POST "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"

static int64_t
connections(const struct fixture *f)
{
	struct http_stats s;

	http_server_stats(f->server, &s);
	return s.connections;
}

/* Polls until f has n connections. */
static void
await_connections(const struct fixture *f, int64_t n)
{
	for (int i = 0; connections(f) != n; i++) {
		assert_true(i < PATIENCE_MS);
		(void)poll(NULL, 0, 1);
	}
}

/* --- slow --- */

static void
a_head_that_does_not_end_is_408(void **state)
{
	struct got g;

	(void)state;
	START(f, routes, .head_ms = 50);
	DIAL(c, f);
	SAY(c, "GET / HTTP/1.1\r\nHos");
	assert_true(hear_answer(&c, &g));
	assert_int_equal(g.status, 408);
	assert_non_null(strstr(g.body, "timeout"));
	assert_string_equal(header(&g, "Connection"), "close");
	assert_true(closed(&c));
}

static void
a_head_that_drips_is_408(void **state)
{
	struct got g;

	(void)state;
	START(f, routes, .head_ms = 50);
	DIAL(c, f);
	SAY(c, "GET / HTTP/1.1\r\n");
	/* each byte comes in time, the head does not */
	for (;;) {
		struct pollfd p = { .fd = c.fd, .events = POLLIN };

		if (poll(&p, 1, 5) == 1)
			break;
		SAY(c, "X: y\r\n");
	}
	assert_true(hear_answer(&c, &g));
	assert_int_equal(g.status, 408);
}

static void
a_body_that_drips_is_408(void **state)
{
	struct got g;

	(void)state;
	START(f, routes, .body_grace_ms = 50);
	DIAL(c, f);
	SAY(c, POST "Content-Length: 1000\r\n\r\n{");
	assert_true(hear_answer(&c, &g));
	assert_int_equal(g.status, 408);
	assert_true(closed(&c));
}

static void
an_idle_connection_is_closed_without_a_word(void **state)
{
	struct got g;

	(void)state;
	START(f, routes, .idle_ms = 50);
	DIAL(fresh, f);
	DIAL(used, f);
	SAY(used, GET("/"));
	assert_true(hear_answer(&used, &g));
	assert_true(closed(&fresh));
	assert_true(closed(&used));
}

static void
a_client_that_takes_nothing_is_cut_off(void **state)
{
	(void)state;
	START(f, routes, .send_ms = 100);
	DIAL(c, f);
	SAY(c, GET("/much"));
	assert_true(hear(&c)); /* it has begun */
	await_connections(&f, 0);
}

static void
a_large_answer_arrives_whole_and_in_order(void **state)
{
	size_t all = 0;
	struct got g;

	(void)state;
	START(f, routes);
	DIAL(c, f);
	SAY(c, GET("/much") GET("/"));
	assert_true(hear_head(&c, &g));
	assert_int_equal(strtoul(header(&g, "Content-Length"), NULL, 10), BIG);
	while (all + c.len < BIG) {
		all += c.len;
		c.len = 0;
		(void)poll(NULL, 0, 1);
		assert_true(hear(&c));
	}
	forget(&c, BIG - all);
	assert_true(hear_answer(&c, &g));
	assert_string_equal(g.body, "\"hello\"");
}

static void
five_hundred_slow_clients_do_not_delay_a_good_one(void **state)
{
	enum { SLOW = 500 };
	static struct client slow[SLOW];
	struct rlimit r;
	struct got g;
	size_t n = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &r), 0);
	r.rlim_cur = r.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &r), 0);
	if (r.rlim_max < 2 * SLOW + 100) {
		print_message("skipped: only %lu descriptors\n", (unsigned long)r.rlim_max);
		skip();
	}
	START(f, routes, .drain_seconds = NO_DRAIN, .head_ms = 600000, .body_grace_ms = 600000);
	for (; n < SLOW; n++) {
		dial(&slow[n], &f);
		say(&slow[n], n % 2 ? STR("GET / HT") : STR(POST "Content-Length: 100000\r\n\r\n["));
	}
	for (int i = 0; i < 100; i++) {
		ask(&f, STR(GET("/")), &g);
		assert_int_equal(g.status, 200);
		ask(&f, STR(POST "Content-Length: 2\r\n\r\n{}"), &g);
		assert_int_equal(g.status, 200);
	}
	assert_true(connections(&f) >= SLOW); /* none of the slow ones had to go for that */
	while (n > 0)
		hang_up(&slow[--n]);
}

/* --- too many --- */

static void
more_than_the_limit_from_one_address_are_closed(void **state)
{
	struct got g;

	(void)state;
	START(f, routes, .max_connections_per_address = 2);
	DIAL(one, f);
	DIAL(two, f);
	await_connections(&f, 2);
	{
		DIAL(three, f);

		assert_true(closed(&three));
	}
	hang_up(&one);
	await_connections(&f, 1);
	ask(&f, STR(GET("/")), &g);
	assert_int_equal(g.status, 200);
}

static void
more_than_the_limit_in_all_are_closed(void **state)
{
	struct http_stats s;

	(void)state;
	START(f, routes, .max_connections = 1);
	DIAL(one, f);
	await_connections(&f, 1);
	DIAL(two, f);
	assert_true(closed(&two));
	http_server_stats(f.server, &s);
	assert_int_equal(s.refused, 1);
}

static void
more_jobs_than_may_wait_are_busy(void **state)
{
	struct http_stats s = { 0 };
	struct got g;

	(void)state;
	START(f, routes, .workers = 1, .max_jobs = 1);
	DIAL(running, f);
	DIAL(waiting, f);
	SAY(running, GET("/block"));
	wait_for(&world.entered, 1);
	SAY(waiting, GET("/block"));
	while (s.jobs_waiting == 0) {
		http_server_stats(f.server, &s);
		(void)poll(NULL, 0, 1);
	}
	DIAL(c, f);
	SAY(c, GET("/block"));
	assert_true(hear_answer(&c, &g));
	assert_int_equal(g.status, 503);
	assert_string_equal(header(&g, "Retry-After"), "1");
	assert_non_null(strstr(g.body, "busy"));
	SAY(c, GET("/")); /* the loop is not busy, and the connection stays */
	assert_true(hear_answer(&c, &g));
	assert_int_equal(g.status, 200);
	change(&world.released, 2);
	assert_true(hear_answer(&running, &g) && hear_answer(&waiting, &g));
}

static void
no_descriptors_left_is_survived(void **state)
{
	struct rlimit before, none;
	struct client poor, rich;
	struct got g;

	(void)state;
	START(f, routes);
	ask(&f, STR(GET("/")), &g); /* everything that opens descriptors once has done so */
	await_connections(&f, 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	dial(&poor, &f); /* takes the lowest free one; the server's end takes another */
	await_connections(&f, 1);
	hang_up(&poor);
	await_connections(&f, 0);
	poor.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	none = before;
	none.rlim_cur = (rlim_t)poor.fd + 1; /* no room for the server's end */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)http_server_port(f.server)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(connect(poor.fd, (struct sockaddr *)&a, sizeof(a)), 0);
	poor.len = 0;
	assert_true(closed(&poor));
	g.status = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	hang_up(&poor);
	/* libuv may still be turning the crowd away when the descriptors are back: then knock again */
	for (int i = 0; i < 1000 && g.status == 0; i++) {
		dial(&rich, &f);
		SAY(rich, GET("/"));
		(void)hear_answer(&rich, &g);
		hang_up(&rich);
	}
	assert_int_equal(g.status, 200);
}

/* --- leaving --- */

static void
a_client_that_leaves_is_noticed_while_a_worker_has_its_request(void **state)
{
	(void)state;
	START(f, routes);
	DIAL(c, f);
	SAY(c, GET("/block"));
	wait_for(&world.entered, 1);
	hang_up(&c);
	wait_for(&world.saw_gone, 1);
	await_connections(&f, 0);
}

static void
a_client_that_resets_is_noticed_too(void **state)
{
	struct linger reset = { .l_onoff = 1 };

	(void)state;
	START(f, routes);
	DIAL(c, f);
	SAY(c, GET("/block"));
	wait_for(&world.entered, 1);
	assert_int_equal(setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
	hang_up(&c);
	wait_for(&world.saw_gone, 1);
	await_connections(&f, 0);
}

static void
a_half_closed_client_still_reads_its_answers(void **state)
{
	struct got g;

	(void)state;
	START(f, routes);
	DIAL(c, f);
	SAY(c, GET("/block") GET("/"));
	assert_int_equal(shutdown(c.fd, SHUT_WR), 0);
	assert_true(hear_answer(&c, &g));
	assert_string_equal(g.body, "\"released\"");
	assert_true(hear_answer(&c, &g));
	assert_string_equal(g.body, "\"hello\"");
	assert_true(closed(&c));
}

static void
a_client_that_ignores_a_refusal_still_reads_it(void **state)
{
	static char brackets[4 * MIB];
	struct got g;

	(void)state;
	memset(brackets, '[', sizeof(brackets));
	START(f, routes);
	DIAL(c, f);
	SAY(c, POST "Content-Length: 104857600\r\n\r\n");
	say(&c, (str){ brackets, sizeof(brackets) }); /* more than the kernels buffer: somebody takes it */
	assert_true(hear_answer(&c, &g));
	assert_int_equal(g.status, 413);
	assert_true(closed(&c));
}

static void
a_client_that_stays_after_the_last_answer_is_closed(void **state)
{
	struct got g;

	(void)state;
	START(f, routes, .linger_ms = 50);
	DIAL(c, f);
	SAY(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" GET("/") GET("/"));
	assert_true(hear_answer(&c, &g));
	assert_true(closed(&c));  /* what came behind is not answered */
	await_connections(&f, 0); /* though we keep our side open */
}

/* --- the end --- */

static void
a_stop_finishes_what_was_accepted(void **state)
{
	struct got g;

	(void)state;
	START(f, routes);
	DIAL(idle, f);
	DIAL(halfway, f);
	DIAL(working, f);
	SAY(halfway, "GET / HTTP/1.1\r\n");
	SAY(working, GET("/block"));
	wait_for(&world.entered, 1);
	await_connections(&f, 3);
	http_server_stop(f.server);
	assert_true(closed(&idle));
	change(&world.released, 1);
	assert_true(hear_answer(&working, &g));
	assert_string_equal(g.body, "\"released\"");
	assert_string_equal(header(&g, "Connection"), "close");
	SAY(halfway, "Host: a\r\n\r\n");
	assert_true(hear_answer(&halfway, &g));
	assert_string_equal(header(&g, "Connection"), "close");
	hang_up(&halfway);
	hang_up(&working);
	join(&f);
}

static void
nobody_new_is_served_after_a_stop(void **state)
{
	(void)state;
	START(f, routes);
	DIAL(working, f);
	SAY(working, GET("/block"));
	wait_for(&world.entered, 1);
	DIAL(idle, f);
	http_server_stop(f.server);
	http_server_stop(f.server); /* a second time changes nothing */
	assert_true(closed(&idle)); /* so it is stopping */
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)http_server_port(f.server)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	scoped_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), -1);
	assert_int_equal(errno, ECONNREFUSED);
	change(&world.released, 1);
	hang_up(&working);
	join(&f);
}

static void
after_the_drain_the_rest_is_cut_off(void **state)
{
	(void)state;
	START(f, routes, .drain_seconds = NO_DRAIN, .workers = 1);
	DIAL(halfway, f);
	DIAL(running, f);
	DIAL(waiting, f);
	SAY(halfway, "GET / HTTP/1.1\r\n");
	SAY(running, GET("/block"));
	wait_for(&world.entered, 1);
	SAY(waiting, GET("/block"));
	await_connections(&f, 3);
	http_server_stop(f.server);
	assert_true(closed(&halfway));
	assert_true(closed(&waiting));
	wait_for(&world.saw_gone, 1); /* the one that runs sees it */
	join(&f);
	assert_int_equal(world.entered, 1); /* the one that waited never ran */
}

static void
a_server_that_never_ran_can_be_freed(void **state)
{
	struct http_options o = { .host = "127.0.0.1" };
	struct http_server *s;

	(void)state;
	UNIT(u);
	assert_status(http_server_new(&u.cx, &o, routes, 4, &s), OK);
	assert_true(http_server_port(s) > 0);
	http_server_free(s);
}

static void
an_address_in_use_is_said(void **state)
{
	struct http_options o = { .host = "127.0.0.1" };
	struct http_server *s = NULL;

	(void)state;
	UNIT(u);
	START(f, routes);
	o.port = http_server_port(f.server);
	assert_status(http_server_new(&u.cx, &o, routes, 4, &s), E_UNAVAILABLE);
	assert_non_null(strstr(u.cx.error.message.ptr, "in use"));
	o.host = "no.such.host.invalid";
	assert_status(http_server_new(&u.cx, &o, routes, 4, &s), E_UNAVAILABLE);
	assert_null(s);
}

static void
ipv6_is_served(void **state)
{
	struct http_options o = { .host = "::1" };
	struct http_server *s;
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct fixture f = { 0 };
	struct client c = { 0 };
	struct got g;

	(void)state;
	UNIT(u);
	if (http_server_new(&u.cx, &o, routes, 4, &s) != OK) {
		print_message("skipped: no IPv6 here\n");
		skip();
	}
	f.server = s;
	assert_int_equal(pthread_create(&f.thread, NULL, serve, s), 0);
	a.sin6_port = htons((uint16_t)http_server_port(s));
	c.fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(c.fd, (struct sockaddr *)&a, sizeof(a)), 0);
	SAY(c, GET("/"));
	assert_true(hear_answer(&c, &g));
	assert_int_equal(g.status, 200);
	hang_up(&c);
	http_server_stop(s);
	join(&f);
	http_server_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_that_does_not_end_is_408),
		cmocka_unit_test(a_head_that_drips_is_408),
		cmocka_unit_test(a_body_that_drips_is_408),
		cmocka_unit_test(an_idle_connection_is_closed_without_a_word),
		cmocka_unit_test(a_client_that_takes_nothing_is_cut_off),
		cmocka_unit_test(a_large_answer_arrives_whole_and_in_order),
		cmocka_unit_test(five_hundred_slow_clients_do_not_delay_a_good_one),
		cmocka_unit_test(more_than_the_limit_from_one_address_are_closed),
		cmocka_unit_test(more_than_the_limit_in_all_are_closed),
		cmocka_unit_test(more_jobs_than_may_wait_are_busy),
		cmocka_unit_test(no_descriptors_left_is_survived),
		cmocka_unit_test(a_client_that_leaves_is_noticed_while_a_worker_has_its_request),
		cmocka_unit_test(a_client_that_resets_is_noticed_too),
		cmocka_unit_test(a_half_closed_client_still_reads_its_answers),
		cmocka_unit_test(a_client_that_ignores_a_refusal_still_reads_it),
		cmocka_unit_test(a_client_that_stays_after_the_last_answer_is_closed),
		cmocka_unit_test(a_stop_finishes_what_was_accepted),
		cmocka_unit_test(nobody_new_is_served_after_a_stop),
		cmocka_unit_test(after_the_drain_the_rest_is_cut_off),
		cmocka_unit_test(a_server_that_never_ran_can_be_freed),
		cmocka_unit_test(an_address_in_use_is_said),
		cmocka_unit_test(ipv6_is_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
