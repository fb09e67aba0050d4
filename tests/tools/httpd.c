/* SPDX-License-Identifier: Apache-2.0 */
/*
 * httpd: the HTTP room by itself, for the crowd test and the benchmarks.
 *
 *	httpd [--port N] [--workers N] [--connections N] [--idle SECONDS]
 *	      [--certificate FILE --key FILE]
 *
 * Prints "port N" and serves until SIGTERM or SIGINT; SIGHUP reads the certificate again.
 *	GET  /inline  200 bytes of JSON from the loop
 *	GET  /worker  the same through a worker
 *	POST /echo    the body, through a worker
 *	GET  /stream  an event stream, which every POST /publish (a body) reaches
 *	GET  /stats   connections, streams, requests, refused
 */
#include "base/check.h"
#include "base/limits.h"
#include "base/scoped.h"
#include "http/http.h"

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define STREAMS_MAX 20000

static struct http_server *server;

static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;
static struct http_stream *streams[STREAMS_MAX];
static size_t stream_count;

#define TEXT_50	    "0123456789abcdefghijklmnopqrstuvwxyz01234567890123"
#define TWO_HUNDRED "{\"text\":\"" TEXT_50 TEXT_50 TEXT_50 "0123456789abcdefghijklmnopqrstuvwxyz012\"}"

static void
fixed(struct http_exchange *x, void *arg)
{
	(void)arg;
	x->status = 200;
	http_answer_fixed(x, "application/json", STR(TWO_HUNDRED));
}

static void
echo(struct http_exchange *x, void *arg)
{
	(void)arg;
	x->status = 200;
	x->content_type = "application/json";
	buf_add(&x->body, x->req.body);
}

static void
stream(struct http_exchange *x, void *arg)
{
	scoped_lock held = lock(&streams_lock);

	(void)arg;
	CHECK(stream_count < STREAMS_MAX);
	streams[stream_count++] = http_stream_open(x);
}

static void
publish(struct http_exchange *x, void *arg)
{
	scoped_lock held = lock(&streams_lock);
	size_t kept = 0;

	(void)arg;
	for (size_t i = 0; i < stream_count; i++) {
		if (http_stream_send(streams[i], STR("news"), (str){ 0 }, x->req.body))
			streams[kept++] = streams[i];
		else
			http_stream_close(streams[i]);
	}
	stream_count = kept;
	x->status = 204;
}

static void
stats(struct http_exchange *x, void *arg)
{
	struct http_stats s;

	(void)arg;
	http_server_stats(server, &s);
	x->status = 200;
	x->content_type = "application/json";
	buf_printf(&x->body,
		"{\"connections\":%" PRId64 ",\"streams\":%" PRId64 ",\"requests\":%" PRId64
		",\"refused\":%" PRId64 "}",
		s.connections, s.streams, s.requests, s.refused);
}

static void
refuse(struct http_exchange *x, status s)
{
	x->status = status_info(s)->http;
	x->content_type = "application/json";
	buf_printf(&x->body, "{\"error\":\"%s\"}", status_info(s)->code);
}

static const struct http_route routes[] = {
	{ HTTP_GET_, "/inline", HTTP_INLINE, .handler = fixed },
	{ HTTP_GET_, "/worker", HTTP_WORKER, .handler = fixed },
	{ HTTP_POST_, "/echo", HTTP_WORKER, .takes_body = true, .handler = echo },
	{ HTTP_GET_, "/stream", HTTP_INLINE, .handler = stream },
	{ HTTP_POST_, "/publish", HTTP_WORKER, .takes_body = true, .handler = publish },
	{ HTTP_GET_, "/stats", HTTP_INLINE, .handler = stats },
};

static void
on_signal(int which)
{
	if (which == SIGHUP)
		http_server_reload(server);
	else
		http_server_stop(server);
}

static void
read_options(int argc, char **argv, struct http_options *o)
{
	static const struct option names[] = {
		{ "port", required_argument, NULL, 'p' },
		{ "workers", required_argument, NULL, 'w' },
		{ "connections", required_argument, NULL, 'c' },
		{ "idle", required_argument, NULL, 'i' },
		{ "certificate", required_argument, NULL, 't' },
		{ "key", required_argument, NULL, 'k' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (c == 'p')
			o->port = (int)strtol(optarg, NULL, 10);
		else if (c == 'w')
			o->workers = (int)strtol(optarg, NULL, 10);
		else if (c == 'c')
			o->max_connections = o->max_connections_per_address = (int)strtol(optarg, NULL, 10);
		else if (c == 'i')
			o->idle_ms = 1000 * (int)strtol(optarg, NULL, 10);
		else if (c == 't')
			o->tls_certificate = optarg;
		else if (c == 'k')
			o->tls_key = optarg;
		else
			exit(2);
	}
}

int
main(int argc, char **argv)
{
	struct http_options o = { .host = "127.0.0.1", .refuse = refuse, .drain_seconds = 5 };
	struct arena a;
	struct ctx cx;
	status s;

	read_options(argc, argv, &o);
	arena_init(&a, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &a);
	s = http_server_new(&cx, &o, routes, sizeof(routes) / sizeof(routes[0]), &server);
	if (s != OK) {
		(void)fprintf(stderr, "httpd: %.*s\n", STR_ARG(ctx_message(&cx, s)));
		return 1;
	}
	(void)signal(SIGTERM, on_signal);
	(void)signal(SIGINT, on_signal);
	(void)signal(SIGHUP, on_signal);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)printf("port %d\n", http_server_port(server));
	(void)fflush(stdout);
	http_server_run(server);
	for (size_t i = 0; i < stream_count; i++)
		http_stream_close(streams[i]);
	http_server_free(server);
	arena_done(&a);
	return 0;
}
