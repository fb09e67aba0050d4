/* SPDX-License-Identifier: Apache-2.0 */
/* What is agreed with the server before anything is asked: the era, the version, the session. */
#include "exec/mcp/inside.h"

#include "base/check.h"
#include "base/clock.h"

#define CODE_VERSION (-32022)
#define AUTH_TRIES   6u

/* --- one message, with the token it needs --- */

static void
send_once(struct ctx *cx, struct mcp_client *c, const struct mcp_letter *l, str bearer, struct mcp_reply *out)
{
	*out = (struct mcp_reply){ 0 };
	if (c->child)
		mcp_child_send(cx, c->child, l, out);
	else
		mcp_http_send(cx, c, l, bearer, out);
}

/* A refusal for want of a token means that nothing was done: it goes again with a better one. */
static status
send_authorized(struct ctx *cx, struct mcp_client *c, const struct mcp_letter *l, struct mcp_reply *out)
{
	str token = c->options.bearer;
	bool again = true;

	for (unsigned i = 0; again; i++) {
		if (c->auth)
			TRY(mcp_auth_token(cx, c->auth, &token));
		send_once(cx, c, l, token, out);
		again = false;
		if (c->auth && out->status && out->status != 401)
			atomic_store(&c->unauthorized, false);
		if (c->auth && i < AUTH_TRIES && (out->status == 401 || out->status == 403))
			TRY(mcp_auth_refused(cx, c->auth, token, out, i, &again));
	}
	return OK;
}

static status
send_message(struct ctx *cx, struct mcp_client *c, struct mcp_letter *l, struct mcp_reply *out)
{
	TRY(mcp_message_write(cx, c, l));
	return send_authorized(cx, c, l, out);
}

/* --- the handshake --- */

/* A message of our own, on the way to what somebody asked. */
static struct mcp_letter
side_letter(struct mcp_client *c, const struct mcp_letter *l, str method, const struct mcp_session *s)
{
	return (struct mcp_letter){ .id = atomic_fetch_add(&c->last_id, 1) + 1,
		.method = method,
		.session = *s,
		.send_by_us = l->send_by_us,
		.deadline_us = l->deadline_us };
}

static status
complain(struct ctx *cx, const struct mcp_reply *r)
{
	const struct json *error = r->message ? json_get(r->message, STR("error")) : NULL;
	str said = mcp_text(error, "message");

	if (said.len > 200)
		said.len = 200;
	if (error)
		return fail(cx, E_UNAVAILABLE, "the MCP server refuses to begin: %.*s", STR_ARG(said));
	if (r->status == 401 || r->status == 403)
		return fail(cx, E_UNAVAILABLE, "the MCP server refuses our credentials (HTTP %d)", r->status);
	return fail(cx, E_UNAVAILABLE, "the MCP server gives no answer: %.*s", STR_ARG(r->why));
}

static bool
is_known(str version)
{
	static const char *const all[] = { MCP_LEGACY_VERSION, "2025-06-18", "2025-03-26", "2024-11-05",
		NULL };

	for (size_t i = 0; all[i]; i++)
		if (str_eq(version, str_of(all[i])))
			return true;
	return false;
}

static status
say_initialized(struct ctx *cx, struct mcp_client *c, const struct mcp_letter *l, const struct mcp_session *s)
{
	struct mcp_letter note = side_letter(c, l, STR("notifications/initialized"), s);
	struct mcp_reply r;

	note.id = 0;
	TRY(send_message(cx, c, &note, &r));
	if (!c->child && (r.status < 200 || r.status > 299))
		return complain(cx, &r);
	return OK;
}

static status
initialize(struct ctx *cx, struct mcp_client *c, const struct mcp_letter *l, struct mcp_session *s,
	struct mcp_reply *r)
{
	struct mcp_letter hello;
	str version;

	s->era = MCP_LEGACY;
	s->version = STR(MCP_LEGACY_VERSION);
	hello = side_letter(c, l, STR("initialize"), s);
	TRY(send_message(cx, c, &hello, r));
	version = r->message ? mcp_text(json_get(r->message, STR("result")), "protocolVersion") : (str){ 0 };
	if (!version.len)
		return complain(cx, r);
	if (!is_known(version))
		return fail(cx, E_UNAVAILABLE, "the MCP server speaks a version that we do not know");
	s->version = version;
	s->id = r->session;
	return say_initialized(cx, c, l, s);
}

/* The newest of the versions that the server names and we know. */
static bool
choose(const struct json *list, struct mcp_session *s)
{
	if (!list || list->type != JSON_ARRAY)
		return false;
	JSON_EACH (one, list)
		if (one->type == JSON_STRING && str_eq(one->text, STR(MCP_MODERN_VERSION))) {
			s->era = MCP_MODERN;
			s->version = STR(MCP_MODERN_VERSION);
			return true;
		}
	JSON_EACH (one, list)
		if (one->type == JSON_STRING && is_known(one->text)) {
			s->era = MCP_LEGACY;
			return true;
		}
	return false;
}

/* Refusals and failures say nothing about the era; any other answer that is not the new era's is of the old one. */
static status
discover(struct ctx *cx, struct mcp_client *c, const struct mcp_letter *l, struct mcp_session *s)
{
	struct mcp_letter ask;
	struct mcp_reply r;
	const struct json *error;

	s->era = MCP_MODERN;
	s->version = STR(MCP_MODERN_VERSION);
	ask = side_letter(c, l, STR("server/discover"), s);
	TRY(send_message(cx, c, &ask, &r));
	if ((!r.message && !r.status) || r.status == 401 || r.status == 403 || r.status >= 500)
		return complain(cx, &r);
	error = r.message ? json_get(r.message, STR("error")) : NULL;
	if (error && choose(json_get(json_get(error, STR("data")) ? json_get(error, STR("data")) : error,
				    STR("supported")),
			     s))
		return OK;
	if (!r.message || error ||
		!choose(json_get(json_get(r.message, STR("result")), STR("supportedVersions")), s))
		s->era = MCP_LEGACY;
	return OK;
}

