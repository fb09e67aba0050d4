/* SPDX-License-Identifier: Apache-2.0 */
/* conn: one connection: bytes to requests, answers to bytes. Its states are drawn in server.h. */
#include "http/server.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "http/client/guard.h"

#include <stdlib.h>

static uint64_t
now_ms(const struct http_conn *c)
{
	return uv_now(&c->server->loop);
}

static void
enter(struct http_conn *c, enum http_conn_state state)
{
	c->state = state;
	c->since_ms = now_ms(c);
	c->queued = 0;
}

static uv_stream_t *
socket_of(struct http_conn *c)
{
	return (uv_stream_t *)&c->tcp;
}

/* --- the end --- */

static void
destroy(struct http_conn *c)
{
	struct http_server *s = c->server;

	if (c->slot)
		http_slot_give(c->slot);
	if (c->counted)
		http_peers_remove(s->peers, c->peer_key);
	http_tls_free(c->tls);
	free(c->ahead);
	*(c->prev ? &c->prev->next : &s->conns) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	free(c);
	atomic_fetch_sub(&s->connections, 1);
	http_server_check_end(s);
}

static void
on_closed(uv_handle_t *h)
{
	struct http_conn *c = h->data;

	c->socket_gone = true;
	if (!c->working)
		destroy(c);
}

void
http_conn_close(struct http_conn *c)
{
	if (c->state == HTTP_CONN_CLOSED)
		return;
	enter(c, HTTP_CONN_CLOSED);
	atomic_store(&c->gone, true);
	http_stream_lost(c);
	uv_close((uv_handle_t *)&c->tcp, on_closed);
}

/* --- sending --- */

struct out {
	uv_write_t req;
	struct http_conn *conn;
	void *owned;
};

static void drained(struct http_conn *c);

static void
on_written(uv_write_t *req, int failed)
{
	struct out *o = req->data;
	struct http_conn *c = o->conn;

	free(o->owned);
	free(o);
	c->writes--;
	if (failed)
		http_conn_close(c);
	else if (c->writes == 0)
		drained(c);
}

/* libuv reads what it is given to write, and says so nowhere in its types. */
static uv_buf_t
buf_of(str s)
{
	return (uv_buf_t){ .base = (char *)(uintptr_t)s.ptr, .len = s.len };
}

static void
queue(struct http_conn *c, str a, str b, void *owned)
{
	uv_buf_t bufs[2] = { buf_of(a), buf_of(b) };
	struct out *o = malloc(sizeof(*o));

	CHECK(o);
	o->conn = c;
	o->owned = owned;
	o->req.data = o;
	c->writes++;
	if (uv_write(&o->req, socket_of(c), bufs, b.len ? 2 : 1, on_written) < 0) {
		c->writes--;
		free(owned);
		free(o);
		http_conn_close(c);
	}
}

/* Most answers leave with one write, here; what the kernel does not take waits in libuv's queue. */
static bool
send_bytes(struct http_conn *c, str a, str b, void *owned)
{
	uv_buf_t bufs[2] = { buf_of(a), buf_of(b) };
	int tried = uv_try_write(socket_of(c), bufs, b.len ? 2 : 1);
	size_t sent = tried > 0 ? (size_t)tried : 0;

	if (tried < 0 && tried != UV_EAGAIN) {
		free(owned);
		http_conn_close(c);
		return false;
	}
	if (sent == a.len + b.len) {
		free(owned);
		return true;
	}
	if (sent < a.len)
		queue(c, str_skip(a, sent), b, owned);
	else
		queue(c, str_skip(b, sent - a.len), (str){ 0 }, owned);
	return false;
}

/* Sends what TLS has to say. True: all of it is with the kernel. */
static bool
send_tls(struct http_conn *c)
{
	size_t n;
	char *bytes = http_tls_take(c->tls, &n);

	return !bytes || send_bytes(c, (str){ bytes, n }, (str){ 0 }, bytes);
}

bool
http_conn_send(struct http_conn *c, str a, str b, void *owned)
{
	bool ok;

	if (!c->tls)
		return send_bytes(c, a, b, owned);
	ok = http_tls_write(c->tls, a) && http_tls_write(c->tls, b);
	free(owned);
	if (!ok)
		http_conn_close(c);
	return ok && send_tls(c);
}

/* --- after the last answer --- */

/*
 * Closing a socket with unread bytes would reset it, and the client might lose
 * the answer. So only our side is closed, and what comes is thrown away for a while.
 */
