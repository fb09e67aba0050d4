/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp: the Model Context Protocol at /mcp, two eras on one endpoint (MCP-1).
 *
 *	POST -> Host, Origin -> credential -> message -> era -> headers -> method -> host -> answer
 *	          `---------------`------------`---------`--------`--------`-------`-----> JSON-RPC error
 *
 * Legacy (2025-11-25, 2025-06-18, 2025-03-26): initialize, and a session that is a signed text bound to the
 * principal: every server with the same keys takes it, and a restart loses nothing. Modern (2026-07-28): every
 * request stands for itself; the body says the version, the headers must say the same.
 *
 * The engine knows no tool. What there is to list, call and read is a host: Countersign's own (tools.c,
 * resources.c, prompts.c), which hands every call to the operations that REST has, or the fixture of the
 * official conformance suite (fixture/).
 *
 * Kept in memory, bounded, and never needed to decide anything: which sessions were ended here, calls that
 * wait for an answer of a legacy client, answers that a legacy client may fetch after its stream broke, what a
 * legacy session has subscribed to, and streams that listen or wait.
 */
#ifndef FACE_MCP_MCP_H
#define FACE_MCP_MCP_H

#include "http/http.h"

struct mcp;

struct mcp_options {
	const struct ctx *base; /* what a look without a request begins with; outlives it */
	bool conformance;	/* the fixture, and nobody is asked who they are */
	bool any_host;		/* other machines can reach us and no public URL says by which name */
};

struct mcp *mcp_new(const struct mcp_options *o);

#define MCP_ROUTES 3u
/* Writes MCP_ROUTES routes to out. */
void mcp_routes(struct mcp *m, struct http_route *out);

/* Begins to look after streams that listen; base has its database by now. */
void mcp_start(struct mcp *m);

/* Says the last words to streams, while the server still sends; waits a second for that, at most. */
void mcp_end(struct mcp *m);

/* Closes all streams; before the server is freed. NULL is fine. */
void mcp_stop(struct mcp *m);
void mcp_free(struct mcp *m);

#endif
