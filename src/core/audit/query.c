/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/query.h"

#include "base/check.h"
#include "base/limits.h"
#include "core/audit/audit.h"
#include "core/id.h"
#include "db/db.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

#include <inttypes.h>
#include <stdlib.h>

/* --- what is shown to whom --- */

struct placed {
	str id, tool, environment_id, key, token_id;
};
static const struct field placed_row[] = {
	FIELD_TEXT(struct placed, id),
	FIELD_TEXT(struct placed, tool),
	FIELD_TEXT(struct placed, environment_id),
	FIELD_TEXT(struct placed, key),
	FIELD_TEXT(struct placed, token_id),
	FIELD_END,
};

struct places {
	struct placed *rows; /* by id */
	size_t count;
};

/* The proposals that the rows belong to: an entry does not say in which environment it happened. */
static status
read_places(struct ctx *cx, const struct audit_row *rows, size_t count, struct places *out)
{
	struct json *ids = json_new_array(cx->arena);
	str text, last = { NULL, 0 };

	for (size_t i = 0; i < count; i++) {
		if (rows[i].proposal_id.len && !str_eq(rows[i].proposal_id, last))
			json_add_item(ids, json_new_string(cx->arena, rows[i].proposal_id));
		last = rows[i].proposal_id;
	}
	if (!ids->count)
		return OK;
	TRY(json_text(cx, ids, &text));
	return db_all(cx, SQL_AUDIT_PROPOSALS, placed_row, sizeof(*out->rows), &out->rows, &out->count,
		TEXT(rows[0].org_id), TEXT(text));
}

static int
by_id(const void *key, const void *row)
{
	return str_cmp(*(const str *)key, ((const struct placed *)row)->id);
}

static const struct placed *
find_place(const struct places *p, str id)
{
	return p->count ? bsearch(&id, p->rows, p->count, sizeof(*p->rows), by_id) : NULL;
}

/* Of a change without a proposal: its resource is the key, and the environment is known where it is what was changed. */
static void
locate_change(const struct audit_row *row, struct visible *out)
{
	bool environment =
		str_eq(row->resource_type, STR("environment")) || str_eq(row->resource_type, STR("sampling"));

	if (environment)
		out->environment_id = row->resource_id;
	else if (str_starts(row->action, STR("record.")))
		out->key = row->resource_key;
}

static struct visible
locate(const struct visibility *v, const struct audit_row *row, const struct placed *p)
{
	bool own = row->token_id.len && str_eq(row->token_id, v->of->token_id);
	struct visible out = { .tool = row->tool.len || !p ? row->tool : p->tool };

	if (p) {
		out.environment_id = p->environment_id;
		out.key = str_eq(row->resource_type, STR("proposal")) ? p->key : row->resource_key;
		out.token_id = p->token_id;
	} else if (!row->proposal_id.len) {
		locate_change(row, &out);
	}
	if (own)
		out.token_id = row->token_id;
	return out;
}

/* A tool's name is a resource, too: of an override, of a definition that was accepted. */
static bool
names_blocked(const struct visibility *v, const struct audit_row *row, const struct placed *p)
{
	return !visibility_has_tool(v, row->tool) || !visibility_has_tool(v, row->resource_key) ||
	       !visibility_has_tool(v, row->resource_id) || (p && !visibility_has_tool(v, p->tool));
}

static bool
is_shown(struct ctx *cx, const struct visibility *v, const struct audit_row *row, const struct placed *p)
{
	const struct visible at = locate(v, row, p);

	/* its values name the tools that are blocked, for this agent or another one */
	if (v->of->kind == PRINCIPAL_AGENT &&
		str_eq(row->action, str_of(audit_action_name(AUDIT_PERMISSION_CHANGED))))
		return false;
	return !names_blocked(v, row, p) && visibility_shows(cx, v, &at);
}

status
audit_shown(struct ctx *cx, const struct visibility *v, const struct audit_row *rows, size_t count,
	const bool **out_shown)
{
	bool *shown = ARENA_TRY_ARRAY(cx->arena, bool, count + 1);
	struct places places = { 0 };

	if (!shown)
		return fail(cx, E_TOO_LARGE, "the page is too large");
	if (v && !visibility_is_whole(v))
		TRY(read_places(cx, rows, count, &places));
	for (size_t i = 0; i < count; i++)
		shown[i] = !v || is_shown(cx, v, &rows[i], find_place(&places, rows[i].proposal_id));
	*out_shown = shown;
	return OK;
}

