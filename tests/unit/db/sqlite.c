/* SPDX-License-Identifier: Apache-2.0 */
/* What only SQLite has: the file and its settings, the lock, and batches that break in the middle. */
#include "tests/unit/db/crowd.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

/* --- settings --- */

static int64_t
pragma(sqlite3 *handle, const char *text)
{
	sqlite3_stmt *stmt;
	int64_t value;

	CHECK(sqlite3_prepare_v2(handle, text, -1, &stmt, NULL) == SQLITE_OK);
	CHECK(sqlite3_step(stmt) == SQLITE_ROW);
	value = sqlite3_column_int64(stmt, 0);
	if (sqlite3_column_type(stmt, 0) == SQLITE_TEXT)
		value = strcmp((const char *)sqlite3_column_text(stmt, 0), "wal") == 0;
	CHECK(sqlite3_finalize(stmt) == SQLITE_OK);
	return value;
}

static status
look_at_settings(struct ctx *cx, void *arg)
{
	const struct connection *c = cx->tx->connection;

	(void)arg;
	assert_int_equal(pragma(c->handle, "PRAGMA journal_mode"), 1);
	assert_int_equal(pragma(c->handle, "PRAGMA synchronous"), 2); /* FULL */
	assert_int_equal(pragma(c->handle, "PRAGMA foreign_keys"), 1);
	assert_int_equal(pragma(c->handle, "PRAGMA recursive_triggers"), 1);
	assert_int_equal(pragma(c->handle, "PRAGMA trusted_schema"), 0);
	return OK;
}

static status
look_at_reader(struct ctx *cx, void *arg)
{
	struct connection *c = cx->tx->connection;

	TRY(look_at_settings(cx, arg));
	assert_int_equal(sqlite3_db_readonly(c->handle, "main"), 1);
	return OK;
}

static void
commits_are_synced_and_readers_cannot_write(void **state)
{
	struct world *w = *state;

	assert_status(tx_run(&w->cx, look_at_settings, NULL), OK);
	assert_status(db_read(&w->cx, look_at_reader, NULL), OK);
}

/* The path of name in the world's directory. */
static const char *
inside(struct world *w, const char *name)
{
	return arena_printf(&w->arena, "%s/%s", w->database.dir.path, name).ptr;
}

static status
open_in(struct ctx *cx, const char *dir, bool create)
{
	struct db_options options = { .sqlite_dir = dir, .create = create };
	struct db *db = NULL;
	status s = db_open(cx, &options, &db);

	db_close(db);
	return s;
}

static status
open_again(struct world *w, bool create)
{
	return open_in(&w->cx, w->database.dir.path, create);
}

static mode_t
mode_of(struct world *w, const char *name)
{
	struct stat st;

	CHECK(stat(inside(w, name), &st) == 0);
	return st.st_mode & 07777;
}

static void
everything_on_disk_is_private(void **state)
{
	struct world *w = *state;
	int64_t id = 1;

	assert_status(tx_run(&w->cx, add_item, &id), OK);
	assert_int_equal(mode_of(w, "countersign.db"), 0600);
	assert_int_equal(mode_of(w, "countersign.db-wal"), 0600);
	assert_int_equal(mode_of(w, "countersign.db-shm"), 0600);
	assert_int_equal(mode_of(w, "countersign.lock"), 0600);
	assert_status(open_in(&w->cx, inside(w, "new"), true), OK);
	assert_int_equal(mode_of(w, "new"), 0700);
}

/* --- opening what cannot be opened --- */

static void
open_in_child(void *arg)
{
	struct world *w = arg;

	_exit((int)open_again(w, true));
}

