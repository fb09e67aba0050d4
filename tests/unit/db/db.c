/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions and reads, on every engine. */
#include "tests/unit/db/engines.h"

#include "base/clock.h"
#include "base/log.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* --- commit and rollback --- */

static void
a_commit_outlives_the_connection(void **state)
{
	struct world *w = *state;
	int64_t id = 7;

	assert_status(tx_run(&w->cx, add_item, &id), OK);
	world_close(w);
	world_open(w);
	assert_int_equal(count_items(&w->cx), 1);
}

static status
add_two_and_fail(struct ctx *cx, void *arg)
{
	int64_t id = 1;

	(void)arg;
	TRY(add_item(cx, &id));
	id = 2;
	TRY(add_item(cx, &id));
	return fail(cx, E_CONFLICT, "not like this");
}

static void
a_function_that_fails_leaves_nothing(void **state)
{
	struct world *w = *state;

	assert_status(tx_run(&w->cx, add_two_and_fail, NULL), E_CONFLICT);
	assert_str(ctx_message(&w->cx, E_CONFLICT), "not like this");
	assert_int_equal(count_items(&w->cx), 0);
}

static status
swallow_an_error(struct ctx *cx, void *arg)
{
	int64_t id = 1;

	(void)arg;
	TRY(add_item(cx, &id));
	assert_status(add_item(cx, &id), E_EXISTS);
	id = 2;
	assert_status(add_item(cx, &id), E_EXISTS); /* nothing runs after it */
	return OK;
}

static void
a_failed_statement_cannot_be_swallowed(void **state)
{
	struct world *w = *state;

	assert_status(tx_run(&w->cx, swallow_an_error, NULL), E_EXISTS);
	assert_int_equal(count_items(&w->cx), 0);
}

/* --- tx_try --- */

static void
count_call(void *arg)
{
	++*(int *)arg;
}

static status
add_with_hook(struct ctx *cx, void *arg)
{
	int64_t id = 100;

	TRY(add_item(cx, &id));
	tx_after_commit(cx, count_call, arg);
	return OK;
}

static status
add_with_hook_and_fail(struct ctx *cx, void *arg)
{
	int64_t id = 101;

	TRY(add_with_hook(cx, arg));
	TRY(add_item(cx, &id));
	return add_item(cx, &id);
}

static status
try_inside_try(struct ctx *cx, void *arg)
{
	int64_t id = 102;
	struct number n;

	TRY(add_item(cx, &id));
	assert_status(tx_try(cx, add_with_hook_and_fail, arg), E_EXISTS);
	TRY(db_one(cx, SQL_ITEM_COUNT, number_row, &n));
	assert_int_equal(n.n, 2); /* ours and the one before */
	return fail(cx, E_CONFLICT, "seen enough");
}

static status
try_things(struct ctx *cx, void *arg)
{
	int64_t id = 1;
	struct number n;

	TRY(add_item(cx, &id));
	assert_status(tx_try(cx, add_with_hook, arg), OK);
	assert_status(tx_try(cx, add_with_hook_and_fail, arg), E_EXISTS);
	assert_status(tx_try(cx, try_inside_try, arg), E_CONFLICT);
	TRY(db_one(cx, SQL_ITEM_COUNT, number_row, &n));
	assert_int_equal(n.n, 1);
	id = 2;
	return add_item(cx, &id);
}

static void
a_try_leaves_nothing_whatever_it_says(void **state)
{
	struct world *w = *state;
	int calls = 0;

	assert_status(tx_run(&w->cx, try_things, &calls), OK);
	assert_int_equal(count_items(&w->cx), 2);
	assert_int_equal(calls, 0);
}

/* --- tx_nest --- */

static status
nest_things(struct ctx *cx, void *arg)
{
	int64_t id = 1;
	struct number n;

	TRY(add_item(cx, &id));
	assert_status(tx_nest(cx, add_with_hook, arg), OK);
	assert_status(tx_nest(cx, add_with_hook_and_fail, arg), E_EXISTS);
	TRY(db_one(cx, SQL_ITEM_COUNT, number_row, &n));
	assert_int_equal(n.n, 2);
	return OK;
}

static void
a_nest_stays_where_it_says_ok_and_its_failure_spares_the_rest(void **state)
{
	struct world *w = *state;
	int calls = 0;

	assert_status(tx_run(&w->cx, nest_things, &calls), OK);
	assert_int_equal(count_items(&w->cx), 2);
	assert_int_equal(calls, 1); /* the hook of what stayed */
}

