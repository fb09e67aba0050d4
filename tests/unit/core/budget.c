/* SPDX-License-Identifier: Apache-2.0 */
/* The budget below and above the number of slots, and that what a decision reads does not grow with history
 * (TL-9). */
#include "tests/unit/database.h"
#include "tests/unit/unit.h"

#include "core/gate/budget.h"
#include "core/ident/org.h"

#include "core/audit/audit.sql.h"
#include "core/gate/budget.sql.h"
#include "core/proposal/proposal.sql.h"

#include <sqlite3.h>

struct world {
	struct database database;
	struct arena arena;
	struct ctx cx;
	struct org_first first;
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
	*state = w;
	return 0;
}

static int
drop_world(void **state)
{
	struct world *w = *state;

	db_close(w->cx.db);
	database_drop(&w->database);
	arena_done(&w->arena);
	free(w);
	return 0;
}

static struct caller
agent(const struct world *w, int64_t cap)
{
	return (struct caller){
		.org_id = w->first.org_id, .principal_id = w->first.agent_id, .rate_per_minute = cap
	};
}

struct takes {
	struct caller caller;
	struct budget left;
	int64_t count;
};

static status
take_tx(struct ctx *cx, void *arg)
{
	struct takes *t = arg;

	return budget_take(cx, &t->caller, &t->left);
}

static status /* several in one transaction: a disk that syncs slowly is not what we test */
take_many_tx(struct ctx *cx, void *arg)
{
	struct takes *t = arg;

	for (int64_t i = 0; i < t->count; i++) {
		TRY(budget_take(cx, &t->caller, &t->left));
		assert_int_equal(t->left.left, t->caller.rate_per_minute - i - 1);
	}
	return OK;
}

static void
use_up(struct world *w, int64_t cap)
{
	struct takes t = { .caller = agent(w, cap), .count = cap };

	assert_status(tx_run(&w->cx, take_many_tx, &t), OK);
	assert_status(tx_run(&w->cx, take_tx, &t), E_RATE_LIMITED);
	assert_int_equal(t.left.left, 0);
}

static void
a_cap_below_the_number_of_slots_is_exact(void **state)
{
	use_up(*state, 17);
}

static void
a_cap_above_the_number_of_slots_is_exact(void **state)
{
	use_up(*state, 300); /* 44 slots of three calls and 84 of two */
}

static void
what_is_undone_is_not_spent(void **state)
{
	struct world *w = *state;
	struct takes t = { .caller = agent(w, 200), .count = 201 };

	assert_status(tx_run(&w->cx, take_many_tx, &t), E_RATE_LIMITED); /* the last one undoes them all */
	t.count = 200;
	assert_status(tx_run(&w->cx, take_many_tx, &t), OK);
}

static void
calls_with_another_token_count_against_a_lower_cap(void **state)
{
	struct world *w = *state;
	struct takes high = { .caller = agent(w, 1000), .count = 10 }, low = { .caller = agent(w, 10) };

	assert_status(tx_run(&w->cx, take_many_tx, &high), OK);
	assert_status(tx_run(&w->cx, take_tx, &low), E_RATE_LIMITED);
	assert_int_equal(low.left.left, 0);
	low.caller.rate_per_minute = 11;
	assert_status(tx_run(&w->cx, take_tx, &low), OK);
	assert_int_equal(low.left.left, 0);
}

/* A connection of our own to the world's file, beside the engine's. */
static sqlite3 *
beside(struct world *w)
{
	sqlite3 *handle;

	CHECK(sqlite3_open(arena_printf(&w->arena, "%s/countersign.db", w->database.dir.path).ptr, &handle) ==
		SQLITE_OK);
	return handle;
}

static void
age(struct world *w, const char *text)
{
	sqlite3 *handle = beside(w);

	CHECK(sqlite3_exec(handle, text, NULL, NULL, NULL) == SQLITE_OK);
	CHECK(sqlite3_close(handle) == SQLITE_OK);
}

static void
a_slot_comes_free_a_window_after_its_last_call(void **state)
{
	struct world *w = *state;
	struct takes t = { .caller = agent(w, 256), .count = 256 };

	if (on_postgres) {
		print_message(
			"skipped on PostgreSQL: nobody can move its clock; the statement is the same\n");
		skip();
	}
	assert_status(tx_run(&w->cx, take_many_tx, &t), OK);
	age(w, "UPDATE budget_slot SET taken_at = taken_at - 60000000 WHERE slot > 0");
	assert_status(tx_run(&w->cx, take_tx, &t), OK);
	assert_int_equal(t.left.left, 256 - 2 - 1); /* the two of slot 0, and the new one */
	age(w, "UPDATE budget_slot SET taken_at = taken_at - 60000000 WHERE slot = 0");
	assert_status(tx_run(&w->cx, take_tx, &t), OK);
	assert_int_equal(t.left.left, 256 - 2); /* the second call of the slot that was taken last */
}

