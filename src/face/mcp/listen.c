/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that listen: a legacy client's GET, a modern client's subscriptions/listen.
 *
 *	listen_begin (a worker) --> listener --another fingerprint--> list_changed, updated ... --> closed
 *
 * A notification says "look again"; only a task's says what it is: the same as a look at that moment. Of the legacy era's newest revision each has an id that says what the client
 * has heard of, so that one who comes back, to any server, is told what changed meanwhile.
 */
#include "face/mcp/call.h"

#include "base/check.h"
#include "base/random.h"

#include <inttypes.h>
#include <stdlib.h>

#define LISTS	 3u /* tools, prompts, resources */
#define RETRY_MS 1000

static const struct {
	const char *filter, *method;
} lists[LISTS] = {
	[MCP_TOOLS] = { "toolsListChanged", "notifications/tools/list_changed" },
	[MCP_PROMPTS] = { "promptsListChanged", "notifications/prompts/list_changed" },
	[MCP_RESOURCES] = { "resourcesListChanged", "notifications/resources/list_changed" },
};

struct listener {
	struct follower f; /* its request is the subscription */
	bool wants[LISTS], resumable;
	uint64_t seen[LISTS];
	size_t thing_count;
	struct {
		str name; /* a resource's URI, a task's id */
		uint64_t seen;
		bool task;
	} things[LIMIT_MCP_URIS]; /* of a modern one; a legacy one's are the session's */
	char text[];		  /* of all that is text */
};

/* --- where a legacy client goes on: "n<tools>.<prompts>.<resources>.<random>" --- */

static str
event_id(struct listener *l, struct arena *a)
{
	if (!l->resumable)
		return (str){ 0 };
	return arena_printf(a, "n%016" PRIx64 ".%016" PRIx64 ".%016" PRIx64 ".%.*s", l->seen[MCP_TOOLS],
		l->seen[MCP_PROMPTS], l->seen[MCP_RESOURCES], STR_ARG(random_hex(a, 8)));
}

static bool
read_hex(str text, uint64_t *out)
{
	uint64_t n = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return false;
		n = n * 16 + (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	*out = n;
	return text.len == 16;
}

/* It only decides what is told: whoever invents one hears what they know already. */
static bool
read_event_id(str id, uint64_t out[LISTS])
{
	str rest = str_skip(id, 1), one;

	if (!str_starts(id, STR("n")))
		return false;
	for (size_t i = 0; i < LISTS; i++)
		if (!str_cut(rest, '.', &one, &rest) || !read_hex(one, &out[i]))
			return false;
	return true;
}

/* --- a look --- */

static void
write_subscription(const struct listener *l, struct json_out *o)
{
	if (!l->f.modern)
		return;
	json_out_object(o, "_meta");
	json_out_raw(o, MCP_META "subscriptionId", l->f.request);
	json_out_end(o);
}

/* Not being there (any more) is a state, too; what ends the stream is not. */
static status
forgive(struct mcp_call *c, status s)
{
	if (s == OK || s == E_UNAUTHENTICATED || s == E_UNAVAILABLE || c->http == 404)
		return s;
	ctx_clear(c->cx);
	c->code = c->http = 0;
	return OK;
}

status
listen_look(struct mcp_call *c, str uri, uint64_t *out)
{
	struct json_out o;
	struct buf b;
	status s;

	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	s = c->mcp->host->read(c, uri, &o);
	*out = s == OK ? message_hash(buf_str(&b)) : 0;
	return forgive(c, s);
}

/* *out is its notification; empty: there is no such task. */
static status
look_at_task(struct mcp_call *c, const struct listener *l, str id, str *out)
{
	struct json_out o;
	struct buf b;
	status s;

	TRY(mcp_identify(c));
	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	write_subscription(l, &o);
	s = c->mcp->host->task(c, MCP_TASK_GET, id, NULL, &o);
	json_out_end(&o);
	*out = s == OK ? buf_str(&b) : (str){ 0 };
	return forgive(c, s);
}

static void
tell(struct listener *l, struct arena *a, const char *method, str params)
{
	(void)http_stream_send(
		l->f.stream, (str){ 0 }, event_id(l, a), message_notification(a, method, params));
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
tell_updated(struct listener *l, struct arena *a, str uri)
{
	tell(l, a, "notifications/resources/updated", params_of(l, a, uri));
}

static status
look_at_lists(struct mcp_call *c, struct listener *l, bool tells)
{
	for (size_t i = 0; i < LISTS; i++) {
		uint64_t now, before = l->seen[i];

		if (!l->wants[i])
			continue;
		TRY(c->mcp->host->fingerprint(c, (enum mcp_list)i, &now));
		l->seen[i] = now;
		if (tells && now != before)
			tell(l, c->cx->arena, lists[i].method, params_of(l, c->cx->arena, (str){ 0 }));
	}
	return OK;
}

/* Of a modern stream: its own. */
static status
look_at_own(struct mcp_call *c, struct listener *l, bool tells)
{
	uint64_t now;
	str shown;

	for (size_t i = 0; i < l->thing_count; i++) {
		str name = l->things[i].name;
		bool task = l->things[i].task;

		if (task) {
			TRY(look_at_task(c, l, name, &shown));
			now = message_hash(shown);
		} else {
			TRY(listen_look(c, name, &now));
		}
		if (tells && now != l->things[i].seen && !task)
			tell_updated(l, c->cx->arena, name);
		else if (tells && now != l->things[i].seen && shown.len)
			tell(l, c->cx->arena, "notifications/tasks", shown);
		l->things[i].seen = now;
	}
	return OK;
}

/* Of a legacy stream: what its session has subscribed to, on whichever stream comes first. */
static status
look_at_session(struct mcp_call *c, struct listener *l)
{
	struct followed all[LIMIT_MCP_URIS];
	size_t count = session_followed(c, all);
	uint64_t now;

	for (size_t i = 0; i < count; i++) {
		TRY(listen_look(c, all[i].uri, &now));
		if (session_saw(c, all[i].uri, now))
			tell_updated(l, c->cx->arena, all[i].uri);
	}
	return OK;
}

/* --- as a follower --- */

static bool
look(struct follower *f, struct mcp_call *c)
{
	struct listener *l = (struct listener *)f;
	status s = look_at_lists(c, l, true);

	if (s == OK)
		s = f->modern ? look_at_own(c, l, true) : look_at_session(c, l);
	return s != E_UNAUTHENTICATED && !(s != OK && c->http == 404); /* revoked, or the session is over */
}

/* A modern stream that is closed on purpose ends with the result of the request that opened it. */
static void
end(struct follower *f, struct mcp_call *c)
{
	struct json_out o;
	struct buf b;

	if (!f->modern)
		return;
	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "jsonrpc", STR("2.0"));
	json_out_raw(&o, "id", f->request);
	json_out_object(&o, "result");
	json_out_str(&o, "resultType", STR("complete"));
	write_subscription((struct listener *)f, &o);
	json_out_end(&o);
	json_out_end(&o);
	(void)http_stream_send(f->stream, (str){ 0 }, (str){ 0 }, buf_str(&b));
}

static const struct follower_calls calls = { look, end };

/* --- beginning to listen --- */

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
	size_t n = follower_room(c, subscription);

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
		l->things[l->thing_count++].name = follower_keep(at, thing->text);
	}
}

