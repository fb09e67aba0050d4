/* SPDX-License-Identifier: Apache-2.0 */
/* What only PostgreSQL can do to us: connections that break, servers that change, commits without an answer.
 */
#include "../unit.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/random.h"
#include "db/engine.h"
#include "db/pg/link.h"

#include <inttypes.h>
#include <libpq-fe.h>
#include <pthread.h>

/* --- statements of our own, behind the program's --- */

#define STATEMENTS(X)                                                                                        \
	X(item_lock, 1, 1, true, "SELECT id FROM item WHERE id = $1 FOR UPDATE")                             \
	X(item_notes, 0, 1, false, "SELECT note FROM item ORDER BY id")                                      \
	X(kinds_add, 5, 0, true,                                                                             \
		"INSERT INTO kinds (small, mid, big, yes, raw) VALUES ($1, $2, $3, $4, $5)")                 \
	X(kinds_get, 0, 5, false, "SELECT small, mid, big, yes, raw FROM kinds")                             \
	X(contend, 1, 1, true, "SELECT contend($1)")                                                         \
	X(raise, 1, 1, true, "SELECT raise_state($1)")                                                       \
	X(series, 1, 1, false, "SELECT generate_series(1, CAST($1 AS bigint))")                              \
	X(quick, 0, 1, true, "SELECT set_config('lock_timeout', '50', true)")                                \
	X(slow, 0, 1, true, "SELECT set_config('statement_timeout', '50', true)")                            \
	X(dawdle, 0, 1, true, "SELECT pg_sleep(60)")                                                         \
	X(settings, 0, 1, false,                                                                             \
		"SELECT concat_ws(' ', current_setting('lock_timeout'), "                                    \
		"current_setting('statement_timeout'),"                                                      \
		" current_setting('idle_in_transaction_session_timeout'), current_setting('TimeZone'),"      \
		" current_setting('application_name'), current_setting('client_encoding'),"                  \
		" current_setting('synchronous_commit'), current_setting('transaction_isolation'))")         \
	X(pid, 0, 1, false, "SELECT pg_backend_pid()")

static const char schema[] =
	"CREATE TABLE item (id bigint PRIMARY KEY, note text NOT NULL);"
	"CREATE TABLE kinds (small smallint, mid integer, big bigint, yes boolean, raw bytea);"
	"CREATE SEQUENCE tries;"
	"CREATE FUNCTION contend(times bigint) RETURNS bigint LANGUAGE plpgsql AS $$"
	" BEGIN IF nextval('tries') <= times THEN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END IF;"
	" RETURN currval('tries'); END $$;"
	"CREATE FUNCTION raise_state(state text) RETURNS bigint LANGUAGE plpgsql AS $$"
	" BEGIN RAISE EXCEPTION 'raised' USING ERRCODE = state; END $$;";

#include "pgworld.h"

/* --- asking --- */

struct text {
	str text;
};
static const struct field text_row[] = { FIELD_TEXT(struct text, text), FIELD_END };

struct job {
	int64_t id;
	int runs, hooks, probes;
	const struct sql *then; /* a statement after the insert, where not NULL */
	str text;		/* its parameter */
};

static status
add_tx(struct ctx *cx, void *arg)
{
	struct job *j = arg;

	j->runs++;
	return db_run(cx, &item_add, INT(j->id), TEXT(STR("note")));
}

static status
probe(struct ctx *cx, void *arg, bool *out_committed)
{
	struct job *j = arg;
	struct number found;

	j->probes++;
	TRY(db_one(cx, &item_find, number_row, &found, INT(j->id)));
	*out_committed = found.n == 1;
	return OK;
}

static void
note_hook(void *arg)
{
	((struct job *)arg)->hooks++;
}

static status
add_with_hook(struct ctx *cx, void *arg)
{
	tx_after_commit(cx, note_hook, arg);
	return add_tx(cx, arg);
}

/* --- a connection lost before COMMIT --- */

static void
lost_before_commit_runs_the_function_again(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1 };

	arm_statement(w, PGPROXY_CUT, &item_add);
	assert_status(tx_run(&w->u.cx, add_with_hook, &j), OK);
	assert_true(pgproxy_fired(w->proxy));
	assert_int_equal(j.runs, 2);
	assert_int_equal(j.hooks, 1);
	assert_int_equal(items(w), 1);
	assert_int_equal(stats(w).unknown, 0);
	assert_true(stats(w).reconnects >= 1);
}

static void
answer_lost_before_commit_leaves_one_row(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1 };

	arm_statement(w, PGPROXY_CUT_ANSWER, &item_add);
	assert_status(tx_run(&w->u.cx, add_tx, &j), OK);
	assert_int_equal(j.runs, 2);
	assert_int_equal(items(w), 1);
}

static status
add_and_kill(struct ctx *cx, void *arg)
{
	struct number pid_found;
	char sql[100];
	struct world *w = arg;

	TRY(db_run(cx, &item_add, INT(7), TEXT(STR("doomed"))));
	TRY(db_one(cx, &pid, number_row, &pid_found));
	(void)snprintf(sql, sizeof(sql), "SELECT pg_terminate_backend(%" PRId64 ", 5000)", pid_found.n);
	admin(w->direct, sql);
	return OK; /* the engine finds out when it wants to commit */
}

static void
backend_ended_before_commit_is_unavailable_and_not_unknown(void **state)
{
	struct world *w = *state;

	assert_status(tx_run(&w->u.cx, add_and_kill, w), E_UNAVAILABLE);
	assert_int_equal(stats(w).unknown, 0);
	assert_int_equal(stats(w).reruns, 1);
	assert_int_equal(items(w), 0);
}

static void
no_server_is_unavailable_until_it_is_back(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1 };

	pgproxy_refuse(w->proxy, true);
	pgproxy_cut_all(w->proxy);
	assert_status(tx_run(&w->u.cx, add_tx, &j), E_UNAVAILABLE);
	assert_int_equal(j.runs, 0);
	assert_status(db_read(&w->u.cx, count_items, &(struct number){ 0 }), E_UNAVAILABLE);
	pgproxy_refuse(w->proxy, false);
	assert_status(tx_run(&w->u.cx, add_tx, &j), OK);
	assert_int_equal(items(w), 1);
}

