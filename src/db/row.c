/* SPDX-License-Identifier: Apache-2.0 */
/* Statements and their rows: the same for every engine. */
#include "base/check.h"
#include "base/log.h"
#include "db/engine.h"

/* --- from cells to structs --- */

static status
wrong_type(struct ctx *cx, const struct sql *s, const struct field *f)
{
	return fail(cx, E_INTERNAL, "statement %s gives %s with a type that its table does not have", s->name,
		f->name);
}

/* The arena's copy of bytes, with a NUL behind it that is not counted. */
static status
keep(struct ctx *cx, str bytes, str *out)
{
	char *p = arena_try_bytes(cx->arena, bytes.len + 1);

	if (!p)
		return fail(cx, E_TOO_LARGE, "the answer does not fit the memory of one request");
	if (bytes.len)
		memcpy(p, bytes.ptr, bytes.len);
	p[bytes.len] = '\0';
	*out = (str){ p, bytes.len };
	return OK;
}

static status
fill_bytes(struct ctx *cx, const struct sql *s, const struct field *f, const struct db_value *cell, void *at)
{
	if (cell->type != (f->type == FIELD_TYPE_TEXT ? DB_TEXT : DB_BLOB))
		return wrong_type(cx, s, f);
	return keep(cx, cell->bytes, at);
}

static status
fill_field(struct ctx *cx, const struct sql *s, const struct field *f, const struct db_value *cell, char *row)
{
	void *at = row + f->offset;

	if (cell->type == DB_NULL) /* the struct is zeroed: 0, false, the empty text */
		return f->need ? fail(cx, E_INTERNAL, "statement %s gives NULL for %s", s->name, f->name)
			       : OK;
	CHECK(f->type != FIELD_TYPE_JSON && f->type != FIELD_TYPE_END);
	if (f->type == FIELD_TYPE_TEXT || f->type == FIELD_TYPE_BLOB)
		return fill_bytes(cx, s, f, cell, at);
	if (cell->type != DB_INT)
		return wrong_type(cx, s, f);
	if (f->type == FIELD_TYPE_INT)
		*(int64_t *)at = cell->number;
	else
		*(bool *)at = cell->number != 0;
	return OK;
}

static status
fill(struct ctx *cx, const struct sql *s, const struct field *fields, const struct db_value *cells, char *row)
{
	for (size_t i = 0; i < s->columns; i++)
		TRY(fill_field(cx, s, &fields[i], &cells[i], row));
	return OK;
}

static size_t
field_size(const struct field *f)
{
	switch (f->type) {
	case FIELD_TYPE_INT:
		return sizeof(int64_t);
	case FIELD_TYPE_BOOL:
		return sizeof(bool);
	default:
		return sizeof(str);
	}
}

/* How far into the struct its fields reach. */
static size_t
span(const struct field *fields)
{
	size_t end = 0;

	for (const struct field *f = fields; f->type != FIELD_TYPE_END; f++)
		if (f->offset + field_size(f) > end)
			end = f->offset + field_size(f);
	return end;
}

/* The table must have a field for each column: a bug of ours where it has not. */
static void
check_fields(const struct sql *s, const struct field *fields)
{
	size_t n = 0;

	while (fields[n].type != FIELD_TYPE_END)
		n++;
	CHECK(n == s->columns);
	CHECK(n > 0);
}

/* --- statements --- */

/* Both databases shall accept the same text; PostgreSQL takes neither of these. */
static status
check_text(struct ctx *cx, const struct db_value *args, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (args[i].type != DB_TEXT)
			continue;
		if (!str_is_utf8(args[i].bytes) || str_find(args[i].bytes, '\0') < args[i].bytes.len)
			return fail(cx, E_INVALID, "text must be UTF-8 without U+0000");
	}
	return OK;
}

/* later: the answer is not waited for, where the engine can; sink may then be NULL. */
static status
execute(struct ctx *cx, const struct sql *s, const struct db_value *args, size_t count, struct row_sink *sink,
	bool later)
{
	struct tx *tx = cx->tx;
	status done;

	CHECK(tx != NULL);
	if (count != s->params) /* the check that follows cannot say which statement it was */
		LOG(LOG_ERROR, "db.wrong_parameters", LOG_STR("statement", str_of(s->name)),
			LOG_INT("takes", s->params), LOG_INT("given", count));
	CHECK(count == s->params);
	CHECK(tx->writes || !s->writes);
	CHECK(s->index < tx->db->catalog.sql_count && tx->db->catalog.sql[s->index] == s);
	TRY(tx->doomed);
	done = check_text(cx, args, count);
	if (done == OK)
		done = later ? tx->db->engine->later(cx, tx, s, args, count, sink)
			     : tx->db->engine->execute(cx, tx, s, args, count, sink);
	tx->doomed = done;
	return done;
}

