/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/many.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "http/client/line.h"
#include "http/client/transfer.h"
#include "http/client/wait.h"

#include <stdlib.h>
#include <unistd.h>

struct http_flight {
	struct http_flight *next;
	struct http_line *line; /* over which it goes; or */
	CURL *curl;
	struct curl_slist *headers;
	int fd;		    /* what curl is done with, and may become a line; -1: none */
	uint64_t lost;	    /* bytes that have left over a line that was dead */
	struct arena arena; /* of what curl only borrows */
	struct ctx cx;
	struct transfer transfer;
	struct http_flight_calls calls;
	void *arg;
	bool enough;
	char why[CURL_ERROR_SIZE];
};

struct http_many {
	CURLM *multi;
	struct http_flight *flights;
	struct http_line *line; /* that nobody uses just now, or NULL */
	bool no_lines;		/* its server says what only curl understands */
	CURL *spare;		/* of a flight that is over: what it has allocated is used again; or NULL */
	struct fiber *fiber;	/* of who began the last one; NULL: a thread */
	struct pollfd *sockets, *polled; /* what curl wants to hear of; and a copy, with room for one more */
	size_t count, room;
	int64_t due_us; /* when curl wants to be called, whatever happens (clock_mono_us) */
};

/* --- what curl waits for --- */

static struct pollfd *
find(struct http_many *m, curl_socket_t fd)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->sockets[i].fd == fd)
			return &m->sockets[i];
	return NULL;
}

static void
make_room(struct http_many *m, size_t room)
{
	m->room = room;
	m->sockets = realloc(m->sockets, room * sizeof(*m->sockets));
	m->polled = realloc(m->polled, (room + 1) * sizeof(*m->polled));
	CHECK(m->sockets && m->polled);
}

static struct pollfd *
add(struct http_many *m, curl_socket_t fd)
{
	if (m->count == m->room)
		make_room(m, m->room * 2);
	m->sockets[m->count] = (struct pollfd){ .fd = fd };
	return &m->sockets[m->count++];
}

static int
watch(CURL *curl, curl_socket_t fd, int what, void *arg, void *unused)
{
	struct http_many *m = arg;
	struct pollfd *p = find(m, fd);

	(void)curl;
	(void)unused;
	if (what == CURL_POLL_REMOVE) {
		if (p)
			*p = m->sockets[--m->count];
		return 0;
	}
	p = p ? p : add(m, fd);
	p->events = (short)((what & CURL_POLL_IN ? POLLIN : 0) | (what & CURL_POLL_OUT ? POLLOUT : 0));
	return 0;
}

static int
set_timer(CURLM *multi, long ms, void *arg)
{
	struct http_many *m = arg;

	(void)multi;
	m->due_us = ms < 0 ? INT64_MAX : clock_mono_us() + (int64_t)ms * 1000;
	return 0;
}

static void
act(struct http_many *m, curl_socket_t fd, int what)
{
	int running;

	CHECK(curl_multi_socket_action(m->multi, fd, what, &running) == CURLM_OK);
}

static void
act_if_due(struct http_many *m)
{
	if (clock_mono_us() < m->due_us)
		return;
	m->due_us = INT64_MAX;
	act(m, CURL_SOCKET_TIMEOUT, 0);
}

/* --- flights --- */

struct http_many *
http_many_new(void)
{
	struct http_many *m = calloc(1, sizeof(*m));

	CHECK(m);
	m->multi = curl_multi_init();
	CHECK(m->multi); /* no memory */
	make_room(m, 4);
	m->due_us = INT64_MAX;
	CHECK(curl_multi_setopt(m->multi, CURLMOPT_SOCKETFUNCTION, watch) == CURLM_OK);
	CHECK(curl_multi_setopt(m->multi, CURLMOPT_SOCKETDATA, m) == CURLM_OK);
	CHECK(curl_multi_setopt(m->multi, CURLMOPT_TIMERFUNCTION, set_timer) == CURLM_OK);
	CHECK(curl_multi_setopt(m->multi, CURLMOPT_TIMERDATA, m) == CURLM_OK);
	return m;
}

static void
forget_socket(struct http_many *m, int fd)
{
	struct pollfd *p = find(m, fd);

	if (p)
		*p = m->sockets[--m->count];
}

/* For whoever is next. */
static void
keep_line(struct http_many *m, struct http_line *l)
{
	http_line_free(m->line);
	m->line = l;
}