static void
idle_connections_that_died_are_replaced(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1 };

	assert_int_equal(items(w), 0);
	admin(w->direct, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
			 " WHERE datname = current_database() AND pid <> pg_backend_pid()");
	assert_status(tx_run(&w->u.cx, add_tx, &j), OK);
	assert_int_equal(items(w), 1);
	pgproxy_cut_all(w->proxy);
	assert_int_equal(items(w), 1);
	assert_int_equal(stats(w).reruns, 0); /* seen before anything was run */
	assert_int_equal(j.runs, 1);
}

static void
a_read_that_loses_its_connection_is_read_again(void **state)
{
	struct world *w = *state;

	arm_statement(w, PGPROXY_CUT_ANSWER, &item_count);
	assert_int_equal(items(w), 0);
	assert_true(pgproxy_fired(w->proxy));
	assert_int_equal(stats(w).reruns, 1);
}

/* --- a COMMIT without an answer --- */

static void
commit_that_never_arrived_is_unknown_without_a_probe(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1 };

	pgproxy_arm(w->proxy, PGPROXY_CUT, COMMIT_BIND);
	assert_status(tx_run(&w->u.cx, add_with_hook, &j), E_COMMIT_UNKNOWN);
	assert_int_equal(j.runs, 1);
	assert_int_equal(j.hooks, 0);
	assert_int_equal(stats(w).unknown, 1);
	assert_int_equal(items(w), 0);
}

static void
commit_that_arrived_is_unknown_without_a_probe(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1 };

	pgproxy_arm(w->proxy, PGPROXY_CUT_ANSWER, COMMIT_BIND);
	assert_status(tx_run(&w->u.cx, add_with_hook, &j), E_COMMIT_UNKNOWN);
	assert_int_equal(j.runs, 1); /* again would be twice */
	assert_int_equal(j.hooks, 0);
	assert_int_equal(items(w), 1);
}

static void
probe_settles_a_commit_that_never_arrived(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1 };

	pgproxy_arm(w->proxy, PGPROXY_CUT, COMMIT_BIND);
	assert_status(tx_run_probed(&w->u.cx, add_with_hook, &j, probe), E_UNAVAILABLE);
	assert_int_equal(j.hooks, 0);
	assert_int_equal(j.probes, 1);
	assert_int_equal(items(w), 0);
	assert_int_equal(stats(w).unknown, 0);
}

static void
probe_settles_a_commit_whose_answer_was_lost(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1 };

	pgproxy_arm(w->proxy, PGPROXY_CUT_ANSWER, COMMIT_BIND);
	assert_status(tx_run_probed(&w->u.cx, add_with_hook, &j, probe), OK);
	assert_int_equal(j.runs, 1);
	assert_int_equal(j.hooks, 1);
	assert_int_equal(items(w), 1);
}

static void
probe_waits_for_a_commit_that_arrives_late(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1 };

	/* The server hears COMMIT only after we asked three times: a probe before that would say "no". */
	pgproxy_arm(w->proxy, PGPROXY_HOLD, COMMIT_BIND);
	assert_status(tx_run_probed(&w->u.cx, add_with_hook, &j, probe), OK);
	assert_true(pgproxy_fired(w->proxy));
	assert_int_equal(j.hooks, 1);
	assert_int_equal(items(w), 1);
}

static void
connection_lost_after_the_answer_changes_nothing(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1 };

	pgproxy_arm(w->proxy, PGPROXY_CUT_AFTER, COMMIT_BIND);
	assert_status(tx_run(&w->u.cx, add_with_hook, &j), OK);
	assert_int_equal(j.hooks, 1);
	j.id = 2;
	assert_status(tx_run(&w->u.cx, add_with_hook, &j), OK);
	assert_in_range(j.runs, 2, 3); /* three where the second began before the cut was seen */
	assert_int_equal(j.hooks, 2);
	assert_int_equal(items(w), 2);
}

static void
warning_at_commit_is_unknown(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1 };

	pgproxy_arm(w->proxy, PGPROXY_WARN, COMMIT_BIND);
	assert_status(tx_run(&w->u.cx, add_with_hook, &j), E_COMMIT_UNKNOWN);
	assert_true(pgproxy_fired(w->proxy));
	assert_int_equal(j.hooks, 0);
	j.id = 2;
	pgproxy_arm(w->proxy, PGPROXY_WARN, COMMIT_BIND);
	assert_status(tx_run_probed(&w->u.cx, add_with_hook, &j, probe), OK);
	assert_int_equal(j.hooks, 1);
}

static status
probe_fails(struct ctx *cx, void *arg, bool *out_committed)
{
	(void)arg;
	*out_committed = true;
	return fail(cx, E_INTERNAL, "cannot tell");
}

static void
a_probe_that_fails_leaves_it_unknown(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1 };

	pgproxy_arm(w->proxy, PGPROXY_CUT, COMMIT_BIND);
	assert_status(tx_run_probed(&w->u.cx, add_with_hook, &j, probe_fails), E_COMMIT_UNKNOWN);
	assert_int_equal(j.hooks, 0);
}

/* A whole life: connect, migrate, prepare, write, read. Something on the way may fail; nothing may lie. */
static void
live(struct world *w, struct job *j, status *out_result)
{
	struct db_options o = { .postgres_url = w->url, .connections = 1, .catalog = &catalog };
	struct number found = { -1 };
	struct ctx *cx = &w->u.cx;
	int applied;

	*out_result = db_open(cx, &o, &cx->db);
	if (*out_result != OK)
		return;
	*out_result = db_migrate(cx, &applied);
	if (*out_result == OK)
		*out_result = db_prepare(cx);
	if (*out_result == OK)
		*out_result = tx_run_probed(cx, add_with_hook, j, probe);
	if (*out_result == OK && db_read(cx, count_items, &found) == OK)
		assert_true(found.n >= 1);
	db_close(cx->db);
}

