/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recall: callers that were identified a moment ago, so that an evaluation needs no database.
 *
 *	recall_begin -> caller_enter -> recall_keep ... recall_find -> recall_release
 *	                                        `--a second, or a change of rights--> forgotten
 *
 * Only tokens, and only for what reads flags (docs/decisions/0010): who keeps one has found that it may. Everything
 * else asks the database each time. A change of rights that this process commits forgets the organization's callers at once; one that
 * another server commits acts within LIMIT_RECALL_US. Expiry and the addresses a token may come from are looked
 * at whenever it is used. Any thread.
 */
#ifndef CORE_IDENT_RECALL_H
#define CORE_IDENT_RECALL_H

#include "core/ident/caller.h"

struct recall;

/* One per process, in cx->recall. per_second: how often a token may evaluate here; 0: no limit. */
struct recall *recall_new(int64_t per_second);
void recall_free(struct recall *r); /* NULL is fine; every caller has been released */

/* Before the read that identifies a caller: what it finds is as old as this. */
struct recall_mark {
	int64_t at_us;
	uint64_t changes;
};
struct recall_mark recall_begin(struct recall *r);

/* Keeps a copy, without the organization's settings. Not of a session, nor where rights changed since the mark. */
void
recall_keep(struct recall *r, struct recall_mark m, const struct credential *c, const struct caller *caller);

/*
 * Memory only, for the event loop: NULL where the caller is not known any more, or not from this address. Half
 * of its time over, one who asks gets NULL, too: by going to the database they renew it for the others.
 */
const struct caller *recall_find(struct recall *r, const struct credential *c);
void recall_release(const struct caller *c);

/* This credential is not good, or not good enough, any more: whoever finds out says so. */
void recall_drop(struct recall *r, const struct credential *c);

/* The rights of an organization have changed. */
void recall_forget(struct recall *r, str org_id);

/* Counts one evaluation of a token; a session is never too fast. E_RATE_LIMITED with Retry-After */
status recall_count(struct ctx *cx, const struct caller *c) MUST_USE;

#endif
