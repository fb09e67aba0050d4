/* SPDX-License-Identifier: Apache-2.0 */
/* db_glance on SQLite: an answer that is known is the one that a read would find. */
#include "tests/unit/db/crowd.h"

struct item {
	int64_t id;
	str name;
	int64_t amount;
	str data;
};
static const struct field item_row[] = {
	FIELD_INT(struct item, id),
	FIELD_TEXT(struct item, name),
	FIELD_INT(struct item, amount),
	FIELD_BLOB(struct item, data),
	FIELD_END,
};

/* --- somebody else: another connection to the file, as another process would have --- */

static void
elsewhere(struct world *w, const char *text)
{
	const char *path = arena_printf(&w->arena, "%s/countersign.db", w->database.dir.path).ptr;
	sqlite3 *other;

	CHECK(sqlite3_open_v2(path, &other, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK);
	(void)sqlite3_busy_timeout(other, 5000);
	CHECK(sqlite3_exec(other, text, NULL, NULL, NULL) == SQLITE_OK);
	CHECK(sqlite3_close(other) == SQLITE_OK);
}

/* --- looking at one item --- */

struct look {
	int64_t id;
	struct item got;
	int runs; /* of the statement, by this read */
};

static int
runs_of(const struct ctx *cx, const struct sql *s)
{
	const struct connection *c = cx->tx->connection;

	return c->slots[s->index].stmt
		       ? sqlite3_stmt_status(c->slots[s->index].stmt, SQLITE_STMTSTATUS_RUN, 0)
		       : 0;
}

static status
look_at(struct ctx *cx, void *arg)
{
	struct look *l = arg;
	int before = runs_of(cx, SQL_ITEM_OFTEN);
	status s = db_one(cx, SQL_ITEM_OFTEN, item_row, &l->got, INT(l->id));

	l->runs = runs_of(cx, SQL_ITEM_OFTEN) - before;
	return s;
}

static struct look
glance_at(struct world *w, int64_t id)
{
	struct look l = { .id = id };

	assert_status(db_glance(&w->cx, look_at, &l), OK);
	return l;
}

static void
assert_glance(struct world *w, int64_t amount, int runs)
{
	struct look l = glance_at(w, 1);

	assert_int_equal(l.got.amount, amount);
	assert_int_equal(l.runs, runs);
}

static int
make_items(void **state)
{
	struct world *w;

	assert_int_equal(make_world(state), 0);
	w = *state;
	elsewhere(w, "INSERT INTO item (id, name, amount, data) VALUES (1, 'one', 10, x'00ff'), (2, NULL, "
		     "20, NULL);"
		     "INSERT INTO counter (id, n) VALUES (1, 10)");
	(void)glance_at(w, 2); /* a connection that has never read knows nothing */
	return 0;
}

#define ON_ITEMS(test) cmocka_unit_test_setup_teardown(test, make_items, drop_world)

/* --- what is known --- */

static void
an_answer_is_read_once_while_nothing_is_committed(void **state)
{
	struct world *w = *state;

	assert_glance(w, 10, 1);
	for (int i = 0; i < 3; i++) {
		struct look l = glance_at(w, 1);

		assert_int_equal(l.runs, 0);
		assert_int_equal(l.got.id, 1);
		assert_str(l.got.name, "one");
		assert_int_equal(l.got.amount, 10);
		assert_true(str_eq(l.got.data, (str){ "\0\xff", 2 }));
	}
}

static void
another_question_is_asked(void **state)
{
	struct world *w = *state;
	struct look l;

	assert_glance(w, 10, 1);
	l = glance_at(w, 2);
	assert_int_equal(l.runs, 1);
	assert_int_equal(l.got.amount, 20);
	assert_int_equal(l.got.name.len, 0);
	assert_int_equal(glance_at(w, 2).runs, 0);
	assert_glance(w, 10, 1); /* one answer is kept, the last */
}

static void
that_there_is_nothing_is_an_answer(void **state)
{
	struct world *w = *state;

	for (int runs = 1; runs >= 0; runs--) {
		struct look l = { .id = 7 };

		assert_status(db_glance(&w->cx, look_at, &l), E_NOT_FOUND);
		assert_int_equal(l.runs, runs);
	}
	elsewhere(w, "INSERT INTO item (id, amount) VALUES (7, 70)");
	assert_int_equal(glance_at(w, 7).got.amount, 70);
}

static void
what_is_only_read_is_always_asked(void **state)
{
	struct world *w = *state;
	struct look l = { .id = 1 };

	assert_glance(w, 10, 1);
	assert_status(db_read(&w->cx, look_at, &l), OK);
	assert_int_equal(l.runs, 1);
}

static status
raise_all(struct ctx *cx, void *arg)
{
	(void)arg;
	return db_run(cx, SQL_ITEM_RAISE, INT(1), INT(0));
}

static status
raise_in_vain(struct ctx *cx, void *arg)
{
	TRY(raise_all(cx, arg));
	return fail(cx, E_CONFLICT, "no");
}

static void
what_was_committed_here_or_elsewhere_is_seen_at_once(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 50; i += 2) {
		assert_glance(w, 10 + i, 1);
		assert_status(tx_run(&w->cx, raise_all, NULL), OK);
		assert_glance(w, 11 + i, 1);
		elsewhere(w, "UPDATE item SET amount = amount + 1");
	}
	elsewhere(w, "PRAGMA wal_checkpoint(TRUNCATE)");
	assert_int_equal(glance_at(w, 1).got.amount, 60);
	assert_status(tx_run(&w->cx, raise_in_vain, NULL), E_CONFLICT);
	assert_int_equal(glance_at(w, 1).got.amount, 60);
}

