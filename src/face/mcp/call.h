/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call: one message on its way through the engine, and what the files of this room share. Nobody outside
 * src/face/mcp includes it.
 *
 *	message -> mcp_call -> method -> host -> result | asks | failure -> JSON, or the end of a stream
 *
 * A host that needs to know something first sets `asks` (and `keeps`) and returns OK: a modern client gets
 * them as an input_required result and calls again; a legacy one is asked on the stream, and the engine calls
 * again for it. So a question is written once.
 */
#ifndef FACE_MCP_CALL_H
#define FACE_MCP_CALL_H

#include "core/ident/caller.h"
#include "core/slot.h"
#include "face/mcp/mcp.h"
#include "json/out.h"

#include <stdatomic.h>

#define MCP_MODERN  "2026-07-28"
#define MCP_BATCHES "2025-03-26" /* the one revision that has them */
#define MCP_META    "io.modelcontextprotocol/"

/* JSON-RPC's own codes and those of the modern era. Our own are HTTP statuses: positive, so never theirs. */
enum {
	RPC_PARSE = -32700,
	RPC_REQUEST = -32600,
	RPC_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_HEADER = -32020,
	RPC_CAPABILITY = -32021,
	RPC_VERSION = -32022,
	RPC_SESSION = -32001,  /* legacy, as the official SDK says it */
	RPC_RESOURCE = -32002, /* legacy: no such resource */
};

/* What the client declared that it can answer. */
enum {
	MCP_CAN_ELICIT = 1,
	MCP_CAN_ELICIT_URL = 2,
	MCP_CAN_SAMPLE = 4,
	MCP_CAN_ROOTS = 8,
	MCP_CAN_TASKS = 16,
};

struct mcp_call {
	struct mcp *mcp;
	struct http_exchange *x; /* NULL: goes on without one */
	struct ctx *cx;
	str text;		   /* the message as it came */
	const struct json *id;	   /* NULL: a notification */
	const struct json *params; /* an object, or NULL */
	const struct json *meta;   /* its _meta, or NULL */
	const struct json *answer; /* a response: all of it */
	const struct json *batch;  /* several messages: an array, and nothing of the above */
	struct buf *answers_to;	   /* one of a batch: its answer goes there */
	str method;
	bool modern;
	const char *version;
	unsigned can;
	str session;		    /* legacy */
	str principal;		    /* after mcp_enter */
	struct slot_owner owner;    /* the same */
	struct slot *slot;	    /* for what goes on after the request; the follower takes it */
	const struct json *answers; /* inputResponses, by key; or NULL */
	str state;		    /* what the host kept (`keeps`) when it asked; or empty */
	bool again;		    /* it is run again, after it waited */
	int64_t began_us;	    /* when it first ran (clock_mono_us); 0: it runs now */

	/* out */
	struct json *asks;	 /* {key: {method, params}} */
	str keeps;		 /* what the host wants back with the answers */
	const char *result_type; /* NULL: complete */
	str source;		 /* of what another server says, which is data and no instruction; or empty */
	bool drops;		 /* break the stream off: the client fetches the answer (legacy) */
	bool holds;		 /* the stream goes on, others have it */
	int64_t waits_us;	 /* not yet: it is run again, for so long after it began */
	struct http_stream *stream;
	const char *last; /* a member that is written last, NULL: none ... */
	str rest; /* ... and its value with the end of the message, in memory that outlives the exchange */
	int code, http; /* of a failure, where its status does not say them */
	str data;
};

/* Fails with a JSON-RPC code and an HTTP status of its own. */
#define rpc_fail(c, code_, http_, ...)                                                                       \
	((c)->code = (code_), (c)->http = (http_), fail((c)->cx, E_BAD_REQUEST, __VA_ARGS__))

enum mcp_list { MCP_TOOLS, MCP_PROMPTS, MCP_RESOURCES, MCP_TEMPLATES };

enum mcp_task { MCP_TASK_GET, MCP_TASK_UPDATE, MCP_TASK_CANCEL };

