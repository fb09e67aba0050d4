/* SPDX-License-Identifier: Apache-2.0 */
#include "app/bridge/bridge.h"

#include "app/client/client.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"

#include <stdlib.h>

#define META	   "io.modelcontextprotocol/"
#define FIELDS_MAX (8u + LIMIT_MCP_HEADERS)

/* --- letters --- */

static struct letter *
new_letter(struct bridge *b, enum letter_kind kind)
{
	struct letter *l = calloc(1, sizeof(*l));

	CHECK(l);
	arena_init(&l->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&l->cx, &l->arena);
	l->bridge = b;
	l->kind = kind;
	l->next = b->letters;
	b->letters = l;
	b->count++;
	return l;
}

void
letter_drop(struct letter *l)
{
	struct bridge *b = l->bridge;

	for (struct letter **at = &b->letters; *at; at = &(*at)->next)
		if (*at == l) {
			*at = l->next;
			break;
		}
	b->count--;
	if (l->flight)
		http_many_cancel(b->many, l->flight);
	arena_done(&l->arena);
	free(l);
}

bool
letter_owes(const struct bridge *b)
{
	for (const struct letter *l = b->letters; l; l = l->next)
		if (l->kind != LETTER_FOLLOW && !l->cancelled)
			return true;
	return false;
}

/* --- headers --- */

struct fields {
	struct http_client_field all[FIELDS_MAX];
	size_t count;
};

static void
add(struct fields *f, str name, str value)
{
	CHECK(f->count < FIELDS_MAX);
	f->all[f->count++] = (struct http_client_field){ name, value };
}

/* The member of params that Mcp-Name repeats. */
static str
name_of(const struct letter *l, const struct json *params)
{
	static const struct {
		const char *method, *member;
	} named[] = {
		{ "tools/call", "name" },
		{ "prompts/get", "name" },
		{ "resources/read", "uri" },
		{ "tasks/get", "taskId" },
		{ "tasks/update", "taskId" },
		{ "tasks/cancel", "taskId" },
	};

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (str_eq(l->method, str_of(named[i].method)))
			return text_of(params, named[i].member);
	return (str){ 0 };
}

static void
add_modern(struct letter *l, struct fields *f)
{
	const struct json *params = json_get(l->message, STR("params"));
	str version = text_of(json_get(params, STR("_meta")), META "protocolVersion"),
	    name = name_of(l, params);

	add(f, STR("MCP-Protocol-Version"), mcp_params_encode(&l->arena, version));
	add(f, STR("Mcp-Method"), mcp_params_encode(&l->arena, l->method));
	if (name.len)
		add(f, STR("Mcp-Name"), mcp_params_encode(&l->arena, name));
	if (str_eq(l->method, STR("tools/call")))
		f->count += mcp_params_add(
			l->bridge->params, &l->arena, params, f->all + f->count, FIELDS_MAX - 2 - f->count);
}

static void
add_legacy(struct letter *l, struct fields *f)
{
	struct bridge *b = l->bridge;

	if (l->kind == LETTER_HELLO || !b->session.len)
		return;
	l->session = arena_str(&l->arena, b->session);
	add(f, STR("Mcp-Session-Id"), l->session);
	add(f, STR("MCP-Protocol-Version"), arena_str(&l->arena, b->version));
}

/* --- sending --- */

void
letter_send(struct letter *l)
{
	struct bridge *b = l->bridge;
	struct fields f = { 0 };
	bool resumes = l->events.id.len > 0, gets = l->kind == LETTER_FOLLOW || resumes;
	struct http_client_request r = { .method = gets ? "GET" : "POST",
		.url = b->url,
		.bearer = b->cx->app->config.token,
		.body = !gets ? l->text : (str){ 0 },
		.accept = gets ? "text/event-stream" : "application/json, text/event-stream",
		.ca_file = b->ca_file,
		.fields = f.all };

	l->due_us = 0;
	l->parked = false;
	l->heard_us = l->sent_us = clock_mono_us();
	if (l->modern)
		add_modern(l, &f);
	else
		add_legacy(l, &f);
	if (l->key.len)
		add(&f, STR("Idempotency-Key"), l->key);
	if (resumes)
		add(&f, STR("Last-Event-ID"), mcp_params_encode(&l->arena, buf_str(&l->events.id)));
	r.field_count = f.count;
	l->body.len = 0;
	if (http_many_begin(b->many, &l->cx, &r, &letter_calls, l, &l->flight) == OK)
		return;
	letter_refuse(l, -32603, ctx_message(&l->cx, l->cx.error.code)); /* a header that HTTP cannot carry */
	letter_drop(l);
}

/* The server would say the same, of a header that nobody has here. */
static bool
comes_too_early(const struct letter *l)
{
	return !l->modern && l->kind == LETTER_MESSAGE && !l->bridge->hello.len;
}

static void
refuse_early(struct letter *l)
{
	str sentence = STR("there is no session yet: initialize first");

	if (l->loud && !l->asks)
		bridge_error(l->bridge, (str){ 0 }, -32600, sentence);
	else if (!l->asks)
		bridge_say(l->bridge, "%.*s", STR_ARG(sentence));
	letter_refuse(l, -32600, sentence);
	letter_drop(l);
}

/* A legacy message while the session is being opened waits for it. */
static void
send_or_park(struct letter *l)
{
	if (comes_too_early(l)) {
		refuse_early(l);
		return;
	}
	l->parked = l->bridge->opening && !l->modern && l->kind != LETTER_HELLO;
	if (!l->parked)
		letter_send(l);
}

