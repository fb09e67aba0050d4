/* SPDX-License-Identifier: Apache-2.0 */
#include "face/rest/rest.h"

#include "base/check.h"
#include "base/limits.h"
#include "face/rest/credential.h"
#include "face/rest/feed.h"
#include "face/rest/input.h"

/* --- errors --- */

void
rest_envelope(struct json_out *o, const struct ctx *cx, status s)
{
	const struct status_info *info = status_info(s);
	/* What went wrong inside is for the log; ctx_message is for what the caller can act on. */
	str message = s == E_INTERNAL ? str_of(info->sentence) : ctx_message(cx, s);

	json_out_str(o, "code", str_of(info->code));
	json_out_str(o, "message", message);
	if (cx->error.code == s && cx->error.details.len)
		json_out_raw(o, "details", cx->error.details);
	if (cx->error.code != s || !cx->error.issue_count)
		return;
	json_out_array(o, "fields");
	for (size_t i = 0; i < cx->error.issue_count; i++) {
		json_out_object(o, NULL);
		json_out_str(o, "path", cx->error.issues[i].path);
		json_out_str(o, "message", cx->error.issues[i].message);
		json_out_end(o);
	}
	json_out_end(o);
}

void
rest_refuse(struct http_exchange *x, status s)
{
	size_t cap = http_answer_room(x->cx->arena, LIMIT_HTTP_REFUSAL);
	struct json_out o;

	if (s == E_NOT_FOUND && !x->route) /* no path, rather than no note of that name */
		s = fail(x->cx, s, "there is nothing at this path; /openapi.json lists those there are");
	if (x->cx->error.code != s)
		x->cx->error = (struct error){ .code = s }; /* so that the log knows what it was */
	x->status = status_info(s)->http;
	x->content_type = "application/json";
	buf_init(&x->body, x->cx->arena, LIMIT_HTTP_ANSWER); /* what a failed op had written goes */
	if (s == E_UNAUTHENTICATED)
		http_add_header(x, STR("WWW-Authenticate"), STR("Bearer"));
	json_out_init(&o, &x->body);
	json_out_object(&o, NULL);
	rest_envelope(&o, x->cx, s);
	json_out_end(&o);
	x->cx->arena->cap = cap;
}

/* --- operations --- */

static void
add_headers(struct http_exchange *x)
{
	for (size_t i = 0; i < x->cx->header_count; i++)
		http_add_header(x, str_of(x->cx->headers[i].name), x->cx->headers[i].value);
}

static status
answer(struct http_exchange *x, const struct op *op, void *in)
{
	struct json_out o;
	str text;

	json_out_init(&o, &x->body);
	if (!op->content_type)
		json_out_object(&o, NULL);
	TRY(op_run(x->cx, op, in, &o));
	if (!op->content_type)
		json_out_end(&o);
	return buf_finish(&x->body, &text);
}

static status
run(struct http_exchange *x, const struct input *input)
{
	void *in = NULL;
	status s;

	x->cx->credential = credential_of(x);
	TRY(http_take_key(x));
	x->cx->if_match = http_header(x, STR("If-Match"));
	TRY(op_admit(x->cx, input->op));
	s = input_read(x, input, &in);
	return s == OK ? answer(x, input->op, in) : op_refused(x->cx, input->op, NULL, s);
}

static void
handle(struct http_exchange *x, void *arg)
{
	const struct input *input = arg;
	status s = run(x, input);

	add_headers(x);
	if (s != OK) {
		rest_refuse(x, s);
		return;
	}
	if (input->op->streams) {
		s = feed_follow(x);
		if (s == OK)
			return;
		add_headers(x);
		rest_refuse(x, s);
		return;
	}
	x->status = input->op->success ? input->op->success : 200;
	x->content_type = input->op->content_type ? input->op->content_type : "application/json";
}

/* --- on the event loop --- */

static status
look(struct http_exchange *x, const struct input *input)
{
	struct json_out o;
	str text;
	void *in;

	x->cx->credential = credential_of(x);
	if (input_read(x, input, &in) != OK)
		return E_BUSY; /* what is wrong with it is said in one place */
	json_out_init(&o, &x->body);
	json_out_object(&o, NULL);
	TRY(input->op->peek(x->cx, in, &o));
	json_out_end(&o);
	return buf_finish(&x->body, &text);
}

static bool
peek(struct http_exchange *x, void *arg)
{
	const struct input *input = arg;
	status s = x->req.body.len <= LIMIT_PEEK_BODY ? look(x, input) : E_BUSY;

	if (s == E_BUSY) {
		ctx_clear(x->cx);
		x->cx->credential = NULL;
		return false;
	}
	add_headers(x);
	if (s != OK) {
		rest_refuse(x, s);
		return true;
	}
	x->status = 200;
	x->content_type = "application/json";
	return true;
}

/* --- routes --- */

static enum http_method
method_of(const char *name)
{
	enum http_method m = HTTP_GET_;

	while (strcmp(http_method_name(m), name) != 0) {
		m++;
		CHECK(m < HTTP_METHODS); /* op_check lets only known methods through */
	}
	return m;
}

static struct http_route
route_of(struct arena *a, const struct op *op)
{
	return (struct http_route){
		.method = method_of(op->method),
		.path = op->path,
		.where = op->where == OP_INLINE ? HTTP_INLINE : HTTP_WORKER,
		.takes_body = op_takes_body(op),
		.handler = handle,
		.peek = op->peek ? peek : NULL,
		.arg = input_new(a, op),
	};
}

status
rest_routes(struct ctx *cx, const struct op *const *tables, size_t more, struct http_route **out_routes,
	size_t *out_count)
{
	struct http_route *routes;
	size_t n = 0;

	TRY(op_check(cx, tables));
	routes = arena_alloc(cx->arena, (op_count(tables) + more) * sizeof(*routes));
	for (; *tables; tables++)
		OP_EACH (op, *tables)
			routes[n++] = route_of(cx->arena, op);
	*out_routes = routes;
	*out_count = n;
	return OK;
}

const struct op *
rest_op_of(const struct http_route *route)
{
	const struct input *input = route && route->handler == handle ? route->arg : NULL;

	return input ? input->op : NULL;
}
