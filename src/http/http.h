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
 *
 * Choices where the standard leaves one:
 *  - HTTP/1.0 is served without keep-alive and may come without Host; other versions are 400.
 *  - The target is a path ("/..."), or the proxy's absolute form where it names the host that Host names, and that is
 *    ours: public-url's, localhost or an address. '*' and CONNECT are 400. A target or a head beyond its limit is 431.
 *  - Host is a name of letters, digits, "-", "." and "_", or an address, and perhaps a port; all else is 400.
 *  - An Expect but 100-continue is 417; a Content-Encoding but identity is 415.
 *  - A method we have never heard of is 405. HEAD is served by GET's route. OPTIONS needs a route.
 *  - Path segments are decoded one by one, so %2F stays inside its segment. Bad escapes, control
 *    characters, bad UTF-8 and "." or ".." as a segment are 400; nothing is resolved.
 *  - A client that closes its sending side counts as gone, but its request is finished and
 *    answered: what was accepted is done. So a half-closed client still reads its answer.
 *  - X-Request-Id is taken over where it is [A-Za-z0-9._-]{1,64}, else made. Made ones are unique,
 *    not secret.
 *
 * All functions on an exchange belong to the thread that runs its handler, except http_gone.
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

	/* private to http */
	struct http_conn *conn;	    /* NULL in a test that calls a handler by itself */
	struct buf extra;	    /* header lines that were added */
	str fixed;		    /* after body: memory that outlives the exchange */
	bool own_cache, own_policy; /* the handler has said Cache-Control, Content-Security-Policy */
	struct http_stream *stream;
};

/* An exchange in cx, ready for a handler; the server makes its own, this is for tests. */
void http_exchange_init(struct http_exchange *x, struct ctx *cx);

typedef void http_handler(struct http_exchange *x, void *arg);

/* On the loop, before a worker: true: it is answered. False: the handler has its turn, and finds the exchange
 * without an answer and without what was taken of the arena; whatever else was done to cx is undone. */
typedef bool http_peek(struct http_exchange *x, void *arg);

enum http_where { HTTP_INLINE, HTTP_WORKER };

struct http_route {
	enum http_method method;
	const char
		*path; /* "/api/v1/notes/{id}"; a segment is literal or {name}; "/files/{*}" takes the rest */
	enum http_where where;
	bool takes_body; /* false: a body is refused (400); true: application/json, at most body_max */
	bool takes_form; /* with takes_body: application/x-www-form-urlencoded instead */
	size_t body_max; /* 0: LIMIT_HTTP_BODY */
	http_handler *handler;
	http_peek *peek; /* of what a worker handles; NULL: it goes there at once */
	void *arg;
};

/* The header of that name (any case), or the empty str. */
str http_header(const struct http_exchange *x, str name);

/* Idempotency-Key, into the exchange's ctx. E_INVALID  it is there and empty: who sent it believes to be safe */
status http_take_key(struct http_exchange *x) MUST_USE;

/* The first value of a query parameter, percent-decoded into the arena. False where it is absent or not
 * valid. */
bool http_query(const struct http_exchange *x, str name, str *out_value);

/* Walks the query: *at starts at 0; false at the end. E.g. to refuse unknown names. Values decoded; a bad
 * escape gives ok=false. */
bool http_query_next(const struct http_exchange *x, size_t *at, str *out_name, str *out_value, bool *out_ok);

/* The same for any text of that form (a body), decoded into the arena. */
bool http_form_next(struct arena *a, str form, size_t *at, str *out_name, str *out_value, bool *out_ok);

/*
 * Adds a header to the answer. name and value have no control characters (a bug otherwise).
 * Cache-Control and Content-Security-Policy replace what http would have said; all other
 * security headers, Date, Content-Length, Connection and X-Request-Id are http's own.
 */
void http_add_header(struct http_exchange *x, str name, str value);

/* Answers with bytes that outlive the exchange (static text), behind what is in x->body: nothing of them is copied. */
void http_answer_fixed(struct http_exchange *x, const char *content_type, str body);

/* Answers s as http itself refuses: through the `refuse` callback. For handlers. */
void http_refuse(struct http_exchange *x, status s);

/* Has the client left? From any thread, while the handler runs. */
bool http_gone(const struct http_exchange *x);

