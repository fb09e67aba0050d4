/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PostgreSQL engine: a pool of links, and what becomes of a transaction
 * when one of them breaks.
 *
 *	before COMMIT is sent	nothing was changed: run again, once, on a new link
 *	COMMIT sent, no answer	unknown: settle, then the caller's probe
 *	COMMIT answered		as the answer says
 */
#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/scoped.h"
#include "db/pg/link.h"
#include "db/pg/pooler.h"
#include "db/wait.h"

#include <stdlib.h>

struct postgres {
	char *url;
	struct pglink *links;
	struct pgstatement *statements; /* of all links, one row each */
	int link_count;
	_Atomic int64_t *
		committing_us; /* of each link: since when its COMMIT waits for an answer (clock_mono_us); 0: it does not */

	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t freed, freed_to_write;
	struct pglink **idle; /* a stack: the warmest link is used first */
	int idle_count;
	unsigned epoch; /* links opened before it changed are not trusted any more */
	bool prepared;	/* new links prepare everything */
};

/* --- the pool --- */

/* Links that only reads are given. A COMMIT can wait for a standby for a minute, and people must see what is going on. */
static int
kept_for_reads(const struct postgres *p, const struct tx *tx)
{
	int some = p->link_count / LIMIT_PG_READ_SHARE;

	if (!tx || !tx->writes || p->link_count < LIMIT_PG_READ_LEAST)
		return 0;
	return some ? some : 1;
}

/* tx: what the link is for; NULL: questions of the engine's own. */
static struct pglink *
wait_for_link(struct ctx *cx, struct db *db, const struct tx *tx)
{
	struct postgres *p = db->self;
	struct timespec end = wait_until(
		cx->deadline_us ? cx->deadline_us : clock_mono_us() + LIMIT_PG_TAKE_MS * INT64_C(1000));
	scoped_lock held = lock(&p->mutex);
	int waited = 0, kept = kept_for_reads(p, tx);

	atomic_fetch_add(&db->counters.queue_now, 1);
	while (p->idle_count <= kept && !waited)
		waited = pthread_cond_timedwait(kept ? &p->freed_to_write : &p->freed, &p->mutex, &end);
	atomic_fetch_sub(&db->counters.queue_now, 1);
	return p->idle_count > kept ? p->idle[--p->idle_count] : NULL;
}

static void
give(struct postgres *p, struct pglink *l)
{
	scoped_lock held = lock(&p->mutex);

	p->idle[p->idle_count++] = l;
	/* One of each kind, since a link may be of no use to a writer; whoever comes second waits again. */
	CHECK(pthread_cond_signal(&p->freed) == 0 && pthread_cond_signal(&p->freed_to_write) == 0);
}

static status
refresh(struct ctx *cx, struct db *db, struct pglink *l)
{
	struct postgres *p = db->self;
	unsigned epoch;
	bool prepared;

	CHECK(pthread_mutex_lock(&p->mutex) == 0);
	epoch = p->epoch;
	prepared = p->prepared;
	CHECK(pthread_mutex_unlock(&p->mutex) == 0);
	if (l->epoch != epoch || !pglink_ready(cx, l)) {
		TRY(pglink_open(cx, l, p->url));
		l->epoch = epoch;
	}
	return prepared && !l->complete ? pglink_prepare(cx, l) : OK;
}

/* A link that works, as far as one can know; or NULL and why: E_BUSY none became free, E_UNAVAILABLE no
 * server. */
static struct pglink *
take(struct ctx *cx, struct db *db, const struct tx *tx, status *out_why)
{
	struct pglink *l = wait_for_link(cx, db, tx);

	if (!l) {
		*out_why =
			fail(cx, E_BUSY, "all connections to the database are in use; nothing was changed");
		return NULL;
	}
	*out_why = refresh(cx, db, l);
	if (*out_why != OK) {
		give(db->self, l);
		return NULL;
	}
	l->contention = l->stale = false;
	return l;
}

/* --- transactions --- */

/* May the same function succeed if run again? A link is lost only once: who kills servers must not go on. */
static bool
may_rerun(struct tx *tx, const struct pglink *l)
{
	return l->contention || ((l->lost || l->stale) && tx->losses++ == 0);
}

static status
cut(struct ctx *cx, struct pglink *l)
{
	l->lost = true;
	return fail(cx, E_UNAVAILABLE, "the connection to the database was lost; nothing was changed");
}

