/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figures: what has been answered and how long it took, for /metrics.
 *
 *	figures_init -> figures_count (each answer) ... figures_write
 *
 * Counting is a few relaxed additions; any thread may read while another counts.
 */
#ifndef APP_FIGURES_H
#define APP_FIGURES_H

#include "base/buf.h"
#include "http/http.h"

#include <stdatomic.h>

#define FIGURE_BUCKETS 10u

/* The answers of one route. */
struct figure {
	atomic_int_fast64_t answers[6];		     /* by status / 100 */
	atomic_int_fast64_t buckets[FIGURE_BUCKETS]; /* how many took at most so long; the last: longer */
	atomic_int_fast64_t total_us;
};

struct figures {
	const struct http_route *routes;
	size_t count;
	struct figure *by_route; /* one more than routes: what had no route */
};

/* Both the routes and the arena outlive the figures. */
void figures_init(struct figures *f, struct arena *a, const struct http_route *routes, size_t count);

void figures_count(struct figures *f, const struct http_exchange *x, int64_t duration_us);

/* In the text format of Prometheus, version 0.0.4. */
void figures_write(const struct figures *f, struct buf *b);

#endif
