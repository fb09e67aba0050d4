/* SPDX-License-Identifier: Apache-2.0 */
#include "db/pg/link.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "db/pg/error.h"
#include "db/pg/pooler.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define MS_TEXT_(n) #n
#define MS_TEXT(n)  MS_TEXT_(n)

/*
 * BEGIN does not say READ WRITE: where the operator has set default_transaction_read_only,
 * that is meant for us too. Nor does it say READ COMMITTED, which is the session's (greeting): to set it anew
 * makes PostgreSQL look through all its settings at the end of every transaction and savepoint.
 */
static const struct {
	const char *name, *text;
} commands[PG_COMMAND_COUNT] = {
	[PG_BEGIN] = { "begin", "BEGIN" },
	[PG_BEGIN_READ] = { "begin_read", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" },
	[PG_COMMIT] = { "commit", "COMMIT" },
	[PG_ROLLBACK] = { "rollback", "ROLLBACK" },
	[PG_SAVEPOINT] = { "savepoint", "SAVEPOINT attempt" }, /* the newest of a name hides the older ones */
	[PG_UNDO] = { "undo", "ROLLBACK TO SAVEPOINT attempt" },
	[PG_RELEASE] = { "release", "RELEASE SAVEPOINT attempt" },
	[PG_NOW] = { "now", "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)" },
};

/* --- hearing --- */

static void
done_result(PGresult *const *r)
{
	PQclear(*r);
}
#define scoped_result __attribute__((cleanup(done_result))) PGresult *

static status
lose(struct ctx *cx, struct pglink *l)
{
	l->lost = true;
	return fail(cx, E_UNAVAILABLE, "the connection to the database was lost; nothing was changed");
}

static void
on_notice(void *arg, const PGresult *r)
{
	struct pglink *l = arg;

	if (pgerror_is_fatal(r))
		l->lost = true;
	if (pgerror_is_warning(r))
		l->warned = true;
}

static bool
readable(const struct pglink *l, int64_t wait_us)
{
	struct pollfd p = { .fd = PQsocket(l->conn), .events = POLLIN };
	int64_t end = clock_mono_us() + wait_us;
	int n;

	do {
		int64_t left_us = end - clock_mono_us();
		n = poll(&p, 1, left_us > 0 ? (int)(left_us / 1000 + 1) : 0);
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

/* The next result, or NULL at the end of one command's. Who does not answer in time counts as gone. */
static PGresult *
next(struct pglink *l)
{
	while (!l->lost && PQisBusy(l->conn)) {
		if (!readable(l, LIMIT_PG_ANSWER_MS * INT64_C(1000)) || !PQconsumeInput(l->conn))
			l->lost = true;
	}
	return l->lost ? NULL : PQgetResult(l->conn);
}

static status
deliver(struct ctx *cx, const struct sql *s, struct row_sink *sink, const PGresult *r)
{
	struct db_value cells[UINT8_MAX];
	int columns = PQnfields(r);

	if (columns != s->columns)
		return fail(cx, E_INTERNAL, "%s: %d columns came, not %d", s->name, columns, s->columns);
	for (int row = 0; row < PQntuples(r); row++) {
		for (int i = 0; i < columns; i++) {
			if (!pgvalue_read(r, row, i, &cells[i]))
				return fail(cx, E_INTERNAL, "%s: column %d has a type we do not use", s->name,
					i + 1);
		}
		TRY(sink->row(cx, sink, cells));
	}
	return OK;
}

/* One result. Once something has failed (first), rows are dropped. */
static status
hear(struct ctx *cx, struct pglink *l, const struct sql *s, struct row_sink *sink, PGresult *r, status first)
{
	int64_t touched = 0;

	switch (PQresultStatus(r)) {
	case PGRES_COMMAND_OK:
		l->committed = strcmp(PQcmdStatus(r), "COMMIT") == 0;
		break;
	case PGRES_SINGLE_TUPLE:
	case PGRES_TUPLES_OK:
		if (sink && first == OK)
			TRY(deliver(cx, s, sink, r));
		break;
	case PGRES_PIPELINE_ABORTED: /* a command before it failed, and said so */
		return OK;
	default:
		if (pgerror_is_fatal(r))
			return lose(cx, l);
		l->contention |= pgerror_is_contention(r);
		l->stale |= pgerror_is_stale(r) || pgerror_is_strange_session(r);
		return pgerror_is_strange_session(r) ? pooler_refuse(cx) : pgerror_fail(cx, s->name, r);
	}
	if (sink && s->writes && str_to_int(str_of(PQcmdTuples(r)), &touched))
		sink->touched = touched;
	return OK;
}

/* The whole answer to one command. The first failure is the one that counts; the rest is read and dropped. */
static status
answer(struct ctx *cx, struct pglink *l, const struct sql *s, struct row_sink *sink)
{
	status first = OK;

	for (;;) {
		scoped_result r = next(l);

		if (!r)
			return l->lost ? lose(cx, l) : first;
		status heard = hear(cx, l, s, sink, r, first);
		if (first == OK)
			first = heard;
	}
}

static void
hear_sync(struct pglink *l)
{
	bool synced = false;

	while (!synced && !l->lost) {
		scoped_result r = next(l);

		synced = r && PQresultStatus(r) == PGRES_PIPELINE_SYNC;
		if (!synced && PQstatus(l->conn) != CONNECTION_OK)
			l->lost = true;
	}
}

struct number_sink {
	struct row_sink base;
	int64_t *cells;
	int count;
};

static status
keep_numbers(struct ctx *cx, struct row_sink *sink, const struct db_value *cells)
{
	struct number_sink *n = (struct number_sink *)sink;

	(void)cx;
	for (int i = 0; i < n->count; i++)
		n->cells[i] = cells[i].number;
	return OK;
}

/* The n-th of what was queued. */
static status
hear_nth(struct ctx *cx, struct pglink *l, int n)
{
	static const struct sql command = { .name = "transaction" }, clock = { .name = "now", .columns = 1 };
	struct number_sink now = { { .row = keep_numbers }, &l->clock_us, 1 };

	if (n == l->clock_at)
		return answer(cx, l, &clock, &now.base);
	for (int i = 0; i < l->asked_count; i++)
		if (n == l->asked[i].at)
			return answer(cx, l, l->asked[i].sql, l->asked[i].sink);
	return answer(cx, l, &command, NULL);
}

static status
hear_queued(struct ctx *cx, struct pglink *l)
{
	status first = OK;

	for (int i = 1; i <= l->queued; i++) {
		status heard = hear_nth(cx, l, i);

		if (first == OK)
			first = heard;
	}
	l->queued = l->clock_at = l->asked_count = 0;
	l->later = false;
	return first;
}

/* --- saying --- */

/* Everything handed to libpq since the last one goes out. */
static status
send_sync(struct ctx *cx, struct pglink *l)
{
	return PQpipelineSync(l->conn) ? OK : lose(cx, l);
}

/* One round trip: what was queued, and then the statement s where it is not NULL. */
static status
exchange(struct ctx *cx, struct pglink *l, const struct sql *s, struct row_sink *sink)
{
	TRY(send_sync(cx, l));
	atomic_fetch_add(&l->db->counters.round_trips, 1);

	status first = hear_queued(cx, l);

	if (s) {
		/* Row by row: memory is bounded by the sink, not by what the server has to say. */
		if (s->columns)
			(void)PQsetSingleRowMode(l->conn);
		status heard = answer(cx, l, s, sink);
		if (first == OK)
			first = heard;
	}
	hear_sync(l);
	return first;
}

static status
usable(struct ctx *cx, struct pglink *l)
{
	return l->conn && !l->lost ? OK : lose(cx, l);
}

status
pglink_queue(struct ctx *cx, struct pglink *l, enum pgcommand command)
{
	TRY(usable(cx, l));
	if (!PQsendQueryPrepared(l->conn, commands[command].name, 0, NULL, NULL, NULL, 1))
		return lose(cx, l);
	l->queued++;
	return OK;
}

void
pglink_end(struct ctx *cx, struct pglink *l, enum pgcommand command)
{
	/* The caller's own error is what matters now, not that this could not be sent. */
	struct error kept = cx->error;

	l->asked_count = 0; /* who asked is gone by then */
	if (pglink_queue(cx, l, command) == OK && send_sync(cx, l) == OK)
		l->unread = true;
	cx->error = kept;
}

bool
pglink_alive(struct pglink *l)
{
	/* A server that went away has left its last words, or just the end. */
	while (!l->lost && readable(l, 0)) {
		if (!PQconsumeInput(l->conn))
			l->lost = true;
		else
			(void)PQisBusy(l->conn);
	}
	return !l->lost;
}

/* The answer to the command that ended the last transaction. */
static void
hear_end(struct ctx *cx, struct pglink *l)
{
	(void)!hear_queued(cx, l);
	hear_sync(l);
	ctx_clear(cx);
	if (!l->lost && PQtransactionStatus(l->conn) != PQTRANS_IDLE)
		l->lost = true; /* the transaction is still open: nothing else may run inside it */
}

bool
pglink_ready(struct ctx *cx, struct pglink *l)
{
	if (!l->conn || l->lost)
		return false;
	if (l->unread) {
		l->unread = false;
		hear_end(cx, l);
	}
	return pglink_alive(l);
}

status
pglink_commit(struct ctx *cx, struct pglink *l)
{
	l->warned = l->committed = false;
	TRY(pglink_queue(cx, l, PG_COMMIT));

	/* From here on the server may have heard it. */
	status s = exchange(cx, l, NULL, NULL);

	if (!l->warned && l->committed)
		return OK;
	/* A WARNING: committed here, but perhaps not on the standby that would take over. */
	if (l->lost || l->warned) {
		l->lost = true;
		return fail(cx, E_COMMIT_UNKNOWN, "the database did not answer the commit clearly");
	}
	if (PQtransactionStatus(l->conn) !=
		PQTRANS_IDLE) /* what stood before COMMIT failed: it was not run */
		pglink_end(cx, l, PG_ROLLBACK);
	if (s != OK)
		return s;
	return fail(cx, E_UNAVAILABLE, "the database undid the transaction instead of committing it");
}

/* --- statements --- */

static bool
send_prepare(struct pglink *l, const struct sql *s)
{
	char *name = l->statements[s->index].name;

	(void)snprintf(name, sizeof(l->statements[s->index].name), "s%u", (unsigned)s->index);
	return PQsendPrepare(l->conn, name, s->postgres, 0, NULL) && PQsendDescribePrepared(l->conn, name);
}

static status
keep_shape(struct ctx *cx, struct pglink *l, const struct sql *s, const PGresult *r)
{
	struct pgstatement *st = &l->statements[s->index];

	if (PQnparams(r) != s->params || PQnfields(r) != s->columns)
		return fail(cx, E_INTERNAL, "%s: has %d parameters and %d columns, not %d and %d", s->name,
			PQnparams(r), PQnfields(r), s->params, s->columns);
	for (int i = 0; i < s->params; i++) {
		enum pgkind kind = pgvalue_kind(PQparamtype(r, i));

		if (kind == PGKIND_NONE)
			return fail(
				cx, E_INTERNAL, "%s: parameter %d has a type we do not use", s->name, i + 1);
		st->param[i] = (uint8_t)kind;
	}
	for (int i = 0; i < s->columns; i++) {
		if (pgvalue_kind(PQftype(r, i)) == PGKIND_NONE)
			return fail(cx, E_INTERNAL, "%s: column %d has a type we do not use: cast it",
				s->name, i + 1);
	}
	st->prepared = true;
	return OK;
}

static status
hear_shape(struct ctx *cx, struct pglink *l, const struct sql *s)
{
	status first = OK;

	for (;;) {
		scoped_result r = next(l);

		if (!r)
			return l->lost ? lose(cx, l) : first;
		if (first == OK && PQresultStatus(r) == PGRES_COMMAND_OK)
			first = keep_shape(cx, l, s, r);
		else if (first == OK)
			first = hear(cx, l, s, NULL, r, first);
	}
}

/* Parse and Describe were sent. What the server refuses does not fit this schema. */
static status
hear_prepare(struct ctx *cx, struct pglink *l, const struct sql *s)
{
	status parsed = answer(cx, l, s, NULL), shaped = OK;
	bool refused = parsed != OK && !l->lost;
	struct error why = cx->error;

	if (!l->lost)
		shaped = hear_shape(cx, l, s);
	if (refused)
		return fail(
			cx, E_SCHEMA, "a statement does not fit the database: %.*s", STR_ARG(why.message));
	return parsed != OK ? parsed : shaped;
}

static status
prepare_some(struct ctx *cx, struct pglink *l, const struct sql *const *list, size_t count)
{
	status first = OK;

	TRY(usable(cx, l));
	for (size_t i = 0; i < count; i++) {
		if (!l->statements[list[i]->index].prepared && !send_prepare(l, list[i]))
			return lose(cx, l);
	}
	TRY(send_sync(cx, l));
	atomic_fetch_add(&l->db->counters.round_trips, 1);
	first = hear_queued(cx, l);
	for (size_t i = 0; i < count; i++) {
		struct error kept = cx->error;

		if (l->statements[list[i]->index].prepared)
			continue;
		status heard = hear_prepare(cx, l, list[i]);
		if (first != OK)
			cx->error = kept; /* what follows the first failure only says that it was not tried */
		else
			first = heard;
	}
	hear_sync(l);
	return first;
}

status
pglink_prepare(struct ctx *cx, struct pglink *l)
{
	TRY(prepare_some(cx, l, l->db->catalog.sql, l->db->catalog.sql_count));
	l->complete = true;
	return OK;
}

static status
send(struct ctx *cx, struct pglink *l, const struct sql *s, const struct db_value *args)
{
	struct pgstatement *st = &l->statements[s->index];
	struct pgbinding b;

	TRY(usable(cx, l));
	if (!st->prepared)
		TRY(prepare_some(cx, l, &s, 1));
	for (int i = 0; i < s->params; i++) {
		if (!pgvalue_bind(&b, i, (enum pgkind)st->param[i], &args[i]))
			return fail(
				cx, E_INTERNAL, "%s: parameter %d is given as another type", s->name, i + 1);
	}
	if (!PQsendQueryPrepared(l->conn, st->name, s->params, b.values, b.lengths, b.formats, 1))
		return lose(cx, l);
	return OK;
}

status
pglink_execute(struct ctx *cx, struct pglink *l, const struct sql *s, const struct db_value *args,
	struct row_sink *sink)
{
	TRY(send(cx, l, s, args));
	return exchange(cx, l, s, sink);
}

status
pglink_later(struct ctx *cx, struct pglink *l, const struct sql *s, const struct db_value *args,
	struct row_sink *sink)
{
	if (sink && l->asked_count == PG_QUESTIONS)
		TRY(exchange(cx, l, NULL, NULL));
	TRY(send(cx, l, s, args));
	l->queued++;
	l->later = true;
	if (sink)
		l->asked[l->asked_count++] = (struct pgquestion){ l->queued, s, sink };
	return OK;
}

status
pglink_flush(struct ctx *cx, struct pglink *l)
{
	return l->later && !l->lost ? exchange(cx, l, NULL, NULL) : OK;
}

status
pglink_ask(struct ctx *cx, struct pglink *l, const char *text, const int64_t *args, int count, int64_t *out)
{
	struct sql s = { .name = "database", .postgres = text, .columns = 1 };
	struct number_sink sink = { { .row = keep_numbers }, out, 1 };
	Oid types[4] = { PG_OID_INT8, PG_OID_INT8, PG_OID_INT8, PG_OID_INT8 };
	const char *values[4] = { 0 };
	char digits[4][24];

	CHECK(count <= 4);
	TRY(usable(cx, l));
	for (int i = 0; i < count; i++) {
		(void)snprintf(digits[i], sizeof(digits[i]), "%" PRId64, args[i]);
		values[i] = digits[i];
	}
	if (!PQsendQueryParams(l->conn, text, count, types, values, NULL, NULL, 1))
		return lose(cx, l);
	return exchange(cx, l, &s, &sink.base);
}

status
pglink_now(struct ctx *cx, struct pglink *l, int64_t *out_us)
{
	struct sql s = { .name = commands[PG_NOW].name, .columns = 1 };
	struct number_sink sink = { { .row = keep_numbers }, out_us, 1 };

	TRY(usable(cx, l));
	if (!PQsendQueryPrepared(l->conn, s.name, 0, NULL, NULL, NULL, 1))
		return lose(cx, l);
	return exchange(cx, l, &s, &sink.base);
}

status
pglink_now_later(struct ctx *cx, struct pglink *l)
{
	TRY(pglink_queue(cx, l, PG_NOW));
	l->clock_at = l->queued;
	l->clock_us = 0;
	return OK;
}

static status
run_text(struct ctx *cx, struct pglink *l, const char *name, const char *text)
{
	scoped_result r = PQexec(l->conn, text);
	struct sql s = { .name = name };

	return hear(cx, l, &s, NULL, r, OK);
}

status
pglink_script(struct ctx *cx, struct pglink *l, const char *name, const char *text)
{
	status s;

	TRY(usable(cx, l));
	TRY(exchange(cx, l, NULL, NULL));
	if (!PQexitPipelineMode(l->conn))
		return lose(cx, l);
	s = run_text(cx, l, name, "SET LOCAL statement_timeout = 0");
	if (s == OK)
		s = run_text(cx, l, name, text);
	if (!PQenterPipelineMode(l->conn))
		return lose(cx, l);
	return s;
}

/* --- connecting --- */

static PGconn *
dial(const char *url)
{
	/* What stands before dbname is our default, what stands after it is not for the URL to say. */
	const char *keys[] = { "connect_timeout", "application_name", "keepalives_idle",
		"keepalives_interval", "keepalives_count", "tcp_user_timeout", "dbname", "client_encoding",
		"target_session_attrs", NULL };
	const char *values[] = { MS_TEXT(LIMIT_PG_CONNECT_SECONDS), "countersign", "15", "5", "3",
		MS_TEXT(LIMIT_PG_STATEMENT_MS), url, "UTF8", "read-write", NULL };

	return PQconnectdbParams(keys, values, 1);
}

#define SETTING(name, value) "set_config('" name "', '" value "', false)"

/*
 * synchronous_commit=off would acknowledge what a crash forgets; any stronger choice is the operator's. Our
 * statements find their rows by a key: enable_seqscan=off, since the planner would rather read all of a table that
 * is small, or was when it last looked. It puts a high price on the rest, which jit would take for its sign.
 */
static const char *const greeting =
	"SELECT a.pid, CAST(extract(epoch FROM a.backend_start) * 1000000 AS bigint),"
	" CAST(pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS integer),"
	" CAST(current_setting('server_version_num') AS integer),"
	" CAST(length(concat(" SETTING("lock_timeout", MS_TEXT(LIMIT_PG_LOCK_MS)) "," SETTING(
		"statement_timeout",
		MS_TEXT(LIMIT_PG_STATEMENT_MS)) "," SETTING("idle_in_transaction_session_timeout",
		MS_TEXT(LIMIT_PG_IDLE_MS)) "," SETTING("default_transaction_isolation",
		"read committed") "," SETTING("enable_seqscan", "off") "," SETTING("jit",
		"off") "," SETTING("timezone", "UTC") "," SETTING("standard_conforming_strings",
		"on") ","
		      "CASE WHEN current_setting('synchronous_commit') = 'off' THEN " SETTING(
			      "synchronous_commit",
			      "on") " END"
				    ")) AS integer)"
				    " FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()";

enum { GREET_PID, GREET_STARTED, GREET_READ_ONLY, GREET_VERSION, GREET_SETTINGS, GREET_COUNT };

static status
greet(struct ctx *cx, struct pglink *l)
{
	struct sql s = { .name = "greeting", .columns = GREET_COUNT };
	int64_t cells[GREET_COUNT] = { 0 };
	struct number_sink sink = { { .row = keep_numbers }, cells, GREET_COUNT };

	if (!PQenterPipelineMode(l->conn))
		return lose(cx, l);
	for (int i = 0; i < PG_COMMAND_COUNT; i++, l->queued++) {
		if (!PQsendPrepare(l->conn, commands[i].name, commands[i].text, 0, NULL))
			return lose(cx, l);
	}
	if (!PQsendQueryParams(l->conn, greeting, 0, NULL, NULL, NULL, NULL, 1))
		return lose(cx, l);
	TRY(exchange(cx, l, &s, &sink.base));
	if (cells[GREET_VERSION] < 140000)
		return fail(cx, E_UNAVAILABLE, "PostgreSQL 14 or newer is needed");
	if (cells[GREET_READ_ONLY])
		return fail(
			cx, E_UNAVAILABLE, "the PostgreSQL server takes no writes: it is not the primary");
	l->backend = (struct backend){ cells[GREET_PID], cells[GREET_STARTED] };
	return OK;
}

/* libpq's words, its lines joined to one. They name hosts and users, never the password. */
static status
refuse(struct ctx *cx, const struct pglink *l)
{
	str words = str_of(l->conn ? PQerrorMessage(l->conn) : "out of memory");
	struct buf b;

	buf_init(&b, cx->arena, SIZE_MAX);
	while (words.len) {
		size_t end = str_find(words, '\n');
		str line = str_trim((str){ words.ptr, end });

		if (line.len)
			buf_printf(&b, "%s%.*s", b.len ? "; " : "", STR_ARG(line));
		words = str_skip(words, end + 1);
	}
	return fail(cx, E_UNAVAILABLE, "cannot reach PostgreSQL: %.*s", STR_ARG(buf_str(&b)));
}

status
pglink_open(struct ctx *cx, struct pglink *l, const char *url)
{
	status s;

	pglink_close(l);
	l->conn = dial(url);
	if (PQstatus(l->conn) == CONNECTION_OK) {
		(void)PQsetNoticeReceiver(l->conn, on_notice, l);
		s = greet(cx, l);
	} else {
		s = refuse(cx, l);
	}
	if (s != OK) {
		pglink_close(l);
		return s;
	}
	if (l->opened)
		atomic_fetch_add(&l->db->counters.reconnects, 1);
	l->opened = true;
	return OK;
}

void
pglink_close(struct pglink *l)
{
	PQfinish(l->conn);
	memset(l->statements, 0, l->db->catalog.sql_count * sizeof(*l->statements));
	*l = (struct pglink){ .db = l->db, .statements = l->statements, .opened = l->opened };
}

bool
pglink_readable(const char *url)
{
	char *words = NULL;
	PQconninfoOption *options = PQconninfoParse(url, &words);

	PQfreemem(words);
	PQconninfoFree(options);
	return options != NULL;
}

static size_t
add_folders(struct arena *a, const char *hosts, str *out, size_t most)
{
	str one, rest = str_of(hosts);
	size_t n = 0;

	while (rest.len && n < most) {
		if (!str_cut(rest, ',', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		if (str_starts(one, STR("/")))
			out[n++] = arena_str(a, one);
	}
	return n;
}

/* Without a host libpq looks in a folder that was chosen when it was built: Debian's, besides the environment's. */
size_t
pglink_socket_folders(struct arena *a, const char *url, str *out, size_t most)
{
	PQconninfoOption *options = PQconninfoParse(url, NULL);
	size_t n = add_folders(a, getenv("PGHOST"), out, most);

	for (const PQconninfoOption *o = options; o && o->keyword; o++)
		if (strcmp(o->keyword, "host") == 0)
			n += add_folders(a, o->val, out + n, most - n);
	PQconninfoFree(options);
	return n + add_folders(a, "/run/postgresql,/var/run/postgresql", out + n, most - n);
}
