/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread looks after all streams that outlive their request: those that listen, and calls that wait.
 *
 *	followers_add (a worker) --> look, look, ... --> over: closed
 *
 * It looks twice a second, or as soon as something happened here. Each look identifies the caller anew, so a
 * revoked credential hears nothing more. There is nothing to miss: what is looked at is the database.
 */
#include "face/mcp/call.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/scoped.h"
#include "core/event.h"

#include <stdlib.h>

#define LAST_WORDS_US SECOND_US

struct followers {
	struct mcp *mcp;
	pthread_t thread;
	pthread_mutex_t lock; /* guards both lists: only the thread takes out of `all` */
	struct follower *new_ones, *all;
	bool running;
	atomic_bool stop, ended;
};

struct followers *
followers_new(struct mcp *m)
{
	struct followers *all = calloc(1, sizeof(*all));

	CHECK(all != NULL && pthread_mutex_init(&all->lock, NULL) == 0);
	all->mcp = m;
	return all;
}

/* --- a follower --- */

str
follower_keep(char **at, str text)
{
	char *begin = *at;

	if (text.len)
		memcpy(begin, text.ptr, text.len);
	*at += text.len;
	return (str){ begin, text.len };
}

size_t
follower_room(const struct mcp_call *c, str request)
{
	const struct credential *who = c->cx->credential;

	return (who ? who->bearer.len + who->peer.len : 0) + c->session.len + request.len +
	       c->cx->public_url.len;
}

void
follower_init(struct follower *f, const struct mcp_call *c, str request, char **at)
{
	const struct credential *who = c->cx->credential;

	f->slot = c->slot;
	f->modern = c->modern;
	f->version = c->version;
	f->can = c->can;
	if (who)
		f->credential = (struct credential){ .bearer = follower_keep(at, who->bearer),
			.peer = follower_keep(at, who->peer),
			.transport = who->transport };
	f->session = follower_keep(at, c->session);
	f->request = follower_keep(at, request);
	f->public_url = follower_keep(at, c->cx->public_url);
}

/* --- from other threads --- */

status
followers_reserve(struct mcp_call *c)
{
	if (atomic_load(&c->mcp->followers->stop))
		return fail(c->cx, E_UNAVAILABLE, "the server stops; come again");
	return slot_take(c->cx, event_slots(c->mcp->options.base->events), SLOT_MCP, &c->owner, &c->slot);
}

static void
put(struct followers *all, struct follower *f)
{
	scoped_lock held = lock(&all->lock);

	f->next = all->new_ones;
	all->new_ones = f;
}

void
followers_add(struct followers *all, struct follower *f)
{
	put(all, f);
	event_call(all->mcp->options.base->events);
}

static void
mark(struct follower *list, str session, str request)
{
	for (struct follower *f = list; f; f = f->next)
		if (!f->modern && str_eq(f->session, session) && str_eq(f->request, request))
			atomic_store(&f->cancelled, true);
}

void
followers_cancel(struct mcp_call *c, str request)
{
	struct followers *all = c->mcp->followers;
	scoped_lock held = lock(&all->lock);

	mark(all->all, c->session, request);
	mark(all->new_ones, c->session, request);
	event_call(all->mcp->options.base->events);
}

/* --- the thread --- */

static void
take_new(struct followers *all)
{
	scoped_lock held = lock(&all->lock);

	while (all->new_ones) {
		struct follower *one = all->new_ones;

		all->new_ones = one->next;
		one->next = all->all;
		all->all = one;
	}
}

static void
forget(struct followers *all, struct follower **at)
{
	struct follower *gone = *at;
	scoped_lock held = lock(&all->lock);

	*at = gone->next;
	slot_give_back(event_slots(all->mcp->options.base->events), gone->slot);
	if (gone->stream)
		http_stream_close(gone->stream);
	free(gone);
}

static void
make_call(struct followers *all, struct follower *f, struct ctx *cx, struct mcp_call *out)
{
	cx->credential = &f->credential;
	cx->public_url = f->public_url;
	*out = (struct mcp_call){ .mcp = all->mcp,
		.cx = cx,
		.modern = f->modern,
		.version = f->version,
		.can = f->can,
		.session = f->session };
}

/* False: the stream is over. */
static bool
serve(struct followers *all, struct follower *f, struct arena *a)
{
	struct ctx cx = *all->mcp->options.base;
	struct mcp_call c;

	if (http_stream_gone(f->stream) || atomic_load(&f->cancelled))
		return false;
	cx.arena = a;
	make_call(all, f, &cx, &c);
	return f->calls->look(f, &c);
}

static void
say_last(struct followers *all, struct arena *a)
{
	for (struct follower *f = all->all; f; f = f->next) {
		struct ctx cx = *all->mcp->options.base;
		struct mcp_call c;

		cx.arena = a;
		make_call(all, f, &cx, &c);
		if (!http_stream_gone(f->stream))
			f->calls->end(f, &c);
		arena_reset(a);
	}
}

static void
serve_all(struct followers *all, struct arena *a)
{
	for (struct follower **at = &all->all; *at;) {
		if (serve(all, *at, a))
			at = &(*at)->next;
		else
			forget(all, at);
		arena_reset(a);
	}
}

static void *
run(void *arg)
{
	struct followers *all = arg;
	struct event_hub *hub = all->mcp->options.base->events;
	struct arena a;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	while (!atomic_load(&all->stop)) {
		uint64_t seen = event_count(hub), calls = event_calls(hub);

		take_new(all);
		serve_all(all, &a);
		if (all->all)
			event_wait(hub, seen, LIMIT_EVENT_POLL_US);
		else
			event_rest(hub, calls, LIMIT_EVENT_POLL_US);
	}
	take_new(all);
	say_last(all, &a);
	while (all->all)
		forget(all, &all->all);
	arena_done(&a);
	atomic_store(&all->ended, true);
	event_call(hub);
	return NULL;
}

void
followers_start(struct followers *all)
{
	all->running = true;
	CHECK(pthread_create(&all->thread, NULL, run, all) == 0);
}

static void
join(struct followers *all)
{
	CHECK(pthread_join(all->thread, NULL) == 0);
	all->running = false;
}

void
followers_end(struct followers *all)
{
	struct event_hub *hub = all->mcp->options.base->events;
	int64_t until = clock_mono_us() + LAST_WORDS_US;

	atomic_store(&all->stop, true);
	event_call(hub);
	while (all->running && !atomic_load(&all->ended) && clock_mono_us() < until) {
		uint64_t calls = event_calls(hub);

		if (!atomic_load(&all->ended))
			event_rest(hub, calls, until - clock_mono_us());
	}
	if (all->running && atomic_load(&all->ended))
		join(all);
}

void
followers_stop(struct followers *all)
{
	atomic_store(&all->stop, true);
	event_call(all->mcp->options.base->events);
	if (all->running)
		join(all);
	take_new(all); /* who came while it ended */
	while (all->all)
		forget(all, &all->all);
}

void
followers_free(struct followers *all)
{
	CHECK(pthread_mutex_destroy(&all->lock) == 0);
	free(all);
}
