/* SPDX-License-Identifier: Apache-2.0 */
/* One message over Streamable HTTP: a POST, and its answer as JSON or in a stream that may break and go on. */
#include "exec/mcp/inside.h"

#include "base/check.h"
#include "base/clock.h"
#include "http/client/events.h"

#define FIELDS_MAX  (8u + LIMIT_MCP_HEADERS)
#define SLICE_US    INT64_C(200000) /* how soon a stop is noticed */
#define LINGER_US   INT64_C(100000) /* a stream that has given its answer may end by itself: it is kept then */
#define PAUSE_MS    1000	    /* before a stream is taken up again, where the server does not say */
#define NEWS_US	    INT64_C(1000000) /* ... and a stream of questions to be there */
#define FAREWELL_US INT64_C(500000)

/* A request of the server's that waits to be answered. */
struct asked {
	struct asked *next;
	const struct json *request;
};

struct trip {
	struct ctx *cx;
	struct mcp_client *c;
	const struct mcp_letter *l;
	str bearer;
	struct mcp_reply *out;
	struct http_many *many;
	struct http_flight *flight; /* NULL: it is over */
	status end;
	struct events events;
	struct buf body;
	struct arena scratch; /* of one message of a stream */
	struct asked *asked;
	size_t asked_count;
	int64_t answered_us; /* 0: not yet */
	struct trip *news;   /* a stream beside it; NULL: none */
};

/* --- connections --- */

static struct http_many *
take(struct mcp_client *c, bool keep)
{
	scoped_lock held = lock(&c->mutex);

	return keep && c->idle_count ? c->idle[--c->idle_count] : http_many_new();
}

static void
give_back(struct mcp_client *c, struct http_many *many, bool keep)
{
	if (keep) {
		scoped_lock held = lock(&c->mutex);

		if (c->idle_count < LIMIT_UPSTREAM_IDLE) {
			c->idle[c->idle_count++] = many;
			return;
		}
	}
	http_many_free(many);
}

/* --- headers --- */

struct fields {
	struct http_client_field all[FIELDS_MAX + LIMIT_MCP_HEADERS];
	size_t count;
};

static void
add(struct fields *f, str name, str value)
{
	CHECK(f->count < FIELDS_MAX);
	f->all[f->count++] = (struct http_client_field){ name, value };
}

static void
add_modern(struct trip *t, struct fields *f)
{
	const struct mcp_letter *l = t->l;
	str name = mcp_text(l->params, "name");

	add(f, STR("MCP-Protocol-Version"), l->session.version);
	add(f, STR("Mcp-Method"), l->method);
	if (str_eq(l->method, STR("tools/call"))) {
		scoped_lock held = lock(&t->c->mutex);

		add(f, STR("Mcp-Name"), mcp_params_encode(t->cx->arena, name));
		f->count += mcp_params_add(
			t->c->params, t->cx->arena, l->params, f->all + f->count, LIMIT_MCP_HEADERS);
	}
}

static void
add_legacy(struct trip *t, struct fields *f)
{
	const struct mcp_session *s = &t->l->session;

	if (s->id.len)
		add(f, STR("Mcp-Session-Id"), s->id);
	if (!str_eq(t->l->method, STR("initialize")))
		add(f, STR("MCP-Protocol-Version"), s->version);
}

static void
add_fields(struct trip *t, struct fields *f, bool resumes)
{
	const struct mcp_options *o = &t->c->options;

	if (t->l->session.era == MCP_MODERN)
		add_modern(t, f);
	else
		add_legacy(t, f);
	if (resumes)
		add(f, STR("Last-Event-ID"), mcp_params_encode(t->cx->arena, buf_str(&t->events.id)));
	for (size_t i = 0; i < o->field_count; i++)
		f->all[f->count++] = o->fields[i]; /* mcp_client_new has counted them */
}

/* --- what comes --- */

static void
take_answer(struct trip *t, const struct json *message, const struct mended *mended, str raw)
{
	if (t->out->message || !mcp_message_answers(message, t->l->id))
		return;
	t->out->message = message;
	t->out->mended = *mended;
	t->out->raw = raw;
	t->answered_us = clock_mono_us();
}

