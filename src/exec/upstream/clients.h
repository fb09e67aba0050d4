/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients: the connections to other MCP servers that this process has, one for each that was needed, and the thread
 * that looks whether their tools are still the same.
 *
 *	upstreams_new --> upstreams_start --> [calls, looks, from any thread] --> upstreams_stop --> upstreams_free
 *
 * A client is opened with the configuration of the moment, and again when that has changed.
 */
#ifndef EXEC_UPSTREAM_CLIENTS_H
#define EXEC_UPSTREAM_CLIENTS_H

#include "core/outside/outside.h"
#include "exec/upstream/upstream.h"

struct mcp_flow;
struct walls;
struct mcp_tools;
struct upstreams;

struct upstreams_options {
	const struct ctx *base; /* what the thread's ctx is like; complete when it starts */
	enum upstream_programs programs;
	const struct walls *walls; /* of the sandbox: what it may show; outlives this */
};

struct upstreams *upstreams_new(const struct upstreams_options *o);
void upstreams_start(struct upstreams *u);   /* the thread */
void upstreams_give_up(struct upstreams *u); /* programs that have not answered yet are not waited for */
void upstreams_stop(struct upstreams *u);    /* calls that wait end at once; NULL is fine */
void upstreams_free(struct upstreams *u);    /* nobody calls any more */

/* The process's, by its provider; NULL: there is none. */
struct upstreams *upstreams_of(const struct ctx *cx);
enum upstream_programs upstreams_programs(const struct upstreams *u);
const struct walls *upstreams_walls(const struct upstreams *u); /* NULL: programs run without any */

/* The provider of TOOL_MCP (core/outside/outside.h). arg is a struct upstreams. */
status upstreams_prepare(struct ctx *cx, void *arg, const struct outside_call *call, const void **out);
status upstreams_call(struct ctx *cx, void *arg, const struct outside_call *call, struct outside_answer *out);

/*
 * Outside of any transaction: OAuth at its authorization server, as mcp_client_authorize, mcp_client_authorized and
 * mcp_client_revoke.
 *
 * E_CONFLICT  it is a program, or has a token that somebody typed in, or is a machine: nobody authorizes it; E_BUSY
 */
status upstreams_authorize(struct ctx *cx, const struct upstream *of, struct mcp_flow *out) MUST_USE;
status upstreams_authorized(struct ctx *cx, const struct upstream *of, str kept, str back) MUST_USE;
status upstreams_revoke(struct ctx *cx, const struct upstream *of) MUST_USE;

/* Outside of any transaction, in its lane: its tools, as it lists them now. E_UNAVAILABLE, E_BUSY, E_TOO_LARGE */
status upstreams_list(struct ctx *cx, const struct upstream *of, struct mcp_tools *out) MUST_USE;

/* Where the digests of the operator's own programs stand (program.h); NULL: nowhere. u may be NULL. */
const char *upstreams_program_file(const struct upstreams *u);

#endif
