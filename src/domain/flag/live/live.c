/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/live/live.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/scoped.h"
#include "core/event.h"
#include "core/ident/caller.h"
#include "db/db.h"
#include "domain/flag/store/store.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "domain/flag/live/live.sql.h" /* SQL_LIVE_*, generated from live.sql */

#define CHAINS 256u	    /* of the table by id; an installation has a few dozen environments */
#define BATCH  ((size_t)16) /* pairs of one SQL_LIVE_VERSIONS */

/* A ruleset and who uses it: the cache counts as one user. */
struct loaded {
	struct live_ruleset pub; /* first: what users hold; its texts follow this struct */
	struct ruleset *rules;
	atomic_uint users;
	char text[];
};

/* An environment that somebody has asked for. Everything is guarded by live.lock, but what is constant. */
struct entry {
	struct entry *next;
	str org_id, id; /* constant; they follow this struct */
	struct loaded *now;
	int64_t known_us;      /* when it was last known to be the newest (clock_mono_us) */
	uint64_t marks, heard; /* how often it was said to have changed; of these its state has heard */
	uint64_t used;	       /* when, by live.turns */
	uint64_t rounds;       /* of asking the database, so that who waits knows that one is over */
	status ended;	       /* how the last round ended */
	unsigned pins;	       /* who works with the entry itself: it stays */
	bool loading;
	char text[];
};

struct live {
	struct live_options options;
	struct ctx base; /* what the watcher's begins as */
	pthread_mutex_t lock;
	pthread_cond_t over; /* a round is */
	struct entry *chains[CHAINS];
	size_t count, bytes;
	uint64_t turns;
	int64_t loads;
	atomic_llong rounds;	/* of the watcher */
	uint64_t ticket;	/* of the listener */
	struct event_hub *bell; /* rings when it is time to end */
	atomic_bool stop;
	pthread_t watcher;
};

/* --- a ruleset --- */

static str
keep(char **at, str text)
{
	char *begin = *at;

	if (text.len)
		memcpy(begin, text.ptr, text.len);
	*at += text.len;
	return (str){ begin, text.len };
}

static struct loaded *
new_loaded(struct ruleset *rules, const struct entry *e, int64_t version)
{
	struct loaded *r = malloc(sizeof(*r) + e->org_id.len + e->id.len);
	char *at;

	CHECK(r != NULL);
	at = r->text;
	r->rules = rules;
	r->pub = (struct live_ruleset){ .rules = rules, .version = version };
	r->pub.org_id = keep(&at, e->org_id);
	r->pub.environment_id = keep(&at, e->id);
	atomic_init(&r->users, 1);
	return r;
}

static void
drop(struct loaded *r)
{
	if (!r || atomic_fetch_sub(&r->users, 1) > 1)
		return;
	ruleset_free(r->rules);
	free(r);
}

static const struct live_ruleset *
share(struct loaded *r)
{
	(void)atomic_fetch_add(&r->users, 1);
	return &r->pub;
}

void
live_release(const struct live_ruleset *r)
{
	/* what users hold is const; its count is ours */
	drop((struct loaded *)(uintptr_t)r);
}

/* --- the table; with the lock --- */

static struct entry **
find(struct live *l, str org_id, str id)
{
	uint32_t h = 2166136261u; /* FNV-1a: ids are random already */
	struct entry **at;

	for (size_t i = 0; i < id.len; i++)
		h = (h ^ (unsigned char)id.ptr[i]) * 16777619u;
	at = &l->chains[h % CHAINS];
	while (*at && !(str_eq((*at)->id, id) && str_eq((*at)->org_id, org_id)))
		at = &(*at)->next;
	return at;
}

static bool
is_current(const struct live *l, const struct entry *e)
{
	return e->now && e->heard == e->marks && clock_mono_us() - e->known_us < l->options.lag_us;
}

/* Moves the entry at *at from the table to *dead, which is buried without the lock: a ruleset is large. */
static void
remove_at(struct live *l, struct entry **at, struct entry **dead)
{
	struct entry *e = *at;

	CHECK(e != NULL);
	*at = e->next;
	l->count--;
	if (e->now)
		l->bytes -= ruleset_bytes(e->now->rules);
	e->next = *dead;
	*dead = e;
}

static void
bury(struct entry *dead)
{
	while (dead) {
		struct entry *next = dead->next;

		drop(dead->now);
		free(dead);
		dead = next;
	}
}

static struct entry **
least_used(struct live *l)
{
	struct entry **least = NULL;

	for (size_t c = 0; c < CHAINS; c++)
		for (struct entry **at = &l->chains[c]; *at; at = &(*at)->next)
			if (!(*at)->pins && (!least || (*at)->used < (*least)->used))
				least = at;
	return least;
}

