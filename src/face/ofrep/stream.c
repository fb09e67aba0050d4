/* SPDX-License-Identifier: Apache-2.0 */
#include "face/ofrep/stream.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/scoped.h"
#include "core/event.h"
#include "core/ident/caller.h"
#include "core/slot.h"
#include "db/db.h"
#include "domain/flag/live/live.h"
#include "domain/flag/live/visit.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

struct follower {
	struct follower *next;
	struct http_stream *stream;
	struct slot *slot;
	struct ticket ticket; /* its texts, and the peer's, follow this struct */
	str peer;
	int64_t told;	    /* the last version they have heard of */
	int64_t checked_us; /* when the token was last known to be good (clock_mono_us) */
	char text[];
};

struct streams {
	struct ctx base;
	pthread_t thread;
	bool runs;
	pthread_mutex_t lock; /* guards what is new */
	struct follower *new_ones;
	struct follower *followers; /* the thread's own */
	atomic_bool stop;
};

/* --- a follower --- */

static str
keep(char **at, str text)
{
	char *begin = *at;

	if (text.len)
		memcpy(begin, text.ptr, text.len);
	*at += text.len;
	return (str){ begin, text.len };
}

static struct follower *
new_follower(const struct ticket *t, str peer, int64_t since)
{
	struct follower *f =
		calloc(1, sizeof(*f) + t->org_id.len + t->token_id.len + t->environment_id.len + peer.len);
	char *at;

	CHECK(f != NULL);
	at = f->text;
	f->ticket = (struct ticket){ keep(&at, t->org_id), keep(&at, t->token_id),
		keep(&at, t->environment_id), t->expires_us };
	f->peer = keep(&at, peer);
	f->told = since;
	f->checked_us = clock_mono_us();
	return f;
}

/* --- may they still? --- */

struct check {
	const struct ticket *ticket;
	str peer;
};

static status
check_tx(struct ctx *cx, void *arg)
{
	const struct check *c = arg;
	struct caller caller;
	struct visit visit;
	status s;

	TRY(caller_still(cx, c->ticket->org_id, c->ticket->token_id, c->peer, &caller));
	cx->caller = &caller;
	s = visit_begin(cx, c->ticket->environment_id, &visit);
	cx->caller = NULL;
	return s;
}

static status
check(struct ctx *cx, const struct ticket *t, str peer)
{
	struct check c = { t, peer };

	return db_read(cx, check_tx, &c);
}

/* Is it no more than the database that is in trouble? */
static bool
may_pass(status s)
{
	return s == OK || status_info(s)->http >= 500;
}

/* --- the thread --- */

static int64_t
version_of(struct ctx *cx, const struct ticket *t, int64_t otherwise)
{
	const struct live_ruleset *live;
	int64_t version;

	if (live_take(cx, t->org_id, t->environment_id, &live) != OK)
		return otherwise;
	version = live->version;
	live_release(live);
	return version;
}

static bool
tell(struct ctx *cx, struct follower *f, int64_t version)
{
	str id = arena_printf(cx->arena, "%" PRId64, version);
	str data = arena_printf(
		cx->arena, "{\"type\":\"refetchEvaluation\",\"etag\":\"\\\"%" PRId64 "\\\"\"}", version);

	f->told = version;
	return http_stream_send(f->stream, STR(""), id, data);
}

/* False: the stream is over. */
static bool
serve(struct ctx *cx, struct follower *f)
{
	int64_t version = version_of(cx, &f->ticket, f->told), now = clock_mono_us();
	bool news = version > f->told;
	status s = OK;

	if (http_stream_gone(f->stream))
		return false;
	if (news || now - f->checked_us >= LIMIT_OFREP_CHECK_US) {
		s = check(cx, &f->ticket, f->peer);
		f->checked_us = now;
	}
	if (!may_pass(s))
		return false;
	return !news || s != OK || tell(cx, f, version);
}

static void
take_new(struct streams *s)
{
	scoped_lock held = lock(&s->lock);

	while (s->new_ones) {
		struct follower *one = s->new_ones;

		s->new_ones = one->next;
		one->next = s->followers;
		s->followers = one;
	}
}

static void
forget(struct streams *s, struct follower **at)
{
	struct follower *gone = *at;

	*at = gone->next;
	slot_give_back(event_slots(s->base.events), gone->slot);
	http_stream_close(gone->stream);
	free(gone);
}

static void
serve_all(struct streams *s, struct arena *a)
{
	for (struct follower **at = &s->followers; *at;) {
		struct ctx cx = s->base;

		cx.arena = a;
		if (serve(&cx, *at))
			at = &(*at)->next;
		else
			forget(s, at);
		arena_reset(a);
	}
}

static void *
run(void *arg)
{
	struct streams *s = arg;
	struct arena a;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	while (!atomic_load(&s->stop)) {
		uint64_t seen = event_count(s->base.events), calls = event_calls(s->base.events);

		take_new(s);
		serve_all(s, &a);
		if (s->followers)
			event_wait(s->base.events, seen, LIMIT_LIVE_LAG_US / 2);
		else
			event_rest(s->base.events, calls, LIMIT_LIVE_LAG_US / 2);
	}
	take_new(s);
	while (s->followers)
		forget(s, &s->followers);
	arena_done(&a);
	return NULL;
}

struct streams *
streams_new(void)
{
	struct streams *s = calloc(1, sizeof(*s));

	CHECK(s != NULL);
	CHECK(pthread_mutex_init(&s->lock, NULL) == 0);
	return s;
}

void
streams_start(struct streams *s, const struct ctx *base)
{
	s->base = *base;
	s->runs = true;
	CHECK(pthread_create(&s->thread, NULL, run, s) == 0);
}

void
streams_stop(struct streams *s)
{
	if (!s->runs)
		return;
	atomic_store(&s->stop, true);
	event_call(s->base.events);
	CHECK(pthread_join(s->thread, NULL) == 0);
	s->runs = false;
}

void
streams_free(struct streams *s)
{
	CHECK(pthread_mutex_destroy(&s->lock) == 0);
	free(s);
}

/* --- beginning to follow --- */

static void
hand_over(struct streams *s, struct follower *one)
{
	scoped_lock held = lock(&s->lock);

	one->next = s->new_ones;
	s->new_ones = one;
}

status
streams_follow(struct streams *s, struct http_exchange *x, const struct ticket *t, int64_t since)
{
	const struct slot_owner owner = { .org_id = t->org_id, .principal_id = t->token_id };
	struct follower *one;
	struct slot *slot;

	TRY(check(x->cx, t, x->req.peer));
	if (since < 0)
		since = version_of(x->cx, t, 0);
	TRY(slot_take(x->cx, event_slots(s->base.events), SLOT_OFREP, &owner, &slot));
	one = new_follower(t, x->req.peer, since);
	one->slot = slot;
	one->stream = http_stream_open(x);
	hand_over(s, one);
	event_call(x->cx->events);
	return OK;
}
