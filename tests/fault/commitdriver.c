/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commitdriver: writes to a data directory and says what it was told, or judges
 * one. tests/fault/run-sqlite kills it, breaks its disk and compares.
 *
 *	commitdriver faults                       the named fault points, one a line
 *	commitdriver write DIR [name=value ...]   threads each rounds batch checkpoint normal hold plant
 *	commitdriver check DIR HISTORY [checkpoint=N]
 */
#include "rig.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/limits.h"

#include "rig.sql.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Exit codes beside 0 and those of the engine. */
enum { EXIT_BAD = 1, EXIT_USAGE = 2, EXIT_NOT_OPENED = 3 };

/* One write call, so that a line is there wholly or not at all, also after a kill. */
__attribute__((format(printf, 1, 2))) static void
say(const char *format, ...)
{
	char line[256];
	va_list ap;
	int len;

	va_start(ap, format);
	len = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	CHECK(len > 0 && (size_t)len < sizeof(line));
	if (write(STDOUT_FILENO, line, (size_t)len) != len)
		_exit(EXIT_USAGE);
}

struct job {
	int64_t id;
	enum rig_plant plant;
	enum { SUCCEEDS, CHANGES_ITS_MIND, REPEATS_A_KEY } ending;
	int hooks; /* how often the after-commit hook ran */
};

static void
count_hook(void *arg)
{
	((struct job *)arg)->hooks++;
}

static status
pair(struct ctx *cx, void *arg)
{
	struct job *j = arg;

	tx_after_commit(cx, count_hook, j);
	TRY(rig_put(cx, j->id));
	if (j->ending == CHANGES_ITS_MIND)
		return fail(cx, E_CONFLICT, "the function changed its mind");
	if (j->ending == REPEATS_A_KEY)
		return db_run(cx, SQL_RIG_PUT_FIRST, INT(j->id));
	if (j->plant == RIG_EARLY)
		say("ok %" PRId64 "\n", j->id);
	return OK;
}

static status
first_half(struct ctx *cx, void *arg)
{
	TRY(db_run(cx, SQL_RIG_PUT_FIRST, INT(((struct job *)arg)->id)));
	return db_run(cx, SQL_RIG_COUNT);
}

static status
second_half(struct ctx *cx, void *arg)
{
	int64_t id = ((struct job *)arg)->id;

	return db_run(cx, SQL_RIG_PUT_SECOND, INT(id), TEXT(rig_body(cx->arena, id)));
}

static status
transact(struct ctx *cx, struct job *j)
{
	if (j->plant != RIG_SPLIT || j->ending != SUCCEEDS)
		return tx_run(cx, pair, j);
	j->hooks = 1;
	TRY(tx_run(cx, first_half, j));
	return tx_run(cx, second_half, j);
}

static status
look(struct ctx *cx, void *arg)
{
	struct {
		int64_t id;
	} row;
	const struct field fields[] = { { .name = "id", .type = FIELD_TYPE_INT }, FIELD_END };

	return db_one(cx, SQL_RIG_GET, fields, &row, INT(((struct job *)arg)->id));
}

/* What the promise of tx_run says must be so, seen from its caller. */
static void
compare(struct ctx *cx, struct job *j, status s)
{
	status seen;

	if (j->hooks != (s == OK ? 1 : 0))
		say("bad %" PRId64 " hook ran %d times after %s\n", j->id, j->hooks, status_info(s)->name);
	if (j->ending != SUCCEEDS && s == OK)
		say("bad %" PRId64 " committed although its function failed\n", j->id);
	seen = db_read(cx, look, j);
	if (s == OK && seen == E_NOT_FOUND)
		say("bad %" PRId64 " cannot read what was acknowledged\n", j->id);
	if (s != OK && s != E_COMMIT_UNKNOWN && seen == OK && j->plant == RIG_SOUND)
		say("bad %" PRId64 " can read what was refused\n", j->id);
}

static status
run_one(struct ctx *cx, struct job *j)
{
	status s;

	say("try %" PRId64 "\n", j->id);
	s = transact(cx, j);
	if (s == OK && j->plant != RIG_EARLY)
		say("ok %" PRId64 "\n", j->id);
	else if (s == E_COMMIT_UNKNOWN)
		say("unknown %" PRId64 "\n", j->id);
	else if (s != OK)
		say("no %" PRId64 " %s\n", j->id, status_info(s)->name);
	compare(cx, j, s);
	arena_reset(cx->arena);
	ctx_clear(cx);
	return s;
}

struct client {
	pthread_t thread;
	const struct rig_options *o;
	struct db *db;
	int64_t first_id;
};

