/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that http_many keeps for later reads (http_client_request.keep), against a server that does as it is told:
 * which request uses one, what happens when it is dead or the other side misbehaves, and that the guard decides each time.
 */
#include "../unit.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/scoped.h"
#include "http/client/many.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define PATIENCE_MS 30000	/* only a broken program waits this long */
#define MUCH	    (16u * MIB) /* more than the system holds between two ends */
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define FINE	    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"

/* --- a server that does as it is told --- */

/* What becomes of one request, in the order in which they come. */
struct step {
	const char *says;
	bool early; /* before the body, which it reads when it is released */
	bool waits; /* until it is released */
	bool closes;
	bool leaves; /* nobody listens any more */
};

struct seen {
	int connection; /* 1, 2, ... */
	char head[4096];
	size_t body_len;
};

struct server {
	int fd, port;
	const struct step *steps;
	size_t step_count;
	pthread_t thread, threads[8];
	int fds[8];
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int accepted, heads, ended;
	bool released;
	struct seen seen[8];
};

struct connection {
	struct server *s;
	int number, fd;
};

static void
note(struct server *s, int *count)
{
	scoped_lock held = lock(&s->lock);

	(*count)++;
	(void)pthread_cond_broadcast(&s->changed);
}

static void
wait_until(struct server *s, const int *count, int n)
{
	scoped_lock held = lock(&s->lock);
	struct timespec until;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &until), 0);
	until.tv_sec += PATIENCE_MS / 1000;
	while (*count < n)
		assert_int_equal(pthread_cond_timedwait(&s->changed, &s->lock, &until), 0);
}

/* The request of that index, when it is there. */
static struct seen *
seen(struct server *s, int index)
{
	wait_until(s, &s->heads, index + 1);
	return &s->seen[index];
}

static int
current(struct server *s, const int *count)
{
	scoped_lock held = lock(&s->lock);

	return *count;
}

static void
release(struct server *s)
{
	scoped_lock held = lock(&s->lock);

	s->released = true;
	(void)pthread_cond_broadcast(&s->changed);
}

static void
wait_for_release(struct server *s)
{
	scoped_lock held = lock(&s->lock);

	while (!s->released)
		CHECK(pthread_cond_wait(&s->changed, &s->lock) == 0);
}

/* Byte by byte, so that nothing of what follows is taken. False: the end. */
static bool
read_head(int fd, char *head, size_t size)
{
	size_t n = 0;

	while (n < 4 || memcmp(head + n - 4, "\r\n\r\n", 4) != 0) {
		CHECK(n + 1 < size);
		if (recv(fd, head + n, 1, 0) != 1)
			return false;
		n++;
	}
	head[n] = '\0';
	return true;
}

static bool
read_body(int fd, struct seen *r)
{
	const char *at = strcasestr(r->head, "\r\nContent-Length:");
	size_t length = at ? strtoul(at + 17, NULL, 10) : 0;
	char bytes[4096];

	while (r->body_len < length) {
		size_t left = length - r->body_len;
		ssize_t n = recv(fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes), 0);

		if (n <= 0)
			return false;
		r->body_len += (size_t)n;
	}
	return true;
}

static void
say(int fd, const char *text)
{
	size_t left = text ? strlen(text) : 0;

	while (left > 0) {
		ssize_t n = send(fd, text, left, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		text += n;
		left -= (size_t)n;
	}
}

/* False: the connection is over. */
static bool
serve_one(struct connection *c)
{
	struct server *s = c->s;
	struct seen *got;
	const struct step *step;
	char head[sizeof(got->head)];
	bool whole;

	if (!read_head(c->fd, head, sizeof(head)))
		return false;
	{
		scoped_lock held = lock(&s->lock);

		CHECK((size_t)s->heads < COUNT(s->seen) && (size_t)s->heads < s->step_count);
		step = &s->steps[s->heads];
		got = &s->seen[s->heads];
		got->connection = c->number;
		memcpy(got->head, head, sizeof(head));
	}
	if (step->early) {
		note(s, &s->heads);
		say(c->fd, step->says);
		wait_for_release(s);
		return read_body(c->fd, got);
	}
	whole = read_body(c->fd, got);
	note(s, &s->heads);
	if (step->waits)
		wait_for_release(s);
	if (step->leaves)
		(void)shutdown(s->fd, SHUT_RDWR);
	say(c->fd, step->says);
	return whole && !step->closes;
}

static void *
serve_connection(void *arg)
{
	struct connection *c = arg;

	while (serve_one(c))
		;
	(void)shutdown(c->fd, SHUT_RDWR); /* it is closed with the server: nobody else gets its number */
	note(c->s, &c->s->ended);
	free(c);
	return NULL;
}

static void *
serve(void *arg)
{
	struct server *s = arg;
	int fd, one = 1;

	for (int i = 0; (fd = accept(s->fd, NULL, NULL)) >= 0; i++) {
		struct connection *c = calloc(1, sizeof(*c));

		CHECK(c && (size_t)i < COUNT(s->threads));
		CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0);
		*c = (struct connection){ s, i + 1, fd };
		s->fds[i] = fd;
		note(s, &s->accepted); /* before anything is heard of it */
		CHECK(pthread_create(&s->threads[i], NULL, serve_connection, c) == 0);
	}
	return NULL;
}