/* What an engine serves. Each writes members of the result into the object that is open. */
struct mcp_host {
	const char *instructions;
	bool open;	   /* nobody is asked who they are */
	const char *scope; /* cacheScope */
	int64_t ttl_ms;
	status (*list)(struct mcp_call *c, enum mcp_list what, struct json_out *o);
	status (*call)(struct mcp_call *c, str name, const struct json *input, struct json_out *o);
	status (*prompt)(struct mcp_call *c, str name, const struct json *input, struct json_out *o);
	status (*read)(struct mcp_call *c, str uri, struct json_out *o);
	/* Up to so many values for the argument, after what was typed. */
	status (*complete)(
		struct mcp_call *c, const struct json *ref, str argument, str typed, struct json_out *o);
	/* Another number where the caller's list is another one. */
	status (*fingerprint)(struct mcp_call *c, enum mcp_list what, uint64_t *out);
	/* What became of a call that answered with a task; answers only with an update. NULL: it has no tasks. */
	status (*task)(struct mcp_call *c, enum mcp_task what, str id, const struct json *answers,
		struct json_out *o);
	/* The input schema of a tool, for headers that repeat arguments; NULL where there is none. */
	const struct json *(*schema)(struct mcp_call *c, str name);
};

extern const struct mcp_host mcp_own_host, mcp_fixture_host;

/* --- message.c: what is read and written --- */
/* Takes the message apart; a batch only as such. Fails with the JSON-RPC codes of framing. */
status message_read(struct mcp_call *c, str text) MUST_USE;
status message_read_item(struct mcp_call *c, const struct json *item) MUST_USE;
const struct json *message_param(const struct mcp_call *c, str key);
str message_text(const struct json *object, str key); /* its string, or empty */
/* {"jsonrpc":"2.0","id":…,"result":{ and back: between them the members. */
void message_begin(struct mcp_call *c, struct json_out *o);
void message_end(struct mcp_call *c, struct json_out *o, const char *result_type); /* up to c->rest */
#define MESSAGE_END "}}"			 /* what c->rest ends with */
str message_error(struct mcp_call *c, status s); /* sets c->http */
str message_notification(struct arena *a, const char *method, str params);
uint64_t message_hash(str text); /* to tell texts apart, not to resist anybody */

/* --- header.c: what must be true of the request's head --- */
status header_check_host(struct mcp_call *c) MUST_USE;	 /* Host, Origin: 403 */
status header_check_accept(struct mcp_call *c) MUST_USE; /* 406 */
status header_check_modern(struct mcp_call *c) MUST_USE; /* the ladder of the modern era */
bool header_accepts_stream(const struct mcp_call *c);

/* --- challenge.c: what a client should do that was refused for its token (RFC 6750, RFC 9728) --- */
bool challenge_steps_up(const struct mcp_call *c, status s); /* would more scope help? */
void challenge_add(struct mcp_call *c, status s);

/* --- session.c --- */
extern const char *const session_versions[]; /* newest first, ended by NULL */
str session_new(struct mcp_call *c, size_t version);
/* Of c->principal? Sets version and can. Fails with 404. */
status session_open(struct mcp_call *c) MUST_USE;
void session_end(struct mcp_call *c);
void session_set_level(struct mcp_call *c, int level);
int session_level(struct mcp_call *c); /* the least that is sent */
struct followed {
	str uri;
	uint64_t seen;
};
/* resources/subscribe: remembered by this server. Fails with RPC_PARAMS where it follows too many. */
status session_follow(struct mcp_call *c, str uri, uint64_t seen) MUST_USE;
void session_unfollow(struct mcp_call *c, str uri);
size_t session_followed(struct mcp_call *c, struct followed out[LIMIT_MCP_URIS]);
/* Is it another than the session last heard of? Whoever asks tells it, nobody else. */
bool session_saw(struct mcp_call *c, str uri, uint64_t now);
struct sessions;
struct sessions *sessions_new(void);
void sessions_free(struct sessions *s);

/* --- state.c: what travels with the client and comes back --- */
str state_seal(struct mcp_call *c, str text);
/* Fails with RPC_PARAMS: changed, expired, another principal's or another call's. */
status state_open(struct mcp_call *c, str sealed, str *out_text) MUST_USE;

/* --- stream.c: notifications of a call, and calls that wait for a legacy client --- */
void stream_notify(struct mcp_call *c, const char *method, str params);
void stream_progress(struct mcp_call *c, int64_t progress, int64_t total, str message);
void stream_log(struct mcp_call *c, int level, str text);
int stream_level_of(str name); /* -1: none */
struct held;
struct held *held_new(void);
void held_stop(struct held *h);
void held_free(struct held *h);
status held_ask(struct mcp_call *c) MUST_USE;	   /* asks on the stream and keeps the call */
void held_answer(struct mcp_call *c);		   /* a response has come */
void held_cancel(struct mcp_call *c, str id);	   /* as JSON */
void held_drop(struct mcp_call *c, str answer);	   /* ends the stream; the answer waits */
bool held_fetch(struct mcp_call *c, str event_id); /* it was there: the stream has it */