/* --- lists --- */

/* Filters that have an index of their own, the most telling first. */
static const struct lead {
	const struct sql *sql;
	size_t offset;
} leads[] = {
	{ SQL_AUDIT_LIST_PROPOSAL_ID, offsetof(struct audit_row, proposal_id) },
	{ SQL_AUDIT_LIST_RESOURCE_ID, offsetof(struct audit_row, resource_id) },
	{ SQL_AUDIT_LIST_RESOURCE_KEY, offsetof(struct audit_row, resource_key) },
	{ SQL_AUDIT_LIST_ACTOR_ID, offsetof(struct audit_row, actor_id) },
	{ SQL_AUDIT_LIST_AGENT_ID, offsetof(struct audit_row, agent_id) },
	{ SQL_AUDIT_LIST_TOOL, offsetof(struct audit_row, tool) },
	{ SQL_AUDIT_LIST_ACTION, offsetof(struct audit_row, action) },
};

struct list {
	str org_id;
	const struct audit_filter *filter;
	str low, high; /* ids: low <= id < high, which comes down as it goes */
	struct audit_row *rows;
	size_t count;
	str next;
};

/* The next stretch of the index that serves the filter best, below l->high. */
static status
read_stretch(
	struct ctx *cx, const struct list *l, int64_t limit, struct audit_row **out_rows, size_t *out_count)
{
	for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
		const str *value =
			(const str *)(const void *)((const char *)&l->filter->want + leads[i].offset);

		if (value->len)
			return db_all(cx, leads[i].sql, audit_row_fields, sizeof(struct audit_row), out_rows,
				out_count, TEXT(l->org_id), TEXT(l->low), TEXT(l->high), INT(limit),
				TEXT(*value));
	}
	return db_all(cx, SQL_AUDIT_LIST, audit_row_fields, sizeof(struct audit_row), out_rows, out_count,
		TEXT(l->org_id), TEXT(l->low), TEXT(l->high), INT(limit));
}

static bool
matches(const struct audit_row *row, const struct audit_filter *f)
{
	return audit_row_matches(row, &f->want) && !(f->not_via_token && row->via_token) &&
	       !(f->not_with_override && row->with_override);
}

/* Takes what matches, until the page is full. True: it is. */
static bool
take(struct list *l, const struct audit_row *rows, const bool *shown, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!shown[i] && l->count == (size_t)l->filter->limit)
			continue; /* that there is another page is not said of what is not shown */
		if (l->count == (size_t)l->filter->limit) /* one more could follow */
			return true;
		l->high = rows[i].id;
		if (shown[i] && matches(&rows[i], l->filter))
			l->rows[l->count++] = rows[i];
	}
	return false;
}

static status
walk(struct ctx *cx, struct list *l)
{
	bool all = !l->filter->visibility || visibility_is_whole(l->filter->visibility);
	int64_t stretch = all ? l->filter->limit + 1 : (int64_t)LIMIT_AUDIT_PAGE;

	for (size_t seen = 0; seen < LIMIT_AUDIT_SCAN;) {
		struct audit_row *rows;
		const bool *shown;
		size_t count;

		TRY(read_stretch(cx, l, stretch, &rows, &count));
		TRY(audit_shown(cx, l->filter->visibility, rows, count, &shown));
		if (!take(l, rows, shown, count) && count < (size_t)stretch)
			return OK; /* the end of the log */
		if (l->count == (size_t)l->filter->limit)
			break;
		seen += count;
	}
	l->next = l->high;
	return OK;
}

status
audit_list(struct ctx *cx, str org_id, const struct audit_filter *f, struct audit_page *out)
{
	struct list l = { .org_id = org_id, .filter = f };
	str newest = f->to_us ? id_floor(cx->arena, f->to_us) : STR("g"); /* above every digit */

	CHECK(f->limit >= 1 && f->limit <= (int64_t)LIMIT_AUDIT_PAGE);
	TRY(id_check_cursor(cx, f->cursor));
	l.low = id_floor(cx->arena, f->from_us);
	l.high = f->cursor.len && str_cmp(f->cursor, newest) < 0 ? f->cursor : newest;
	l.rows = ARENA_TRY_ARRAY(cx->arena, struct audit_row, (size_t)f->limit);
	if (!l.rows)
		return fail(cx, E_TOO_LARGE, "the page is too large");
	TRY(walk(cx, &l));
	*out = (struct audit_page){ .rows = l.rows, .count = l.count, .next = l.next };
	return OK;
}