static void
start(struct server *s, const struct step *steps, size_t count)
{
	struct sockaddr_in where = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(where);
	int little = 64 * (int)KIB;

	*s = (struct server){ .steps = steps,
		.step_count = count,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER };
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(s->fd >= 0);
	assert_int_equal(setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little)), 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&where, size), 0);
	assert_int_equal(listen(s->fd, 8), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&where, &size), 0);
	s->port = ntohs(where.sin_port);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void
stop(struct server *s)
{
	release(s);
	(void)shutdown(s->fd, SHUT_RDWR);
	(void)pthread_join(s->thread, NULL);
	for (int i = 0; i < s->accepted; i++) {
		(void)shutdown(s->fds[i], SHUT_RDWR);
		(void)pthread_join(s->threads[i], NULL);
		(void)close(s->fds[i]);
	}
	(void)close(s->fd);
}

/* --- who asks --- */

struct answer {
	bool done;
	status s;
	int status;
	uint64_t sent;
	size_t len, max; /* max 0: however much */
	char body[256], why[256];
	char first[64], second[64], empty[64]; /* X-A, X-A again, X-Empty */
};

static bool
take_piece(void *arg, str bytes)
{
	struct answer *a = arg;

	if (a->max && a->len + bytes.len > a->max)
		return false;
	for (size_t i = 0; i < bytes.len && a->len + 1 < sizeof(a->body); i++)
		a->body[a->len++] = bytes.ptr[i];
	return true;
}

static void
copy(char *to, size_t size, str text)
{
	(void)snprintf(to, size, "%.*s", STR_ARG(text));
}

static void
take_end(void *arg, const struct http_flight *f, status s, str why)
{
	struct answer *a = arg;

	a->done = true;
	a->s = s;
	a->status = http_flight_status(f);
	a->sent = http_flight_sent(f);
	copy(a->why, sizeof(a->why), why);
	copy(a->first, sizeof(a->first), http_flight_header(f, "x-a"));
	copy(a->second, sizeof(a->second), http_flight_header_at(f, "X-A", 1));
	copy(a->empty, sizeof(a->empty), http_flight_header(f, "X-Empty"));
}

static const struct http_flight_calls calls = { take_piece, take_end };

/* A server, who asks it, and all that they need. */
struct world {
	struct unit u;
	struct server s;
	struct http_many *many;
	str url;
};

static void
end_world(struct world *w)
{
	http_many_free(w->many);
	stop(&w->s);
	arena_done(&w->u.arena);
}

static void
begin_world(struct world *w, const struct step *steps, size_t count)
{
	arena_init(&w->u.arena, LIMIT_REQUEST_ARENA);
	ctx_init(&w->u.cx, &w->u.arena);
	start(&w->s, steps, count);
	w->many = http_many_new();
	w->url = arena_printf(&w->u.arena, "http://127.0.0.1:%d/", w->s.port);
}
#define WORLD(w, steps)                                                                                      \
	__attribute__((cleanup(end_world))) struct world w;                                                  \
	begin_world(&w, steps, COUNT(steps))

static struct http_flight *
begin(struct world *w, struct http_client_request r, struct answer *a)
{
	struct http_flight *f;

	assert_status(http_many_begin(w->many, &w->u.cx, &r, &calls, a, &f), OK);
	return f;
}

static void
finish(struct world *w, const struct answer *a)
{
	int64_t until_us = clock_mono_us() + PATIENCE_MS * INT64_C(1000);

	while (!a->done) {
		assert_true(clock_mono_us() < until_us);
		(void)http_many_poll(w->many, -1, 1000);
	}
}

static void
go_on_until(struct world *w, const int *count, int n)
{
	int64_t until_us = clock_mono_us() + PATIENCE_MS * INT64_C(1000);

	while (current(&w->s, count) < n) {
		assert_true(clock_mono_us() < until_us);
		(void)http_many_poll(w->many, -1, 1);
	}
}