static void
take_message(struct trip *t, const struct json *message, const struct mended *mended, str raw)
{
	struct asked *a;

	switch (mcp_message_kind(message)) {
	case MCP_ANSWER:
		take_answer(t, message, mended, raw);
		return;
	case MCP_NOTICE:
		mcp_message_notice(t->c, message);
		return;
	case MCP_REQUEST:
		if (t->asked_count++ >= LIMIT_UPSTREAM_ASKS)
			return;
		a = ARENA_NEW(t->cx->arena, struct asked);
		*a = (struct asked){ t->asked, message };
		t->asked = a;
		return;
	case MCP_NO_MESSAGE:
	default:
		return;
	}
}

/* What only passes by is read in memory that is used again. */
static bool
passes_by(struct trip *t, str text)
{
	struct ctx cx;
	struct mended mended;
	struct json *doc;
	bool passes;

	arena_reset(&t->scratch);
	ctx_init(&cx, &t->scratch);
	if (json_parse_mended(&cx, text, &doc, &mended) != OK)
		return true;
	passes = mcp_message_kind(doc) == MCP_NOTICE || mcp_message_kind(doc) == MCP_NO_MESSAGE;
	if (passes)
		take_message(t, doc, &mended, text);
	return passes;
}

static void
keep_text(struct trip *t, str text)
{
	struct mended mended;
	struct json *doc;

	if (json_parse_mended(t->cx, text, &doc, &mended) == OK)
		take_message(t, doc, &mended, text);
}

static void
take_text(struct trip *t, str text)
{
	char *copy;

	if (passes_by(t, text))
		return;
	copy = arena_try_bytes(t->cx->arena, text.len);
	if (!copy)
		return;
	memcpy(copy, text.ptr, text.len);
	keep_text(t, (str){ copy, text.len });
}

static void
take_event(void *arg, str data)
{
	if (data.len)
		take_text(arg, data);
}

static bool
is_stream(const struct http_flight *f)
{
	return http_flight_status(f) == 200 &&
	       str_starts(http_flight_header(f, "Content-Type"), STR("text/event-stream"));
}

static bool
take_piece(void *arg, str bytes)
{
	struct trip *t = arg;

	if (is_stream(t->flight))
		return events_feed(&t->events, bytes, take_event, t);
	buf_add(&t->body, bytes);
	return !t->body.overflow;
}

static void
read_head(struct trip *t, const struct http_flight *f)
{
	struct mcp_reply *r = t->out;
	str session = http_flight_header(f, "Mcp-Session-Id");

	r->status = http_flight_status(f);
	r->challenge_count = 0;
	while (r->challenge_count < MCP_CHALLENGES) {
		str one = http_flight_header_at(f, "WWW-Authenticate", r->challenge_count);

		if (!one.len)
			break;
		r->challenges[r->challenge_count++] = arena_str(t->cx->arena, one);
	}
	if (session.len && session.len <= LIMIT_UPSTREAM_SESSION)
		r->session = arena_str(t->cx->arena, session);
}

static void
take_end(void *arg, const struct http_flight *f, status s, str why)
{
	struct trip *t = arg;

	t->flight = NULL;
	t->end = s;
	t->out->sent += (int64_t)http_flight_sent(f);
	read_head(t, f);
	if (s != OK)
		t->out->why = arena_str(t->cx->arena, why);
	else if (!is_stream(f) && t->body.len)
		keep_text(t, buf_str(&t->body));
}

/* --- one request --- */

