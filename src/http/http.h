/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http: a strict HTTP/1.1 server on libuv and llhttp.
 *
 *	bytes -> head -> route -> [body] -> handler -> answer -> next request
 *	                                    | inline: on the event loop; must not block
 *	                                    ` worker: on a worker thread; may block
 *
 * One exchange is one request and its answer. The loop keeps watching the socket
 * while a worker has the exchange, so a client that leaves is noticed
 * (http_gone). Framing that two programs could read differently is refused with 400
 * and the connection is closed. Answers before a handler (400, 404, 405, 408, 413, 415, 431, 503)
 * go through the `refuse` callback, so that they have the same envelope as all others.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "base/buf.h"
#include "base/ctx.h"

enum http_method {
	HTTP_GET_,
	HTTP_HEAD_,
	HTTP_POST_,
	HTTP_PUT_,
	HTTP_PATCH_,
	HTTP_DELETE_,
	HTTP_OPTIONS_,
	HTTP_METHODS
};
const char *http_method_name(enum http_method m);

struct http_header {
	str name, value;
};

#define HTTP_PARAMS 8

/* What was asked. Everything lives until the exchange ends. */
struct http_request {
	enum http_method method;
	str path;  /* decoded, no query */
	str query; /* raw, without '?' */
	const struct http_header *headers;
	size_t header_count;
	str params[HTTP_PARAMS]; /* what stood for {name} in the route's path, in order, decoded */
	str body;
	str peer; /* the client's address, without the port */
	bool tls;
};

struct http_route;
struct http_conn;

struct http_exchange {
	struct http_request req;
	const struct http_route *route;
	struct ctx *cx; /* arena, request id, database: fresh for each exchange */

	/* the answer; the handler fills it */
	int status;		  /* 0 becomes 500: a handler must say */
	const char *content_type; /* NULL: no body */
	struct buf body;	  /* in cx->arena; LIMIT_HTTP_ANSWER at most */
	struct http_conn *conn;	  /* private to http */
};

typedef void http_handler(struct http_exchange *x, void *arg);

enum http_where { HTTP_INLINE, HTTP_WORKER };

struct http_route {
	enum http_method method;
	const char
		*path; /* "/api/v1/notes/{id}"; a segment is literal or {name}; "/files/{*}" takes the rest */
	enum http_where where;
	bool takes_body; /* false: a body is refused (400); true: application/json, at most body_max */
	size_t body_max; /* 0: LIMIT_HTTP_BODY */
	http_handler *handler;
	void *arg;
};

/* The header of that name (any case), or the empty str. */
str http_header(const struct http_exchange *x, str name);

/* The first value of a query parameter, percent-decoded into the arena. False where it is absent or not
 * valid. */
bool http_query(const struct http_exchange *x, str name, str *out_value);

/* Walks the query: *at starts at 0; false at the end. E.g. to refuse unknown names. Values decoded; a bad
 * escape gives ok=false. */
bool http_query_next(const struct http_exchange *x, size_t *at, str *out_name, str *out_value, bool *out_ok);

/* Adds a header to the answer. name and value have no control characters (a bug otherwise). */
void http_add_header(struct http_exchange *x, str name, str value);

/* Has the client left? From any thread, while the handler runs. */
bool http_gone(const struct http_exchange *x);

/* --- streams (Server-Sent Events) --- */
/*
 * http_stream_open turns the answer into an event stream: headers go out when the
 * handler returns, heartbeats come by themselves, and whoever holds the handle
 * sends from any thread. The handle lives until http_stream_close, even if the client has left.
 */
struct http_stream;
struct http_stream *http_stream_open(struct http_exchange *x);
/* One event (event and id may be empty). False: the client has left or is too slow; close it. data may have
 * several lines. */
bool http_stream_send(struct http_stream *s, str event, str id, str data);
bool http_stream_gone(const struct http_stream *s);
void http_stream_close(struct http_stream *s);

/* --- the server --- */
struct http_options {
	const char *host;
	int port; /* 0: any free one */
	int workers;
	int max_connections, max_connections_per_address;
	const char *tls_certificate, *tls_key; /* files; NULL: plain. Read again by http_reload */
	int drain_seconds;		       /* how long a stop waits for what was accepted */
	struct db *db;			       /* both are put into each exchange's ctx; may be NULL */
	struct app *app;
	/* Fills x's answer for status s (the message is in x->cx->error, as fail left it). */
	void (*refuse)(struct http_exchange *x, status s);
	/* After each answer, on the loop: for logs and metrics. May be NULL. */
	void (*done)(const struct http_exchange *x, int64_t duration_us);
};

struct http_server;

/* E_INVALID two routes collide, or a certificate cannot be read; E_UNAVAILABLE the address cannot be listened
 * on */
status http_server_new(struct ctx *cx, const struct http_options *o, const struct http_route *routes,
	size_t count, struct http_server **out_server) MUST_USE;
int http_server_port(const struct http_server *s);

/* Serves until http_server_stop; then stops listening, finishes what was accepted, closes idle connections
 * and streams. */
void http_server_run(struct http_server *s);
void http_server_stop(struct http_server *s); /* any thread, and signal handlers */
void
http_server_reload(struct http_server *s); /* reads the certificate again; any thread, and signal handlers */
void http_server_free(struct http_server *s);

struct http_stats {
	int64_t connections, streams, requests, refused, jobs_waiting;
};
void http_server_stats(const struct http_server *s, struct http_stats *out);

#endif
