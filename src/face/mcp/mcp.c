/* SPDX-License-Identifier: Apache-2.0 */
#include "face/mcp/mcp.h"

#include "base/check.h"
#include "core/ident/caller.h"
#include "core/op.h"
#include "face/mcp/call.h"

#include <stdlib.h>

/* --- who --- */

static str
bearer(str authorization)
{
	str scheme, token;

	if (!str_cut(authorization, ' ', &scheme, &token) || !str_eq_nocase(scheme, STR("Bearer")))
		return (str){ 0 };
	return str_trim(token);
}

/* Only a bearer token: a browser's session is for people and the console. */
static const struct credential *
credential_of(const struct http_exchange *x)
{
	struct credential *c = ARENA_NEW(x->cx->arena, struct credential);

	*c = (struct credential){ .bearer = bearer(http_header(x, STR("Authorization"))),
		.peer = x->req.peer,
		.audience = arena_printf(x->cx->arena, "%.*s/mcp", STR_ARG(x->cx->public_url)),
		.transport = "mcp" };
	return c;
}

status
mcp_bind(struct mcp_call *c)
{
	c->principal = c->mcp->host->open ? STR("conformance") : c->cx->caller->principal_id;
	c->owner = c->mcp->host->open ? (struct slot_owner){ .principal_id = c->principal, .person = true }
				      : slot_owner_of(c->cx->caller);
	if (c->modern || str_eq(c->method, STR("initialize")))
		return OK;
	return session_open(c);
}

struct entering {
	struct mcp_call *call;
	mcp_fn *fn;
	void *arg;
};

static status
enter(struct ctx *cx, void *arg)
{
	struct entering *e = arg;

	TRY(mcp_bind(e->call));
	return e->fn(cx, e->arg);
}

status
mcp_enter(struct mcp_call *c, mcp_fn *fn, void *arg)
{
	struct entering e = { c, fn, arg };

	return c->mcp->host->open ? enter(c->cx, &e) : op_read(c->cx, enter, &e);
}

static status
nothing(struct ctx *cx, void *arg)
{
	(void)cx;
	(void)arg;
	return OK;
}

status
mcp_identify(struct mcp_call *c)
{
	return mcp_enter(c, nothing, NULL);
}

/* --- answers --- */

void
mcp_answer(struct mcp_call *c, str text)
{
	if (c->answers_to) {
		buf_add_char(c->answers_to, c->answers_to->len ? ',' : '[');
		buf_add(c->answers_to, text);
		return;
	}
	if (c->stream) {
		(void)http_stream_send(c->stream, (str){ 0 }, (str){ 0 }, text);
		http_stream_close(c->stream);
		c->stream = NULL;
		return;
	}
	if (!c->x)
		return;
	c->x->status = c->http ? c->http : 200;
	c->x->content_type = "application/json";
	if (c->rest.len)
		buf_add(&c->x->body, text);
	c->x->fixed = c->rest.len ? c->rest : text; /* text: of the exchange's own arena */
}

/* Can the rest be sent from where it is? */
static bool
sends_rest(const struct mcp_call *c)
{
	return c->x && !c->stream && !c->answers_to && !c->drops;
}

static void
add_headers(struct mcp_call *c)
{
	if (!c->x || c->stream)
		return;
	for (size_t i = 0; i < c->cx->header_count; i++)
		http_add_header(c->x, str_of(c->cx->headers[i].name), c->cx->headers[i].value);
}

/* Whatever else is wrong: who has no valid credential hears that, and nothing more. */
static status
judge(struct mcp_call *c, status s)
{
	struct error said = c->cx->error;

	if (c->principal.len || !c->cx->credential || c->mcp->host->open || s == E_UNAUTHENTICATED)
		return s;
	if (op_read(c->cx, nothing, NULL) == E_UNAUTHENTICATED) {
		c->code = c->http = 0;
		c->data = (str){ 0 };
		return E_UNAUTHENTICATED;
	}
	c->cx->error = said;
	return s;
}

