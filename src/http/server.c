/* SPDX-License-Identifier: Apache-2.0 */
/* server: listening, the loop, the sweep against slowness, stopping. */
#include "http/server.h"

#include "base/check.h"
#include "base/log.h"
#include "base/random.h"
#include "base/scoped.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

#define BACKLOG 1024 /* clients that knock while the loop is busy */

/* --- the end --- */

void
http_server_check_end(struct http_server *s)
{
	if (!s->draining || s->conns || uv_is_closing((uv_handle_t *)&s->tick))
		return;
	uv_close((uv_handle_t *)&s->tick, NULL);
	uv_close((uv_handle_t *)&s->async, NULL);
}

static void
begin_drain(struct http_server *s)
{
	struct http_conn *next;

	if (s->draining)
		return;
	s->draining = true;
	s->drain_until_ms = uv_now(&s->loop) + (uint64_t)s->o.drain_seconds * 1000;
	uv_close((uv_handle_t *)&s->listener, NULL);
	for (struct http_conn *c = s->conns; c; c = next) {
		next = c->next;
		if (c->state == HTTP_CONN_READING && !c->slot)
			http_conn_close(c);
		else if (c->state == HTTP_CONN_STREAMING)
			http_conn_end(c);
	}
	http_server_check_end(s);
}

/* The time is up: sockets are closed, what no worker has begun is dropped. Workers are waited for. */
static void
force_end(struct http_server *s)
{
	struct http_job *j = http_pool_cancel(s->pool), *next;

	s->forced = true;
	for (struct http_conn *c = s->conns; c; c = c->next)
		http_conn_close(c);
	for (; j; j = next) {
		next = j->next;
		http_conn_worked(((struct http_slot *)((char *)j - offsetof(struct http_slot, job)))->conn);
	}
}

/* --- what wakes the loop --- */

static void
collect(struct http_server *s)
{
	struct http_job *j = http_pool_collect(s->pool), *next;

	for (; j; j = next) {
		next = j->next;
		http_conn_worked(((struct http_slot *)((char *)j - offsetof(struct http_slot, job)))->conn);
	}
}

static void
reload(struct http_server *s)
{
	struct arena a;
	struct ctx cx;
	struct http_tls_context *fresh;

	if (!s->tls)
		return;
	arena_init(&a, LIMIT_ARENA_CHUNK);
	ctx_init(&cx, &a);
	if (http_tls_context_new(&cx, s->o.tls_certificate, s->o.tls_key, &fresh) == OK) {
		http_tls_context_free(s->tls);
		s->tls = fresh;
		LOG(LOG_INFO, "tls.reloaded", LOG_STR("certificate", str_of(s->o.tls_certificate)));
	} else {
		LOG(LOG_ERROR, "tls.not_reloaded", LOG_STR("reason", ctx_message(&cx, E_INVALID)));
	}
	arena_done(&a);
}

static void
on_async(uv_async_t *h)
{
	struct http_server *s = h->data;

	collect(s);
	http_streams_flush(s);
	if (atomic_exchange(&s->reload, false))
		reload(s);
	if (atomic_load(&s->stop))
		begin_drain(s);
}

/* One timer for all connections: a second late is early enough, and costs nothing per request. */
static void
on_tick(uv_timer_t *h)
{
	struct http_server *s = h->data;
	uint64_t now = uv_now(&s->loop);
	struct http_conn *next;

	for (struct http_conn *c = s->conns; c; c = next) {
		next = c->next;
		http_conn_check_time(c, now);
	}
	if (s->draining && !s->forced && now >= s->drain_until_ms)
		force_end(s);
}

static void
on_connection(uv_stream_t *listener, int failed)
{
	struct http_server *s = listener->data;

	if (failed) /* out of descriptors; libuv has already turned the client away */
		atomic_fetch_add(&s->refused, 1);
	else
		http_conn_accept(s);
}

