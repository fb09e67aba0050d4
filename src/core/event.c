/* SPDX-License-Identifier: Apache-2.0 */
#include "core/event.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/scoped.h"
#include "core/slot.h"
#include "db/db.h"

#include <stdlib.h>
#include <time.h>

/* One listener's place: called on the emitting thread, after commit. */
struct listener {
	struct listener *next;
	event_fn *fn;
	void *arg;
	uint64_t ticket;
};

struct event_hub {
	pthread_mutex_t lock;
	pthread_cond_t news, call;
	uint64_t count; /* events so far: a waiter sleeps until it moves */
	uint64_t calls; /* the same for who rests */
	uint64_t tickets;
	int places; /* left for waiters */
	bool ended; /* nobody shall wait any more */
	struct listener *listeners;
	struct slots *slots;
};

struct event_hub *
event_hub_new(int waiters)
{
	struct event_hub *h = calloc(1, sizeof(*h));
	pthread_condattr_t attributes;

	CHECK(h != NULL);
	h->places = waiters;
	h->slots = slots_new(waiters);
	CHECK(pthread_mutex_init(&h->lock, NULL) == 0);
	CHECK(pthread_condattr_init(&attributes) == 0);
	CHECK(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
	CHECK(pthread_cond_init(&h->news, &attributes) == 0);
	CHECK(pthread_cond_init(&h->call, &attributes) == 0);
	(void)pthread_condattr_destroy(&attributes);
	return h;
}

void
event_hub_free(struct event_hub *h)
{
	if (!h)
		return;
	while (h->listeners) {
		struct listener *next = h->listeners->next;

		free(h->listeners);
		h->listeners = next;
	}
	slots_free(h->slots);
	(void)pthread_cond_destroy(&h->news);
	(void)pthread_cond_destroy(&h->call);
	(void)pthread_mutex_destroy(&h->lock);
	free(h);
}

struct slots *
event_slots(struct event_hub *h)
{
	return h->slots;
}

uint64_t
event_listen(struct event_hub *h, event_fn *fn, void *arg)
{
	struct listener *l = calloc(1, sizeof(*l));
	scoped_lock held = lock(&h->lock);

	CHECK(l != NULL);
	*l = (struct listener){ .next = h->listeners, .fn = fn, .arg = arg, .ticket = ++h->tickets };
	h->listeners = l;
	return l->ticket;
}

void
event_forget(struct event_hub *h, uint64_t ticket)
{
	scoped_lock held = lock(&h->lock);

	for (struct listener **at = &h->listeners; *at; at = &(*at)->next) {
		if ((*at)->ticket == ticket) {
			struct listener *gone = *at;

			*at = gone->next;
			free(gone);
			return;
		}
	}
}

void
event_publish(struct event_hub *h, const struct event *e)
{
	scoped_lock held = lock(&h->lock);

	h->count++;
	CHECK(pthread_cond_broadcast(&h->news) == 0);
	for (struct listener *l = h->listeners; l; l = l->next)
		l->fn(l->arg, e);
}

/* What waits for the commit. In the arena of the request, which outlives its hooks. */
struct delivery {
	struct event_hub *hub;
	struct event event;
};

static void
deliver(void *arg)
{
	const struct delivery *d = arg;

	event_publish(d->hub, &d->event);
}

void
event_emit(struct ctx *cx, const struct event *e)
{
	struct delivery *d;

	if (!cx->events)
		return;
	d = ARENA_NEW(cx->arena, struct delivery);
	*d = (struct delivery){ .hub = cx->events, .event = *e };
	tx_after_commit(cx, deliver, d);
}

bool
event_wait_begin(struct event_hub *h)
{
	scoped_lock held = lock(&h->lock);

	if (h->places <= 0 || h->ended)
		return false;
	h->places--;
	return true;
}

void
event_wait_end(struct event_hub *h)
{
	scoped_lock held = lock(&h->lock);

	h->places++;
}

uint64_t
event_count(struct event_hub *h)
{
	scoped_lock held = lock(&h->lock);

	return h->count;
}

uint64_t
event_calls(struct event_hub *h)
{
	scoped_lock held = lock(&h->lock);

	return h->calls;
}

/* Until *counter is not seen any more; false: the time was over first. */
static bool
wait_for(struct event_hub *h, pthread_cond_t *bell, const uint64_t *counter, uint64_t seen, int64_t most_us)
{
	scoped_lock held = lock(&h->lock);
	struct timespec until;

	/* checksrc: allow clock_gettime (a condition variable waits by this clock, not by ours) */
	CHECK(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
	until.tv_sec += most_us / SECOND_US;
	until.tv_nsec += most_us % SECOND_US * 1000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	while (*counter == seen)
		if (pthread_cond_timedwait(bell, &h->lock, &until) != 0)
			return false;
	return true;
}

bool
event_wait(struct event_hub *h, uint64_t seen, int64_t most_us)
{
	return wait_for(h, &h->news, &h->count, seen, most_us);
}

bool
event_rest(struct event_hub *h, uint64_t seen, int64_t most_us)
{
	return wait_for(h, &h->call, &h->calls, seen, most_us);
}

void
event_call(struct event_hub *h)
{
	scoped_lock held = lock(&h->lock);

	h->count++;
	h->calls++;
	CHECK(pthread_cond_broadcast(&h->news) == 0);
	CHECK(pthread_cond_broadcast(&h->call) == 0);
}

static void
end(struct event_hub *h)
{
	scoped_lock held = lock(&h->lock);

	h->ended = true;
}

void
event_end(struct event_hub *h)
{
	end(h);
	event_call(h);
}

bool
event_ended(struct event_hub *h)
{
	scoped_lock held = lock(&h->lock);

	return h->ended;
}