static void
cut_at_every_message(struct world *w, enum pgproxy_action action, int64_t base)
{
	int64_t expected = items(w);
	bool fired = true;

	for (int n = 1; fired; n++) {
		struct job j = { .id = base + n };
		status result;

		pgproxy_arm_nth(w->proxy, action, n);
		live(w, &j, &result);
		fired = pgproxy_fired(w->proxy);
		pgproxy_arm_nth(w->proxy, PGPROXY_NONE, 1);
		w->u.cx.db = w->db;
		assert_true(result == OK || result == E_UNAVAILABLE);
		assert_int_equal(j.hooks, result == OK);
		expected += result == OK;
		assert_int_equal(items(w), expected);
		arena_reset(&w->u.arena);
		assert_true(n < 200);
	}
}

static void
any_message_may_be_the_last_one(void **state)
{
	struct world *w = *state;

	cut_at_every_message(w, PGPROXY_CUT, 1000);
	cut_at_every_message(w, PGPROXY_CUT_ANSWER, 2000);
}

static void
migrations_survive_a_cut_at_any_message(void **state)
{
	struct world *w = *state;
	struct db_options o = { .postgres_url = w->url, .connections = 1, .catalog = &catalog };
	struct ctx *cx = &w->u.cx;
	bool fired = true;
	unsigned char begin;

	/* each message is a migration of everything: every third of them, another third each time */
	random_bytes(&begin, 1);
	print_message("from message %d\n", 1 + begin % 3);
	for (int n = 1 + begin % 3; fired; n += 3) {
		status result;
		int applied;

		admin(w->direct, "SET client_min_messages = warning; DROP SCHEMA public CASCADE; CREATE "
				 "SCHEMA public");
		assert_status(db_open(cx, &o, &cx->db), OK);
		pgproxy_arm_nth(w->proxy, n % 2 ? PGPROXY_CUT : PGPROXY_CUT_ANSWER, n);
		result = db_migrate(cx, &applied);
		fired = pgproxy_fired(w->proxy);
		pgproxy_arm_nth(w->proxy, PGPROXY_NONE, 1);
		assert_true(result == OK || result == E_UNAVAILABLE || result == E_COMMIT_UNKNOWN);
		assert_status(db_migrate(cx, &applied), OK); /* goes on from wherever that was */
		assert_status(db_prepare(cx), OK);
		db_close(cx->db);
		cx->db = w->db;
		arena_reset(&w->u.arena);
		assert_true(n < 600);
	}
}

/* --- faults --- */

static void
every_fault_point_leaves_all_or_nothing(void **state)
{
	static const struct {
		const char *spec;
		status once, ever; /* the point fails once; fails always */
	} cases[] = {
		{ "tx_before_begin", OK, E_UNAVAILABLE }, { "tx_after_begin", OK, E_UNAVAILABLE },
		{ "tx_after_function", OK, E_UNAVAILABLE }, { "tx_before_commit", OK, E_UNAVAILABLE },
		{ "tx_after_commit", OK, OK }, /* with a probe */
	};
	struct world *w = *state;
	int64_t expected = 0;

	if (!fault_enabled()) {
		print_message("skipped: built without fault points\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int ever = 0; ever < 2; ever++) {
			struct job j = { .id = (int64_t)(10 * i) + ever };
			status want = ever ? cases[i].ever : cases[i].once;
			char spec[64];

			(void)snprintf(spec, sizeof(spec), "%s:1:%s", cases[i].spec, ever ? "break" : "fail");
			assert_true(fault_arm(spec));
			assert_int_equal(tx_run_probed(&w->u.cx, add_tx, &j, probe), want);
			assert_true(
				fault_arm("migrate_between:1000000:fail")); /* arms nothing that we pass */
			expected += want == OK;
			assert_int_equal(items(w), expected);
		}
	}
}

/* --- contention --- */

static status
contend_tx(struct ctx *cx, void *arg)
{
	struct job *j = arg;
	struct number n;

	TRY(add_tx(cx, j));
	return db_one(cx, &contend, number_row, &n, INT(j->id));
}

static void
serialization_failures_are_run_again(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 3 };

	assert_status(tx_run(&w->u.cx, contend_tx, &j), OK);
	assert_int_equal(j.runs, 4);
	assert_int_equal(stats(w).reruns, 3);
	assert_int_equal(items(w), 1);
}

static void
too_many_serialization_failures_are_busy(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1000 };

	assert_status(tx_run(&w->u.cx, contend_tx, &j), E_BUSY);
	assert_int_equal(j.runs, LIMIT_TX_RERUNS + 1);
	assert_int_equal(items(w), 0);
}

struct locker {
	struct world *w;
	pthread_barrier_t *both;
	int64_t first, second;
	int runs;
	status result;
};

static status
lock_two(struct ctx *cx, void *arg)
{
	struct locker *l = arg;
	struct number n;

	TRY(db_one(cx, &item_lock, number_row, &n, INT(l->first)));
	if (l->runs++ == 0)
		(void)pthread_barrier_wait(l->both); /* a test may wait here: it wants the deadlock */
	return db_one(cx, &item_lock, number_row, &n, INT(l->second));
}

static void *
lock_in_thread(void *arg)
{
	struct locker *l = arg;
	UNIT(u);

	u.cx.db = l->w->db;
	l->result = tx_run(&u.cx, lock_two, l);
	return NULL;
}

static void
a_deadlock_is_resolved_by_running_one_again(void **state)
{
	struct world *w = *state;
	struct job one = { .id = 1 }, two = { .id = 2 };
	pthread_barrier_t both;
	struct locker a = { .w = w, .both = &both, .first = 1, .second = 2 };
	struct locker b = { .w = w, .both = &both, .first = 2, .second = 1 };
	pthread_t thread;

	assert_status(tx_run(&w->u.cx, add_tx, &one), OK);
	assert_status(tx_run(&w->u.cx, add_tx, &two), OK);
	assert_int_equal(pthread_barrier_init(&both, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, lock_in_thread, &a), 0);
	lock_in_thread(&b);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_status(a.result, OK);
	assert_status(b.result, OK);
	assert_true(a.runs + b.runs >= 3);
	assert_true(stats(w).reruns >= 1);
	(void)pthread_barrier_destroy(&both);
}

static status
lock_quickly(struct ctx *cx, void *arg)
{
	struct text ignored;
	struct number n;

	(void)arg;
	TRY(db_one(cx, &quick, text_row, &ignored));
	return db_one(cx, &item_lock, number_row, &n, INT(1));
}