static void
refuse(struct mcp_call *c, status why)
{
	status s = judge(c, why);
	str text;

	if (challenge_steps_up(c, s))
		c->http = 403;
	text = message_error(c, s);
	if (c->cx->error.code != s)
		c->cx->error = (struct error){ .code = s }; /* for the log */
	challenge_add(c, s);
	if ((s == E_UNAVAILABLE || s == E_BUSY) && c->x)
		http_add_header(c->x, STR("Retry-After"), STR("1"));
	add_headers(c);
	mcp_answer(c, text);
}

static void
accept(struct mcp_call *c)
{
	c->x->status = 202;
}

/* --- questions --- */

static const struct {
	const char *method, *capability;
	unsigned can;
} askable[] = {
	{ "elicitation/create", "{\"requiredCapabilities\":{\"elicitation\":{}}}", MCP_CAN_ELICIT },
	{ "sampling/createMessage", "{\"requiredCapabilities\":{\"sampling\":{}}}", MCP_CAN_SAMPLE },
	{ "roots/list", "{\"requiredCapabilities\":{\"roots\":{}}}", MCP_CAN_ROOTS },
};

static unsigned
needed_for(const struct json *ask, size_t i)
{
	str mode = message_text(json_get(ask, STR("params")), STR("mode"));

	return askable[i].can == MCP_CAN_ELICIT && str_eq(mode, STR("url")) ? MCP_CAN_ELICIT_URL
									    : askable[i].can;
}

/* Only what the client said it can answer. */
static struct json *
answerable(struct mcp_call *c)
{
	struct json *can = json_new_object(c->cx->arena);

	JSON_EACH (ask, c->asks)
		for (size_t i = 0; i < sizeof(askable) / sizeof(askable[0]); i++) {
			if (!str_eq(message_text(ask, STR("method")), str_of(askable[i].method)))
				continue;
			if (c->can & needed_for(ask, i))
				json_add_member(can, ask->key, json_share(c->cx->arena, ask));
			else
				c->data = str_of(askable[i].capability);
		}
	return can;
}

static status
ask(struct mcp_call *c, struct buf *b)
{
	struct json_out o;
	struct json *asks = answerable(c);

	if (!asks->count && c->asks->count)
		return rpc_fail(c, c->modern ? RPC_CAPABILITY : RPC_REQUEST, c->modern ? 400 : 200,
			"this call needs a capability that the client lacks");
	c->asks = asks;
	c->data = (str){ 0 };
	if (!c->modern)
		return held_ask(c);
	buf_init(b, c->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, b);
	message_begin(c, &o);
	if (asks->count)
		json_out_value(&o, "inputRequests", asks);
	if (c->keeps.len)
		json_out_str(&o, "requestState", state_seal(c, c->keeps));
	message_end(c, &o, "input_required");
	return OK;
}

/* --- one request --- */

static status
perform(struct mcp_call *c, struct buf *b)
{
	const struct mcp_method *method = method_of(c);
	struct json_out o;
	str text;

	if (!method)
		TRY(mcp_identify(c)); /* a stranger does not even hear what there is not */
	if (!method)
		return rpc_fail(c, RPC_METHOD, c->modern ? 404 : 200, "there is no such method");
	if (c->mcp->host->open) /* a host that is not identifies the caller where it works */
		TRY(mcp_identify(c));
	buf_init(b, c->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, b);
	message_begin(c, &o);
	TRY(method->run(c, &o));
	if (c->waits_us && !c->again)
		return park_begin(c);
	if (c->holds || c->waits_us)
		return OK;
	if (c->asks)
		return ask(c, b);
	message_end(c, &o, c->result_type ? c->result_type : "complete");
	if (c->rest.len && !sends_rest(c)) {
		buf_add(b, c->rest);
		c->rest = (str){ 0 };
	}
	return buf_finish(b, &text);
}

void
mcp_run(struct mcp_call *c)
{
	struct buf b;
	status s = perform(c, &b);

	if (s != OK) {
		refuse(c, s);
		return;
	}
	if (c->holds || c->waits_us)
		return;
	add_headers(c);
	if (c->drops && !c->modern)
		held_drop(c, buf_str(&b));
	else
		mcp_answer(c, buf_str(&b));
}

