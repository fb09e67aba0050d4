/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event: "something happened, look again": a hint for waiters and streams, never the truth.
 *
 * event_emit inside a transaction sends after its commit. Metadata only, never
 * arguments or results (TL-10). Whoever waits looks at the database again, also
 * without a hint every LIMIT_EVENT_POLL_US: another server's hint may come late or not at all.
 */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include "base/ctx.h"

struct event_hub;
struct slots;

struct event {
	str org_id, type, id; /* "proposal.pending", the proposal's id */
	str data;	      /* a small JSON object, metadata only */
};

/* waiters: how many may wait at once, so that they never hold every worker. */
struct event_hub *event_hub_new(int waiters);
void event_hub_free(struct event_hub *h);

/* Who holds how many streams and waits (core/slot). */
struct slots *event_slots(struct event_hub *h);

/* Inside tx_run: published after the commit, not at all without it. Nothing where there is no hub. */
void event_emit(struct ctx *cx, const struct event *e);

/* At once: for hints that came from another server. */
void event_publish(struct event_hub *h, const struct event *e);

/* fn is called for every event, on the thread that published it, under the hub's lock: it must be quick. */
typedef void event_fn(void *arg, const struct event *e);
uint64_t event_listen(struct event_hub *h, event_fn *fn, void *arg);
void event_forget(struct event_hub *h, uint64_t ticket);

/* A place to wait: false where there is none left, or no time; then one answers with what there is. */
bool event_wait_begin(struct event_hub *h);
void event_wait_end(struct event_hub *h);

/*
 * The server stops: who waits answers with what there is, at once, and nobody begins to. Streams end in their own
 * way.
 */
void event_end(struct event_hub *h);
bool event_ended(struct event_hub *h);

/*
 * Waits until there were more events than seen (event_count before one looked), at most most_us. False: the time
 * was over first.
 */
uint64_t event_count(struct event_hub *h);
bool event_wait(struct event_hub *h, uint64_t seen, int64_t most_us);

/*
 * For a thread that has nobody to tell: waits until it was called more often than seen (event_calls before it
 * looked), at most most_us, and sleeps through events. Being woken by each would cost whoever makes them more
 * than the event does. event_call wakes everybody: somebody came, or it is time to end.
 */
uint64_t event_calls(struct event_hub *h);
bool event_rest(struct event_hub *h, uint64_t seen, int64_t most_us);
void event_call(struct event_hub *h);

#endif