static struct answer
ask(struct world *w, struct http_client_request r, size_t max)
{
	struct answer a = { .max = max };

	(void)begin(w, r, &a);
	finish(w, &a);
	return a;
}

/* With what every request here has, where r does not say otherwise. */
static struct http_client_request
kept(const struct world *w, struct http_client_request r)
{
	r.keep = true;
	r.url = r.url.len ? r.url : w->url;
	if (!r.method) {
		r.method = "POST";
		r.body = r.body.len ? r.body : STR("{}");
	}
	return r;
}
#define REQUEST(w, ...) kept(&(w), (struct http_client_request){ __VA_ARGS__ })
#define ASK(w, ...)	ask(&(w), REQUEST(w, __VA_ARGS__), 0)
#define ASK_PLAINLY(w)	ask(&(w), (struct http_client_request){ .method = "GET", .url = (w).url }, 0)

#define ASSERT_FINE(a)                                                                                       \
	do {                                                                                                 \
		struct answer fine_ = (a);                                                                   \
		assert_string_equal(fine_.why, "");                                                          \
		assert_status(fine_.s, OK);                                                                  \
		assert_int_equal(fine_.status, 200);                                                         \
		assert_string_equal(fine_.body, "fine");                                                     \
	} while (0)

/* --- what comes --- */

static const struct step all_fine[] = { { FINE }, { FINE }, { FINE }, { FINE } };

/* X-Empty: libcurl 7.88 gives "\r" for a header without a value. */
static const struct kind {
	const char *says;
	bool closes; /* as a step has it */
	int status;
	const char *body, *first, *second;
	bool kept;
} kinds[] = {
	{ FINE, .status = 200, .body = "fine", .kept = true },
	{ "HTTP/1.1 200 OK\r\nx-a: one\r\nX-Empty:\r\nX-A:   two  \r\nContent-Length: 0\r\n\r\n",
		.status = 200, .body = "", .first = "one", .second = "two", .kept = true },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: one\r\n\r\n4\r\nfine\r\n0\r\nX-A: "
	  "trailer\r\n\r\n",
		.status = 200, .body = "fine", .first = "one", .kept = true },
	{ "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n", .status = 204, .body = "", .kept = true },
	{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX-A: early\r\n\r\n" FINE, .status = 200,
		.body = "fine", .kept = true },
	{ "HTTP/1.1 200 OK\r\n\r\nfine", .closes = true, .status = 200, .body = "fine" },
	{ "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 4\r\n\r\nfine", .status = 200,
		.body = "fine" },
	{ "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nfine", .status = 200, .body = "fine" },
};

static void
assert_kind(const struct kind *k, const struct answer *a)
{
	assert_string_equal(a->why, "");
	assert_status(a->s, OK);
	assert_int_equal(a->status, k->status);
	assert_string_equal(a->body, k->body);
	assert_string_equal(a->first, k->first ? k->first : "");
	assert_string_equal(a->second, k->second ? k->second : "");
	assert_string_equal(a->empty, "");
}

static void
an_answer_says_whether_its_connection_is_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(kinds); i++)
		for (int before = 0; before < 2; before++) { /* over a new connection; over a kept one */
			const struct kind *k = &kinds[i];
			struct step odd = { k->says, .closes = k->closes };
			struct step steps[3] = { { FINE }, { FINE }, { FINE } };
			struct answer a;
			WORLD(w, steps);

			steps[before] = odd;
			for (int j = 0; j < before; j++)
				ASSERT_FINE(ASK(w, 0));
			a = ASK(w, 0);
			assert_kind(k, &a);
			if (k->closes)
				wait_until(&w.s, &w.s.ended, 1);
			ASSERT_FINE(ASK(w, 0));
			assert_int_equal(current(&w.s, &w.s.heads), before + 2);
			assert_int_equal(current(&w.s, &w.s.accepted), k->kept ? 1 : 2);
		}
}

static void
an_answer_that_is_too_large_ends_its_connection(void **state)
{
	(void)state;
	WORLD(w, all_fine);
	ASSERT_FINE(ASK(w, 0));
	assert_status(ask(&w, REQUEST(w, .method = "GET"), 3).s, E_TOO_LARGE);
	ASSERT_FINE(ASK(w, 0));
	assert_int_equal(current(&w.s, &w.s.accepted), 2);
}

/* --- what goes wrong --- */