static void
another_process_is_kept_out(void **state)
{
	struct world *w = *state;
	int how;

	assert_status(open_again(w, true), E_BUSY);
	assert_true(strstr(ctx_message(&w->cx, E_BUSY).ptr, w->database.dir.path) != NULL);
	how = in_child(open_in_child, w);
	assert_int_equal(WEXITSTATUS(how), E_BUSY);
	world_close(w);
	how = in_child(open_in_child, w);
	assert_int_equal(WEXITSTATUS(how), OK);
	assert_status(open_again(w, false), OK);
}

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f != NULL);
	CHECK(fputs(text, f) >= 0 && fclose(f) == 0);
}

static void
what_is_not_there_or_no_database_is_said_so(void **state)
{
	struct world *w = *state;

	assert_status(open_in(&w->cx, inside(w, "a/b"), false), E_UNAVAILABLE);
	assert_status(
		open_in(&w->cx, inside(w, "a/b"), true), E_UNAVAILABLE); /* one level is made, not two */
	CHECK(mkdir(inside(w, "c"), 0700) == 0);
	assert_status(open_in(&w->cx, inside(w, "c"), false), E_UNAVAILABLE);
	write_file(inside(w, "c/countersign.db"),
		"this is no database, but long enough that SQLite looks at it");
	assert_status(open_in(&w->cx, inside(w, "c"), false), E_UNAVAILABLE);
	assert_true(strstr(ctx_message(&w->cx, E_UNAVAILABLE).ptr, inside(w, "c")) != NULL);
	write_file(inside(w, "d"), "a file");
	assert_status(open_in(&w->cx, inside(w, "d"), true), E_UNAVAILABLE);
}

/* Root may write everything, so the child becomes somebody else. */
static void
open_as_nobody(void *arg)
{
	if (geteuid() == 0)
		CHECK(setgid(65534) == 0 && setuid(65534) == 0);
	open_in_child(arg);
}

static void
set_mode(struct world *w, const char *name, mode_t mode)
{
	CHECK(chmod(inside(w, name), mode) == 0);
}

static void
a_file_or_directory_we_may_not_write_is_read_only(void **state)
{
	struct world *w = *state;

	world_close(w);
	set_mode(w, ".", 0755);
	set_mode(w, "countersign.lock", 0444);
	assert_int_equal(WEXITSTATUS(in_child(open_as_nobody, w)), E_READ_ONLY);
	set_mode(w, "countersign.lock", 0666);
	set_mode(w, "countersign.db", 0444);
	assert_int_equal(WEXITSTATUS(in_child(open_as_nobody, w)), E_READ_ONLY);
	set_mode(w, "countersign.db", 0666);
	assert_int_equal(WEXITSTATUS(in_child(open_as_nobody, w)), E_READ_ONLY); /* no room for -wal */
	set_mode(w, ".", 0777);
	assert_int_equal(WEXITSTATUS(in_child(open_as_nobody, w)), OK);
}

/* --- batches --- */

static void
what_queues_up_is_committed_together(void **state)
{
	struct world *w = *state;
	struct crowd crowd = { .tasks = { { 0 } } };

	run_as_one_batch(w, &crowd);
	assert_all_but(w, &crowd, 0, OK);
	assert_int_equal(crowd.after.batches - crowd.before.batches, 1);
	assert_int_equal(crowd.after.reruns, 0);
	assert_int_equal(crowd.after.transactions - crowd.before.transactions, JOBS + 1);
}

static status
refuse(struct ctx *cx, void *arg)
{
	(void)arg;
	return fail(cx, E_CONFLICT, "no");
}

static void
a_failure_in_a_batch_undoes_itself_only(void **state)
{
	struct world *w = *state;
	struct crowd crowd = { .tasks = { [ODD] = { .extra = refuse } } };

	run_as_one_batch(w, &crowd);
	assert_all_but(w, &crowd, ODD, E_CONFLICT);
	assert_int_equal(crowd.after.reruns, 0);
	for (size_t i = 0; i < JOBS; i++)
		assert_int_equal(crowd.tasks[i].runs, 1);
}

