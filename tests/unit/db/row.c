/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters, rows and lists, on every engine. */
#include "tests/unit/db/engines.h"

struct item {
	int64_t id;
	str name;
	int64_t parent, amount;
	str data;
	int64_t extreme;
};
static const struct field item_row[] = {
	FIELD_INT(struct item, id),
	FIELD_TEXT(struct item, name),
	FIELD_INT(struct item, parent),
	FIELD_INT(struct item, amount),
	FIELD_BLOB(struct item, data),
	FIELD_INT(struct item, extreme),
	FIELD_END,
};

/* --- rows --- */

static status
get_item(struct ctx *cx, void *arg)
{
	struct item *i = arg;

	return db_one(cx, SQL_ITEM_GET, item_row, i, INT(i->id));
}

static void
every_value_comes_back_as_it_went(void **state)
{
	struct world *w = *state;
	struct row low = { { INT(1), TEXT(STR("Grüße 🎈")), NIL, INT(INT64_MAX),
		BLOB(((str){ "\0\xff\0\\x", 5 })), INT(INT64_MIN) } };
	struct row empty = { { INT(2), TEXT(STR("")), INT(1), INT(0), BLOB(((str){ NULL, 0 })), NIL } };
	struct item got = { .id = 1 };

	assert_status(tx_run(&w->cx, add_row, &low), OK);
	assert_status(tx_run(&w->cx, add_row, &empty), OK);
	assert_status(db_read(&w->cx, get_item, &got), OK);
	assert_str(got.name, "Grüße 🎈");
	assert_int_equal(got.parent, 0);
	assert_true(got.amount == INT64_MAX && got.extreme == INT64_MIN);
	assert_true(str_eq(got.data, ((str){ "\0\xff\0\\x", 5 })));
	got.id = 2;
	assert_status(db_read(&w->cx, get_item, &got), OK);
	assert_int_equal(got.name.len, 0);
	assert_int_equal(got.data.len, 0);
	assert_int_equal(got.parent, 1);
}

static void
a_null_is_the_zero_of_its_field(void **state)
{
	struct world *w = *state;
	struct item got = { .id = 1, .name = STR("x"), .parent = 3, .data = STR("x"), .extreme = 4 };

	assert_status(tx_run(&w->cx, add_item, &got.id), OK);
	assert_status(db_read(&w->cx, get_item, &got), OK);
	assert_int_equal(got.name.len + got.data.len, 0);
	assert_int_equal(got.parent + got.extreme, 0);
}

static void
a_large_row_comes_back_whole(void **state)
{
	struct world *w = *state;
	size_t size = 4 * MIB;
	char *big = malloc(size);
	struct row row = { { INT(1), NIL, NIL, INT(0), BLOB(((str){ big, size })), NIL } };
	struct item got = { .id = 1 };

	CHECK(big != NULL);
	for (size_t i = 0; i < size; i++)
		big[i] = (char)(i * 7);
	assert_status(tx_run(&w->cx, add_row, &row), OK);
	assert_status(db_read(&w->cx, get_item, &got), OK);
	assert_true(str_eq(got.data, ((str){ big, size })));
	w->arena.cap = 1 * MIB;
	assert_status(db_read(&w->cx, get_item, &got), E_TOO_LARGE);
	free(big);
}

static void
no_row_is_not_found_and_touches_nothing(void **state)
{
	struct world *w = *state;
	struct item got = { .id = 5, .amount = 77 };

	assert_status(db_read(&w->cx, get_item, &got), E_NOT_FOUND);
	assert_int_equal(got.amount, 77);
}

struct wrong {
	int64_t id;
	bool flag;
	str text;
};
static const struct field id_as_text[] = { FIELD_TEXT(struct wrong, text), FIELD_END };
static const struct field id_as_blob[] = { FIELD_BLOB(struct wrong, text), FIELD_END };
static const struct field id_as_bool[] = { FIELD_BOOL(struct wrong, flag), FIELD_END };
static const struct field needed_name[] = {
	FIELD_TEXT(struct wrong, text, .need = true),
	FIELD_INT(struct wrong, id),
	FIELD_END,
};
static const struct field name_as_int[] = {
	FIELD_INT(struct wrong, id),
	FIELD_INT(struct wrong, id),
	FIELD_END,
};

static status
read_ids_wrongly(struct ctx *cx, void *arg)
{
	struct wrong *w = arg;
	const struct field *fields = w->id == 1 ? id_as_text : w->id == 2 ? id_as_blob : id_as_bool;

	return db_one(cx, SQL_ITEM_IDS, fields, w);
}

static status
take_wrongly(struct ctx *cx, void *arg)
{
	struct wrong *w = arg;

	return db_one(cx, SQL_ITEM_TAKE, w->flag ? needed_name : name_as_int, w, INT(w->id));
}