/* A row that nobody asked for. */
static status
drop_row(struct ctx *cx, struct row_sink *sink, const struct db_value *cells)
{
	(void)cx;
	(void)sink;
	(void)cells;
	return OK;
}

status
db_run_args(struct ctx *cx, const struct sql *s, int64_t *out_rows, const struct db_value *args, size_t count)
{
	struct row_sink sink = { .row = drop_row };

	TRY(execute(cx, s, args, count, &sink, false));
	if (out_rows)
		*out_rows = sink.touched;
	return OK;
}

status
db_later_args(struct ctx *cx, const struct sql *s, const struct db_value *args, size_t count)
{
	struct row_sink sink = { .row = drop_row };
	bool later;

	CHECK(cx->tx != NULL);
	later = cx->tx->db->engine->later != NULL;
	return execute(cx, s, args, count, later ? NULL : &sink, later);
}

struct one_sink {
	struct row_sink sink; /* first */
	const struct sql *sql;
	const struct field *fields;
	char *row; /* NULL: none yet */
};

static status
take_one(struct ctx *cx, struct row_sink *sink, const struct db_value *cells)
{
	struct one_sink *one = (struct one_sink *)sink;

	if (one->row)
		return fail(cx, E_INTERNAL, "statement %s gives more than one row", one->sql->name);
	one->row = arena_alloc(cx->arena, span(one->fields));
	return fill(cx, one->sql, one->fields, cells, one->row);
}

status
db_one_args(struct ctx *cx, const struct sql *s, const struct field *fields, void *out,
	const struct db_value *args, size_t count)
{
	struct one_sink one = { .sink = { .row = take_one }, .sql = s, .fields = fields };

	check_fields(s, fields);
	TRY(execute(cx, s, args, count, &one.sink, false));
	if (!one.row)
		return fail(cx, E_NOT_FOUND, "%s", status_info(E_NOT_FOUND)->sentence);
	for (const struct field *f = fields; f->type != FIELD_TYPE_END; f++)
		memcpy((char *)out + f->offset, one.row + f->offset, field_size(f));
	return OK;
}

struct all_sink {
	struct row_sink sink; /* first */
	const struct sql *sql;
	const struct field *fields;
	struct db_rows *out;
	size_t size, room;
};

static status
make_room(struct ctx *cx, struct all_sink *all)
{
	size_t room = all->room ? all->room * 2 : 16;
	char *rows;

	if (all->out->count < all->room)
		return OK;
	rows = arena_try_array(cx->arena, room, all->size);
	if (!rows)
		return fail(cx, E_TOO_LARGE, "the answer does not fit the memory of one request");
	if (all->out->count)
		memcpy(rows, all->out->rows, all->out->count * all->size);
	all->out->rows = rows;
	all->room = room;
	return OK;
}

static status
take_all(struct ctx *cx, struct row_sink *sink, const struct db_value *cells)
{
	struct all_sink *all = (struct all_sink *)sink;
	struct db_rows *out = all->out;

	if (out->count == LIMIT_DB_ROWS)
		return fail(cx, E_TOO_LARGE, "statement %s gives more than %u rows", all->sql->name,
			LIMIT_DB_ROWS);
	TRY(make_room(cx, all));
	TRY(fill(cx, all->sql, all->fields, cells, (char *)out->rows + out->count * all->size));
	out->count++;
	return OK;
}

static struct all_sink
sink_for(const struct sql *s, const struct field *fields, size_t size, struct db_rows *out)
{
	check_fields(s, fields);
	CHECK(span(fields) <= size);
	return (struct all_sink){
		.sink = { .row = take_all }, .sql = s, .fields = fields, .size = size, .out = out
	};
}

status
db_all_args(struct ctx *cx, const struct sql *s, const struct field *fields, size_t size, void **out_rows,
	size_t *out_count, const struct db_value *args, size_t count)
{
	struct db_rows rows = { 0 };
	struct all_sink all = sink_for(s, fields, size, &rows);

	TRY(execute(cx, s, args, count, &all.sink, false));
	*out_rows = rows.rows;
	*out_count = rows.count;
	return OK;
}

status
db_ask_args(struct ctx *cx, const struct sql *s, const struct field *fields, size_t size, struct db_rows *out,
	const struct db_value *args, size_t count)
{
	struct all_sink *all = ARENA_NEW(cx->arena, struct all_sink); /* it is filled when we have returned */

	CHECK(cx->tx != NULL);
	*out = (struct db_rows){ 0 };
	*all = sink_for(s, fields, size, out);
	cx->tx->asked = true;
	return execute(cx, s, args, count, &all->sink, cx->tx->db->engine->later != NULL);
}