/* --- streams (Server-Sent Events) --- */
/*
 * http_stream_open turns the answer into an event stream: headers go out when the
 * handler returns, heartbeats come by themselves, and whoever holds the handle
 * sends from any thread. The handle lives until http_stream_close, even if the client has left;
 * it is closed before http_server_free. A stop ends all streams: http_stream_gone becomes true.
 */
struct http_stream;
struct http_stream *http_stream_open(struct http_exchange *x);
/* One event (event and id may be empty). False: the client has left or is too slow; close it. data may have
 * several lines. */
bool http_stream_send(struct http_stream *s, str event, str id, str data);
/* An event without data: its id is where a client goes on that lost the stream, after so many milliseconds. As
 * http_stream_send. */
bool http_stream_prime(struct http_stream *s, str id, int retry_ms);
bool http_stream_gone(const struct http_stream *s);
void http_stream_close(struct http_stream *s);

/* --- files (the console) --- */
struct http_file {
	const char *path; /* "assets/app.1f2e.js": what stands for {*} in the route; "" is the index */
	const char *content_type;
	str body;
	bool immutable; /* its name changes with its content: caches may keep it for ever */
	str gzip;	/* the same, compressed; empty: there is none. For clients that take it */
};
struct http_files;

/* A table of files with their ETags, in cx->arena, which must outlive the server. E_INVALID two have the same
 * path */
status http_files_new(
	struct ctx *cx, const struct http_file *files, size_t count, struct http_files **out_files) MUST_USE;
/* A handler for a GET route that ends in {*}, or has no parameter (then the index). arg: struct http_files.
 * Answers 200, 304 for a matching If-None-Match, and through `refuse` 404. */
void http_files_serve(struct http_exchange *x, void *arg);

/* --- the server --- */

/* Proxies that say for whom they speak, and are believed. */
struct http_proxies {
	const struct http_net *nets;
	size_t count; /* 0: none */
};

struct http_options {
	const char *host;
	int port;					  /* 0: any free one */
	int workers;					  /* 0: LIMIT_HTTP_WORKERS */
	int max_connections, max_connections_per_address; /* 0: LIMIT_HTTP_...; beyond: closed at once */
	const char *tls_certificate,
		*tls_key;  /* files (PEM); NULL: plain. Read again by http_server_reload */
	int drain_seconds; /* how long a stop waits for what was accepted */
	struct http_proxies proxies;
	const struct ctx
		*base; /* each exchange's ctx begins as a copy of it, with its own arena; may be NULL */
	/* Fills x's answer for status s (the message is in x->cx->error, as fail left it). */
	void (*refuse)(struct http_exchange *x, status s);
	/* After each answer, on the loop: for logs and metrics. May be NULL. */
	void (*done)(const struct http_exchange *x, int64_t duration_us);
	/* For tests, which cannot wait that long; 0: what limits.h says. Checked at a quarter of the
	 * smallest, at most once a second. */
	int head_ms, body_grace_ms, idle_ms, send_ms, heartbeat_ms, linger_ms;
	int max_jobs, stream_backlog;
};

struct http_server;

/*
 * Listens, but serves nobody before http_server_run. o's texts, the routes and what they point to
 * outlive the server.
 *
 * E_INVALID      two routes collide, a path is malformed, or a certificate cannot be read
 * E_UNAVAILABLE  the address cannot be listened on
 */
status http_server_new(struct ctx *cx, const struct http_options *o, const struct http_route *routes,
	size_t count, struct http_server **out_server) MUST_USE;
int http_server_port(const struct http_server *s);

/*
 * Serves until http_server_stop; then stops listening, finishes what was accepted (answers say
 * Connection: close), closes idle connections and ends streams. After drain_seconds the rest is
 * cut off. It does not return while a handler is still running.
 */
void http_server_run(struct http_server *s);
void http_server_stop(struct http_server *s); /* any thread, and signal handlers */
void
http_server_reload(struct http_server *s); /* reads the certificate again; any thread, and signal handlers */
void http_server_free(struct http_server *s);

struct http_stats {
	int64_t connections, streams; /* now */
	int64_t requests, refused;    /* ever: answers of handlers, answers before a handler or none at all */
	int64_t jobs_waiting;	      /* now, for a worker */
};
void http_server_stats(const struct http_server *s, struct http_stats *out);

/* A request that has used up its memory is answered all the same: so many bytes more may be taken. Gives the cap until now,
 * which the caller puts back. */
size_t http_answer_room(struct arena *a, size_t room);

#endif