static bool
begin(struct trip *t, const char *method)
{
	static const struct http_flight_calls calls = { take_piece, take_end };
	const struct mcp_options *o = &t->c->options;
	bool posts = strcmp(method, "POST") == 0;
	struct fields f = { .count = 0 };
	struct http_client_request r = { .method = method,
		.url = o->url,
		.bearer = t->bearer,
		.body = posts ? t->l->body : (str){ 0 },
		.accept = posts ? "application/json, text/event-stream" : "text/event-stream",
		.fields = f.all,
		.ca_file = o->ca_file,
		.public_only = true,
		.allow = o->allow,
		.allow_count = o->allow_count,
		.allow_name = "networks",
		.send_by_us = posts ? t->l->send_by_us : 0,
		.keep = t->l->keep };
	status s;

	add_fields(t, &f, !posts && t->events.id.len);
	r.field_count = f.count;
	t->body.len = 0;
	t->end = OK;
	s = http_many_begin(t->many, t->cx, &r, &calls, t, &t->flight);
	if (s != OK)
		t->out->why = ctx_message(t->cx, s);
	return s == OK;
}

static void
break_off(struct trip *t, str why)
{
	t->out->sent += (int64_t)http_flight_sent(t->flight);
	read_head(t, t->flight);
	t->out->why = why;
	http_many_cancel(t->many, t->flight);
	t->flight = NULL;
	t->end = E_TIMEOUT;
}

/* Is there a reason to wait no longer? */
static bool
is_late(struct trip *t)
{
	int64_t now = clock_mono_us();

	if (atomic_load(&t->c->stopping))
		break_off(t, STR("we are being stopped"));
	else if (t->answered_us && now - t->answered_us > LINGER_US)
		break_off(t, (str){ 0 });
	else if (now >= t->l->deadline_us)
		break_off(t, STR("no answer came in time"));
	else if (now >= t->l->send_by_us && !t->out->sent && !http_flight_sent(t->flight))
		break_off(t, STR("it could not be sent in time"));
	return !t->flight;
}

static void respond(struct trip *t, const struct json *request);

static void
respond_all(struct trip *t)
{
	while (t->asked) {
		struct asked *a = t->asked;

		t->asked = a->next;
		respond(t, a->request);
	}
}

static void
wait_for_end(struct trip *t)
{
	while (t->flight && !is_late(t)) {
		int64_t left = t->l->deadline_us - clock_mono_us();

		left = left > SLICE_US ? SLICE_US : left;
		left = t->answered_us && left > LINGER_US ? LINGER_US : left;
		(void)http_many_poll(t->many, -1, left > 0 ? (int)((left + 999) / 1000) : 0);
		respond_all(t);
		if (t->news)
			respond_all(t->news);
	}
}

/* Waits, unless it is too late for that. Nobody signals: an empty poll is a pause that sees a stop. */
static bool
pause_for(struct trip *t, int64_t us)
{
	int64_t until = clock_mono_us() + us;

	if (until >= t->l->deadline_us)
		return false;
	while (clock_mono_us() < until) {
		int64_t left = until - clock_mono_us();

		if (atomic_load(&t->c->stopping))
			return false;
		(void)http_many_poll(t->many, -1, (int)((left > SLICE_US ? SLICE_US : left) / 1000) + 1);
	}
	return true;
}

/* The rest of a stream that ended before the answer (legacy; it said where to go on). */
static bool
goes_on(const struct trip *t)
{
	return !t->out->message && t->l->id && t->l->session.era != MCP_MODERN && t->events.id.len &&
	       t->end != E_TOO_LARGE && (t->out->status == 200 || t->out->status == 0);
}

static void
resume(struct trip *t)
{
	int accepted = t->out->status;

	for (unsigned i = 0; i < LIMIT_UPSTREAM_RESUMES && goes_on(t); i++) {
		if (!pause_for(t, (t->events.retry_ms >= 0 ? t->events.retry_ms : PAUSE_MS) * 1000))
			return;
		t->events.line.len = t->events.data.len = 0;
		t->events.has_data = false;
		if (!begin(t, "GET"))
			return;
		wait_for_end(t);
		if (t->end == E_UNAVAILABLE) /* it is not there any more: what it had begun to say is over */
			t->out->why = arena_printf(t->cx->arena,
				"it ended the connection before its answer was complete, and then %.*s",
				STR_ARG(t->out->why));
		if (t->out->status >= 400)
			t->out->why = arena_printf(t->cx->arena,
				"the rest of the answer is refused with HTTP %d", t->out->status);
	}
	t->out->status = accepted; /* whatever became of the rest: the request itself was taken */
}

