/* SPDX-License-Identifier: Apache-2.0 */
/* fixture: a server on a thread of its own, handlers that do odd things, and a client that sends raw bytes.
 */
#ifndef TESTS_HTTP_FIXTURE_H
#define TESTS_HTTP_FIXTURE_H

#include "../unit.h"

#include "base/log.h"
#include "base/scoped.h"
#include "http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define PATIENCE_MS 30000 /* only a broken program waits this long */

/* --- what the handlers and the test tell each other --- */

struct world {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int entered;  /* blocking handlers that have begun */
	int released; /* how many of them may end */
	int saw_gone; /* how many noticed that their client left */
	int done;     /* answers that the done callback saw */
	struct http_stream *stream;
};
static struct world world = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* Waits until *count is at least n. */
__attribute__((unused)) static void
wait_for(const int *count, int n)
{
	scoped_lock held = lock(&world.lock);
	struct timespec until;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &until), 0);
	until.tv_sec += PATIENCE_MS / 1000;
	while (*count < n)
		assert_int_equal(pthread_cond_timedwait(&world.changed, &world.lock, &until), 0);
}

__attribute__((unused)) static void
change(int *count, int by)
{
	scoped_lock held = lock(&world.lock);

	*count += by;
	(void)pthread_cond_broadcast(&world.changed);
}

/* --- handlers --- */

__attribute__((unused)) static void
say_hello(struct http_exchange *x, void *arg)
{
	x->status = 200;
	x->content_type = "application/json";
	buf_add(&x->body, str_of(arg ? arg : "\"hello\""));
}

__attribute__((unused)) static void
echo(struct http_exchange *x, void *arg)
{
	(void)arg;
	x->status = 200;
	x->content_type = "application/json";
	buf_add(&x->body, x->req.body);
}

/* Blocks until released, or until its client has left. */
__attribute__((unused)) static void
block(struct http_exchange *x, void *arg)
{
	scoped_lock held = lock(&world.lock);

	(void)arg;
	world.entered++;
	(void)pthread_cond_broadcast(&world.changed);
	while (!world.released && !http_gone(x)) {
		struct timespec soon;

		(void)clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_nsec += 5000000;
		soon.tv_sec += soon.tv_nsec / 1000000000;
		soon.tv_nsec %= 1000000000;
		(void)pthread_cond_timedwait(&world.changed, &world.lock, &soon);
	}
	if (world.released)
		world.released--;
	else
		world.saw_gone++;
	(void)pthread_cond_broadcast(&world.changed);
	x->status = 200;
	x->content_type = "application/json";
	buf_add(&x->body, STR("\"released\""));
}

__attribute__((unused)) static void
say_refused(struct http_exchange *x, status s)
{
	x->status = status_info(s)->http;
	x->content_type = "application/json";
	buf_printf(&x->body, "{\"code\":\"%s\",\"message\":\"%.*s\"}", status_info(s)->code,
		STR_ARG(ctx_message(x->cx, s)));
}

__attribute__((unused)) static void
count_done(const struct http_exchange *x, int64_t duration_us)
{
	CHECK(x->status >= 200 && x->cx->request_id.len > 0 && duration_us >= 0);
	change(&world.done, 1);
}

/* --- the server --- */

#define NO_DRAIN (-1)

struct fixture {
	struct arena arena;
	struct ctx cx;
	struct http_server *server;
	pthread_t thread;
	bool stopped;
};

static void *
serve(void *arg)
{
	http_server_run(arg);
	return NULL;
}

__attribute__((unused)) static void
start(struct fixture *f, struct http_options o, const struct http_route *routes, size_t count)
{
	(void)signal(SIGPIPE, SIG_IGN);
	world.entered = world.released = world.saw_gone = world.done = 0;
	world.stream = NULL;
	f->stopped = false;
	o.host = "127.0.0.1";
	o.drain_seconds = o.drain_seconds == NO_DRAIN ? 0 : 30;
	o.refuse = o.refuse ? o.refuse : say_refused;
	o.done = count_done;
	arena_init(&f->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&f->cx, &f->arena);
	assert_status(http_server_new(&f->cx, &o, routes, count, &f->server), OK);
	assert_int_equal(pthread_create(&f->thread, NULL, serve, f->server), 0);
}
#define START(f, routes, ...)                                                                                \
	__attribute__((cleanup(stop))) struct fixture f;                                                     \
	start(&f, (struct http_options){ __VA_ARGS__ }, routes, sizeof(routes) / sizeof((routes)[0]))

__attribute__((unused)) static void
join(struct fixture *f)
{
	assert_int_equal(pthread_join(f->thread, NULL), 0);
	f->stopped = true;
}

