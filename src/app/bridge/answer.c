/* SPDX-License-Identifier: Apache-2.0 */
#include "app/bridge/bridge.h"

#include "app/client/client.h"
#include "base/clock.h"

#define FIRST_PAUSE_MS 1000
#define LAST_PAUSE_MS  30000
#define RETRY_US       INT64_C(250000)

/* --- answers of our own --- */

void
letter_refuse(struct letter *l, int code, str sentence)
{
	for (struct ask *a = l->asks; a; a = a->next) {
		if (!a->answered && !l->cancelled && !l->ours)
			bridge_error(l->bridge, a->id, code, sentence);
		a->answered = true;
	}
}

static bool
owes(const struct letter *l)
{
	for (const struct ask *a = l->asks; a; a = a->next)
		if (!a->answered)
			return true;
	return false;
}

/* --- a message of the server's --- */

static bool
is_answer(const struct json *message)
{
	return !json_get(message, STR("method")) &&
	       (json_get(message, STR("result")) || json_get(message, STR("error")));
}

static void
settle(struct letter *l, struct ctx *cx, const struct json *message)
{
	const struct json *id = json_get(message, STR("id")), *result = json_get(message, STR("result"));
	str text;

	if (!is_answer(message) || !id || json_text(cx, id, &text) != OK)
		return;
	for (struct ask *a = l->asks; a; a = a->next)
		if (str_eq(a->id, text))
			a->answered = true;
	if (l->modern && result && str_eq(l->method, STR("tools/list")))
		mcp_params_learn(l->bridge->params, result,
			!json_get(json_get(l->message, STR("params")), STR("cursor")));
}

/* An error that does not say of what, although only one thing was asked. */
static bool
name_it(struct letter *l, struct ctx *cx, const struct json *message)
{
	const struct json *error = json_get(message, STR("error"));
	struct json_out o;
	struct buf b;

	if (!error || json_get(message, STR("id")) || !l->asks || l->asks->next || l->asks->answered)
		return false;
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "jsonrpc", STR("2.0"));
	json_out_raw(&o, "id", l->asks->id);
	json_out_value(&o, "error", error);
	json_out_end(&o);
	l->asks->answered = true;
	if (!l->cancelled && !l->ours)
		bridge_write(l->bridge, buf_str(&b));
	return true;
}

/* --- a list that is shown in part --- */

static bool
is_shown(const struct bridge *b, const struct json *tool)
{
	str name = text_of(tool, "name");

	return !str_starts(name, STR("mcp__")) || str_starts(name, b->options.only);
}

static void
write_tools(const struct bridge *b, const struct json *tools, struct json_out *o)
{
	json_out_array(o, NULL);
	JSON_EACH (tool, tools)
		if (is_shown(b, tool))
			json_out_value(o, NULL, tool);
	json_out_end(o);
}

static void
write_result(const struct bridge *b, const struct json *result, struct json_out *o)
{
	json_out_object(o, NULL);
	JSON_EACH (m, result) {
		json_out_key(o, m->key);
		if (str_eq(m->key, STR("tools")) && m->type == JSON_ARRAY)
			write_tools(b, m, o);
		else
			json_out_value(o, NULL, m);
	}
	json_out_end(o);
}

/* The answer without the tools of other wraps. What is too large for that goes as it is. */
static str
narrow(const struct letter *l, struct ctx *cx, const struct json *doc, str text)
{
	const struct json *result = json_get(doc, STR("result"));
	struct json_out o;
	struct buf b;

	if (!l->bridge->options.only.len || !str_eq(l->method, STR("tools/list")) || !result ||
		result->type != JSON_OBJECT)
		return text;
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	JSON_EACH (m, doc) {
		json_out_key(&o, m->key);
		if (m == result)
			write_result(l->bridge, result, &o);
		else
			json_out_value(&o, NULL, m);
	}
	json_out_end(&o);
	return b.overflow ? text : buf_str(&b);
}

static bool
is_message(const struct json *doc)
{
	return str_eq(text_of(doc, "jsonrpc"), STR("2.0"));
}

