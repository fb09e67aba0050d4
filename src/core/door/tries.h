/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tries: how often somebody may try a password (ID-8).
 *
 * Counted are tries from one network (an IPv4 address, the /64 of an IPv6 one) for one e-mail address, from one network for any,
 * and for one e-mail address from anywhere. Whoever guesses could so lock a person out; so a browser in which that person has signed
 * in before has a cookie of ours, and is counted by that alone.
 */
#ifndef CORE_DOOR_TRIES_H
#define CORE_DOOR_TRIES_H

#include "base/ctx.h"

#define TRIES_COOKIE   "__Host-countersign_known"
#define TRIES_COUNTERS 3

struct tries_counter {
	str who; /* a hash: what is counted */
	int64_t most, tries, since;
};

struct tries {
	struct tries_counter counters[TRIES_COUNTERS];
	size_t count;
	int64_t now_us;
};

/* Which counters there are for this e-mail address (in lower case) and cx->credential. Outside a transaction. */
void tries_begin(struct ctx *cx, str email, struct tries *out);

/* Inside tx_run: one try more, counted before it is made, so that many at once are still only so many. */
status tries_count(struct ctx *cx, struct tries *t) MUST_USE;

/* Was this the first try too many? Then it is worth a record. */
bool tries_just_over(const struct tries *t);

/* E_RATE_LIMITED with Retry-After, where there were too many. */
status tries_check(struct ctx *cx, const struct tries *t) MUST_USE;

/* Inside tx_run: it was the right password. */
status tries_forget(struct ctx *cx, const struct tries *t) MUST_USE;

/* Sets the cookie of a browser in which the person of that address has signed in. */
void tries_know(struct ctx *cx, str email);

#endif