__attribute__((unused)) static void
stop(struct fixture *f)
{
	if (!f->stopped) {
		change(&world.released, 1000);
		http_server_stop(f->server);
		join(f);
	}
	if (world.stream)
		http_stream_close(world.stream);
	http_server_free(f->server);
	arena_done(&f->arena);
}

/* --- the client --- */

struct client {
	int fd;
	size_t len;
	char bytes[1 << 17]; /* what has come and was not yet looked at */
};

struct got {
	int status;
	size_t body_len;
	char head[8192], body[1 << 16];
};

__attribute__((unused)) static void
hang_up(struct client *c)
{
	if (c->fd >= 0)
		(void)close(c->fd);
	c->fd = -1;
}

__attribute__((unused)) static void
dial(struct client *c, const struct fixture *f)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)http_server_port(f->server)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1;

	c->len = 0;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(c->fd >= 0);
	assert_int_equal(setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), 0);
	assert_int_equal(connect(c->fd, (struct sockaddr *)&a, sizeof(a)), 0);
}
#define DIAL(c, f)                                                                                           \
	__attribute__((cleanup(hang_up))) struct client c;                                                   \
	dial(&c, &(f))

/* Sends; a server that has already hung up is no error here. */
__attribute__((unused)) static void
say(struct client *c, str s)
{
	while (s.len > 0) {
		ssize_t n = send(c->fd, s.ptr, s.len, MSG_NOSIGNAL);

		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return;
		assert_true(n > 0);
		s = str_skip(s, (size_t)n);
	}
}
#define SAY(c, literal) say(&(c), STR(literal))

/* Reads some more. False: the end. */
__attribute__((unused)) static bool
hear(struct client *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	ssize_t n;

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_true(c->len < sizeof(c->bytes));
	n = recv(c->fd, c->bytes + c->len, sizeof(c->bytes) - c->len, 0);
	if (n <= 0)
		return false;
	c->len += (size_t)n;
	return true;
}

__attribute__((unused)) static bool
closed(struct client *c)
{
	while (hear(c))
		;
	return c->len == 0;
}

__attribute__((unused)) static void
forget(struct client *c, size_t n)
{
	memmove(c->bytes, c->bytes + n, c->len - n);
	c->len -= n;
}

/* Where text stands in what was heard; hears more until it is there. False: the end came first. */
__attribute__((unused)) static bool
hear_text(struct client *c, const char *text, size_t *out_at)
{
	const char *at;

	*out_at = 0;
	while (!(at = memmem(c->bytes, c->len, text, strlen(text))))
		if (!hear(c))
			return false;
	*out_at = (size_t)(at - c->bytes);
	return true;
}

/* The value of a header of the answer, "" where it is absent. Lives until the next call. */
__attribute__((unused)) static const char *
header(const struct got *g, const char *name)
{
	static char value[2048];
	char line[128];
	const char *at, *end;

	(void)snprintf(line, sizeof(line), "\r\n%s: ", name);
	at = strcasestr(g->head, line);
	if (!at)
		return "";
	at += strlen(line);
	end = strstr(at, "\r\n");
	(void)snprintf(value, sizeof(value), "%.*s", (int)(end - at), at);
	return value;
}

/* Reads one answer's head. False: the connection ended before it. */
__attribute__((unused)) static bool
hear_head(struct client *c, struct got *g)
{
	size_t end;

	if (!hear_text(c, "\r\n\r\n", &end)) {
		assert_int_equal(c->len, 0); /* no half answers */
		return false;
	}
	end += 4;
	assert_true(end < sizeof(g->head) && strncmp(c->bytes, "HTTP/1.1 ", 9) == 0);
	memcpy(g->head, c->bytes, end);
	g->head[end] = '\0';
	g->status = (int)strtol(g->head + 9, NULL, 10);
	forget(c, end);
	return true;
}

__attribute__((unused)) static bool
hear_answer(struct client *c, struct got *g)
{
	size_t length;

	do { /* 100 Continue is no answer yet */
		if (!hear_head(c, g))
			return false;
	} while (g->status == 100);
	length = strtoul(header(g, "Content-Length"), NULL, 10);
	assert_true(length < sizeof(g->body));
	while (c->len < length)
		assert_true(hear(c));
	memcpy(g->body, c->bytes, length);
	g->body[length] = '\0';
	g->body_len = length;
	forget(c, length);
	return true;
}

/* One request on a new connection. */
__attribute__((unused)) static void
ask(const struct fixture *f, str request, struct got *out)
{
	DIAL(c, *f);

	say(&c, request);
	assert_true(hear_answer(&c, out));
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

#endif
