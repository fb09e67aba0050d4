/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call says before its answer, and calls of the legacy era that outlive their request:
 *
 *	held   the client was asked something on the call's stream; its answer comes as a POST of its own, and
 *	       the call runs again with it
 *	kept   the stream was broken off; the client fetches the answer by its Last-Event-ID
 *
 * Both live in this server's memory, bounded, for LIMIT_MCP_STATE_US. A client that comes back too late, or
 * to another server, calls again.
 */
#include "face/mcp/call.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/scoped.h"

#include <stdlib.h>

#define RETRY_MS 500

/* --- notifications --- */

static bool
has_stream(struct mcp_call *c)
{
	if (!c->stream && c->x && header_accepts_stream(c))
		c->stream = http_stream_open(c->x);
	return c->stream != NULL;
}

void
stream_notify(struct mcp_call *c, const char *method, str params)
{
	if (has_stream(c))
		(void)http_stream_send(c->stream, (str){ 0 }, (str){ 0 },
			message_notification(c->cx->arena, method, params));
}

void
stream_progress(struct mcp_call *c, int64_t progress, int64_t total, str message)
{
	const struct json *token = c->meta ? json_get(c->meta, STR("progressToken")) : NULL;
	struct json_out o;
	struct buf b;

	if (!token)
		return;
	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_value(&o, "progressToken", token);
	json_out_int(&o, "progress", progress);
	json_out_int(&o, "total", total);
	json_out_str(&o, "message", message);
	json_out_end(&o);
	stream_notify(c, "notifications/progress", buf_str(&b));
}

static const char *const levels[] = { "debug", "info", "notice", "warning", "error", "critical", "alert",
	"emergency" };

int
stream_level_of(str name)
{
	for (int i = 0; i < (int)(sizeof(levels) / sizeof(levels[0])); i++)
		if (str_eq(name, str_of(levels[i])))
			return i;
	return -1;
}

/* The least severe level this call's client wants to hear of; more than all: none. */
static int
wanted(struct mcp_call *c)
{
	int level;

	if (!c->modern)
		return session_level(c);
	level = stream_level_of(message_text(c->meta, STR(MCP_META "logLevel")));
	return level >= 0 ? level : (int)(sizeof(levels) / sizeof(levels[0]));
}

void
stream_log(struct mcp_call *c, int level, str text)
{
	struct json_out o;
	struct buf b;

	if (level < wanted(c))
		return;
	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "level", str_of(levels[level]));
	json_out_str(&o, "logger", STR("countersign"));
	json_out_str(&o, "data", text);
	json_out_end(&o);
	stream_notify(c, "notifications/message", buf_str(&b));
}

/* --- what outlives its request --- */

#define ID 16u /* hexadecimal digits */

struct waiting {
	char id[ID + 1];
	uint64_t session;
	int64_t since_us;
	struct http_stream *stream;
	struct arena arena;	  /* of all its text */
	str text, state, request; /* the message, what the host kept, the message's id */
	size_t count, missing;
	struct {
		str key, answer;
	} asked[LIMIT_MCP_ASKS];
};

struct kept {
	char id[ID + 1];
	uint64_t session;
	size_t len;
	char answer[];
};

struct held {
	pthread_mutex_t lock; /* guards all */
	struct waiting *waiting[LIMIT_MCP_HELD];
	struct kept *kept[LIMIT_MCP_KEPT]; /* a ring */
	size_t kept_count;
};

static void
free_waiting(struct waiting *w)
{
	if (w->stream)
		http_stream_close(w->stream);
	arena_done(&w->arena);
	free(w);
}

struct held *
held_new(void)
{
	struct held *h = calloc(1, sizeof(*h));

	CHECK(h != NULL && pthread_mutex_init(&h->lock, NULL) == 0);
	return h;
}

void
held_stop(struct held *h)
{
	scoped_lock held = lock(&h->lock);

	for (size_t i = 0; i < LIMIT_MCP_HELD; i++) {
		if (h->waiting[i])
			free_waiting(h->waiting[i]);
		h->waiting[i] = NULL;
	}
}