static void
batches_of_one_are_possible(void **state)
{
	struct world *w = *state;
	struct crowd crowd = { .tasks = { { 0 } } };

	world_close(w);
	w->batch = 1;
	world_open(w);
	run_as_one_batch(w, &crowd);
	assert_all_but(w, &crowd, 0, OK);
	assert_true(crowd.after.batches - crowd.before.batches >= JOBS);
}

/* The disk is full for what does not fit into the pages that the file has now. */
static status
fill_disk(struct ctx *cx, void *arg)
{
	const struct connection *c = cx->tx->connection;
	char text[64];
	size_t size = 1 * MIB;
	char *big = arena_alloc(cx->arena, size);

	(void)arg;
	(void)snprintf(text, sizeof(text), "PRAGMA max_page_count=%lld",
		(long long)pragma(c->handle, "PRAGMA page_count") + 10);
	(void)pragma(c->handle, text);
	return db_run(cx, SQL_ITEM_ADD, INT(1000), NIL, NIL, INT(0), BLOB(((str){ big, size })), NIL);
}

static void
a_full_disk_in_a_batch_hits_only_whom_it_concerns(void **state)
{
	struct world *w = *state;
	struct crowd crowd = { .tasks = { [ODD] = { .extra = fill_disk } } };

	run_as_one_batch(w, &crowd);
	assert_all_but(w, &crowd, ODD, E_DISK_FULL);
	assert_true(
		crowd.after.reruns >= ODD + 1); /* it did break the batch, and those before it ran again */
	assert_int_equal(crowd.tasks[0].runs, 2);
	assert_int_equal(crowd.tasks[ODD].runs, 2);
}

static status
try_to_fill_disk(struct ctx *cx, void *arg)
{
	assert_status(tx_try(cx, fill_disk, arg), E_DISK_FULL); /* and there is nothing to go back to */
	return OK;
}

static void
a_full_disk_cannot_be_swallowed_by_a_try(void **state)
{
	struct world *w = *state;
	struct crowd crowd = { .tasks = { [ODD] = { .extra = try_to_fill_disk } } };

	run_as_one_batch(w, &crowd);
	assert_all_but(w, &crowd, ODD, E_DISK_FULL);
}

static int
stop_now(void *arg)
{
	(void)arg;
	return 1;
}

/* Interrupts a statement of the first run, as sqlite3_interrupt in its midst would. */
static status
interrupt_once(struct ctx *cx, void *arg)
{
	const struct connection *c = cx->tx->connection;
	const struct task *t = arg;
	status s;

	if (t->runs > 1)
		return OK;
	sqlite3_progress_handler(c->handle, 1, stop_now, NULL);
	s = db_run(cx, SQL_ITEM_ADD, INT(2000), NIL, NIL, INT(0), NIL, NIL);
	sqlite3_progress_handler(c->handle, 0, NULL, NULL);
	assert_status(s, E_UNAVAILABLE);
	return s;
}

static void
an_interrupt_in_a_batch_loses_and_doubles_nothing(void **state)
{
	struct world *w = *state;
	struct crowd crowd = { .tasks = { [ODD] = { .extra = interrupt_once } } };

	run_as_one_batch(w, &crowd);
	assert_all_but(w, &crowd, 0, OK);
	assert_true(crowd.after.reruns >= ODD + 1);
	assert_int_equal(crowd.tasks[0].runs, 2);
}

static status
leave_silently(struct ctx *cx, void *arg)
{
	(void)interrupt_once(cx, arg);
	return OK;
}

static void
a_lone_transaction_that_was_ended_early_is_not_acknowledged(void **state)
{
	struct world *w = *state;
	struct task t = { .id = 1, .extra = leave_silently };

	assert_status(tx_run(&w->cx, do_task, &t), E_UNAVAILABLE);
	assert_int_equal(t.hooks, 0);
	assert_int_equal(count_items(&w->cx), 0);
	t = (struct task){ .id = 1 };
	assert_status(tx_run(&w->cx, do_task, &t), OK);
}

