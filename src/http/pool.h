/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: threads that run jobs which may block, and bring them back in batches.
 *
 *	http_pool_submit -> waiting -> a worker runs it -> done -> http_pool_collect
 *
 * One lock guards both lists. The first job that is done after a collect calls
 * `wake`; those after it only join the list, so that a busy pool wakes its
 * owner once for many.
 */
#ifndef HTTP_POOL_H
#define HTTP_POOL_H

#include "base/status.h"

#include <stddef.h>

struct http_job {
	struct http_job *next;
};

struct http_pool;

struct http_pool_options {
	int workers;
	size_t max_waiting;
	void (*run)(struct http_job *j); /* on a worker */
	void (*wake)(void *arg);	 /* on a worker: something is done. Must not block. */
	void *arg;
};

struct http_pool *http_pool_new(const struct http_pool_options *o);

/* False: too many are waiting. */
bool http_pool_submit(struct http_pool *p, struct http_job *j);

/* Everything that is done, oldest first. */
struct http_job *http_pool_collect(struct http_pool *p);

/* Jobs that no worker has begun, oldest first; they will not run. */
struct http_job *http_pool_cancel(struct http_pool *p);

size_t http_pool_waiting(struct http_pool *p);

/* Waits for the jobs that are running; the lists must be empty afterwards. */
void http_pool_free(struct http_pool *p);

#endif