static void
linger(struct http_conn *c)
{
	int fd;

	if (c->tls && c->state != HTTP_CONN_LINGERING) {
		http_tls_end(c->tls);
		enter(c, HTTP_CONN_LINGERING);
		if (!send_tls(c))
			return; /* drained comes back */
	}
	if (c->state == HTTP_CONN_CLOSED)
		return;
	enter(c, HTTP_CONN_LINGERING);
	free(c->ahead); /* nobody will answer it */
	c->ahead = NULL;
	if (c->eof || uv_fileno((uv_handle_t *)&c->tcp, &fd) < 0 || shutdown(fd, SHUT_WR) < 0)
		http_conn_close(c);
}

void
http_conn_end(struct http_conn *c)
{
	http_stream_lost(c);
	c->ends = true;
	if (c->writes == 0)
		linger(c);
}

/* --- answering --- */

/* The answer is with the kernel. */
static void
sent(struct http_conn *c)
{
	struct http_slot *slot = c->slot;

	if (c->server->o.done)
		c->server->o.done(&slot->x, clock_mono_us() - slot->began_us);
	c->slot = NULL;
	c->stream = slot->x.stream;
	if (slot->x.req.method == HTTP_HEAD_)
		http_stream_lost(c);
	http_slot_give(slot);
	if (c->stream) {
		enter(c, HTTP_CONN_STREAMING);
		http_stream_start(c);
	} else if (c->ends) {
		linger(c);
	} else {
		enter(c, HTTP_CONN_READING);
	}
}

/* No stream, or one that can have no reader. */
static void
drop_stream(struct http_conn *c, struct http_slot *slot)
{
	c->stream = slot->x.stream;
	slot->x.stream = NULL;
	http_stream_lost(c);
}

static void
replace(struct http_conn *c)
{
	struct http_slot *slot = c->slot;

	drop_stream(c, slot);
	http_answer_clear(&slot->x);
	http_refuse(&slot->x, fail(&slot->cx, E_INTERNAL, "the answer could not be made"));
}

/* Sends the slot's answer. Afterwards the connection is reading again, or not: see its state. */
static void
answer(struct http_conn *c)
{
	struct http_slot *slot = c->slot;

	if (!http_answer_ok(&slot->x)) /* too large, or the handler forgot to say */
		replace(c);
	FAULT(http_before_answer);
	c->ends = c->ends || !slot->parse.keep_alive || c->server->draining || slot->x.stream ||
		  (c->eof && !c->ahead);
	slot->answer = http_answer_make(&c->server->answers, &slot->x, c->ends);
	enter(c, HTTP_CONN_SENDING);
	if (http_conn_send(c, slot->answer.head, slot->answer.body, NULL))
		sent(c);
}

/* Answers without a handler. What is left of the request's body will not be read, so that ends the
 * connection. */
static void
refuse(struct http_conn *c, status s)
{
	struct http_parse *p = &c->slot->parse;
	bool whole = p->state == HTTP_READS_NOTHING && p->error == OK;
	bool head_only = p->state != HTTP_READS_HEAD && p->error == OK && !p->has_body;

	atomic_fetch_add(&c->server->refused, 1);
	c->ends = !whole && !head_only;
	http_refuse(&c->slot->x, s);
	answer(c);
}

static void
refuse_bad(struct http_conn *c)
{
	struct http_slot *slot = c->slot;

	http_slot_fill(slot);
	refuse(c, fail(&slot->cx, slot->parse.error, "%s", slot->parse.why));
}

/* Can it be answered here, on the loop? */
static bool
answer_here(struct http_slot *slot, const struct http_route *r)
{
	struct arena_mark before = arena_mark(&slot->arena);

	if (r->where == HTTP_INLINE) {
		r->handler(&slot->x, r->arg);
		return true;
	}
	if (!r->peek)
		return false;
	if (r->peek(&slot->x, r->arg))
		return true;
	http_answer_clear(&slot->x);
	arena_rewind(&slot->arena, before);
	return false;
}

static void
dispatch(struct http_conn *c)
{
	struct http_slot *slot = c->slot;

	slot->x.req.body = buf_str(&slot->parse.body);
	if (answer_here(slot, slot->x.route)) {
		atomic_fetch_add(&c->server->requests, 1);
		answer(c);
	} else if (http_pool_submit(c->server->pool, &slot->job)) {
		atomic_fetch_add(&c->server->requests, 1);
		enter(c, HTTP_CONN_WORKING);
		c->working = true;
	} else {
		refuse(c, fail(&slot->cx, E_BUSY, "too many requests are waiting; nothing was changed"));
	}
}

/* --- reading --- */

