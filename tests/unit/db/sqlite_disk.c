/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite on a disk that refuses: a VFS of our own stands between SQLite and the real one. */
#include "tests/unit/db/crowd.h"

/* --- the disk --- */

/* What the disk answers; read by the writer's thread, set while it stands at a gate or is idle. */
static struct disk {
	_Atomic int answer; /* to the next writes into the log; SQLITE_OK: as they go */
	_Atomic int left;   /* how many of them */
	_Atomic int after;  /* and how many go well before */
} disk;

static sqlite3_vfs *real;
static const sqlite3_io_methods *real_methods;
static sqlite3_io_methods log_methods;

static int
write_log(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 at)
{
	if (disk.answer != SQLITE_OK && disk.after-- <= 0 && disk.left > 0) {
		disk.left--;
		return disk.answer;
	}
	return real_methods->xWrite(file, bytes, count, at);
}

static int
open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
	int rc = real->xOpen(real, name, file, flags, out_flags);

	(void)vfs;
	if (rc == SQLITE_OK && (flags & SQLITE_OPEN_WAL)) {
		real_methods = file->pMethods;
		log_methods = *file->pMethods;
		log_methods.xWrite = write_log;
		file->pMethods = &log_methods;
	}
	return rc;
}

static void
use_disk(void)
{
	static sqlite3_vfs ours;

	real = sqlite3_vfs_find(NULL);
	ours = *real;
	ours.zName = "refusing";
	ours.xOpen = open_file;
	CHECK(sqlite3_vfs_register(&ours, 1) == SQLITE_OK);
}

static void
let_disk(int answer, int after, int times)
{
	disk.after = after;
	disk.left = times;
	disk.answer = answer;
}

static int
mend_disk(void **state)
{
	let_disk(SQLITE_OK, 0, 0);
	return drop_world(state);
}

/* --- it fills up at COMMIT --- */

static void
a_disk_that_is_full_at_commit_for_a_moment_hurts_nobody(void **state)
{
	struct world *w = *state;
	struct crowd crowd = { .tasks = { { 0 } } };

	let_disk(SQLITE_FULL, 0, 1);
	run_as_one_batch(w, &crowd);
	assert_all_but(w, &crowd, 0, OK);
	assert_true(crowd.after.reruns > 0);
}

static void
a_disk_that_stays_full_refuses_everybody_and_nothing_is_there(void **state)
{
	struct world *w = *state;
	struct crowd crowd = { .tasks = { { 0 } } };
	struct task later = { .id = 1000 };

	let_disk(SQLITE_FULL, 0, 1000000);
	run_as_one_batch(w, &crowd);
	for (size_t i = 0; i < JOBS; i++) {
		assert_status(crowd.hands[i].result, E_DISK_FULL);
		assert_int_equal(crowd.tasks[i].hooks, 0);
	}
	let_disk(SQLITE_OK, 0, 0);
	assert_int_equal(count_items(&w->cx), 0);
	assert_status(tx_run(&w->cx, do_task, &later), OK);
	world_close(w); /* also not after the next start has read the log */
	world_open(w);
	assert_int_equal(count_items(&w->cx), 1);
}

static void
a_commit_that_breaks_off_in_the_middle_is_none(void **state)
{
	struct world *w = *state;
	int64_t id = 1;

	/* a commit of this kind writes header and page of a few frames; break each write once */
	for (int n = 0; n < 4; n++) {
		let_disk(SQLITE_FULL, n, 1);
		assert_status(tx_run(&w->cx, add_item, &id), E_DISK_FULL);
		let_disk(SQLITE_OK, 0, 0);
		assert_int_equal(count_items(&w->cx), 0);
	}
	assert_status(tx_run(&w->cx, add_item, &id), OK);
}

/* --- it breaks --- */

static void
break_at_commit(void *arg)
{
	struct world *w = arg;
	int64_t id = 1;
	status s;

	world_open(w);
	let_disk(SQLITE_IOERR_WRITE, 0, 1);
	s = tx_run(&w->cx, add_item, &id);
	_exit(s == OK ? 1 : 2); /* either would be an answer */
}

static void
an_io_error_at_commit_ends_the_process(void **state)
{
	struct world *w = *state;
	int how;

	world_close(w);
	how = in_child(break_at_commit, w);
	assert_true(WIFEXITED(how));
	assert_int_equal(WEXITSTATUS(how), EXIT_COMMIT_UNKNOWN);
	world_open(w);
	assert_int_equal(count_items(&w->cx), 0);
}

