/* SPDX-License-Identifier: Apache-2.0 */
/* fixture: what the official conformance suite looks for, in parts. Private to mcp; only --conformance has it. */
#ifndef FACE_MCP_FIXTURE_H
#define FACE_MCP_FIXTURE_H

#include "face/mcp/call.h"

#define FIXTURE_PNG                                                                                          \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
#define FIXTURE_WAV "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="

struct fixture_tool {
	const char *name, *doc;
	const char *schema; /* NULL: takes nothing */
	const char *result; /* what it always gives: members of the result; or NULL, and */
	status (*run)(struct mcp_call *c, const struct json *input, struct json_out *o);
};

/* ended by NULL names */
extern const struct fixture_tool fixture_tools[], fixture_asking_tools[], fixture_task_tools[];
const struct fixture_tool *fixture_find(str name);

/* content: one text */
void fixture_text(struct json_out *o, str text);
/* Asks: the questions as JSON, and what shall come back. */
status fixture_ask(struct mcp_call *c, const char *asks, const char *keeps) MUST_USE;
status fixture_ask_name(struct mcp_call *c) MUST_USE; /* under "user_name" */
status fixture_task(struct mcp_call *c, enum mcp_task what, str id, const struct json *answers,
	struct json_out *o) MUST_USE;
status fixture_ask_prompt(struct mcp_call *c, struct json_out *o) MUST_USE;

/* Lists that change when the suite says so. */
void fixture_change(struct mcp_call *c, enum mcp_list what);

#endif
