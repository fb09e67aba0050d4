/* SPDX-License-Identifier: Apache-2.0 */
/* The server's news: a stream by GET (legacy), by subscriptions/listen (modern), or what a program says unasked. */
#include "exec/mcp/inside.h"

#include "base/clock.h"

static struct json *
wishes(struct arena *a)
{
	struct json *params = json_new_object(a), *wanted = json_new_object(a);

	json_add_member(wanted, STR("toolsListChanged"), json_new_bool(a, true));
	json_add_member(params, STR("notifications"), wanted);
	return params;
}

status
mcp_client_listen(struct ctx *cx, struct mcp_client *c, uint64_t seen, int64_t deadline_us)
{
	struct mcp_letter l = { .method = STR("subscriptions/listen"),
		.params = wishes(cx->arena),
		.send_by_us = deadline_us,
		.deadline_us = deadline_us,
		.listens = true,
		.seen = seen };
	struct mcp_reply r;

	TRY(mcp_session_ask(cx, c, &l, &r));
	if (mcp_client_changes(c) != seen || clock_mono_us() >= deadline_us || r.status == 200)
		return OK;
	if (r.status == 404 || r.status == 405 || (r.message && mcp_message_code(r.message) == -32601))
		return fail(cx, E_NOT_FOUND, "the MCP server has no news to tell");
	return fail(cx, E_UNAVAILABLE, "the MCP server tells no news: %.*s", STR_ARG(r.why));
}
