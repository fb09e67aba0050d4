/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: one other MCP server, to which we are the client (PRODUCT EX-3).
 *
 *	mcp_client_new --> [list, call ... from any thread, at the same time] --> stop --> free
 *
 * Over Streamable HTTP, of both eras (2025-11-25 with sessions, 2026-07-28 without), or over the standard input and
 * output of a program that it starts. Nothing is connected, or started, before the first call; what broke is opened
 * again by the next one.
 *
 * A call says what is known of it (core/outside). After a byte of a tools/call has left it is sent again only where
 * the server has said that it did nothing, and why: a token is missing (401) or too small (403), the session is over
 * (404), the version is another (-32022). A call that changes something has a connection of its own, so that nothing
 * sends it twice behind our back.
 *
 * Every connection goes to a public address, or into a network that the options name. Tokens of ours go to the server
 * of the options and nowhere else; what the server says of itself is never believed: it is shown, or pinned.
 */
#ifndef EXEC_MCP_CLIENT_H
#define EXEC_MCP_CLIENT_H

#include "core/outside/outside.h"
#include "http/client.h"

/* MCP_ANY: the server is asked. */
enum mcp_era { MCP_ANY, MCP_LEGACY, MCP_MODERN };

/* --- a program that speaks MCP on its standard input and output --- */

struct walls;

struct mcp_path {
	str path; /* absolute; in the sandbox it is at the same place */
	bool writable;
};

/*
 * It runs in a sandbox (bubblewrap): a user of its own without rights, the system's directories read-only, no other
 * process to be seen, an empty /tmp, and besides nothing but what is granted here. Where there is no sandbox it is not
 * started. Its environment is PATH, HOME, LANG and what is granted, which may be other values of these.
 */
struct mcp_program {
	const str *argv; /* the first is an absolute path; no shell reads any of it */
	size_t argc;
	const struct http_client_field *variables; /* of its environment */
	size_t variable_count;
	const struct mcp_path *paths;
	size_t path_count;
	str directory;	 /* where it starts; empty: /tmp */
	bool network;	 /* it may reach what this machine reaches, too: there is no guard */
	bool unconfined; /* no sandbox: the operator's own word */
	const struct walls
		*walls; /* which paths may be granted (exec/sandbox); outlives the client; NULL: none */
};

/* --- OAuth (auth/) --- */

/* Where credentials are kept: one text by name, never shown. From any thread; may wait. */
struct mcp_store {
	status (*load)(void *arg, struct ctx *cx, str name, str *out_text); /* empty: none is kept */
	status (*save)(void *arg, struct ctx *cx, str name, str text);	    /* empty: it is forgotten */
	/*
	 * A turn, where several processes share what is kept: one has it at a time, from enter to leave, and only who
	 * has it saves tokens (E_CONFLICT  it is over). Both NULL: there is one process.
	 */
	status (*enter)(void *arg, struct ctx *cx);
	void (*leave)(void *arg, struct ctx *cx);
	void *arg;
};

struct mcp_oauth {
	struct mcp_store store;
	str redirect_uri; /* where the authorization server sends the browser back to */
	str client_name;  /* for its consent page */
	/* who we are there, the first that is there: */
	str client_id, client_secret; /* registered by hand; the secret may be empty */
	str document_url;	      /* our description of ourselves (client ID metadata document) */
	str issuer; /* the only authorization server that hears of them; empty: whichever the server names */
	bool machine; /* the id and the secret are all that is needed (client_credentials): nobody is asked */
	str scope;    /* wanted besides what the server asks for; may be empty */
	/*
	 * Shows the address to somebody and gives where the browser was sent back to. NULL: nobody is there now; the
	 * call ends and says so, and mcp_client_authorize is for later.
	 */
	status (*visit)(void *arg, struct ctx *cx, str url, str *out_back);
	void *visit_arg;
};

/* --- the client --- */

/* What the server asks us, where it may: the result as JSON. False: it is declined. */
typedef bool mcp_answer_fn(void *arg, struct ctx *cx, str method, const struct json *params, str *out_result);

