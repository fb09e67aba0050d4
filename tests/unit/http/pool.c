/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that lend their place while they wait for somebody else. */
#include "http/pool.h"
#include "unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

struct world {
	struct http_pool *pool;
	sem_t go, waits, done;
	atomic_int ran, refused;
};
static struct world w;

struct job {
	struct http_job job;
	void (*does)(void);
};

static void
run(struct http_job *j)
{
	((struct job *)j)->does();
	atomic_fetch_add(&w.ran, 1);
	(void)sem_post(&w.done);
}

static void
wake(void *arg)
{
	(void)arg;
}

static void
wait_for(sem_t *s)
{
	while (sem_wait(s) != 0)
		;
}

static void
nothing(void)
{
}

static void
wait_and_lend(void)
{
	if (!http_pool_lend(w.pool)) {
		atomic_fetch_add(&w.refused, 1);
		return;
	}
	(void)sem_post(&w.waits);
	wait_for(&w.go);
	http_pool_back(w.pool);
}

static void
lend_for_a_moment(void)
{
	if (http_pool_lend(w.pool))
		http_pool_back(w.pool);
}

static void
begin(int workers, int lends)
{
	assert_int_equal(sem_init(&w.go, 0, 0) | sem_init(&w.waits, 0, 0) | sem_init(&w.done, 0, 0), 0);
	atomic_store(&w.ran, 0);
	atomic_store(&w.refused, 0);
	w.pool = http_pool_new(&(struct http_pool_options){
		.workers = workers, .lends = lends, .max_waiting = 10000, .run = run, .wake = wake });
}

/* Takes `count` jobs that are done. */
static void
collect(int count)
{
	while (count > 0)
		for (struct http_job *j = http_pool_collect(w.pool); j; j = j->next)
			count--;
}

static void
end(int left)
{
	collect(left);
	http_pool_free(w.pool);
}

static void
submit(struct job *j, void (*does)(void))
{
	j->does = does;
	assert_true(http_pool_submit(w.pool, &j->job));
}

static void
who_waits_for_others_holds_nobody_up(void **state)
{
	struct job slow[3], quick;

	(void)state;
	begin(1, 3);
	for (int i = 0; i < 3; i++)
		submit(&slow[i], wait_and_lend);
	for (int i = 0; i < 3; i++)
		wait_for(&w.waits); /* all three wait, with one worker */
	submit(&quick, nothing);
	wait_for(&w.done);
	assert_int_equal(atomic_load(&w.ran), 1);
	for (int i = 0; i < 3; i++)
		(void)sem_post(&w.go);
	for (int i = 0; i < 3; i++)
		wait_for(&w.done);
	end(4);
}

static void
there_are_only_so_many_places_to_lend(void **state)
{
	struct job slow[2], third, quick;

	(void)state;
	begin(2, 2);
	for (int i = 0; i < 2; i++)
		submit(&slow[i], wait_and_lend);
	for (int i = 0; i < 2; i++)
		wait_for(&w.waits);
	submit(&third, wait_and_lend);
	wait_for(&w.done);
	assert_int_equal(atomic_load(&w.refused), 1);
	submit(&quick, nothing);
	wait_for(&w.done);
	for (int i = 0; i < 2; i++)
		(void)sem_post(&w.go);
	for (int i = 0; i < 2; i++)
		wait_for(&w.done);
	end(4);
}

static void
places_are_lent_and_given_back_many_times(void **state)
{
	static struct job jobs[4000];

	(void)state;
	begin(2, 3);
	for (size_t i = 0; i < 4000; i++)
		submit(&jobs[i], i % 3 ? lend_for_a_moment : nothing);
	for (size_t i = 0; i < 4000; i++)
		wait_for(&w.done);
	assert_int_equal(atomic_load(&w.ran), 4000);
	end(4000);
}

/* Threads that stepped aside come back for the next crowd, and end with the pool. */
static void
who_stepped_aside_is_called_again(void **state)
{
	struct job slow[4], quick;

	(void)state;
	begin(1, 4);
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 4; i++)
			submit(&slow[i], wait_and_lend);
		for (int i = 0; i < 4; i++)
			wait_for(&w.waits);
		submit(&quick, nothing);
		wait_for(&w.done);
		for (int i = 0; i < 4; i++)
			(void)sem_post(&w.go);
		for (int i = 0; i < 4; i++)
			wait_for(&w.done);
		collect(5);
	}
	assert_int_equal(atomic_load(&w.refused), 0);
	end(0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_for_others_holds_nobody_up),
		cmocka_unit_test(there_are_only_so_many_places_to_lend),
		cmocka_unit_test(places_are_lent_and_given_back_many_times),
		cmocka_unit_test(who_stepped_aside_is_called_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
