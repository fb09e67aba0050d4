/* SPDX-License-Identifier: Apache-2.0 */
/*
 * news: what has happened in an organization since a moment, as far as the caller may see it (TL-10).
 *
 * Read from the database, so that every server can tell it, whichever server it happened on. Times are those
 * of transactions: one that commits late may appear late, so whoever follows looks a little back
 * (NEWS_BACK_US) and drops what they have had, by key. Metadata only.
 */
#ifndef CORE_PROPOSAL_NEWS_H
#define CORE_PROPOSAL_NEWS_H

#include "core/event.h"

#define NEWS_BACK_US INT64_C(5000000)

struct news {
	str key; /* the same news has the same key */
	struct event event;
	int64_t at;
};

/* Inside db_read with cx->caller, in the order of each kind's time. *out_newest: look from here the next
 * time.
 */
status news_since(struct ctx *cx, int64_t since_us, struct news **out, size_t *out_count, int64_t *out_next)
	MUST_USE;

#endif