static void
leave_line(struct http_many *m, struct http_flight *f)
{
	if (!f->line)
		return;
	forget_socket(m, http_line_fd(f->line));
	if (http_line_stays(f->line))
		keep_line(m, f->line);
	else
		http_line_free(f->line);
	f->line = NULL;
}

static void
leave_curl(struct http_many *m, struct http_flight *f)
{
	if (!f->curl)
		return;
	CHECK(curl_multi_remove_handle(m->multi, f->curl) == CURLM_OK); /* or it was never there */
	if (m->spare)
		curl_easy_cleanup(f->curl);
	else
		curl_easy_reset(m->spare = f->curl); /* connections are the multi's, and stay */
	curl_slist_free_all(f->headers);
	if (f->fd >= 0)
		(void)close(f->fd);
}

static void
destroy(struct http_many *m, struct http_flight *f)
{
	leave_line(m, f);
	leave_curl(m, f);
	arena_done(&f->arena);
	free(f);
}

void
http_many_cancel(struct http_many *m, struct http_flight *f)
{
	struct http_flight **at = &m->flights;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	destroy(m, f);
}

void
http_many_free(struct http_many *m)
{
	while (m->flights)
		http_many_cancel(m, m->flights);
	http_line_free(m->line);
	curl_easy_cleanup(m->spare); /* NULL is fine */
	CHECK(curl_multi_cleanup(m->multi) == CURLM_OK);
	free(m->sockets);
	free(m->polled);
	free(m);
}

static size_t
take(char *bytes, size_t size, size_t count, void *arg)
{
	struct http_flight *f = arg;

	f->enough = !f->calls.piece(f->arg, (str){ bytes, size * count });
	return f->enough ? 0 : size * count; /* 0 ends the transfer */
}

/* curl closes a connection: the one that was used may be kept as a line. */
static int
let_go(void *arg, curl_socket_t fd)
{
	struct http_many *m = arg;

	for (struct http_flight *f = m->flights; f; f = f->next)
		if (f->transfer.request.keep && f->curl && f->fd < 0 && f->transfer.sends &&
			f->transfer.socket == fd) {
			f->fd = fd;
			return 0;
		}
	return close(fd);
}

static void
set_keeping(struct http_many *m, struct http_flight *f)
{
	const struct http_client_request *r = &f->transfer.request;
	bool line = r->keep && str_starts(r->url, STR("http://")), reuse = r->keep && !line;

	SET(f->curl, CURLOPT_FRESH_CONNECT, reuse ? 0L : 1L);
	SET(f->curl, CURLOPT_FORBID_REUSE, reuse ? 0L : 1L);
	if (!line)
		return;
	SET(f->curl, CURLOPT_CLOSESOCKETFUNCTION, let_go);
	SET(f->curl, CURLOPT_CLOSESOCKETDATA, m); /* it outlives all of its connections */
}

static void
set_up(struct http_many *m, struct http_flight *f)
{
	struct http_client_request *r = &f->transfer.request;

	r->ca_file = r->ca_file ? arena_cstr(&f->arena, str_of(r->ca_file)) : NULL;
	transfer_set_up(&f->cx, f->curl, &f->transfer, &f->headers);
	set_keeping(m, f);
	SET(f->curl, CURLOPT_TIMEOUT_MS, 0L);
	SET(f->curl, CURLOPT_ERRORBUFFER, f->why);
	SET(f->curl, CURLOPT_WRITEFUNCTION, take);
	SET(f->curl, CURLOPT_WRITEDATA, f);
	SET(f->curl, CURLOPT_PRIVATE, f);
	SET(f->curl, CURLOPT_QUICK_EXIT,
		1L); /* who is cancelled does not wait for the name that it looks up */
}

static void
go_by_curl(struct http_many *m, struct http_flight *f)
{
	f->curl = m->spare ? m->spare : curl_easy_init();
	m->spare = NULL;
	CHECK(f->curl); /* no memory */
	set_up(m, f);
	CHECK(curl_multi_add_handle(m->multi, f->curl) == CURLM_OK);
}

/* The line is dead: what has left over it has left. */
static void
lose_line(struct http_many *m, struct http_flight *f)
{
	f->lost = http_line_sent(f->line);
	leave_line(m, f);
}

