/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/upstream/clients.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/scoped.h"
#include "core/event.h"
#include "core/gate/tool.h"
#include "core/outside/lane.h"
#include "core/outside/source.h"
#include "db/db.h"
#include "exec/mcp/client.h"
#include "exec/safe.h"
#include "exec/upstream/authorization.h"
#include "exec/upstream/look.h"
#include "http/client/guard.h"
#include "json/bind.h"
#include "json/mend.h"
#include "json/out.h"

#include <stdatomic.h>
#include <stdlib.h>

/* One open client. The table counts as one user. */
struct opened {
	struct opened *next;
	char *id;
	str org_id; /* malloc'd, too */
	int64_t version;
	struct mcp_client *client;
	struct authorization *authorization; /* its store; NULL: it needs none */
	unsigned users;
	uint64_t changes; /* as it had said when its tools were last asked for */
};

struct upstreams {
	struct upstreams_options options;
	pthread_mutex_t lock; /* guards all below */
	struct opened *all;
	bool stopped;
	struct event_hub *bell;
	atomic_bool stop;
	pthread_t thread;
	bool started;
};

/* --- the table --- */

static void
drop(struct opened *o)
{
	mcp_client_free(o->client);
	authorization_free(o->authorization);
	free(o->id);
	free((char *)(uintptr_t)o->org_id.ptr);
	free(o);
}

/* With the lock: out of the table; who still uses it frees it. */
static struct opened *
take_out(struct upstreams *u, struct opened *o)
{
	struct opened **at = &u->all;

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	return --o->users ? NULL : o;
}

static struct opened *
find(struct upstreams *u, str id)
{
	struct opened *o = u->all;

	while (o && !str_eq(str_of(o->id), id))
		o = o->next;
	return o;
}

/* One of this version, held; or NULL. An older one is closed. */
static struct opened *
take(struct upstreams *u, const struct upstream *of)
{
	struct opened *dead = NULL, *o;

	CHECK(pthread_mutex_lock(&u->lock) == 0);
	o = find(u, of->id);
	if (o && o->version != of->version) {
		mcp_client_stop(o->client);
		dead = take_out(u, o);
		o = NULL;
	}
	if (o)
		o->users++;
	CHECK(pthread_mutex_unlock(&u->lock) == 0);
	if (dead)
		drop(dead);
	return o;
}

static void
release(struct upstreams *u, struct opened *o)
{
	bool last;

	CHECK(pthread_mutex_lock(&u->lock) == 0);
	last = --o->users == 0;
	CHECK(pthread_mutex_unlock(&u->lock) == 0);
	if (last)
		drop(o);
}

static char *
copy(str s)
{
	char *text = malloc(s.len + 1);

	CHECK(text != NULL);
	if (s.len)
		memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	return text;
}

/* Two may have opened one at the same moment: the second is used once and goes. */
static status
put(struct ctx *cx, struct upstreams *u, const struct upstream *of, struct mcp_client *client,
	struct authorization *authorization, struct opened **out)
{
	struct opened *o = calloc(1, sizeof(*o));
	bool stopped;

	CHECK(o != NULL);
	*o = (struct opened){ .id = copy(of->id),
		.org_id = { copy(of->org_id), of->org_id.len },
		.version = of->version,
		.client = client,
		.authorization = authorization,
		.users = 1 };
	CHECK(pthread_mutex_lock(&u->lock) == 0);
	stopped = u->stopped;
	if (!stopped && !find(u, of->id)) {
		o->users++;
		o->next = u->all;
		u->all = o;
	}
	CHECK(pthread_mutex_unlock(&u->lock) == 0);
	if (stopped) {
		drop(o);
		return fail(cx, E_UNAVAILABLE, "the server is stopping; nothing was sent");
	}
	*out = o;
	return OK;
}

/* --- opening --- */

/* What is stored, as the client takes it. */
struct opening {
	const struct upstream *of;
	struct safe_text secret;
	struct mcp_options options;
	struct mcp_program program;
	struct mcp_oauth oauth;
	struct authorization *authorization;
};

static status
load_secret(struct ctx *cx, void *arg)
{
	struct opening *o = arg;

	safe_done(&o->secret); /* a read may run again */
	return safe_get(cx, o->of->org_id, o->of->secret_id, &o->secret);
}

