/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events: reads an event stream (Server-Sent Events) in whatever pieces it comes. Comments, names of events and
 * unknown fields are passed over; data of several lines is joined by line breaks.
 */
#ifndef HTTP_CLIENT_EVENTS_H
#define HTTP_CLIENT_EVENTS_H

#include "base/buf.h"

struct events {
	struct buf line, data;
	struct buf id;	  /* where to go on: the last one that came */
	int64_t retry_ms; /* after how long; -1: not said */
	bool has_data, after_cr;
};

/* One event, whole; data may be empty, and is the reader's until the function returns. */
typedef void events_fn(void *arg, str data);

/* max: of a line, and of an event's data; an id has a hundredth of it at most. */
void events_init(struct events *e, struct arena *a, size_t max);

/* False: larger than max; the stream is not worth reading on. */
bool events_feed(struct events *e, str bytes, events_fn *fn, void *arg);

#endif
