/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that listen: a legacy client's GET, a modern client's subscriptions/listen.
 *
 *	listen_begin (a worker) --> listener --another fingerprint--> list_changed, updated ... --> closed
 *
 * One thread looks at everybody's lists, twice a second or as soon as something happened here. Each look
 * identifies the caller anew, so a revoked credential hears nothing more and its stream ends. There is nothing
 * to miss: a notification says "look again", and what is looked at is the database. Only a task's says what it is:
 * the same as a look at that moment.
 */
#include "face/mcp/call.h"

#include "base/check.h"
#include "base/scoped.h"
#include "core/event.h"
#include "core/ident/caller.h"

#include <stdatomic.h>
#include <stdlib.h>

#define LISTS 3u /* tools, prompts, resources */

static const struct {
	const char *filter, *method;
} lists[LISTS] = {
	[MCP_TOOLS] = { "toolsListChanged", "notifications/tools/list_changed" },
	[MCP_PROMPTS] = { "promptsListChanged", "notifications/prompts/list_changed" },
	[MCP_RESOURCES] = { "resourcesListChanged", "notifications/resources/list_changed" },
};

struct listener {
	struct listener *next;
	struct http_stream *stream;
	struct credential credential;
	bool modern, wants[LISTS];
	uint64_t seen[LISTS];
	unsigned can;
	str session, subscription; /* the id of the listen request, as JSON; both in text */
	str public_url;		   /* by which name we were called: it is in what is looked at */
	size_t thing_count;
	struct {
		str name; /* a resource's URI, a task's id */
		uint64_t seen;
		bool task;
	} things[LIMIT_MCP_URIS];
	char text[]; /* of all that is text */
};

struct listeners {
	struct mcp *mcp;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what is new */
	struct listener *new_ones, *all /* the thread's own */;
	size_t count;
	bool running;
	atomic_bool stop;
};

struct listeners *
listeners_new(struct mcp *m)
{
	struct listeners *l = calloc(1, sizeof(*l));

	CHECK(l != NULL && pthread_mutex_init(&l->lock, NULL) == 0);
	l->mcp = m;
	return l;
}

/* --- a look --- */

static void
write_subscription(const struct listener *l, struct json_out *o)
{
	if (!l->modern)
		return;
	json_out_object(o, "_meta");
	json_out_raw(o, MCP_META "subscriptionId", l->subscription);
	json_out_end(o);
}

static status
show_task(struct mcp_call *c, str id, struct json_out *o)
{
	TRY(mcp_identify(c));
	return c->mcp->host->task(c, MCP_TASK_GET, id, NULL, o);
}

/* *out is empty where it is not there (any more): that is a state, too. Of a task it is its notification. */
static status
look_at(struct mcp_call *c, const struct listener *l, size_t i, str *out)
{
	struct json_out o;
	struct buf b;
	status s;

	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	write_subscription(l, &o);
	s = l->things[i].task ? show_task(c, l->things[i].name, &o)
			      : c->mcp->host->read(c, l->things[i].name, &o);
	json_out_end(&o);
	if (s == E_UNAUTHENTICATED || s == E_UNAVAILABLE)
		return s;
	if (s != OK) {
		ctx_clear(c->cx);
		c->code = c->http = 0;
	}
	*out = s == OK ? buf_str(&b) : (str){ 0 };
	return OK;
}

static void
tell(struct listener *l, struct arena *a, const char *method, str params)
{
	(void)http_stream_send(l->stream, (str){ 0 }, (str){ 0 }, message_notification(a, method, params));
}

static str
params_of(const struct listener *l, struct arena *a, str uri)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, a, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	write_subscription(l, &o);
	if (uri.len)
		json_out_str(&o, "uri", uri);
	json_out_end(&o);
	return buf_str(&b);
}

static void
tell_thing(struct listener *l, struct arena *a, size_t i, str shown)
{
	if (!l->things[i].task)
		tell(l, a, "notifications/resources/updated", params_of(l, a, l->things[i].name));
	else if (shown.len)
		tell(l, a, "notifications/tasks", shown);
}