/* The head is there: does anybody want this request? False: it was refused. */
static bool
take_head(struct http_conn *c, bool body_follows)
{
	struct http_slot *slot = c->slot;
	status s;

	http_slot_fill(slot);
	s = http_slot_route(slot);
	if (s == OK)
		s = http_slot_check_body(slot);
	if (s != OK) {
		refuse(c, s);
		return false;
	}
	c->since_ms = now_ms(c); /* from here on the body's rate counts */
	if (slot->parse.expects && slot->parse.has_body && !body_follows &&
		!http_conn_send(c, STR("HTTP/1.1 100 Continue\r\n\r\n"), (str){ 0 }, NULL))
		http_conn_close(c); /* its very first bytes do not leave: nobody reads there */
	return c->state == HTTP_CONN_READING;
}

/* Lets the parser take from in, and does what follows from it. */
static void
step(struct http_conn *c, str *in)
{
	enum http_parse_event e;

	if (!c->slot) {
		c->slot = http_slot_take(c);
		enter(c, HTTP_CONN_READING);
	}
	e = http_parse_feed(&c->slot->parse, in);
	if (e == HTTP_PARSE_HEAD) {
		if (!take_head(c, in->len > 0))
			return;
		e = http_parse_feed(&c->slot->parse, in);
	}
	if (e == HTTP_PARSE_DONE)
		dispatch(c);
	else if (e == HTTP_PARSE_BAD)
		refuse_bad(c);
}

/* Keeps what was read before its turn. Too much of it, and the socket is not read for a while. */
static void
keep(struct http_conn *c, str in)
{
	size_t len = c->ahead ? c->ahead->len : 0;
	struct http_ahead *a = realloc(c->ahead, sizeof(*a) + len + in.len);

	CHECK(a);
	memcpy(a->bytes + len, in.ptr, in.len);
	a->len = len + in.len;
	c->ahead = a;
	if (a->len > LIMIT_HTTP_PIPELINE && !c->paused) {
		c->paused = true;
		(void)uv_read_stop(socket_of(c));
	}
}

static void
pump(struct http_conn *c, str in)
{
	while (in.len > 0 && c->state == HTTP_CONN_READING)
		step(c, &in);
	if (in.len > 0 && (c->state == HTTP_CONN_WORKING || c->state == HTTP_CONN_SENDING))
		keep(c, in);
}

static void
on_plain(struct http_conn *c, str in)
{
	if (c->ahead)
		keep(c, in);
	else
		pump(c, in);
}

/* The client will send no more. Its request goes on; see the choices in http.h. */
static void
on_eof(struct http_conn *c)
{
	c->eof = true;
	atomic_store(&c->gone, true);
	if (c->state != HTTP_CONN_WORKING && c->state != HTTP_CONN_SENDING)
		http_conn_close(c);
}

static void
on_cipher(struct http_conn *c, str in)
{
	char text[16 * KIB];
	size_t n;
	enum http_tls_event e = HTTP_TLS_TEXT;

	http_tls_feed(c->tls, in);
	while (e == HTTP_TLS_TEXT && c->state != HTTP_CONN_CLOSED) {
		e = http_tls_read(c->tls, text, sizeof(text), &n);
		if (e == HTTP_TLS_TEXT)
			on_plain(c, (str){ text, n });
	}
	if (c->state == HTTP_CONN_CLOSED)
		return;
	(void)send_tls(c);
	if (e == HTTP_TLS_END)
		on_eof(c);
	else if (e == HTTP_TLS_BROKEN)
		http_conn_close(c);
}

static void
on_room(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
	struct http_conn *c = h->data;

	(void)suggested;
	*buf = uv_buf_init(c->server->read_room, HTTP_READ_ROOM);
}

static void
on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct http_conn *c = stream->data;

	if (n == UV_EOF)
		on_eof(c);
	else if (n < 0)
		http_conn_close(c);
	else if (n > 0 && c->tls)
		on_cipher(c, (str){ buf->base, (size_t)n });
	else if (n > 0)
		on_plain(c, (str){ buf->base, (size_t)n });
}

/* An answer is out: the requests that waited behind it have their turn. */
static void
resume(struct http_conn *c)
{
	struct http_ahead *a = c->ahead;

	if (c->state == HTTP_CONN_READING && a) {
		c->ahead = NULL;
		pump(c, (str){ a->bytes, a->len });
		free(a);
	}
	if (c->state == HTTP_CONN_READING && c->eof)
		http_conn_close(c);
	if (c->paused && !c->ahead && (c->state == HTTP_CONN_READING || c->state == HTTP_CONN_LINGERING)) {
		c->paused = false;
		if (uv_read_start(socket_of(c), on_room, on_read) < 0)
			http_conn_close(c);
	}
}