/* False: it is none. */
static bool
deliver(struct letter *l, str text)
{
	struct ctx *cx = bridge_scratch(l->bridge);
	struct json *doc = bridge_parse(l->bridge, text);
	bool quiet;

	if (!doc || !(doc->type == JSON_ARRAY ? doc->child && is_message(doc->child) : is_message(doc)))
		return false;
	quiet = (l->cancelled || l->ours) && is_answer(doc);
	if (doc->type == JSON_ARRAY)
		JSON_EACH (one, doc)
			settle(l, cx, one);
	else if (name_it(l, cx, doc))
		return true;
	else
		settle(l, cx, doc);
	if (!quiet)
		bridge_write(l->bridge, doc->type == JSON_OBJECT ? narrow(l, cx, doc, text) : text);
	return true;
}

/* --- pieces --- */

static void
take_event(void *arg, str data)
{
	struct letter *l = arg;

	if (data.len && !deliver(l, data))
		bridge_say(l->bridge, "the server sent something that is no message");
}

static bool
is_stream(const struct http_flight *f)
{
	return str_starts(http_flight_header(f, "Content-Type"), STR("text/event-stream"));
}

static bool
take_piece(void *arg, str bytes)
{
	struct letter *l = arg;

	l->heard_us = clock_mono_us();
	if (http_flight_status(l->flight) == 200 && is_stream(l->flight))
		return events_feed(&l->events, bytes, take_event, l);
	buf_add(&l->body, bytes);
	return !l->body.overflow;
}

/* --- the session --- */

/* Waits for a session that is opened again. */
static void
renew(struct letter *l)
{
	struct bridge *b = l->bridge;

	l->renewed = true;
	if (!b->opening && !str_eq(l->session, b->session)) { /* that has happened meanwhile */
		l->due_us = clock_mono_us();
		return;
	}
	l->parked = true;
	if (!b->opening)
		letter_greet(b);
}

static void
open_session(struct letter *l, const struct http_flight *f)
{
	struct bridge *b = l->bridge;
	str session = http_flight_header(f, "Mcp-Session-Id");
	const struct json *doc = bridge_parse(b, buf_str(&l->body));
	str version = text_of(part_of(doc, "result"), "protocolVersion");

	b->opening = false;
	if (version.len && session.len && session.len <= LIMIT_BRIDGE_SESSION &&
		version.len <= LIMIT_BRIDGE_SESSION) {
		b->session = arena_str(&b->session_arena, session);
		b->version = arena_str(&b->session_arena, version);
	}
}

/* --- the end --- */

static void
send_later(struct letter *l, int64_t us)
{
	l->flight = NULL;
	l->due_us = clock_mono_us() + us;
}

static bool
follow_again(struct letter *l, int number)
{
	if (l->kind != LETTER_FOLLOW || (number && number != 200 && number < 500))
		return false;
	l->pause_ms = l->pause_ms ? l->pause_ms * 2 : FIRST_PAUSE_MS;
	if (number == 200)
		l->pause_ms = l->events.retry_ms >= 0 ? l->events.retry_ms : FIRST_PAUSE_MS;
	if (l->pause_ms > LAST_PAUSE_MS)
		l->pause_ms = LAST_PAUSE_MS;
	l->events.line.len = l->events.data.len = 0;
	l->events.has_data = false;
	send_later(l, l->pause_ms * 1000);
	return true;
}

/* The rest of a stream that the server broke off is fetched (legacy). */
static bool
resume(struct letter *l)
{
	if (l->modern || l->cancelled || !owes(l) || !l->events.id.len ||
		l->resumes++ == LIMIT_BRIDGE_RESUMES)
		return false;
	if (!l->resumed_us)
		l->resumed_us = clock_mono_us();
	send_later(l, (l->events.retry_ms >= 0 ? l->events.retry_ms : FIRST_PAUSE_MS) * 1000);
	return true;
}

/* A server that has answered before may be being started again. What was perhaps done is not done twice: a call
 * has its key. */
static bool
try_again(struct letter *l)
{
	int64_t now = clock_mono_us();

	if (!l->failing_us || now - l->sent_us > LIMIT_BRIDGE_PATIENCE_US) /* it went well meanwhile */
		l->failing_us = now;
	if (!l->bridge->reached || l->cancelled || now - l->failing_us > LIMIT_BRIDGE_PATIENCE_US)
		return false;
	if (str_eq(l->method, STR("subscriptions/listen")))
		return false; /* who listens hears that something was missed */
	send_later(l, RETRY_US);
	return true;
}

