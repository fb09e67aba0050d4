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
	struct list waiting, done;
	size_t count; /* of waiting */
	int idle;
	bool waking; /* somebody has been called and has not come yet: one call at a time is enough */
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

/* Calls one idle worker, unless one is on its way; that one calls the next if there is still work for it. */
static void
call_one(struct http_pool *p)
{
	if (p->waiting.first && p->idle > 0 && !p->waking) {
		p->waking = true;
		CHECK(pthread_cond_signal(&p->more) == 0);
	}
}

/* The next job, or NULL when it is over. With the lock held. */
static struct http_job *
next_job(struct http_pool *p)
{
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
	bool first;

	call_one(p);
	CHECK(pthread_mutex_unlock(&p->lock) == 0);
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

	CHECK(p && o->workers > 0);
	p->o = *o;
	p->threads = calloc((size_t)o->workers, sizeof(*p->threads));
	CHECK(p->threads);
	CHECK(pthread_mutex_init(&p->lock, NULL) == 0 && pthread_cond_init(&p->more, NULL) == 0);
	for (int i = 0; i < o->workers; i++)
		CHECK(pthread_create(&p->threads[i], NULL, work, p) == 0);
	return p;
}

bool
http_pool_submit(struct http_pool *p, struct http_job *j)
{
	scoped_lock held = lock(&p->lock);

	if (p->count >= p->o.max_waiting)
		return false;
	push(&p->waiting, j);
	p->count++;
	call_one(p);
	return true;
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
	CHECK(pthread_cond_broadcast(&p->more) == 0);
}

void
http_pool_free(struct http_pool *p)
{
	end(p);
	for (int i = 0; i < p->o.workers; i++)
		CHECK(pthread_join(p->threads[i], NULL) == 0);
	CHECK(!p->waiting.first && !p->done.first);
	CHECK(pthread_cond_destroy(&p->more) == 0 && pthread_mutex_destroy(&p->lock) == 0);
	free(p->threads);
	free(p);
}
