/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions that are committed together. To have company, somebody stands in the way: a host, whose function waits
 * until the guests have come. They are run when it has gone.
 */
#include "base/clock.h"
#include "base/fault.h"
#include "db/db.h"

#include "core/ident/caller.sql.h" /* SQL_CALLER_*, generated from caller.sql */

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#define STATEMENTS(X)                                                                                        \
	X(xact, 0, 1, true, "SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint)")                     \
	X(commands, 0, 1, false, "SELECT count(DISTINCT CAST(cmin AS text)) FROM item")                      \
	X(claim, 1, 1, false, "SELECT CASE WHEN $1 = 1 THEN 0 ELSE moved() END")                             \
	X(clock_is, 1, 1, false,                                                                             \
		"SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) - $1")               \
	X(item_add_x4, 8, 0, true,                                                                           \
		"INSERT INTO item (id, note) VALUES ($1, $2), ($3, $4), ($5, $6), ($7, $8)")                 \
	X(item_add_x2, 4, 0, true, "INSERT INTO item (id, note) VALUES ($1, $2), ($3, $4)")                  \
	X(other_add, 2, 0, true, "INSERT INTO item (id, note) VALUES ($1, $2)")                              \
	X(third_add, 2, 0, true, "INSERT INTO item (id, note) VALUES ($1, $2)")                              \
	X(fourth_add, 2, 0, true, "INSERT INTO item (id, note) VALUES ($1, $2)")                             \
	X(tag_add, 4, 0, true, "INSERT INTO tag (item, word, bytes, number) VALUES ($1, $2, $3, $4)")        \
	X(tag_add_x2, 8, 0, true,                                                                            \
		"INSERT INTO tag (item, word, bytes, number) VALUES ($1, $2, $3, $4), ($5, $6, $7, $8)")     \
	X(tag_sum, 0, 1, false,                                                                              \
		"SELECT count(*) FROM tag WHERE word = 'tag ' || item AND (item % 2 = 1) = (bytes IS NULL)"  \
		" AND (item % 2 = 1 OR bytes = '\\x00ff00') AND number = -item")

static const char schema[] =
	"CREATE TABLE item (id bigint PRIMARY KEY, note text NOT NULL);"
	"CREATE TABLE tag (item bigint NOT NULL REFERENCES item (id), word text NOT NULL,"
	" bytes bytea, number integer NOT NULL);"
	"INSERT INTO rights_epoch (org_id, epoch) VALUES ('us', 7);";

#include "pgworld.h"

/* As sqlgen makes it of `-- many`, but for four and two. */
static void
make_many(void)
{
	static const struct sql *const items_[] = { &item_add_x4, &item_add_x2, NULL },
				       *const none[] = { NULL }, *const tags[] = { &tag_add_x2, NULL };

	item_add.many = items_;
	item_add_x4.rows = 4;
	item_add_x2.rows = tag_add_x2.rows = 2;
	tag_add.many = tags;
	other_add.many = third_add.many = fourth_add.many = none;
	make_catalog();
}

#define NAME STR("us")

/* --- who comes --- */

struct guest {
	struct world *w;
	str name;  /* empty: by itself */
	tx_fn *fn; /* its arg is the guest */
	int64_t id;
	int64_t deadline_us; /* from when it comes; 0: none */

	pthread_t thread;
	struct unit u;
	status result;
	int runs, hooks;
	bool hook_at_home;    /* its hook ran in its own thread */
	int64_t xact, now_us; /* of its last run */
	int64_t learnt;	      /* before it learnt anything itself; -1: nothing */
};

static void *
visit(void *arg)
{
	struct guest *g = arg;
	struct ctx *cx = &g->u.cx;

	arena_init(&g->u.arena, LIMIT_REQUEST_ARENA);
	ctx_init(cx, &g->u.arena);
	cx->db = g->w->db;
	cx->deadline_us = g->deadline_us ? clock_mono_us() + g->deadline_us : 0;
	g->thread = pthread_self();
	g->result = g->name.len ? tx_run_together(cx, g->fn, g, g->name) : tx_run(cx, g->fn, g);
	return NULL;
}

static void
note_hook(void *arg)
{
	struct guest *g = arg;

	g->hooks++;
	g->hook_at_home = pthread_equal(g->thread, pthread_self()) != 0;
}

