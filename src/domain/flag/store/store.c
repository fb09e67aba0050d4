/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/store/impl.h"

#include "base/limits.h"
#include "base/meter/meter.h"
#include "core/event.h"
#include "core/ident/caller.h"
#include "db/db.h"
#include "domain/flag/ruleset.h"
#include "domain/flag/store/reference.h"
#include "json/out.h"

#include <inttypes.h>
#include <stdlib.h>

#include "domain/flag/store/store.sql.h" /* SQL_STORE_*, generated from store.sql */

static const struct {
	const char *name, *plural, *space;
} resources[RESOURCES] = {
	[RESOURCE_FLAG] = { "flag", "flags", "value" },
	[RESOURCE_CONFIG] = { "config", "configs", "value" },
	[RESOURCE_SEGMENT] = { "segment", "segments", "segment" },
};

const char *
resource_name(enum resource r)
{
	return resources[r].name;
}

const char *
resource_plural(enum resource r)
{
	return resources[r].plural;
}

str
resource_space(enum resource r)
{
	return str_of(resources[r].space);
}

static str
kind(enum resource r)
{
	return str_of(resources[r].name);
}

/* --- environments --- */

static const struct field environment_row[] = {
	FIELD_TEXT(struct environment, id),
	FIELD_TEXT(struct environment, project_id),
	FIELD_TEXT(struct environment, slug),
	FIELD_TEXT(struct environment, name),
	FIELD_TEXT(struct environment, target_field),
	FIELD_BOOL(struct environment, production),
	FIELD_BOOL(struct environment, approval_gate),
	FIELD_INT(struct environment, version),
	FIELD_INT(struct environment, created_at),
	FIELD_INT(struct environment, updated_at),
	FIELD_END,
};

status
environment_get(struct ctx *cx, str id, struct environment *out)
{
	status s =
		db_one(cx, SQL_STORE_ENVIRONMENT, environment_row, out, TEXT(cx->caller->org_id), TEXT(id));

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "there is no environment with this id");
	TRY(s);
	if (!out->updated_at)
		out->updated_at = out->created_at;
	return OK;
}

struct text_row {
	str text;
};
static const struct field text_row[] = { FIELD_TEXT(struct text_row, text), FIELD_END };

/* Two statements: on PostgreSQL the one that waits would show what was joined before it waited. */
status
environment_lock(struct ctx *cx, str id, struct environment *out)
{
	struct db_rows locked;

	TRY(db_ask(cx, SQL_STORE_LOCK, text_row, sizeof(struct text_row), &locked, TEXT(cx->caller->org_id),
		TEXT(id)));
	TRY(environment_get(cx, id, out));
	tx_waited(cx);
	return OK;
}

/* --- versions --- */

struct number_row {
	int64_t number;
};
static const struct field number_row[] = { FIELD_INT(struct number_row, number), FIELD_END };

static status
newest(struct ctx *cx, const struct sql *how, const struct environment *e, int64_t at_us, int64_t *version)
{
	struct number_row row;
	status s = db_one(cx, how, number_row, &row, TEXT(cx->caller->org_id), TEXT(e->id), INT(at_us));

	if (s == E_NOT_FOUND) {
		ctx_clear(cx);
		return OK;
	}
	TRY(s);
	if (row.number > *version)
		*version = row.number;
	return OK;
}

static status
version_by(struct ctx *cx, const struct environment *e, int64_t at_us, int64_t *out)
{
	int64_t version = 1;

	TRY(newest(cx, SQL_STORE_BEGUN_BY, e, at_us, &version));
	TRY(newest(cx, SQL_STORE_ENDED_BY, e, at_us, &version));
	*out = version;
	return OK;
}

status
store_version_at(struct ctx *cx, const struct environment *e, int64_t at_us, int64_t *out)
{
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	if (at_us < e->created_at)
		return fail(cx, E_NOT_FOUND, "the environment did not exist then");
	if (at_us < now_us - STORE_PAST_US)
		return fail(cx, E_NOT_FOUND, "one can look back 90 days, not further");
	return version_by(cx, e, at_us, out);
}

