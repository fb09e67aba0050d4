/* SPDX-License-Identifier: Apache-2.0 */
/*
 * params: which arguments of which tool a header repeats (x-mcp-header, revision 2026-07-28), learned from tools/list;
 * and how a header carries text. For one thread at a time.
 */
#ifndef EXEC_MCP_PARAMS_H
#define EXEC_MCP_PARAMS_H

#include "http/client.h"
#include "json/json.h"

struct mcp_params;
struct mcp_params *mcp_params_new(void);
void mcp_params_free(struct mcp_params *p);

/*
 * Does the tool say in a proper way what headers repeat? Names are tokens and differ, values are strings, integers or
 * booleans, and only properties of properties have them. Who breaks that may want to move an argument into a header
 * that means something else: such a tool is not used.
 */
bool mcp_params_ok(const struct json *tool);

/* A page of tools/list; first: the list begins, and what was learned before is forgotten. */
void mcp_params_learn(struct mcp_params *p, const struct json *result, bool first);

/* Adds the headers of a call ({name, arguments}) to out, `most` of them at most; how many. */
size_t mcp_params_add(const struct mcp_params *p, struct arena *a, const struct json *call,
	struct http_client_field *out, size_t most);

/* The value as a header can carry it. */
str mcp_params_encode(struct arena *a, str value);

#endif
