/* SPDX-License-Identifier: Apache-2.0 */
/* light: handlers that run on the loop, on fibers, and what they wait for there (base/fiber). */
#include "http/server.h"

#include "base/check.h"
#include "base/clock.h"
#include "http/client/wait.h"

#include <sched.h>
#include <sys/epoll.h>

#define CHECK_MS 50 /* how late a wait may notice that its time is over */
#define EVENTS	 64

/* --- handlers --- */

static void
run(struct fiber *self, void *job)
{
	struct http_slot *slot = job;

	slot->cx.fiber = self;
	slot->x.route->handler(&slot->x, slot->x.route->arg);
	slot->heavy = fiber_refused(&slot->cx);
	slot->cx.fiber = NULL;
}

/* As if nobody had tried: a worker shall do it. */
static void
begin_again(struct http_slot *slot)
{
	CHECK(!slot->x.stream);
	http_answer_clear(&slot->x);
	arena_rewind(&slot->arena, slot->before);
	http_slot_fresh(slot);
}

/* Its handler has ended. False: a worker begins again. */
static bool
is_done(struct http_slot *slot)
{
	if (slot->heavy)
		begin_again(slot);
	else
		atomic_fetch_add(&slot->conn->server->light, 1);
	return !slot->heavy;
}

/* --- staying awake --- */

static void
look_around(uv_idle_t *h)
{
	struct http_server *s = h->data;

	if (clock_mono_us() >= s->awake_until_us)
		CHECK(uv_idle_stop(h) == 0);
	else
		(void)sched_yield(); /* whoever has something to do goes first */
}

/* What comes next comes from a client or from another server. */
static void
stay_awake(struct http_server *s)
{
	s->awake_until_us = http_awake_until(&s->awake, clock_mono_us());
	if (s->awake_until_us)
		CHECK(uv_idle_start(&s->awake_idle, look_around) == 0);
}

bool
http_light_begin(struct http_slot *slot, bool *out_waits)
{
	struct http_server *s = slot->conn->server;
	const struct http_route *r = slot->x.route;
	enum fiber_start how;

	if (!r->light || !r->light(&slot->x, r->arg))
		return false;
	slot->before = arena_mark(&slot->arena);
	how = fibers_start(s->fibers, run, slot);
	stay_awake(s);
	*out_waits = how == FIBER_WAITS;
	if (*out_waits && !uv_is_active((uv_handle_t *)&s->light_tick))
		CHECK(uv_timer_start(&s->light_tick, http_light_tick, CHECK_MS, CHECK_MS) == 0);
	return *out_waits || (how == FIBER_ENDED && is_done(slot));
}

/* After a wait. */
void
http_light_ended(void *arg, void *job)
{
	struct http_server *s = arg;
	struct http_slot *slot = job;

	stay_awake(s);
	if (!is_done(slot)) {
		if (http_pool_submit(s->pool, &slot->job))
			return;
		http_refuse(&slot->x, http_slot_crowded(slot));
	}
	http_conn_worked(slot->conn);
}

void
http_light_tick(uv_timer_t *h)
{
	struct http_server *s = h->data;

	fibers_check_time(s->fibers);
	if (!fibers_waiting(s->fibers))
		CHECK(uv_timer_stop(h) == 0);
}

/* --- descriptors --- */

/* On the stack of the fiber that waits. */
struct watch {
	struct fiber *fiber;
	struct pollfd *fd;
};

/* All that is ready is noted before anybody goes on: who goes on takes its watches away. */
void
http_light_ready(uv_poll_t *h, int failed, int events)
{
	struct http_server *s = h->data;
	struct epoll_event ready[EVENTS];
	int n = failed ? 0 : epoll_wait(s->watched, ready, EVENTS, 0);

	(void)events;
	for (int i = 0; i < n; i++) {
		struct watch *w = ready[i].data.ptr;

		w->fd->revents = (short)(ready[i].events & (POLLIN | POLLOUT | POLLERR | POLLHUP));
		fiber_call_here(w->fiber);
	}
	fibers_go_on(s->fibers);
}

static uint32_t
events_of(const struct pollfd *p)
{
	return (p->events & POLLIN ? (uint32_t)EPOLLIN : 0) | (p->events & POLLOUT ? (uint32_t)EPOLLOUT : 0);
}

static void
wait_on_loop(struct fiber *fiber, struct pollfd *fds, size_t count, int timeout_ms)
{
	struct http_server *s = fiber_owner(fiber);
	struct watch watches[HTTP_WAIT_FIBER];

	CHECK(count <= HTTP_WAIT_FIBER);
	for (size_t i = 0; i < count; i++) {
		watches[i] = (struct watch){ fiber, &fds[i] };
		struct epoll_event e = { .events = events_of(&fds[i]), .data.ptr = &watches[i] };

		fds[i].revents = 0;
		CHECK(epoll_ctl(s->watched, EPOLL_CTL_ADD, fds[i].fd, &e) == 0);
	}
	if (timeout_ms < CHECK_MS)
		CHECK(uv_timer_start(&s->light_tick, http_light_tick, (uint64_t)timeout_ms, CHECK_MS) == 0);
	fiber_wait(fiber, clock_mono_us() + (int64_t)timeout_ms * 1000);
	for (size_t i = 0; i < count; i++)
		CHECK(epoll_ctl(s->watched, EPOLL_CTL_DEL, fds[i].fd, NULL) == 0);
}

void
http_wait(struct fiber *fiber, struct pollfd *fds, size_t count, int timeout_ms)
{
	if (fiber && timeout_ms > 0)
		wait_on_loop(fiber, fds, count, timeout_ms);
	else
		(void)poll(fds, count, timeout_ms);
}