/* Those that were still live 90 days ago, and later ones: of older ones rows may be missing. */
static status
check_version(struct ctx *cx, const struct environment *e, int64_t version)
{
	int64_t now_us, oldest;

	TRY(tx_now_us(cx, &now_us));
	TRY(version_by(cx, e, now_us - STORE_PAST_US, &oldest));
	if (version < oldest || version > e->version)
		return fail(cx, E_NOT_FOUND, "the environment has the versions %" PRId64 " to %" PRId64,
			oldest, e->version);
	return OK;
}

/* --- documents --- */

#define PAGE 2000 /* below LIMIT_DB_ROWS */

struct state_row {
	str key, doc;
};
static const struct field state_row[] = {
	FIELD_TEXT(struct state_row, key),
	FIELD_TEXT(struct state_row, doc),
	FIELD_END,
};

static status
add_rows(struct ctx *cx, struct members *m, const struct state_row *rows, size_t count)
{
	struct json *entry;

	for (size_t i = 0; i < count; i++) {
		TRY(json_parse_stored(cx, rows[i].doc, &entry));
		members_add(m, rows[i].key, entry);
	}
	return OK;
}

/* version 0: the live one */
static status
load_states(struct ctx *cx, const struct environment *e, enum resource r, int64_t version, struct json **out)
{
	str org = cx->caller->org_id, after = STR("");
	struct members m = members_new(cx->arena);
	struct state_row *rows;
	size_t count;

	do {
		TRY(version ? db_all(cx, SQL_STORE_PAST, state_row, sizeof(*rows), &rows, &count, TEXT(org),
				      TEXT(e->id), TEXT(kind(r)), TEXT(after), INT(PAGE), INT(version))
			    : db_all(cx, SQL_STORE_LIVE, state_row, sizeof(*rows), &rows, &count, TEXT(org),
				      TEXT(e->id), TEXT(kind(r)), TEXT(after), INT(PAGE)));
		TRY(add_rows(cx, &m, rows, count));
		if (count)
			after = rows[count - 1].key;
	} while (count == PAGE);
	*out = m.object;
	return OK;
}

static status
load_target(struct ctx *cx, const struct environment *e, int64_t version, str *out)
{
	struct text_row row;
	status s = version ? db_one(cx, SQL_STORE_TARGET_AT, text_row, &row, TEXT(cx->caller->org_id),
				     TEXT(e->id), INT(version))
			   : E_NOT_FOUND;

	if (s != OK && s != E_NOT_FOUND)
		return s;
	ctx_clear(cx);
	*out = s == OK ? row.text : e->target_field; /* never changed, or now */
	return OK;
}

status
store_document(struct ctx *cx, const struct environment *e, int64_t version, struct json **out)
{
	struct json *doc = json_new_object(cx->arena), *states;
	str target;

	if (version)
		TRY(check_version(cx, e, version));
	TRY(load_target(cx, e, version, &target));
	json_add_member(doc, STR("targetField"), json_new_string(cx->arena, target));
	for (int r = 0; r < RESOURCES; r++) {
		TRY(load_states(cx, e, (enum resource)r, version, &states));
		json_add_member(doc, str_of(resource_plural((enum resource)r)), states);
	}
	*out = doc;
	return OK;
}

/* --- one of them --- */

struct item_row {
	str id, key, type, description, schema, doc;
	int64_t created_at, updated_at;
};
static const struct field item_row[] = {
	FIELD_TEXT(struct item_row, id),
	FIELD_TEXT(struct item_row, key),
	FIELD_TEXT(struct item_row, type),
	FIELD_TEXT(struct item_row, description),
	FIELD_TEXT(struct item_row, schema),
	FIELD_TEXT(struct item_row, doc),
	FIELD_INT(struct item_row, created_at),
	FIELD_INT(struct item_row, updated_at),
	FIELD_END,
};

static status
read_item(struct ctx *cx, enum resource r, const struct item_row *row, struct store_item *out)
{
	struct json *schema = NULL, *state;

	if (row->schema.len)
		TRY(json_parse_stored(cx, row->schema, &schema));
	TRY(json_parse_stored(cx, row->doc, &state));
	*out = (struct store_item){ .id = row->id,
		.key = row->key,
		.type = row->type,
		.description = row->description,
		.resource = r,
		.schema = schema,
		.state = state,
		.created_at = row->created_at,
		.updated_at = row->updated_at };
	return OK;
}

