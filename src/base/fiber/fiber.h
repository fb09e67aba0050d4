/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fiber: straight code on an event loop. It has a stack of its own, so that it can wait for somebody without holding the
 * thread, and without being taken apart into callbacks.
 *
 *	fibers_start --> fn runs ... fiber_wait --> [the loop goes on] --> called, or the time is over --> ... fn returns
 *
 * All fibers of a set run on the thread that owns the set, one at a time, and are switched nowhere but in fiber_wait. So
 * nobody holds a lock, a transaction or a borrowed connection while it waits. What could hold up the thread asks
 * fiber_refuses first: then it fails, whatever comes of that is thrown away, and a thread that may be held up does it all
 * again. Decision 22.
 */
#ifndef BASE_FIBER_H
#define BASE_FIBER_H

#include "base/ctx.h"

struct fiber;
struct fibers;

struct fibers_options {
	size_t most;
	void (*wake)(void *arg); /* any thread: fibers_go_on is wanted. Must not block. */
	/* The owner's stack: the fiber that did this job, and had waited, is done. */
	void (*ended)(void *arg, void *job);
	void *arg;
};

struct fibers *fibers_new(const struct fibers_options *o);
void fibers_free(struct fibers *all); /* NULL is fine; all have ended */

typedef void fiber_fn(struct fiber *self, void *job);
enum fiber_start { FIBER_NONE, FIBER_ENDED, FIBER_WAITS };

/* Runs fn on a fiber until it ends or waits. FIBER_NONE: all are in use, nothing was done. */
enum fiber_start fibers_start(struct fibers *all, fiber_fn *fn, void *job);

/* Goes on with those who were called; and, where it is their time, with the others. */
void fibers_go_on(struct fibers *all);
void fibers_check_time(struct fibers *all);
bool fibers_waiting(const struct fibers *all);

/* On the fiber: until it is called, or until then (clock_mono_us); it may come back for no reason. */
void fiber_wait(struct fiber *f, int64_t until_us);

/* Any thread, while the fiber has not ended. One call is enough for many. */
void fiber_call(struct fiber *f);

/* The same on the owner's thread, which goes on with it by itself: nobody is woken. */
void fiber_call_here(struct fiber *f);

/* The options' arg of whose fiber it is. */
void *fiber_owner(const struct fiber *f);

/* Does this run where nobody may be held up? Then what holds up is not done: E_BUSY, and fiber_refused is true from then
 * on. */
bool fiber_refuses(struct ctx *cx);
bool fiber_refused(const struct ctx *cx);

#endif