static void
run_job(struct http_job *j)
{
	struct http_slot *slot = (struct http_slot *)((char *)j - offsetof(struct http_slot, job));

	slot->cx.place = &slot->conn->server->place;
	slot->x.route->handler(&slot->x, slot->x.route->arg);
}

static void
wake(void *arg)
{
	struct http_server *s = arg;

	(void)uv_async_send(&s->async);
}

/* --- the beginning --- */

static int
or_default(int value, unsigned otherwise)
{
	return value > 0 ? value : (int)otherwise;
}

static void
set_defaults(struct http_options *o)
{
	o->workers = or_default(o->workers, LIMIT_HTTP_WORKERS);
	o->max_connections = or_default(o->max_connections, LIMIT_HTTP_CONNECTIONS);
	o->max_connections_per_address = or_default(o->max_connections_per_address, LIMIT_HTTP_PER_ADDRESS);
	o->max_jobs = or_default(o->max_jobs, LIMIT_HTTP_JOBS);
	o->stream_backlog = or_default(o->stream_backlog, LIMIT_HTTP_STREAM_BACKLOG);
	o->head_ms = or_default(o->head_ms, LIMIT_HTTP_HEAD_SECONDS * 1000);
	o->body_grace_ms = or_default(o->body_grace_ms, LIMIT_HTTP_BODY_GRACE_SECONDS * 1000);
	o->idle_ms = or_default(o->idle_ms, LIMIT_HTTP_IDLE_SECONDS * 1000);
	o->send_ms = or_default(o->send_ms, LIMIT_HTTP_SEND_SECONDS * 1000);
	o->heartbeat_ms = or_default(o->heartbeat_ms, LIMIT_HTTP_HEARTBEAT_SECONDS * 1000);
	o->linger_ms = or_default(o->linger_ms, LIMIT_HTTP_LINGER_SECONDS * 1000);
}

static uint64_t
tick_ms(const struct http_options *o)
{
	int all[] = { o->head_ms, o->body_grace_ms, o->idle_ms, o->send_ms, o->heartbeat_ms, o->linger_ms };
	int least = 4000;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] < least)
			least = all[i];
	return (uint64_t)(least / 4 > 0 ? least / 4 : 1);
}

static status
resolve(struct ctx *cx, const struct http_options *o, struct sockaddr_storage *out_address)
{
	struct addrinfo want = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM }, *found;
	char port[16];
	int e;

	(void)snprintf(port, sizeof(port), "%d", o->port);
	e = getaddrinfo(o->host, port, &want, &found);
	if (e != 0)
		return fail(
			cx, E_UNAVAILABLE, "%s is not an address to listen on: %s", o->host, gai_strerror(e));
	memcpy(out_address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return OK;
}

static status
start_listening(struct ctx *cx, struct http_server *s)
{
	struct sockaddr_storage a = { 0 };
	int e, len = sizeof(a);

	TRY(resolve(cx, &s->o, &a));
	e = uv_tcp_bind(&s->listener, (struct sockaddr *)&a, 0);
	if (e == 0)
		e = uv_listen((uv_stream_t *)&s->listener, BACKLOG, on_connection);
	if (e == 0)
		e = uv_tcp_getsockname(&s->listener, (struct sockaddr *)&a, &len);
	if (e == UV_EADDRINUSE)
		return fail(cx, E_UNAVAILABLE,
			"%s port %d is in use; stop what listens there, or choose another with --listen",
			s->o.host, s->o.port);
	if (e < 0)
		return fail(cx, E_UNAVAILABLE, "cannot listen on %s port %d: %s", s->o.host, s->o.port,
			uv_strerror(e));
	s->port = a.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&a)->sin6_port)
					  : ntohs(((struct sockaddr_in *)&a)->sin_port);
	return OK;
}

static void
start_loop(struct http_server *s)
{
	CHECK(uv_loop_init(&s->loop) == 0);
	CHECK(uv_tcp_init(&s->loop, &s->listener) == 0);
	CHECK(uv_timer_init(&s->loop, &s->tick) == 0);
	CHECK(uv_async_init(&s->loop, &s->async, on_async) == 0);
	s->listener.data = s->tick.data = s->async.data = s;
	CHECK(uv_timer_start(&s->tick, on_tick, tick_ms(&s->o), tick_ms(&s->o)) == 0);
}

