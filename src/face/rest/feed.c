/* SPDX-License-Identifier: Apache-2.0 */
#include "face/rest/feed.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/scoped.h"
#include "core/event.h"
#include "core/ident/caller.h"
#include "core/op.h"
#include "core/proposal/news.h"
#include "core/slot.h"
#include "db/db.h"

#include <stdatomic.h>
#include <stdlib.h>

#define REMEMBERED 1024u /* news a follower has had: more than come in the time one looks back */

struct follower {
	struct follower *next;
	struct http_stream *stream;
	struct slot *slot;
	struct credential credential; /* its texts follow this struct */
	int64_t since_us;
	uint64_t had[REMEMBERED]; /* hashes of keys, a ring */
	size_t had_count;
	char text[];
};

struct feed {
	struct feed_options options;
	pthread_t thread;
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
new_follower(const struct credential *c, int64_t since_us)
{
	struct follower *f = calloc(1, sizeof(*f) + c->bearer.len + c->session.len + c->peer.len + 1);
	char *at;

	CHECK(f != NULL);
	at = f->text;
	f->since_us = since_us;
	f->credential = *c;
	f->credential.bearer = keep(&at, c->bearer);
	f->credential.session = keep(&at, c->session);
	f->credential.peer = keep(&at, c->peer);
	f->credential.csrf = (str){ NULL, 0 };
	return f;
}

static void
end_follower(struct feed *feed, struct follower *f)
{
	slot_give_back(event_slots(feed->options.events), f->slot);
	http_stream_close(f->stream);
	free(f);
}

/* FNV-1a: to tell news apart, not to resist anybody. */
static uint64_t
hash(str text)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < text.len; i++)
		h = (h ^ (unsigned char)text.ptr[i]) * UINT64_C(1099511628211);
	return h;
}

/* Is it new to them? Then they have had it from now on. */
static bool
is_new(struct follower *f, str key)
{
	uint64_t h = hash(key);

	for (size_t i = 0; i < REMEMBERED && i < f->had_count; i++)
		if (f->had[i] == h)
			return false;
	f->had[f->had_count++ % REMEMBERED] = h;
	return true;
}

struct look {
	struct follower *follower;
	struct news *news;
	size_t count;
	int64_t next;
};

static status
look(struct ctx *cx, void *arg)
{
	struct look *l = arg;

	return news_since(cx, l->follower->since_us, &l->news, &l->count, &l->next);
}

/* Sends what is new. False: the stream is over. */
static bool
serve(struct feed *feed, struct follower *f, struct arena *a)
{
	struct look l = { .follower = f };
	struct ctx cx;
	status s;

	if (http_stream_gone(f->stream))
		return false;
	ctx_init(&cx, a);
	cx.db = feed->options.db;
	cx.keys = feed->options.keys;
	cx.tools = feed->options.tools;
	cx.toolsets = feed->options.toolsets;
	cx.credential = &f->credential;
	s = op_read(&cx, look, &l);
	if (s != OK)
		return s != E_UNAUTHENTICATED; /* the database may come back; a revoked credential does not */
	for (size_t i = 0; i < l.count; i++) {
		const struct event *e = &l.news[i].event;

		if (is_new(f, l.news[i].key) && !http_stream_send(f->stream, e->type, e->id, e->data))
			return false;
	}
	f->since_us = l.next;
	return true;
}

/* --- the thread --- */

static void
take_new(struct feed *f)
{
	scoped_lock held = lock(&f->lock);

	while (f->new_ones) {
		struct follower *one = f->new_ones;

		f->new_ones = one->next;
		one->next = f->followers;
		f->followers = one;
	}
}

static void
forget(struct feed *f, struct follower **at)
{
	struct follower *gone = *at;

	*at = gone->next;
	end_follower(f, gone);
}

static void
serve_all(struct feed *f, struct arena *a)
{
	for (struct follower **at = &f->followers; *at;) {
		if (serve(f, *at, a))
			at = &(*at)->next;
		else
			forget(f, at);
		arena_reset(a);
	}
}

static void *
run(void *arg)
{
	struct feed *f = arg;
	struct arena a;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	while (!atomic_load(&f->stop)) {
		uint64_t seen = event_count(f->options.events), calls = event_calls(f->options.events);

		take_new(f);
		serve_all(f, &a);
		if (f->followers)
			event_wait(f->options.events, seen, LIMIT_EVENT_POLL_US);
		else
			event_rest(f->options.events, calls, LIMIT_EVENT_POLL_US);
	}
	take_new(f);
	while (f->followers)
		forget(f, &f->followers);
	arena_done(&a);
	return NULL;
}

struct feed *
feed_start(const struct feed_options *o)
{
	struct feed *f = calloc(1, sizeof(*f));

	CHECK(f != NULL);
	f->options = *o;
	CHECK(pthread_mutex_init(&f->lock, NULL) == 0);
	CHECK(pthread_create(&f->thread, NULL, run, f) == 0);
	return f;
}

void
feed_stop(struct feed *f)
{
	if (!f)
		return;
	atomic_store(&f->stop, true);
	event_call(f->options.events);
	CHECK(pthread_join(f->thread, NULL) == 0);
	CHECK(pthread_mutex_destroy(&f->lock) == 0);
	free(f);
}

/* --- beginning to follow --- */

struct beginning {
	int64_t now_us;
	struct slot_owner owner;
};

static status
begin(struct ctx *cx, void *arg)
{
	struct beginning *b = arg;

	b->owner = slot_owner_of(cx->caller);
	return tx_now_us(cx, &b->now_us);
}

static void
hand_over(struct feed *f, struct follower *one)
{
	scoped_lock held = lock(&f->lock);

	one->next = f->new_ones;
	f->new_ones = one;
}

status
feed_follow(struct http_exchange *x)
{
	struct feed *f = x->cx->feed;
	struct beginning b;
	struct follower *one;
	struct slot *slot;

	CHECK(f != NULL);
	/* from this moment on: the client may act as soon as it has our headers */
	TRY(op_read(x->cx, begin, &b));
	TRY(slot_take(x->cx, event_slots(f->options.events), SLOT_EVENTS, &b.owner, &slot));
	one = new_follower(x->cx->credential, b.now_us);
	one->slot = slot;
	one->stream = http_stream_open(x);
	hand_over(f, one);
	event_call(f->options.events);
	return OK;
}