void
held_free(struct held *h)
{
	for (size_t i = 0; i < LIMIT_MCP_KEPT; i++)
		free(h->kept[i]);
	CHECK(pthread_mutex_destroy(&h->lock) == 0);
	free(h);
}

/* With the lock held: a place, after those whose time is over are gone. NULL: all are taken. */
static struct waiting **
place(struct held *h)
{
	int64_t now = clock_mono_us();
	struct waiting **empty = NULL;

	for (size_t i = 0; i < LIMIT_MCP_HELD; i++) {
		struct waiting *w = h->waiting[i];

		if (w && (now - w->since_us > LIMIT_MCP_STATE_US || http_stream_gone(w->stream))) {
			free_waiting(w);
			h->waiting[i] = w = NULL;
		}
		if (!w)
			empty = &h->waiting[i];
	}
	return empty;
}

static bool
put(struct held *h, struct waiting *w)
{
	scoped_lock held = lock(&h->lock);
	struct waiting **at = place(h);

	if (at)
		*at = w;
	return at != NULL;
}

static struct waiting *
new_waiting(struct mcp_call *c)
{
	struct waiting *w = calloc(1, sizeof(*w));
	str request = { 0 };

	CHECK(w != NULL);
	arena_init(&w->arena, LIMIT_REQUEST_ARENA);
	memcpy(w->id, random_hex(c->cx->arena, ID / 2).ptr, ID);
	w->session = message_hash(c->session);
	w->since_us = clock_mono_us();
	if (json_text(c->cx, c->id, &request) != OK)
		ctx_clear(c->cx);
	w->text = arena_str(&w->arena, c->text);
	w->state = arena_str(&w->arena, c->keeps);
	w->request = arena_str(&w->arena, request);
	JSON_EACH (ask, c->asks) {
		if (w->count == LIMIT_MCP_ASKS)
			break;
		w->asked[w->count++].key = arena_str(&w->arena, ask->key);
	}
	w->missing = w->count;
	return w;
}

static str
request_of(struct mcp_call *c, str id, size_t n, const struct json *ask)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "jsonrpc", STR("2.0"));
	json_out_str(&o, "id", arena_printf(c->cx->arena, "%.*s.%zu", STR_ARG(id), n));
	json_out_value(&o, "method", json_get(ask, STR("method")));
	json_out_value(&o, "params", json_get(ask, STR("params")));
	json_out_end(&o);
	return buf_str(&b);
}

status
held_ask(struct mcp_call *c)
{
	struct waiting *w;
	str id;
	size_t n = 0;

	if (!has_stream(c))
		return rpc_fail(
			c, RPC_REQUEST, 406, "this call asks back: Accept must list text/event-stream");
	w = new_waiting(c);
	id = arena_str(c->cx->arena, str_of(w->id)); /* as soon as it is in the table it is others' */
	JSON_EACH (ask, c->asks)
		if (n < LIMIT_MCP_ASKS)
			(void)http_stream_send(
				c->stream, (str){ 0 }, (str){ 0 }, request_of(c, id, n++, ask));
	w->stream = c->stream;
	if (!put(c->mcp->held, w)) {
		w->stream = NULL;
		free_waiting(w);
		return fail(c->cx, E_UNAVAILABLE, "too many calls wait for an answer; call again later");
	}
	c->stream = NULL;
	c->holds = true;
	return OK;
}

/* With the answer that came: the call, where that was the last one; else NULL. */
static struct waiting *
take(struct held *h, uint64_t session, str id, size_t n, str answer)
{
	scoped_lock held = lock(&h->lock);

	for (size_t i = 0; i < LIMIT_MCP_HELD; i++) {
		struct waiting *w = h->waiting[i];

		if (!w || w->session != session || !str_eq(str_of(w->id), id) || n >= w->count ||
			w->asked[n].answer.ptr)
			continue;
		w->asked[n].answer = arena_str(&w->arena, answer);
		if (--w->missing)
			return NULL;
		h->waiting[i] = NULL;
		return w;
	}
	return NULL;
}