status
store_find(struct ctx *cx, const struct environment *e, enum resource r, str key, struct store_item *out)
{
	struct item_row row;
	status s = db_one(cx, SQL_STORE_ITEM, item_row, &row, TEXT(cx->caller->org_id), TEXT(e->project_id),
		TEXT(e->id), TEXT(resource_space(r)), TEXT(kind(r)), TEXT(key));

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "there is no %s with this key", resource_name(r));
	TRY(s);
	return read_item(cx, r, &row, out);
}

status
store_page(struct ctx *cx, const struct environment *e, enum resource r, str after, int64_t most,
	struct store_item **out, size_t *out_count)
{
	struct item_row *rows;
	struct store_item *items;
	size_t count;

	TRY(db_all(cx, SQL_STORE_PAGE, item_row, sizeof(*rows), &rows, &count, TEXT(cx->caller->org_id),
		TEXT(e->project_id), TEXT(e->id), TEXT(resource_space(r)), TEXT(kind(r)), TEXT(after),
		INT(most)));
	items = arena_alloc(cx->arena, (count + 1) * sizeof(*items));
	for (size_t i = 0; i < count; i++)
		TRY(read_item(cx, r, &rows[i], &items[i]));
	*out = items;
	*out_count = count;
	return OK;
}

/* --- writing: is it a ruleset? --- */

/* The members of one object of the live document, to be found by key: they come sorted. */
struct index {
	const struct json **at;
	size_t count;
};

static status
make_index(struct ctx *cx, const struct json *items, struct index *out)
{
	size_t n = 0;

	out->count = items->count;
	out->at =
		(const struct json **)arena_try_array(cx->arena, out->count + 1, sizeof(const struct json *));
	if (!out->at)
		return fail(cx, E_TOO_LARGE, "the ruleset is too large to be changed");
	JSON_EACH (item, items)
		out->at[n++] = item;
	return OK;
}

static int
compare_key(const void *key, const void *member)
{
	const struct json *const *m = member;

	return str_cmp(*(const str *)key, (*m)->key);
}

static const struct json *
find(const struct index *index, str key)
{
	const struct json *const *found = index->count ? bsearch(&key, index->at, index->count,
								 sizeof(const struct json *), compare_key)
						       : NULL;

	return found ? *found : NULL;
}

static bool
same(const struct json *a, const struct json *b)
{
	return a && b ? json_equal(a, b) : !a && !b;
}

/* Who writes a state changes nothing of the identity. */
static status
check_identity(struct ctx *cx, const struct store_edit *edit, const struct json *old)
{
	static const char *const fixed[] = { "type", "schema" };
	const char *plural = resource_plural(edit->resource);

	if (!old)
		return fail(cx, E_NOT_FOUND, "there is no %s %.*s", resource_name(edit->resource),
			STR_ARG(edit->key));
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		str name = str_of(fixed[i]);

		if (!edit->state || same(json_get(edit->state, name), json_get(old, name)))
			continue;
		ctx_clear(cx);
		fail_issue(cx, arena_printf(cx->arena, "/%s/%.*s/%s", plural, STR_ARG(edit->key), fixed[i]),
			STR("is the same in all environments, and not changed by one's state"));
		return fail(
			cx, E_INVALID, "the %s of %.*s cannot be changed here", fixed[i], STR_ARG(edit->key));
	}
	return OK;
}

/* A change that is being made. Its marks live longer than the documents it is checked with. */
struct writing {
	struct environment *e;
	const struct store_edit *edits;
	size_t count;
	bool identity; /* may types and schemas change, and things begin? */
	str target;    /* another target field; empty: as it is */
	bool *changes; /* by edit: is it one? */
	size_t change_count;
};

