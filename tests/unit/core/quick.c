/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a budget that are lent, and rows of reads that are written a moment later (TL-5, TL-9). */
#include "tests/unit/database.h"
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "core/event.h"
#include "core/gate/quick/behind.h"
#include "core/gate/quick/lease.h"
#include "core/id.h"
#include "core/ident/org.h"

#include <pthread.h>
#include <time.h>

#define CAP INT64_C(1280) /* 128 slots of ten calls */

struct world {
	struct database database;
	struct arena arena;
	struct ctx cx;
	struct org_first first;
	struct credential token;
	struct caller caller;
};

static bool on_postgres; /* which engine this round is for */

static int
make_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct db_options options;
	int applied;

	CHECK(w != NULL);
	arena_init(&w->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&w->cx, &w->arena);
	w->cx.keys = unit_keys();
	database_make(&w->database, on_postgres);
	options = database_options(&w->database);
	assert_status(db_open(&w->cx, &options, &w->cx.db), OK);
	assert_status(db_migrate(&w->cx, &applied), OK);
	assert_status(db_prepare(&w->cx), OK);
	assert_status(org_bootstrap(&w->cx, STR("ada@example.org"), &w->first), OK);
	w->token.bearer = STR("cs_agt_of_the_first_agent");
	w->caller = (struct caller){ .org_id = w->first.org_id,
		.principal_id = w->first.agent_id,
		.rate_per_minute = CAP,
		.via_token = true };
	w->cx.credential = &w->token;
	w->cx.leases = leases_new();
	*state = w;
	return 0;
}

static int
drop_world(void **state)
{
	struct world *w = *state;

	leases_free(w->cx.leases);
	db_close(w->cx.db);
	database_drop(&w->database);
	arena_done(&w->arena);
	free(w);
	return 0;
}

/* --- calls --- */

struct taking {
	struct world *w;
	struct budget left;
	status then; /* what becomes of the transaction */
};

static status
take_tx(struct ctx *cx, void *arg)
{
	struct taking *t = arg;

	TRY(budget_take(cx, &t->w->caller, &t->left));
	return t->then == OK ? OK : fail(cx, t->then, "undone");
}

static void
take(struct world *w)
{
	struct taking t = { .w = w };

	assert_status(tx_run(&w->cx, take_tx, &t), OK);
}

/* As another server sees it, which takes one itself. */
static int64_t
left_elsewhere(struct world *w)
{
	struct leases *ours = w->cx.leases;
	struct taking t = { .w = w };

	w->cx.leases = NULL;
	assert_status(tx_run(&w->cx, take_tx, &t), OK);
	w->cx.leases = ours;
	return t.left.left;
}

static void
wait_until_over(struct world *w)
{
	struct timespec moment = { .tv_nsec = 10000000 };

	while (lease_ready(w->cx.leases, &w->token))
		(void)nanosleep(&moment, NULL);
}

static void
a_token_that_is_busy_holds_the_rest_of_a_slot(void **state)
{
	struct world *w = *state;
	struct credential other = { .bearer = STR("cs_agt_other") };
	struct budget left;

	take(w);
	assert_false(lease_ready(w->cx.leases, &w->token)); /* one call is not busy */
	take(w);
	assert_true(lease_ready(w->cx.leases, &w->token));
	assert_false(lease_ready(w->cx.leases, &other));
	for (int64_t i = 0; i < 8; i++) { /* ten in a slot, two are used */
		assert_true(lease_take(w->cx.leases, &w->token, &left));
		assert_int_equal(left.left, CAP - 3 - i);
		assert_int_equal(left.cap, CAP);
		assert_true(left.reset_us > 0);
	}
	assert_false(lease_take(w->cx.leases, &w->token, &left));
	assert_false(lease_ready(w->cx.leases, &w->token));
	assert_int_equal(left_elsewhere(w), CAP - 11);
}