static void
an_answer_that_breaks_off_after_its_head_is_unknown_and_never_asked_for_again(void **state)
{
	static const struct step broken[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfin", .closes = true },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n", .closes = true },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n", .closes = true },
		{ "HTTP/1.1 100 Continue\r\n\r\n", .closes = true },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\nz\r\n" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(broken); i++) {
		const struct step steps[] = { { FINE }, broken[i], { FINE }, broken[i], { FINE } };
		struct answer a;
		WORLD(w, steps);

		ASSERT_FINE(ASK(w, 0));
		a = ASK(w, 0);
		assert_status(a.s, E_COMMIT_UNKNOWN);
		assert_true(a.sent > 2);
		ASSERT_FINE(ASK(w, 0));
		assert_status(ask(&w, REQUEST(w, .method = "GET"), 0).s, E_TIMEOUT);
		assert_int_equal(current(&w.s, &w.s.heads), 4);
		assert_int_equal(current(&w.s, &w.s.accepted), 2);
		ASSERT_FINE(ASK(w, 0));
		assert_int_equal(current(&w.s, &w.s.accepted), 3);
	}
}

static void
a_kept_connection_that_was_closed_is_not_used(void **state)
{
	static const struct step steps[] = { { FINE }, { FINE, .closes = true }, { FINE } };

	(void)state;
	WORLD(w, steps);
	ASSERT_FINE(ASK(w, 0));
	ASSERT_FINE(ASK(w, 0));
	wait_until(&w.s, &w.s.ended, 1);
	ASSERT_FINE(ASK(w, 0));
	assert_int_equal(current(&w.s, &w.s.heads), 3);
	assert_int_equal(seen(&w.s, 2)->connection, 2);
}

static void
a_kept_connection_that_dies_without_an_answer_is_replaced_once(void **state)
{
	static const struct step steps[] = { { FINE }, { NULL, .closes = true }, { FINE },
		{ NULL, .closes = true }, { NULL, .closes = true } };
	struct answer a;

	(void)state;
	WORLD(w, steps);
	ASSERT_FINE(ASK(w, 0));
	ASSERT_FINE(ASK(w, 0));
	assert_int_equal(current(&w.s, &w.s.heads), 3);
	assert_int_equal(seen(&w.s, 1)->connection, 1);
	assert_int_equal(seen(&w.s, 2)->connection, 2);
	assert_string_equal(seen(&w.s, 1)->head, seen(&w.s, 2)->head);
	a = ASK(w, 0); /* the new connection dies as well */
	assert_status(a.s, E_COMMIT_UNKNOWN);
	assert_int_equal(current(&w.s, &w.s.heads), 5);
}

/* E_UNAVAILABLE says that nothing has left: over the kept connection something has. */
static void
a_kept_connection_that_dies_where_nobody_listens_any_more_leaves_it_unknown(void **state)
{
	static const struct step steps[] = { { FINE }, { NULL, .closes = true, .leaves = true } };
	struct answer a;

	(void)state;
	WORLD(w, steps);
	ASSERT_FINE(ASK(w, 0));
	a = ASK(w, 0);
	assert_status(a.s, E_COMMIT_UNKNOWN);
	assert_true(a.sent > 2);
	a = ASK(w, 0);
	assert_status(a.s, E_UNAVAILABLE);
	assert_int_equal(a.sent, 0);
}

/* What is still to be sent would be taken for the next request, or the next request for it. */
static void
an_answer_before_all_was_sent_ends_its_connection(void **state)
{
	char *bytes = calloc(1, MUCH);
	str body = { bytes, MUCH };

	(void)state;
	assert_non_null(bytes);
	for (int before = 0; before < 2; before++) { /* over a new connection; over a kept one */
		struct step steps[] = { { FINE }, { FINE }, { FINE } };
		struct answer a;
		WORLD(w, steps);

		steps[before] =
			(struct step){ "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n", .early = true };
		for (int j = 0; j < before; j++)
			ASSERT_FINE(ASK(w, 0));
		a = ASK(w, .body = body);
		assert_status(a.s, OK);
		assert_int_equal(a.status, 413);
		ASSERT_FINE(ASK(w, 0));
		assert_int_equal(current(&w.s, &w.s.accepted), 2);
	}
	free(bytes);
}

/* --- who may use it --- */

static void
the_guard_decides_for_each_request_over_a_kept_connection(void **state)
{
	struct http_net nets[2];
	struct answer a;

	(void)state;
	assert_true(http_net_read(STR("10.0.0.0/8"), &nets[0]) && http_net_read(STR("127.0.0.1"), &nets[1]));
	WORLD(w, all_fine);
	ASSERT_FINE(ASK(w, 0));
	a = ASK(w, .public_only = true);
	assert_status(a.s, E_UNAVAILABLE);
	assert_string_equal(a.why, "its address is not public");
	ASSERT_FINE(ASK(w, .public_only = true, .allow = nets, .allow_count = 2));
	assert_status(ASK(w, .public_only = true, .allow = nets, .allow_count = 1).s, E_UNAVAILABLE);
	assert_int_equal(current(&w.s, &w.s.heads), 2);
}

