/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside: what the files of the client share. Private to exec/mcp.
 *
 *	client.c   list, call: rounds of question and answer
 *	session.c  which era, which version, which session; a request in it
 *	message.c  JSON-RPC: what is written, what was read
 *	http.c     one message over Streamable HTTP
 *	child.c    one message to a program, and the program; sandbox.c  how it is confined
 *	auth/      tokens
 */
#ifndef EXEC_MCP_INSIDE_H
#define EXEC_MCP_INSIDE_H

#include "base/limits.h"
#include "base/scoped.h"
#include "exec/mcp/client.h"
#include "exec/mcp/params.h"
#include "http/client/many.h"
#include "json/mend.h"

#include <stdatomic.h>

#define MCP_META	   "io.modelcontextprotocol/"
#define MCP_MODERN_VERSION "2026-07-28"
#define MCP_LEGACY_VERSION "2025-11-25"
#define MCP_CHALLENGES	   4u

struct mcp_child;
struct mcp_auth;

/* What is agreed with the server; a copy in the arena of who uses it. */
struct mcp_session {
	enum mcp_era era;
	str version;
	str id;		     /* of the legacy era over HTTP; may be empty */
	uint64_t generation; /* which one: of a program, which start */
};

struct mcp_client {
	struct arena arena; /* of the options */
	struct mcp_options options;
	atomic_bool stopping;
	atomic_bool unauthorized; /* somebody has to authorize us */
	_Atomic uint64_t changes;
	_Atomic int64_t last_id;
	struct mcp_child *child; /* NULL: HTTP */
	struct mcp_auth *auth;	 /* NULL: none */

	pthread_mutex_t mutex; /* guards all below; nobody waits for the network while holding it */
	pthread_cond_t opened;
	struct http_many *idle[LIMIT_UPSTREAM_IDLE]; /* connections that are kept */
	size_t idle_count;
	struct arena session_arena;
	struct mcp_session session; /* generation 0: none */
	int64_t session_us;	    /* when it was agreed */
	uint64_t generation;	    /* the last one */
	bool opening;
	struct mcp_params *params;
	bool listed; /* params know what there is to know */
};

/* One message that goes to the server. */
struct mcp_letter {
	int64_t id; /* 0: no answer is expected */
	str method;
	const struct json *params; /* NULL: none */
	struct mcp_session session;
	str body; /* all of it, as it goes */
	int64_t send_by_us, deadline_us;
	bool keep; /* over a connection that is open already */
};

/* What came of it. */
struct mcp_reply {
	int64_t sent;			/* bytes that may have left */
	int status;			/* HTTP; 0: none came */
	const struct json *message;	/* the answer: it has a result or an error; NULL: none came */
	struct mended mended;		/* whether it is as it came */
	str raw;			/* as it came, where it is not */
	str why;			/* where there is none */
	str session;			/* Mcp-Session-Id */
	str challenges[MCP_CHALLENGES]; /* WWW-Authenticate */
	size_t challenge_count;
};

/* --- message.c --- */

str mcp_text(const struct json *object, const char *key); /* empty: there is none (object may be NULL) */

/* The body of l in its session. E_TOO_LARGE */
status mcp_message_write(struct ctx *cx, const struct mcp_client *c, struct mcp_letter *l) MUST_USE;

enum mcp_kind { MCP_NO_MESSAGE, MCP_ANSWER, MCP_REQUEST, MCP_NOTICE };
enum mcp_kind mcp_message_kind(const struct json *message);

/* Is it the answer to this id? */
bool mcp_message_answers(const struct json *message, int64_t id);

/* Takes a notification of the server's. */
void mcp_message_notice(struct mcp_client *c, const struct json *message);

/* What we answer to a request of the server's: text of a message. E_TOO_LARGE */
status
mcp_message_respond(struct ctx *cx, struct mcp_client *c, const struct json *request, str *out_text) MUST_USE;

/* The error of an answer: its code, 0: it has none. */
int64_t mcp_message_code(const struct json *message);

/* --- http.c, child.c: one message, once --- */

void mcp_http_send(
	struct ctx *cx, struct mcp_client *c, const struct mcp_letter *l, str bearer, struct mcp_reply *out);
void mcp_http_close(struct mcp_client *c); /* says the end of the session, if it can, and drops connections */

struct mcp_child *mcp_child_new(struct mcp_client *c);
void mcp_child_stop(struct mcp_child *child);
void mcp_child_free(struct mcp_child *child);
/* Which start of the program it is; 0: it is not there. */
uint64_t mcp_child_generation(struct mcp_child *child);
/* Starts it where it is not there. E_UNAVAILABLE */
status mcp_child_start(struct ctx *cx, struct mcp_child *child, uint64_t *out_generation) MUST_USE;
void
mcp_child_send(struct ctx *cx, struct mcp_child *child, const struct mcp_letter *l, struct mcp_reply *out);

/* --- session.c --- */

/*
 * One request, in a session that is opened where there is none. The letter's method, params and times are set, the rest
 * is filled in. sent counts this request only: who fails to open a session has sent nothing of it.
 */
status
mcp_session_ask(struct ctx *cx, struct mcp_client *c, struct mcp_letter *l, struct mcp_reply *out) MUST_USE;

/* --- auth/ : tokens --- */

struct mcp_auth *mcp_auth_new(struct mcp_client *c);
void mcp_auth_free(struct mcp_auth *a);
/* The token to send; empty: none. */
status mcp_auth_token(struct ctx *cx, struct mcp_auth *a, str *out_token) MUST_USE;
/* After a refusal (401, 403) of this token: is there a reason to ask again with another? */
status mcp_auth_refused(struct ctx *cx, struct mcp_auth *a, str token, const struct mcp_reply *reply,
	unsigned tries, bool *out_again) MUST_USE;

#endif