/* Looks at all it follows; tells: what is another one than before is said. */
static status
look(struct mcp_call *c, struct listener *l, bool tells)
{
	uint64_t now;
	str shown;

	for (size_t i = 0; i < LISTS; i++) {
		if (!l->wants[i])
			continue;
		TRY(c->mcp->host->fingerprint(c, (enum mcp_list)i, &now));
		if (tells && now != l->seen[i])
			tell(l, c->cx->arena, lists[i].method, params_of(l, c->cx->arena, (str){ 0 }));
		l->seen[i] = now;
	}
	for (size_t i = 0; i < l->thing_count; i++) {
		TRY(look_at(c, l, i, &shown));
		now = message_hash(shown);
		if (tells && now != l->things[i].seen)
			tell_thing(l, c->cx->arena, i, shown);
		l->things[i].seen = now;
	}
	return OK;
}

/* False: the stream is over. */
static bool
serve(struct listeners *all, struct listener *l, struct arena *a)
{
	struct ctx cx = *all->mcp->options.base;
	struct mcp_call c = {
		.mcp = all->mcp, .cx = &cx, .modern = l->modern, .session = l->session, .can = l->can
	};
	status s;

	if (http_stream_gone(l->stream))
		return false;
	cx.arena = a;
	cx.credential = &l->credential;
	cx.public_url = l->public_url;
	s = look(&c, l, true);
	return s != E_UNAUTHENTICATED && !(s != OK && c.http == 404); /* revoked, or the session is over */
}

/* --- the thread --- */

static void
take_new(struct listeners *l)
{
	scoped_lock held = lock(&l->lock);

	while (l->new_ones) {
		struct listener *one = l->new_ones;

		l->new_ones = one->next;
		one->next = l->all;
		l->all = one;
	}
}

static void
forget(struct listeners *l, struct listener **at)
{
	struct listener *gone = *at;
	scoped_lock held = lock(&l->lock);

	*at = gone->next;
	l->count--;
	http_stream_close(gone->stream);
	free(gone);
}

static void *
run(void *arg)
{
	struct listeners *l = arg;
	struct event_hub *hub = l->mcp->options.base->events;
	struct arena a;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	while (!atomic_load(&l->stop)) {
		uint64_t seen = event_count(hub), calls = event_calls(hub);

		take_new(l);
		for (struct listener **at = &l->all; *at;) {
			if (serve(l, *at, &a))
				at = &(*at)->next;
			else
				forget(l, at);
			arena_reset(&a);
		}
		if (l->all)
			event_wait(hub, seen, LIMIT_EVENT_POLL_US);
		else
			event_rest(hub, calls, LIMIT_EVENT_POLL_US);
	}
	take_new(l);
	while (l->all)
		forget(l, &l->all);
	arena_done(&a);
	return NULL;
}

void
listeners_start(struct listeners *l)
{
	l->running = true;
	CHECK(pthread_create(&l->thread, NULL, run, l) == 0);
}

void
listeners_stop(struct listeners *l)
{
	if (!l->running)
		return;
	atomic_store(&l->stop, true);
	event_call(l->mcp->options.base->events);
	CHECK(pthread_join(l->thread, NULL) == 0);
	l->running = false;
}

void
listeners_free(struct listeners *l)
{
	CHECK(pthread_mutex_destroy(&l->lock) == 0);
	free(l);
}

/* --- beginning to listen --- */

static str
keep(char **at, str text)
{
	char *begin = *at;

	if (text.len)
		memcpy(begin, text.ptr, text.len);
	*at += text.len;
	return (str){ begin, text.len };
}

static const char *const wishes[] = { "resourceSubscriptions", "taskIds" };

/* Resources, or tasks where the client and the host have them; or NULL. */
static const struct json *
things_of(const struct mcp_call *c, bool tasks)
{
	const struct json *filter = message_param(c, STR("notifications"));
	const struct json *things = filter ? json_get(filter, str_of(wishes[tasks])) : NULL;

	if (tasks && (!c->mcp->host->task || !(c->can & MCP_CAN_TASKS)))
		return NULL;
	return things && things->type == JSON_ARRAY ? things : NULL;
}

