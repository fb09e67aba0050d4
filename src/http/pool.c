/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pool.h"

#include "base/check.h"
#include "base/scoped.h"

#include <stdlib.h>

struct list {
	struct http_job *first, *last;
};

struct http_pool {
	struct http_pool_options o;
	pthread_t *threads;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t more;
	pthread_cond_t needed; /* for spare threads */
	struct list waiting, done;
	size_t count; /* of waiting */
	int threads_made;
	int present; /* threads that work or would: neither lent nor spare */
	int idle;    /* of those */
	int lent;
	int spare, called; /* who came back and is one too many; how many of them were called in again */
	bool waking;	   /* somebody has been called and has not come yet: one call at a time is enough */
	bool ending;
};

static void
push(struct list *l, struct http_job *j)
{
	j->next = NULL;
	if (l->last)
		l->last->next = j;
	else
		l->first = j;
	l->last = j;
}

static struct http_job *
take_all(struct list *l)
{
	struct http_job *first = l->first;

	*l = (struct list){ 0 };
	return first;
}

static struct http_job *
pop(struct list *l)
{
	struct http_job *j = l->first;

	l->first = j->next;
	if (!l->first)
		l->last = NULL;
	return j;
}

static void *work(void *arg);

/* A thread for a place that was lent. Where none can be made, those there are do it. */
static void
bring_in(struct http_pool *p)
{
	if (p->spare > p->called) {
		p->called++;
		CHECK(pthread_cond_signal(&p->needed) == 0);
	} else if (pthread_create(&p->threads[p->threads_made], NULL, work, p) == 0) {
		p->threads_made++;
	} else {
		return;
	}
	p->present++;
}

/*
 * Is there work for one more? An idle worker is to be called, unless one is on its way; that one calls the next if there is still
 * work for it. True: by the caller, when it has given the lock back, which who is called needs at once.
 */
static bool
wants_one(struct http_pool *p)
{
	if (!p->waiting.first)
		return false;
	if (p->idle > 0 && !p->waking) {
		p->waking = true;
		return true;
	}
	if (p->idle == 0 && p->present < p->o.workers && !p->ending)
		bring_in(p);
	return false;
}

static void
call_one(struct http_pool *p)
{
	CHECK(pthread_cond_signal(&p->more) == 0);
}

/* Who came back to a place that is taken waits until one is lent again. */
static void
step_aside(struct http_pool *p)
{
	p->present--;
	p->spare++;
	while (!p->called && !p->ending)
		CHECK(pthread_cond_wait(&p->needed, &p->lock) == 0);
	p->spare--;
	if (p->called)
		p->called--; /* who called has counted it as present */
	else
		p->present++;
}

/* The next job, or NULL when it is over. With the lock held. */
static struct http_job *
next_job(struct http_pool *p)
{
	if (p->present > p->o.workers && !p->ending)
		step_aside(p);
	while (!p->waiting.first && !p->ending) {
		p->idle++;
		CHECK(pthread_cond_wait(&p->more, &p->lock) == 0);
		p->idle--;
		p->waking = false;
	}
	if (!p->waiting.first)
		return NULL;
	p->count--;
	return pop(&p->waiting);
}

/* Runs j, and calls the owner where j is the first one done. Comes and goes with the lock, works without it.
 */
static void
run(struct http_pool *p, struct http_job *j)
{
	bool first, calls = wants_one(p);

	CHECK(pthread_mutex_unlock(&p->lock) == 0);
	if (calls)
		call_one(p);
	p->o.run(j);
	CHECK(pthread_mutex_lock(&p->lock) == 0);
	first = !p->done.first;
	push(&p->done, j);
	if (!first)
		return;
	/* who is called needs the lock at once */
	CHECK(pthread_mutex_unlock(&p->lock) == 0);
	p->o.wake(p->o.arg);
	CHECK(pthread_mutex_lock(&p->lock) == 0);
}

static void *
work(void *arg)
{
	struct http_pool *p = arg;
	scoped_lock held = lock(&p->lock);
	struct http_job *j;

	while ((j = next_job(p)))
		run(p, j);
	return NULL;
}

struct http_pool *
http_pool_new(const struct http_pool_options *o)
{
	struct http_pool *p = calloc(1, sizeof(*p));

	CHECK(p && o->workers > 0 && o->lends >= 0);
	p->o = *o;
	p->threads = calloc((size_t)o->workers + (size_t)o->lends, sizeof(*p->threads));
	CHECK(p->threads);
	CHECK(pthread_mutex_init(&p->lock, NULL) == 0 && pthread_cond_init(&p->more, NULL) == 0 &&
		pthread_cond_init(&p->needed, NULL) == 0);
	p->present = p->threads_made = o->workers;
	for (int i = 0; i < o->workers; i++)
		CHECK(pthread_create(&p->threads[i], NULL, work, p) == 0);
	return p;
}

bool
http_pool_submit(struct http_pool *p, struct http_job *j)
{
	bool taken, calls = false;

	CHECK(pthread_mutex_lock(&p->lock) == 0);
	taken = p->count < p->o.max_waiting;
	if (taken) {
		push(&p->waiting, j);
		p->count++;
		calls = wants_one(p);
	}
	CHECK(pthread_mutex_unlock(&p->lock) == 0);
	if (calls)
		call_one(p);
	return taken;
}

struct http_job *
http_pool_collect(struct http_pool *p)
{
	scoped_lock held = lock(&p->lock);

	return take_all(&p->done);
}

struct http_job *
http_pool_cancel(struct http_pool *p)
{
	scoped_lock held = lock(&p->lock);

	p->count = 0;
	return take_all(&p->waiting);
}

bool
http_pool_lend(struct http_pool *p)
{
	scoped_lock held = lock(&p->lock);

	if (p->lent == p->o.lends)
		return false;
	p->lent++;
	p->present--;
	if (wants_one(p))
		call_one(p);
	return true;
}

void
http_pool_back(struct http_pool *p)
{
	scoped_lock held = lock(&p->lock);

	p->lent--;
	p->present++;
}

size_t
http_pool_waiting(struct http_pool *p)
{
	scoped_lock held = lock(&p->lock);

	return p->count;
}

static void
end(struct http_pool *p)
{
	scoped_lock held = lock(&p->lock);

	p->ending = true;
	CHECK(pthread_cond_broadcast(&p->more) == 0 && pthread_cond_broadcast(&p->needed) == 0);
}

/* No thread is made once the end has begun, but a job that runs may have lent its place just before. */
static int
made(struct http_pool *p)
{
	scoped_lock held = lock(&p->lock);

	return p->threads_made;
}

void
http_pool_free(struct http_pool *p)
{
	end(p);
	for (int i = 0; i < made(p); i++)
		CHECK(pthread_join(p->threads[i], NULL) == 0);
	CHECK(!p->waiting.first && !p->done.first);
	CHECK(pthread_cond_destroy(&p->more) == 0 && pthread_cond_destroy(&p->needed) == 0 &&
		pthread_mutex_destroy(&p->lock) == 0);
	free(p->threads);
	free(p);
}
