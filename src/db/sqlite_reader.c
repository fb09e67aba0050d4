/* SPDX-License-Identifier: Apache-2.0 */
#include "db/sqlite.h"

/* The last answer to a statement: no row, or one. */
struct kept {
	uint64_t state; /* the reader's when it was given; 0: there is none */
	bool has_row;
	struct db_value *args, *cells; /* in room, with their bytes behind them */
	char *room;		       /* LIMIT_DB_KEPT */
	size_t used;
};

/* --- keeping --- */

/* The copies of values in the answer's room; NULL: it is too small. */
static struct db_value *
copy(struct kept *k, const struct db_value *values, size_t count)
{
	struct db_value *to = (void *)(k->room + k->used);
	size_t need = count * sizeof(*to), bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += values[i].bytes.len;
	if (need + bytes > LIMIT_DB_KEPT - k->used)
		return NULL;
	k->used += need;
	for (size_t i = 0; i < count; i++) {
		to[i] = values[i];
		to[i].bytes.ptr = k->room + k->used;
		if (values[i].bytes.len)
			memcpy(k->room + k->used, values[i].bytes.ptr, values[i].bytes.len);
		k->used += values[i].bytes.len;
	}
	k->used = (k->used + _Alignof(struct db_value) - 1) / _Alignof(struct db_value) *
		  _Alignof(struct db_value);
	return to;
}

/* The sink of a statement whose answer is to be kept: what comes through goes on to the caller's. */
struct keeper {
	struct row_sink sink; /* first */
	struct row_sink *to;
	struct kept *kept;
	const struct sql *sql;
	bool fits;
};

static status
keep_row(struct ctx *cx, struct row_sink *sink, const struct db_value *cells)
{
	struct keeper *k = (struct keeper *)sink;

	k->fits = k->fits && !k->kept->has_row && (k->kept->cells = copy(k->kept, cells, k->sql->columns));
	k->kept->has_row = true;
	return k->to->row(cx, k->to, cells);
}

static status
execute_and_keep(struct ctx *cx, struct reader *r, const struct sql *s, const struct db_value *args,
	struct row_sink *sink)
{
	struct kept *k = &r->kept[s->index];
	struct keeper keeper = { .sink = { .row = keep_row }, .to = sink, .kept = k, .sql = s };
	status done;

	if (!k->room)
		k->room = arena_alloc(&r->rooms, LIMIT_DB_KEPT);
	k->state = k->used = 0;
	k->has_row = false;
	k->args = copy(k, args, s->params);
	keeper.fits = k->args != NULL;
	done = connection_execute(cx, &r->connection, s, args, &keeper.sink);
	if (done == OK && keeper.fits)
		k->state = r->state;
	return done;
}

static bool
is_same(const struct db_value *a, const struct db_value *b)
{
	return a->type == b->type && a->number == b->number && str_eq(a->bytes, b->bytes);
}

/* The answer that is kept to this question, or NULL. */
static const struct kept *
recall(const struct reader *r, const struct sql *s, const struct db_value *args)
{
	const struct kept *k = &r->kept[s->index];

	if (k->state != r->state)
		return NULL;
	for (size_t i = 0; i < s->params; i++)
		if (!is_same(&k->args[i], &args[i]))
			return NULL;
	return k;
}

/* --- the state of the database --- */

/* False: nobody can say. */
static bool
see_log(struct reader *r, struct log_index *out)
{
	return r->has_read && connection_log(&r->connection, out) == SQLITE_OK;
}

static bool
is_same_log(const struct log_index *a, const struct log_index *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* May this read be given what is kept? Brings r->log and r->state up to date. */
static bool
look(struct reader *r)
{
	struct log_index now;

	if (!see_log(r, &now))
		return false;
	if (!is_same_log(&now, &r->log)) {
		r->log = now;
		r->state++;
	}
	return true;
}

/* --- one read --- */

status
reader_open(struct ctx *cx, struct reader *r, const char *path, size_t statements)
{
	TRY(connection_open(cx, &r->connection, path, false, statements));
	arena_init(&r->rooms, (statements + 1) * (sizeof(*r->kept) + LIMIT_DB_KEPT));
	r->kept = arena_alloc(&r->rooms, (statements + 1) * sizeof(*r->kept));
	return OK;
}

void
reader_close(struct reader *r)
{
	arena_done(&r->rooms);
	connection_close(&r->connection);
}

/* The snapshot is the database as the first statement finds it. */
static status
begin(struct ctx *cx, struct reader *r)
{
	int rc = connection_do(&r->connection, VERB_BEGIN);

	if (rc != SQLITE_OK)
		return connection_fail(cx, &r->connection, rc);
	r->begun = true;
	return OK;
}

static status
end(struct ctx *cx, struct reader *r, status s)
{
	int rc;

	if (connection_lost_transaction(&r->connection))
		return s;
	rc = connection_do(&r->connection, VERB_ROLLBACK);
	return rc != SQLITE_OK && s == OK ? connection_fail(cx, &r->connection, rc) : s;
}

status
reader_run(struct ctx *cx, struct reader *r, struct tx *tx)
{
	status s;

	r->gave = r->begun = r->moved = false;
	r->keeps = tx->glances && tx->attempts == 0 && look(r);
	s = tx_call(cx, tx, &r->connection);
	tx->rerun = r->moved;
	return r->begun ? end(cx, r, s) : s;
}

/* After the first statement, which takes the snapshot: the log was looked at before that and is now, and never again is what it was.
 * Where it is another one, what that statement left is over with the next look. */
static status
check_snapshot(struct ctx *cx, struct reader *r)
{
	struct log_index now;

	r->has_read = true;
	if (!r->keeps || (see_log(r, &now) && is_same_log(&now, &r->log)))
		return OK;
	r->keeps = false;
	r->moved = r->gave;
	return r->moved ? fail(cx, E_BUSY, "the database changed while it was read") : OK;
}

status
reader_execute(struct ctx *cx, struct reader *r, const struct sql *s, const struct db_value *args,
	struct row_sink *sink)
{
	bool first = !r->begun, keeps = s->often && r->keeps;
	const struct kept *k = keeps ? recall(r, s, args) : NULL;

	if (k) {
		r->gave = true;
		return k->has_row ? sink->row(cx, sink, k->cells) : OK;
	}
	if (first)
		TRY(begin(cx, r));
	TRY(keeps ? execute_and_keep(cx, r, s, args, sink)
		  : connection_execute(cx, &r->connection, s, args, sink));
	return first ? check_snapshot(cx, r) : OK;
}
