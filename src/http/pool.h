/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: threads that run jobs which may block, and bring them back in batches.
 *
 *	http_pool_submit -> waiting -> a worker runs it -> done -> http_pool_collect
 *
 * A worker whose job will wait for somebody else lends its place (http_pool_lend): where jobs wait, another thread
 * works in its stead, so there are never more than `workers` that work, and those who wait hold nobody up. Threads
 * are made when they are first needed, and kept.
 *
 * One lock guards all of it. The first job that is done after a collect calls
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
	int lends; /* places that can be lent at once */
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

/* On a worker, in its job: it will wait. False: too many do. After true, http_pool_back when it goes on. */
bool http_pool_lend(struct http_pool *p);
void http_pool_back(struct http_pool *p);

size_t http_pool_waiting(struct http_pool *p);

/* Waits for the jobs that are running; the lists must be empty afterwards. */
void http_pool_free(struct http_pool *p);

#endif
