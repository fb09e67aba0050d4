/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known: who a token is, kept for as long as nothing in its organization's rights has changed.
 *
 *	known_find -> the epoch is read, after the lock -> equal: it is the caller of now
 *	                                               `-> not: caller_enter reads all of it, known_keep
 *
 * The epoch (table rights_epoch) is drawn anew by triggers whenever a row changes that a caller is made of, so a
 * right that was taken away is gone at once on every server (ID-6): what is saved is the query, not the
 * question. Only tokens that were good when they were read. Whether one has expired, may still vote and may come
 * from that address is looked at whenever it is used (caller.c). Any thread.
 */
#ifndef CORE_KNOWN_KNOWN_H
#define CORE_KNOWN_KNOWN_H

#include "core/ident/caller.h"

struct known;

/* One per process, in cx->known. */
struct known *known_new(void);
void known_free(struct known *k); /* NULL is fine */

/* A copy in the arena, as of out->epoch. False: not known, or there is no room for it. */
bool known_find(struct known *k, struct arena *a, const struct credential *c, struct caller *out);

/* Keeps a copy of what was read after caller->epoch was; in place of what is there of this credential. */
void known_keep(struct known *k, const struct credential *c, const struct caller *caller);

#endif