/* False: there is no line for it. */
static bool
go_by_line(struct http_many *m, struct http_flight *f)
{
	const struct http_client_request *r = &f->transfer.request;

	if (!r->keep || !m->line || (r->send_by_us && clock_mono_us() > r->send_by_us))
		return false;
	f->line = m->line;
	m->line = NULL;
	if (!http_line_suits(f->line, r)) {
		http_line_free(f->line);
		f->line = NULL;
		return false;
	}
	if (http_line_begin(f->line, &f->cx, r) != HTTP_LINE_WAITS) {
		lose_line(m, f);
		return false;
	}
	add(m, http_line_fd(f->line))->events = http_line_events(f->line);
	return true;
}

status
http_many_begin(struct http_many *m, struct ctx *cx, const struct http_client_request *r,
	const struct http_flight_calls *calls, void *arg, struct http_flight **out_flight)
{
	struct http_flight *f;

	TRY(transfer_check(cx, r));
	f = calloc(1, sizeof(*f));
	CHECK(f);
	arena_init(&f->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&f->cx, &f->arena);
	f->calls = *calls;
	f->arg = arg;
	f->fd = -1;
	f->transfer.request = *r;
	f->next = m->flights;
	m->flights = f;
	m->fiber = cx->fiber;
	if (!go_by_line(m, f))
		go_by_curl(m, f);
	*out_flight = f;
	return OK;
}

static status
result_of(struct http_flight *f, CURLcode code)
{
	status s;

	if (f->enough)
		return fail(&f->cx, E_TOO_LARGE, "the server's answer is too large");
	if (code == CURLE_OK)
		return OK;
	s = transfer_refuse(&f->cx, f->curl, &f->transfer, code, f->why);
	if (s == E_UNAVAILABLE && f->lost) /* nothing has left now, but before */
		return transfer_lost(&f->cx, &f->transfer.request, TRANSFER_BROKEN);
	return s;
}

static void
end(struct http_many *m, struct http_flight *f, status s)
{
	f->calls.done(f->arg, f, s, s != OK ? ctx_message(&f->cx, s) : (str){ 0 });
	http_many_cancel(m, f);
}

/* Has curl sent all of the request? An answer may come before. */
static bool
is_sent(const struct http_flight *f)
{
	curl_off_t body = 0;

	CHECK(curl_easy_getinfo(f->curl, CURLINFO_SIZE_UPLOAD_T, &body) == CURLE_OK);
	return (uint64_t)body == f->transfer.request.body.len;
}

/* Does the other side want to end the connection? */
static bool
wants_end(const struct http_flight *f)
{
	long version = 0;
	str said;

	CHECK(curl_easy_getinfo(f->curl, CURLINFO_HTTP_VERSION, &version) == CURLE_OK);
	for (size_t i = 0; (said = http_flight_header_at(f, "Connection", i)).len; i++)
		if (str_has_nocase(said, STR("close")))
			return true;
	return version != CURL_HTTP_VERSION_1_1;
}

/* What curl has opened and used is kept, where another request may follow. */
static void
make_line(struct http_many *m, struct http_flight *f)
{
	if (f->fd < 0 || m->no_lines || !is_sent(f) || wants_end(f))
		return;
	keep_line(m, http_line_new(f->fd, f->transfer.request.url));
	f->fd = -1;
}

/* Says the end of all that have one. Were there any? */
static bool
land(struct http_many *m)
{
	CURLMsg *message;
	bool any = false;
	int left;

	while ((message = curl_multi_info_read(m->multi, &left))) {
		struct http_flight *f = NULL;
		char *private = NULL;
		status s;

		if (message->msg != CURLMSG_DONE)
			continue;
		any = true;
		CHECK(curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private) == CURLE_OK);
		f = (struct http_flight *)(void *)private;
		s = result_of(f, message->data.result);
		if (s == OK)
			make_line(m, f);
		end(m, f, s);
	}
	return any;
}

static struct http_flight *
flight_on(struct http_many *m, int fd)
{
	for (struct http_flight *f = m->flights; f; f = f->next)
		if (f->line && http_line_fd(f->line) == fd)
			return f;
	return NULL;
}

/* keep says that it may go again: where the line was dead already; and where curl may understand what we do not. */
static bool
goes_again(const struct http_flight *f, enum http_line_state s)
{
	return (s == HTTP_LINE_LOST && !http_line_heard(f->line)) ||
	       (s == HTTP_LINE_BAD && !http_line_gave(f->line));
}