static void
after_its_time_nothing_is_sent(void **state)
{
	struct answer a;

	(void)state;
	WORLD(w, all_fine);
	ASSERT_FINE(ASK(w, 0));
	a = ASK(w, .send_by_us = clock_mono_us() - 1);
	assert_status(a.s, E_UNAVAILABLE);
	assert_int_equal(a.sent, 0);
	ASSERT_FINE(ASK(w, .send_by_us = clock_mono_us() + INT64_C(3600000000)));
	assert_int_equal(current(&w.s, &w.s.heads), 2);
}

static void
a_request_that_keeps_nothing_neither_uses_nor_leaves_a_connection(void **state)
{
	static const int expected[] = { 1, 2, 3, 3 };

	(void)state;
	WORLD(w, all_fine);
	for (int i = 0; i < 4; i++) {
		ASSERT_FINE(i < 2 ? ASK_PLAINLY(w) : ASK(w, 0));
		assert_int_equal(seen(&w.s, i)->connection, expected[i]);
	}
}

static void
a_kept_connection_outlasts_requests_that_keep_nothing(void **state)
{
	(void)state;
	WORLD(w, all_fine);
	ASSERT_FINE(ASK(w, 0));
	ASSERT_FINE(ASK_PLAINLY(w));
	ASSERT_FINE(ASK(w, 0));
	assert_int_equal(seen(&w.s, 1)->connection, 2);
	assert_int_equal(seen(&w.s, 2)->connection, 1);
}

static void
a_cancelled_request_closes_its_connection(void **state)
{
	static const struct step steps[] = { { FINE }, { "", .waits = true }, { FINE }, { FINE } };
	struct answer a = { 0 };
	struct http_flight *f;

	(void)state;
	WORLD(w, steps);
	ASSERT_FINE(ASK(w, 0));
	f = begin(&w, REQUEST(w, .method = "GET"), &a);
	go_on_until(&w, &w.s.heads, 2);
	assert_int_equal(http_flight_status(f), 0);
	assert_true(http_flight_sent(f) > 0);
	(void)http_many_poll(w.many, -1, 0);
	http_many_cancel(w.many, f);
	ASSERT_FINE(ASK(w, 0));
	ASSERT_FINE(ASK(w, 0));
	assert_false(a.done);
	assert_int_equal(seen(&w.s, 1)->connection, 1);
	assert_int_equal(seen(&w.s, 2)->connection, 2);
	assert_int_equal(seen(&w.s, 3)->connection, 2);
}

static void
two_at_once_have_a_connection_each(void **state)
{
	static const struct step steps[] = { { FINE }, { FINE, .waits = true }, { FINE }, { FINE } };
	struct answer slow = { 0 };

	(void)state;
	WORLD(w, steps);
	ASSERT_FINE(ASK(w, 0));
	(void)begin(&w, REQUEST(w, .method = "GET"), &slow);
	go_on_until(&w, &w.s.heads, 2);
	ASSERT_FINE(ASK(w, 0));
	assert_false(slow.done);
	release(&w.s);
	finish(&w, &slow);
	ASSERT_FINE(slow);
	ASSERT_FINE(ASK(w, 0));
	assert_int_equal(current(&w.s, &w.s.accepted), 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_says_whether_its_connection_is_kept),
		cmocka_unit_test(an_answer_that_is_too_large_ends_its_connection),
		cmocka_unit_test(
			an_answer_that_breaks_off_after_its_head_is_unknown_and_never_asked_for_again),
		cmocka_unit_test(a_kept_connection_that_was_closed_is_not_used),
		cmocka_unit_test(a_kept_connection_that_dies_without_an_answer_is_replaced_once),
		cmocka_unit_test(a_kept_connection_that_dies_where_nobody_listens_any_more_leaves_it_unknown),
		cmocka_unit_test(an_answer_before_all_was_sent_ends_its_connection),
		cmocka_unit_test(the_guard_decides_for_each_request_over_a_kept_connection),
		cmocka_unit_test(after_its_time_nothing_is_sent),
		cmocka_unit_test(a_request_that_keeps_nothing_neither_uses_nor_leaves_a_connection),
		cmocka_unit_test(a_kept_connection_outlasts_requests_that_keep_nothing),
		cmocka_unit_test(a_cancelled_request_closes_its_connection),
		cmocka_unit_test(two_at_once_have_a_connection_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
