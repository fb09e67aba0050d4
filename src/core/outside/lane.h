/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane: the way to one other system (an upstream server, a connection), so that who is slow or broken holds up
 * nobody else.
 *
 *	lane_enter --> [the worker's place is lent: another takes the next request] --> lane_leave
 *
 * At most LIMIT_LANE_CALLS are in a lane at once, and some more wait for a place; a call that comes then is refused at once.
 * One organization has at most LIMIT_LANE_ORG_CALLS calls in all its lanes. A lane that no call is in makes room for
 * another destination, whatever it remembers.
 * The breaker: after LIMIT_LANE_FAILURES in a row that did not answer, a lane is open (refuses at once) for
 * LIMIT_LANE_REST_US, then lets one through to try; its answer closes it. Per process: what it protects is this
 * process's threads. Any thread.
 */
#ifndef CORE_OUTSIDE_LANE_H
#define CORE_OUTSIDE_LANE_H

#include "base/ctx.h"

struct lanes;
struct lanes *lanes_new(void);
void lanes_free(struct lanes *l); /* NULL is fine; nobody is in one */

/*
 * Outside of any transaction. E_BUSY  too many already wait for it; E_UNAVAILABLE  it has not answered for a while: not
 * asked (nothing was sent in either case)
 */
status lane_enter(struct ctx *cx, str org, str lane) MUST_USE;
void lane_leave(struct ctx *cx, str lane, bool answered);

/* For people: "closed" (all is well), "open", "trying"; and how many are in it. */
struct lane_state {
	const char *breaker;
	int64_t calls, waiting, failures; /* now; now, for a place; in a row */
	int64_t last_us;		  /* of the last answer, as far as this process remembers; 0: none */
	int64_t open_us;		  /* since when it is not closed; 0: it is */
};
struct lane_state lane_look(struct ctx *cx, str lane);

/* Of all lanes of this process, for metrics. */
struct lane_stats {
	int64_t calls, waiting; /* now */
	int64_t busy, broken;	/* lanes that a call is in or waits for; lanes whose breaker is not closed */
	int64_t refused;	/* calls so far that found no place or an open breaker */
};
struct lane_stats lane_stats(struct lanes *l);

#endif
