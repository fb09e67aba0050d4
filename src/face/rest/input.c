/* SPDX-License-Identifier: Apache-2.0 */
#include "face/rest/input.h"

#include "base/check.h"
#include "json/bind.h"
#include "json/pointer.h"

static const struct field no_fields[] = { FIELD_END };

static size_t
count_fields(const struct field *fields)
{
	size_t n = 0;

	while (fields[n].type != FIELD_TYPE_END)
		n++;
	return n;
}

static bool
is_in_path(const struct input *i, const struct field *f)
{
	for (size_t p = 0; p < i->path_count; p++)
		if (i->path[p] == f)
			return true;
	return false;
}

struct input *
input_new(struct arena *a, const struct op *op)
{
	struct input *i = ARENA_NEW(a, struct input);
	const struct field *in = op->in ? op->in : no_fields;
	size_t count = count_fields(in), kept = 0;
	struct field *others = arena_alloc(a, (count + 1) * sizeof(*others)); /* zero is FIELD_END */
	str path = str_of(op->path), key;

	i->op = op;
	while (op_path_key(&path, &key)) {
		CHECK(i->path_count < HTTP_PARAMS);
		i->path[i->path_count++] = field_by_key(in, key);
	}
	for (size_t f = 0; f < count; f++)
		if (!is_in_path(i, &in[f]))
			others[kept++] = in[f];
	i->others = others;
	return i;
}

/* --- path and query: texts that are read one by one, their issues gathered --- */

struct reading {
	const struct http_exchange *x;
	struct ctx *cx;
	const struct input *input;
	void *in;
	struct error found; /* json_bind_text begins afresh with each text */
};

#define ISSUES (sizeof(((struct error *)0)->issues) / sizeof(struct issue))

static void
note(struct reading *r, str key, const char *message)
{
	if (r->found.issue_count < ISSUES)
		r->found.issues[r->found.issue_count++] =
			(struct issue){ pointer_key(r->cx->arena, STR(""), key), str_of(message) };
}

static void
read_text(struct reading *r, const struct field *f, str key, str text)
{
	if (json_bind_text(r->cx, f, text, r->in) == OK)
		return;
	note(r, key, arena_cstr(r->cx->arena, r->cx->error.issues[0].message));
}

/* Has the query named this key before byte `end` of it? */
static bool
is_repeated(const struct reading *r, str key, size_t end)
{
	size_t at = 0;
	str name, value;
	bool ok;

	while (at < end && http_query_next(r->x, &at, &name, &value, &ok))
		if (at < end && ok && str_eq(name, key))
			return true;
	return false;
}

static bool
has_escaped_nul(str raw)
{
	for (size_t at = 0; at < raw.len; at++)
		if (str_starts(str_skip(raw, at), STR("%00")))
			return true;
	return false;
}

/* One of them is as it came, and cannot be decoded. */
static const char *
why_not_decoded(str name, str value)
{
	return has_escaped_nul(name) || has_escaped_nul(value) ? "must not contain NUL (%00)"
							       : "is not valid percent-encoding of UTF-8";
}

/* The sentence for a name that is no parameter: with those that are. */
static const char *
unknown_parameter(const struct reading *r)
{
	str accepted;

	if (op_takes_body(r->input->op))
		return "is not a parameter of this operation; its input comes in the body";
	accepted = field_keys(r->cx->arena, r->input->others);
	return arena_printf(
		r->cx->arena, "is not a parameter of this operation; accepted: %.*s", STR_ARG(accepted))
		.ptr;
}

/* Ends when there are as many issues as anybody will hear of: a query of a thousand names costs no more. */
static void
read_query(struct reading *r)
{
	size_t at = 0;
	str name, value;
	bool ok, is_query = !op_takes_body(r->input->op);

	while (r->found.issue_count < ISSUES && http_query_next(r->x, &at, &name, &value, &ok)) {
		const struct field *f = is_query ? field_by_key(r->input->others, name) : NULL;

		if (!ok)
			note(r, name, why_not_decoded(name, value));
		else if (!f && r->input->op->open_query)
			continue;
		else if (!f)
			note(r, name, unknown_parameter(r));
		else if (is_repeated(r, name, at))
			note(r, name, "is given twice");
		else
			read_text(r, f, name, value);
	}
}

static void
read_path(struct reading *r)
{
	for (size_t p = 0; p < r->input->path_count; p++) {
		const struct field *f = r->input->path[p];

		if (json_bind_text(r->cx, f, r->x->req.params[p], r->in) != OK)
			note(r, field_key(r->cx->arena, f->name),
				arena_cstr(r->cx->arena, r->cx->error.issues[0].message));
	}
}

/* Was something else wrong with it? Then it is not missing. */
static bool
is_noted(const struct reading *r, str key)
{
	str path = pointer_key(r->cx->arena, STR(""), key);

	for (size_t i = 0; i < r->found.issue_count; i++)
		if (str_eq(r->found.issues[i].path, path))
			return true;
	return false;
}

static void
require_query(struct reading *r)
{
	str value;

	for (const struct field *f = r->input->others; f->type != FIELD_TYPE_END; f++) {
		str key = field_key(r->cx->arena, f->name);

		if (f->need && !is_noted(r, key) && !http_query(r->x, key, &value))
			note(r, key, "is needed");
	}
}

static status
refuse_found(struct reading *r)
{
	const struct issue *first = &r->found.issues[0];

	r->cx->error = r->found;
	return fail(r->cx, E_INVALID, "%.*s %.*s", STR_ARG(first->path), STR_ARG(first->message));
}

/* --- all of it --- */

/* The document as it is; the one JSON member takes it. */
static status
take_whole(struct ctx *cx, const struct input *i, struct json *doc, void *in)
{
	const struct field *f = i->others;

	CHECK(in != NULL);
	while (f->type != FIELD_TYPE_JSON)
		f++;
	if (doc->type != JSON_OBJECT)
		return fail(cx, E_INVALID, "the body must be a JSON object");
	*(struct json **)(void *)((char *)in + f->offset) = doc;
	return OK;
}

static bool
needs_any(const struct field *fields)
{
	for (; fields->type != FIELD_TYPE_END; fields++)
		if (fields->need)
			return true;
	return false;
}

static status
read_body(const struct http_exchange *x, const struct input *i, void *in)
{
	struct json *doc;

	/* where nothing is needed, no body is an empty one */
	TRY(json_parse(x->cx, x->req.body.len || needs_any(i->others) ? x->req.body : STR("{}"), &doc));
	if (i->op->whole_body)
		return take_whole(x->cx, i, doc, in);
	return json_bind(x->cx, doc, i->others, i->op->in_size, in);
}

status
input_read(const struct http_exchange *x, const struct input *i, void **out_in)
{
	struct reading r = { .x = x, .cx = x->cx, .input = i };

	if (i->op->in_size)
		r.in = arena_alloc(x->cx->arena, i->op->in_size);
	read_path(&r);
	read_query(&r);
	if (!op_takes_body(i->op))
		require_query(&r);
	if (r.found.issue_count)
		return refuse_found(&r);
	ctx_clear(x->cx);
	if (op_takes_body(i->op))
		TRY(read_body(x, i, r.in));
	*out_in = r.in;
	return OK;
}
