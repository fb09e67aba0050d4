/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reservoir: a sample of the contexts that were evaluated of late, of environments that opted in, so that a card can
 * say how many of them a change would answer otherwise (survey.h).
 *
 *	evaluation --reservoir_offer--> ring in memory --a thread, in batches--> flag_sample, encrypted
 *	                 `-- dropped: not sampled, too large, the ring is full or in use
 *
 * A target has one place, its keyed hash, so it counts once however often it asks, with its last context; the
 * LIMIT_RESERVOIR smallest of these are kept (a bottom-k sample): a fair choice of all targets that were seen in
 * LIMIT_SAMPLE_AGE_US, the same on every server, without a count that servers would have to share. Encrypted under a key per environment, which is
 * wrapped under the key file's and destroyed with the setting. Erasable by target. Nothing here gives a
 * context back to anybody but the survey. Off unless somebody with access.environment.write says otherwise.
 */
#ifndef DOMAIN_FLAG_RESERVOIR_RESERVOIR_H
#define DOMAIN_FLAG_RESERVOIR_RESERVOIR_H

#include "core/op.h"

struct reservoir;

/* One per process, in cx->reservoir. base: what the ctx of its thread begins as. */
struct reservoir *reservoir_new(const struct ctx *base);
void reservoir_free(struct reservoir *r); /* NULL is fine; what waits is dropped */

/*
 * A context that was evaluated. From any thread, the event loop too: never waits, keeps no part of it unless it
 * is drawn, and then a copy of the fields that are to be kept. r may be NULL.
 */
void reservoir_offer(struct reservoir *r, str environment_id, const struct json *context);

/* Writes what waits, and reads the settings again; outside a transaction. For its thread, and tests. */
status reservoir_flush(struct reservoir *r, struct ctx *cx) MUST_USE;

extern const struct op reservoir_ops[];

#endif
