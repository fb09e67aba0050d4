/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/mcp/client.h"

#include "base/check.h"
#include "base/clock.h"
#include "exec/mcp/inside.h"
#include "json/out.h"

#include <stdlib.h>

/* --- life --- */

static void
copy_fields(struct arena *a, const struct http_client_field **fields, size_t count)
{
	struct http_client_field *copy = arena_alloc(a, (count + 1) * sizeof(*copy));

	for (size_t i = 0; i < count; i++)
		copy[i] = (struct http_client_field){ arena_str(a, (*fields)[i].name),
			arena_str(a, (*fields)[i].value) };
	*fields = copy;
}

static const struct mcp_program *
copy_program(struct arena *a, const struct mcp_program *p)
{
	struct mcp_program *copy = ARENA_NEW(a, struct mcp_program);
	str *argv = arena_alloc(a, (p->argc + 1) * sizeof(*argv));
	struct mcp_path *paths = arena_alloc(a, (p->path_count + 1) * sizeof(*paths));

	*copy = *p;
	for (size_t i = 0; i < p->argc; i++)
		argv[i] = arena_str(a, p->argv[i]);
	for (size_t i = 0; i < p->path_count; i++)
		paths[i] = (struct mcp_path){ arena_str(a, p->paths[i].path), p->paths[i].writable };
	copy->argv = argv;
	copy->paths = paths;
	copy->directory = arena_str(a, p->directory);
	copy_fields(a, &copy->variables, p->variable_count);
	return copy;
}

static const struct mcp_oauth *
copy_oauth(struct arena *a, const struct mcp_oauth *o)
{
	struct mcp_oauth *copy = ARENA_NEW(a, struct mcp_oauth);

	*copy = *o;
	copy->redirect_uri = arena_str(a, o->redirect_uri);
	copy->client_name = arena_str(a, o->client_name);
	copy->client_id = arena_str(a, o->client_id);
	copy->client_secret = arena_str(a, o->client_secret);
	copy->document_url = arena_str(a, o->document_url);
	copy->issuer = arena_str(a, o->issuer);
	copy->scope = arena_str(a, o->scope);
	return copy;
}

static void
copy_options(struct arena *a, struct mcp_options *o)
{
	struct http_net *allow = arena_alloc(a, (o->allow_count + 1) * sizeof(*allow));

	for (size_t i = 0; i < o->allow_count; i++)
		allow[i] = o->allow[i];
	o->allow = allow;
	o->name = arena_str(a, o->name);
	o->url = arena_str(a, o->url);
	o->bearer = arena_str(a, o->bearer);
	o->capabilities = arena_str(a, o->capabilities);
	o->ca_file = o->ca_file ? arena_cstr(a, str_of(o->ca_file)) : NULL;
	copy_fields(a, &o->fields, o->field_count);
	if (o->program)
		o->program = copy_program(a, o->program);
	if (o->oauth)
		o->oauth = copy_oauth(a, o->oauth);
}

static status
check(struct ctx *cx, const struct mcp_options *o)
{
	const struct mcp_program *p = o->program;

	if ((p != NULL) == (o->url.len > 0))
		return fail(cx, E_INVALID, "an MCP server has an address, or is a program");
	if (o->url.len && !str_starts(o->url, STR("http://")) && !str_starts(o->url, STR("https://")))
		return fail(cx, E_INVALID, "the address of an MCP server begins with http:// or https://");
	if (o->field_count > LIMIT_MCP_HEADERS)
		return fail(cx, E_INVALID, "an MCP server gets at most %u headers", LIMIT_MCP_HEADERS);
	if (p && (!p->argc || !str_starts(p->argv[0], STR("/"))))
		return fail(cx, E_INVALID, "a program is named by its absolute path");
	return OK;
}