/* --- plans --- */

/* What SQLite does for a statement, in its own words. */
static str
plan_of(struct world *w, sqlite3 *handle, const struct sql *s)
{
	str text = arena_printf(&w->arena, "EXPLAIN QUERY PLAN %s", s->sqlite), plan = STR("");
	sqlite3_stmt *stmt;

	CHECK(sqlite3_prepare_v2(handle, text.ptr, -1, &stmt, NULL) == SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		plan = arena_printf(
			&w->arena, "%.*s%s; ", STR_ARG(plan), (const char *)sqlite3_column_text(stmt, 3));
	CHECK(sqlite3_finalize(stmt) == SQLITE_OK);
	return plan;
}

static void
a_decision_is_found_by_its_key_and_not_in_the_history(void **state)
{
	const struct {
		const struct sql *sql;
		const char *by;
	} wants[] = {
		{ SQL_PROPOSAL_GET, "proposal_id=?" },
		{ SQL_PROPOSAL_LOCK, "proposal_id=?" },
		{ SQL_PROPOSAL_FINISH, "proposal_id=?" },
		{ SQL_PROPOSAL_VOTES,
			"SEARCH v USING INDEX sqlite_autoindex_vote_1 (org_id=? AND proposal_id=?)" },
		{ SQL_PROPOSAL_OVERDUE, "proposal_by_expiry (org_id=? AND expires_at<?)" },
		{ SQL_PROPOSAL_OVERRUN, "proposal_by_deadline (org_id=? AND deadline_at<?)" },
		{ SQL_BUDGET_TAKE, "principal_id=? AND slot=?" },
		{ SQL_BUDGET_TAKEN, "principal_id=?" },
		{ SQL_AUDIT_LIST_AGENT_ID, "audit_entry_by_agent (org_id=? AND agent_id=? AND entry_id" },
		{ SQL_AUDIT_LIST_AGENT_ID, "audit_entry_by_actor (org_id=? AND actor_id=? AND entry_id" },
		{ SQL_AUDIT_LIST_PROPOSAL_ID,
			"audit_entry_by_proposal (org_id=? AND proposal_id=? AND entry_id" },
		{ SQL_AUDIT_LIST_PROPOSAL_ID,
			"audit_entry_by_resource_id (org_id=? AND resource_id=? AND entry_id" },
		{ SQL_AUDIT_LIST_RESOURCE_KEY,
			"audit_entry_by_resource_key (org_id=? AND resource_key=? AND entry_id" },
		{ SQL_AUDIT_LIST_RESOURCE_KEY,
			"audit_entry_by_resource_id (org_id=? AND resource_id=? AND entry_id" },
		{ SQL_AUDIT_ERASURE_FIND, "audit_entry_by_resource_key (org_id=? AND resource_key=?" },
		{ SQL_AUDIT_PENDING_PAGE, "entry_id=?" },
		{ SQL_AUDIT_PENDING_DONE, "entry_id=?" },
	};
	struct world *w = *state;
	sqlite3 *handle;

	if (on_postgres) {
		print_message("skipped on PostgreSQL: its plans follow what is stored (bench/run growth)\n");
		skip();
	}
	handle = beside(w);
	for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++) {
		str plan = plan_of(w, handle, wants[i].sql);

		if (!strstr(plan.ptr, wants[i].by))
			print_error("%s: %.*s\n", wants[i].sql->name, STR_ARG(plan));
		assert_non_null(strstr(plan.ptr, wants[i].by));
	}
	CHECK(sqlite3_close(handle) == SQLITE_OK);
}

#define ON_WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, drop_world)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ON_WORLD(a_cap_below_the_number_of_slots_is_exact),
		ON_WORLD(a_cap_above_the_number_of_slots_is_exact),
		ON_WORLD(what_is_undone_is_not_spent),
		ON_WORLD(calls_with_another_token_count_against_a_lower_cap),
		ON_WORLD(a_slot_comes_free_a_window_after_its_last_call),
		ON_WORLD(a_decision_is_found_by_its_key_and_not_in_the_history),
	};
	int failed = cmocka_run_group_tests_name("budget on SQLite", tests, NULL, NULL);

	if (!database_server()) {
		print_message("skipped: PostgreSQL, because COUNTERSIGN_TEST_POSTGRES is not set\n");
		return failed;
	}
	on_postgres = true;
	return failed + cmocka_run_group_tests_name("budget on PostgreSQL", tests, NULL, NULL);
}
