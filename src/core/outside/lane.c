/* SPDX-License-Identifier: Apache-2.0 */
#include "core/outside/lane.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/scoped.h"
#include "core/outside/waiter.h"

#include <stdlib.h>

#define NAME 64u /* of a lane or an organization: an id */

/* A call that waits for a place in a lane; in that call's arena. */
struct turn {
	struct turn *next;
	struct waiter waiter;
	bool over;    /* it need not wait any longer ... */
	bool in;      /* ... because it has a place; false: it is refused, */
	int failures; /* because so many calls have failed in a row */
};

struct lane {
	char name[NAME], org[NAME];
	size_t len, org_len; /* 0: nobody's */
	int calls, waiting;
	struct turn *first, *last; /* of those who wait */
	int failures;		   /* in a row */
	int64_t until_us;	   /* of rest, from LIMIT_LANE_FAILURES on */
	int64_t last_us, open_us;  /* the last answer; when it was found broken; 0: not yet (clock_now_us) */
	int64_t used_us;	   /* when a call last entered or left (clock_mono_us) */
	bool trying;		   /* one was let through */
};

struct lanes {
	pthread_mutex_t lock; /* guards all below */
	int64_t refused;      /* calls that found no place */
	struct lane all[LIMIT_LANES];
};

struct lanes *
lanes_new(void)
{
	struct lanes *l = calloc(1, sizeof(*l));

	CHECK(l);
	CHECK(pthread_mutex_init(&l->lock, NULL) == 0);
	return l;
}

void
lanes_free(struct lanes *l)
{
	if (!l)
		return;
	CHECK(pthread_mutex_destroy(&l->lock) == 0);
	free(l);
}

static struct lane *
find(struct lanes *l, str name)
{
	for (size_t i = 0; i < LIMIT_LANES; i++)
		if (str_eq((str){ l->all[i].name, l->all[i].len }, name))
			return &l->all[i];
	return NULL;
}

/* Which of two idle lanes is the lesser loss: one that no call has failed in, then the one unused for longer. */
static bool
lesser_loss(const struct lane *a, const struct lane *b)
{
	if (!b || (a->failures == 0) != (b->failures == 0))
		return !b || a->failures == 0;
	return a->used_us < b->used_us;
}

/* One that was never used, else an idle one: a lane in which calls have failed is kept only while there is room, or
 * destinations that are long gone would hold up everybody else. */
static struct lane *
find_free(struct lanes *l)
{
	struct lane *idle = NULL;

	for (size_t i = 0; i < LIMIT_LANES; i++) {
		struct lane *one = &l->all[i];

		if (!one->len)
			return one;
		if (!one->calls && !one->waiting && lesser_loss(one, idle))
			idle = one;
	}
	return idle;
}

static struct lane *
take(struct lanes *l, str org, str name)
{
	struct lane *one = find_free(l);

	if (one) {
		*one = (struct lane){ .len = name.len, .org_len = org.len };
		memcpy(one->name, name.ptr, name.len);
		memcpy(one->org, org.ptr, org.len);
	}
	return one;
}

/* Has the organization as many calls on their way as one may have? Others must find places, too. */
static bool
org_is_full(const struct lanes *l, str org)
{
	int calls = 0;

	for (size_t i = 0; i < LIMIT_LANES; i++)
		if (str_eq((str){ l->all[i].org, l->all[i].org_len }, org))
			calls += l->all[i].calls + l->all[i].waiting;
	return calls >= LIMIT_LANE_ORG_CALLS;
}

static bool
resting(const struct lane *l)
{
	return l->failures >= LIMIT_LANE_FAILURES && (l->trying || clock_mono_us() < l->until_us);
}

static status
refuse_broken(struct ctx *cx, int failures)
{
	cx->lanes->refused++;
	return fail(cx, E_UNAVAILABLE,
		"the other system has not answered %d times in a row; it was not asked, and will be again in "
		"a few seconds",
		failures);
}

static status
refuse_crowd(struct ctx *cx)
{
	cx->lanes->refused++;
	return fail(cx, E_BUSY, "too many already wait for the other system; nothing was sent");
}

/* --- turns: with the lock held --- */

/* Ends the wait of the call that has waited longest. in: it gets the place of the call that leaves, so that no later call
 * can take it first. False: none waits. */