/* --- one entry --- */

struct leaf_row {
	int64_t leaf_index;
	str hash;
};
static const struct field leaf_fields[] = {
	FIELD_INT(struct leaf_row, leaf_index),
	FIELD_BLOB(struct leaf_row, hash),
	FIELD_END,
};

static status
no_such_entry(struct ctx *cx)
{
	return fail(cx, E_NOT_FOUND, "there is no such audit entry");
}

static status
load_entry(struct ctx *cx, str org_id, str entry_id, struct audit_row *out)
{
	status s = db_one(cx, SQL_AUDIT_GET, audit_row_fields, out, TEXT(org_id), TEXT(entry_id));

	return s == E_NOT_FOUND ? no_such_entry(cx) : s;
}

static status
load_leaf(struct ctx *cx, str org_id, str entry_id, bool *out_sealed, struct leaf_row *out)
{
	status s = db_one(cx, SQL_AUDIT_LEAF_OF, leaf_fields, out, TEXT(org_id), TEXT(entry_id));

	*out_sealed = s == OK;
	if (s != E_NOT_FOUND)
		return s;
	ctx_clear(cx);
	return OK;
}

status
audit_get(struct ctx *cx, str org_id, str entry_id, const struct visibility *v, struct audit_found *out)
{
	struct audit_found f;
	struct leaf_row leaf = { .leaf_index = 0 };
	struct vault_hashes hashes;
	const bool *shown;

	TRY(load_entry(cx, org_id, entry_id, &f.row));
	TRY(audit_shown(cx, v, &f.row, 1, &shown));
	if (!shown[0])
		return no_such_entry(cx);
	TRY(load_leaf(cx, org_id, entry_id, &f.sealed, &leaf));
	f.leaf_index = leaf.leaf_index;
	hashes = (struct vault_hashes){ f.row.before_hash, f.row.after_hash, f.row.diff_hash };
	TRY(vault_get(cx, org_id, entry_id, &hashes, &f.values));
	*out = f;
	return OK;
}

/* --- proofs --- */

status
audit_inclusion(struct ctx *cx, str org_id, str entry_id, struct audit_inclusion *out)
{
	struct merkle_source source = tree_source(&org_id);
	struct leaf_row leaf = { .leaf_index = 0 };
	struct tree_checkpoint c;
	struct audit_row row;
	struct merkle_proof proof;
	bool sealed;
	status s;
	str data;

	TRY(load_entry(cx, org_id, entry_id, &row));
	TRY(load_leaf(cx, org_id, entry_id, &sealed, &leaf));
	s = tree_checkpoint(cx, org_id, &c);
	if (!sealed || s == E_NOT_FOUND || (s == OK && c.size <= leaf.leaf_index))
		return fail(
			cx, E_UNAVAILABLE, "no checkpoint covers this entry yet; ask again in two seconds");
	TRY(s);
	TRY(audit_row_leaf(cx, &row, &data));
	TRY(merkle_prove_inclusion(cx, &source, (uint64_t)leaf.leaf_index, (uint64_t)c.size, &proof));
	*out = (struct audit_inclusion){
		.leaf_index = leaf.leaf_index, .leaf = data, .proof = proof, .checkpoint = c
	};
	return OK;
}

status
audit_consistency(struct ctx *cx, str org_id, int64_t from, int64_t to, struct audit_consistency *out)
{
	struct merkle_source source = tree_source(&org_id);
	struct audit_consistency found = { .from = from };
	struct tree_checkpoint last;
	struct tree_head head;

	TRY(tree_head(cx, org_id, &head));
	if (to == 0) {
		TRY(tree_checkpoint(cx, org_id, &last));
		to = last.size;
	}
	if (from < 1 || from > to || to > head.size)
		return fail(cx, E_INVALID,
			"from and to must be sizes of the log: 1 <= from <= to <= %" PRId64, head.size);
	found.to = to;
	TRY(merkle_root_at(cx, &source, (uint64_t)from, &found.from_root));
	TRY(merkle_root_at(cx, &source, (uint64_t)to, &found.to_root));
	TRY(merkle_prove_consistency(cx, &source, (uint64_t)from, (uint64_t)to, &found.proof));
	*out = found;
	return OK;
}