static void
a_lock_that_does_not_come_is_busy(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1 };
	PGconn *other = PQconnectdb(w->direct);

	assert_status(tx_run(&w->u.cx, add_tx, &j), OK);
	PQclear(PQexec(other, "BEGIN"));
	PQclear(PQexec(other, "SELECT * FROM item FOR UPDATE"));
	assert_status(tx_run(&w->u.cx, lock_quickly, NULL), E_BUSY);
	PQfinish(other);
	assert_int_equal(stats(w).reruns, 0);
}

static status
dawdle_tx(struct ctx *cx, void *arg)
{
	struct text ignored;

	(void)arg;
	TRY(db_one(cx, &slow, text_row, &ignored));
	return db_run(cx, &dawdle);
}

static void
a_statement_that_takes_too_long_is_busy(void **state)
{
	struct world *w = *state;

	assert_status(tx_run(&w->u.cx, dawdle_tx, NULL), E_BUSY);
	assert_int_equal(items(w), 0);
}

struct holder {
	struct world *w;
	pthread_barrier_t *taken, *release;
};

static status
hold_read(struct ctx *cx, void *arg)
{
	struct holder *h = arg;
	struct number n;

	TRY(db_one(cx, &item_count, number_row, &n));
	(void)pthread_barrier_wait(h->taken);
	(void)pthread_barrier_wait(h->release);
	return OK;
}

static void *
hold_in_thread(void *arg)
{
	struct holder *h = arg;
	UNIT(u);

	u.cx.db = h->w->db;
	CHECK(db_read(&u.cx, hold_read, h) == OK);
	return NULL;
}

static void
when_every_connection_is_taken_a_deadline_makes_it_busy(void **state)
{
	struct world *w = *state;
	pthread_barrier_t taken, release;
	struct holder h = { w, &taken, &release };
	struct job j = { .id = 1 };
	pthread_t threads[2];

	assert_int_equal(pthread_barrier_init(&taken, NULL, 3), 0);
	assert_int_equal(pthread_barrier_init(&release, NULL, 3), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hold_in_thread, &h), 0);
	(void)pthread_barrier_wait(&taken);
	w->u.cx.deadline_us = clock_mono_us() + 20000;
	assert_status(tx_run(&w->u.cx, add_tx, &j), E_BUSY);
	assert_int_equal(j.runs, 0);
	assert_int_equal(stats(w).queue_now, 0);
	w->u.cx.deadline_us = 0;
	(void)pthread_barrier_wait(&release);
	assert_status(tx_run(&w->u.cx, add_tx, &j), OK); /* waits until one is free */
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	(void)pthread_barrier_destroy(&taken);
	(void)pthread_barrier_destroy(&release);
}

/* --- errors by their SQLSTATE --- */

static status
raise_tx(struct ctx *cx, void *arg)
{
	struct job *j = arg;

	TRY(add_tx(cx, j));
	return db_run(cx, &raise, TEXT(j->text));
}

static void
each_sqlstate_has_its_status(void **state)
{
	static const struct {
		const char *sqlstate;
		status want;
	} cases[] = {
		{ "23505", E_EXISTS },
		{ "23P01", E_EXISTS },
		{ "23503", E_REFERENCED },
		{ "23001", E_REFERENCED },
		{ "23502", E_INVALID },
		{ "23514", E_INVALID },
		{ "22003", E_INVALID },
		{ "22021", E_INVALID },
		{ "55P03", E_BUSY },
		{ "57014", E_BUSY },
		{ "25006", E_READ_ONLY },
		{ "53100", E_DISK_FULL },
		{ "53200", E_UNAVAILABLE },
		{ "58030", E_UNAVAILABLE },
		{ "54000", E_TOO_LARGE },
		{ "P0001", E_INVALID },
		{ "42P01", E_INTERNAL },
		{ "XX000", E_INTERNAL },
		{ "40P01", E_BUSY },
		{ "08006", E_UNAVAILABLE },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job j = { .id = 1, .text = str_of(cases[i].sqlstate) };

		assert_int_equal(tx_run(&w->u.cx, raise_tx, &j), cases[i].want);
		assert_true(ctx_message(&w->u.cx, cases[i].want).len > 0);
	}
	assert_int_equal(items(w), 0);
}

/* --- values --- */

struct kinds {
	int64_t small, mid, big;
	bool yes;
	str raw;
};
static const struct field kinds_row[] = {
	FIELD_INT(struct kinds, small),
	FIELD_INT(struct kinds, mid),
	FIELD_INT(struct kinds, big),
	FIELD_BOOL(struct kinds, yes),
	FIELD_BLOB(struct kinds, raw),
	FIELD_END,
};

static status
kinds_tx(struct ctx *cx, void *arg)
{
	const struct kinds *k = arg;

	return db_run(cx, &kinds_add, INT(k->small), INT(k->mid), INT(k->big), INT(k->yes), BLOB(k->raw));
}

static status
kinds_read(struct ctx *cx, void *arg)
{
	return db_one(cx, &kinds_get, kinds_row, arg);
}

static void
every_width_of_number_and_bytes_come_back_exactly(void **state)
{
	struct world *w = *state;
	struct kinds in = { INT16_MIN, INT32_MIN, INT64_MIN, true, STR("\0\xff'\\\0") }, out;

	assert_status(tx_run(&w->u.cx, kinds_tx, &in), OK);
	assert_status(db_read(&w->u.cx, kinds_read, &out), OK);
	assert_int_equal(out.small, INT16_MIN);
	assert_int_equal(out.mid, INT32_MIN);
	assert_true(out.big == INT64_MIN);
	assert_true(out.yes);
	assert_true(str_eq(out.raw, in.raw));
}

static void
a_number_too_wide_for_its_column_is_invalid(void **state)
{
	struct world *w = *state;
	struct kinds in = { INT16_MAX + 1, 0, 0, true, STR("") };

	assert_status(tx_run(&w->u.cx, kinds_tx, &in), E_INVALID);
	in.small = 0;
	assert_status(tx_run(&w->u.cx, kinds_tx, &in), OK);
}

