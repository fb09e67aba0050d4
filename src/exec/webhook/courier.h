/* SPDX-License-Identifier: Apache-2.0 */
/*
 * courier: tells connections of mode events what has happened (TL-10), as CloudEvents 1.0 in JSON, signed.
 *
 *	[table delivery, written with what it tells] --take (lease)--> one request --2xx--> gone
 *	                                                   ^                `-- else --> later, and later again --> dead
 *	                                                   `---------- an admin tries again ----------------------'
 *
 * At least once: who gets one twice knows it by its id. Metadata only. A thread of its own with many requests under way
 * and few to one place, so that who is slow holds up neither workers nor other receivers. Several servers share the
 * work: each takes what nobody has.
 */
#ifndef EXEC_WEBHOOK_COURIER_H
#define EXEC_WEBHOOK_COURIER_H

#include "core/op.h"

struct courier;
struct courier_options {
	struct db *db;
	const struct keys *keys;
};

struct courier *courier_start(const struct courier_options *o);
void courier_stop(struct courier *c); /* NULL is fine; what is under way is told again by the next server */

/* When to try again after so many tries (at least 1), in microseconds from now. */
int64_t courier_pause_us(int64_t tries);

/* For the sweeper: what could not be told to anybody for a month is forgotten. */
status courier_sweep(struct ctx *cx) MUST_USE;

extern const struct op delivery_ops[];

#endif