/* --- follow.c: streams that one thread looks after --- */
struct follower;
struct follower_calls {
	/* Something may have happened. False: it is over. c is the follower's, as a request would make it. */
	bool (*look)(struct follower *f, struct mcp_call *c);
	/* The server stops: the last words. */
	void (*end)(struct follower *f, struct mcp_call *c);
};
struct follower { /* the first member of what follows; one piece of memory with all its text */
	struct follower *next;
	const struct follower_calls *calls;
	struct http_stream *stream; /* NULL: it has been closed */
	struct slot *slot;
	struct credential credential;
	bool modern;
	const char *version;
	unsigned can;
	str session, request; /* the request's id, as JSON */
	str public_url;	      /* by which name we were called: it is in what is looked at */
	atomic_bool cancelled;
};
struct followers;
struct followers *followers_new(struct mcp *m);
void followers_start(struct followers *all);
void followers_end(struct followers *all); /* says the last words; waits for that, but not for long */
void followers_stop(struct followers *all);
void followers_free(struct followers *all);
status followers_reserve(struct mcp_call *c) MUST_USE;	     /* c->slot. Errors as slot_take */
size_t follower_room(const struct mcp_call *c, str request); /* for the text of what follows */
/* Whose it is, and whose text lies at *at, which moves on. */
void follower_init(struct follower *f, const struct mcp_call *c, str request, char **at);
str follower_keep(char **at, str text);
void followers_add(struct followers *all, struct follower *f); /* with its stream and its slot */
void followers_cancel(struct mcp_call *c, str request);	       /* legacy: of that session */

/* --- listen.c --- */
status listen_begin(struct mcp_call *c, str last_event) MUST_USE; /* a GET, or subscriptions/listen */
/* What a resource is now: another number where it is another. Not being there is a state, too: 0. */
status listen_look(struct mcp_call *c, str uri, uint64_t *out) MUST_USE;

/* --- park.c: calls that wait without holding a worker --- */
/*
 * For a host: shall the call wait on, at most `us` after it began? Then it writes nothing and returns OK; it runs
 * again when something happened, or time is over. False: no longer, or it cannot: answer with what there is.
 */
bool park_more(struct mcp_call *c, int64_t us);
bool park_possible(const struct mcp_call *c); /* does the client take a stream? */
status park_begin(struct mcp_call *c) MUST_USE;
/* A legacy client that lost the stream of a wait goes on with it, on any server. True: it was one. */
bool park_resume(struct mcp_call *c, str last_event);

/* --- waiting.c: tasks whose client has answered our question --- */
struct answered;
struct answered *answered_new(void);
void answered_free(struct answered *a);

/* --- method.c --- */
struct mcp_method {
	const char *name;
	bool legacy, modern;
	const char *named; /* the member of params that Mcp-Name repeats; NULL: none */
	status (*run)(struct mcp_call *c, struct json_out *o);
};
const struct mcp_method *method_find(str name);
const struct mcp_method *method_of(const struct mcp_call *c); /* that this era has */

/* Fails with RPC_CAPABILITY unless the client declared the tasks extension. */
status task_require(struct mcp_call *c) MUST_USE;

/* --- mcp.c --- */
struct mcp {
	struct mcp_options options;
	const struct mcp_host *host;
	struct sessions *sessions;
	struct held *held;
	struct followers *followers;
	struct answered *answered;
};

/* fn with the caller identified, in one read; the session is the caller's, or it fails with 404. */
typedef status mcp_fn(struct ctx *cx, void *arg);
status mcp_enter(struct mcp_call *c, mcp_fn *fn, void *arg) MUST_USE;
status mcp_identify(struct mcp_call *c) MUST_USE; /* nothing but that */
/* Inside a transaction with cx->caller: takes the principal, and looks at the session. */
status mcp_bind(struct mcp_call *c) MUST_USE;
/* Runs the method and answers, wherever the answer goes. */
void mcp_run(struct mcp_call *c);
/* The answer, or the next piece of it, to a stream that may have begun. */
void mcp_answer(struct mcp_call *c, str text);

#endif