/* What everybody does: writes a row, and sees where it is. Nothing is waited for but the number of the transaction. */
static status
add(struct ctx *cx, void *arg)
{
	struct guest *g = arg;
	struct number n;

	g->runs++;
	g->learnt = -1;
	(void)tx_learnt(cx, NAME, &g->learnt);
	tx_learn(cx, NAME, g->id);
	tx_after_commit(cx, note_hook, g);
	TRY(db_later(cx, &item_add, INT(g->id), TEXT(STR("note"))));
	TRY(db_one(cx, &xact, number_row, &n));
	g->xact = n.n;
	return tx_now_us(cx, &g->now_us);
}

static status
add_quickly(struct ctx *cx, void *arg)
{
	struct guest *g = arg;

	g->runs++;
	tx_after_commit(cx, note_hook, g);
	return db_later(cx, &item_add, INT(g->id), TEXT(STR("note")));
}

static status
refuse_at_once(struct ctx *cx, void *arg)
{
	((struct guest *)arg)->runs++;
	return fail(cx, E_CONFLICT, "not this one");
}

static status
add_and_refuse(struct ctx *cx, void *arg)
{
	TRY(add(cx, arg));
	return fail(cx, E_CONFLICT, "not this one");
}

static status
add_alone(struct ctx *cx, void *arg)
{
	TRY(add(cx, arg));
	return tx_alone(cx);
}

static status
try_to_add(struct ctx *cx, void *arg)
{
	struct guest *g = arg;

	g->runs++;
	tx_after_commit(cx, note_hook, g);
	TRY(tx_try_later(cx, add_quickly, &(struct guest){ .id = g->id }));
	return db_later(cx, &item_add, INT(g->id + 1000), TEXT(STR("note")));
}

static status
add_and_wait(struct ctx *cx, void *arg)
{
	TRY(add_quickly(cx, arg));
	return db_wait(cx);
}

/* --- what is taken for granted --- */

/* learnt: whether the time was guessed, of its last run. */
static bool
guesses(struct ctx *cx, struct guest *g)
{
	g->runs++;
	g->learnt = tx_now_guess(cx, &g->now_us);
	return g->learnt;
}

static status
add_by_guess(struct ctx *cx, void *arg)
{
	struct guest *g = arg;

	if (guesses(cx, g))
		TRY(db_later(cx, &claim, INT(1)));
	tx_after_commit(cx, note_hook, g);
	TRY(tx_try_later(cx, add_quickly, &(struct guest){ .id = g->id + 100 }));
	return db_later(cx, &item_add, INT(g->id), TEXT(STR("note")));
}

static status
add_by_wrong_guess(struct ctx *cx, void *arg)
{
	struct guest *g = arg;

	if (guesses(cx, g))
		TRY(db_later(cx, &claim, INT(0)));
	tx_after_commit(cx, note_hook, g);
	return db_later(cx, &item_add, INT(g->id), TEXT(STR("note")));
}

/* What it tries waits, and finds the transaction broken before its savepoint. */
static status
try_by_wrong_guess(struct ctx *cx, void *arg)
{
	struct guest *g = arg;

	if (guesses(cx, g))
		TRY(db_later(cx, &claim, INT(0)));
	tx_after_commit(cx, note_hook, g);
	TRY(tx_try_later(cx, add_and_wait, &(struct guest){ .id = g->id + 100 }));
	return db_later(cx, &item_add, INT(g->id), TEXT(STR("note")));
}

/* Refuses for what it takes for granted, and would not if it knew. */
static status
refuse_by_wrong_guess(struct ctx *cx, void *arg)
{
	struct guest *g = arg;

	if (!guesses(cx, g))
		return db_run(cx, &item_add, INT(g->id), TEXT(STR("note")));
	TRY(db_later(cx, &claim, INT(0)));
	return fail(cx, E_CONFLICT, "as far as one knew");
}

/* learnt: how far the database's clock was ahead of the guess; -1: there was none. */
static status
compare_clocks(struct ctx *cx, void *arg)
{
	struct guest *g = arg;
	struct number n = { .n = -1 };

	if (tx_now_guess(cx, &g->now_us))
		TRY(db_one(cx, &clock_is, number_row, &n, INT(g->now_us)));
	g->learnt = n.n;
	return OK;
}

/* learnt: how far behind the database's clock the time is. id: the epoch. */
static status
take_for_granted(struct ctx *cx, void *arg)
{
	struct guest *g = arg;
	int64_t now_us;

	g->runs++;
	TRY(tx_now_us(cx, &now_us));
	return db_run(cx, SQL_CALLER_UNMOVED, TEXT(g->name), INT(g->id), INT(now_us - g->learnt),
		INT(LIMIT_TX_GUESS_US));
}

static status
read_clock(struct ctx *cx, void *arg)
{
	return tx_now_us(cx, &((struct guest *)arg)->now_us);
}