static struct listener *
new_listener(struct mcp_call *c, str subscription)
{
	const struct json *filter = message_param(c, STR("notifications"));
	struct listener *l = calloc(1, sizeof(*l) + room_for(c, subscription));
	char *at;

	CHECK(l != NULL);
	at = l->text;
	l->f.calls = &calls;
	follower_init(&l->f, c, subscription, &at);
	l->resumable = !c->modern && strcmp(c->version, session_versions[0]) == 0;
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
	tell(l, a, "notifications/subscriptions/acknowledged", buf_str(&b));
}

/* The first words of the stream: what was honoured; or where it goes on, and what a client that comes back missed. */
static void
greet(struct mcp_call *c, struct listener *l, str last_event)
{
	uint64_t heard[LISTS];

	if (c->modern)
		acknowledge(l, c->cx->arena);
	else if (l->resumable)
		(void)http_stream_prime(l->f.stream, event_id(l, c->cx->arena), RETRY_MS);
	if (!l->resumable || !read_event_id(last_event, heard))
		return;
	for (size_t i = 0; i < LISTS; i++)
		if (heard[i] != l->seen[i])
			tell(l, c->cx->arena, lists[i].method, params_of(l, c->cx->arena, (str){ 0 }));
}

static status
begin(struct mcp_call *c, struct listener *l, str last_event)
{
	if (!header_accepts_stream(c))
		return rpc_fail(c, RPC_REQUEST, 406, "Accept must list text/event-stream");
	/* before the first word: what changes from now on is told */
	TRY(look_at_lists(c, l, false));
	TRY(look_at_own(c, l, false));
	TRY(followers_reserve(c));
	l->f.slot = c->slot;
	l->f.stream = http_stream_open(c->x);
	greet(c, l, last_event);
	followers_add(c->mcp->followers, &l->f);
	c->holds = true;
	return OK;
}

status
listen_begin(struct mcp_call *c, str last_event)
{
	struct listener *l;
	str subscription = { 0 };
	status s;

	if (c->modern)
		TRY(json_text(c->cx, c->id, &subscription));
	l = new_listener(c, subscription);
	s = begin(c, l, last_event);
	if (s != OK)
		free(l);
	return s;
}
