/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge: MCP over standard input and output, for clients that start a program (`countersign mcp`, MCP-1).
 *
 *	line of stdin -> letter --POST /mcp--> server --JSON or events--> lines of stdout
 *
 * It decides nothing: every message goes to a running server with the token of the settings, and what the
 * server says comes back, so there is one gate and no side door. What it adds is what the other transport
 * wants: of the modern era the headers that repeat the body; of the legacy era the session, its stream of
 * news, and going on with streams that broke. A session that is over is opened again, unseen. A server that is
 * started again is waited for, for LIMIT_BRIDGE_PATIENCE_US; a call is sent again only with the same
 * Idempotency-Key.
 *
 * Every request gets exactly one answer, or none where it was cancelled. Standard output has nothing but
 * messages, one a line; standard error is for people. It ends with its input.
 *
 * One thread, one loop; all of it belongs to `struct bridge`.
 */
#ifndef APP_BRIDGE_BRIDGE_H
#define APP_BRIDGE_BRIDGE_H

#include "app/app.h"
#include "base/limits.h"
#include "exec/mcp/params.h"
#include "http/client/events.h"
#include "http/client/many.h"
#include "json/out.h"

/* A request whose answer is owed: its id, as JSON. */
struct ask {
	struct ask *next;
	str id;
	bool answered;
};

struct bridge_options {
	str only; /* of other servers' tools the client is shown those whose names begin so; empty: all */
	/* Brings a server back that cannot be reached, and says where in the settings. NULL: that is somebody else's */
	status (*revive)(struct ctx *cx, void *arg);
	void *arg;
};

enum letter_kind {
	LETTER_MESSAGE,
	LETTER_HELLO,  /* initialize */
	LETTER_FOLLOW, /* the legacy era's stream of news */
};

/* A line on its way, until it is answered. */
struct letter {
	struct letter *next;
	struct bridge *bridge;
	struct arena arena; /* of all its text */
	struct ctx cx;
	enum letter_kind kind;
	str text;		    /* as it came; empty: a GET */
	const struct json *message; /* of text; NULL: a batch or none */
	str method;
	struct ask *asks;
	bool modern, loud;	    /* loud: whoever sent it wants to hear of a refusal */
	bool ours;		    /* the client knows nothing of it */
	bool cancelled;		    /* nobody waits for it any more */
	bool renewed;		    /* it was sent again with a new session */
	unsigned resumes;	    /* how often its stream was taken up again */
	int64_t resumed_us;	    /* since when its answer is waited for there; 0: it is not */
	str key;		    /* Idempotency-Key */
	struct http_flight *flight; /* NULL: it waits: */
	bool parked;		    /* ... for the session */
	int64_t due_us;		    /* ... or for its time */
	int64_t failing_us;	    /* since when; 0: it is not */
	int64_t sent_us;	    /* when it was last sent */
	int64_t heard_us;	    /* when the server last said something on it */
	int64_t pause_ms;	    /* of a stream of news, before it is opened again */
	struct events events;
	struct buf body;
	str session; /* with which it was sent */
};

struct bridge {
	struct ctx *cx; /* the command's */
	struct http_many *many;
	str url;
	const char *ca_file;
	struct letter *letters;
	size_t count;
	struct arena scratch; /* of one line, or of one answer */
	struct ctx scratch_cx;
	/* the legacy era's session */
	struct arena session_arena;
	str session, version, hello; /* hello: what opened it */
	bool opening;
	struct mcp_params *params;
	struct bridge_options options;
	bool reached;  /* the server has answered once: it is away, not absent */
	bool away;     /* and somebody has been told */
	bool deserted; /* nobody reads what we write */
};

/* --- bridge.c --- */
status run_mcp(struct ctx *cx, const struct cli_call *call);
/*
 * The same with the server and the token of the settings as they are now. options->only is about what is shown; the
 * token says what may be called.
 */
status bridge_run(struct ctx *cx, const struct bridge_options *options) MUST_USE;
/* The server is where the settings say now. */
void bridge_aim(struct bridge *b);
void
bridge_say(struct bridge *b, const char *format, ...) __attribute__((format(printf, 2, 3))); /* to people */
void bridge_write(struct bridge *b, str message);		     /* to the client, as one line */
void bridge_error(struct bridge *b, str id, int code, str sentence); /* id: as JSON, or empty */
/* The document in scratch, or NULL. */
struct json *bridge_parse(struct bridge *b, str text);
/* With nothing in it any more. */
struct ctx *bridge_scratch(struct bridge *b);

/* --- letter.c: one message's way --- */
/* A line of the client's. */
void letter_take(struct bridge *b, str line);
void letter_send(struct letter *l);
void letter_drop(struct letter *l);
/* initialize again, in the name of a client that cannot know why. */
void letter_greet(struct bridge *b);
/* Those that waited for the session, and a stream of news. */
void letter_release(struct bridge *b);
/* Is anything owed? */
bool letter_owes(const struct bridge *b);

/* --- answer.c: what comes back --- */
extern const struct http_flight_calls letter_calls;
/* The server has been silent for too long. */
void letter_lost(struct letter *l);
/* Every request of it that has no answer gets this one. */
void letter_refuse(struct letter *l, int code, str sentence);

#endif