/* --- what is sent in one statement --- */

static status
add_tag(struct ctx *cx, int64_t id)
{
	char word[16], bytes[] = { 0, (char)0xff, 0 };
	int len = snprintf(word, sizeof(word), "tag %d", (int)id);

	TRY(db_later(cx, &tag_add, INT(id), TEXT(((str){ word, (size_t)len })),
		id % 2 ? NIL : BLOB(((str){ bytes, sizeof(bytes) })), INT(-id)));
	memset(word, 'x', sizeof(word)); /* what was handed over is ours no more */
	memset(bytes, 'x', sizeof(bytes));
	return OK;
}

static status
add_item_and_tag(struct ctx *cx, void *arg)
{
	TRY(add_quickly(cx, arg));
	return add_tag(cx, ((struct guest *)arg)->id);
}

/* The item of it is there since before. */
static status
add_only_tag(struct ctx *cx, void *arg)
{
	struct guest *g = arg;

	g->runs++;
	tx_after_commit(cx, note_hook, g);
	return add_tag(cx, g->id);
}

static status
add_and_look(struct ctx *cx, void *arg)
{
	struct guest *g = arg;
	struct number n;

	TRY(add_quickly(cx, arg));
	TRY(db_one(cx, &item_find, number_row, &n, INT(g->id)));
	g->learnt = n.n;
	return OK;
}

/* Then what is undone is not taken for what stood before it. */
static status
add_and_try(struct ctx *cx, void *arg)
{
	struct guest *g = arg;

	TRY(add_quickly(cx, arg));
	TRY(tx_try_later(cx, add_quickly, &(struct guest){ .id = g->id + 100 }));
	TRY(tx_try(cx, add_quickly, &(struct guest){ .id = g->id + 100 }));
	return db_later(cx, &item_add, INT(g->id + 200), TEXT(STR("note")));
}

#define MORE 40 /* than wait at once */

static status
add_more(struct ctx *cx, void *arg)
{
	struct guest *g = arg;

	g->runs++;
	for (int64_t i = 0; i < MORE; i++)
		TRY(db_later(cx, &item_add, INT(g->id * 1000 + i), TEXT(STR("note"))));
	return OK;
}

/* More statements than there are lists; each once more, so that each comes after one that is sent behind it. */
static status
add_by_all_means(struct ctx *cx, void *arg)
{
	const struct sql *const means[] = { &item_add, &tag_add, &other_add, &third_add, &fourth_add };
	struct guest *g = arg;

	g->runs++;
	for (int64_t round = 0; round < 2; round++) {
		for (size_t i = 0; i < sizeof(means) / sizeof(means[0]); i++) {
			int64_t id = g->id * 100 + round * 10 + (int64_t)i;

			if (means[i] == &tag_add)
				TRY(add_tag(cx, id - 1));
			else
				TRY(db_later(cx, means[i], INT(id), TEXT(STR("note"))));
		}
	}
	return OK;
}

/* --- the host --- */

struct host {
	struct guest guest;
	sem_t is_there, may_go;
	bool refuses; /* then it sends no COMMIT */
};

static status
stand_in_the_way(struct ctx *cx, void *arg)
{
	struct host *h = arg;

	(void)sem_post(&h->is_there);
	(void)sem_wait(&h->may_go); /* a test may wait here: it wants the others to queue */
	return h->refuses ? fail(cx, E_CONFLICT, "the host has other plans") : OK;
}

static void
stand(struct host *h, struct world *w, bool refuses)
{
	*h = (struct host){ .guest = { .w = w, .name = NAME, .fn = stand_in_the_way }, .refuses = refuses };
	assert_int_equal(sem_init(&h->is_there, 0, 0), 0);
	assert_int_equal(sem_init(&h->may_go, 0, 0), 0);
	assert_int_equal(pthread_create(&h->guest.thread, NULL, visit, h), 0);
	(void)sem_wait(&h->is_there);
}

static void
go(struct host *h)
{
	(void)sem_post(&h->may_go);
	assert_int_equal(pthread_join(h->guest.thread, NULL), 0);
	arena_done(&h->guest.u.arena);
	assert_int_equal(h->guest.result, h->refuses ? E_CONFLICT : OK);
	(void)sem_destroy(&h->is_there);
	(void)sem_destroy(&h->may_go);
}

/* One after the other, so that their order is known. */
static void
come(struct world *w, struct guest *guests, size_t count, pthread_t *threads)
{
	for (size_t i = 0; i < count; i++) {
		int64_t before = stats(w).queue_now;

		guests[i].w = w;
		assert_int_equal(pthread_create(&threads[i], NULL, visit, &guests[i]), 0);
		while (stats(w).queue_now == before)
			(void)sched_yield();
	}
}