static status
commit_watched(struct ctx *cx, struct postgres *p, struct pglink *l)
{
	_Atomic int64_t *since = &p->committing_us[l - p->links];
	status s;

	atomic_store(since, clock_mono_us());
	s = pglink_commit(cx, l);
	atomic_store(since, 0);
	return s;
}

static int64_t
commits_waiting(const struct db *db)
{
	const struct postgres *p = db->self;
	int64_t waiting = 0, now = clock_mono_us();

	for (int i = 0; i < p->link_count; i++) {
		int64_t since = atomic_load(&p->committing_us[i]);

		waiting += since && now - since > LIMIT_PG_COMMIT_SLOW_US;
	}
	return waiting;
}

static status
commit(struct ctx *cx, struct tx *tx, struct pglink *l)
{
	status s;

	/* A server that is gone already has not heard anything: then nothing is unknown. */
	if (FAULT_FAILS(tx_before_commit) || !pglink_alive(l)) {
		s = cut(cx, l);
		return PLANTED(commit_unheard) ? OK : s;
	}
	tx->lost_pid = l->backend.pid;
	tx->lost_started_us = l->backend.started_us;
	s = commit_watched(cx, tx->db->self, l);
	atomic_fetch_add(&tx->db->counters.batches, 1);
	if (s == OK && FAULT_FAILS(tx_after_commit)) {
		(void)cut(cx, l);
		return fail(cx, E_COMMIT_UNKNOWN, "the answer to the commit was lost");
	}
	return s;
}

/* From BEGIN to the answer of COMMIT, or to ROLLBACK. */
static status
attempt(struct ctx *cx, struct tx *tx, struct pglink *l)
{
	status s;

	if (FAULT_FAILS(tx_before_begin))
		return cut(cx, l);
	TRY(pglink_queue(cx, l, PG_BEGIN));
	if (FAULT_FAILS(tx_after_begin))
		return cut(cx, l);
	s = tx_call(cx, tx, l);
	if (s == OK && FAULT_FAILS(tx_after_function))
		s = cut(cx, l);
	if (s == OK)
		return commit(cx, tx, l);
	pglink_end(cx, l, PG_ROLLBACK);
	return s;
}

static void
release(struct postgres *p, struct pglink *l)
{
	if (l->lost || l->stale)
		pglink_close(l);
	give(p, l);
}

static status
transact(struct ctx *cx, struct tx *tx)
{
	status s;
	struct pglink *l = take(cx, tx->db, tx, &s);

	if (!l)
		return s;
	s = attempt(cx, tx, l);
	tx->rerun = s != OK && s != E_COMMIT_UNKNOWN && may_rerun(tx, l);
	release(tx->db->self, l);
	return s;
}

static status
run_read(struct ctx *cx, struct tx *tx)
{
	status s;
	struct pglink *l = take(cx, tx->db, tx, &s);

	if (!l)
		return s;
	s = pglink_queue(cx, l, PG_BEGIN_READ);
	if (s == OK)
		s = tx_call(cx, tx, l);
	tx->rerun = s != OK && may_rerun(tx, l);
	pglink_end(cx, l, PG_COMMIT);
	release(tx->db->self, l);
	return s;
}

/* --- settling --- */

/*
 * Is the lost transaction's server process gone? Then nobody can commit it any
 * more. A process that still waits (for a standby, say) could.
 */
static status
ask_gone(struct ctx *cx, const struct tx *tx, struct pglink *l, bool *out_gone)
{
	const int64_t who[] = { tx->lost_pid, tx->lost_started_us };
	int64_t left = 1;

	TRY(pglink_ask(cx, l,
		"SELECT count(*) FROM pg_stat_activity WHERE pid = $1"
		" AND CAST(extract(epoch FROM backend_start) * 1000000 AS bigint) = $2",
		who, 2, &left));
	*out_gone = left == 0;
	return OK;
}

/*
 * Writes something and commits it. Once that is acknowledged, everything
 * before it is as durable as an acknowledged commit, on the standbys too: a
 * restarted primary would otherwise show rows that no standby has yet.
 */
static status
pass_barrier(struct ctx *cx, struct pglink *l)
{
	int64_t ignored = 0;

	l->warned = false;
	TRY(pglink_ask(cx, l,
		"SELECT CAST(pg_logical_emit_message(true, 'countersign', 'settled') - '0/0' AS bigint)",
		NULL, 0, &ignored));
	return l->warned ? fail(cx, E_COMMIT_UNKNOWN, "the standbys do not answer") : OK;
}