static const struct http_client_field *
fields_of(struct ctx *cx, const struct json *object, size_t *out_count)
{
	struct http_client_field *fields =
		arena_alloc(cx->arena, ((object ? object->count : 0) + 1) * sizeof(*fields));
	size_t n = 0;

	for (const struct json *m = object ? object->child : NULL; m; m = m->next)
		fields[n++] = (struct http_client_field){ .name = m->key, .value = m->text };
	*out_count = n;
	return fields;
}

static void
set_networks(struct ctx *cx, struct opening *o)
{
	struct http_net *nets = arena_alloc(cx->arena, LIMIT_UPSTREAM_NETS * sizeof(*nets));
	str one, rest = o->of->networks;
	size_t n = 0;

	while (rest.len && n < LIMIT_UPSTREAM_NETS) {
		if (!str_cut(rest, ' ', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		n += http_net_read(one, &nets[n]);
	}
	o->options.allow = nets;
	o->options.allow_count = n;
}

static bool
truth_of(const struct json *o, const char *key)
{
	const struct json *value = json_get(o, str_of(key));

	return value && value->truth;
}

static status
set_program(struct ctx *cx, const struct upstreams *u, struct opening *o)
{
	const struct json *paths, *directory;
	struct mcp_path *list;
	struct json *doc;
	const str *argv;
	size_t n = 0;

	if (u->options.programs == UPSTREAM_NO_PROGRAMS)
		return fail(cx, E_UNAVAILABLE,
			"this server starts no programs; start it with --stdio-upstreams sandboxed");
	TRY(json_parse(cx, o->of->program, &doc));
	TRY(json_bind_strings(
		cx, json_get(doc, STR("argv")), STR("/argv"), LIMIT_SOURCE_WORDS, &argv, &o->program.argc));
	o->program.argv = argv;
	paths = json_get(doc, STR("paths"));
	list = arena_alloc(cx->arena, ((paths ? paths->count : 0) + 1) * sizeof(*list));
	for (const struct json *p = paths ? paths->child : NULL; p; p = p->next)
		list[n++] = (struct mcp_path){ .path = json_get(p, STR("path"))->text,
			.writable = truth_of(p, "writable") };
	o->program.paths = list;
	o->program.path_count = n;
	directory = json_get(doc, STR("directory"));
	o->program.directory = directory ? directory->text : (str){ 0 };
	o->program.network = truth_of(doc, "network");
	o->program.unconfined = u->options.programs == UPSTREAM_UNCONFINED;
	o->program.walls = u->options.walls;
	o->options.program = &o->program;
	return OK;
}

/* Does it have a credential of its own already? */
static bool
has_credential(const struct mcp_options *o)
{
	bool found = o->bearer.len > 0;

	for (size_t i = 0; i < o->field_count; i++)
		found = found || str_eq_nocase(o->fields[i].name, STR("Authorization"));
	return found;
}

/* Where no way back is known, because nobody has set public-url, it is at least seen that one is needed. */
static status
set_oauth(struct ctx *cx, const struct upstreams *u, const struct json *secret, struct opening *o)
{
	str base = u->options.base->public_url;
	const struct json *own = secret ? json_get(secret, STR("client_secret")) : NULL;

	if (has_credential(&o->options))
		return OK;
	TRY(authorization_read(cx, o->of->oauth, own ? own->text : (str){ 0 }, &o->oauth));
	o->authorization = authorization_new(o->of);
	o->oauth.store = authorization_store(o->authorization);
	o->oauth.redirect_uri = arena_printf(cx->arena, "%.*s" AUTHORIZATION_CALLBACK, STR_ARG(base));
	o->oauth.client_name = STR("Countersign");
	o->options.oauth = &o->oauth;
	return OK;
}

static status
set_options(struct ctx *cx, const struct upstreams *u, struct opening *o)
{
	const struct json *bearer;
	struct json *secret = NULL;

	if (o->secret.text.len)
		TRY(json_parse(cx, o->secret.text, &secret));
	bearer = secret ? json_get(secret, STR("bearer")) : NULL;
	o->options.name = o->of->name;
	if (str_eq(o->of->kind, STR("stdio"))) {
		TRY(set_program(cx, u, o));
		o->program.variables = fields_of(
			cx, secret ? json_get(secret, STR("env")) : NULL, &o->program.variable_count);
		return OK;
	}
	o->options.url = o->of->url;
	o->options.bearer = bearer ? bearer->text : (str){ 0 };
	o->options.fields =
		fields_of(cx, secret ? json_get(secret, STR("headers")) : NULL, &o->options.field_count);
	set_networks(cx, o);
	return set_oauth(cx, u, secret, o);
}

static status
open_client(struct ctx *cx, struct upstreams *u, const struct upstream *of, struct opened **out)
{
	struct opening o = { .of = of };
	struct mcp_client *client = NULL;
	status s = db_read(cx, load_secret, &o);

	if (s == OK)
		s = set_options(cx, u, &o);
	if (s == OK)
		s = mcp_client_new(cx, &o.options, &client);
	safe_done(&o.secret);
	if (s != OK) {
		authorization_free(o.authorization);
		return s;
	}
	return put(cx, u, of, client, o.authorization, out);
}

static status
acquire(struct ctx *cx, struct upstreams *u, const struct upstream *of, struct opened **out)
{
	if (of->disabled)
		return fail(cx, E_UNAVAILABLE, "%.*s is switched off", STR_ARG(of->name));
	*out = take(u, of);
	return *out ? OK : open_client(cx, u, of, out);
}

/* --- calls --- */

struct loading {
	str org_id, id;
	struct upstream of;
};

static status
load(struct ctx *cx, void *arg)
{
	struct loading *l = arg;

	return upstream_get(cx, l->org_id, l->id, &l->of);
}

/* In the place of a result that is too large to hand on. */
static str
notice_of(struct ctx *cx, size_t bytes, bool failed)
{
	return arena_printf(cx->arena,
		"{\"content\":[{\"type\":\"text\",\"text\":\"%s; its answer of %zu bytes is larger than is "
		"handed on.\"}],\"isError\":%s}",
		failed ? "It failed" : "It was done", bytes, failed ? "true" : "false");
}

/* A change that says it failed has answered: its outcome is known. What it says is the reason, for people. What a read
 * says is its result, whatever it is. */
static void
weigh(struct ctx *cx, str source, bool reads, struct outside_answer *out)
{
	const struct json *content, *text;
	struct mended mended;
	struct json *result;
	bool failed;

	if (out->end != OUTSIDE_DONE)
		return;
	if (json_parse_mended(cx, out->result, &result, &mended) != OK) {
		ctx_clear(cx);
		result = json_new_null(cx->arena);
	}
	failed = truth_of(result, "isError");
	if (out->result.len > LIMIT_UPSTREAM_RESULT || mended.top_only) {
		out->result = notice_of(cx, out->result.len, failed);
		out->raw = (str){ 0 };
	}
	if (reads || !failed)
		return;
	content = json_at(json_get(result, STR("content")), 0);
	text = content ? json_get(content, STR("text")) : NULL;
	out->end = OUTSIDE_REFUSED;
	out->why = arena_printf(cx->arena, "%.*s says: %.*s", STR_ARG(source),
		text ? (int)(text->text.len > 500 ? 500 : text->text.len) : 10,
		text ? text->text.ptr : "it failed.");
}

/* Its token is none any more, and nobody is there to get another: it is left alone until somebody is. */
static bool
note_need(struct ctx *cx, const struct upstream *of, const struct mcp_client *client)
{
	struct error said = cx->error;

	if (!mcp_client_unauthorized(client))
		return false;
	if (authorization_need(cx, of) != OK)
		LOG(LOG_WARN, "upstream.need_not_stored", LOG_STR("name", of->name),
			LOG_STR("why", ctx_message(cx, cx->error.code)));
	cx->error = said;
	return true;
}

status
upstreams_prepare(struct ctx *cx, void *arg, const struct outside_call *call, const void **out)
{
	struct upstream *of = ARENA_NEW(cx->arena, struct upstream);

	(void)arg;
	*out = of;
	return upstream_get(cx, call->org_id, call->tool->outside->source_id, of);
}

static status
load_for(struct ctx *cx, const struct outside_call *call, const struct upstream **out)
{
	struct loading *l;

	*out = call->prepared;
	if (*out)
		return OK;
	l = ARENA_NEW(cx->arena, struct loading);
	*l = (struct loading){ .org_id = call->org_id, .id = call->tool->outside->source_id };
	*out = &l->of;
	return db_read(cx, load, l);
}

status
upstreams_call(struct ctx *cx, void *arg, const struct outside_call *call, struct outside_answer *out)
{
	const struct tool_outside *where = call->tool->outside;
	const struct upstream *of;
	struct outside_source now;
	struct mcp_how how = { .send_by_us = call->send_by_us,
		.deadline_us = call->deadline_us,
		.reads = call->tool->effect == OP_READ };
	struct upstreams *u = arg;
	struct opened *o;
	status s;

	TRY(load_for(cx, call, &of));
	upstream_source(cx, of, &now);
	if (!source_same(call, &now)) {
		*out = (struct outside_answer){ .end = OUTSIDE_NOT_SENT, .why = STR(SOURCE_MOVED) };
		return OK;
	}
	if (str_eq(of->auth_state, STR("needed"))) { /* it has refused us, and nothing has changed since */
		*out = (struct outside_answer){ .end = OUTSIDE_REFUSED,
			.why = arena_printf(cx->arena,
				"%.*s needs to be authorized by an admin first; nothing was sent",
				STR_ARG(of->name)) };
		return OK;
	}
	TRY(acquire(cx, u, of, &o));
	s = mcp_client_call(cx, o->client, where->remote, call->input, &how, out);
	(void)note_need(cx, of, o->client);
	release(u, o);
	TRY(s);
	weigh(cx, where->source, how.reads, out);
	return OK;
}

/* Its tools are about to be asked for: what it says of changes from here on is news. */
static void
note_changes(struct upstreams *u, struct opened *o)
{
	scoped_lock held = lock(&u->lock);

	o->changes = mcp_client_changes(o->client);
}

status
upstreams_list(struct ctx *cx, const struct upstream *of, struct mcp_tools *out)
{
	struct upstreams *u = upstreams_of(cx);
	struct opened *o;
	status s;

	if (!u)
		return fail(cx, E_UNAVAILABLE, "no other MCP servers can be reached here");
	TRY(acquire(cx, u, of, &o));
	s = lane_enter(cx, of->org_id, of->id);
	if (s == OK) {
		note_changes(u, o);
		s = mcp_client_list(cx, o->client, clock_mono_us() + LIMIT_UPSTREAM_LIST_US, out);
		lane_leave(cx, of->id, s == OK || note_need(cx, of, o->client));
	}
	release(u, o);
	if (s == E_UNAUTHENTICATED) /* we at the server, not who asks us */
		return fail(cx, E_UNAVAILABLE, "%.*s", STR_ARG(ctx_message(cx, s)));
	return s;
}

/* --- OAuth --- */

/* One question of an admin's to its authorization server: also where the server itself is switched off. */
struct asking {
	struct upstreams *u;
	struct opened *o;
	str lane;
};

/* In a lane of its own: who is slow holds up nobody else, and says nothing about the server. */
static status
begin_asking(struct ctx *cx, const struct upstream *of, struct asking *out)
{
	struct asking a = { .u = upstreams_of(cx),
		.lane = arena_printf(cx->arena, "%.*s/oauth", STR_ARG(of->id)) };
	struct upstream on = *of;
	status s;

	if (!a.u)
		return fail(cx, E_UNAVAILABLE, "no other MCP servers can be reached here");
	on.disabled = false;
	TRY(acquire(cx, a.u, &on, &a.o));
	if (!a.o->authorization) {
		release(a.u, a.o);
		return fail(cx, E_CONFLICT, "%.*s is %s; nobody authorizes it", STR_ARG(of->name),
			str_eq(of->kind, STR("http")) ? "used with a credential that somebody has entered"
						      : "a program");
	}
	s = lane_enter(cx, of->org_id, a.lane);
	if (s != OK)
		release(a.u, a.o);
	TRY(s);
	*out = a;
	return OK;
}

static void
end_asking(struct ctx *cx, struct asking *a)
{
	lane_leave(cx, a->lane, true);
	release(a->u, a->o);
}

status
upstreams_authorize(struct ctx *cx, const struct upstream *of, struct mcp_flow *out)
{
	struct mcp_oauth said = { 0 };
	struct asking a;
	status s;

	TRY(authorization_read(cx, of->oauth, (str){ 0 }, &said));
	if (said.machine)
		return fail(cx, E_CONFLICT,
			"%.*s is used as a machine (client_credentials); nobody authorizes it",
			STR_ARG(of->name));
	TRY(begin_asking(cx, of, &a));
	s = mcp_client_authorize(cx, a.o->client, out);
	end_asking(cx, &a);
	return s;
}

status
upstreams_authorized(struct ctx *cx, const struct upstream *of, str kept, str back)
{
	struct asking a;
	status s;

	TRY(begin_asking(cx, of, &a));
	s = mcp_client_authorized(cx, a.o->client, kept, back);
	end_asking(cx, &a);
	return s;
}

status
upstreams_revoke(struct ctx *cx, const struct upstream *of)
{
	struct asking a;
	status s = begin_asking(cx, of, &a);

	if (s == E_CONFLICT)
		return OK; /* there is nothing to revoke */
	TRY(s);
	s = mcp_client_revoke(cx, a.o->client);
	end_asking(cx, &a);
	return s;
}

struct upstreams *
upstreams_of(const struct ctx *cx)
{
	return cx->outside ? cx->outside->providers[TOOL_MCP].arg : NULL;
}

enum upstream_programs
upstreams_programs(const struct upstreams *u)
{
	return u ? u->options.programs : UPSTREAM_NO_PROGRAMS;
}

const struct walls *
upstreams_walls(const struct upstreams *u)
{
	return u && u->options.programs == UPSTREAM_SANDBOXED ? u->options.walls : NULL;
}

/* --- the thread that looks --- */

struct due {
	struct upstream *all;
	size_t count;
};

static status
find_due(struct ctx *cx, void *arg)
{
	struct due *d = arg;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	return upstream_due(cx, now_us - LIMIT_UPSTREAM_LOOK_US, &d->all, &d->count);
}

/* One whose server has said that its tools are others now; its id and organization are copied. */
static bool
find_changed(struct upstreams *u, struct arena *a, struct loading *out)
{
	scoped_lock held = lock(&u->lock);

	for (struct opened *o = u->all; o; o = o->next) {
		uint64_t now = mcp_client_changes(o->client);

		if (now == o->changes)
			continue;
		o->changes = now;
		*out = (struct loading){ .org_id = arena_str(a, o->org_id),
			.id = arena_str(a, str_of(o->id)) };
		return true;
	}
	return false;
}

static void
look_at(struct ctx *cx, const struct upstream *of)
{
	status s = look_and_store(cx, of);

	if (s != OK)
		LOG(LOG_WARN, "upstream.not_looked", LOG_STR("name", of->name),
			LOG_STR("why", ctx_message(cx, s)));
	ctx_clear(cx);
}

static void
look_around(struct upstreams *u, struct arena *a)
{
	struct ctx cx = *u->options.base;
	struct due d = { 0 };
	struct loading changed;

	cx.arena = a;
	if (db_read(&cx, find_due, &d) != OK)
		ctx_clear(&cx);
	for (size_t i = 0; i < d.count && !atomic_load(&u->stop); i++)
		look_at(&cx, &d.all[i]);
	if (find_changed(u, a, &changed) && db_read(&cx, load, &changed) == OK)
		look_at(&cx, &changed.of);
	arena_reset(a);
}

static void *
watch(void *arg)
{
	struct upstreams *u = arg;
	struct arena a;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	while (!atomic_load(&u->stop)) {
		look_around(u, &a);
		event_wait(u->bell, 0, LIMIT_SWEEP_US);
	}
	arena_done(&a);
	return NULL;
}

struct upstreams *
upstreams_new(const struct upstreams_options *o)
{
	struct upstreams *u = calloc(1, sizeof(*u));

	CHECK(u != NULL && pthread_mutex_init(&u->lock, NULL) == 0);
	u->options = *o;
	u->bell = event_hub_new(0);
	return u;
}

void
upstreams_start(struct upstreams *u)
{
	CHECK(pthread_create(&u->thread, NULL, watch, u) == 0);
	u->started = true;
}

void
upstreams_give_up(struct upstreams *u)
{
	CHECK(pthread_mutex_lock(&u->lock) == 0);
	for (struct opened *o = u->all; o; o = o->next)
		mcp_client_give_up(o->client);
	CHECK(pthread_mutex_unlock(&u->lock) == 0);
}

void
upstreams_stop(struct upstreams *u)
{
	if (!u)
		return;
	atomic_store(&u->stop, true);
	CHECK(pthread_mutex_lock(&u->lock) == 0);
	u->stopped = true;
	for (struct opened *o = u->all; o; o = o->next)
		mcp_client_stop(o->client);
	CHECK(pthread_mutex_unlock(&u->lock) == 0);
	event_publish(u->bell, &(struct event){ .type = STR("stop") });
	if (u->started)
		CHECK(pthread_join(u->thread, NULL) == 0);
}

void
upstreams_free(struct upstreams *u)
{
	if (!u)
		return;
	while (u->all) {
		struct opened *o = u->all;

		u->all = o->next;
		drop(o);
	}
	event_hub_free(u->bell);
	CHECK(pthread_mutex_destroy(&u->lock) == 0);
	free(u);
}