static void
leave(struct guest *guests, size_t count, const pthread_t *threads)
{
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		arena_done(&guests[i].u.arena);
	}
}

#define GUESTS 4

/* All of it: they come while the host is there, and are gone afterwards. arm: a fault, or NULL. */
static void
meet(struct world *w, struct guest guests[GUESTS], const char *arm)
{
	pthread_t threads[GUESTS];
	struct host h;

	stand(&h, w, arm != NULL);
	come(w, guests, GUESTS, threads);
	if (arm)
		assert_true(fault_arm(arm));
	go(&h);
	leave(guests, GUESTS, threads);
	if (arm)
		assert_true(fault_arm("migrate_between:1000000:fail")); /* arms nothing that we pass */
}

/* --- asking --- */

struct find {
	int64_t id, found;
};

static status
find_tx(struct ctx *cx, void *arg)
{
	struct find *f = arg;
	struct number n;

	TRY(db_one(cx, &item_find, number_row, &n, INT(f->id)));
	f->found = n.n;
	return OK;
}

static bool
is_there(struct world *w, int64_t id)
{
	struct find f = { .id = id };

	assert_status(db_read(&w->u.cx, find_tx, &f), OK);
	return f.found == 1;
}

#define FOUR(fn_)                                                                                            \
	{                                                                                                    \
		{ .name = NAME, .fn = (fn_), .id = 1 }, { .name = NAME, .fn = (fn_), .id = 2 },              \
			{ .name = NAME, .fn = (fn_), .id = 3 }, { .name = NAME, .fn = (fn_), .id = 4 },      \
	}

/* --- what holds --- */

static void
who_comes_while_others_are_under_way_is_committed_together(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add);
	struct db_stats before = stats(w), after;

	meet(w, guests, NULL);
	after = stats(w);
	assert_int_equal(after.transactions - before.transactions, GUESTS + 1);
	assert_int_equal(after.batches - before.batches, 2); /* the host's COMMIT, and theirs */
	assert_int_equal(items(w), GUESTS);
	for (size_t i = 0; i < GUESTS; i++) {
		assert_status(guests[i].result, OK);
		assert_int_equal(guests[i].runs, 1);
		assert_int_equal(guests[i].hooks, 1);
		assert_true(guests[i].hook_at_home);
		assert_int_equal(guests[i].xact, guests[0].xact);
		assert_int_equal(guests[i].now_us, guests[0].now_us); /* one transaction, one time */
		assert_int_equal(guests[i].learnt, i ? (int64_t)i : -1);
	}
}

static void
who_is_alone_waits_for_nobody_and_learns_from_nobody(void **state)
{
	struct world *w = *state;
	struct guest first = { .w = w, .name = NAME, .fn = add, .id = 1 }, second = first;

	second.id = 2;
	visit(&first);
	visit(&second);
	assert_status(first.result, OK);
	assert_status(second.result, OK);
	assert_true(first.xact != second.xact);
	assert_int_equal(second.learnt, -1);
	assert_int_equal(items(w), 2);
	arena_done(&first.u.arena);
	arena_done(&second.u.arena);
}

/* A connection that is used for the first time is made, and statements are prepared. */
static void
use_both_connections(struct world *w)
{
	struct guest other = { .w = w, .fn = refuse_at_once };
	struct host h;

	stand(&h, w, true);
	visit(&other);
	arena_done(&other.u.arena);
	go(&h);
}

static void
company_costs_no_round_trip_of_its_own(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(try_to_add);
	int64_t before;

	use_both_connections(w);
	meet(w, guests, NULL);
	for (size_t i = 0; i < GUESTS; i++)
		guests[i] = (struct guest){ .name = NAME, .fn = try_to_add, .id = 11 + (int64_t)i };
	before = stats(w).round_trips;
	meet(w, guests, NULL);
	/* one each for the COMMITs: of the host, and of all the guests, whose tries are behind savepoints */
	assert_int_equal(stats(w).round_trips - before, 2);
	assert_int_equal(items(w), 2 * GUESTS);
	assert_false(is_there(w, 11));
	assert_true(is_there(w, 1011));
}

static void
who_fails_before_it_wrote_anything_fails_by_itself(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add);
	struct db_stats before = stats(w);

	guests[0].fn = guests[2].fn = refuse_at_once;
	meet(w, guests, NULL);
	assert_int_equal(stats(w).batches - before.batches, 2);
	for (size_t i = 0; i < GUESTS; i++) {
		assert_int_equal(guests[i].result, i % 2 ? OK : E_CONFLICT);
		assert_int_equal(guests[i].runs, 1);
		assert_int_equal(guests[i].hooks, i % 2);
	}
	assert_int_equal(items(w), 2);
}

