/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream: Server-Sent Events. A holder on any thread appends text; the loop
 * takes it and sends it. Two sides hold a stream, the holder and the
 * connection; the second one to let go frees it.
 */
#include "http/server.h"

#include "base/check.h"
#include "base/scoped.h"

#include <stdlib.h>

struct http_stream {
	struct http_server *server;

	/* guarded by server->streams_lock */
	struct http_conn *conn;	   /* once it streams; only the loop uses it */
	struct http_stream *dirty; /* the next one with news */
	bool is_dirty;
	bool lost;   /* the connection has let go */
	bool slow;   /* the backlog is full: it will be cut off */
	bool closed; /* the holder has let go */
	char *text;  /* not yet taken by the loop */
	size_t len, room;
	size_t flying; /* taken, not yet with the kernel */
};

/* With the lock held. True: nobody holds it any more, free it after unlocking. */
static bool
unheld(const struct http_stream *t)
{
	return t->lost && t->closed && !t->is_dirty;
}

static void
destroy(struct http_stream *t)
{
	free(t->text);
	free(t);
}

/* With the lock held. */
static void
mark(struct http_stream *t)
{
	if (t->is_dirty || t->lost)
		return;
	t->is_dirty = true;
	t->dirty = t->server->streams_dirty;
	t->server->streams_dirty = t;
}

struct http_stream *
http_stream_open(struct http_exchange *x)
{
	struct http_stream *t = calloc(1, sizeof(*t));

	CHECK(t && x->conn && !x->stream);
	t->server = x->conn->server;
	x->stream = t;
	x->status = 200;
	x->content_type = "text/event-stream";
	http_add_header(x, STR("X-Accel-Buffering"), STR("no")); /* a proxy must not hold events back */
	return t;
}

/* --- the holder's side --- */

static bool
is_line(str s)
{
	return str_find(s, '\n') == s.len && str_find(s, '\r') == s.len && str_find(s, '\0') == s.len;
}

static void
put(struct http_stream *t, str s)
{
	if (s.len)
		memcpy(t->text + t->len, s.ptr, s.len);
	t->len += s.len;
}

static void
put_field(struct http_stream *t, str name, str value)
{
	if (value.len == 0)
		return;
	put(t, name);
	put(t, value);
	put(t, STR("\n"));
}

/* Each line of data in a field of its own; the browser joins them again. */
static void
put_data(struct http_stream *t, str data)
{
	str line;

	while (str_cut(data, '\n', &line, &data)) {
		put(t, STR("data: "));
		put(t, line);
		put(t, STR("\n"));
	}
	put(t, STR("data: "));
	put(t, data);
	put(t, STR("\n\n"));
}

static size_t
size_of_event(str event, str id, str data)
{
	size_t lines = 1;

	for (size_t i = 0; i < data.len; i++)
		lines += data.ptr[i] == '\n';
	return event.len + id.len + data.len + 7 * lines + 32;
}

/* Room for n bytes more. False: the reader is too slow. */
static bool
make_room(struct http_stream *t, size_t n)
{
	if (t->flying + t->len + n > (size_t)t->server->o.stream_backlog)
		return false;
	if (t->len + n > t->room) {
		t->room = t->len + n;
		t->text = realloc(t->text, t->room);
		CHECK(t->text);
	}
	return true;
}

static bool
append(struct http_stream *t, str event, str id, str data)
{
	scoped_lock held = lock(&t->server->streams_lock);

	CHECK(!t->closed);
	if (t->lost || t->slow)
		return false;
	mark(t);
	t->slow = !make_room(t, size_of_event(event, id, data));
	if (t->slow)
		return false;
	put_field(t, STR("event: "), event);
	put_field(t, STR("id: "), id);
	put_data(t, data);
	return true;
}

bool
http_stream_send(struct http_stream *t, str event, str id, str data)
{
	bool ok;

	CHECK(is_line(event) && is_line(id));
	ok = append(t, event, id, data);
	(void)uv_async_send(&t->server->async);
	return ok;
}

static bool
append_prime(struct http_stream *t, str id, str retry)
{
	scoped_lock held = lock(&t->server->streams_lock);

	CHECK(!t->closed);
	if (t->lost || t->slow)
		return false;
	mark(t);
	t->slow = !make_room(t, size_of_event(retry, id, (str){ 0 }));
	if (t->slow)
		return false;
	put_field(t, STR("id: "), id);
	put_field(t, STR("retry: "), retry);
	put_data(t, (str){ 0 });
	return true;
}