static bool
end_wait(struct lane *l, bool in)
{
	struct turn *t = l->first;

	if (!t)
		return false;
	l->first = t->next;
	l->waiting--;
	t->over = true;
	t->in = in;
	t->failures = l->failures;
	waiter_wake(&t->waiter);
	return true;
}

static status
wait_for_turn(struct ctx *cx, struct lanes *all, struct lane *l)
{
	struct turn *t = ARENA_NEW(cx->arena, struct turn);

	waiter_init(&t->waiter);
	*(l->first ? &l->last->next : &l->first) = t;
	l->last = t;
	l->waiting++;
	while (!t->over)
		waiter_wait(&t->waiter, &all->lock, INT64_MAX);
	waiter_done(&t->waiter);
	return t->in ? OK : refuse_broken(cx, t->failures); /* the lane may be another's by now */
}

static status
enter(struct ctx *cx, struct lanes *all, struct lane *l)
{
	l->used_us = clock_mono_us();
	if (l->calls >= LIMIT_LANE_CALLS)
		return wait_for_turn(cx, all, l);
	l->calls++;
	l->trying = l->failures >= LIMIT_LANE_FAILURES;
	return OK;
}

static bool
full(const struct lane *l)
{
	return l->calls >= LIMIT_LANE_CALLS && l->waiting >= LIMIT_LANE_WAITING;
}

static status
find_place(struct ctx *cx, struct lanes *all, bool lent, str org, str name)
{
	scoped_lock held = lock(&all->lock);
	struct lane *l = find(all, name);

	if (!lent || org_is_full(all, org))
		return refuse_crowd(cx);
	if (!l)
		l = take(all, org, name);
	if (l && resting(l))
		return refuse_broken(cx, l->failures);
	return l && !full(l) ? enter(cx, all, l) : refuse_crowd(cx);
}

status
lane_enter(struct ctx *cx, str org, str lane)
{
	bool lent;
	status s;

	CHECK(!cx->tx && cx->lanes && lane.len > 0 && lane.len <= NAME && org.len <= NAME);
	lent = !cx->place || cx->place->lend(cx->place->arg);
	s = find_place(cx, cx->lanes, lent, org, lane);
	if (!lent)
		return s;
	if (s != OK && cx->place)
		cx->place->back(cx->place->arg);
	return s;
}

/* With the lock held. */
static void
learn(struct lane *l, bool answered)
{
	l->failures = answered ? 0 : l->failures + 1;
	if (answered)
		l->last_us = clock_now_us();
	if (l->failures == LIMIT_LANE_FAILURES)
		l->open_us = clock_now_us();
	l->used_us = clock_mono_us();
	l->until_us = l->used_us + LIMIT_LANE_REST_US;
}

static void
leave(struct lanes *all, str name, bool answered)
{
	scoped_lock held = lock(&all->lock);
	struct lane *l = find(all, name);

	CHECK(l && l->calls > 0);
	l->trying = false;
	learn(l, answered);
	while (resting(l) && end_wait(l, false)) /* all that wait for a broken system are refused at once */
		;
	if (!end_wait(l, true))
		l->calls--;
}

void
lane_leave(struct ctx *cx, str lane, bool answered)
{
	leave(cx->lanes, lane, answered);
	if (cx->place)
		cx->place->back(cx->place->arg);
}

static const char *
breaker(const struct lane *l)
{
	if (l->failures < LIMIT_LANE_FAILURES)
		return "closed";
	return l->trying ? "trying" : "open";
}

struct lane_state
lane_look(struct ctx *cx, str lane)
{
	scoped_lock held = lock(&cx->lanes->lock);
	const struct lane *l = find(cx->lanes, lane);

	if (!l)
		return (struct lane_state){ .breaker = "closed" };
	return (struct lane_state){ breaker(l), l->calls, l->waiting, l->failures, l->last_us,
		l->failures < LIMIT_LANE_FAILURES ? 0 : l->open_us };
}

struct lane_stats
lane_stats(struct lanes *all)
{
	scoped_lock held = lock(&all->lock);
	struct lane_stats out = { .refused = all->refused };

	for (size_t i = 0; i < LIMIT_LANES; i++) {
		const struct lane *l = &all->all[i];

		out.calls += l->calls;
		out.waiting += l->waiting;
		out.busy += l->calls > 0 || l->waiting > 0;
		out.broken += l->failures >= LIMIT_LANE_FAILURES;
	}
	return out;
}