static void
who_fails_after_it_wrote_leaves_nothing_and_the_others_are_done(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add);
	struct db_stats before = stats(w);

	guests[1].fn = add_and_refuse;
	meet(w, guests, NULL);
	for (size_t i = 0; i < GUESTS; i++) {
		assert_int_equal(guests[i].result, i == 1 ? E_CONFLICT : OK);
		assert_int_equal(guests[i].hooks, i != 1);
		assert_int_equal(is_there(w, 1 + (int64_t)i), i != 1);
	}
	assert_int_equal(guests[1].runs, 2);
	assert_int_equal(guests[3].runs, 1); /* it had not been its turn */
	assert_int_equal(stats(w).reruns - before.reruns, GUESTS);
}

static void
a_statement_that_fails_late_is_the_failure_of_whose_it_is(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add_quickly), one = { .w = w, .fn = add_quickly, .id = 3 };

	visit(&one);
	arena_done(&one.u.arena);
	assert_status(one.result, OK);
	meet(w, guests, NULL);
	for (size_t i = 0; i < GUESTS; i++) {
		assert_int_equal(guests[i].result, i == 2 ? E_EXISTS : OK);
		assert_int_equal(guests[i].hooks, i != 2);
	}
	assert_int_equal(items(w), GUESTS);
}

static void
two_who_want_the_same_are_told_apart(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add_quickly);

	guests[3].id = 1;
	meet(w, guests, NULL);
	assert_int_equal(items(w), GUESTS - 1);
	assert_true((guests[0].result == OK) != (guests[3].result == OK));
	assert_true((guests[0].result == E_EXISTS) != (guests[3].result == E_EXISTS));
	assert_status(guests[1].result, OK);
	assert_status(guests[2].result, OK);
}

static void
who_goes_on_only_by_itself_breaks_up_the_company(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add);

	guests[2].fn = add_alone;
	meet(w, guests, NULL);
	for (size_t i = 0; i < GUESTS; i++) {
		assert_status(guests[i].result, OK);
		assert_int_equal(guests[i].hooks, 1);
		for (size_t k = 0; k < i; k++)
			assert_true(guests[i].xact != guests[k].xact);
	}
	assert_int_equal(items(w), GUESTS);
}

static void
others_of_another_name_are_not_of_the_company(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add);

	guests[1].name = guests[3].name = STR("them");
	meet(w, guests, NULL);
	for (size_t i = 0; i < GUESTS; i++)
		assert_status(guests[i].result, OK);
	assert_int_equal(guests[0].xact, guests[2].xact);
	assert_true(guests[0].xact != guests[1].xact);
	assert_int_equal(guests[1].learnt, -1); /* what is learnt is learnt of "us" */
	assert_int_equal(guests[3].learnt, -1);
}

static void
who_has_no_more_time_leaves_the_queue_and_nothing_was_done(void **state)
{
	struct world *w = *state;
	struct guest late = { .w = w, .name = NAME, .fn = add, .id = 1, .deadline_us = 20000 };
	struct host h;

	stand(&h, w, false);
	visit(&late);
	assert_status(late.result, E_BUSY);
	assert_int_equal(late.runs, 0);
	assert_int_equal(stats(w).queue_now, 0);
	arena_done(&late.u.arena);
	go(&h);
	assert_int_equal(items(w), 0);
}

/* --- the time, and what else need not be asked for --- */

static void
call(struct world *w, struct guest *g)
{
	g->w = w;
	g->runs = g->hooks = 0;
	visit(g);
	arena_done(&g->u.arena);
}

static void
who_comes_soon_after_the_clock_was_read_need_not_ask(void **state)
{
	struct world *w = *state;
	struct guest reads = { .fn = read_clock }, by_itself = { .fn = compare_clocks },
		     guest = { .name = NAME, .fn = compare_clocks },
		     adds = { .name = NAME, .fn = add_by_guess, .id = 1 };
	int64_t before;

	call(w, &reads);
	assert_status(reads.result, OK);
	call(w, &by_itself);
	assert_int_equal(by_itself.learnt, -1); /* it has its own way to know */
	call(w, &guest);
	assert_status(guest.result, OK);
	assert_true(guest.learnt >= 0 && guest.learnt < LIMIT_TX_GUESS_US);
	assert_true(guest.now_us > reads.now_us);
	before = stats(w).round_trips;
	call(w, &adds);
	assert_status(adds.result, OK);
	assert_int_equal(stats(w).round_trips - before, 1); /* its try, its row and COMMIT */
	assert_int_equal(adds.hooks, 1);
	assert_true(is_there(w, 1) && !is_there(w, 101));
}