static status
start(struct ctx *cx, struct http_server *s, const struct http_route *routes, size_t count)
{
	/* the router lives as long as the server, errors as long as the caller */
	struct ctx own = { .arena = &s->arena };
	status e = http_router_new(&own, routes, count, &s->router);

	if (e != OK)
		return fail(cx, e, "%.*s", STR_ARG(ctx_message(&own, e)));
	if (s->o.tls_certificate)
		TRY(http_tls_context_new(cx, s->o.tls_certificate, s->o.tls_key, &s->tls));
	s->answers.tls = s->tls != NULL;
	return start_listening(cx, s);
}

static bool
lend(void *arg)
{
	return http_pool_lend(arg);
}

static void
back(void *arg)
{
	http_pool_back(arg);
}

status
http_server_new(struct ctx *cx, const struct http_options *o, const struct http_route *routes, size_t count,
	struct http_server **out_server)
{
	struct http_server *s = calloc(1, sizeof(*s));
	status e;

	CHECK(s);
	s->o = *o;
	set_defaults(&s->o);
	arena_init(&s->arena, LIMIT_REQUEST_ARENA);
	CHECK(pthread_mutex_init(&s->streams_lock, NULL) == 0);
	random_bytes(&s->id_base, sizeof(s->id_base));
	s->read_room = malloc(HTTP_READ_ROOM);
	CHECK(s->read_room);
	s->peers = http_peers_new();
	start_loop(s);
	e = start(cx, s, routes, count);
	if (e != OK) {
		http_server_free(s);
		return e;
	}
	s->pool = http_pool_new(&(struct http_pool_options){ .workers = s->o.workers,
		.lends = LIMIT_HTTP_LENDS,
		.max_waiting = (size_t)s->o.max_jobs,
		.run = run_job,
		.wake = wake,
		.arg = s });
	s->place = (struct ctx_place){ lend, back, s->pool };
	*out_server = s;
	return OK;
}

int
http_server_port(const struct http_server *s)
{
	return s->port;
}

void
http_server_run(struct http_server *s)
{
	(void)uv_run(&s->loop, UV_RUN_DEFAULT);
}

void
http_server_stop(struct http_server *s)
{
	atomic_store(&s->stop, true);
	(void)uv_async_send(&s->async);
}

void
http_server_reload(struct http_server *s)
{
	atomic_store(&s->reload, true);
	(void)uv_async_send(&s->async);
}

static void
close_handle(uv_handle_t *h, void *arg)
{
	(void)arg;
	if (!uv_is_closing(h))
		uv_close(h, NULL);
}

void
http_server_free(struct http_server *s)
{
	/* after a run all handles are closed; without one there are only our own three */
	CHECK(!s->conns);
	if (s->pool)
		http_pool_free(s->pool); /* its threads call the loop until they have ended */
	uv_walk(&s->loop, close_handle, NULL);
	(void)uv_run(&s->loop, UV_RUN_DEFAULT);
	http_streams_flush(s);
	CHECK(uv_loop_close(&s->loop) == 0);
	http_slots_free(s);
	http_peers_free(s->peers);
	http_tls_context_free(s->tls);
	CHECK(pthread_mutex_destroy(&s->streams_lock) == 0);
	arena_done(&s->arena);
	free(s->read_room);
	free(s);
}

bool
http_gone(const struct http_exchange *x)
{
	return x->conn && atomic_load(&x->conn->gone);
}

void
http_server_stats(const struct http_server *s, struct http_stats *out)
{
	*out = (struct http_stats){ .connections = atomic_load(&s->connections),
		.streams = atomic_load(&s->streams),
		.requests = atomic_load(&s->requests),
		.refused = atomic_load(&s->refused),
		.jobs_waiting = (int64_t)http_pool_waiting(s->pool) };
}