static void
make_room(struct live *l, struct entry **dead)
{
	while (l->count > l->options.environments || l->bytes > l->options.bytes) {
		struct entry **least = least_used(l);

		if (!least)
			return; /* all are at work: they are few, one for each worker */
		remove_at(l, least, dead);
	}
}

static struct entry *
add(struct live *l, struct entry **at, str org_id, str id)
{
	struct entry *e = calloc(1, sizeof(*e) + org_id.len + id.len);
	char *text;

	CHECK(e != NULL);
	text = e->text;
	e->org_id = keep(&text, org_id);
	e->id = keep(&text, id);
	*at = e;
	l->count++;
	return e;
}

/* --- who works with an entry --- */

static struct entry *
pin(struct live *l, str org_id, str id)
{
	scoped_lock held = lock(&l->lock);
	struct entry **at = find(l, org_id, id), *e = *at ? *at : add(l, at, org_id, id);

	e->pins++;
	e->used = ++l->turns;
	return e;
}

static struct entry *
let_go(struct live *l, struct entry *e)
{
	scoped_lock held = lock(&l->lock);
	struct entry *dead = NULL;

	e->pins--;
	if (!e->now && !e->pins) /* there is no such environment, or it cannot be loaded: nothing to keep */
		remove_at(l, find(l, e->org_id, e->id), &dead);
	make_room(l, &dead);
	return dead;
}

static void
unpin(struct live *l, struct entry *e)
{
	bury(let_go(l, e));
}

enum turn { TURN_READY, TURN_LOAD, TURN_FAILED };

/* What one round of asking is about. */
struct round {
	struct entry *entry;
	int64_t asked_us;
	int64_t have;	 /* the version that is loaded; 0: none */
	uint64_t marks;	 /* that the answer will have heard */
	status ended;	 /* TURN_FAILED: how */
	uint64_t enough; /* a round of this number began after we came: what it found is new enough for us */
	/* the answer */
	int64_t version;
	struct json *document; /* NULL: have is still the version */
};

/* Ready, or one's turn to ask; who finds somebody asking waits for what comes of it. */
static enum turn
take_turn(struct live *l, struct round *r, const struct live_ruleset **out)
{
	struct entry *e = r->entry;
	scoped_lock held = lock(&l->lock);

	if (!r->enough)
		r->enough = e->rounds + (e->loading ? 2 : 1);
	/* however often it is said to change meanwhile: nobody waits for more than two rounds */
	while (!is_current(l, e) && !(e->rounds >= r->enough && e->ended == OK && e->now)) {
		uint64_t before = e->rounds;

		if (!e->loading) {
			e->loading = true;
			r->asked_us = clock_mono_us();
			r->have = e->now ? e->now->pub.version : 0;
			r->marks = e->marks;
			return TURN_LOAD;
		}
		while (e->rounds == before)
			CHECK(pthread_cond_wait(&l->over, &l->lock) == 0);
		r->ended = e->ended;
		if (r->ended != OK)
			return TURN_FAILED; /* nobody asks a database that is down once for each who waits */
	}
	*out = share(e->now);
	return TURN_READY;
}

/* Puts fresh (NULL: none) in the place of what is there, which is given back. */
static struct loaded *
swap(struct live *l, struct entry *e, struct loaded *fresh)
{
	struct loaded *old = e->now;

	e->now = fresh;
	if (old)
		l->bytes -= ruleset_bytes(old->rules);
	if (fresh)
		l->bytes += ruleset_bytes(fresh->rules);
	l->loads += fresh != NULL;
	return old;
}

/* With the round's result: *out is what was the newest after it was asked for, or NULL where it cannot be had. */
static struct loaded *
settle(struct live *l, const struct round *r, struct loaded *fresh, const struct live_ruleset **out)
{
	scoped_lock held = lock(&l->lock);
	struct entry *e = r->entry;
	struct loaded *old = fresh || r->ended == E_NOT_FOUND ? swap(l, e, fresh) : NULL;

	e->loading = false;
	e->rounds++;
	e->ended = r->ended;
	CHECK(pthread_cond_broadcast(&l->over) == 0);
	*out = NULL;
	if (r->ended != OK)
		return old;
	e->known_us = r->asked_us;
	e->heard = r->marks;
	*out = share(e->now);
	return old;
}

/* --- loading --- */

static status
read_document(struct ctx *cx, void *arg)
{
	struct round *r = arg;
	struct environment e;

	TRY(environment_get(cx, r->entry->id, &e));
	r->version = e.version;
	r->document = NULL;
	return e.version == r->have ? OK : store_document(cx, &e, 0, &r->document);
}