static void
a_clock_that_was_read_long_ago_is_asked_again(void **state)
{
	struct world *w = *state;
	struct guest reads = { .fn = read_clock }, guest = { .name = NAME, .fn = compare_clocks };

	call(w, &reads);
	clock_freeze(clock_mono_us() + LIMIT_TX_GUESS_US);
	call(w, &guest);
	clock_release();
	assert_status(guest.result, OK);
	assert_int_equal(guest.learnt, -1);
}

static void
who_guessed_wrong_runs_again_by_itself_and_knows(void **state)
{
	struct world *w = *state;
	struct guest reads = { .fn = read_clock },
		     guest = { .name = NAME, .fn = add_by_wrong_guess, .id = 1 },
		     refuses = { .name = NAME, .fn = refuse_by_wrong_guess, .id = 2 },
		     tries = { .name = NAME, .fn = try_by_wrong_guess, .id = 3 };

	call(w, &reads);
	call(w, &guest);
	assert_status(guest.result, OK);
	assert_int_equal(guest.runs, 2);
	assert_int_equal(guest.learnt, false);
	assert_int_equal(guest.hooks, 1);
	call(w, &reads);
	call(w, &refuses); /* what it would have said was not true */
	assert_status(refuses.result, OK);
	assert_int_equal(refuses.runs, 2);
	call(w, &reads);
	call(w, &tries); /* the connection is as good as before */
	assert_status(tries.result, OK);
	assert_int_equal(tries.runs, 2);
	assert_int_equal(items(w), 3);
}

static void
nobody_is_taken_for_granted_by_another_epoch_or_time(void **state)
{
	struct world *w = *state;
	struct guest good = { .name = NAME, .fn = take_for_granted, .id = 7 }, other = good, nobody = good,
		     old = good, early = good;

	other.id = 8;
	nobody.name = STR("nobody");
	old.learnt = LIMIT_TX_GUESS_US + 1;
	early.learnt = -10 * SECOND_US;
	call(w, &good);
	assert_status(good.result, OK);
	call(w, &other);
	assert_status(other.result, E_BUSY);
	assert_true(other.runs > 1); /* it was worth another try */
	call(w, &nobody);
	assert_status(nobody.result, E_BUSY);
	call(w, &old);
	assert_status(old.result, E_BUSY);
	call(w, &early);
	assert_status(early.result, E_BUSY);
}

static void
whose_company_guessed_wrong_is_done_all_the_same(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add_by_guess), reads = { .fn = read_clock };

	call(w, &reads);
	guests[0].fn = refuse_by_wrong_guess;
	meet(w, guests, NULL);
	for (size_t i = 0; i < GUESTS; i++) {
		assert_status(guests[i].result, OK);
		assert_true(is_there(w, guests[i].id));
	}
	guests[0].fn = add_by_wrong_guess;
	for (size_t i = 0; i < GUESTS; i++)
		guests[i] = (struct guest){ .name = NAME, .fn = guests[i].fn, .id = 11 + (int64_t)i };
	call(w, &reads);
	meet(w, guests, NULL);
	for (size_t i = 0; i < GUESTS; i++) {
		assert_status(guests[i].result, OK);
		assert_int_equal(guests[i].runs, 2);
	}
	assert_int_equal(items(w), 2 * GUESTS);
}

/* --- rows --- */

static status
ask_number(struct ctx *cx, void *arg)
{
	struct find *f = arg;
	struct number n;

	TRY(db_one(cx, f->id ? &tag_sum : &commands, number_row, &n));
	f->found = n.n;
	return OK;
}

/* In how many statements the items came. */
static int64_t
statements(struct world *w)
{
	struct find f = { 0 };

	assert_status(db_read(&w->u.cx, ask_number, &f), OK);
	return f.found;
}

/* How many tags are as they were given. */
static int64_t
good_tags(struct world *w)
{
	struct find f = { .id = 1 };

	assert_status(db_read(&w->u.cx, ask_number, &f), OK);
	return f.found;
}

/* They were in one company, and it was not broken up. */
static void
assert_together(const struct guest guests[GUESTS])
{
	for (size_t i = 0; i < GUESTS; i++) {
		assert_status(guests[i].result, OK);
		assert_int_equal(guests[i].runs, 1);
	}
}

