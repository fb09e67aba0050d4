/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: what the files of this room share: the server, a connection, the slot
 * of a request. Nobody outside src/http includes it.
 *
 *	reading -> working -> sending -> reading ...	(inline: without working)
 *	   |          |          |`----> streaming -> closed
 *	   |          |          `-----> lingering -> closed
 *	   `----------`----------------> closed
 *
 * Everything here belongs to the loop's thread, except what says otherwise. A
 * slot is with one thread at a time: the loop, or, while `working`, a worker.
 * An idle connection has no slot and no buffer.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "http/answer.h"
#include "http/http.h"
#include "http/parse.h"
#include "http/peers.h"
#include "http/pool.h"
#include "http/router.h"
#include "http/tls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

enum http_conn_state {
	HTTP_CONN_READING,   /* no slot: idle */
	HTTP_CONN_WORKING,   /* its slot is with a worker */
	HTTP_CONN_SENDING,   /* an answer is on its way */
	HTTP_CONN_STREAMING, /* events go out until it ends */
	HTTP_CONN_LINGERING, /* the last answer is out; what still comes is thrown away */
	HTTP_CONN_CLOSED,    /* the socket is gone; freed when nobody refers to it */
};

/* All memory of one request, from its first byte to the last byte of its answer. Reused. */
struct http_slot {
	struct http_exchange x; /* first: a handler's x is its slot */
	struct http_job job;
	struct arena arena;
	struct ctx cx;
	struct http_conn *conn;
	struct http_answer answer;
	int64_t began_us;
	struct http_slot *spare;	   /* the next unused one */
	char request_id[LIMIT_REQUEST_ID]; /* made by us; not terminated */
	struct http_parse parse;	   /* last: large */
};

/* What a connection has read ahead, and what it has decrypted. */
struct http_ahead {
	size_t len;
	char bytes[];
};

struct http_conn {
	uv_tcp_t tcp;
	struct http_server *server;
	struct http_conn *prev, *next; /* all connections */
	struct http_slot *slot;
	struct http_ahead *ahead; /* requests that wait for their turn */
	struct http_tls *tls;	  /* NULL: plain */
	struct http_stream *stream;
	uint64_t since_ms; /* when this state, or this request, began (uv_now) */
	uint64_t sent_ms;  /* of the last thing a stream sent */
	size_t queued;	   /* unsent bytes at the last sweep */
	unsigned writes;   /* given to libuv, not finished */
	enum http_conn_state state;
	bool working;	   /* its slot is with the pool, whatever became of the socket */
	bool ends;	   /* after the answer that is being made */
	bool eof;	   /* the client has closed its side */
	bool counted;	   /* in server->peers */
	bool paused;	   /* not reading: too much was read ahead */
	bool socket_gone;  /* the closing is done */
	_Atomic bool gone; /* for http_gone, from workers */
	struct http_peer_key peer_key;
	char peer[48];
};

struct http_server {
	struct http_options o;
	struct arena arena;
	struct http_node *router;
	struct http_answers answers;
	struct http_peers *peers;
	struct http_pool *pool;
	struct ctx_place place;	      /* of its workers, for their contexts */
	struct http_tls_context *tls; /* NULL: plain */
	struct http_conn *conns;
	struct http_slot *spare;
	size_t spare_count;
	uint64_t id_base, id_count; /* for request ids */
	bool draining, forced;
	uint64_t drain_until_ms;
	size_t working; /* slots with the pool */
	int port;

	uv_loop_t loop;
	uv_tcp_t listener;
	uv_timer_t tick;
	uv_async_t async;
	char *read_room; /* one for all connections: what is read is used or copied at once */

	/* from other threads and signal handlers; the async brings them in */
	_Atomic bool stop, reload;

	pthread_mutex_t streams_lock;	   /* guards what struct http_stream says, and: */
	struct http_stream *streams_dirty; /* something was sent or closed */

	/* figures, read by anybody */
	_Atomic int64_t connections, streams, requests, refused;
};

#define HTTP_READ_ROOM (64u * KIB)

/* --- conn.c --- */
void http_conn_accept(struct http_server *s);
void http_conn_close(struct http_conn *c);
/* The worker has brought c's slot back. */
void http_conn_worked(struct http_conn *c);
/* Sends bytes that live until they are sent; owned is freed then (may be NULL). True: they are with the
 * kernel. */
bool http_conn_send(struct http_conn *c, str a, str b, void *owned);
/* The end of a stream: what is on its way arrives, then it closes. */
void http_conn_end(struct http_conn *c);
/* Closes c, or answers 408, where it has been too slow. */
void http_conn_check_time(struct http_conn *c, uint64_t now_ms);

/* --- server.c --- */
/* A connection is gone: perhaps that was the last one of a drain. */
void http_server_check_end(struct http_server *s);

/* --- slot.c --- */
struct http_slot *http_slot_take(struct http_conn *c);
void http_slot_give(struct http_slot *slot);
void http_slots_free(struct http_server *s);
/* What has been read of the request, as the handler will see it; with an id. */
void http_slot_fill(struct http_slot *slot);
/* Finds the route. As http_router_find; E_METHOD adds Allow. */
status http_slot_route(struct http_slot *slot) MUST_USE;
/* May the body come? E_BAD_REQUEST none is taken here; E_MEDIA_TYPE; E_TOO_LARGE */
status http_slot_check_body(struct http_slot *slot) MUST_USE;

/* --- stream.c --- */
/* The headers are out: events may go. */
void http_stream_start(struct http_conn *c);
/* The connection is gone. */
void http_stream_lost(struct http_conn *c);
/* All that was queued at libuv has been sent. */
void http_stream_sent(struct http_conn *c);
/* Sends what other threads have left. */
void http_streams_flush(struct http_server *s);
void http_stream_heartbeat(struct http_conn *c);

#endif
