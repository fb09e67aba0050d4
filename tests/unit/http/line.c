/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kept connection: what goes over it is what libcurl would have sent, what comes is what libcurl would have said, and
 * where anything is odd it is not used again. By itself over a pair of sockets; and by http_many, against a server that
 * does as it is told.
 */
#include "../unit.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/scoped.h"
#include "http/client/line.h"
#include "http/client/many.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define PATIENCE_MS 30000	/* only a broken program waits this long */
#define MUCH	    (16u * MIB) /* more than the system holds between two ends */
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define FINE	    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"

/* --- a server that does as it is told --- */

/* What becomes of one request, in the order in which they come. */
struct step {
	const char *says;
	bool slowly; /* byte by byte */
	bool early;  /* before the body, which it reads when it is released */
	bool waits;  /* until it is released */
	bool closes;
	bool leaves; /* nobody listens any more */
};

struct seen {
	int connection; /* 1, 2, ... */
	char head[4096];
	size_t body_len;
	unsigned sum; /* of the body's bytes */
};

struct server {
	int fd, port;
	const struct step *steps;
	size_t step_count;
	pthread_t thread, threads[8];
	int fds[8];
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int accepted, heads, settled, ended;
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
	unsigned char bytes[4096];

	while (r->body_len < length) {
		size_t left = length - r->body_len;
		ssize_t n = recv(fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes), 0);

		if (n <= 0)
			return false;
		for (ssize_t i = 0; i < n; i++)
			r->sum = r->sum * 31 + bytes[i];
		r->body_len += (size_t)n;
	}
	return true;
}

