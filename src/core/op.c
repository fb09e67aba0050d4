/* SPDX-License-Identifier: Apache-2.0 */
#include "core/op.h"

#include "core/ident/rule.h"
#include "json/bind.h"

size_t
op_count(const struct op *const *tables)
{
	size_t n = 0;

	for (; *tables; tables++)
		OP_EACH (op, *tables)
			n++;
	return n;
}

static bool
is(const char *text, const char *word)
{
	return strcmp(text, word) == 0;
}

bool
op_takes_body(const struct op *op)
{
	return op->in && (is(op->method, "POST") || is(op->method, "PUT") || is(op->method, "PATCH"));
}

bool
op_path_key(str *path, str *out_key)
{
	str before, inside, key, rest;

	if (!str_cut(*path, '{', &before, &inside) || !str_cut(inside, '}', &key, &rest))
		return false;
	*out_key = key;
	*path = rest;
	return true;
}

/* --- lists --- */

#define PAGE_ROWS 100

struct list_out {
	struct json *items;
	str next;
};
const struct field op_list_out[] = {
	FIELD_JSON(struct list_out, items, .need = true,
		.doc = "The page's objects, in the order of their ids."),
	FIELD_TEXT(struct list_out, next,
		.doc = "What to give as `after` for the next page; absent on the last."),
	FIELD_END,
};

int64_t
op_page_rows(int64_t limit)
{
	return (limit ? limit : PAGE_ROWS) + 1;
}

status
op_item_value(struct ctx *cx, op_item_fn *write, const void *row, struct json **out)
{
	struct json_out o;
	struct buf b;
	str text;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	write(&o, row);
	json_out_end(&o);
	TRY(buf_finish(&b, &text));
	return json_parse(cx, text, out);
}

void
op_list(struct json_out *o, const void *rows, size_t size, size_t count, int64_t limit, op_item_fn *write)
{
	size_t shown = (size_t)op_page_rows(limit) - 1;
	const char *row = rows;

	if (shown > count)
		shown = count;
	json_out_array(o, "items");
	for (size_t i = 0; i < shown; i++) {
		json_out_object(o, NULL);
		write(o, row + i * size);
		json_out_end(o);
	}
	json_out_end(o);
	if (shown && shown < count)
		json_out_str(o, "next", *(const str *)(const void *)(row + (shown - 1) * size));
}

/* --- is the table right? --- */

static bool
is_method(const char *method)
{
	static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (is(method, methods[i]))
			return true;
	return false;
}

/* snake_case: it becomes a tool's name, and names tests and documentation. */
static bool
is_name(const char *name)
{
	for (const char *c = name; *c; c++)
		if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9') && *c != '_')
			return false;
	return *name >= 'a' && *name <= 'z';
}

static bool
is_rule(const char *rule)
{
	return is(rule, RULE_PUBLIC) || is(rule, RULE_ANYBODY) || rule_valid(str_of(rule));
}

static bool
path_keys_are_fields(const struct op *op)
{
	str path = str_of(op->path), key;

	while (op_path_key(&path, &key))
		if (!op->in || !field_by_key(op->in, key))
			return false;
	return true;
}

/* What is wrong with one record by itself, or NULL. */
static const char *
problem(const struct op *op)
{
	if (!is_name(op->name))
		return "its name is not snake_case";
	if (!op->doc || !*op->doc || op->doc[strlen(op->doc) - 1] != '.')
		return "its doc is not a sentence";
	if (!op->rule || !is_rule(op->rule))
		return "it has no rule";
	if (!is(op->rule, RULE_PUBLIC) && op->tx == OP_TX_NONE)
		return "who needs a credential runs in a transaction";
	if (op->where == OP_INLINE && op->tx != OP_TX_NONE)
		return "the event loop has no transactions";
	if (!op->method || !is_method(op->method))
		return "it has no method";
	if (!op->path || op->path[0] != '/')
		return "it has no path";
	if (op->peek && (op->where == OP_INLINE || op->effect != OP_READ))
		return "only what a worker reads is worth a peek";
	if (op->read_path && (op->tx != OP_TX_DECIDE || !op->wants_read_path))
		return "a read path is for what decides, and says when it is wanted";
	if (!op->run)
		return "it does not run anything";
	if (!op->in != !op->in_size)
		return "in and in_size come together";
	if (!op->out == !op->content_type)
		return "it needs either out or content_type";
	if (op->effect != OP_READ && is(op->method, "GET"))
		return "a GET changes nothing";
	if (!path_keys_are_fields(op))
		return "a {key} of its path is not in its input";
	return NULL;
}

static const char *
clash(const struct op *a, const struct op *b)
{
	if (is(a->name, b->name))
		return "another op has its name";
	if (is(a->method, b->method) && is(a->path, b->path))
		return "another op has its method and path";
	return NULL;
}

/* What is wrong with op in view of those that stand before it, or NULL. */
static const char *
clash_before(const struct op *const *tables, const struct op *op)
{
	for (; *tables; tables++) {
		OP_EACH (other, *tables) {
			if (other == op)
				return NULL;
			if (clash(other, op))
				return clash(other, op);
		}
	}
	return NULL;
}

status
op_check(struct ctx *cx, const struct op *const *tables)
{
	for (const struct op *const *t = tables; *t; t++) {
		OP_EACH (op, *t) {
			const char *wrong = problem(op);

			if (!wrong)
				wrong = clash_before(tables, op);
			if (wrong)
				return fail(cx, E_INTERNAL, "the operation %s: %s", op->name, wrong);
		}
	}
	return OK;
}