static void
break_batch_by(struct world *w, const char *fault)
{
	struct crowd crowd = { .tasks = { { 0 } } };

	if (!fault_enabled()) {
		print_message("skipped: built without fault points\n");
		skip();
	}
	assert_true(fault_arm(fault));
	run_as_one_batch(w, &crowd);
	assert_all_but(w, &crowd, 0, OK);
	assert_true(crowd.after.reruns > 0);
}

static void
a_batch_whose_commit_fails_runs_again_singly(void **state)
{
	break_batch_by(*state, "tx_before_commit:1:fail");
}

static void
a_batch_that_breaks_between_two_runs_again_singly(void **state)
{
	break_batch_by(*state, "batch_between:3:fail");
}

static status
add_orphan_late(struct ctx *cx, void *arg)
{
	const struct connection *c = cx->tx->connection;

	(void)arg;
	CHECK(sqlite3_exec(c->handle, "PRAGMA defer_foreign_keys=ON", NULL, NULL, NULL) == SQLITE_OK);
	return db_run(cx, SQL_ITEM_ADD, INT(3000), NIL, INT(99), INT(0), NIL, NIL);
}

static void
a_constraint_that_shows_at_commit_hits_only_whom_it_concerns(void **state)
{
	struct world *w = *state;
	struct crowd crowd = { .tasks = { [ODD] = { .extra = add_orphan_late } } };

	run_as_one_batch(w, &crowd);
	assert_all_but(w, &crowd, ODD, E_REFERENCED);
}

static void
a_full_queue_is_busy(void **state)
{
	struct world *w = *state;
	struct gate gate = GATE_INIT;
	struct hand holder, waiting;
	int64_t first = 1, second = 2;

	sqlite_writer(w->cx.db)->queue_max = 1;
	hand_init(&holder, w->cx.db, stand_at_gate, &gate);
	hand_start(&holder);
	gate_wait(&gate, &gate.reached);
	hand_init(&waiting, w->cx.db, add_item, &first);
	hand_start(&waiting);
	await_queue(w->cx.db, 1);
	assert_status(tx_run(&w->cx, add_item, &second), E_BUSY);
	gate_set(&gate, &gate.opened);
	assert_status(hand_join(&holder), OK);
	assert_status(hand_join(&waiting), OK);
	assert_int_equal(count_items(&w->cx), 1);
}

static void
who_gives_up_in_the_middle_of_the_queue_leaves_the_others_in_order(void **state)
{
	struct world *w = *state;
	struct gate gate = GATE_INIT;
	struct hand holder, hands[3];
	int64_t ids[3] = { 1, 2, 3 }, now_us = clock_mono_us();

	clock_freeze(now_us); /* nobody gives up before all are there */
	hand_init(&holder, w->cx.db, stand_at_gate, &gate);
	hand_start(&holder);
	gate_wait(&gate, &gate.reached);
	for (size_t i = 0; i < 3; i++) {
		hand_init(&hands[i], w->cx.db, add_item, &ids[i]);
		if (i == 1)
			hands[i].cx.deadline_us = now_us + 1000;
		hand_start(&hands[i]);
		await_queue(w->cx.db, (int64_t)i + 1);
	}
	clock_freeze(now_us + 2000);
	assert_status(hand_join(&hands[1]), E_BUSY);
	gate_set(&gate, &gate.opened);
	assert_status(hand_join(&holder), OK);
	assert_status(hand_join(&hands[0]), OK);
	assert_status(hand_join(&hands[2]), OK);
	assert_int_equal(count_items(&w->cx), 2);
}

/* --- the commit nobody knows about --- */

static void
commit_into_the_unknown(void *arg)
{
	struct world *w = arg;
	int64_t id = 1;
	status s;

	world_open(w);
	CHECK(fault_arm("tx_after_commit:1:fail"));
	s = tx_run(&w->cx, add_item, &id);
	_exit(s == OK ? 1 : 2); /* either would be an answer */
}