/* --- the way in --- */

static bool
is_legacy_version(str version)
{
	for (size_t i = 0; session_versions[i]; i++)
		if (str_eq(version, str_of(session_versions[i])))
			return true;
	return false;
}

/* What a legacy request must say; whether the session is the caller's is looked at where the caller is. */
static status
check_legacy(struct mcp_call *c)
{
	str version = http_header(c->x, STR("MCP-Protocol-Version"));
	bool begins = str_eq(c->method, STR("initialize"));

	c->session = http_header(c->x, STR("Mcp-Session-Id"));
	if (version.len && !begins && !is_legacy_version(version))
		return rpc_fail(c, RPC_REQUEST, 400, "MCP-Protocol-Version is not one that we speak");
	if (!begins && !c->session.len)
		return rpc_fail(c, RPC_REQUEST, 400, "Mcp-Session-Id is missing; initialize first");
	return OK;
}

/* The body says which era it is; the header can only disagree. */
static status
check_era(struct mcp_call *c)
{
	str version = http_header(c->x, STR("MCP-Protocol-Version"));
	bool claims = c->meta && json_get(c->meta, STR(MCP_META "protocolVersion"));

	c->modern = claims || (str_eq(version, STR(MCP_MODERN)) && !str_eq(c->method, STR("initialize")));
	if (!c->modern)
		return check_legacy(c);
	if (c->answer)
		return rpc_fail(c, RPC_REQUEST, 400, "responses are not taken in this revision");
	c->version = MCP_MODERN;
	return header_check_modern(c);
}

static status
begin(struct mcp_call *c)
{
	struct ctx *cx = c->cx;

	TRY(header_check_host(c));
	if (!cx->public_url.len) /* Host has been looked at */
		cx->public_url = arena_printf(cx->arena, "%s://%.*s", c->x->req.tls ? "https" : "http",
			STR_ARG(http_header(c->x, STR("Host"))));
	cx->credential = credential_of(c->x);
	TRY(http_take_key(c->x));
	return c->mcp->host->open ? OK : caller_present(cx, cx->credential);
}

/* The legacy era's way; in the modern one a client closes the request. */
static void
cancel(struct mcp_call *c)
{
	const struct json *id = message_param(c, STR("requestId"));
	str text;

	if (c->modern || !id || json_text(c->cx, id, &text) != OK)
		return;
	held_cancel(c, text);
	followers_cancel(c, text);
}

/* A notification or a response: nothing is answered but that it came. */
static status
take(struct mcp_call *c)
{
	TRY(mcp_identify(c));
	if (c->answer)
		held_answer(c);
	else if (str_eq(c->method, STR("notifications/cancelled")))
		cancel(c);
	accept(c);
	return OK;
}

/* --- batches: of 2025-03-26, and of no other revision --- */

/* One of a batch stands for itself, but has no stream of its own: what asks back is refused. */
static void
run_item(struct mcp_call *batch, const struct json *item, struct buf *answers)
{
	struct mcp_call c = { .mcp = batch->mcp,
		.cx = batch->cx,
		.version = batch->version,
		.can = batch->can,
		.session = batch->session,
		.principal = batch->principal,
		.answers_to = answers };
	status s = message_read_item(&c, item);

	if (s == OK && str_eq(c.method, STR("initialize")))
		s = rpc_fail(&c, RPC_REQUEST, 400, "initialize is not part of a batch");
	if (s != OK)
		refuse(&c, s);
	else if (c.answer)
		held_answer(&c);
	else if (c.id)
		mcp_run(&c);
	else if (str_eq(c.method, STR("notifications/cancelled")))
		cancel(&c);
	ctx_clear(c.cx);
}