static status
wait_for_nothing(struct ctx *cx, void *arg)
{
	int64_t *times = arg;

	TRY(tx_now_us(cx, &times[0]));
	TRY(tx_now_us(cx, &times[1]));
	while (times[2] <= times[0]) { /* a microsecond is over soon */
		tx_waited(cx);
		TRY(tx_now_us(cx, &times[2]));
	}
	return OK;
}

static void
the_time_is_read_again_after_a_wait_only(void **state)
{
	struct world *w = *state;
	int64_t times[3] = { 0 };

	assert_status(tx_run(&w->cx, wait_for_nothing, times), OK);
	assert_true(times[0] == times[1]);
	assert_true(times[2] > times[0]);
}

static status
add_100_later(struct ctx *cx, void *arg)
{
	int64_t id = 100;

	tx_after_commit(cx, count_call, arg);
	return db_later(cx, SQL_ITEM_ADD, INT(id), NIL, NIL, INT(0), NIL, NIL);
}

static status
try_later(struct ctx *cx, void *arg)
{
	int64_t id = 1;
	struct number n;

	TRY(tx_try_later(cx, add_100_later, arg));
	TRY(add_item(cx, &id));
	TRY(tx_try_later(cx, add_100_later, arg));
	TRY(db_one(cx, SQL_ITEM_COUNT, number_row, &n));
	assert_int_equal(n.n, 1);
	assert_status(
		tx_try_later(cx, add_with_hook_and_fail, arg), E_EXISTS); /* its own statement said it */
	return OK;
}

static status
try_what_fails_later(struct ctx *cx, void *arg)
{
	int64_t id = 100, other = 2;

	TRY(add_item(cx, &other));
	TRY(add_item(cx, &id));
	TRY(tx_try_later(cx, add_100_later, arg)); /* one engine knows it here, the other at COMMIT */
	return OK;
}

static status
nest_what_fails_later(struct ctx *cx, void *arg)
{
	int64_t id = 3;

	assert_status(tx_nest(cx, try_what_fails_later, arg), E_EXISTS);
	ctx_clear(cx);
	return add_item(cx, &id);
}

static void
a_try_that_is_not_waited_for_leaves_nothing_or_fails_the_transaction(void **state)
{
	struct world *w = *state;
	int calls = 0;

	assert_status(tx_run(&w->cx, try_later, &calls), OK);
	assert_int_equal(count_items(&w->cx), 1);
	assert_status(tx_run(&w->cx, try_what_fails_later, &calls), E_EXISTS);
	assert_int_equal(count_items(&w->cx), 1);
	assert_status(tx_run(&w->cx, nest_what_fails_later, &calls), OK);
	assert_int_equal(count_items(&w->cx), 2); /* nothing of the part that failed */
	assert_int_equal(calls, 0);
}

static status
try_and_swallow(struct ctx *cx, void *arg)
{
	return tx_try(cx, swallow_an_error, arg);
}

static void
a_try_cannot_swallow_a_failed_statement_either(void **state)
{
	struct world *w = *state;

	assert_status(tx_run(&w->cx, try_and_swallow, NULL), E_EXISTS);
	assert_int_equal(count_items(&w->cx), 0);
}

static status
try_after_error(struct ctx *cx, void *arg)
{
	int64_t id = 1, now_us = 5;

	TRY(add_item(cx, &id));
	assert_status(add_item(cx, &id), E_EXISTS);
	assert_status(tx_try(cx, add_with_hook, arg), E_EXISTS);
	assert_status(tx_now_us(cx, &now_us), E_EXISTS);
	assert_int_equal(now_us, 5);
	return OK;
}

static void
nothing_is_tried_after_a_failed_statement(void **state)
{
	struct world *w = *state;
	int calls = 0;

	assert_status(tx_run(&w->cx, try_after_error, &calls), E_EXISTS);
	assert_int_equal(calls, 0);
}

/* --- constraints --- */

static status
delete_one(struct ctx *cx, void *arg)
{
	(void)arg;
	return db_run(cx, SQL_ITEM_DELETE, INT(1));
}

