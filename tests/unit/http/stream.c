/* SPDX-License-Identifier: Apache-2.0 */
/* Event streams: what is sent arrives, slow readers and dead ones go, and they end with the server. */
#include "fixture.h"

static void
open_stream(struct http_exchange *x, void *arg)
{
	scoped_lock held = lock(&world.lock);

	(void)arg;
	world.stream = http_stream_open(x);
	(void)http_stream_send(world.stream, (str){ 0 }, (str){ 0 }, STR("first"));
	world.entered++;
	(void)pthread_cond_broadcast(&world.changed);
}

/* A stream and an answer that cannot be sent. */
static void
open_and_fail(struct http_exchange *x, void *arg)
{
	open_stream(x, arg);
	x->status = 0;
}

static void
block_and_open(struct http_exchange *x, void *arg)
{
	block(x, arg);
	buf_init(&x->body, x->cx->arena, LIMIT_HTTP_ANSWER);
	open_stream(x, arg);
}

static const struct http_route routes[] = {
	{ HTTP_GET_, "/stream", HTTP_INLINE, .handler = open_stream },
	{ HTTP_GET_, "/worker", HTTP_WORKER, .handler = open_stream },
	{ HTTP_GET_, "/late", HTTP_WORKER, .handler = block_and_open },
	{ HTTP_GET_, "/fail", HTTP_INLINE, .handler = open_and_fail },
};

static void
open_at(struct client *c, const char *request)
{
	struct got g;
	size_t at;

	say(c, str_of(request));
	assert_true(hear_head(c, &g));
	assert_int_equal(g.status, 200);
	assert_string_equal(header(&g, "Content-Type"), "text/event-stream");
	assert_string_equal(header(&g, "Cache-Control"), "no-store");
	assert_string_equal(header(&g, "Connection"), "close");
	assert_string_equal(header(&g, "Content-Length"), "");
	assert_true(hear_text(c, "data: first\n\n", &at));
	forget(c, at + strlen("data: first\n\n"));
}

/* Polls until the holder is told that the reader has gone. */
static void
await_gone(void)
{
	for (int i = 0; !http_stream_gone(world.stream); i++) {
		assert_true(i < PATIENCE_MS);
		(void)poll(NULL, 0, 1);
	}
}

static void
events_arrive_in_order(void **state)
{
	static const char expected[] =
		"event: news\nid: 7\ndata: a\ndata: \ndata: b\n\ndata: \n\ndata: c\n\n";
	size_t at;

	(void)state;
	for (int worker = 0; worker < 2; worker++) {
		START(f, routes);
		DIAL(c, f);
		open_at(&c, worker ? GET("/worker") : GET("/stream"));
		assert_true(http_stream_send(world.stream, STR("news"), STR("7"), STR("a\n\nb")));
		assert_true(http_stream_send(world.stream, (str){ 0 }, (str){ 0 }, (str){ 0 }));
		assert_true(http_stream_send(world.stream, (str){ 0 }, (str){ 0 }, STR("c")));
		assert_true(hear_text(&c, "data: c\n\n", &at));
		assert_str(((str){ c.bytes, c.len }), expected);
	}
}

static void
a_closed_stream_sends_what_it_has_and_ends(void **state)
{
	struct http_stats s;

	(void)state;
	START(f, routes);
	DIAL(c, f);
	open_at(&c, GET("/stream"));
	http_server_stats(f.server, &s);
	assert_int_equal(s.streams, 1);
	assert_true(http_stream_send(world.stream, (str){ 0 }, (str){ 0 }, STR("last")));
	http_stream_close(world.stream);
	world.stream = NULL;
	while (hear(&c))
		;
	assert_str(((str){ c.bytes, c.len }), "data: last\n\n");
	http_server_stats(f.server, &s);
	assert_int_equal(s.streams, 0);
}