static status
read_answers(struct mcp_call *c, const struct waiting *w)
{
	struct json *all = json_new_object(c->cx->arena), *one;

	for (size_t i = 0; i < w->count; i++) {
		TRY(json_parse(c->cx, arena_str(c->cx->arena, w->asked[i].answer), &one));
		json_add_member(all, arena_str(c->cx->arena, w->asked[i].key), one);
	}
	c->answers = all;
	return OK;
}

/* The call again, with what it wanted to know; on its own stream. */
static void
resume(struct mcp_call *c, struct waiting *w)
{
	struct mcp_call again = { .mcp = c->mcp,
		.cx = c->cx,
		.version = c->version,
		.can = c->can,
		.session = c->session,
		.principal = c->principal,
		.state = arena_str(c->cx->arena, w->state),
		.stream = w->stream };
	status s = message_read(&again, arena_str(c->cx->arena, w->text));

	w->stream = NULL;
	if (s == OK)
		s = read_answers(&again, w);
	if (s == OK)
		mcp_run(&again);
	else
		mcp_answer(&again, message_error(&again, s));
	ctx_clear(c->cx);
}

void
held_answer(struct mcp_call *c)
{
	const struct json *result = json_get(c->answer, STR("result"));
	str id, number, answer = STR("{\"action\":\"cancel\"}"); /* an error is no answer */
	struct waiting *w;
	int64_t n;

	if (c->id->type != JSON_STRING || !str_cut(c->id->text, '.', &id, &number) ||
		!str_to_int(number, &n) || n < 0)
		return;
	if (result && json_text(c->cx, result, &answer) != OK)
		return;
	w = take(c->mcp->held, message_hash(c->session), id, (size_t)n, answer);
	if (!w)
		return;
	resume(c, w);
	free_waiting(w);
}

void
held_cancel(struct mcp_call *c, str id)
{
	struct held *h = c->mcp->held;
	uint64_t session = message_hash(c->session);
	scoped_lock held = lock(&h->lock);

	for (size_t i = 0; i < LIMIT_MCP_HELD; i++) {
		struct waiting *w = h->waiting[i];

		if (!w || w->session != session || !str_eq(w->request, id))
			continue;
		free_waiting(w);
		h->waiting[i] = NULL;
	}
}

/* --- answers that are fetched --- */

/* In the place of the oldest. */
static void
keep(struct held *h, struct kept *one)
{
	scoped_lock held = lock(&h->lock);
	struct kept **at = &h->kept[h->kept_count++ % LIMIT_MCP_KEPT];

	free(*at);
	*at = one;
}

void
held_drop(struct mcp_call *c, str answer)
{
	str id = random_hex(c->cx->arena, ID / 2);
	struct kept *one;

	if (answer.len > LIMIT_MCP_KEPT_BYTES || !has_stream(c)) {
		mcp_answer(c, answer);
		return;
	}
	one = calloc(1, sizeof(*one) + answer.len);
	CHECK(one != NULL);
	memcpy(one->id, id.ptr, ID);
	one->session = message_hash(c->session);
	one->len = answer.len;
	memcpy(one->answer, answer.ptr, answer.len);
	keep(c->mcp->held, one);
	(void)http_stream_prime(c->stream, id, RETRY_MS);
	http_stream_close(c->stream);
	c->stream = NULL;
	c->holds = true;
}

bool
held_fetch(struct mcp_call *c, str event_id)
{
	struct held *h = c->mcp->held;
	uint64_t session = message_hash(c->session);
	scoped_lock held = lock(&h->lock);

	for (size_t i = 0; i < LIMIT_MCP_KEPT; i++) {
		const struct kept *k = h->kept[i];

		if (!k || k->session != session || !str_eq(str_of(k->id), event_id))
			continue;
		c->stream = http_stream_open(c->x);
		(void)http_stream_send(c->stream, (str){ 0 }, arena_printf(c->cx->arena, "%s-1", k->id),
			(str){ k->answer, k->len });
		http_stream_close(c->stream);
		c->stream = NULL;
		return true;
	}
	return false;
}