static status
line_result(struct http_flight *f, enum http_line_state s)
{
	const struct http_client_request *r = &f->transfer.request;

	if (s == HTTP_LINE_DONE)
		return OK;
	if (s == HTTP_LINE_ENOUGH)
		return fail(&f->cx, E_TOO_LARGE, "the server's answer is too large");
	return transfer_lost(&f->cx, r, s == HTTP_LINE_LOST ? TRANSFER_BROKEN : "its answer is not HTTP");
}

static void
act_on_line(struct http_many *m, struct http_flight *f)
{
	enum http_line_state s = http_line_go_on(f->line, f->calls.piece, f->arg);

	if (s == HTTP_LINE_WAITS) {
		struct pollfd *p = find(m, http_line_fd(f->line));

		CHECK(p);
		p->events = http_line_events(f->line);
	} else if (goes_again(f, s)) {
		m->no_lines = m->no_lines || s == HTTP_LINE_BAD;
		lose_line(m, f);
		go_by_curl(m, f);
	} else {
		end(m, f, line_result(f, s));
	}
}

static int
as_curl_says(short revents)
{
	return (revents & POLLIN ? CURL_CSELECT_IN : 0) | (revents & POLLOUT ? CURL_CSELECT_OUT : 0) |
	       (revents & ~(POLLIN | POLLOUT) ? CURL_CSELECT_ERR : 0);
}

/* Each is looked at as it was before any of them was heard: what one does may take others away. Is fd ready? */
static bool
wait_for_any(struct http_many *m, int fd, int timeout_ms)
{
	size_t n = m->count;

	memcpy(m->polled, m->sockets, n * sizeof(*m->polled));
	m->polled[n] = (struct pollfd){ .fd = fd, .events = POLLIN };
	http_wait(m->fiber, m->polled, n + (fd >= 0), timeout_ms);
	for (size_t i = 0; i < n; i++) {
		const struct pollfd *p = &m->polled[i];
		struct http_flight *f = p->revents ? flight_on(m, p->fd) : NULL;

		if (f)
			act_on_line(m, f);
		else if (p->revents && find(m, p->fd))
			act(m, p->fd, as_curl_says(p->revents));
	}
	return fd >= 0 && m->polled[n].revents;
}

/* At most so long, and not beyond what curl waits for. */
static int
wait_ms(const struct http_many *m, int timeout_ms)
{
	int64_t left_us = m->due_us == INT64_MAX ? INT64_MAX : m->due_us - clock_mono_us();

	if (left_us >= (int64_t)timeout_ms * 1000)
		return timeout_ms;
	return left_us > 0 ? (int)((left_us + 999) / 1000) : 0;
}

bool
http_many_poll(struct http_many *m, int fd, int timeout_ms)
{
	bool ready;

	act_if_due(m); /* what was begun is sent */
	if (land(m))
		timeout_ms = 0; /* it answered at once: something has happened already */
	ready = wait_for_any(m, fd, wait_ms(m, timeout_ms));
	act_if_due(m);
	(void)land(m);
	return ready;
}

int
http_flight_status(const struct http_flight *f)
{
	long number = 0;

	if (f->line)
		return http_line_status(f->line);
	CHECK(curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &number) == CURLE_OK);
	return (int)number;
}

uint64_t
http_flight_sent(const struct http_flight *f)
{
	long head = 0;
	curl_off_t body = 0;

	if (f->line)
		return http_line_sent(f->line);
	CHECK(curl_easy_getinfo(f->curl, CURLINFO_REQUEST_SIZE, &head) == CURLE_OK);
	CHECK(curl_easy_getinfo(f->curl, CURLINFO_SIZE_UPLOAD_T, &body) == CURLE_OK);
	return f->lost + (uint64_t)(head > body ? head : body);
}

str
http_flight_header_at(const struct http_flight *f, const char *name, size_t index)
{
	struct curl_header *h;

	if (f->line)
		return http_line_header(f->line, str_of(name), index);
	if (curl_easy_header(f->curl, name, index, CURLH_HEADER, -1, &h) != CURLHE_OK)
		return (str){ 0 };
	if (strcmp(h->value, "\r") == 0) /* what libcurl 7.88 leaves of a header without a value */
		return (str){ 0 };
	return str_of(h->value);
}

str
http_flight_header(const struct http_flight *f, const char *name)
{
	return http_flight_header_at(f, name, 0);
}
