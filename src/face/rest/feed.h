/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: one thread that sends news to everybody who follows GET /api/v1/events.
 *
 *	feed_follow (a worker) --> follower --news, twice a second or sooner--> stream ... --> closed
 *
 * Whoever follows is identified anew for every look, so a credential that was revoked hears
 * nothing more, and its stream ends. A hint from the hub makes the thread look at once.
 */
#ifndef FACE_REST_FEED_H
#define FACE_REST_FEED_H

#include "http/http.h"

struct feed;

struct feed_options {
	struct db *db;
	const struct keys *keys;
	const struct registry *tools;
	struct toolsets *toolsets; /* what organizations have besides */
	struct event_hub *events;
};

struct feed *feed_start(const struct feed_options *o);

/* Turns the exchange into a stream, with x->cx->credential. E_UNAVAILABLE too many follow, or the database */
status feed_follow(struct http_exchange *x) MUST_USE;

/* Closes all streams and ends the thread; before the server is freed. NULL is fine. */
void feed_stop(struct feed *f);

#endif