/* --- what is not kept --- */

static status
list(struct ctx *cx, void *arg)
{
	struct number *rows;
	size_t count;
	int before = runs_of(cx, SQL_ITEM_OFTEN_IDS);

	TRY(db_all(cx, SQL_ITEM_OFTEN_IDS, number_row, sizeof(*rows), &rows, &count, INT(100)));
	assert_int_equal(count, 2);
	assert_int_equal(rows[0].n + rows[1].n, 3);
	*(int *)arg = runs_of(cx, SQL_ITEM_OFTEN_IDS) - before;
	return OK;
}

static void
several_rows_and_large_ones_are_not_kept(void **state)
{
	struct world *w = *state;
	int runs;

	for (int i = 0; i < 2; i++) {
		assert_status(db_glance(&w->cx, list, &runs), OK);
		assert_int_equal(runs, 1);
	}
	elsewhere(w, "UPDATE item SET data = zeroblob(8192) WHERE id = 1");
	for (int i = 0; i < 2; i++) {
		struct look l = glance_at(w, 1);

		assert_int_equal(l.runs, 1);
		assert_int_equal(l.got.data.len, 8192);
	}
	elsewhere(w, "UPDATE item SET data = zeroblob(7000) WHERE id = 1");
	assert_int_equal(glance_at(w, 1).runs, 1);
	assert_int_equal(glance_at(w, 1).runs, 0);
}

/* --- while somebody commits --- */

struct between {
	struct world *w;
	bool real_first; /* a statement that takes the snapshot, before the commit */
	int attempts;
	int64_t amount, n;
};

static status
look_while_others_commit(struct ctx *cx, void *arg)
{
	struct between *b = arg;
	struct item item;
	struct number number;

	b->attempts++;
	if (b->real_first)
		TRY(db_one(cx, SQL_COUNTER_GET, number_row, &number, INT(1)));
	else
		TRY(db_one(cx, SQL_ITEM_OFTEN, item_row, &item, INT(1)));
	if (b->attempts == 1)
		elsewhere(b->w, "BEGIN; UPDATE item SET amount = 99; UPDATE counter SET n = 99; COMMIT");
	if (b->real_first)
		TRY(db_one(cx, SQL_ITEM_OFTEN, item_row, &item, INT(1)));
	else
		TRY(db_one(cx, SQL_COUNTER_GET, number_row, &number, INT(1)));
	b->amount = item.amount;
	b->n = number.n;
	return OK;
}