static void
rows_of_one_statement_come_in_one(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add_quickly), three[GUESTS] = FOUR(add_quickly);

	meet(w, guests, NULL);
	assert_together(guests);
	assert_int_equal(items(w), GUESTS);
	assert_int_equal(statements(w), 1);
	for (size_t i = 0; i < GUESTS; i++)
		three[i].id += 10;
	three[1].fn = refuse_at_once;
	meet(w, three, NULL);
	assert_int_equal(items(w), GUESTS + 3);
	assert_int_equal(statements(w), 2); /* two and one; a transaction numbers its commands from 0 */
}

static void
each_row_is_as_it_was_given(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add_item_and_tag);

	meet(w, guests, NULL);
	assert_together(guests);
	assert_int_equal(statements(w), 1);
	assert_int_equal(good_tags(w), GUESTS);
}

static void
nobodys_rows_change_their_order(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add_item_and_tag), one = { .w = w, .fn = add_quickly, .id = 1 };

	visit(&one);
	arena_done(&one.u.arena);
	assert_status(one.result, OK);
	guests[0].fn = add_only_tag; /* so tags would be first, and an item must be there before its tag */
	meet(w, guests, NULL);
	assert_together(guests);
	assert_int_equal(good_tags(w), GUESTS);
}

static void
who_looks_sees_its_own_rows(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add_and_look);

	guests[1].fn = guests[2].fn = add_and_wait;
	meet(w, guests, NULL);
	assert_together(guests);
	assert_int_equal(guests[0].learnt, 1);
	assert_int_equal(guests[3].learnt, 1);
	assert_int_equal(items(w), GUESTS);
}

static void
what_is_undone_takes_no_row_with_it(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add_and_try);

	guests[3].fn = try_to_add;
	meet(w, guests, NULL);
	assert_together(guests);
	assert_int_equal(items(w), 2 * GUESTS - 1);
	assert_true(is_there(w, 1) && is_there(w, 201) && !is_there(w, 101));
	assert_true(!is_there(w, 4) && is_there(w, 1004));
}

static void
however_many_rows_and_statements_all_of_them_come(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add_more), others[GUESTS] = FOUR(add_by_all_means);

	meet(w, guests, NULL);
	assert_together(guests);
	assert_int_equal(items(w), GUESTS * MORE);
	for (size_t i = 0; i < GUESTS; i++)
		others[i].id += 1000;
	meet(w, others, NULL);
	assert_together(others);
	assert_int_equal(items(w), GUESTS * (MORE + 8));
	assert_int_equal(good_tags(w), GUESTS * 2);
}

/* --- what goes wrong --- */

static void
a_commit_without_an_answer_is_unknown_to_all_of_them(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add);
	pthread_t threads[GUESTS];
	struct host h;

	guests[1].fn = refuse_at_once;
	stand(&h, w, true);
	come(w, guests, GUESTS, threads);
	pgproxy_arm(w->proxy, PGPROXY_CUT_ANSWER, COMMIT_BIND);
	go(&h);
	leave(guests, GUESTS, threads);
	for (size_t i = 0; i < GUESTS; i++) {
		assert_int_equal(guests[i].result, i == 1 ? E_CONFLICT : E_COMMIT_UNKNOWN);
		assert_int_equal(guests[i].runs, 1); /* again would be twice */
		assert_int_equal(guests[i].hooks, 0);
	}
	assert_int_equal(items(w), GUESTS - 1);
	assert_int_equal(stats(w).unknown, GUESTS - 1);
}

static void
a_connection_lost_before_commit_is_made_again_for_each(void **state)
{
	struct world *w = *state;
	struct guest guests[GUESTS] = FOUR(add);
	pthread_t threads[GUESTS];
	struct host h;

	stand(&h, w, true);
	come(w, guests, GUESTS, threads);
	arm_statement(w, PGPROXY_CUT, &xact);
	go(&h);
	leave(guests, GUESTS, threads);
	for (size_t i = 0; i < GUESTS; i++) {
		assert_status(guests[i].result, OK);
		assert_int_equal(guests[i].hooks, 1);
	}
	assert_int_equal(items(w), GUESTS);
}