static status
settle_once(struct ctx *cx, struct tx *tx, bool *out_settled)
{
	status s;
	struct pglink *l = take(cx, tx->db, tx, &s);

	if (!l)
		return s;
	s = ask_gone(cx, tx, l, out_settled);
	if (s == OK && *out_settled)
		s = pass_barrier(cx, l);
	give(tx->db->self, l);
	return s;
}

static void
distrust_links(struct postgres *p)
{
	scoped_lock held = lock(&p->mutex);

	p->epoch++;
}

static status
settle(struct ctx *cx, struct tx *tx)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	int64_t end = clock_mono_us() + LIMIT_PG_SETTLE_MS * INT64_C(1000);
	bool settled = false;
	status s;

	/* The old links may lead to a server that is the primary no longer. */
	distrust_links(tx->db->self);
	s = settle_once(cx, tx, &settled);
	while ((s != OK || !settled) && clock_mono_us() < end) {
		(void)nanosleep(&pause, NULL); /* the other end is another machine: nothing to wait on */
		s = settle_once(cx, tx, &settled);
	}
	if (s == OK && !settled)
		return fail(cx, E_COMMIT_UNKNOWN, "the lost transaction is still being committed");
	return s;
}

/* --- inside a transaction --- */

static status
execute(struct ctx *cx, struct tx *tx, const struct sql *s, const struct db_value *args, size_t count,
	struct row_sink *sink)
{
	CHECK(count == s->params);
	return pglink_execute(cx, tx->connection, s, args, sink);
}

static status
later(struct ctx *cx, struct tx *tx, const struct sql *s, const struct db_value *args, size_t count,
	struct row_sink *sink)
{
	CHECK(count == s->params);
	return pglink_later(cx, tx->connection, s, args, sink);
}

static status
flush(struct ctx *cx, struct tx *tx)
{
	return pglink_flush(cx, tx->connection);
}

static status
savepoint(struct ctx *cx, struct tx *tx)
{
	return pglink_queue(cx, tx->connection, PG_SAVEPOINT);
}

static status
undo(struct ctx *cx, struct tx *tx)
{
	TRY(pglink_queue(cx, tx->connection, PG_UNDO));
	return pglink_queue(cx, tx->connection, PG_RELEASE);
}

static status
keep(struct ctx *cx, struct tx *tx)
{
	return pglink_queue(cx, tx->connection, PG_RELEASE);
}

static status
now(struct ctx *cx, struct tx *tx, int64_t *out_us)
{
	const struct pglink *l = tx->connection;

	if (!tx->now_sent || !l->clock_us)
		return pglink_now(cx, tx->connection, out_us);
	*out_us = l->clock_us;
	return OK;
}

static status
now_later(struct ctx *cx, struct tx *tx)
{
	return pglink_now_later(cx, tx->connection);
}

/* --- migrations --- */

#define MIGRATE_LOCK INT64_C(0x636f756e74657273) /* "counters": ours among all users of this database */

static status
set_lock_wait(struct ctx *cx, struct pglink *l, int64_t wait_ms)
{
	int64_t ignored = 0;

	return pglink_ask(cx, l,
		"SELECT CAST(length(set_config('lock_timeout', CAST($1 AS text), true)) AS bigint)", &wait_ms,
		1, &ignored);
}

static status
migrate_lock(struct ctx *cx, struct tx *tx)
{
	const int64_t key = MIGRATE_LOCK;
	int64_t ignored = 0;

	TRY(set_lock_wait(cx, tx->connection, LIMIT_PG_MIGRATE_MS));
	TRY(pglink_ask(cx, tx->connection, "SELECT pg_advisory_xact_lock($1)", &key, 1, &ignored));
	/* A change that waits for a table makes everybody behind it wait: not for long. */
	return set_lock_wait(cx, tx->connection, LIMIT_PG_LOCK_MS);
}

static status
script(struct ctx *cx, struct tx *tx, const struct migration *m)
{
	return pglink_script(cx, tx->connection, m->name, m->postgres);
}

/* --- opening --- */

static void
free_all(struct postgres *p)
{
	for (int i = 0; i < p->link_count; i++)
		pglink_close(&p->links[i]);
	CHECK(pthread_cond_destroy(&p->freed) == 0 && pthread_cond_destroy(&p->freed_to_write) == 0);
	CHECK(pthread_mutex_destroy(&p->mutex) == 0);
	free(p->statements);
	free(p->committing_us);
	free(p->links);
	free(p->idle);
	free(p->url);
	free(p);
}