static void
who_was_given_what_is_over_when_the_snapshot_is_taken_runs_again(void **state)
{
	struct world *w = *state;
	struct between b = { .w = w };

	assert_glance(w, 10, 1);
	assert_status(db_glance(&w->cx, look_while_others_commit, &b), OK);
	assert_int_equal(b.attempts, 2);
	assert_int_equal(b.amount, 99);
	assert_int_equal(b.n, 99);
	assert_int_equal(glance_at(w, 1).got.amount, 99);
}

static void
who_has_a_snapshot_is_given_what_it_would_find_there(void **state)
{
	struct world *w = *state;

	for (int kept = 0; kept < 2;
		kept++) { /* the other answer is read in the snapshot, or known from before */
		struct between b = { .w = w, .real_first = true };

		elsewhere(w, "BEGIN; UPDATE item SET amount = 10; UPDATE counter SET n = 10; COMMIT");
		if (kept)
			assert_glance(w, 10, 1);
		assert_status(db_glance(&w->cx, look_while_others_commit, &b), OK);
		assert_int_equal(b.attempts, 1);
		assert_int_equal(b.amount, 10);
		assert_int_equal(b.n, 10);
		assert_glance(w, 99, 1);
	}
}

/* --- a crowd --- */

#define READERS 3
#define COMMITS 1500

struct race {
	struct world *w;
	_Atomic int64_t acknowledged;
	_Atomic bool over;
};

static status
raise_both(struct ctx *cx, void *arg)
{
	TRY(raise_all(cx, NULL));
	return db_run(cx, SQL_COUNTER_SET, INT(1), INT(atomic_load((_Atomic int64_t *)arg) + 1));
}

struct both {
	int64_t amount, n;
	bool counter_first;
};

static status
look_at_both(struct ctx *cx, void *arg)
{
	struct both *b = arg;
	struct item item;
	struct number number;

	if (b->counter_first)
		TRY(db_one(cx, SQL_COUNTER_GET, number_row, &number, INT(1)));
	TRY(db_one(cx, SQL_ITEM_OFTEN, item_row, &item, INT(1)));
	if (!b->counter_first)
		TRY(db_one(cx, SQL_COUNTER_GET, number_row, &number, INT(1)));
	b->amount = item.amount;
	b->n = number.n;
	return OK;
}

static void *
watch(void *arg)
{
	struct race *r = arg;
	struct arena arena;
	struct ctx cx;

	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	cx.db = r->w->cx.db;
	for (unsigned i = 0; !atomic_load(&r->over); i++) {
		struct both b = { .counter_first = i % 3 == 0 };
		struct look l = { .id = 1 };
		int64_t known = atomic_load(&r->acknowledged);

		CHECK(db_glance(&cx, look_at_both, &b) == OK);
		CHECK(b.amount == b.n);
		CHECK(b.amount >= known);
		known = atomic_load(&r->acknowledged);
		CHECK(db_glance(&cx, look_at, &l) == OK);
		CHECK(l.got.amount >= known);
		arena_reset(&arena);
	}
	arena_done(&arena);
	return NULL;
}

static void
nobody_is_given_two_states_or_less_than_was_acknowledged(void **state)
{
	struct world *w = *state;
	struct race r = { .w = w, .acknowledged = 10 };
	pthread_t threads[READERS];

	for (int i = 0; i < READERS; i++)
		CHECK(pthread_create(&threads[i], NULL, watch, &r) == 0);
	for (int i = 0; i < COMMITS; i++) {
		assert_status(tx_run(&w->cx, raise_both, &r.acknowledged), OK);
		atomic_fetch_add(&r.acknowledged, 1);
	}
	atomic_store(&r.over, true);
	for (int i = 0; i < READERS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ON_ITEMS(an_answer_is_read_once_while_nothing_is_committed),
		ON_ITEMS(another_question_is_asked),
		ON_ITEMS(that_there_is_nothing_is_an_answer),
		ON_ITEMS(what_is_only_read_is_always_asked),
		ON_ITEMS(what_was_committed_here_or_elsewhere_is_seen_at_once),
		ON_ITEMS(several_rows_and_large_ones_are_not_kept),
		ON_ITEMS(who_was_given_what_is_over_when_the_snapshot_is_taken_runs_again),
		ON_ITEMS(who_has_a_snapshot_is_given_what_it_would_find_there),
		ON_ITEMS(nobody_is_given_two_states_or_less_than_was_acknowledged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