/* --- SQLite refuses --- */

static status
shorten(struct ctx *cx, void *arg)
{
	const struct connection *c = cx->tx->connection;
	char *big = arena_alloc(cx->arena, 64 * KIB);
	status s;

	(void)arg;
	(void)sqlite3_limit(c->handle, SQLITE_LIMIT_LENGTH, 10000);
	s = db_run(cx, SQL_ITEM_ADD, INT(1), NIL, NIL, INT(0), BLOB(((str){ big, 64 * KIB })), NIL);
	(void)sqlite3_limit(c->handle, SQLITE_LIMIT_LENGTH, 1000000000);
	return s;
}

static status
make_read_only(struct ctx *cx, void *arg)
{
	const struct connection *c = cx->tx->connection;
	int64_t id = 1;
	status s;

	(void)arg;
	CHECK(sqlite3_exec(c->handle, "PRAGMA query_only=ON", NULL, NULL, NULL) == SQLITE_OK);
	s = add_item(cx, &id);
	CHECK(sqlite3_exec(c->handle, "PRAGMA query_only=OFF", NULL, NULL, NULL) == SQLITE_OK);
	return s;
}

static status
be_impatient(struct ctx *cx, void *arg)
{
	const struct connection *c = cx->tx->connection;

	(void)arg;
	(void)sqlite3_busy_timeout(c->handle, 0);
	return OK;
}

static void
what_sqlite_refuses_has_its_status(void **state)
{
	struct world *w = *state;
	sqlite3 *other;
	int64_t id = 1;

	assert_status(tx_run(&w->cx, shorten, NULL), E_TOO_LARGE);
	assert_status(tx_run(&w->cx, make_read_only, NULL), E_READ_ONLY);
	assert_status(tx_run(&w->cx, be_impatient, NULL), OK);
	/* somebody who does not know our lock file, such as the sqlite3 shell */
	CHECK(sqlite3_open(arena_printf(&w->arena, "%s/countersign.db", w->database.dir.path).ptr, &other) ==
		SQLITE_OK);
	CHECK(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
	assert_status(tx_run(&w->cx, add_item, &id), E_BUSY);
	CHECK(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
	CHECK(sqlite3_close(other) == SQLITE_OK);
	assert_status(tx_run(&w->cx, add_item, &id), OK);
	assert_int_equal(count_items(&w->cx), 1);
}

static void
a_statement_with_other_columns_than_it_says_is_refused(void **state)
{
	struct world *w = *state;
	struct sql liar = *SQL_ITEM_COUNT;
	const struct sql *list[1] = { &liar };

	world_close(w);
	liar.index = 0;
	liar.columns = 2;
	w->catalog = (struct db_catalog){ .sql = list, .sql_count = 1 };
	assert_status(world_try_open(w, &w->cx.db), OK);
	assert_status(db_prepare(&w->cx), E_SCHEMA);
	world_close(w); /* its statements go with this block */
}

/* PostgreSQL knows a column's type when it prepares; SQLite when it has the value. */
static const struct sql half = { .name = "half", .sqlite = "SELECT 1.5", .columns = 1 };

static status
read_half(struct ctx *cx, void *arg)
{
	return db_one(cx, &half, number_row, arg);
}

static void
real_numbers_are_not_kept(void **state)
{
	struct world *w = *state;
	const struct sql *list[1] = { &half };
	struct number n = { 7 };

	world_close(w);
	w->catalog = (struct db_catalog){ .sql = list, .sql_count = 1 };
	assert_status(world_try_open(w, &w->cx.db), OK);
	assert_status(db_prepare(&w->cx), OK);
	assert_status(db_read(&w->cx, read_half, &n), E_INTERNAL);
	assert_int_equal(n.n, 7);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, make_world, mend_disk)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ON_DISK(a_disk_that_is_full_at_commit_for_a_moment_hurts_nobody),
		ON_DISK(a_disk_that_stays_full_refuses_everybody_and_nothing_is_there),
		ON_DISK(a_commit_that_breaks_off_in_the_middle_is_none),
		ON_DISK(an_io_error_at_commit_ends_the_process),
		ON_DISK(what_sqlite_refuses_has_its_status),
		ON_DISK(real_numbers_are_not_kept),
		ON_DISK(a_statement_with_other_columns_than_it_says_is_refused),
	};

	use_disk();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
