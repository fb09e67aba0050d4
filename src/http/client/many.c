/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/many.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "http/client/transfer.h"
#include "http/client/wait.h"

#include <stdlib.h>

struct http_flight {
	struct http_flight *next;
	CURL *curl;
	struct curl_slist *headers;
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
	CURL *spare;	     /* of a flight that is over: what it has allocated is used again; or NULL */
	struct fiber *fiber; /* of who began the last one; NULL: a thread */
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
destroy(struct http_many *m, struct http_flight *f)
{
	CHECK(curl_multi_remove_handle(m->multi, f->curl) == CURLM_OK); /* or it was never there */
	if (m->spare)
		curl_easy_cleanup(f->curl);
	else
		curl_easy_reset(m->spare = f->curl); /* connections are the multi's, and stay */
	curl_slist_free_all(f->headers);
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
	struct http_flight *next;

	for (struct http_flight *f = m->flights; f; f = next) {
		next = f->next;
		destroy(m, f);
	}
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

static status
set_up(struct http_flight *f, const struct http_client_request *r)
{
	f->transfer.request = *r;
	f->transfer.request.ca_file = r->ca_file ? arena_cstr(&f->arena, str_of(r->ca_file)) : NULL;
	TRY(transfer_set_up(&f->cx, f->curl, &f->transfer, &f->headers));
	SET(f->curl, CURLOPT_TIMEOUT_MS, 0L);
	SET(f->curl, CURLOPT_FRESH_CONNECT, r->keep ? 0L : 1L);
	SET(f->curl, CURLOPT_FORBID_REUSE, r->keep ? 0L : 1L);
	SET(f->curl, CURLOPT_ERRORBUFFER, f->why);
	SET(f->curl, CURLOPT_WRITEFUNCTION, take);
	SET(f->curl, CURLOPT_WRITEDATA, f);
	SET(f->curl, CURLOPT_PRIVATE, f);
	SET(f->curl, CURLOPT_QUICK_EXIT,
		1L); /* who is cancelled does not wait for the name that it looks up */
	return OK;
}

status
http_many_begin(struct http_many *m, struct ctx *cx, const struct http_client_request *r,
	const struct http_flight_calls *calls, void *arg, struct http_flight **out_flight)
{
	struct http_flight *f = calloc(1, sizeof(*f));
	status s;

	CHECK(f);
	arena_init(&f->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&f->cx, &f->arena);
	f->calls = *calls;
	f->arg = arg;
	f->curl = m->spare ? m->spare : curl_easy_init();
	m->spare = NULL;
	CHECK(f->curl); /* no memory */
	s = set_up(f, r);
	if (s != OK) {
		s = fail(cx, s, "%.*s", STR_ARG(ctx_message(&f->cx, s)));
		destroy(m, f);
		return s;
	}
	f->next = m->flights;
	m->flights = f;
	m->fiber = cx->fiber;
	CHECK(curl_multi_add_handle(m->multi, f->curl) == CURLM_OK);
	*out_flight = f;
	return OK;
}

static status
result_of(struct http_flight *f, CURLcode code)
{
	if (f->enough)
		return fail(&f->cx, E_TOO_LARGE, "the server's answer is too large");
	return code == CURLE_OK ? OK : transfer_refuse(&f->cx, f->curl, &f->transfer, code, f->why);
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
		f->calls.done(f->arg, f, s, s != OK ? ctx_message(&f->cx, s) : (str){ 0 });
		http_many_cancel(m, f);
	}
	return any;
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

		if (p->revents && find(m, p->fd))
			act(m, p->fd,
				(p->revents & POLLIN ? CURL_CSELECT_IN : 0) |
					(p->revents & POLLOUT ? CURL_CSELECT_OUT : 0) |
					(p->revents & ~(POLLIN | POLLOUT) ? CURL_CSELECT_ERR : 0));
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

	CHECK(curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &number) == CURLE_OK);
	return (int)number;
}

uint64_t
http_flight_sent(const struct http_flight *f)
{
	long head = 0;
	curl_off_t body = 0;

	CHECK(curl_easy_getinfo(f->curl, CURLINFO_REQUEST_SIZE, &head) == CURLE_OK);
	CHECK(curl_easy_getinfo(f->curl, CURLINFO_SIZE_UPLOAD_T, &body) == CURLE_OK);
	return (uint64_t)(head > body ? head : body);
}

str
http_flight_header_at(const struct http_flight *f, const char *name, size_t index)
{
	struct curl_header *h;

	if (curl_easy_header(f->curl, name, index, CURLH_HEADER, -1, &h) != CURLHE_OK)
		return (str){ 0 };
	return str_of(h->value);
}

str
http_flight_header(const struct http_flight *f, const char *name)
{
	return http_flight_header_at(f, name, 0);
}