static status
agree(struct ctx *cx, struct mcp_client *c, const struct mcp_letter *l, struct mcp_session *s)
{
	struct mcp_reply r = { 0 };
	status result;

	s->era = c->options.era;
	if (c->child)
		TRY(mcp_child_start(cx, c->child, &s->generation));
	if (s->era == MCP_ANY && !c->child)
		TRY(discover(cx, c, l, s));
	if (s->era == MCP_MODERN) {
		s->version = STR(MCP_MODERN_VERSION);
		return OK;
	}
	/* a program is greeted in the old way first: nearly all know it, and some end when they hear another word */
	result = initialize(cx, c, l, s, &r);
	if (result == OK || c->options.era != MCP_ANY || !r.message || !mcp_message_code(r.message))
		return result;
	ctx_clear(cx);
	return discover(cx, c, l, s);
}

/* --- the one that there is --- */

static struct mcp_session
copy(struct arena *a, const struct mcp_session *s)
{
	return (struct mcp_session){ s->era, arena_str(a, s->version), arena_str(a, s->id), s->generation };
}

static void
forget(struct mcp_client *c, uint64_t generation)
{
	scoped_lock held = lock(&c->mutex);

	if (c->session.generation == generation)
		c->session.generation = 0;
}

/* With the mutex. */
static bool
is_open(struct mcp_client *c)
{
	if (!c->session.generation)
		return false;
	if (c->child)
		return mcp_child_generation(c->child) == c->session.generation;
	return c->options.era != MCP_ANY || c->session.era == MCP_MODERN ||
	       clock_mono_us() - c->session_us < LIMIT_UPSTREAM_ERA_US;
}

static bool
wait_for_other(struct mcp_client *c, const struct mcp_letter *l)
{
	struct timespec t;

	if (clock_mono_us() >= l->send_by_us || atomic_load(&c->stopping))
		return false;
	/* checksrc: allow clock_gettime (pthread_cond_timedwait takes this clock and no other) */
	CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	t.tv_nsec += 50000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	(void)pthread_cond_timedwait(&c->opened, &c->mutex, &t);
	return true;
}

/* True: it is open, *out is it. False: the caller is the one to open it. */
static status
enter(struct ctx *cx, struct mcp_client *c, const struct mcp_letter *l, bool *out_open,
	struct mcp_session *out)
{
	scoped_lock held = lock(&c->mutex);

	while (!is_open(c) && c->opening)
		if (!wait_for_other(c, l))
			return fail(cx, E_UNAVAILABLE, "the MCP server was not ready in time");
	*out_open = is_open(c);
	if (*out_open)
		*out = copy(cx->arena, &c->session);
	else
		c->opening = true;
	return OK;
}

static void
leave(struct mcp_client *c, const struct mcp_session *s, bool agreed)
{
	scoped_lock held = lock(&c->mutex);

	c->opening = false;
	if (agreed) {
		arena_reset(&c->session_arena);
		c->session = copy(&c->session_arena, s);
		c->session_us = clock_mono_us();
	}
	CHECK(pthread_cond_broadcast(&c->opened) == 0);
}

static uint64_t
next_generation(struct mcp_client *c)
{
	scoped_lock held = lock(&c->mutex);

	return ++c->generation;
}

static status
open_session(struct ctx *cx, struct mcp_client *c, const struct mcp_letter *l, struct mcp_session *out)
{
	struct mcp_session s = { 0 };
	bool open;
	status result;

	TRY(enter(cx, c, l, &open, out));
	if (open)
		return OK;
	result = agree(cx, c, l, &s);
	if (!c->child)
		s.generation = next_generation(c);
	leave(c, &s, result == OK);
	if (result == OK)
		*out = s;
	return result;
}

/* --- asking --- */

/* The server has said that the session, or the version, is none: it did nothing. */
static bool
is_over(struct mcp_client *c, const struct mcp_letter *l, const struct mcp_reply *r)
{
	const struct json *error = r->message ? json_get(r->message, STR("error")) : NULL;
	const struct json *data = error ? json_get(error, STR("data")) : NULL;
	struct mcp_session other = l->session;

	if (c->child) /* the program had ended before */
		return !r->message && !r->sent && mcp_child_generation(c->child) != l->session.generation;
	if (r->status == 404 && l->session.id.len)
		return true;
	return r->message && mcp_message_code(r->message) == CODE_VERSION && data &&
	       choose(json_get(data, STR("supported")), &other);
}

status
mcp_session_ask(struct ctx *cx, struct mcp_client *c, struct mcp_letter *l, struct mcp_reply *out)
{
	for (unsigned i = 0;; i++) {
		*out = (struct mcp_reply){ 0 };
		if (atomic_load(&c->stopping) || clock_mono_us() >= l->send_by_us)
			return fail(cx, E_UNAVAILABLE, "the time to send it was over");
		TRY(open_session(cx, c, l, &l->session));
		if (atomic_load(&c->stopping)) /* nobody would wait for the answer */
			return fail(cx, E_UNAVAILABLE, "we are being stopped");
		l->id = atomic_fetch_add(&c->last_id, 1) + 1;
		TRY(send_message(cx, c, l, out));
		if (i > 0 || !is_over(c, l, out))
			return OK;
		forget(c, l->session.generation);
	}
}