static void
every_fault_point_leaves_each_done_or_not(void **state)
{
	static const char *const points[] = { "tx_before_begin", "tx_after_begin", "tx_after_function",
		"batch_between", "tx_before_commit", "tx_after_commit" };
	struct world *w = *state;

	if (!fault_enabled()) {
		print_message("skipped: built without fault points\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		for (int nth = 1; nth <= 3; nth++) {
			struct guest guests[GUESTS];
			char spec[64];

			(void)snprintf(spec, sizeof(spec), "%s:%d:fail", points[i], nth);
			for (size_t k = 0; k < GUESTS; k++)
				guests[k] = (struct guest){ .name = NAME,
					.fn = add,
					.id = (int64_t)(i * 100) + nth * 10 + (int64_t)k };
			meet(w, guests, spec);
			for (size_t k = 0; k < GUESTS; k++) {
				bool unknown = guests[k].result == E_COMMIT_UNKNOWN;

				assert_true(unknown || is_there(w, guests[k].id) == (guests[k].result == OK));
				assert_int_equal(guests[k].hooks, guests[k].result == OK);
				assert_true(!unknown || i == 5);
			}
		}
	}
}

/* --- many --- */

#define CROWD  24
#define ROUNDS 25

struct regular {
	struct guest guest;
	int64_t base;
	int done, refused;
};

/* Comes again and again, now with luck, now without. */
static void *
come_often(void *arg)
{
	struct regular *r = arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct guest *g = &r->guest;

		g->id = r->base + i;
		g->hooks = 0;
		g->fn = i % 7 == 3 ? add_and_refuse : i % 5 == 2 ? refuse_at_once : add_quickly;
		g->name = i % 4 == 3 ? STR("them") : NAME;
		visit(g);
		arena_done(&g->u.arena);
		r->done += g->result == OK && g->hooks == 1;
		r->refused += g->result == E_CONFLICT && g->hooks == 0;
	}
	return NULL;
}

static void
a_crowd_has_each_its_own_answer(void **state)
{
	static struct regular crowd[CROWD];
	pthread_t threads[CROWD];
	struct world *w = *state;
	int64_t done = 0;

	for (size_t i = 0; i < CROWD; i++) {
		crowd[i] = (struct regular){ .guest = { .w = w }, .base = (int64_t)i * 1000 };
		assert_int_equal(pthread_create(&threads[i], NULL, come_often, &crowd[i]), 0);
	}
	for (size_t i = 0; i < CROWD; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(crowd[i].done + crowd[i].refused, ROUNDS);
		done += crowd[i].done;
	}
	assert_int_equal(items(w), done);
	assert_true(stats(w).batches < stats(w).transactions);
}

int
main(void)
{
	const struct CMUnitTest online[] = {
		ON_SERVER(who_comes_while_others_are_under_way_is_committed_together),
		ON_SERVER(who_is_alone_waits_for_nobody_and_learns_from_nobody),
		ON_SERVER(company_costs_no_round_trip_of_its_own),
		ON_SERVER(who_fails_before_it_wrote_anything_fails_by_itself),
		ON_SERVER(who_fails_after_it_wrote_leaves_nothing_and_the_others_are_done),
		ON_SERVER(a_statement_that_fails_late_is_the_failure_of_whose_it_is),
		ON_SERVER(two_who_want_the_same_are_told_apart),
		ON_SERVER(who_goes_on_only_by_itself_breaks_up_the_company),
		ON_SERVER(others_of_another_name_are_not_of_the_company),
		ON_SERVER(who_has_no_more_time_leaves_the_queue_and_nothing_was_done),
		ON_SERVER(who_comes_soon_after_the_clock_was_read_need_not_ask),
		ON_SERVER(a_clock_that_was_read_long_ago_is_asked_again),
		ON_SERVER(who_guessed_wrong_runs_again_by_itself_and_knows),
		ON_SERVER(nobody_is_taken_for_granted_by_another_epoch_or_time),
		ON_SERVER(whose_company_guessed_wrong_is_done_all_the_same),
		ON_SERVER(rows_of_one_statement_come_in_one),
		ON_SERVER(each_row_is_as_it_was_given),
		ON_SERVER(nobodys_rows_change_their_order),
		ON_SERVER(who_looks_sees_its_own_rows),
		ON_SERVER(what_is_undone_takes_no_row_with_it),
		ON_SERVER(however_many_rows_and_statements_all_of_them_come),
		ON_SERVER(a_commit_without_an_answer_is_unknown_to_all_of_them),
		ON_SERVER(a_connection_lost_before_commit_is_made_again_for_each),
		ON_SERVER(every_fault_point_leaves_each_done_or_not),
		ON_SERVER(a_crowd_has_each_its_own_answer),
	};

	make_many();
	server = getenv("COUNTERSIGN_TEST_POSTGRES");
	if (!server || !server[0]) {
		print_message("skipped: COUNTERSIGN_TEST_POSTGRES does not name a server\n");
		return 0;
	}
	return cmocka_run_group_tests(online, NULL, NULL);
}
