/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fiber/fiber.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fiber/sanitizer.h"
#include "base/limits.h"
#include "base/scoped.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

struct fiber {
	struct fibers *all;
	struct fiber *next; /* of those that are idle */
	ucontext_t context;
	struct sanitizer_stack stack;
	fiber_fn *fn;
	void *job;
	bool ended, refused;
	int64_t until_us;

	/* under the lock of all: */
	struct fiber *next_called;
	bool waiting, called, listed;
};

struct fibers {
	struct fibers_options options;
	ucontext_t owner;
	struct sanitizer_stack owner_stack;
	struct fiber *made[LIMIT_FIBERS];
	size_t made_count, waiting_count;
	struct fiber *idle;

	pthread_mutex_t lock;
	struct fiber *first_called, *last_called;
};

/* --- stacks --- */

/* The page below it is nobody's: who goes too deep is stopped. */
static char *
map_stack(void)
{
	size_t guard = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, guard + LIMIT_FIBER_STACK, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

	CHECK(at != MAP_FAILED && mprotect(at, guard, PROT_NONE) == 0);
	return at + guard;
}

static void
unmap_stack(char *stack)
{
	size_t guard = (size_t)sysconf(_SC_PAGESIZE);

	CHECK(munmap(stack - guard, guard + LIMIT_FIBER_STACK) == 0);
}

/* --- switching --- */

static void
leave(struct fiber *f)
{
	sanitizer_leave(&f->stack, &f->all->owner_stack);
	CHECK(swapcontext(&f->context, &f->all->owner) == 0);
	sanitizer_arrive(&f->stack, &f->all->owner_stack);
}

/* A fiber does one job after the other, for ever. makecontext hands over numbers and no pointers. */
static void
live(unsigned high, unsigned low)
{
	struct fiber *f = (struct fiber *)((uintptr_t)high << 32 | low);

	sanitizer_arrive(&f->stack, &f->all->owner_stack);
	for (;;) {
		f->fn(f, f->job);
		f->ended = true;
		leave(f);
	}
}

/* On the owner's stack: until it waits or ends. */
static void
enter(struct fiber *f)
{
	sanitizer_leave(&f->all->owner_stack, &f->stack);
	CHECK(swapcontext(&f->all->owner, &f->context) == 0);
	sanitizer_arrive(&f->all->owner_stack, &f->stack);
}

/* --- starting and ending --- */

static struct fiber *
make(struct fibers *all)
{
	struct fiber *f = calloc(1, sizeof(*f));

	CHECK(f != NULL && getcontext(&f->context) == 0);
	f->all = all;
	sanitizer_stack_init(&f->stack, map_stack(), LIMIT_FIBER_STACK);
	f->context.uc_stack.ss_sp = f->stack.bottom;
	f->context.uc_stack.ss_size = f->stack.size;
	makecontext(&f->context, (void (*)(void))live, 2, (unsigned)((uintptr_t)f >> 32),
		(unsigned)((uintptr_t)f & UINT32_MAX));
	all->made[all->made_count++] = f;
	return f;
}

static struct fiber *
take(struct fibers *all)
{
	struct fiber *f = all->idle;

	if (!f)
		return all->made_count < all->options.most ? make(all) : NULL;
	all->idle = f->next;
	return f;
}

static void
give_back(struct fiber *f)
{
	f->next = f->all->idle;
	f->all->idle = f;
}

enum fiber_start
fibers_start(struct fibers *all, fiber_fn *fn, void *job)
{
	struct fiber *f = take(all);

	if (!f)
		return FIBER_NONE;
	f->fn = fn;
	f->job = job;
	f->ended = f->refused = f->called = false;
	enter(f);
	if (!f->ended)
		return FIBER_WAITS;
	give_back(f);
	return FIBER_ENDED;
}

static void
resume(struct fiber *f)
{
	void *job = f->job;

	enter(f);
	if (!f->ended)
		return;
	give_back(f);
	f->all->options.ended(f->all->options.arg, job);
}

/* --- waiting --- */

/* False: it has been called already. */
static bool
begin_wait(struct fiber *f)
{
	scoped_lock held = lock(&f->all->lock);

	f->waiting = !f->called;
	f->called = false;
	return f->waiting;
}

void
fiber_wait(struct fiber *f, int64_t until_us)
{
	f->until_us = until_us;
	if (!begin_wait(f))
		return;
	f->all->waiting_count++;
	leave(f);
	f->all->waiting_count--;
}

/* The first that is listed wakes the owner for all. */
static bool
list(struct fiber *f)
{
	struct fibers *all = f->all;
	scoped_lock held = lock(&all->lock);
	bool first = !all->first_called;

	f->called = true;
	if (!f->waiting || f->listed)
		return false;
	f->listed = true;
	f->next_called = NULL;
	if (first)
		all->first_called = f;
	else
		all->last_called->next_called = f;
	all->last_called = f;
	return first;
}

void
fiber_call(struct fiber *f)
{
	if (list(f))
		f->all->options.wake(f->all->options.arg);
}

void
fiber_call_here(struct fiber *f)
{
	(void)list(f);
}

/* The next one that was called, or NULL. Who has gone on meanwhile because its time was over is passed by. */
static struct fiber *
next_called(struct fibers *all)
{
	scoped_lock held = lock(&all->lock);

	while (all->first_called) {
		struct fiber *f = all->first_called;
		bool waits = f->waiting;

		all->first_called = f->next_called;
		f->listed = false;
		if (waits) {
			f->waiting = f->called = false;
			return f;
		}
	}
	return NULL;
}

void
fibers_go_on(struct fibers *all)
{
	struct fiber *f;

	while ((f = next_called(all)))
		resume(f);
}

static bool
is_late(struct fiber *f, int64_t now_us)
{
	scoped_lock held = lock(&f->all->lock);
	bool late = f->waiting && now_us >= f->until_us;

	if (late)
		f->waiting = f->called = false;
	return late;
}

void
fibers_check_time(struct fibers *all)
{
	int64_t now_us = clock_mono_us();

	for (size_t i = 0; i < all->made_count; i++)
		if (is_late(all->made[i], now_us))
			resume(all->made[i]);
}

bool
fibers_waiting(const struct fibers *all)
{
	return all->waiting_count > 0;
}

/* --- who it is --- */

void *
fiber_owner(const struct fiber *f)
{
	return f->all->options.arg;
}

bool
fiber_refuses(struct ctx *cx)
{
	if (!cx->fiber)
		return false;
	cx->fiber->refused = true;
	(void)fail(cx, E_BUSY, "this is for a thread that may be held up");
	return true;
}

bool
fiber_refused(const struct ctx *cx)
{
	return cx->fiber && cx->fiber->refused;
}

/* --- life --- */

struct fibers *
fibers_new(const struct fibers_options *o)
{
	struct fibers *all = calloc(1, sizeof(*all));

	CHECK(all != NULL);
	all->options = *o;
	CHECK(o->most <= LIMIT_FIBERS && pthread_mutex_init(&all->lock, NULL) == 0);
	return all;
}

void
fibers_free(struct fibers *all)
{
	if (!all)
		return;
	CHECK(!all->waiting_count);
	for (size_t i = 0; i < all->made_count; i++) {
		sanitizer_stack_done(&all->made[i]->stack);
		unmap_stack(all->made[i]->stack.bottom);
		free(all->made[i]);
	}
	CHECK(pthread_mutex_destroy(&all->lock) == 0);
	free(all);
}