static status
add_text(struct ctx *cx, void *arg)
{
	return db_run(cx, &item_add, INT(1), TEXT(*(str *)arg));
}

static status
first_note(struct ctx *cx, void *arg)
{
	return db_one(cx, &item_notes, text_row, arg);
}

static void
text_is_kept_to_the_byte_or_refused(void **state)
{
	struct world *w = *state;
	str with_nul = STR("a\0b"), broken = STR("a\xff"), empty = STR(""),
	    fine = STR("\xf0\x9f\x8c\xb1 12345678");
	struct text out = { 0 };

	assert_status(tx_run(&w->u.cx, add_text, &with_nul), E_INVALID);
	assert_status(tx_run(&w->u.cx, add_text, &broken), E_INVALID);
	assert_int_equal(items(w), 0);
	assert_status(tx_run(&w->u.cx, add_text, &empty), OK); /* and not NULL: the column would refuse it */
	admin(w->direct, "DELETE FROM item");
	assert_status(tx_run(&w->u.cx, add_text, &fine), OK);
	assert_status(db_read(&w->u.cx, first_note, &out), OK);
	assert_true(str_eq(out.text, fine));
}

static status
add_wrongly(struct ctx *cx, void *arg)
{
	(void)arg;
	return db_run(cx, &item_add, TEXT(STR("12345678")), TEXT(STR("eight bytes are no number")));
}

static void
a_parameter_of_another_type_is_our_own_error(void **state)
{
	struct world *w = *state;

	assert_status(tx_run(&w->u.cx, add_wrongly, NULL), E_INTERNAL);
	assert_int_equal(items(w), 0);
}

static status
read_series(struct ctx *cx, void *arg)
{
	struct number *rows;
	size_t count;
	int64_t *n = arg;

	TRY(db_all(cx, &series, number_row, sizeof(*rows), &rows, &count, INT(*n)));
	*n = (int64_t)count;
	return OK;
}

static void
too_many_rows_are_refused_and_the_connection_goes_on(void **state)
{
	struct world *w = *state;
	int64_t n = LIMIT_DB_ROWS + 1;

	assert_status(db_read(&w->u.cx, read_series, &n), E_TOO_LARGE);
	n = LIMIT_DB_ROWS;
	assert_status(db_read(&w->u.cx, read_series, &n), OK);
	assert_int_equal(n, LIMIT_DB_ROWS);
	assert_int_equal(stats(w).reconnects, 0);
}

/* --- round trips --- */

static status
add_three(struct ctx *cx, void *arg)
{
	(void)arg;
	TRY(db_run(cx, &item_add, INT(1), TEXT(STR("one"))));
	TRY(db_run(cx, &item_add, INT(2), TEXT(STR("two"))));
	return db_run(cx, &item_add, INT(3), TEXT(STR("three")));
}

static status
nothing(struct ctx *cx, void *arg)
{
	(void)cx;
	(void)arg;
	return OK;
}

static void
begin_and_the_end_of_a_read_cost_no_round_trip(void **state)
{
	struct world *w = *state;
	int64_t before = stats(w).round_trips;

	assert_status(tx_run(&w->u.cx, add_three, NULL), OK);
	assert_int_equal(stats(w).round_trips - before, 4); /* three statements and COMMIT */
	before = stats(w).round_trips;
	assert_int_equal(items(w), 3);
	assert_int_equal(stats(w).round_trips - before, 1);
	before = stats(w).round_trips;
	assert_status(tx_run(&w->u.cx, nothing, NULL), OK);
	assert_int_equal(stats(w).round_trips - before, 1);
	assert_status(db_read(&w->u.cx, nothing, NULL), OK);
	assert_int_equal(items(w), 3);
}

static status
add_three_later(struct ctx *cx, void *arg)
{
	int64_t now_us;

	(void)arg;
	TRY(db_later(cx, &item_add, INT(1), TEXT(STR("one"))));
	TRY(tx_now_later(cx));
	TRY(db_later(cx, &item_add, INT(2), TEXT(STR("two"))));
	TRY(db_run(cx, &item_add, INT(3), TEXT(STR("three"))));
	TRY(tx_now_us(cx, &now_us));
	return now_us > 0 ? OK : E_INTERNAL;
}

static status
only_later(struct ctx *cx, void *arg)
{
	return db_later(cx, &item_add, INT(*(const int64_t *)arg), TEXT(STR("later")));
}

static void
what_is_said_later_costs_no_round_trip(void **state)
{
	struct world *w = *state;
	int64_t before = stats(w).round_trips, four = 4;

	assert_status(tx_run(&w->u.cx, add_three_later, NULL), OK);
	assert_int_equal(stats(w).round_trips - before, 2); /* the last statement and COMMIT */
	assert_int_equal(items(w), 3);
	before = stats(w).round_trips;
	assert_status(tx_run(&w->u.cx, only_later, &four), OK);
	assert_int_equal(stats(w).round_trips - before, 1); /* with COMMIT */
	assert_int_equal(items(w), 4);
}

struct question {
	int64_t missing;
	struct db_rows first, many[PG_QUESTIONS + 1];
};

static status
ask_one_too_many(struct ctx *cx, void *arg)
{
	struct question *q = arg;

	for (int i = 0; i < PG_QUESTIONS; i++)
		TRY(db_ask(cx, &series, number_row, sizeof(struct number), &q->many[i], INT(20 + i)));
	assert_int_equal(q->many[0].count, 0); /* nothing was waited for */
	TRY(db_ask(cx, &item_count, number_row, sizeof(struct number), &q->many[PG_QUESTIONS]));
	for (size_t i = 0; i < PG_QUESTIONS; i++) { /* now those before it were */
		assert_int_equal(q->many[i].count, 20 + i);
		assert_int_equal(((const struct number *)q->many[i].rows)[19].n, 20);
	}
	TRY(db_wait(cx));
	assert_int_equal(q->many[PG_QUESTIONS].count, 1);
	return db_wait(cx);
}

static status
ask_what_fails(struct ctx *cx, void *arg)
{
	struct question *q = arg;
	int64_t now_us;

	TRY(db_ask(cx, &raise, number_row, sizeof(struct number), &q->first, TEXT(STR("22012"))));
	return tx_now_us(cx, &now_us);
}