bool
http_stream_prime(struct http_stream *t, str id, int retry_ms)
{
	char room[STR_INT_ROOM];
	bool ok;

	CHECK(is_line(id));
	ok = append_prime(t, id, str_of_int(retry_ms, room));
	(void)uv_async_send(&t->server->async);
	return ok;
}

bool
http_stream_gone(const struct http_stream *t)
{
	scoped_lock held = lock(&t->server->streams_lock);

	return t->lost || t->slow;
}

static bool
let_go(struct http_stream *t)
{
	scoped_lock held = lock(&t->server->streams_lock);

	mark(t);
	t->closed = true;
	return unheld(t);
}

void
http_stream_close(struct http_stream *t)
{
	struct http_server *s = t->server;

	if (let_go(t))
		destroy(t);
	else
		(void)uv_async_send(&s->async);
}

/* --- the loop's side --- */

void
http_stream_start(struct http_conn *c)
{
	struct http_stream *t = c->stream;

	atomic_fetch_add(&c->server->streams, 1);
	c->sent_ms = uv_now(&c->server->loop);
	{
		scoped_lock held = lock(&c->server->streams_lock);

		t->conn = c;
		mark(t);
	}
	(void)uv_async_send(&c->server->async); /* what was sent before the headers were */
	if (c->server->draining)
		http_conn_end(c);
}

static bool
cut_loose(struct http_server *s, struct http_stream *t)
{
	scoped_lock held = lock(&s->streams_lock);

	if (t->conn)
		atomic_fetch_sub(&s->streams, 1);
	t->conn = NULL;
	t->lost = true;
	return unheld(t);
}

void
http_stream_lost(struct http_conn *c)
{
	struct http_stream *t = c->stream;

	c->stream = NULL;
	if (t && cut_loose(c->server, t))
		destroy(t);
}

void
http_stream_sent(struct http_conn *c)
{
	scoped_lock held = lock(&c->server->streams_lock);

	c->stream->flying = 0;
}

struct news {
	struct http_conn *conn; /* NULL: none to send to */
	char *text;
	size_t len;
	bool slow, closed, unheld;
};

static struct http_stream *
next_dirty(struct http_server *s, struct news *out)
{
	scoped_lock held = lock(&s->streams_lock);
	struct http_stream *t = s->streams_dirty;

	if (!t)
		return NULL;
	s->streams_dirty = t->dirty;
	t->is_dirty = false;
	*out = (struct news){ .conn = t->conn, .slow = t->slow, .closed = t->closed, .unheld = unheld(t) };
	if (!t->conn)
		return t; /* its text waits for the headers */
	out->text = t->text;
	out->len = t->len;
	t->flying += t->len;
	t->text = NULL;
	t->len = t->room = 0;
	return t;
}

static void
landed(struct http_stream *t, size_t n)
{
	scoped_lock held = lock(&t->server->streams_lock);

	t->flying -= n;
}

static void
send_news(struct http_stream *t, struct news *n)
{
	struct http_conn *c = n->conn;

	if (n->slow) {
		free(n->text);
		http_conn_close(c); /* whatever it still reads, it has missed something */
		return;
	}
	if (n->len) {
		c->sent_ms = uv_now(&c->server->loop);
		if (http_conn_send(c, (str){ n->text, n->len }, (str){ 0 }, n->text))
			landed(t, n->len);
	}
	if (n->closed && c->state == HTTP_CONN_STREAMING)
		http_conn_end(c);
}

void
http_streams_flush(struct http_server *s)
{
	struct http_stream *t;
	struct news n;

	while ((t = next_dirty(s, &n))) {
		if (n.unheld)
			destroy(t);
		else if (n.conn)
			send_news(t, &n);
	}
}

void
http_stream_heartbeat(struct http_conn *c)
{
	uint64_t now = uv_now(&c->server->loop);

	if (!c->stream) /* it has ended, and its last bytes are on their way */
		return;
	if (c->writes > 0 || now - c->sent_ms < (uint64_t)c->server->o.heartbeat_ms)
		return;
	c->sent_ms = now;
	(void)http_conn_send(c, STR(":\n\n"), (str){ 0 }, NULL);
}