static void
heartbeats_come_by_themselves(void **state)
{
	size_t at;

	(void)state;
	START(f, routes, .heartbeat_ms = 20);
	DIAL(c, f);
	open_at(&c, GET("/stream"));
	assert_true(hear_text(&c, ":\n\n:\n\n", &at));
	assert_int_equal(at, 0);
}

static void
a_reader_that_leaves_is_noticed(void **state)
{
	(void)state;
	START(f, routes);
	DIAL(c, f);
	open_at(&c, GET("/stream"));
	assert_false(http_stream_gone(world.stream));
	hang_up(&c);
	await_gone();
	assert_false(http_stream_send(world.stream, (str){ 0 }, (str){ 0 }, STR("nobody")));
}

static void
a_reader_that_is_too_slow_is_cut_off(void **state)
{
	static char text[10000];
	int sent = 0;

	(void)state;
	memset(text, 'x', sizeof(text));
	START(f, routes);
	DIAL(c, f);
	open_at(&c, GET("/stream"));
	while (http_stream_send(world.stream, (str){ 0 }, (str){ 0 }, (str){ text, sizeof(text) }))
		assert_true(++sent < 100000); /* a gigabyte is no bounded backlog */
	await_gone();
	http_stream_close(world.stream);
	world.stream = NULL;
	c.len = 0;
	while (hear(&c))
		c.len = 0;
}

static void
a_reader_that_takes_nothing_is_cut_off_by_time(void **state)
{
	static char text[10000];

	(void)state;
	START(f, routes, .send_ms = 100);
	DIAL(c, f);
	open_at(&c, GET("/stream"));
	/* fill the kernels' buffers, but not the backlog */
	for (int i = 0; i < 600; i++) {
		if (!http_stream_send(world.stream, (str){ 0 }, (str){ 0 }, (str){ text, sizeof(text) }))
			break;
		(void)poll(NULL, 0, i % 10 == 0);
	}
	await_gone();
}

enum { EVENTS = 400, EVENT_BYTES = 50000 }; /* more than the kernels buffer */

/* Sends EVENTS events, none of which is read. */
static void
send_much(void)
{
	static char text[EVENT_BYTES];

	memset(text, 'x', sizeof(text));
	for (int i = 0; i < EVENTS; i++)
		assert_true(
			http_stream_send(world.stream, (str){ 0 }, (str){ 0 }, (str){ text, sizeof(text) }));
}

/* Reads what send_much sent, all of it. */
static void
hear_much(struct client *c)
{
	size_t at;

	for (int i = 0; i < EVENTS; i++) {
		assert_true(hear_text(c, "\n\n", &at));
		assert_int_equal(at, 6 + EVENT_BYTES);
		forget(c, at + 2);
	}
}

static void
a_slow_reader_that_catches_up_goes_on(void **state)
{
	size_t at;

	(void)state;
	START(f, routes, .stream_backlog = 64 << 20);
	DIAL(c, f);
	open_at(&c, GET("/stream"));
	send_much();
	hear_much(&c);
	assert_true(http_stream_send(world.stream, (str){ 0 }, (str){ 0 }, STR("more")));
	assert_true(hear_text(&c, "data: more\n\n", &at));
	assert_int_equal(at, 0);
}

static void
a_closed_stream_sends_even_much_before_it_ends(void **state)
{
	(void)state;
	START(f, routes, .stream_backlog = 64 << 20);
	DIAL(c, f);
	open_at(&c, GET("/stream"));
	send_much();
	http_stream_close(world.stream);
	world.stream = NULL;
	hear_much(&c);
	assert_true(closed(&c));
}

static void
a_stop_lets_a_stream_send_what_it_has(void **state)
{
	(void)state;
	START(f, routes, .stream_backlog = 64 << 20);
	DIAL(c, f);
	open_at(&c, GET("/stream"));
	send_much();
	http_server_stop(f.server);
	await_gone();
	hear_much(&c);
	assert_true(closed(&c));
	hang_up(&c);
	join(&f);
}

