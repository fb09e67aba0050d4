/* SPDX-License-Identifier: Apache-2.0 */
#include "face/ofrep/ofrep.h"

#include "base/check.h"
#include "base/limits.h"
#include "core/ident/recall.h"
#include "core/op.h"
#include "domain/flag/live/live.h"
#include "domain/flag/live/visit.h"
#include "domain/flag/reservoir/reservoir.h"
#include "face/ofrep/answer.h"
#include "face/ofrep/stream.h"

#include <stdlib.h>

#define BASE	    "/ofrep/v1"
#define NAMED_BASE  "/api/v1/envs/{id}" BASE
#define EVENTS_PATH BASE "/events"

struct ofrep {
	struct streams *streams;
};

/* What one asks for: how its path is read. */
enum question { ONE, ALL, NAMED_ONE, NAMED_ALL };
static enum question questions[] = { ONE, ALL, NAMED_ONE, NAMED_ALL }; /* a route's arg points to one */

/* --- who, where, what --- */

static str
bearer(const struct http_exchange *x)
{
	str authorization = http_header(x, STR("Authorization")), scheme, token;

	if (str_cut(authorization, ' ', &scheme, &token) && str_eq_nocase(scheme, STR("Bearer")))
		return str_trim(token);
	return http_header(x, STR("X-API-Key"));
}

static status
read_ask(struct http_exchange *x, enum question q, struct ofrep_ask *out)
{
	struct credential *c = ARENA_NEW(x->cx->arena, struct credential);
	bool named = q == NAMED_ONE || q == NAMED_ALL;
	struct ofrep_ask a = { .bulk = q == ALL || q == NAMED_ALL, .context = NULL };

	*c = (struct credential){ .bearer = bearer(x), .peer = x->req.peer, .transport = "ofrep" };
	x->cx->credential = c;
	if (named)
		a.environment_id = x->req.params[0];
	if (!a.bulk)
		a.key = x->req.params[named ? 1 : 0];
	*out = a;
	return caller_present(x->cx, c);
}

/* {"context": {...}}; no body is a context without members, and so is no context. */
static status
read_context(struct http_exchange *x, struct ofrep_ask *a)
{
	struct json *doc, *m;

	a->context = json_new_object(x->cx->arena);
	if (!x->req.body.len)
		return OK;
	TRY(json_parse_any(x->cx, x->req.body, &doc));
	if (doc->type != JSON_OBJECT)
		return fail(x->cx, E_INVALID, "the body must be an object with a context");
	for (m = doc->child; m; m = m->next)
		if (str_eq(m->key, STR("context")))
			a->context = m;
	return a->context->type == JSON_OBJECT ? OK : fail(x->cx, E_INVALID, "the context must be an object");
}

/* --- on the event loop --- */

static status
peek_answer(struct http_exchange *x, const struct ofrep_ask *a, const struct caller *c,
	const struct live_ruleset *live)
{
	if (!ofrep_is_light(a, live) || !ofrep_in_scope(a, c, live->environment_id))
		return E_BUSY;
	TRY(recall_count(x->cx, c));
	TRY(ofrep_answer(x, a, c, live));
	reservoir_offer(x->cx->reservoir, live->environment_id, a->context);
	return OK;
}

static status
look(struct http_exchange *x, enum question q)
{
	struct ofrep_ask a;
	const struct caller *c;
	const struct live_ruleset *live;
	status s;

	if (x->req.body.len > LIMIT_PEEK_BODY || x->req.query.len || read_ask(x, q, &a) != OK ||
		read_context(x, &a) != OK)
		return E_BUSY;
	TRY(visit_peek(x->cx, a.environment_id, &c, &live));
	s = peek_answer(x, &a, c, live);
	visit_end(c, live);
	return s;
}

static bool
peek(struct http_exchange *x, void *arg)
{
	const enum question *q = arg;
	status s = look(x, *q);

	if (s == OK)
		return true;
	if (s == E_RATE_LIMITED) {
		ofrep_refuse(x, s);
		return true;
	}
	ctx_clear(x->cx);
	x->cx->header_count = 0;
	x->cx->credential = NULL;
	return false;
}

/* --- on a worker --- */

struct entry {
	const struct ofrep_ask *ask;
	struct visit visit;
};

static status
begin(struct ctx *cx, void *arg)
{
	struct entry *e = arg;

	return visit_begin(cx, e->ask->environment_id, &e->visit);
}

/* A client that was told of a version, perhaps by another server, gets no older one: flagConfigEtag says which. */
static void
expect(struct http_exchange *x, const struct visit *v)
{
	str etag, number, rest;
	int64_t version;

	if (http_query(x, STR("flagConfigEtag"), &etag) && str_cut(str_skip(etag, 1), '"', &number, &rest) &&
		str_to_int(number, &version))
		live_expect(x->cx->live, v->caller.org_id, v->environment.id, version);
}