status
mcp_client_new(struct ctx *cx, const struct mcp_options *options, struct mcp_client **out_client)
{
	pthread_condattr_t monotonic;
	struct mcp_client *c;

	TRY(check(cx, options));
	c = calloc(1, sizeof(*c));
	CHECK(c); /* no memory */
	arena_init(&c->arena, LIMIT_REQUEST_ARENA);
	arena_init(&c->session_arena, LIMIT_REQUEST_ARENA);
	c->options = *options;
	copy_options(&c->arena, &c->options);
	CHECK(pthread_mutex_init(&c->mutex, NULL) == 0);
	CHECK(pthread_condattr_init(&monotonic) == 0);
	CHECK(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
	CHECK(pthread_cond_init(&c->opened, &monotonic) == 0);
	CHECK(pthread_condattr_destroy(&monotonic) == 0);
	c->params = mcp_params_new();
	if (options->program)
		c->child = mcp_child_new(c);
	else if (options->oauth)
		c->auth = mcp_auth_new(c);
	*out_client = c;
	return OK;
}

void
mcp_client_stop(struct mcp_client *c)
{
	atomic_store(&c->stopping, true);
	if (c->child)
		mcp_child_stop(c->child);
}

void
mcp_client_give_up(struct mcp_client *c)
{
	bool opening;

	if (!c->child)
		return;
	CHECK(pthread_mutex_lock(&c->mutex) == 0);
	opening = c->opening;
	if (opening)
		atomic_store(&c->stopping, true);
	CHECK(pthread_mutex_unlock(&c->mutex) == 0);
	if (opening)
		mcp_child_stop(c->child);
}

void
mcp_client_free(struct mcp_client *c)
{
	if (!c)
		return;
	mcp_client_stop(c);
	if (c->child)
		mcp_child_free(c->child);
	else
		mcp_http_close(c);
	if (c->auth)
		mcp_auth_free(c->auth);
	mcp_params_free(c->params);
	CHECK(pthread_cond_destroy(&c->opened) == 0);
	CHECK(pthread_mutex_destroy(&c->mutex) == 0);
	arena_done(&c->session_arena);
	arena_done(&c->arena);
	free(c);
}

uint64_t
mcp_client_changes(const struct mcp_client *c)
{
	return atomic_load(&c->changes);
}

/* --- the list --- */

struct listing {
	struct mcp_client *c;
	struct mcp_tools tools;
	size_t room;
	str cursor;
	bool more;
};

static status
add_tool(struct ctx *cx, struct listing *l, const struct json *tool)
{
	str name = mcp_text(tool, "name");
	struct mcp_tool *longer;

	if (!name.len || name.len > LIMIT_TOOL_NAME || !mcp_params_ok(tool)) {
		l->tools.dropped++;
		return OK;
	}
	if (l->tools.count == LIMIT_UPSTREAM_TOOLS)
		return fail(cx, E_TOO_LARGE, "the MCP server has more than %u tools", LIMIT_UPSTREAM_TOOLS);
	if (l->tools.count == l->room) {
		l->room = l->room ? l->room * 2 : 16;
		longer = ARENA_TRY_ARRAY(cx->arena, struct mcp_tool, l->room);
		if (!longer)
			return fail(cx, E_TOO_LARGE, "the MCP server's tools are too large");
		if (l->tools.count)
			memcpy(longer, l->tools.all, l->tools.count * sizeof(*longer));
		l->tools.all = longer;
	}
	l->tools.all[l->tools.count].name = name;
	TRY(json_text(cx, tool, &l->tools.all[l->tools.count].definition));
	l->tools.count++;
	return OK;
}

static status
take_page(struct ctx *cx, struct listing *l, const struct json *result, bool first)
{
	const struct json *tools = result ? json_get(result, STR("tools")) : NULL, *cursor;

	if (!tools || tools->type != JSON_ARRAY)
		return fail(cx, E_UNAVAILABLE, "the MCP server's list of tools is none");
	JSON_EACH (tool, tools)
		TRY(add_tool(cx, l, tool));
	cursor = json_get(result, STR("nextCursor"));
	l->more = cursor && cursor->type == JSON_STRING;
	if (l->more)
		l->cursor = cursor->text;
	{
		scoped_lock held = lock(&l->c->mutex);

		mcp_params_learn(l->c->params, result, first);
		l->c->listed = true;
	}
	return OK;
}

static status
refuse_list(struct ctx *cx, const struct mcp_reply *r)
{
	const struct json *error = r->message ? json_get(r->message, STR("error")) : NULL;
	str said = error ? mcp_text(error, "message") : r->why;

	if (said.len > 300)
		said.len = 300;
	return fail(cx, E_UNAVAILABLE, "the MCP server does not list its tools: %.*s", STR_ARG(said));
}

static status
ask_page(struct ctx *cx, struct listing *l, int64_t deadline_us, bool first)
{
	struct json *params = json_new_object(cx->arena);
	struct mcp_letter ask = { .method = STR("tools/list"),
		.params = params,
		.send_by_us = deadline_us,
		.deadline_us = deadline_us,
		.keep = true };
	struct mcp_reply r;

	if (!first)
		json_add_member(params, STR("cursor"), json_new_string(cx->arena, l->cursor));
	TRY(mcp_session_ask(cx, l->c, &ask, &r));
	if (!r.message || !json_get(r.message, STR("result")))
		return refuse_list(cx, &r);
	return take_page(cx, l, json_get(r.message, STR("result")), first);
}

status
mcp_client_list(struct ctx *cx, struct mcp_client *c, int64_t deadline_us, struct mcp_tools *out)
{
	struct listing l = { .c = c, .more = true };

	for (unsigned i = 0; l.more; i++) {
		if (i == LIMIT_UPSTREAM_PAGES)
			return fail(cx, E_TOO_LARGE, "the MCP server's list of tools has no end");
		TRY(ask_page(cx, &l, deadline_us, i == 0));
	}
	*out = l.tools;
	return OK;
}

/* --- a call --- */

/* Errors that say: it was not even begun. Any other may have come from halfway. */
static bool
is_refusal(const struct mcp_reply *r)
{
	switch (r->message ? mcp_message_code(r->message) : 0) {
	case -32700: /* not read */
	case -32600:
	case -32601: /* no such method */
	case -32602: /* no such tool, wrong arguments */
	case -32002:
	case -32020: /* headers, capabilities, version */
	case -32021:
	case -32022:
	case -32042: /* somebody has to open a page first */
		return true;
	default:
		return r->status >= 300 && r->status < 500;
	}
}

static status
take_error(struct ctx *cx, const struct mcp_reply *r, struct outside_answer *out)
{
	const struct json *error = json_get(r->message, STR("error"));
	str said = mcp_text(error, "message");

	if (said.len > 500)
		said.len = 500;
	TRY(json_text(cx, error, &out->result));
	out->end = is_refusal(r) ? OUTSIDE_REFUSED : OUTSIDE_LOST;
	out->why = arena_printf(cx->arena,
		out->end == OUTSIDE_REFUSED ? "the MCP server refused it: %.*s"
					    : "the MCP server failed while it was at it: %.*s",
		STR_ARG(said));
	return OK;
}

/* There is no message. */
static void
take_silence(struct ctx *cx, const struct mcp_reply *r, struct outside_answer *out)
{
	if (is_refusal(r)) {
		out->end = OUTSIDE_REFUSED;
		out->why = arena_printf(cx->arena, "the MCP server refused it with HTTP %d", r->status);
		return;
	}
	out->end = r->sent || r->status ? OUTSIDE_LOST : OUTSIDE_NOT_SENT;
	out->why = r->why;
}

static void
note(const struct mcp_reply *r, struct outside_answer *out)
{
	out->http_status = r->status;
	out->sent = r->sent;
}

/* What the server wants to know first (modern): answers for the next round. False: we have none. */
static bool
answer_all(struct ctx *cx, struct mcp_client *c, const struct json *asks, struct json *params)
{
	struct json *answers = json_new_object(cx->arena), *doc;
	str result;

	JSON_EACH (ask, asks) {
		const struct json *its = json_get(ask, STR("params"));

		if (!c->options.answer ||
			!c->options.answer(c->options.answer_arg, cx, mcp_text(ask, "method"), its, &result))
			return false;
		if (json_parse(cx, result, &doc) != OK)
			return false;
		json_add_member(answers, ask->key, doc);
	}
	json_add_member(params, STR("inputResponses"), answers);
	return true;
}

struct calling {
	struct mcp_client *c;
	str tool;
	struct json *input;
	const struct mcp_how *how;
	struct json *params; /* of the next round */
	bool again;
};

static struct json *
params_of(struct ctx *cx, const struct calling *call)
{
	struct json *params = json_new_object(cx->arena);

	json_add_member(params, STR("name"), json_new_string(cx->arena, call->tool));
	json_add_member(params, STR("arguments"), json_share(cx->arena, call->input));
	return params;
}

/* It has not begun yet: it waits for answers, or wants to be asked later. */
static status
take_question(struct ctx *cx, struct calling *call, const struct json *result, struct outside_answer *out)
{
	const struct json *asks = json_get(result, STR("inputRequests")),
			  *state = json_get(result, STR("requestState"));

	out->end = OUTSIDE_REFUSED;
	out->why = STR("the MCP server wants answers first that we have no one to ask for");
	call->params = params_of(cx, call);
	if (asks && !answer_all(cx, call->c, asks, call->params))
		return OK;
	if (state)
		json_add_member(call->params, STR("requestState"), json_share(cx->arena, state));
	call->again = asks || state;
	return OK;
}

static status
take_result(struct ctx *cx, struct calling *call, const struct mcp_reply *r, struct outside_answer *out)
{
	const struct json *result = json_get(r->message, STR("result"));
	str type = mcp_text(result, "resultType");

	if (!result)
		return take_error(cx, r, out);
	if (r->mended.top_only && result->type == JSON_STRING) { /* its text: whoever keeps it bounds it */
		out->end = OUTSIDE_DONE;
		out->result = result->text;
		return OK;
	}
	out->mended = r->mended.what;
	out->raw = r->raw;
	if (str_eq(type, STR("input_required")))
		return take_question(cx, call, result, out);
	TRY(json_text(cx, result, &out->result));
	if (type.len && !str_eq(type, STR("complete"))) {
		out->end = OUTSIDE_LOST;
		out->why = STR("the MCP server answered in a way that we do not know");
		return OK;
	}
	out->end = OUTSIDE_DONE;
	return OK;
}

static void
call_once(struct ctx *cx, struct calling *call, struct outside_answer *out)
{
	struct mcp_letter l = { .method = STR("tools/call"),
		.params = call->params,
		.send_by_us = call->how->send_by_us ? call->how->send_by_us : call->how->deadline_us,
		.deadline_us = call->how->deadline_us,
		.keep = call->how->reads };
	struct mcp_reply r;
	status s = mcp_session_ask(cx, call->c, &l, &r);

	*out = (struct outside_answer){ .end = OUTSIDE_NOT_SENT };
	call->again = false;
	if (s != OK) { /* before it was sent, or after it was refused for want of a token */
		out->end = r.sent ? OUTSIDE_REFUSED : OUTSIDE_NOT_SENT;
		out->why = arena_str(cx->arena, ctx_message(cx, s));
		note(&r, out);
		ctx_clear(cx);
		return;
	}
	note(&r, out);
	if (!r.message)
		take_silence(cx, &r, out);
	else if (take_result(cx, call, &r, out) != OK)
		*out = (struct outside_answer){ .end = OUTSIDE_LOST,
			.why = STR("the MCP server's answer is too large"),
			.http_status = r.status,
			.sent = r.sent };
	ctx_clear(cx);
}

/* Headers repeat arguments by what the list says, so a modern server is listed once before. */
static void
list_before(struct ctx *cx, struct mcp_client *c, const struct mcp_how *how)
{
	struct mcp_tools tools;
	bool known;

	{
		scoped_lock held = lock(&c->mutex);

		known = c->listed || c->child || c->options.era == MCP_LEGACY ||
			(c->session.generation && c->session.era == MCP_LEGACY);
	}
	if (!known && mcp_client_list(cx, c, how->deadline_us, &tools) != OK)
		ctx_clear(cx); /* then the server says what it misses */
}

status
mcp_client_call(struct ctx *cx, struct mcp_client *c, str tool, str input, const struct mcp_how *how,
	struct outside_answer *out)
{
	struct calling call = { .c = c, .tool = tool, .how = how };
	struct outside_answer answer = { .end = OUTSIDE_NOT_SENT };

	TRY(json_parse(cx, input, &call.input));
	if (call.input->type != JSON_OBJECT)
		return fail(cx, E_INVALID, "the input of a tool is a JSON object");
	list_before(cx, c, how);
	call.params = params_of(cx, &call);
	call.again = true;
	for (unsigned i = 0; call.again && i < LIMIT_UPSTREAM_ROUNDS; i++)
		call_once(cx, &call, &answer);
	*out = answer;
	return OK;
}