struct mcp_options {
	str name;			   /* for the log, and before the names in the store */
	const struct mcp_program *program; /* or: */
	str url;
	str bearer; /* a token that somebody has typed in; empty: none, or OAuth's */
	const struct http_client_field *fields; /* headers besides: API keys */
	size_t field_count;
	const char *ca_file;	      /* NULL: whom the system trusts */
	const struct http_net *allow; /* addresses that it may have besides public ones */
	size_t allow_count;
	const struct mcp_oauth *oauth; /* NULL: a server that wants a token refuses */
	enum mcp_era era;
	/* elicitation, sampling, roots: what of it `answer` can answer, a JSON object; empty: nothing */
	str capabilities;
	mcp_answer_fn *answer;
	void *answer_arg;
};

struct mcp_client;

/* All of the options is copied, but for what `arg`s point to. E_INVALID  they name no server, or not one only */
status
mcp_client_new(struct ctx *cx, const struct mcp_options *options, struct mcp_client **out_client) MUST_USE;

/* What is under way ends at once: lost, or not sent. What comes later is not sent. Any thread. */
void mcp_client_stop(struct mcp_client *c);

/* The same, of a program that has not answered our greeting: no call has been sent to it that could be lost. */
void mcp_client_give_up(struct mcp_client *c);

/* Nobody calls any more. Ends the program. NULL is fine. */
void mcp_client_free(struct mcp_client *c);

struct mcp_tool {
	str name;
	str definition; /* as it came: JSON, members in their order, numbers as they were written */
};
struct mcp_tools {
	struct mcp_tool *all;
	size_t count;
	size_t dropped; /* those without a name, or whose x-mcp-header breaks the rules */
};

/*
 * All tools, of all pages. A `$ref` is text: nothing is fetched.
 *
 * E_UNAVAILABLE  it cannot be asked, or does not answer as MCP does; E_TOO_LARGE  it has too many
 */
status
mcp_client_list(struct ctx *cx, struct mcp_client *c, int64_t deadline_us, struct mcp_tools *out) MUST_USE;

struct mcp_how {
	int64_t send_by_us, deadline_us; /* clock_mono_us: nothing is sent after the first (0: the second) */
	bool reads; /* it changes nothing, so it takes a connection that is open already, and may come twice */
};

/*
 * tools/call with input (a JSON object). DONE: result is the server's (isError as it may be). REFUSED: result is the
 * server's error, if it gave one. Outside of any transaction. Fails as outside_call_fn.
 */
status mcp_client_call(struct ctx *cx, struct mcp_client *c, str tool, str input, const struct mcp_how *how,
	struct outside_answer *out) MUST_USE;

/* How often the server has said that its tools are others now (notifications/tools/list_changed). Only grows. */
uint64_t mcp_client_changes(const struct mcp_client *c);

/* Somebody who is sent to the authorization server. */
struct mcp_flow {
	str url;   /* for a browser */
	str state; /* that it comes back with: 256 random bits */
	str kept; /* what the way back is checked against: JSON, with secrets; for who sent them, until then */
	int64_t until_us; /* clock_now_us */
};

/*
 * OAuth in two steps, for when nobody is there in between: where somebody goes; and where the browser came back to (the
 * whole address, or its query). That a flow comes back once is for the caller, who keeps it, to see to.
 *
 * E_UNAVAILABLE      the authorization server cannot be asked, or breaks the rules; nothing is kept
 * E_UNAUTHENTICATED  who came back is not who was sent, or was refused there
 */
status mcp_client_authorize(struct ctx *cx, struct mcp_client *c, struct mcp_flow *out) MUST_USE;
status mcp_client_authorized(struct ctx *cx, struct mcp_client *c, str kept, str back) MUST_USE;

/* The state of an address that came back; empty: it has none, or two. */
str mcp_flow_state(struct ctx *cx, str back);

/* Has the server refused what tokens there are, so that somebody has to authorize us (again)? */
bool mcp_client_unauthorized(const struct mcp_client *c);

/* Tells the authorization server that nobody needs the tokens any more (RFC 7009), where it can be told. E_UNAVAILABLE */
status mcp_client_revoke(struct ctx *cx, struct mcp_client *c) MUST_USE;

#endif