static status
ask_and_leave(struct ctx *cx, void *arg)
{
	struct question *q = arg;

	TRY(db_ask(cx, &item_count, number_row, sizeof(struct number), &q->first));
	return q->missing ? fail(cx, E_FORBIDDEN, "no") : OK;
}

static void
a_question_is_answered_with_what_is_waited_for_next(void **state)
{
	struct world *w = *state;
	struct question q = { .missing = 1 };
	int64_t before = stats(w).round_trips;

	assert_status(tx_run(&w->u.cx, ask_one_too_many, &q), OK);
	assert_int_equal(stats(w).round_trips - before, 3);
	assert_status(tx_run(&w->u.cx, ask_what_fails, &q), E_INVALID);
	assert_status(tx_run(&w->u.cx, ask_and_leave, &q), E_FORBIDDEN);
	q.missing = 0;
	assert_status(tx_run(&w->u.cx, ask_and_leave, &q), OK);
	assert_int_equal(q.first.count, 1);
	assert_int_equal(items(w), 0);
}

static status
nest_later_twice(struct ctx *cx, void *arg)
{
	int64_t five = 5;

	assert_status(tx_nest(cx, only_later, arg), E_EXISTS);
	ctx_clear(cx);
	assert_status(tx_try(cx, only_later, arg), E_EXISTS);
	ctx_clear(cx);
	return tx_nest(cx, only_later, &five);
}

static status
later_and_then_fail(struct ctx *cx, void *arg)
{
	TRY(only_later(cx, arg));
	return fail(cx, E_FORBIDDEN, "no");
}

static status
later_and_then_nest(struct ctx *cx, void *arg)
{
	int64_t six = 6;

	TRY(only_later(cx, arg));
	(void)!tx_nest(cx, only_later, &six); /* the failure is not the nest's: it cannot be passed over */
	return OK;
}

/* A failure belongs to the part it stands in, and the link is as good as before. */
static void
what_is_said_later_fails_where_it_stands(void **state)
{
	struct world *w = *state;
	int64_t one = 1;

	assert_status(tx_run(&w->u.cx, only_later, &one), OK);
	assert_status(tx_run(&w->u.cx, only_later, &one), E_EXISTS);
	assert_status(tx_run(&w->u.cx, later_and_then_fail, &one), E_FORBIDDEN);
	assert_status(tx_run(&w->u.cx, later_and_then_nest, &one), E_EXISTS);
	assert_int_equal(items(w), 1);
	assert_status(tx_run(&w->u.cx, nest_later_twice, &one), OK);
	assert_int_equal(items(w), 2);
}

/* There is no savepoint to release: that fails, and PostgreSQL skips the ROLLBACK behind it. */
static status
add_and_spoil_the_rollback(struct ctx *cx, void *arg)
{
	(void)arg;
	TRY(db_run(cx, &item_add, INT(1), TEXT(STR("one"))));
	TRY(pglink_queue(cx, cx->tx->connection, PG_RELEASE));
	return fail(cx, E_FORBIDDEN, "no");
}

static void
a_connection_whose_transaction_is_still_open_is_replaced(void **state)
{
	struct world *w = *state;
	int64_t before = stats(w).reconnects;

	assert_status(tx_run(&w->u.cx, add_and_spoil_the_rollback, NULL), E_FORBIDDEN);
	assert_int_equal(items(w), 0);
	assert_int_equal(stats(w).reconnects - before, 1);
}

static status
try_later_and_add(struct ctx *cx, void *arg)
{
	TRY(tx_try_later(cx, only_later, arg));
	return only_later(cx, arg);
}

static status
ask_in_try(struct ctx *cx, void *arg)
{
	struct question *q = arg;

	TRY(tx_try_later(cx, ask_and_leave, q));
	return q->first.count == 1 ? OK : fail(cx, E_INTERNAL, "the answer may come when nobody is there");
}

static void
a_try_that_is_not_waited_for_costs_no_round_trip(void **state)
{
	struct world *w = *state;
	int64_t before = stats(w).round_trips, one = 1;
	struct question q = { 0 };

	assert_status(tx_run(&w->u.cx, try_later_and_add, &one), OK);
	assert_int_equal(stats(w).round_trips - before, 1); /* with COMMIT */
	assert_int_equal(items(w), 1);
	assert_status(tx_run(&w->u.cx, try_later_and_add, &one), E_EXISTS);
	assert_status(tx_run(&w->u.cx, ask_in_try, &q), OK);
	assert_int_equal(items(w), 1);
}

static status
fail_in_try(struct ctx *cx, void *arg)
{
	(void)arg;
	TRY(db_run(cx, &item_add, INT(2), TEXT(STR("two"))));
	return db_run(cx, &item_add, INT(1), TEXT(STR("again")));
}

static status
try_and_go_on(struct ctx *cx, void *arg)
{
	int64_t *out = arg;
	int64_t a, b;

	TRY(tx_now_us(cx, &a));
	TRY(db_run(cx, &item_add, INT(1), TEXT(STR("one"))));
	if (tx_try(cx, fail_in_try, NULL) != E_EXISTS || tx_try(cx, nothing, NULL) != OK)
		return fail(cx, E_INTERNAL, "the attempt went otherwise");
	TRY(db_run(cx, &item_add, INT(3), TEXT(STR("three"))));
	TRY(tx_now_us(cx, &b));
	*out = a == b ? a : -1;
	return OK;
}

static void
a_failed_attempt_is_undone_and_the_transaction_goes_on(void **state)
{
	struct world *w = *state;
	int64_t now_us = 0, before = clock_now_us();

	assert_status(tx_run(&w->u.cx, try_and_go_on, &now_us), OK);
	assert_int_equal(items(w), 2);
	assert_true(now_us >= before - 60 * SECOND_US && now_us <= clock_now_us() + 60 * SECOND_US);
}

/* --- servers that are not what they should be --- */

static status
read_settings(struct ctx *cx, void *arg)
{
	return db_one(cx, &settings, text_row, arg);
}