static void
say(int fd, const char *text, bool slowly)
{
	size_t left = text ? strlen(text) : 0;

	while (left > 0) {
		ssize_t n = send(fd, text, slowly ? 1 : left, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		text += n;
		left -= (size_t)n;
	}
}

/* Until the other side has all of it. */
static void
settle(int fd)
{
	int left = 0;

	while (ioctl(fd, TIOCOUTQ, &left) == 0 && left > 0)
		(void)poll(NULL, 0, 1);
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
		say(c->fd, step->says, step->slowly);
		wait_for_release(s);
		return read_body(c->fd, got);
	}
	whole = read_body(c->fd, got);
	note(s, &s->heads);
	if (step->waits)
		wait_for_release(s);
	if (step->leaves)
		(void)shutdown(s->fd, SHUT_RDWR);
	say(c->fd, step->says, step->slowly);
	settle(c->fd);
	note(s, &s->settled);
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

/* --- what is sent --- */

static size_t
lines_of(char *head, const char **lines, size_t max)
{
	size_t n = 0;
	char *rest = NULL;

	for (char *l = strtok_r(head, "\r\n", &rest); l; l = strtok_r(NULL, "\r\n", &rest)) {
		CHECK(n < max);
		for (size_t end = strlen(l); end && l[end - 1] == ' '; end--)
			l[end - 1] = '\0'; /* "X:" and "X: " are the same */
		lines[n++] = l;
	}
	return n;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The same first line, and the same headers, in whatever order. */
static void
assert_same_head(struct seen *a, struct seen *b)
{
	const char *la[64], *lb[64];
	size_t na = lines_of(a->head, la, COUNT(la)), nb = lines_of(b->head, lb, COUNT(lb));

	assert_string_equal(la[0], lb[0]);
	qsort(la, na, sizeof(*la), by_text);
	qsort(lb, nb, sizeof(*lb), by_text);
	for (size_t i = 0; i < na && i < nb; i++)
		assert_string_equal(la[i], lb[i]);
	assert_int_equal(na, nb);
}

static const struct step all_fine[] = { { FINE }, { FINE }, { FINE }, { FINE } };

static void
send_twice(const char *tail, struct http_client_request r, int connections)
{
	WORLD(w, all_fine);

	r.url = arena_printf(&w.u.arena, "http://127.0.0.1:%d%s", w.s.port, tail);
	r.keep = true;
	ASSERT_FINE(ask(&w, r, 0));
	ASSERT_FINE(ask(&w, r, 0));
	assert_int_equal(current(&w.s, &w.s.accepted), connections);
	assert_int_equal(seen(&w.s, 1)->connection, connections);
	assert_int_equal(seen(&w.s, 1)->body_len, r.body.len);
	assert_same_head(seen(&w.s, 0), seen(&w.s, 1));
}

static void
the_second_request_is_as_the_first_was(void **state)
{
	static const struct http_client_field fields[] = { { STR("X-One"), STR("1 and more") },
		{ STR("x-one"), STR("again") }, { STR("X-Empty"), { 0 } } };
	static const struct http_client_request requests[] = {
		{ .method = "GET" },
		{ .method = "DELETE" },
		{ .method = "GET", .accept = "text/event-stream", .bearer = STR("cs_1") },
		{ .method = "POST", .body = STR("{}"), .basic = STR("dTpw") },
		{ .method = "PUT", .body = STR("a=b"), .type = "application/x-www-form-urlencoded" },
		{ .method = "PATCH", .body = STR("[]"), .fields = fields, .field_count = COUNT(fields) },
	};
	static const char *const tails[] = { "", "/", "/a/../b/./c", "/a/..", "/%2e%2e/b", "//a//b",
		"/a?x=1&y=%20", "/a?", "?x", "/a?x=/../y?z", "/a#part", "/a?x#part", "/a;b=c,d'e\"f<g>|{h}" };

	(void)state;
	for (size_t i = 0; i < COUNT(requests); i++)
		send_twice("/a?b=c", requests[i], 1);
	for (size_t i = 0; i < COUNT(tails); i++)
		send_twice(tails[i], requests[0], 1);
}

static void
headers_that_curl_would_put_in_place_of_its_own_are_left_to_it(void **state)
{
	static const struct http_client_field fields[] = { { STR("Host"), STR("elsewhere.example") },
		{ STR("user-agent"), STR("another/1") }, { STR("Content-Length"), STR("2") },
		{ STR("connection"), STR("keep-alive") } };

	(void)state;
	for (size_t i = 0; i < COUNT(fields); i++)
		send_twice("/",
			(struct http_client_request){
				.method = "POST", .body = STR("{}"), .fields = &fields[i], .field_count = 1 },
			2);
}

static void
a_large_request_arrives_whole_however_slowly_it_is_read(void **state)
{
	char *bytes = malloc(MUCH);
	unsigned sum = 0;
	str body = { bytes, MUCH };

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < MUCH; i++) {
		bytes[i] = (char)(i * 7 + i / 251);
		sum = sum * 31 + (unsigned char)bytes[i];
	}
	{
		WORLD(w, all_fine);

		for (int i = 0; i < 3; i++) {
			ASSERT_FINE(ASK(w, .body = body));
			assert_int_equal(seen(&w.s, i)->body_len, MUCH);
			assert_int_equal(seen(&w.s, i)->sum, sum);
		}
		assert_int_equal(current(&w.s, &w.s.accepted), 1);
	}
	free(bytes);
}

/* --- what comes --- */

static const struct kind {
	const char *says;
	bool slowly, closes; /* as a step has it */
	int status;
	const char *body, *first, *second;
	bool kept;
} kinds[] = {
	{ FINE, .status = 200, .body = "fine", .kept = true },
	{ FINE, .slowly = true, .status = 200, .body = "fine", .kept = true },
	{ "HTTP/1.1 200 \r\ncontent-length:4\r\n\r\nfine", .status = 200, .body = "fine", .kept = true },
	{ "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", .status = 404, .body = "", .kept = true },
	{ "HTTP/1.1 200 OK\r\nx-a: one\r\nX-Empty:\r\nX-A:   two  \r\nContent-Length: 0\r\n\r\n",
		.status = 200, .body = "", .first = "one", .second = "two", .kept = true },
	{ "HTTP/1.1 200 OK\r\nX-Empty:\r\nX-A: one\r\nX-a: two\r\nContent-Length: 0\r\n\r\n", .slowly = true,
		.status = 200, .body = "", .first = "one", .second = "two", .kept = true },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nfi\r\n2;a=b\r\nne\r\n0\r\n\r\n",
		.status = 200, .body = "fine", .kept = true },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nf\r\n3\r\nine\r\n0\r\n\r\n",
		.slowly = true, .status = 200, .body = "fine", .kept = true },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: one\r\n\r\n4\r\nfine\r\n0\r\nX-A: "
	  "trailer\r\nX-B: y\r\n\r\n",
		.status = 200, .body = "fine", .first = "one", .kept = true },
	{ "HTTP/1.1 204 No Content\r\nX-A: one\r\n\r\n", .status = 204, .body = "", .first = "one",
		.kept = true },
	{ "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n", .status = 204, .body = "", .kept = true },
	{ "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n", .status = 304, .body = "", .kept = true },
	{ "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", .status = 304, .body = "",
		.kept = true },
	{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX-A: early\r\n\r\n" FINE, .status = 200,
		.body = "fine", .kept = true },
	{ "HTTP/1.1 100 Continue\r\nX-A: early\r\n\r\n" FINE, .slowly = true, .status = 200, .body = "fine",
		.kept = true },
	{ "HTTP/1.1 200 OK\r\n\r\nfine", .closes = true, .status = 200, .body = "fine" },
	{ "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 4\r\n\r\nfine", .status = 200,
		.body = "fine" },
	{ "HTTP/1.1 200 OK\r\nConnection: x-other\r\nConnection: x, close\r\nContent-Length: 4\r\n\r\nfine",
		.status = 200, .body = "fine" },
	{ "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nfine", .status = 200, .body = "fine" },
	{ "HTTP/1.0 200 OK\r\n\r\nfine", .closes = true, .status = 200, .body = "fine" },
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
every_kind_of_answer_is_heard_by_curl_and_over_the_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(kinds); i++)
		for (int before = 0; before < 3; before++) { /* curl asks; the line; the line again */
			const struct kind *k = &kinds[i];
			struct step odd = { k->says, .slowly = k->slowly, .closes = k->closes };
			struct step steps[4] = { { FINE }, { FINE }, { FINE }, { FINE } };
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
what_is_too_large_is_said_so_and_ends_the_line(void **state)
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
what_breaks_off_is_unknown_and_never_repeated(void **state)
{
	static const struct step broken[] = {
		{ "H", .closes = true },
		{ "HTTP/1.1 200 OK\r\nContent-Le", .closes = true },
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

/* What only curl may understand: it is asked once more, and then always. */
static void
what_is_no_answer_of_a_line_is_left_to_curl(void **state)
{
	static const struct step odd[] = {
		{ "no HTTP at all\r\n\r\n" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab" },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n" },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n" },
		{ "HTTP/1.1 050 Low\r\nContent-Length: 4\r\n\r\nfine" },
		{ "HTTP/1.1 200 OK\nContent-Length: 4\n\nfine" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(odd); i++) {
		const struct step steps[] = { { FINE }, odd[i], { FINE }, { FINE } };
		struct answer a;
		WORLD(w, steps);

		ASSERT_FINE(ASK(w, 0));
		a = ASK(w, 0);
		ASSERT_FINE(a);
		ASSERT_FINE(ASK(w, 0));
		assert_int_equal(current(&w.s, &w.s.heads), 4);
		assert_int_equal(current(&w.s, &w.s.accepted), 3);
		assert_int_equal(w.s.seen[1].connection, 1);
		assert_int_equal(w.s.seen[3].connection, 3);
	}
}

/* It was sent over the line, and curl understands it no better. */
static void
what_nobody_understands_is_unknown(void **state)
{
	const struct step steps[] = { { FINE }, { "no HTTP at all\r\n\r\n" }, { "no HTTP at all\r\n\r\n" } };
	WORLD(w, steps);

	(void)state;
	ASSERT_FINE(ASK(w, 0));
	assert_status(ASK(w, 0).s, E_COMMIT_UNKNOWN);
	assert_int_equal(current(&w.s, &w.s.heads), 3);
}

static void
a_line_that_ended_meanwhile_is_not_used(void **state)
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
a_line_that_dies_without_a_word_is_made_good_once(void **state)
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
	assert_same_head(seen(&w.s, 1), seen(&w.s, 2));
	a = ASK(w, 0); /* the new connection dies as well */
	assert_status(a.s, E_COMMIT_UNKNOWN);
	assert_int_equal(current(&w.s, &w.s.heads), 5);
}

/* E_UNAVAILABLE says that nothing has left: over the line something has. */
static void
a_line_that_dies_where_nobody_listens_any_more_leaves_it_unknown(void **state)
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

static void
who_has_spoken_unasked_is_not_listened_to(void **state)
{
	(void)state;
	for (int before = 1; before < 3; before++) { /* after curl's answer; after the line's */
		WORLD(w, all_fine);

		for (int j = 0; j < before; j++)
			ASSERT_FINE(ASK(w, 0));
		wait_until(&w.s, &w.s.settled, before);
		say(w.s.fds[0], "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned", false);
		settle(w.s.fds[0]);
		ASSERT_FINE(ASK(w, 0));
		assert_int_equal(current(&w.s, &w.s.accepted), 2);
	}
}

/* What is still to be sent would be taken for the next request, or the next request for it. */
static void
an_answer_before_all_was_sent_ends_the_line(void **state)
{
	char *bytes = calloc(1, MUCH);
	str body = { bytes, MUCH };

	(void)state;
	assert_non_null(bytes);
	for (int before = 0; before < 2; before++) { /* by curl; over the line */
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
a_line_serves_only_who_may_reach_its_other_end(void **state)
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
a_line_leads_to_one_address(void **state)
{
	(void)state;
	WORLD(w, all_fine);
	ASSERT_FINE(ASK(w, 0));
	ASSERT_FINE(ASK(w, .url = arena_printf(&w.u.arena, "%.*selse", STR_ARG(w.url))));
	assert_int_equal(current(&w.s, &w.s.accepted), 2);
	assert_int_equal(seen(&w.s, 1)->connection, 2);
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
who_keeps_nothing_neither_uses_nor_leaves_a_line(void **state)
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
a_line_beside_which_nothing_was_kept_is_still_there(void **state)
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
what_is_cancelled_takes_its_line_along(void **state)
{
	static const struct step steps[] = { { FINE }, { "", .waits = true }, { FINE }, { FINE } };
	struct answer a = { 0 };
	struct http_flight *f;

	(void)state;
	WORLD(w, steps);
	ASSERT_FINE(ASK(w, 0));
	f = begin(&w, REQUEST(w, .method = "GET"), &a);
	wait_until(&w.s, &w.s.heads, 2);
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
	wait_until(&w.s, &w.s.heads, 2);
	ASSERT_FINE(ASK(w, 0));
	assert_false(slow.done);
	release(&w.s);
	finish(&w, &slow);
	ASSERT_FINE(slow);
	ASSERT_FINE(ASK(w, 0));
	assert_int_equal(current(&w.s, &w.s.accepted), 2);
}

/* --- the line by itself --- */

struct pair {
	struct unit u;
	struct http_line *line;
	int other; /* the server's end */
	struct answer got;
};

static void
end_pair(struct pair *p)
{
	http_line_free(p->line);
	if (p->other >= 0)
		(void)close(p->other);
	arena_done(&p->u.arena);
}

static const struct http_client_request get = { .method = "GET", .url = STR("http://a.example/") };

static void
begin_pair(struct pair *p)
{
	int ends[2];

	*p = (struct pair){ 0 };
	arena_init(&p->u.arena, LIMIT_REQUEST_ARENA);
	ctx_init(&p->u.cx, &p->u.arena);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	p->other = ends[1];
	p->line = http_line_new(ends[0], get.url);
	assert_non_null(p->line);
}
#define PAIR(p)                                                                                              \
	__attribute__((cleanup(end_pair))) struct pair p;                                                    \
	begin_pair(&p)

static void
expect_begin(struct pair *p)
{
	assert_true(http_line_suits(p->line, &get));
	assert_int_equal(http_line_begin(p->line, &p->u.cx, &get), HTTP_LINE_WAITS);
}

/* In pieces of that size, for as long as it listens. */
static enum http_line_state
hear(struct pair *p, str text, size_t size)
{
	enum http_line_state s = HTTP_LINE_WAITS;

	while (text.len > 0 && s == HTTP_LINE_WAITS) {
		size_t n = size < text.len ? size : text.len;

		assert_int_equal(send(p->other, text.ptr, n, MSG_NOSIGNAL), n);
		text = str_skip(text, n);
		s = http_line_go_on(p->line, take_piece, &p->got);
	}
	return s;
}

static void
an_answer_has_a_largest_head(void **state)
{
	static const struct {
		size_t count, size; /* of headers; of each value */
		enum http_line_state state;
	} heads[] = { { LIMIT_HTTP_HEADERS - 1, 1, HTTP_LINE_DONE }, { LIMIT_HTTP_HEADERS, 1, HTTP_LINE_BAD },
		{ 1, LIMIT_HTTP_HEAD - 64, HTTP_LINE_DONE }, { 1, LIMIT_HTTP_HEAD, HTTP_LINE_BAD },
		{ 17, LIMIT_HTTP_HEAD / 16, HTTP_LINE_BAD }, { 0, 0, HTTP_LINE_DONE } };

	(void)state;
	for (size_t i = 0; i < COUNT(heads); i++)
		for (size_t size = 1; size <= 4096; size *= 64) {
			struct buf b;
			PAIR(p);

			buf_init(&b, &p.u.arena, MIB);
			buf_add(&b, STR("HTTP/1.1 200 OK\r\n"));
			for (size_t j = 0; j < heads[i].count; j++) {
				buf_add(&b, STR("A: "));
				for (size_t k = 0; k < heads[i].size; k++)
					buf_add_char(&b, 'x');
				buf_add(&b, STR("\r\n"));
			}
			buf_add(&b, STR("Content-Length: 2\r\n\r\nok"));
			expect_begin(&p);
			assert_int_equal(hear(&p, buf_str(&b), size), heads[i].state);
			assert_int_equal(http_line_stays(p.line), heads[i].state == HTTP_LINE_DONE);
			if (heads[i].state != HTTP_LINE_DONE)
				continue;
			assert_string_equal(p.got.body, "ok");
			assert_str(http_line_header(p.line, STR("CONTENT-LENGTH"), 0), "2");
			assert_str(http_line_header(p.line, STR("CONTENT-LENGTH"), 1), "");
			if (heads[i].count)
				assert_int_equal(http_line_header(p.line, STR("a"), heads[i].count - 1).len,
					heads[i].size);
		}
}

static void
what_comes_before_an_answer_is_no_part_of_its_body(void **state)
{
	(void)state;
	for (size_t size = 1; size < 256; size *= 2) {
		PAIR(p);

		expect_begin(&p);
		assert_int_equal(hear(&p, STR("HTTP/1.1 103 Early\r\nContent-Length: 5\r\n\r\n" FINE), size),
			HTTP_LINE_DONE);
		assert_int_equal(http_line_status(p.line), 200);
		assert_string_equal(p.got.body, "fine");
	}
}

static void
what_follows_an_answer_ends_the_line(void **state)
{
	static const str texts[] = { STR(FINE "!"), STR(FINE "\r\n"), STR(FINE FINE) };

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		PAIR(together);
		PAIR(after);

		expect_begin(&together);
		assert_int_equal(hear(&together, texts[i], SIZE_MAX), HTTP_LINE_DONE);
		assert_false(http_line_stays(together.line));
		expect_begin(&after);
		assert_int_equal(hear(&after, STR(FINE), SIZE_MAX), HTTP_LINE_DONE);
		assert_true(http_line_stays(after.line) && http_line_suits(after.line, &get));
		assert_int_equal(send(after.other, texts[i].ptr, 1, MSG_NOSIGNAL), 1);
		assert_false(http_line_suits(after.line, &get));
	}
}

static void
an_answer_to_half_a_request_ends_the_line(void **state)
{
	char *bytes = calloc(1, MUCH);
	struct http_client_request put = { .method = "PUT", .url = get.url, .body = { bytes, MUCH } };

	(void)state;
	assert_non_null(bytes);
	{
		PAIR(p);

		assert_int_equal(http_line_begin(p.line, &p.u.cx, &put), HTTP_LINE_WAITS);
		assert_int_equal(http_line_events(p.line), POLLIN | POLLOUT);
		assert_in_range(http_line_sent(p.line), 1, MUCH - 1);
		assert_int_equal(hear(&p, STR(FINE), SIZE_MAX), HTTP_LINE_DONE);
		assert_false(http_line_stays(p.line));
	}
	free(bytes);
}

static void
a_line_that_takes_nothing_at_once_is_lost(void **state)
{
	char bytes[4096] = "";
	PAIR(p);

	(void)state;
	while (send(http_line_fd(p.line), bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(http_line_begin(p.line, &p.u.cx, &get), HTTP_LINE_LOST);
	assert_int_equal(http_line_sent(p.line), 0);
}

static void
the_end_of_the_other_side_is_seen(void **state)
{
	PAIR(idle);
	PAIR(busy);
	PAIR(gone);

	(void)state;
	(void)close(idle.other);
	idle.other = -1;
	assert_false(http_line_suits(idle.line, &get));
	assert_int_equal(http_line_begin(idle.line, &idle.u.cx, &get), HTTP_LINE_LOST); /* and no SIGPIPE */
	expect_begin(&busy);
	assert_int_equal(http_line_events(busy.line), POLLIN);
	assert_int_equal(http_line_go_on(busy.line, take_piece, &busy.got), HTTP_LINE_WAITS);
	assert_int_equal(shutdown(busy.other, SHUT_WR), 0);
	assert_int_equal(http_line_go_on(busy.line, take_piece, &busy.got), HTTP_LINE_LOST);
	assert_false(http_line_heard(busy.line));
	expect_begin(&gone);
	(void)close(gone.other); /* with what was sent unread */
	gone.other = -1;
	assert_int_equal(http_line_go_on(gone.line, take_piece, &gone.got), HTTP_LINE_LOST);
	assert_false(http_line_heard(gone.line));
}

static void
only_plain_addresses_have_lines(void **state)
{
	static const char *const others[] = { "https://a.example/", "ftp://a.example/", "", "http://[::1" };

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++) {
		int ends[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
		assert_null(http_line_new(ends[0], str_of(others[i])));
		assert_int_equal(fcntl(ends[0], F_GETFD), -1); /* closed */
		(void)close(ends[1]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_request_is_as_the_first_was),
		cmocka_unit_test(headers_that_curl_would_put_in_place_of_its_own_are_left_to_it),
		cmocka_unit_test(a_large_request_arrives_whole_however_slowly_it_is_read),
		cmocka_unit_test(every_kind_of_answer_is_heard_by_curl_and_over_the_line),
		cmocka_unit_test(what_is_too_large_is_said_so_and_ends_the_line),
		cmocka_unit_test(what_breaks_off_is_unknown_and_never_repeated),
		cmocka_unit_test(what_is_no_answer_of_a_line_is_left_to_curl),
		cmocka_unit_test(what_nobody_understands_is_unknown),
		cmocka_unit_test(a_line_that_ended_meanwhile_is_not_used),
		cmocka_unit_test(a_line_that_dies_without_a_word_is_made_good_once),
		cmocka_unit_test(a_line_that_dies_where_nobody_listens_any_more_leaves_it_unknown),
		cmocka_unit_test(who_has_spoken_unasked_is_not_listened_to),
		cmocka_unit_test(an_answer_before_all_was_sent_ends_the_line),
		cmocka_unit_test(a_line_serves_only_who_may_reach_its_other_end),
		cmocka_unit_test(a_line_leads_to_one_address),
		cmocka_unit_test(after_its_time_nothing_is_sent),
		cmocka_unit_test(who_keeps_nothing_neither_uses_nor_leaves_a_line),
		cmocka_unit_test(a_line_beside_which_nothing_was_kept_is_still_there),
		cmocka_unit_test(what_is_cancelled_takes_its_line_along),
		cmocka_unit_test(two_at_once_have_a_connection_each),
		cmocka_unit_test(an_answer_has_a_largest_head),
		cmocka_unit_test(what_comes_before_an_answer_is_no_part_of_its_body),
		cmocka_unit_test(what_follows_an_answer_ends_the_line),
		cmocka_unit_test(an_answer_to_half_a_request_ends_the_line),
		cmocka_unit_test(a_line_that_takes_nothing_at_once_is_lost),
		cmocka_unit_test(the_end_of_the_other_side_is_seen),
		cmocka_unit_test(only_plain_addresses_have_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