static status
compare(struct ctx *cx, struct writing *w, const struct json *live)
{
	struct index index[RESOURCES];

	for (int r = 0; r < RESOURCES; r++)
		TRY(make_index(cx, json_get(live, str_of(resource_plural((enum resource)r))), &index[r]));
	for (size_t i = 0; i < w->count; i++) {
		const struct store_edit *edit = &w->edits[i];
		const struct json *old = find(&index[edit->resource], edit->key);

		if (!w->identity)
			TRY(check_identity(cx, edit, old));
		w->changes[i] = !same(old, edit->state);
		w->change_count += w->changes[i];
	}
	return OK;
}

struct users {
	struct ctx *cx;
	const struct environment *e;
	bool any;
	struct reference last; /* a second rule of the same one is not news */
};

static void
note_user(void *arg, const struct reference *r)
{
	struct users *u = arg;
	bool again = u->any && u->last.resource == r->resource && str_eq(u->last.key, r->key);

	u->any = true;
	u->last = *r;
	if (!again && caller_in_scope(u->cx->caller, u->e->id, r->key))
		fail_issue(u->cx,
			arena_printf(u->cx->arena, "%s.%.*s", resource_name(r->resource), STR_ARG(r->key)),
			STR("refers to the segment"));
}

static status
check_in_use(struct ctx *cx, const struct writing *w, const struct json *next)
{
	for (size_t i = 0; i < w->count; i++) {
		struct users users = { .cx = cx, .e = w->e };

		if (w->edits[i].state || w->edits[i].resource != RESOURCE_SEGMENT || !w->changes[i])
			continue;
		ctx_clear(cx);
		TRY(meter_spend(cx, reference_each(next, w->edits[i].key, note_user, &users)));
		if (users.any)
			return fail(cx, E_IN_USE, "the segment %.*s is in use in the environment %.*s",
				STR_ARG(w->edits[i].key), STR_ARG(w->e->slug));
	}
	return OK;
}

/* Only what changes is checked against its schema: an environment may have thousands that were. */
static status
compile_next(struct ctx *cx, const struct writing *w, const struct json *next, struct ruleset **out)
{
	str *keys = ARENA_TRY_ARRAY(cx->arena, str, w->count + 1);
	size_t n = 0;

	if (!keys)
		return fail(cx, E_TOO_LARGE, "these are too many changes at once");
	for (size_t i = 0; i < w->count; i++)
		if (w->changes[i] && w->edits[i].resource != RESOURCE_SEGMENT)
			keys[n++] = w->edits[i].key;
	return ruleset_compile_changed(cx, next, keys, n, out);
}

static status
check(struct ctx *cx, struct writing *w)
{
	struct ruleset *rules;
	struct json *live, *next;

	TRY(store_document(cx, w->e, 0, &live));
	TRY(compare(cx, w, live));
	if (!w->change_count && !w->target.len)
		return OK;
	next = store_overlay(cx, live, w->edits, w->count);
	if (w->target.len)
		next->child->text = w->target; /* its own: targetField comes first in a document of ours */
	TRY(check_in_use(cx, w, next));
	TRY(compile_next(cx, w, next, &rules));
	ruleset_free(rules);
	return OK;
}

/* --- writing: the rows --- */

status
store_seed(struct ctx *cx, const struct environment *e, const struct store_edit *edit)
{
	str doc;

	TRY(json_text(cx, edit->state, &doc));
	return db_later(cx, SQL_STORE_BEGIN, TEXT(cx->caller->org_id), TEXT(e->id),
		TEXT(kind(edit->resource)), TEXT(edit->key), INT(e->version), INT(e->updated_at), TEXT(doc));
}

static status
write_state(struct ctx *cx, const struct environment *e, const struct store_edit *edit)
{
	TRY(db_later(cx, SQL_STORE_END, TEXT(cx->caller->org_id), TEXT(e->id), TEXT(kind(edit->resource)),
		TEXT(edit->key), INT(e->version), INT(e->updated_at)));
	return edit->state ? store_seed(cx, e, edit) : OK;
}