static void
an_unknown_commit_ends_the_process_and_answers_nobody(void **state)
{
	struct world *w = *state;
	int how;

	if (!fault_enabled()) {
		print_message("skipped: built without fault points\n");
		skip();
	}
	world_close(w);
	how = in_child(commit_into_the_unknown, w);
	assert_true(WIFEXITED(how));
	assert_int_equal(WEXITSTATUS(how), EXIT_COMMIT_UNKNOWN);
	world_open(w); /* the next start knows */
	assert_int_equal(count_items(&w->cx), 1);
}

/* --- time, and the log --- */

static status
ask_time(struct ctx *cx, void *arg)
{
	return tx_now_us(cx, arg);
}

static void
time_does_not_go_back_when_the_clock_does(void **state)
{
	struct world *w = *state;
	int64_t first, second, third;

	clock_freeze(INT64_C(2000000000000000));
	assert_status(tx_run(&w->cx, ask_time, &first), OK);
	clock_freeze(INT64_C(1900000000000000));
	assert_status(tx_run(&w->cx, ask_time, &second), OK);
	assert_status(db_read(&w->cx, ask_time, &third), OK);
	assert_true(first == INT64_C(2000000000000000) && second == first && third == first);
}

static status
add_many(struct ctx *cx, void *arg)
{
	int64_t *first = arg;
	size_t size = 64 * KIB;
	char *big = arena_alloc(cx->arena, size);

	for (int64_t i = 0; i < 100; i++)
		TRY(db_run(cx, SQL_ITEM_ADD, INT(*first + i), NIL, NIL, INT(0), BLOB(((str){ big, size })),
			NIL));
	return OK;
}

static off_t
size_of(struct world *w, const char *name)
{
	struct stat st;

	CHECK(stat(inside(w, name), &st) == 0);
	return st.st_size;
}

static void
the_log_does_not_grow_without_end(void **state)
{
	struct world *w = *state;

	for (int64_t i = 0; i < 8; i++)
		assert_status(tx_run(&w->cx, add_many, &(int64_t){ i * 100 }), OK);
	/* 8 times 6.4 MiB were written; the log is used again after each checkpoint */
	assert_true(size_of(w, "countersign.db-wal") < 24 * (off_t)MIB);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ON_WORLD(commits_are_synced_and_readers_cannot_write),
		ON_WORLD(everything_on_disk_is_private),
		ON_WORLD(another_process_is_kept_out),
		ON_WORLD(what_is_not_there_or_no_database_is_said_so),
		ON_WORLD(a_file_or_directory_we_may_not_write_is_read_only),
		ON_WORLD(what_queues_up_is_committed_together),
		ON_WORLD(a_failure_in_a_batch_undoes_itself_only),
		ON_WORLD(batches_of_one_are_possible),
		ON_WORLD(a_full_disk_in_a_batch_hits_only_whom_it_concerns),
		ON_WORLD(a_full_disk_cannot_be_swallowed_by_a_try),
		ON_WORLD(an_interrupt_in_a_batch_loses_and_doubles_nothing),
		ON_WORLD(a_lone_transaction_that_was_ended_early_is_not_acknowledged),
		ON_WORLD(a_batch_whose_commit_fails_runs_again_singly),
		ON_WORLD(a_batch_that_breaks_between_two_runs_again_singly),
		ON_WORLD(a_constraint_that_shows_at_commit_hits_only_whom_it_concerns),
		ON_WORLD(a_full_queue_is_busy),
		ON_WORLD(who_gives_up_in_the_middle_of_the_queue_leaves_the_others_in_order),
		ON_WORLD(an_unknown_commit_ends_the_process_and_answers_nobody),
		ON_WORLD(time_does_not_go_back_when_the_clock_does),
		ON_WORLD(the_log_does_not_grow_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