static void *
zeroed(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	CHECK(memory != NULL);
	return memory;
}

static struct postgres *
make(struct db *db, const struct db_options *options)
{
	int count = options->connections > 0 ? options->connections : 1;
	size_t row = db->catalog.sql_count, url_size = strlen(options->postgres_url) + 1;
	struct postgres *p = zeroed(1, sizeof(*p));

	p->url = memcpy(zeroed(1, url_size), options->postgres_url, url_size);
	p->links = zeroed((size_t)count, sizeof(*p->links));
	p->committing_us = zeroed((size_t)count, sizeof(*p->committing_us));
	p->idle = zeroed((size_t)count, sizeof(struct pglink *));
	p->statements = zeroed((size_t)count * row, sizeof(*p->statements));
	p->link_count = p->idle_count = count;
	p->epoch = 1;
	for (int i = 0; i < count; i++) {
		p->links[i].db = db;
		p->links[i].statements = p->statements + (size_t)i * row;
		p->idle[i] = &p->links[i];
	}
	CHECK(pthread_mutex_init(&p->mutex, NULL) == 0);
	wait_init(&p->freed);
	wait_init(&p->freed_to_write);
	return p;
}

/* With a second link where there may be one: two of them show what one cannot. */
static status
check_pooler(struct ctx *cx, struct db *db, struct pglink *l)
{
	struct postgres *p = db->self;
	struct pglink *other = NULL;
	status s = OK;

	if (!pooler_between(l))
		return OK;
	if (p->link_count > 1)
		other = take(cx, db, NULL, &s);
	if (s == OK)
		s = pooler_check(cx, l, other);
	if (other)
		give(p, other);
	return s;
}

/* One link is made at once, to know that it can be; the others when they are needed. */
static status
open_engine(struct ctx *cx, struct db *db, const struct db_options *options)
{
	struct pglink *l;
	status s;

	/* libpq's own complaint would quote the part it cannot read, which may be the password. */
	if (!pglink_readable(options->postgres_url))
		return fail(cx, E_UNAVAILABLE,
			"the PostgreSQL URL cannot be read; it looks like "
			"postgresql://user@host:5432/database");
	db->self = make(db, options);
	l = take(cx, db, NULL, &s);
	if (l) {
		s = check_pooler(cx, db, l);
		give(db->self, l);
	}
	if (s != OK) {
		free_all(db->self);
		db->self = NULL;
	}
	return s;
}

static void
close_engine(struct db *db)
{
	struct postgres *p = db->self;

	CHECK(pthread_mutex_lock(&p->mutex) == 0);
	while (p->idle_count < p->link_count)
		CHECK(pthread_cond_wait(&p->freed, &p->mutex) == 0);
	CHECK(pthread_mutex_unlock(&p->mutex) == 0);
	free_all(p);
	db->self = NULL;
}

static status
version(struct ctx *cx, struct db *db, str *out_text)
{
	status s;
	struct pglink *l = take(cx, db, NULL, &s);

	if (!l)
		return s;
	*out_text = arena_str(cx->arena, str_of(PQparameterStatus(l->conn, "server_version")));
	give(db->self, l);
	return OK;
}

static status
prepare(struct ctx *cx, struct db *db)
{
	struct postgres *p = db->self;
	status s;
	struct pglink *l = take(cx, db, NULL, &s);

	if (!l)
		return s;
	s = pglink_prepare(cx, l);
	give(p, l);
	TRY(s);

	scoped_lock held = lock(&p->mutex);
	p->prepared = true;
	return OK;
}

const struct engine engine_postgres = {
	.name = "postgres",
	.open = open_engine,
	.close = close_engine,
	.version = version,
	.commits_waiting = commits_waiting,
	.transact = transact,
	.read = run_read,
	.settle = settle,
	.prepare = prepare,
	.execute = execute,
	.later = later,
	.flush = flush,
	.savepoint = savepoint,
	.undo = undo,
	.keep = keep,
	.now = now,
	.now_later = now_later,
	.migrate_lock = migrate_lock,
	.script = script,
};

size_t
db_socket_folders(struct arena *a, const char *postgres_url, str *out, size_t most)
{
	return pglink_socket_folders(a, postgres_url, out, most);
}