static status
read_as_owner(struct ctx *cx, void *arg)
{
	const struct round *r = arg;
	const struct caller *before = cx->caller;
	struct caller owner = { .org_id = r->entry->org_id }; /* whose environments the store sees */
	status s;

	cx->caller = &owner;
	s = read_document(cx, arg);
	cx->caller = before;
	return s;
}

/* Whatever it is, this environment cannot be answered for; only that it is not there is an answer. */
static status
explain(struct ctx *cx, const struct round *r, status s)
{
	if (s == E_NOT_FOUND)
		return fail(cx, s, "there is no environment %.*s", STR_ARG(r->entry->id));
	return fail(cx, E_NOT_CACHED, "the ruleset of environment %.*s cannot be loaded right now: %.*s",
		STR_ARG(r->entry->id), STR_ARG(ctx_message(cx, s)));
}

static status
load(struct ctx *cx, struct round *r, struct loaded **out)
{
	struct arena_mark before = arena_mark(cx->arena);
	struct ruleset *rules;
	status s = db_read(cx, read_as_owner, r);

	if (s == OK && !r->document)
		return OK;
	if (s == OK)
		s = ruleset_compile_stored(cx, r->document, &rules);
	if (s != OK)
		return explain(cx, r, s);
	arena_rewind(cx->arena, before);
	*out = new_loaded(rules, r->entry, r->version);
	return OK;
}

static status
take(struct ctx *cx, struct live *l, struct entry *e, const struct live_ruleset **out)
{
	struct round r = { .entry = e };
	const struct live_ruleset *found = NULL;
	enum turn turn;

	turn = take_turn(l, &r, &found);
	if (turn == TURN_FAILED)
		return fail(cx, r.ended, "%s", status_info(r.ended)->sentence);
	if (turn == TURN_LOAD) {
		struct loaded *fresh = NULL;

		r.ended = load(cx, &r, &fresh);
		drop(settle(l, &r, fresh, &found));
		TRY(r.ended);
	}
	*out = found;
	return OK;
}

status
live_take(struct ctx *cx, str org_id, str environment_id, const struct live_ruleset **out)
{
	struct live *l = cx->live;
	struct entry *e;
	status s;

	CHECK(l != NULL);
	e = pin(l, org_id, environment_id);
	s = take(cx, l, e, out);
	unpin(l, e);
	return s;
}

const struct live_ruleset *
live_peek(struct live *l, str org_id, str environment_id)
{
	scoped_lock held = lock(&l->lock);
	struct entry *e = *find(l, org_id, environment_id);

	if (!e || !is_current(l, e))
		return NULL;
	e->used = ++l->turns;
	return share(e->now);
}

/* --- what has changed --- */

/* Called under the hub's lock, after a commit of ours: whoever takes it from now on looks again. */
static void
on_event(void *arg, const struct event *event)
{
	struct live *l = arg;
	scoped_lock held = lock(&l->lock);
	struct entry *e;

	if (!str_eq(event->type, STR(STORE_EVENT)))
		return;
	e = *find(l, event->org_id, event->id);
	if (e)
		e->marks++;
}

void
live_expect(struct live *l, str org_id, str environment_id, int64_t version)
{
	scoped_lock held = lock(&l->lock);
	struct entry *e = *find(l, org_id, environment_id);

	if (e && e->now && e->now->pub.version < version)
		e->marks++;
}

/* What the watcher looks after: entries, pinned, and the version each had. */
struct watched {
	struct entry *entry;
	int64_t version;
	bool same, stale;
};
struct watch {
	struct watched *all;
	size_t count, at; /* at: the first of the batch */
};

static void
gather(struct live *l, struct arena *a, struct watch *w)
{
	scoped_lock held = lock(&l->lock);

	w->all = arena_alloc(a, (l->count + 1) * sizeof(*w->all));
	for (size_t c = 0; c < CHAINS; c++) {
		for (struct entry *e = l->chains[c]; e; e = e->next) {
			if (!e->now)
				continue;
			e->pins++;
			w->all[w->count++] = (struct watched){ e, e->now->pub.version, false, false };
		}
	}
}

struct version_row {
	str id;
	int64_t version;
};
static const struct field version_row[] = {
	FIELD_TEXT(struct version_row, id),
	FIELD_INT(struct version_row, version),
	FIELD_END,
};

static void
compare(struct watch *w, const struct version_row *row)
{
	for (size_t i = w->at; i < w->at + BATCH && i < w->count; i++)
		if (str_eq(w->all[i].entry->id, row->id) && w->all[i].version == row->version)
			w->all[i].same = true;
}

