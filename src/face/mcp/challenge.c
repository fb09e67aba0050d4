/* SPDX-License-Identifier: Apache-2.0 */
/* What a client should do that was refused for its token: WWW-Authenticate says where to get one, and for what. */
#include "face/mcp/call.h"

#include "core/ident/caller.h"
#include "core/oauth/scope.h"
#include "face/oauth/oauth.h"

bool
challenge_steps_up(const struct mcp_call *c, status s)
{
	return s == E_FORBIDDEN && c->cx->step_up.len;
}

/* Who has only bearer tokens to offer (no name to be reached by, or the fixture) says so. */
static bool
has_server(const struct mcp_call *c)
{
	return c->cx->oauth && c->cx->public_url.len && !c->mcp->options.any_host && !c->mcp->host->open;
}

void
challenge_add(struct mcp_call *c, status s)
{
	const struct credential *credential = c->cx->credential;
	bool brought = credential && credential->bearer.len, more = challenge_steps_up(c, s);
	const char *error = more      ? "error=\"insufficient_scope\", "
			    : brought ? "error=\"invalid_token\", "
				      : "";

	if (!c->x || (s != E_UNAUTHENTICATED && !more))
		return;
	if (!has_server(c)) {
		http_add_header(c->x, STR("WWW-Authenticate"), STR("Bearer"));
		return;
	}
	http_add_header(c->x, STR("WWW-Authenticate"),
		arena_printf(c->cx->arena,
			"Bearer %sscope=\"%.*s\", resource_metadata=\"%.*s" OAUTH_METADATA "\"", error,
			STR_ARG(more ? c->cx->step_up : STR(SCOPE_DEFAULT)), STR_ARG(c->cx->public_url)));
}