static void
prepare(struct trip *t, struct http_many *many)
{
	t->many = many;
	arena_init(&t->scratch, LIMIT_REQUEST_ARENA);
	buf_init(&t->body, t->cx->arena, LIMIT_HTTP_ANSWER);
	events_init(&t->events, t->cx->arena, LIMIT_HTTP_ANSWER);
}

/* A server of the old era may ask its questions on a stream of its own: who can answer holds it open meanwhile. */
static void
open_news(struct trip *t, struct trip *news)
{
	int64_t until = clock_mono_us() + NEWS_US;

	if (!t->c->options.answer || !t->l->session.id.len || !str_eq(t->l->method, STR("tools/call")))
		return;
	prepare(news, t->many);
	if (begin(news, "GET"))
		while (news->flight && !http_flight_status(news->flight) && clock_mono_us() < until)
			(void)http_many_poll(t->many, -1, (int)(SLICE_US / 1000));
	t->news = news;
}

static void
close_news(struct trip *t)
{
	if (!t->news)
		return;
	if (t->news->flight)
		http_many_cancel(t->many, t->news->flight);
	arena_done(&t->news->scratch);
}

static void
run(struct trip *t, const char *method)
{
	struct mcp_reply unheard = { 0 };
	struct trip news = { .cx = t->cx, .c = t->c, .l = t->l, .bearer = t->bearer, .out = &unheard };

	prepare(t, take(t->c, t->l->keep));
	open_news(t, &news);
	if (begin(t, method)) {
		wait_for_end(t);
		resume(t);
	}
	close_news(t);
	/* Without an answer to this request the connection is closed: one that comes late would be read as the next one's. */
	give_back(t->c, t->many, t->l->keep && t->out->message && t->end == OK);
	arena_done(&t->scratch);
	if (!t->out->message && !t->out->why.len)
		t->out->why =
			arena_printf(t->cx->arena, "it answered with HTTP %d and no message", t->out->status);
}

/* A stream's question is answered by a message of its own, while the stream waits. */
static void
respond(struct trip *t, const struct json *request)
{
	struct mcp_letter l = { .method = STR("response"),
		.session = t->l->session,
		.send_by_us = t->l->deadline_us,
		.deadline_us = t->l->deadline_us };
	struct mcp_reply reply = { 0 };
	struct trip other = { .cx = t->cx, .c = t->c, .l = &l, .bearer = t->bearer, .out = &reply };

	if (mcp_message_respond(t->cx, t->c, request, &l.body) == OK)
		run(&other, "POST");
}

void
mcp_http_send(
	struct ctx *cx, struct mcp_client *c, const struct mcp_letter *l, str bearer, struct mcp_reply *out)
{
	struct trip t = { .cx = cx, .c = c, .l = l, .bearer = bearer, .out = out };

	*out = (struct mcp_reply){ 0 };
	if (atomic_load(&c->stopping) || clock_mono_us() >= l->send_by_us) {
		out->why = STR("the time to send it was over");
		return;
	}
	run(&t, "POST");
}

/* A legacy session ends when somebody says so. */
static void
say_goodbye(struct mcp_client *c)
{
	int64_t until = clock_mono_us() + FAREWELL_US;
	struct mcp_letter l = { .session = c->session, .send_by_us = until, .deadline_us = until };
	struct mcp_reply reply = { 0 };
	struct arena a;
	struct ctx cx;
	struct trip t = { .cx = &cx, .c = c, .l = &l, .bearer = c->options.bearer, .out = &reply };

	arena_init(&a, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &a);
	atomic_store(&c->stopping, false); /* nobody calls any more */
	run(&t, "DELETE");
	arena_done(&a);
}

void
mcp_http_close(struct mcp_client *c)
{
	if (c->session.generation && c->session.id.len && !c->auth)
		say_goodbye(c);
	while (c->idle_count)
		http_many_free(c->idle[--c->idle_count]);
}
