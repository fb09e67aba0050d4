/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody comes back from another MCP server's authorization server, where they have let us in. It is a GET that changes
 * something, because that is how browsers are sent back: what stands against forgery is the state, which only the admin
 * who went there knows, and the session, which must be theirs.
 */
#include "base/limits.h"
#include "exec/upstream/authorization.h"
#include "face/oauth/endpoints.h"
#include "face/oauth/page.h"
#include "face/oauth/site.h"
#include "json/bind.h"

/* By the operation that POST /api/v1/upstreams/authorization is: the same rule, the same record. */
static status
finish(struct http_exchange *x)
{
	const struct op *op = &authorization_ops[AUTHORIZATION_FINISH];
	struct ctx *cx = x->cx;
	struct json *body = json_new_object(cx->arena);
	void *in = arena_alloc(cx->arena, op->in_size);
	struct json_out out;
	struct buf nowhere;

	json_add_member(body, STR("back"), json_new_string(cx->arena, x->req.query));
	TRY(json_bind(cx, body, op->in, op->in_size, in));
	buf_init(&nowhere, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&out, &nowhere);
	json_out_object(&out, NULL);
	return op_run(cx, op, in, &out);
}

static void
complain(struct http_exchange *x, status s)
{
	str why = s == E_INTERNAL ? str_of(status_info(s)->sentence) : ctx_message(x->cx, s);

	if (x->cx->error.code != s)
		x->cx->error = (struct error){ .code = s }; /* for the log */
	page_upstream(x, status_info(s)->http, "This does not work",
		arena_printf(x->cx->arena, "%.*s.", STR_ARG(why)));
}

void
oauth_upstream(struct http_exchange *x, void *arg)
{
	status s;

	(void)arg;
	x->cx->credential = site_person(x);
	if (!x->cx->credential->session.len && site_from_elsewhere(x)) {
		page_again(x, AUTHORIZATION_CALLBACK);
		return;
	}
	s = finish(x);
	if (s == OK)
		page_upstream(x, 200, "Authorized",
			STR("Countersign is let in at the other server. Its tools are asked for now."));
	else if (s == E_UNAUTHENTICATED)
		page_upstream(x, 401, "Sign in first",
			STR("You are not signed in to Countersign in this browser. Sign in, and begin the "
			    "authorization again."));
	else
		complain(x, s);
}