/* Where it was never changed there is no row, and its first one says what has been until now. */
static status
write_target(struct ctx *cx, const struct environment *was, const struct environment *e, str target)
{
	str org = cx->caller->org_id, none = STR("");

	TRY(db_later(cx, SQL_STORE_TARGET_FIRST, TEXT(org), TEXT(e->id), INT(was->created_at),
		TEXT(was->target_field)));
	TRY(db_later(cx, SQL_STORE_END, TEXT(org), TEXT(e->id), TEXT(STR("target")), TEXT(none),
		INT(e->version), INT(e->updated_at)));
	return db_later(cx, SQL_STORE_BEGIN, TEXT(org), TEXT(e->id), TEXT(STR("target")), TEXT(none),
		INT(e->version), INT(e->updated_at), TEXT(target));
}

/* Its next version begins. Times only grow, whatever the clock does: they are ETags, and one looks back by
 * them. */
static void
advance(struct environment *e, int64_t now_us)
{
	e->version++;
	e->updated_at = now_us > e->updated_at ? now_us : e->updated_at + 1;
}

static status
finish(struct ctx *cx, const struct environment *e)
{
	TRY(db_run(cx, SQL_STORE_MOVED, TEXT(cx->caller->org_id), TEXT(e->id), INT(e->version),
		INT(e->updated_at)));
	event_emit(cx, &(struct event){ .org_id = cx->caller->org_id,
			       .type = STR(STORE_EVENT),
			       .id = e->id,
			       .data = arena_printf(cx->arena,
				       "{\"environmentId\":\"%.*s\",\"version\":%" PRId64 "}", STR_ARG(e->id),
				       e->version) });
	return OK;
}

/* The documents that a change is checked with are large, and a transaction may change many environments. */
static status
check_and_forget(struct ctx *cx, struct writing *w)
{
	struct arena_mark before;

	TRY(db_wait(cx)); /* what others asked for is theirs */
	before = arena_mark(cx->arena);
	TRY(check(cx, w));
	arena_rewind(cx->arena, before);
	return OK;
}

static status
write(struct ctx *cx, struct writing *w, int64_t now_us)
{
	struct environment next = *w->e;

	w->changes = arena_try_array(cx->arena, w->count + 1, sizeof(*w->changes));
	if (!w->changes)
		return fail(cx, E_TOO_LARGE, "these are too many changes at once");
	TRY(check_and_forget(cx, w));
	if (!w->change_count && !w->target.len)
		return OK;
	advance(&next, now_us);
	if (w->target.len)
		TRY(write_target(cx, w->e, &next, w->target));
	for (size_t i = 0; i < w->count; i++)
		if (w->changes[i])
			TRY(write_state(cx, &next, &w->edits[i]));
	TRY(finish(cx, &next));
	if (w->target.len)
		next.target_field = w->target;
	*w->e = next;
	return OK;
}

status
store_put(struct ctx *cx, struct environment *e, const struct store_edit *edits, size_t count, int64_t now_us)
{
	struct writing w = { .e = e, .edits = edits, .count = count, .identity = true };

	return write(cx, &w, now_us);
}

status
store_write(
	struct ctx *cx, struct environment *e, const struct store_edit *edits, size_t count, int64_t now_us)
{
	struct writing w = { .e = e, .edits = edits, .count = count };

	return write(cx, &w, now_us);
}

status
store_retarget(struct ctx *cx, struct environment *e, str field, int64_t now_us)
{
	struct writing w = { .e = e, .target = field };

	return str_eq(field, e->target_field) ? OK : write(cx, &w, now_us);
}

/* --- what is too old --- */

struct sweep {
	int64_t before_us, old;
};

static status
count_old(struct ctx *cx, void *arg)
{
	struct sweep *s = arg;
	struct number_row row;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	s->before_us = now_us - STORE_PAST_US;
	TRY(db_one(cx, SQL_STORE_OLD, number_row, &row, INT(s->before_us)));
	s->old = row.number;
	return OK;
}

static status
forget_old(struct ctx *cx, void *arg)
{
	const struct sweep *s = arg;

	return db_run(cx, SQL_STORE_FORGET, INT(s->before_us));
}

status
store_sweep(struct ctx *cx)
{
	struct sweep s;

	TRY(db_read(cx, count_old, &s));
	return s.old ? tx_run(cx, forget_old, &s) : OK;
}