#define RESUMED 10 /* commits in a row, after which nobody doubts that there is room again */

/* Where the disk fills up, goes on until it has room again, however long the rig takes to make some when it hears "no". */
static bool
more(const struct client *c, int done, int missing)
{
	return done < c->o->each || (c->o->hold && missing > 0);
}

static void *
serve(void *arg)
{
	struct client *c = arg;
	struct arena arena;
	struct ctx cx;
	int missing = 0; /* commits, until it is over that the disk was full */

	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	cx.db = c->db;
	for (int i = 0; more(c, i, missing); i++) {
		struct job j = { .id = c->first_id + i, .plant = c->o->plant };
		j.ending = i % 7 == 3 ? CHANGES_ITS_MIND : i % 7 == 5 ? REPEATS_A_KEY : SUCCEEDS;
		status s = run_one(&cx, &j);
		if (s == E_DISK_FULL)
			missing = RESUMED;
		else if (s == OK)
			missing--;
	}
	arena_done(&arena);
	return NULL;
}

static int
round_of(const struct rig_options *o, int round)
{
	struct client clients[64];
	struct arena arena;
	struct ctx cx;
	status s;

	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	s = rig_open(&cx, o);
	if (s != OK) {
		str why = ctx_message(&cx, s);
		(void)fprintf(stderr, "not opened: %s: %.*s\n", status_info(s)->name, STR_ARG(why));
		arena_done(&arena);
		return EXIT_NOT_OPENED;
	}
	for (int t = 0; t < o->threads; t++) {
		clients[t] = (struct client){ .o = o,
			.db = cx.db,
			.first_id = 1 + round * INT64_C(1000000000) + t * INT64_C(10000000) };
		CHECK(pthread_create(&clients[t].thread, NULL, serve, &clients[t]) == 0);
	}
	for (int t = 0; t < o->threads; t++)
		CHECK(pthread_join(clients[t].thread, NULL) == 0);
	db_close(cx.db);
	arena_done(&arena);
	return 0;
}

int
rig_write(const struct rig_options *o)
{
	int code = 0;

	for (int round = 0; round < o->rounds && code == 0; round++)
		code = round_of(o, round);
	return code;
}

static int
usage(const char *why)
{
	(void)fprintf(
		stderr, "commitdriver: %s (faults | write DIR [name=value ...] | check DIR HISTORY)\n", why);
	return EXIT_USAGE;
}

static bool
set(struct rig_options *o, str name, int64_t n)
{
	const struct {
		str name;
		int *to;
	} table[] = { { STR("threads"), &o->threads }, { STR("each"), &o->each },
		{ STR("rounds"), &o->rounds }, { STR("batch"), &o->batch },
		{ STR("checkpoint"), &o->checkpoint } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (str_eq(name, table[i].name)) {
			*table[i].to = (int)n;
			return true;
		}
	}
	if (str_eq(name, STR("normal")))
		o->normal = n != 0;
	else if (str_eq(name, STR("hold")))
		o->hold = n != 0;
	else if (str_eq(name, STR("plant")) && n <= RIG_SPLIT)
		o->plant = (enum rig_plant)n;
	else
		return false;
	return true;
}

static bool
read_options(struct rig_options *o, char **words)
{
	for (; *words; words++) {
		str name, text;
		int64_t n;
		if (!str_cut(str_of(*words), '=', &name, &text) || !str_to_int(text, &n) || n < 0 ||
			n > 100000 || !set(o, name, n))
			return false;
	}
	return o->threads >= 1 && o->threads <= 64;
}

static int
list_faults(void)
{
	for (int p = 0; p < FAULT_COUNT; p++)
		say("%s\n", fault_name((enum fault_point)p));
	return fault_enabled() ? 0 : usage("this build has no fault points");
}

int
main(int argc, char **argv)
{
	struct rig_options o = { .threads = 4, .each = 8, .rounds = 1 };
	const char *fault = getenv("COUNTERSIGN_FAULT");
	bool check = argc >= 4 && strcmp(argv[1], "check") == 0;

	if (argc == 2 && strcmp(argv[1], "faults") == 0)
		return list_faults();
	if (argc < 3 || (!check && strcmp(argv[1], "write") != 0))
		return usage("what?");
	if (!read_options(&o, argv + (check ? 4 : 3)))
		return usage("an option is not name=number");
	if (fault && !fault_arm(fault))
		return usage("COUNTERSIGN_FAULT is not name:n:mode");
	o.dir = argv[2];
	if (o.normal)
		rig_weaken();
	return check ? rig_check(&o, argv[3]) : rig_write(&o);
}