static status
run_batch(struct mcp_call *c)
{
	struct buf answers;
	str text;

	TRY(check_legacy(c));
	TRY(mcp_identify(c));
	if (strcmp(c->version, MCP_BATCHES) != 0)
		return rpc_fail(
			c, RPC_REQUEST, 400, "one message at a time: batches are of " MCP_BATCHES " only");
	if (!c->batch->count || c->batch->count > LIMIT_MCP_BATCH)
		return rpc_fail(c, RPC_REQUEST, 400, "a batch has 1 to %u messages", LIMIT_MCP_BATCH);
	buf_init(&answers, c->cx->arena, LIMIT_HTTP_ANSWER);
	JSON_EACH (item, c->batch)
		run_item(c, item, &answers);
	if (!answers.len) {
		accept(c);
		return OK;
	}
	buf_add_char(&answers, ']');
	TRY(buf_finish(&answers, &text));
	mcp_answer(c, text);
	return OK;
}

/* *out_request: it is one, and only has to be run. */
static status
post(struct mcp_call *c, bool *out_request)
{
	TRY(begin(c));
	TRY(header_check_accept(c));
	TRY(message_read(c, c->x->req.body));
	if (c->batch)
		return run_batch(c);
	TRY(check_era(c));
	*out_request = c->id && !c->answer;
	return *out_request ? OK : take(c);
}

static struct mcp_call
call_of(struct http_exchange *x, void *arg)
{
	return (struct mcp_call){ .mcp = arg, .x = x, .cx = x->cx };
}

static void
handle_post(struct http_exchange *x, void *arg)
{
	struct mcp_call c = call_of(x, arg);
	bool request = false;
	status s = post(&c, &request);

	if (s != OK)
		refuse(&c, s);
	else if (request)
		mcp_run(&c);
}

static status
open_session(struct mcp_call *c)
{
	TRY(begin(c));
	TRY(check_legacy(c));
	return mcp_identify(c);
}

/* Legacy: news that belong to no request, or the rest of a stream that broke. */
static void
handle_get(struct http_exchange *x, void *arg)
{
	struct mcp_call c = call_of(x, arg);
	str last = http_header(x, STR("Last-Event-ID"));
	status s = open_session(&c);

	if (s == OK && last.len && (held_fetch(&c, last) || park_resume(&c, last)))
		return;
	if (s == OK)
		s = listen_begin(&c, last);
	if (s != OK)
		refuse(&c, s);
}

static void
handle_delete(struct http_exchange *x, void *arg)
{
	struct mcp_call c = call_of(x, arg);
	status s = open_session(&c);

	if (s != OK) {
		refuse(&c, s);
		return;
	}
	session_end(&c);
	x->status = 204;
}

/* --- life --- */

struct mcp *
mcp_new(const struct mcp_options *o)
{
	struct mcp *m = calloc(1, sizeof(*m));

	CHECK(m != NULL);
	m->options = *o;
	m->host = o->conformance ? &mcp_fixture_host : &mcp_own_host;
	m->sessions = sessions_new();
	m->held = held_new();
	m->answered = answered_new();
	m->followers = followers_new(m);
	return m;
}

void
mcp_routes(struct mcp *m, struct http_route *out)
{
	out[0] = (struct http_route){ .method = HTTP_POST_,
		.path = "/mcp",
		.where = HTTP_WORKER,
		.takes_body = true,
		.handler = handle_post,
		.arg = m };
	out[1] = (struct http_route){
		.method = HTTP_GET_, .path = "/mcp", .where = HTTP_WORKER, .handler = handle_get, .arg = m
	};
	out[2] = (struct http_route){ .method = HTTP_DELETE_,
		.path = "/mcp",
		.where = HTTP_WORKER,
		.handler = handle_delete,
		.arg = m };
}

void
mcp_start(struct mcp *m)
{
	followers_start(m->followers);
}

void
mcp_end(struct mcp *m)
{
	followers_end(m->followers);
}

void
mcp_stop(struct mcp *m)
{
	if (!m)
		return;
	followers_stop(m->followers);
	held_stop(m->held);
}

void
mcp_free(struct mcp *m)
{
	if (!m)
		return;
	followers_free(m->followers);
	held_free(m->held);
	answered_free(m->answered);
	sessions_free(m->sessions);
	free(m);
}
