/* SPDX-License-Identifier: Apache-2.0 */
#include "db/pg/bundle.h"

void
bundle_init(struct bundle *b)
{
	arena_init(&b->arena, SIZE_MAX);
	b->count = b->mine = 0;
}

void
bundle_done(struct bundle *b)
{
	arena_done(&b->arena);
}

void
bundle_turn(struct bundle *b)
{
	b->mine = 0;
}

static struct bundle_list *
list_of(struct bundle *b, const struct sql *s)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->lists[i].sql == s)
			return &b->lists[i];
	if (b->count == BUNDLE_LISTS)
		return NULL;
	b->lists[b->count].sql = s;
	b->lists[b->count].count = 0;
	return &b->lists[b->count++];
}

static bool
has_room(const struct bundle *b, const struct bundle_list *list)
{
	return list && list->count < BUNDLE_ROWS && (size_t)(list - b->lists) + 1 >= b->mine;
}

static const struct db_value *
copy_row(struct bundle *b, const struct sql *s, const struct db_value *args)
{
	struct db_value *row = arena_alloc(&b->arena, s->params * sizeof(*row));

	for (size_t i = 0; i < s->params; i++) {
		row[i] = args[i];
		row[i].bytes = arena_str(&b->arena, args[i].bytes);
	}
	return row;
}

status
bundle_add(
	struct ctx *cx, struct bundle *b, struct pglink *l, const struct sql *s, const struct db_value *args)
{
	struct bundle_list *list = list_of(b, s);

	if (!has_room(b, list)) {
		TRY(bundle_send(cx, b, l));
		list = list_of(b, s);
	}
	list->rows[list->count++] = copy_row(b, s, args);
	b->mine = (size_t)(list - b->lists) + 1;
	return OK;
}

status
bundle_mine(struct ctx *cx, struct bundle *b, struct pglink *l)
{
	return b->mine ? bundle_send(cx, b, l) : OK;
}

/* So many rows in one statement, which is for as many. */
static status
send_some(struct ctx *cx, struct pglink *l, const struct sql *s, const struct db_value *const *rows,
	size_t width)
{
	struct db_value args[LIMIT_DB_MANY * LIMIT_DB_PARAMS];

	for (size_t i = 0; i < s->params / width; i++)
		memcpy(args + i * width, rows[i], width * sizeof(*args));
	return pglink_later(cx, l, s, args, NULL);
}

static status
send_list(struct ctx *cx, struct pglink *l, const struct bundle_list *list)
{
	size_t sent = 0, width = list->sql->params;

	for (const struct sql *const *many = list->sql->many; *many; many++)
		for (; list->count - sent >= (*many)->rows; sent += (*many)->rows)
			TRY(send_some(cx, l, *many, list->rows + sent, width));
	for (; sent < list->count; sent++)
		TRY(pglink_later(cx, l, list->sql, list->rows[sent], NULL));
	return OK;
}

status
bundle_send(struct ctx *cx, struct bundle *b, struct pglink *l)
{
	for (size_t i = 0; i < b->count; i++)
		TRY(send_list(cx, l, &b->lists[i]));
	b->count = b->mine = 0;
	arena_reset(&b->arena);
	return OK;
}