static void
the_session_is_ours_whatever_the_server_says(void **state)
{
	struct world *w = *state;
	struct text out;
	char sql[200];

	db_close(w->db);
	(void)snprintf(sql, sizeof(sql), "ALTER DATABASE %s SET synchronous_commit = off", w->name);
	admin(server, sql);
	(void)snprintf(sql, sizeof(sql), "ALTER DATABASE %s SET timezone = 'Asia/Tokyo'", w->name);
	admin(server, sql);
	(void)snprintf(sql, sizeof(sql), "ALTER DATABASE %s SET client_encoding = 'LATIN1'", w->name);
	admin(server, sql);
	(void)snprintf(sql, sizeof(sql), "ALTER DATABASE %s SET default_transaction_isolation = serializable",
		w->name);
	admin(server, sql);
	open_db(w, 1);
	assert_status(db_read(&w->u.cx, read_settings, &out), OK);
	assert_str(out.text, "5s 30s 15s UTC countersign UTF8 on repeatable read");
	assert_status(tx_run(&w->u.cx, read_settings, &out), OK);
	assert_str(out.text, "5s 30s 15s UTC countersign UTF8 on read committed");
}

static void
a_server_that_takes_no_writes_is_refused(void **state)
{
	struct world *w = *state;
	struct db_options o = { .postgres_url = w->url, .connections = 1, .catalog = &catalog };
	struct db *db = NULL;
	char sql[200];

	(void)snprintf(sql, sizeof(sql), "ALTER DATABASE %s SET default_transaction_read_only = on", w->name);
	admin(server, sql);
	assert_status(db_open(&w->u.cx, &o, &db), E_UNAVAILABLE);
	assert_null(db);
	assert_non_null(strstr(arena_cstr(w->u.cx.arena, w->u.cx.error.message), "read-only"));
}

static void
a_second_host_is_tried(void **state)
{
	struct world *w = *state;
	struct pgproxy *gone = pgproxy_start("127.0.0.1", "1");
	struct job j = { .id = 1 };
	int port = pgproxy_port(gone);
	char user[64];

	pgproxy_stop(gone);
	db_close(w->db);
	server_part("user", "postgres", user, sizeof(user));
	(void)snprintf(w->url, sizeof(w->url), "postgresql://%s@127.0.0.1:%d,127.0.0.1:%d/%s?sslmode=disable",
		user, port, pgproxy_port(w->proxy), w->name);
	open_db(w, 2);
	arm_statement(w, PGPROXY_CUT, &item_add);
	assert_status(tx_run(&w->u.cx, add_tx, &j), OK);
	assert_int_equal(items(w), 1);
}

static status
read_notes(struct ctx *cx, void *arg)
{
	struct text *rows;

	return db_all(cx, &item_notes, text_row, sizeof(*rows), &rows, (size_t *)arg);
}

static void
a_column_that_changed_its_type_is_prepared_again(void **state)
{
	struct world *w = *state;
	struct job j = { .id = 1 };
	size_t count = 0;

	assert_status(tx_run(&w->u.cx, add_tx, &j), OK);
	assert_status(db_read(&w->u.cx, read_notes, &count), OK);
	admin(w->direct, "ALTER TABLE item ALTER COLUMN note TYPE varchar(100)");
	assert_status(db_read(&w->u.cx, read_notes, &count), OK);
	assert_int_equal(count, 1);
	assert_int_equal(stats(w).reruns, 1);
}

static void
a_statement_that_does_not_fit_is_named(void **state)
{
	struct world *w = *state;
	struct db_options o = { .postgres_url = w->url, .connections = 1, .catalog = &catalog };
	struct db *kept = w->db;

	admin(w->direct, "ALTER TABLE item RENAME TO thing");
	assert_status(db_open(&w->u.cx, &o, &w->u.cx.db), OK);
	assert_status(db_prepare(&w->u.cx), E_SCHEMA);
	assert_non_null(strstr(arena_cstr(w->u.cx.arena, w->u.cx.error.message), "item_add"));
	db_close(w->u.cx.db);
	w->u.cx.db = kept;
}

static status
prepare_one(struct world *w, struct sql s)
{
	const struct sql *list[1] = { &s };
	struct db_catalog only = { .sql = list, .sql_count = 1 };
	struct db_options o = { .postgres_url = w->url, .connections = 1, .catalog = &only };
	struct ctx *cx = &w->u.cx;
	status result;

	s.index = 0;
	assert_status(db_open(cx, &o, &cx->db), OK);
	result = db_prepare(cx);
	db_close(cx->db);
	cx->db = w->db;
	return result;
}

static void
a_statement_with_a_type_we_do_not_use_is_refused_at_the_start(void **state)
{
	struct world *w = *state;
	struct sql sum = { .name = "sum", .postgres = "SELECT sum(id) FROM item", .columns = 1 };
	struct sql date = {
		.name = "date", .postgres = "SELECT 1 WHERE now() > $1", .columns = 1, .params = 1
	};
	struct sql more = { .name = "more", .postgres = "SELECT 1, 2", .columns = 1 };

	assert_status(prepare_one(w, sum), E_INTERNAL);
	assert_status(prepare_one(w, date), E_INTERNAL);
	assert_status(prepare_one(w, more), E_INTERNAL);
}

static void
the_engine_says_what_it_is(void **state)
{
	struct world *w = *state;
	str version;

	assert_string_equal(db_engine(w->db), "postgres");
	assert_status(db_engine_version(&w->u.cx, &version), OK);
	assert_true(version.len > 0 && version.ptr[0] >= '1' && version.ptr[0] <= '9');
}

/* --- migrations --- */

static void *
migrate_in_thread(void *arg)
{
	struct locker *l = arg;
	struct db_options o = { .postgres_url = l->w->url, .connections = 1, .catalog = &catalog };
	UNIT(u);

	CHECK(db_open(&u.cx, &o, &u.cx.db) == OK);
	(void)pthread_barrier_wait(l->both);
	l->result = db_migrate(&u.cx, &l->runs);
	db_close(u.cx.db);
	return NULL;
}