static void
a_row_that_does_not_fit_its_struct_is_our_mistake(void **state)
{
	struct world *w = *state;
	struct row named = { { INT(1), TEXT(STR("n")), NIL, INT(0), NIL, NIL } };
	struct wrong wrong = { .id = 1, .text = STR("untouched") };
	int64_t two = 2;

	assert_status(tx_run(&w->cx, add_row, &named), OK);
	assert_status(db_read(&w->cx, read_ids_wrongly, &wrong), E_INTERNAL);
	wrong.id = 2;
	assert_status(db_read(&w->cx, read_ids_wrongly, &wrong), E_INTERNAL);
	assert_str(wrong.text, "untouched");
	wrong.id = 3;
	assert_status(db_read(&w->cx, read_ids_wrongly, &wrong), OK);
	assert_true(wrong.flag);
	assert_status(tx_run(&w->cx, take_wrongly, &(struct wrong){ .id = 1 }), E_INTERNAL);
	assert_status(tx_run(&w->cx, add_item, &two), OK);
	assert_status(tx_run(&w->cx, take_wrongly, &(struct wrong){ .id = 2, .flag = true }), E_INTERNAL);
	assert_status(db_read(&w->cx, read_ids_wrongly, &wrong), E_INTERNAL); /* two rows */
	assert_int_equal(count_items(&w->cx), 2);
}

static status
take_first(struct ctx *cx, void *arg)
{
	return db_one(cx, SQL_ITEM_TAKE, needed_name, arg, INT(1));
}

static status
raise_all(struct ctx *cx, void *arg)
{
	TRY(db_run(cx, SQL_ITEM_RAISE, INT(0), INT(0)));
	return db_run_count(cx, SQL_ITEM_RAISE, arg, INT(5), INT(1));
}

static void
rows_touched_are_counted_and_returning_returns(void **state)
{
	struct world *w = *state;
	struct row a = { { INT(1), TEXT(STR("a")), NIL, INT(1), NIL, NIL } };
	struct row b = { { INT(2), NIL, NIL, INT(2), NIL, NIL } };
	struct row c = { { INT(3), NIL, NIL, INT(0), NIL, NIL } };
	struct wrong taken = { .id = 0 };
	int64_t touched = -1;

	assert_status(tx_run(&w->cx, add_row, &a), OK);
	assert_status(tx_run(&w->cx, add_row, &b), OK);
	assert_status(tx_run(&w->cx, add_row, &c), OK);
	assert_status(tx_run(&w->cx, raise_all, &touched), OK);
	assert_int_equal(touched, 2);
	assert_status(tx_run(&w->cx, take_first, &taken), OK);
	assert_str(taken.text, "a");
	assert_int_equal(taken.id, 6);
	assert_int_equal(count_items(&w->cx), 2);
}

struct counter {
	int64_t id, n;
};
static const struct field counter_row[] = {
	FIELD_INT(struct counter, id),
	FIELD_INT(struct counter, n),
	FIELD_END,
};
struct list {
	struct counter *rows;
	size_t count;
};

static status
list_counters(struct ctx *cx, void *arg)
{
	struct list *l = arg;

	return db_all(cx, SQL_COUNTER_ALL, counter_row, sizeof(*l->rows), &l->rows, &l->count);
}

static void
a_list_is_whole_or_too_large(void **state)
{
	struct world *w = *state;
	struct list list = { .count = 99 };
	int64_t most = LIMIT_DB_ROWS;
	struct counter extra = { .id = LIMIT_DB_ROWS + 1 };

	assert_status(db_read(&w->cx, list_counters, &list), OK);
	assert_int_equal(list.count, 0);
	assert_status(tx_run(&w->cx, make_counters, &most), OK);
	assert_status(db_read(&w->cx, list_counters, &list), OK);
	assert_int_equal(list.count, most);
	for (int64_t i = 0; i < most; i++)
		assert_int_equal(list.rows[i].id, i + 1);
	w->arena.cap = 100 * KIB;
	assert_status(db_read(&w->cx, list_counters, &list), E_TOO_LARGE);
	w->arena.cap = LIMIT_REQUEST_ARENA;
	assert_status(tx_run(&w->cx, add_item, &extra.id), OK);
}

static status
make_one_more_and_list(struct ctx *cx, void *arg)
{
	int64_t more = LIMIT_DB_ROWS + 1;

	TRY(make_counters(cx, &more));
	return list_counters(cx, arg);
}

static void
a_list_beyond_the_limit_is_refused(void **state)
{
	struct world *w = *state;
	struct list list = { .count = 99 };

	assert_status(tx_run(&w->cx, make_one_more_and_list, &list), E_TOO_LARGE);
	assert_int_equal(list.count, 99);
	assert_status(db_read(&w->cx, list_counters, &list), OK);
	assert_int_equal(list.count, 0);
}

static const struct CMUnitTest tests[] = {
	ON_WORLD(every_value_comes_back_as_it_went),
	ON_WORLD(a_null_is_the_zero_of_its_field),
	ON_WORLD(a_large_row_comes_back_whole),
	ON_WORLD(no_row_is_not_found_and_touches_nothing),
	ON_WORLD(a_row_that_does_not_fit_its_struct_is_our_mistake),
	ON_WORLD(rows_touched_are_counted_and_returning_returns),
	ON_WORLD(a_list_is_whole_or_too_large),
	ON_WORLD(a_list_beyond_the_limit_is_refused),
};

int
main(void)
{
	return on_every_engine("row", tests, sizeof(tests) / sizeof(*tests));
}