static void
broken_constraints_have_their_status(void **state)
{
	struct world *w = *state;
	struct row first = { { INT(1), TEXT(STR("one")), NIL, INT(0), NIL, NIL } };
	struct row same_key = { { INT(1), NIL, NIL, INT(0), NIL, NIL } };
	struct row same_name = { { INT(2), TEXT(STR("one")), NIL, INT(0), NIL, NIL } };
	struct row orphan = { { INT(3), NIL, INT(99), INT(0), NIL, NIL } };
	struct row child = { { INT(4), NIL, INT(1), INT(0), NIL, NIL } };
	struct row negative = { { INT(5), NIL, NIL, INT(-1), NIL, NIL } };
	struct row missing = { { INT(6), NIL, NIL, NIL, NIL, NIL } };

	assert_status(tx_run(&w->cx, add_row, &first), OK);
	assert_status(tx_run(&w->cx, add_row, &same_key), E_EXISTS);
	assert_status(tx_run(&w->cx, add_row, &same_name), E_EXISTS);
	assert_status(tx_run(&w->cx, add_row, &orphan), E_REFERENCED);
	assert_status(tx_run(&w->cx, add_row, &child), OK);
	assert_status(tx_run(&w->cx, delete_one, NULL), E_REFERENCED);
	assert_status(tx_run(&w->cx, add_row, &negative), E_INVALID);
	assert_status(tx_run(&w->cx, add_row, &missing), E_INVALID);
	assert_int_equal(count_items(&w->cx), 2);
}

static void
text_that_one_engine_would_refuse_is_refused_by_all(void **state)
{
	struct world *w = *state;
	struct row nul = { { INT(1), TEXT(((str){ "a\0b", 3 })), NIL, INT(0), NIL, NIL } };
	struct row broken = { { INT(1), TEXT(STR("\xc3(")), NIL, INT(0), NIL, NIL } };

	assert_status(tx_run(&w->cx, add_row, &nul), E_INVALID);
	assert_status(tx_run(&w->cx, add_row, &broken), E_INVALID);
	assert_int_equal(count_items(&w->cx), 0);
}

/* --- hooks --- */

struct trail {
	struct world *w;
	pthread_t thread;
	char seen[16];
	size_t length;
	int64_t rows;
};

static void
note_a(void *arg)
{
	struct trail *t = arg;

	t->seen[t->length++] = 'a';
	t->rows = count_items(&t->w->cx); /* in a read of its own: it is committed and we are outside */
	assert_true(pthread_equal(t->thread, pthread_self()));
}

static void
note_b(void *arg)
{
	struct trail *t = arg;

	t->seen[t->length++] = 'b';
}

static status
add_with_trail(struct ctx *cx, void *arg)
{
	int64_t id = 1;

	tx_after_commit(cx, note_a, arg);
	TRY(add_item(cx, &id));
	tx_after_commit(cx, note_b, arg);
	return OK;
}

static void
hooks_run_once_in_order_in_our_thread_after_commit(void **state)
{
	struct world *w = *state;
	struct trail t = { .w = w, .thread = pthread_self() };

	assert_status(tx_run(&w->cx, add_with_trail, &t), OK);
	assert_string_equal(t.seen, "ab");
	assert_int_equal(t.rows, 1);
	assert_status(tx_run(&w->cx, add_with_trail, &t), E_EXISTS); /* and not without a commit */
	assert_string_equal(t.seen, "ab");
}

/* --- many at once --- */

#define THREADS	   8
#define INCREMENTS 25

static status
increment(struct ctx *cx, void *arg)
{
	struct number n;

	(void)arg;
	TRY(db_one(cx, SQL_COUNTER_LOCK, number_row, &n, INT(1)));
	return db_run(cx, SQL_COUNTER_SET, INT(1), INT(n.n + 1));
}

static status
get_counter(struct ctx *cx, void *arg)
{
	return db_one(cx, SQL_COUNTER_GET, number_row, arg, INT(1));
}

static void *
increment_often(void *arg)
{
	struct hand *h = arg;

	for (int i = 0; i < INCREMENTS && h->result == OK; i++)
		h->result = tx_run(&h->cx, increment, NULL);
	return NULL;
}