static size_t
room_for(const struct mcp_call *c, str subscription)
{
	const struct credential *who = c->cx->credential;
	size_t n =
		who->bearer.len + who->peer.len + c->session.len + subscription.len + c->cx->public_url.len;

	for (int tasks = 0; tasks < 2; tasks++) {
		const struct json *things = things_of(c, tasks);

		if (things)
			JSON_EACH (thing, things)
				n += thing->text.len;
	}
	return n + 1;
}

static void
add_things(struct listener *l, const struct json *things, bool tasks, char **at)
{
	if (!things)
		return;
	JSON_EACH (thing, things) {
		if (thing->type != JSON_STRING || l->thing_count == LIMIT_MCP_URIS)
			continue;
		l->things[l->thing_count].task = tasks;
		l->things[l->thing_count++].name = keep(at, thing->text);
	}
}

static struct listener *
new_listener(struct mcp_call *c, str subscription)
{
	const struct credential *who = c->cx->credential;
	const struct json *filter = message_param(c, STR("notifications"));
	struct listener *l = calloc(1, sizeof(*l) + room_for(c, subscription));
	char *at;

	CHECK(l != NULL);
	at = l->text;
	l->modern = c->modern;
	l->can = c->can;
	l->credential = (struct credential){
		.bearer = keep(&at, who->bearer), .peer = keep(&at, who->peer), .transport = who->transport
	};
	l->session = keep(&at, c->session);
	l->subscription = keep(&at, subscription);
	l->public_url = keep(&at, c->cx->public_url);
	for (size_t i = 0; i < LISTS; i++) {
		const struct json *wish = filter ? json_get(filter, str_of(lists[i].filter)) : NULL;

		l->wants[i] = !c->modern || (wish && wish->type == JSON_BOOL && wish->truth);
	}
	add_things(l, things_of(c, false), false, &at);
	add_things(l, things_of(c, true), true, &at);
	return l;
}

/* What is followed of one kind. */
static void
write_things(const struct listener *l, bool tasks, struct json_out *o)
{
	size_t n = 0;

	for (size_t i = 0; i < l->thing_count; i++) {
		if (l->things[i].task != tasks)
			continue;
		if (!n++)
			json_out_array(o, wishes[tasks]);
		json_out_str(o, NULL, l->things[i].name);
	}
	if (n)
		json_out_end(o);
}

static void
acknowledge(struct listener *l, struct arena *a)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, a, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	write_subscription(l, &o);
	json_out_object(&o, "notifications");
	for (size_t i = 0; i < LISTS; i++)
		if (l->wants[i])
			json_out_bool(&o, lists[i].filter, true);
	write_things(l, false, &o);
	write_things(l, true, &o);
	json_out_end(&o);
	json_out_end(&o);
	(void)http_stream_send(l->stream, (str){ 0 }, (str){ 0 },
		message_notification(a, "notifications/subscriptions/acknowledged", buf_str(&b)));
}

static bool
reserve(struct listeners *all)
{
	scoped_lock held = lock(&all->lock);

	if (all->count >= LIMIT_FOLLOWERS)
		return false;
	all->count++;
	return true;
}

static void
hand_over(struct listeners *all, struct listener *l)
{
	scoped_lock held = lock(&all->lock);

	l->next = all->new_ones;
	all->new_ones = l;
}

static status
begin(struct mcp_call *c, struct listener *l)
{
	if (!header_accepts_stream(c))
		return rpc_fail(c, RPC_REQUEST, 406, "Accept must list text/event-stream");
	TRY(look(c, l, false)); /* before the first word: what changes from now on is told */
	if (!reserve(c->mcp->listeners))
		return rpc_fail(c, RPC_INTERNAL, 503, "too many listen already");
	l->stream = http_stream_open(c->x);
	if (c->modern)
		acknowledge(l, c->cx->arena);
	hand_over(c->mcp->listeners, l);
	event_call(c->mcp->options.base->events);
	c->holds = true;
	return OK;
}

status
listen_begin(struct mcp_call *c)
{
	struct listener *l;
	str subscription = { 0 };
	status s;

	if (c->modern)
		TRY(json_text(c->cx, c->id, &subscription));
	l = new_listener(c, subscription);
	s = begin(c, l);
	if (s != OK)
		free(l);
	return s;
}