static void
two_processes_migrate_one_after_the_other(void **state)
{
	struct world *w = *state;
	pthread_barrier_t both;
	struct locker a = { .w = w, .both = &both }, b = a;
	pthread_t thread;

	admin(w->direct,
		"SET client_min_messages = warning; DROP SCHEMA public CASCADE; CREATE SCHEMA public");
	assert_int_equal(pthread_barrier_init(&both, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, migrate_in_thread, &a), 0);
	migrate_in_thread(&b);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_status(a.result, OK);
	assert_status(b.result, OK);
	assert_int_equal(a.runs + b.runs, catalog.migration_count);
	(void)pthread_barrier_destroy(&both);
}

static void
a_migration_that_fails_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct migration *m = &steps[migration_count];
	struct number n = { -1 };
	int applied;

	admin(w->direct,
		"SET client_min_messages = warning; DROP SCHEMA public CASCADE; CREATE SCHEMA public");
	m->postgres = "CREATE TABLE half (id bigint); SELECT 1/0";
	assert_status(db_migrate(&w->u.cx, &applied), E_INVALID);
	m->postgres = schema;
	assert_status(db_migrate(&w->u.cx, &applied), OK);
	assert_int_equal(applied, 1);
	assert_status(db_read(&w->u.cx, count_items, &n), OK);
	assert_int_equal(n.n, 0);
	admin(w->direct, "CREATE TABLE half (id bigint)"); /* there is none yet */
}

/* --- secrets, without a server --- */

static void
no_message_holds_the_password(void **state)
{
	static const char *const urls[] = {
		"postgresql://me:s3cret@127.0.0.1:1/x",
		"postgresql://me:s3cret%zz@127.0.0.1:1/x",
		"postgresql://me:s3cret@[127.0.0.1/x",
		"host=127.0.0.1 port=1 password=s3cret user",
		"host=127.0.0.1 port=1 password='s3cret",
		"postgresql://me:s3cret@127.0.0.1:port/x",
		"s3cret",
	};
	UNIT(u);

	(void)state;
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct db_options o = { .postgres_url = urls[i], .connections = 1, .catalog = &catalog };
		struct db *db = NULL;

		assert_status(db_open(&u.cx, &o, &db), E_UNAVAILABLE);
		assert_null(strstr(arena_cstr(u.cx.arena, u.cx.error.message), "s3cret"));
		assert_true(u.cx.error.message.len > 10);
	}
}

int
main(void)
{
	const struct CMUnitTest offline[] = {
		cmocka_unit_test(no_message_holds_the_password),
	};
	const struct CMUnitTest online[] = {
		ON_SERVER(what_is_said_later_costs_no_round_trip),
		ON_SERVER(a_question_is_answered_with_what_is_waited_for_next),
		ON_SERVER(what_is_said_later_fails_where_it_stands),
		ON_SERVER(a_connection_whose_transaction_is_still_open_is_replaced),
		ON_SERVER(a_try_that_is_not_waited_for_costs_no_round_trip),
		ON_SERVER(lost_before_commit_runs_the_function_again),
		ON_SERVER(answer_lost_before_commit_leaves_one_row),
		ON_SERVER(backend_ended_before_commit_is_unavailable_and_not_unknown),
		ON_SERVER(no_server_is_unavailable_until_it_is_back),
		ON_SERVER(idle_connections_that_died_are_replaced),
		ON_SERVER(a_read_that_loses_its_connection_is_read_again),
		ON_SERVER(commit_that_never_arrived_is_unknown_without_a_probe),
		ON_SERVER(commit_that_arrived_is_unknown_without_a_probe),
		ON_SERVER(probe_settles_a_commit_that_never_arrived),
		ON_SERVER(probe_settles_a_commit_whose_answer_was_lost),
		ON_SERVER(probe_waits_for_a_commit_that_arrives_late),
		ON_SERVER(connection_lost_after_the_answer_changes_nothing),
		ON_SERVER(warning_at_commit_is_unknown),
		ON_SERVER(a_probe_that_fails_leaves_it_unknown),
		ON_SERVER(any_message_may_be_the_last_one),
		ON_SERVER(migrations_survive_a_cut_at_any_message),
		ON_SERVER(every_fault_point_leaves_all_or_nothing),
		ON_SERVER(serialization_failures_are_run_again),
		ON_SERVER(too_many_serialization_failures_are_busy),
		ON_SERVER(a_deadlock_is_resolved_by_running_one_again),
		ON_SERVER(a_lock_that_does_not_come_is_busy),
		ON_SERVER(a_statement_that_takes_too_long_is_busy),
		ON_SERVER(when_every_connection_is_taken_a_deadline_makes_it_busy),
		ON_SERVER(each_sqlstate_has_its_status),
		ON_SERVER(every_width_of_number_and_bytes_come_back_exactly),
		ON_SERVER(a_number_too_wide_for_its_column_is_invalid),
		ON_SERVER(text_is_kept_to_the_byte_or_refused),
		ON_SERVER(a_parameter_of_another_type_is_our_own_error),
		ON_SERVER(too_many_rows_are_refused_and_the_connection_goes_on),
		ON_SERVER(begin_and_the_end_of_a_read_cost_no_round_trip),
		ON_SERVER(a_failed_attempt_is_undone_and_the_transaction_goes_on),
		ON_SERVER(the_session_is_ours_whatever_the_server_says),
		ON_SERVER(a_server_that_takes_no_writes_is_refused),
		ON_SERVER(a_second_host_is_tried),
		ON_SERVER(a_column_that_changed_its_type_is_prepared_again),
		ON_SERVER(a_statement_that_does_not_fit_is_named),
		ON_SERVER(a_statement_with_a_type_we_do_not_use_is_refused_at_the_start),
		ON_SERVER(the_engine_says_what_it_is),
		ON_SERVER(two_processes_migrate_one_after_the_other),
		ON_SERVER(a_migration_that_fails_leaves_nothing),
	};
	int failed;

	make_catalog();
	server = getenv("COUNTERSIGN_TEST_POSTGRES");
	failed = cmocka_run_group_tests(offline, NULL, NULL);
	if (!server || !server[0]) {
		print_message("skipped: COUNTERSIGN_TEST_POSTGRES does not name a server\n");
		return failed;
	}
	return failed + cmocka_run_group_tests(online, NULL, NULL);
}