static void
what_is_held_is_spent_for_everybody_else_and_what_is_not_used_comes_back(void **state)
{
	struct world *w = *state;
	struct budget left;

	take(w);
	take(w);
	assert_int_equal(left_elsewhere(w), CAP - 11); /* the ten of the slot, and its own */
	assert_true(lease_take(w->cx.leases, &w->token, &left));
	assert_status(lease_sweep(&w->cx), OK); /* not over yet: nothing comes back */
	assert_true(lease_ready(w->cx.leases, &w->token));
	wait_until_over(w);
	assert_false(lease_take(w->cx.leases, &w->token, &left));
	assert_status(lease_sweep(&w->cx), OK);
	assert_status(lease_sweep(&w->cx), OK); /* once */
	assert_int_equal(left_elsewhere(w), CAP - 5);
}

static void
a_token_that_stays_busy_does_not_wait_for_the_sweep(void **state) /* TL-9 */
{
	struct world *w = *state;

	take(w);
	take(w);
	wait_until_over(w);
	take(w);
	take(w);
	assert_true(lease_ready(w->cx.leases, &w->token));
	assert_int_equal(left_elsewhere(w), CAP - 21); /* both slots are held still, and its own */
	assert_status(lease_sweep(&w->cx), OK);
	assert_true(lease_ready(w->cx.leases, &w->token));
	assert_int_equal(left_elsewhere(w), CAP - 14); /* eight of the first one came back */
}

static void
what_is_undone_is_not_lent(void **state)
{
	struct world *w = *state;
	struct taking t = { .w = w, .then = E_CONFLICT };

	take(w);
	assert_status(tx_run(&w->cx, take_tx, &t), E_CONFLICT);
	assert_false(lease_ready(w->cx.leases, &w->token));
	assert_int_equal(left_elsewhere(w), CAP - 2);
}

static void
a_small_budget_and_a_session_are_asked_for_each_time(void **state)
{
	struct world *w = *state;

	w->caller.rate_per_minute = 600;
	take(w);
	take(w);
	assert_false(lease_ready(w->cx.leases, &w->token));
	w->caller.rate_per_minute = CAP;
	w->caller.via_token = false;
	take(w);
	take(w);
	assert_false(lease_ready(w->cx.leases, &w->token));
}

static void
nothing_is_lent_where_other_calls_leave_no_room(void **state)
{
	struct world *w = *state;
	struct leases *ours = w->cx.leases;

	w->cx.leases = NULL;
	w->caller.rate_per_minute = 2 * CAP;
	for (int64_t i = 0; i < 21; i++) /* two slots, and one call */
		take(w);
	w->cx.leases = ours;
	w->caller.rate_per_minute = 1030; /* slots of nine and of eight */
	take(w);
	take(w);
	assert_true(lease_ready(w->cx.leases, &w->token));
}

static void
a_second_lease_of_a_token_goes_back(void **state)
{
	struct world *w = *state;
	struct lease l = { .org_id = w->first.org_id,
		.principal_id = w->first.agent_id,
		.until_us = clock_mono_us() + 60 * SECOND_US,
		.calls = 3 };
	struct budget left;

	(void)lease_wanted(w->cx.leases, &w->token);
	lease_put(w->cx.leases, &w->token, &l);
	lease_put(w->cx.leases, &w->token, &l);
	assert_status(lease_sweep(&w->cx), OK);
	for (int i = 0; i < 3; i++)
		assert_true(lease_take(w->cx.leases, &w->token, &left));
	assert_false(lease_take(w->cx.leases, &w->token, &left));
}

static void
more_tokens_than_there_is_room_for_only_lose_their_leases(void **state)
{
	struct world *w = *state;
	struct lease l = { .org_id = w->first.org_id,
		.principal_id = w->first.agent_id,
		.until_us = clock_mono_us() + 60 * SECOND_US,
		.calls = 3 };
	int kept = 0;

	for (int i = 0; i < 4096; i++) {
		struct credential c = { .bearer = arena_printf(&w->arena, "cs_%d", i) };

		(void)lease_wanted(w->cx.leases, &c);
		lease_put(w->cx.leases, &c, &l);
		kept += lease_ready(w->cx.leases, &c);
	}
	assert_true(kept > 512 && kept <= 1024);
}

/* --- rows --- */