static void
drained(struct http_conn *c)
{
	if (c->state == HTTP_CONN_SENDING)
		sent(c);
	else if (c->state == HTTP_CONN_STREAMING && c->stream)
		http_stream_sent(c);
	else if (c->state == HTTP_CONN_STREAMING || c->state == HTTP_CONN_LINGERING)
		linger(c);
	resume(c);
}

void
http_conn_worked(struct http_conn *c)
{
	c->working = false;
	if (c->state == HTTP_CONN_CLOSED) {
		drop_stream(c, c->slot); /* opened for a client that had left */
		if (c->socket_gone)
			destroy(c);
		return;
	}
	answer(c);
	resume(c);
}

/* --- accepting --- */

static bool
count_peer(struct http_conn *c)
{
	struct http_server *s = c->server;
	struct sockaddr_storage a;
	int len = sizeof(a);

	if (uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&a, &len) < 0)
		return false;
	if (uv_ip_name((struct sockaddr *)&a, c->peer, sizeof(c->peer)) < 0)
		return false;
	if (atomic_load(&s->connections) > s->o.max_connections)
		return false;
	if (http_net_has(s->o.proxies.nets, s->o.proxies.count, (struct sockaddr *)&a))
		return true; /* it speaks for many */
	c->peer_key = http_peer_key((struct sockaddr *)&a);
	c->counted = http_peers_add(s->peers, c->peer_key, s->o.max_connections_per_address);
	return c->counted;
}

/* One more client; where there are too many, it is closed at once: an answer would cost what the limit saves.
 */
void
http_conn_accept(struct http_server *s)
{
	struct http_conn *c = calloc(1, sizeof(*c));

	CHECK(c);
	c->server = s;
	CHECK(uv_tcp_init(&s->loop, &c->tcp) == 0);
	c->tcp.data = c;
	c->next = s->conns;
	if (s->conns)
		s->conns->prev = c;
	s->conns = c;
	atomic_fetch_add(&s->connections, 1);
	enter(c, HTTP_CONN_READING);
	if (uv_accept((uv_stream_t *)&s->listener, socket_of(c)) < 0 || !count_peer(c)) {
		atomic_fetch_add(&s->refused, 1);
		http_conn_close(c);
		return;
	}
	if (s->tls)
		c->tls = http_tls_new(s->tls);
	(void)uv_tcp_nodelay(&c->tcp, 1);
	if (uv_read_start(socket_of(c), on_room, on_read) < 0)
		http_conn_close(c);
}

/* --- slowness --- */

static bool
body_too_slow(const struct http_conn *c, uint64_t spent_ms)
{
	return spent_ms > (uint64_t)c->server->o.body_grace_ms &&
	       c->slot->parse.body.len < spent_ms * LIMIT_HTTP_BODY_RATE / 1000;
}

static void
check_reading(struct http_conn *c, uint64_t spent_ms)
{
	const struct http_options *o = &c->server->o;
	bool shaking = c->tls && !http_tls_ready(c->tls);

	if (!c->slot) {
		if (spent_ms > (uint64_t)(shaking ? o->head_ms : o->idle_ms))
			http_conn_close(c);
	} else if (c->slot->parse.state == HTTP_READS_HEAD) {
		if (spent_ms <= (uint64_t)o->head_ms)
			return;
		http_slot_fill(c->slot);
		refuse(c, fail(&c->slot->cx, E_TIMEOUT, "the request's head did not arrive in time"));
	} else if (body_too_slow(c, spent_ms)) {
		refuse(c, fail(&c->slot->cx, E_TIMEOUT, "the request's body came too slowly"));
	}
}

/* A client that takes nothing for so long is not there, whatever its kernel says. */
static void
check_sending(struct http_conn *c, uint64_t now)
{
	size_t queued = uv_stream_get_write_queue_size(socket_of(c));

	if (queued == 0 || queued != c->queued)
		c->since_ms = now;
	c->queued = queued;
	if (now - c->since_ms > (uint64_t)c->server->o.send_ms)
		http_conn_close(c);
}

void
http_conn_check_time(struct http_conn *c, uint64_t now)
{
	switch (c->state) {
	case HTTP_CONN_READING:
		check_reading(c, now - c->since_ms);
		break;
	case HTTP_CONN_SENDING:
		check_sending(c, now);
		break;
	case HTTP_CONN_STREAMING:
		http_stream_heartbeat(c);
		if (c->state == HTTP_CONN_STREAMING)
			check_sending(c, now);
		break;
	case HTTP_CONN_LINGERING:
		if (now - c->since_ms > (uint64_t)c->server->o.linger_ms)
			http_conn_close(c);
		break;
	case HTTP_CONN_WORKING: /* its handler's business */
	case HTTP_CONN_CLOSED:
		break;
	}
}