static void
streams_end_with_the_server(void **state)
{
	(void)state;
	START(f, routes);
	DIAL(c, f);
	open_at(&c, GET("/stream"));
	http_server_stop(f.server);
	assert_true(closed(&c));
	hang_up(&c);
	join(&f);
	assert_true(http_stream_gone(world.stream));
	assert_false(http_stream_send(world.stream, (str){ 0 }, (str){ 0 }, STR("nobody")));
}

static void
a_stream_opened_during_a_stop_ends_at_once(void **state)
{
	struct got g;

	(void)state;
	START(f, routes);
	DIAL(idle, f);
	DIAL(c, f);
	SAY(c, GET("/late"));
	wait_for(&world.entered, 1);
	http_server_stop(f.server);
	assert_true(closed(&idle));
	change(&world.released, 1);
	assert_true(hear_head(&c, &g));
	while (hear(&c))
		;
	hang_up(&c);
	join(&f);
	assert_true(http_stream_gone(world.stream));
}

static void
a_stream_for_a_client_that_left_is_gone(void **state)
{
	struct linger reset = { .l_onoff = 1 };

	(void)state;
	START(f, routes);
	DIAL(c, f);
	SAY(c, GET("/late"));
	wait_for(&world.entered, 1);
	assert_int_equal(setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
	hang_up(&c);
	wait_for(&world.entered, 2);
	await_gone();
}

static void
head_of_a_stream_has_no_events(void **state)
{
	struct got g;

	(void)state;
	START(f, routes);
	DIAL(c, f);
	SAY(c, "HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	assert_true(hear_head(&c, &g));
	assert_int_equal(g.status, 200);
	assert_true(closed(&c));
	await_gone();
}

static void
a_stream_whose_answer_fails_is_gone(void **state)
{
	struct got g;

	(void)state;
	START(f, routes);
	ask(&f, STR(GET("/fail")), &g);
	assert_int_equal(g.status, 500);
	await_gone();
}

struct sender {
	pthread_t thread;
	char name;
};

static void *
send_hundred(void *arg)
{
	const struct sender *s = arg;

	for (int i = 0; i < 100; i++)
		CHECK(http_stream_send(world.stream, (str){ 0 }, (str){ 0 }, (str){ &s->name, 1 }));
	return NULL;
}

static void
several_threads_may_send_to_one_stream(void **state)
{
	struct sender senders[4];
	size_t seen = 0, at;

	(void)state;
	START(f, routes);
	DIAL(c, f);
	open_at(&c, GET("/stream"));
	for (size_t i = 0; i < 4; i++) {
		senders[i].name = (char)('a' + i);
		assert_int_equal(pthread_create(&senders[i].thread, NULL, send_hundred, &senders[i]), 0);
	}
	for (; seen < 400; seen++) {
		assert_true(hear_text(&c, "\n\n", &at));
		forget(&c, at + 2);
	}
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_join(senders[i].thread, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_arrive_in_order),
		cmocka_unit_test(a_closed_stream_sends_what_it_has_and_ends),
		cmocka_unit_test(heartbeats_come_by_themselves),
		cmocka_unit_test(a_reader_that_leaves_is_noticed),
		cmocka_unit_test(a_reader_that_is_too_slow_is_cut_off),
		cmocka_unit_test(a_reader_that_takes_nothing_is_cut_off_by_time),
		cmocka_unit_test(a_slow_reader_that_catches_up_goes_on),
		cmocka_unit_test(a_closed_stream_sends_even_much_before_it_ends),
		cmocka_unit_test(a_stop_lets_a_stream_send_what_it_has),
		cmocka_unit_test(streams_end_with_the_server),
		cmocka_unit_test(a_stream_opened_during_a_stop_ends_at_once),
		cmocka_unit_test(a_stream_for_a_client_that_left_is_gone),
		cmocka_unit_test(head_of_a_stream_has_no_events),
		cmocka_unit_test(a_stream_whose_answer_fails_is_gone),
		cmocka_unit_test(several_threads_may_send_to_one_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