static void
concurrent_writers_lose_no_update(void **state)
{
	struct world *w = *state;
	struct hand hands[THREADS];
	struct db_stats stats;
	struct number n;
	int64_t one = 1;

	assert_status(tx_run(&w->cx, make_counters, &one), OK);
	for (size_t i = 0; i < THREADS; i++) {
		hand_init(&hands[i], w->cx.db, NULL, NULL);
		CHECK(pthread_create(&hands[i].thread, NULL, increment_often, &hands[i]) == 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		assert_status(hand_join(&hands[i]), OK);
	assert_status(db_read(&w->cx, get_counter, &n), OK);
	assert_int_equal(n.n, THREADS * INCREMENTS);
	db_stats(w->cx.db, &stats);
	assert_true(stats.transactions > THREADS * INCREMENTS);
	assert_int_equal(stats.queue_now, 0);
	assert_int_equal(stats.unknown, 0);
}

struct look {
	struct world *w;
	int64_t before, after;
};

static status
look_twice(struct ctx *cx, void *arg)
{
	struct look *l = arg;
	struct hand writer;
	int64_t id = 1;
	struct number n;

	TRY(db_one(cx, SQL_ITEM_COUNT, number_row, &n));
	l->before = n.n;
	hand_init(&writer, l->w->cx.db, add_item, &id);
	hand_start(&writer);
	TRY(hand_join(&writer));
	TRY(db_one(cx, SQL_ITEM_COUNT, number_row, &n));
	l->after = n.n;
	return OK;
}

static void
a_read_sees_one_moment(void **state)
{
	struct world *w = *state;
	struct look l = { .w = w, .before = -1, .after = -1 };

	assert_status(db_read(&w->cx, look_twice, &l), OK);
	assert_int_equal(l.before, 0);
	assert_int_equal(l.after, 0);
	assert_int_equal(count_items(&w->cx), 1);
}

static void
a_deadline_ends_the_wait_for_ones_turn(void **state)
{
	struct world *w = *state;
	struct gate gate = GATE_INIT;
	struct hand holder;
	int64_t id = 1;

	world_close(w);
	w->connections = 1;
	world_open(w);
	hand_init(&holder, w->cx.db, stand_at_gate, &gate);
	hand_start(&holder);
	gate_wait(&gate, &gate.reached);
	w->cx.deadline_us = clock_mono_us() + 20000;
	assert_status(tx_run(&w->cx, add_item, &id), E_BUSY);
	w->cx.deadline_us = 1; /* long ago */
	assert_status(tx_run(&w->cx, add_item, &id), E_BUSY);
	gate_set(&gate, &gate.opened);
	assert_status(hand_join(&holder), OK);
	w->cx.deadline_us = 0;
	assert_int_equal(count_items(&w->cx), 0);
}

static status
read_at_gate(struct ctx *cx, void *arg)
{
	return db_read(cx, stand_at_gate, arg);
}

static void *
run_read(void *arg)
{
	struct hand *h = arg;

	h->result = read_at_gate(&h->cx, h->arg);
	return NULL;
}

static void
a_deadline_ends_the_wait_for_a_reader(void **state)
{
	struct world *w = *state;
	struct gate gate = GATE_INIT;
	struct hand holder;
	struct number n;

	world_close(w);
	w->connections = 1;
	world_open(w);
	hand_init(&holder, w->cx.db, NULL, &gate);
	CHECK(pthread_create(&holder.thread, NULL, run_read, &holder) == 0);
	gate_wait(&gate, &gate.reached);
	w->cx.deadline_us = clock_mono_us() + 20000;
	assert_status(db_read(&w->cx, count_items_tx, &n), E_BUSY);
	gate_set(&gate, &gate.opened);
	assert_status(hand_join(&holder), OK);
	w->cx.deadline_us = 0;
	assert_int_equal(count_items(&w->cx), 0);
}

/* --- time --- */

static status
ask_time_twice(struct ctx *cx, void *arg)
{
	int64_t *times = arg;

	TRY(tx_now_us(cx, &times[0]));
	return tx_now_us(cx, &times[1]);
}

static void
a_transaction_has_one_time_and_the_next_is_not_earlier(void **state)
{
	struct world *w = *state;
	int64_t first[2], next[2];

	assert_status(tx_run(&w->cx, ask_time_twice, first), OK);
	assert_true(first[0] > INT64_C(1700000000000000)); /* microseconds, in this century */
	assert_true(first[0] == first[1]);
	assert_status(tx_run(&w->cx, ask_time_twice, next), OK);
	assert_true(next[0] >= first[0]);
}

/* --- faults --- */

static void
each_fault_leaves_all_or_nothing_and_says_which(void **state)
{
	static const char *const points[] = { "tx_before_begin", "tx_after_begin", "tx_after_function",
		"tx_before_commit", "batch_between" };
	struct world *w = *state;
	int64_t rows = 0;

	if (!fault_enabled()) {
		print_message("skipped: built without fault points\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
		char spec[64];
		int64_t id = (int64_t)i;
		status s;

		(void)snprintf(spec, sizeof(spec), "%s:1:fail", points[i]);
		assert_true(fault_arm(spec));
		s = tx_run(&w->cx, add_item, &id);
		rows += s == OK;
		assert_int_equal(count_items(&w->cx), rows);
		id += 100;
		assert_status(tx_run(&w->cx, add_item, &id), OK);
		assert_int_equal(count_items(&w->cx), ++rows);
	}
}

/* --- our own mistakes stop the program --- */

static status
read_and_write(struct ctx *cx, void *arg)
{
	(void)arg;
	return db_run(cx, SQL_ITEM_DELETE, INT(1));
}

static void
write_in_a_read(void *arg)
{
	struct world *w = arg;

	world_open(w);
	assert_status(db_read(&w->cx, read_and_write, NULL), OK);
}

static status
begin_again(struct ctx *cx, void *arg)
{
	return tx_run(cx, delete_one, arg);
}

static void
nest_transactions(void *arg)
{
	struct world *w = arg;

	world_open(w);
	assert_status(tx_run(&w->cx, begin_again, NULL), OK);
}

static status
give_too_few(struct ctx *cx, void *arg)
{
	(void)arg;
	return db_run(cx, SQL_ITEM_RAISE, INT(1));
}

static void
miscount_arguments(void *arg)
{
	struct world *w = arg;

	world_open(w);
	assert_status(tx_run(&w->cx, give_too_few, NULL), OK);
}

static void
mistakes_in_the_program_stop_it(void **state)
{
	void (*const mistakes[])(void *) = { write_in_a_read, nest_transactions, miscount_arguments };
	struct world *w = *state;

	world_close(w); /* the child opens its own */
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		int how = in_child(mistakes[i], w);

		assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
	}
}

struct overheard {
	struct world *world;
	int fd;
};

static void
miscount_aloud(void *arg)
{
	const struct overheard *o = arg;

	log_set_fd(o->fd);
	miscount_arguments(o->world);
}

static void
a_wrong_number_of_parameters_names_the_statement(void **state)
{
	struct world *w = *state;
	char said[512] = "";
	int ends[2], how;
	struct overheard o;

	world_close(w); /* the child opens its own */
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	o = (struct overheard){ w, ends[1] };
	how = in_child(miscount_aloud, &o);
	(void)close(ends[1]);
	assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
	assert_true(read(ends[0], said, sizeof(said) - 1) > 0);
	(void)close(ends[0]);
	assert_non_null(strstr(said, "statement=item_raise takes=2 given=1"));
}

static void
the_engine_tells_its_name_and_version(void **state)
{
	struct world *w = *state;
	str version;

	assert_string_equal(db_engine(w->cx.db), on_postgres ? "postgres" : "sqlite");
	assert_status(db_engine_version(&w->cx, &version), OK);
	assert_true(version.len > 2 && version.ptr[0] >= '1' && version.ptr[0] <= '9');
}

static const struct CMUnitTest tests[] = {
	ON_WORLD(a_commit_outlives_the_connection),
	ON_WORLD(a_function_that_fails_leaves_nothing),
	ON_WORLD(a_failed_statement_cannot_be_swallowed),
	ON_WORLD(a_try_leaves_nothing_whatever_it_says),
	ON_WORLD(a_nest_stays_where_it_says_ok_and_its_failure_spares_the_rest),
	ON_WORLD(the_time_is_read_again_after_a_wait_only),
	ON_WORLD(a_try_cannot_swallow_a_failed_statement_either),
	ON_WORLD(a_try_that_is_not_waited_for_leaves_nothing_or_fails_the_transaction),
	ON_WORLD(nothing_is_tried_after_a_failed_statement),
	ON_WORLD(broken_constraints_have_their_status),
	ON_WORLD(text_that_one_engine_would_refuse_is_refused_by_all),
	ON_WORLD(hooks_run_once_in_order_in_our_thread_after_commit),
	ON_WORLD(concurrent_writers_lose_no_update),
	ON_WORLD(a_read_sees_one_moment),
	ON_WORLD(a_deadline_ends_the_wait_for_ones_turn),
	ON_WORLD(a_deadline_ends_the_wait_for_a_reader),
	ON_WORLD(a_transaction_has_one_time_and_the_next_is_not_earlier),
	ON_WORLD(each_fault_leaves_all_or_nothing_and_says_which),
	ON_WORLD(mistakes_in_the_program_stop_it),
	ON_WORLD(a_wrong_number_of_parameters_names_the_statement),
	ON_WORLD(the_engine_tells_its_name_and_version),
};

int
main(void)
{
	return on_every_engine("db", tests, sizeof(tests) / sizeof(*tests));
}