static status
answer(struct http_exchange *x, enum question q)
{
	struct ofrep_ask a;
	struct entry e = { .ask = &a };
	const struct live_ruleset *live;
	status s;

	TRY(read_ask(x, q, &a));
	TRY(read_context(x, &a));
	TRY(visit_enter(x->cx, begin, &e, &e.visit));
	if (!ofrep_in_scope(&a, &e.visit.caller, e.visit.environment.id))
		return fail(x->cx, E_SCOPE, "%.*s is outside the scope of your token", STR_ARG(a.key));
	expect(x, &e.visit);
	TRY(live_take(x->cx, e.visit.caller.org_id, e.visit.environment.id, &live));
	s = ofrep_answer(x, &a, &e.visit.caller, live);
	if (s == OK)
		reservoir_offer(x->cx->reservoir, live->environment_id, a.context);
	live_release(live);
	return s;
}

static void
handle(struct http_exchange *x, void *arg)
{
	const enum question *q = arg;
	status s = answer(x, *q);

	if (s != OK)
		ofrep_refuse(x, s);
}

/* --- streams and what browsers ask first --- */

static status
follow(struct http_exchange *x, struct ofrep *o)
{
	str text = { NULL, 0 }, since_text = http_header(x, STR("Last-Event-ID"));
	struct ticket t;
	int64_t since = -1;

	(void)http_query(x, STR("ticket"), &text);
	TRY(ticket_read(x->cx, text, &t));
	if (!since_text.len)
		(void)http_query(x, STR("since"), &since_text);
	(void)str_to_int(since_text, &since);
	return streams_follow(o->streams, x, &t, since);
}

static void
handle_events(struct http_exchange *x, void *arg)
{
	status s = follow(x, arg);

	if (s != OK)
		ofrep_refuse(x, s);
	else
		ofrep_allow(x);
}

static void
handle_options(struct http_exchange *x, void *arg)
{
	(void)arg;
	x->status = 204;
	ofrep_allow(x);
	http_add_header(x, STR("Access-Control-Allow-Methods"), STR("GET, POST, OPTIONS"));
	http_add_header(x, STR("Access-Control-Allow-Headers"),
		STR("Content-Type, If-None-Match, Authorization, X-API-Key, Last-Event-ID, X-Request-Id"));
	http_add_header(x, STR("Access-Control-Max-Age"), STR("86400"));
}

/* --- the whole --- */

static const struct {
	const char *path;
	size_t question;
} paths[] = {
	{ BASE "/evaluate/flags/{key}", ONE },
	{ BASE "/evaluate/flags", ALL },
	{ BASE "/evaluate/flags/", ALL },
	{ NAMED_BASE "/evaluate/flags/{key}", NAMED_ONE },
	{ NAMED_BASE "/evaluate/flags", NAMED_ALL },
	{ NAMED_BASE "/evaluate/flags/", NAMED_ALL },
};
#define PATHS (sizeof(paths) / sizeof(paths[0]))
_Static_assert(
	OFREP_ROUTES == 2 * PATHS + 2, "a path is asked by POST and OPTIONS; then there are the events");

void
ofrep_routes(struct ofrep *o, struct http_route out[OFREP_ROUTES])
{
	size_t n = 0;

	for (size_t i = 0; i < PATHS; i++) {
		out[n++] = (struct http_route){ .method = HTTP_POST_,
			.path = paths[i].path,
			.where = HTTP_WORKER,
			.takes_body = true,
			.handler = handle,
			.peek = peek,
			.arg = &questions[paths[i].question] };
		out[n++] = (struct http_route){
			.method = HTTP_OPTIONS_, .path = paths[i].path, .handler = handle_options
		};
	}
	out[n++] = (struct http_route){ .method = HTTP_GET_,
		.path = EVENTS_PATH,
		.where = HTTP_WORKER,
		.handler = handle_events,
		.arg = o };
	out[n++] = (struct http_route){
		.method = HTTP_OPTIONS_, .path = EVENTS_PATH, .handler = handle_options
	};
	CHECK(n == OFREP_ROUTES);
}

bool
ofrep_owns(const struct http_exchange *x)
{
	http_handler *h = x->route ? x->route->handler : NULL;

	return h == handle || h == handle_events || h == handle_options;
}

struct ofrep *
ofrep_new(void)
{
	struct ofrep *o = calloc(1, sizeof(*o));

	CHECK(o != NULL);
	o->streams = streams_new();
	return o;
}

void
ofrep_start(struct ofrep *o, const struct ctx *base)
{
	streams_start(o->streams, base);
}

void
ofrep_stop(struct ofrep *o)
{
	streams_stop(o->streams);
}

void
ofrep_free(struct ofrep *o)
{
	if (!o)
		return;
	streams_free(o->streams);
	free(o);
}