static status
ask_batch(struct ctx *cx, void *arg)
{
	struct watch *w = arg;
	struct db_value args[2 * BATCH];
	struct version_row *rows;
	size_t count;

	for (size_t i = 0; i < BATCH; i++) {
		/* where there are fewer, the first one is asked for again */
		const struct entry *e = w->all[w->at + i < w->count ? w->at + i : w->at].entry;

		args[2 * i] = TEXT(e->org_id);
		args[2 * i + 1] = TEXT(e->id);
	}
	TRY(db_all_args(
		cx, SQL_LIVE_VERSIONS, version_row, sizeof(*rows), (void **)&rows, &count, args, 2 * BATCH));
	for (size_t i = 0; i < count; i++)
		compare(w, &rows[i]);
	return OK;
}

/* What was the newest when we asked is known to be; what moved is marked. */
static void
note(struct live *l, struct watched *one, int64_t asked_us)
{
	scoped_lock held = lock(&l->lock);
	struct entry *e = one->entry;

	if (!e->now || e->now->pub.version != one->version)
		return; /* somebody has loaded meanwhile, and knows better */
	if (one->same && asked_us > e->known_us)
		e->known_us = asked_us;
	else if (!one->same)
		e->marks++;
	one->stale = e->heard != e->marks;
}

/* So that no request waits for it. */
static void
renew(struct ctx *cx, struct live *l, struct entry *e)
{
	const struct live_ruleset *r = NULL;
	status s = take(cx, l, e, &r);

	if (s == OK)
		live_release(r);
	else if (s != E_NOT_FOUND)
		LOG(LOG_WARN, "ruleset.not_loaded", LOG_STR("environment", e->id),
			LOG_STR("why", ctx_message(cx, s)));
	ctx_clear(cx);
}

status
live_watch(struct ctx *cx)
{
	struct live *l = cx->live;
	struct watch w = { 0 };
	status s = OK;

	gather(l, cx->arena, &w);
	for (; s == OK && w.at < w.count; w.at += BATCH) {
		int64_t asked_us = clock_mono_us();

		s = db_read(cx, ask_batch, &w);
		for (size_t i = w.at; s == OK && i < w.at + BATCH && i < w.count; i++)
			note(l, &w.all[i], asked_us);
	}
	for (size_t i = 0; i < w.count; i++) {
		if (s == OK && w.all[i].stale)
			renew(cx, l, w.all[i].entry);
		unpin(l, w.all[i].entry);
	}
	return s;
}

static void *
watch(void *arg)
{
	struct live *l = arg;
	bool well = true;
	struct arena a;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	while (!atomic_load(&l->stop)) {
		struct ctx cx = l->base;
		status s;

		cx.arena = &a;
		s = live_watch(&cx);
		if (s != OK && well) /* once, not twice a second */
			LOG(LOG_WARN, "ruleset.not_watched", LOG_STR("why", ctx_message(&cx, s)));
		well = s == OK;
		arena_reset(&a);
		atomic_fetch_add(&l->rounds, 1);
		event_wait(l->bell, 0, l->options.lag_us / 2);
	}
	arena_done(&a);
	return NULL;
}

/* --- the whole --- */

struct live *
live_new(const struct live_options *o)
{
	struct live *l = calloc(1, sizeof(*l));

	CHECK(l != NULL);
	l->options = *o;
	l->base = *o->base;
	l->base.live = l;
	if (!o->environments)
		l->options.environments = LIMIT_LIVE_ENVIRONMENTS;
	if (!o->bytes)
		l->options.bytes = LIMIT_LIVE_BYTES;
	if (!o->lag_us)
		l->options.lag_us = LIMIT_LIVE_LAG_US;
	CHECK(pthread_mutex_init(&l->lock, NULL) == 0);
	CHECK(pthread_cond_init(&l->over, NULL) == 0);
	l->bell = event_hub_new(0);
	if (o->base->events)
		l->ticket = event_listen(o->base->events, on_event, l);
	CHECK(pthread_create(&l->watcher, NULL, watch, l) == 0);
	return l;
}

void
live_free(struct live *l)
{
	struct entry *dead = NULL;

	if (!l)
		return;
	atomic_store(&l->stop, true);
	event_publish(l->bell, &(struct event){ .type = STR("stop") });
	CHECK(pthread_join(l->watcher, NULL) == 0);
	if (l->base.events)
		event_forget(l->base.events, l->ticket);
	for (size_t c = 0; c < CHAINS; c++)
		while (l->chains[c])
			remove_at(l, &l->chains[c], &dead);
	bury(dead);
	event_hub_free(l->bell);
	CHECK(pthread_cond_destroy(&l->over) == 0);
	CHECK(pthread_mutex_destroy(&l->lock) == 0);
	free(l);
}

void
live_stats(struct live *l, struct live_stats *out)
{
	scoped_lock held = lock(&l->lock);

	*out = (struct live_stats){ .environments = (int64_t)l->count,
		.bytes = (int64_t)l->bytes,
		.loads = l->loads,
		.rounds = atomic_load(&l->rounds) };
}
