/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/mcp/inside.h"

#include "base/check.h"

#include <stdlib.h>

struct mcp_auth {
	struct mcp_client *c;
};

struct mcp_auth *
mcp_auth_new(struct mcp_client *c)
{
	struct mcp_auth *a = calloc(1, sizeof(*a));

	CHECK(a); /* no memory */
	a->c = c;
	return a;
}

void
mcp_auth_free(struct mcp_auth *a)
{
	free(a);
}

status
mcp_auth_token(struct ctx *cx, struct mcp_auth *a, str *out_token)
{
	(void)cx;
	*out_token = a->c->options.bearer;
	return OK;
}

status
mcp_auth_refused(struct ctx *cx, struct mcp_auth *a, str token, const struct mcp_reply *reply, unsigned tries,
	bool *out_again)
{
	(void)cx;
	(void)a;
	(void)token;
	(void)reply;
	(void)tries;
	*out_again = false;
	return OK;
}

status
mcp_client_authorize(struct ctx *cx, struct mcp_client *c, str *out_url)
{
	(void)c;
	(void)out_url;
	return fail(cx, E_UNAVAILABLE, "OAuth is not there yet");
}

status
mcp_client_authorized(struct ctx *cx, struct mcp_client *c, str back)
{
	(void)c;
	(void)back;
	return fail(cx, E_UNAVAILABLE, "OAuth is not there yet");
}