/* Nobody listens where the server was: a wrap brings it back. False: it could not, *out_sentence says why. */
static bool
revive(struct bridge *b, str *out_sentence)
{
	const struct bridge_options *o = &b->options;
	status s = o->revive(b->cx, o->arg);

	if (s == OK) {
		b->reached = true;
		bridge_aim(b);
		return true;
	}
	*out_sentence = ctx_message(b->cx, s);
	return false;
}

static str
describe(struct letter *l, status s, str why)
{
	return arena_printf(&l->arena,
		s == E_UNAVAILABLE ? "the Countersign server at %.*s cannot be reached (%.*s); start it with "
				     "`countersign serve`"
				   : "the Countersign server at %.*s gave no whole answer (%.*s)",
		STR_ARG(l->bridge->cx->app->config.server), STR_ARG(why));
}

static void
fail_letter(struct letter *l, status s, str why)
{
	struct bridge *b = l->bridge;
	str sentence = describe(l, s, why);
	bool hello = l->kind == LETTER_HELLO, gone = false;

	if (!b->away)
		bridge_say(b, "the server at %.*s does not answer: %.*s", STR_ARG(b->cx->app->config.server),
			STR_ARG(why));
	b->away = true;
	if (s == E_UNAVAILABLE && b->options.revive)
		gone = !revive(b, &sentence);
	if (follow_again(l, 0) || (!gone && s != E_TOO_LARGE && s != E_INVALID && try_again(l)))
		return;
	letter_refuse(l, s == E_TOO_LARGE ? -32603 : 503, sentence);
	letter_drop(l);
	if (!hello)
		return;
	b->opening = false;
	letter_release(b); /* they fail, too, and say so */
}

void
letter_lost(struct letter *l)
{
	http_many_cancel(l->bridge->many, l->flight);
	l->flight = NULL;
	if (l->resumed_us) {
		letter_refuse(l, 503, STR("the server has no answer to this any more; call again"));
		letter_drop(l);
		return;
	}
	fail_letter(l, E_TIMEOUT, STR("it has been silent for too long"));
}

/* An answer of another form: of the server before MCP is reached, or of something in between. */
static void
translate(struct letter *l, int number)
{
	const struct json *doc = bridge_parse(l->bridge, buf_str(&l->body));
	str said = text_of(doc, "message");

	if (!said.len)
		said = text_of(part_of(doc, "error"), "message"); /* of a notification */
	if (!said.len)
		said = arena_printf(&l->arena, "what answers at %.*s is not Countersign's MCP (HTTP %d)",
			STR_ARG(l->bridge->url), number);
	else
		said = arena_str(&l->arena, said);
	if (l->loud && !l->asks && number >= 400)
		bridge_error(l->bridge, (str){ 0 }, number, said);
	else if (number >= 400)
		bridge_say(l->bridge, "the server refused a message: %.*s", STR_ARG(said));
	letter_refuse(l, number >= 400 ? number : -32603, said);
}

static void
finish(struct letter *l, const struct http_flight *f, int number)
{
	struct bridge *b = l->bridge;
	bool hello = l->kind == LETTER_HELLO, heard;

	if (hello)
		open_session(l, f);
	if (number == 401)
		bridge_say(b, "the token is not valid; give one that is with COUNTERSIGN_TOKEN");
	heard = l->body.len && (l->asks || l->loud);
	if (heard ? !deliver(l, buf_str(&l->body)) : number >= 400)
		translate(l, number);
	if (owes(l))
		letter_refuse(l, -32603, STR("the server ended without an answer"));
	letter_drop(l);
	if (hello)
		letter_release(b);
}

static void
take_end(void *arg, const struct http_flight *f, status s, str why)
{
	struct letter *l = arg;
	struct bridge *b = l->bridge;
	int number = http_flight_status(f);

	l->flight = NULL; /* it is freed after this */
	if (s != OK && number == 200 && resume(l))
		return;
	if (s != OK) {
		fail_letter(l, s, why);
		return;
	}
	b->reached = true;
	b->away = false;
	if (number == 404 && l->session.len && b->hello.len && !l->renewed) {
		renew(l);
		return;
	}
	if (number == 200 && l->kind == LETTER_FOLLOW)
		l->renewed = false;
	if (follow_again(l, number) || (number == 200 && resume(l)))
		return;
	if (number == 200 && is_stream(f) && owes(l))
		fail_letter(l, E_TIMEOUT, STR("the stream ended before the answer"));
	else
		finish(l, f, number);
}

const struct http_flight_calls letter_calls = { take_piece, take_end };