static struct gate_row
row_of(struct world *w, str tool)
{
	return (struct gate_row){ .org_id = w->first.org_id,
		.id = id_new(&w->arena),
		.principal_id = w->first.agent_id,
		.tool = tool,
		.args_hash = STR("0"),
		.transport = "rest",
		.effect = "read",
		.state = "executed",
		.called_at = clock_now_us() };
}

struct heard {
	pthread_mutex_t lock;
	int count;
};

static void
hear(void *arg, const struct event *e)
{
	struct heard *h = arg;

	if (!str_eq(e->type, STR("tool.called")))
		return;
	CHECK(pthread_mutex_lock(&h->lock) == 0);
	h->count++;
	CHECK(pthread_mutex_unlock(&h->lock) == 0);
}

static void
rows_are_written_and_are_events(void **state)
{
	struct world *w = *state;
	struct event_hub *hub = event_hub_new(0);
	struct heard heard = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct behind *b = behind_start(&(struct behind_options){ .db = w->cx.db, .events = hub });
	struct gate_row twice = row_of(w, STR("note.get"));

	(void)event_listen(hub, hear, &heard);
	for (int i = 0; i < 300; i++) { /* more than fit one transaction */
		struct gate_row r = row_of(w, STR("note.list"));

		assert_true(behind_add(b, &r));
	}
	assert_true(behind_add(b, &twice));
	assert_true(behind_add(b, &twice)); /* written again: one row */
	behind_stop(b);
	assert_int_equal(heard.count, 302);
	assert_int_equal(database_number(&w->database, "SELECT count(*) FROM call"), 301);
	event_hub_free(hub);
}

static void
more_rows_than_can_wait_are_refused(void **state)
{
	struct world *w = *state;
	struct event_hub *hub = event_hub_new(0);
	struct behind *b = behind_start(&(struct behind_options){ .db = w->cx.db, .events = hub });
	struct gate_row r = row_of(w, STR("note.list"));
	bool refused = false;

	/* the writer is slower than this loop */
	for (unsigned i = 0; i < 64 * LIMIT_BEHIND && !refused; i++)
		refused = !behind_add(b, &r);
	assert_true(refused);
	behind_stop(b);
	event_hub_free(hub);
}

static void
a_row_that_the_database_refuses_holds_up_no_other(void **state)
{
	struct world *w = *state;
	struct event_hub *hub = event_hub_new(0);
	struct behind *b = behind_start(&(struct behind_options){ .db = w->cx.db, .events = hub });
	struct gate_row wrong = row_of(w, STR("note.list"));
	struct timespec moment = { .tv_nsec = 10000000 };

	wrong.org_id = STR("nobody");
	assert_true(behind_add(b, &wrong));
	while (!database_number(&w->database, "SELECT count(*) FROM call")) { /* some may go with it */
		struct gate_row right = row_of(w, STR("note.list"));

		(void)behind_add(b, &right);
		(void)nanosleep(&moment, NULL);
	}
	behind_stop(b);
	event_hub_free(hub);
}

#define ON_WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, drop_world)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ON_WORLD(a_token_that_is_busy_holds_the_rest_of_a_slot),
		ON_WORLD(what_is_held_is_spent_for_everybody_else_and_what_is_not_used_comes_back),
		ON_WORLD(a_token_that_stays_busy_does_not_wait_for_the_sweep),
		ON_WORLD(what_is_undone_is_not_lent),
		ON_WORLD(a_small_budget_and_a_session_are_asked_for_each_time),
		ON_WORLD(nothing_is_lent_where_other_calls_leave_no_room),
		ON_WORLD(a_second_lease_of_a_token_goes_back),
		ON_WORLD(more_tokens_than_there_is_room_for_only_lose_their_leases),
		ON_WORLD(rows_are_written_and_are_events),
		ON_WORLD(more_rows_than_can_wait_are_refused),
		ON_WORLD(a_row_that_the_database_refuses_holds_up_no_other),
	};
	int failed = cmocka_run_group_tests_name("quick on SQLite", tests, NULL, NULL);

	if (!database_server()) {
		print_message("skipped: PostgreSQL, because COUNTERSIGN_TEST_POSTGRES is not set\n");
		return failed;
	}
	on_postgres = true;
	return failed + cmocka_run_group_tests_name("quick on PostgreSQL", tests, NULL, NULL);
}