static void
prepare(struct letter *l)
{
	events_init(&l->events, &l->arena, LIMIT_HTTP_ANSWER);
	buf_init(&l->body, &l->arena, LIMIT_HTTP_ANSWER);
}

/* Does a stream of news belong to the session? One of an earlier session is over. */
static bool
follows(struct bridge *b)
{
	struct letter *next;

	for (struct letter *l = b->letters; l; l = next) {
		next = l->next;
		if (l->kind != LETTER_FOLLOW)
			continue;
		if (!l->flight || str_eq(l->session, b->session))
			return true;
		letter_drop(l);
	}
	return false;
}

static void
follow(struct bridge *b)
{
	struct letter *l = new_letter(b, LETTER_FOLLOW);

	prepare(l);
	l->ours = true;
	letter_send(l);
}

void
letter_release(struct bridge *b)
{
	struct letter *next;

	for (struct letter *l = b->letters; l; l = next) {
		next = l->next;
		if (l->parked)
			letter_send(l);
	}
	if (b->session.len && !follows(b))
		follow(b);
}

/* --- reading a line --- */

static bool
is_id(const struct json *id)
{
	int64_t n;

	return id && (id->type == JSON_STRING || (id->type == JSON_NUMBER && json_to_int(id, &n)));
}

static str
id_text(struct ctx *cx, const struct json *id)
{
	str text = { 0 };

	if (!is_id(id) || json_text(cx, id, &text) != OK)
		return (str){ 0 };
	return text;
}

static void
add_ask(struct letter *l, const struct json *message)
{
	struct ask *ask;
	str id = id_text(&l->cx, json_get(message, STR("id")));

	if (!id.len || !text_of(message, "method").len)
		return;
	ask = ARENA_NEW(&l->arena, struct ask);
	*ask = (struct ask){ .next = l->asks, .id = id };
	l->asks = ask;
}

/* The letter that owes an answer to this id. */
static struct letter *
find(struct bridge *b, str id)
{
	for (struct letter *l = b->letters; l; l = l->next)
		for (const struct ask *a = l->asks; a; a = a->next)
			if (!a->answered && str_eq(a->id, id))
				return l;
	return NULL;
}

/* True: that is all there is to do. In the modern era closing the request says it. */
static bool
cancel(struct bridge *b, const struct json *message)
{
	const struct json *id = json_get(json_get(message, STR("params")), STR("requestId"));
	str text = id_text(&b->scratch_cx, id);
	struct letter *l = text.len ? find(b, text) : NULL;

	if (!l)
		return !b->session.len; /* nobody knows it */
	if (!l->modern && l->flight) {
		l->cancelled = true; /* the server is told, too */
		return false;
	}
	letter_drop(l);
	return true;
}

static void
read_message(struct letter *l, const struct json *message)
{
	struct bridge *b = l->bridge;
	const struct json *params = json_get(message, STR("params"));
	const struct json *meta = params ? json_get(params, STR("_meta")) : NULL;

	l->message = message;
	l->method = text_of(message, "method");
	l->modern = meta && json_get(meta, STR(META "protocolVersion"));
	l->loud = json_get(message, STR("id")) != NULL || !l->method.len;
	add_ask(l, message);
	if (str_eq(l->method, STR("tools/call")))
		l->key = arena_printf(&l->arena, "stdio-%.*s", STR_ARG(random_hex(&l->arena, 16)));
	if (l->modern || !str_eq(l->method, STR("initialize")))
		return;
	l->kind = LETTER_HELLO;
	arena_reset(&b->session_arena);
	b->session = b->version = (str){ 0 };
	b->hello = arena_str(&b->session_arena, l->text);
	b->opening = true;
}

static void
post(struct bridge *b, str line, bool ours)
{
	struct letter *l = new_letter(b, LETTER_MESSAGE);
	struct json *doc;

	l->ours = ours;
	l->text = arena_str(&l->arena, line);
	prepare(l);
	if (json_parse(&l->cx, l->text, &doc) != OK) { /* it was one a moment ago */
		letter_drop(l);
		return;
	}
	if (doc->type == JSON_ARRAY) {
		l->loud = true;
		JSON_EACH (message, doc)
			add_ask(l, message);
	} else {
		read_message(l, doc);
	}
	send_or_park(l);
}

void
letter_greet(struct bridge *b)
{
	struct arena a;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	post(b, arena_str(&a, b->hello), true); /* a copy: it becomes the new hello */
	arena_done(&a);
	post(b, STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"), true);
}

static bool
is_batch_taken(struct bridge *b, const struct json *doc)
{
	return doc->type != JSON_ARRAY || str_eq(b->version, STR("2025-03-26"));
}

void
letter_take(struct bridge *b, str line)
{
	struct ctx *cx = bridge_scratch(b);
	struct json *doc;
	status s;

	if (!str_trim(line).len)
		return;
	s = json_parse(cx, line, &doc);
	if (s != OK) {
		bridge_error(b, (str){ 0 }, -32700, ctx_message(cx, s));
		return;
	}
	if (!is_batch_taken(b, doc)) {
		bridge_error(
			b, (str){ 0 }, -32600, STR("one message a line: batches are of 2025-03-26 only"));
		return;
	}
	if (str_eq(text_of(doc, "method"), STR("notifications/cancelled")) && cancel(b, doc))
		return;
	if (b->count >= LIMIT_BRIDGE_LETTERS) {
		bridge_error(b, id_text(cx, json_get(doc, STR("id"))), 503,
			STR("too many requests are under way; wait for answers first"));
		return;
	}
	post(b, line, false);
}
