/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/query.h"

#include "base/check.h"
#include "base/limits.h"
#include "core/id.h"
#include "db/db.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

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
	str low, top; /* ids: low <= id < top */
	str high;     /* how far down it has come */
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
take(struct list *l, const struct audit_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (l->count == (size_t)l->filter->limit) /* one more could follow */
			return true;
		l->high = rows[i].id;
		if (matches(&rows[i], l->filter))
			l->rows[l->count++] = rows[i];
	}
	return false;
}

static status
list_read(struct ctx *cx, void *arg)
{
	struct list *l = arg;
	int64_t stretch = l->filter->limit + 1;

	l->high = l->top;
	l->count = 0;
	l->next = (str){ NULL, 0 };
	for (size_t seen = 0; seen < LIMIT_AUDIT_SCAN;) {
		struct audit_row *rows;
		size_t count;

		TRY(read_stretch(cx, l, stretch, &rows, &count));
		if (!take(l, rows, count) && count < (size_t)stretch)
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
	if (f->cursor.len && !id_valid(f->cursor))
		return fail(cx, E_INVALID, "the cursor is not one that a list gave");
	l.low = id_floor(cx->arena, f->from_us);
	l.top = f->cursor.len && str_cmp(f->cursor, newest) < 0 ? f->cursor : newest;
	l.rows = ARENA_TRY_ARRAY(cx->arena, struct audit_row, (size_t)f->limit);
	if (!l.rows)
		return fail(cx, E_TOO_LARGE, "the page is too large");
	TRY(db_read(cx, list_read, &l));
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

struct get {
	str org_id, entry_id;
	struct audit_found found;
};

static status
load_entry(struct ctx *cx, str org_id, str entry_id, struct audit_row *out)
{
	status s = db_one(cx, SQL_AUDIT_GET, audit_row_fields, out, TEXT(org_id), TEXT(entry_id));

	return s == E_NOT_FOUND ? fail(cx, E_NOT_FOUND, "there is no such audit entry") : s;
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

static status
get_read(struct ctx *cx, void *arg)
{
	struct get *g = arg;
	struct audit_found *f = &g->found;
	struct leaf_row leaf = { .leaf_index = 0 };
	struct vault_hashes hashes;

	TRY(load_entry(cx, g->org_id, g->entry_id, &f->row));
	TRY(load_leaf(cx, g->org_id, g->entry_id, &f->sealed, &leaf));
	f->leaf_index = leaf.leaf_index;
	hashes = (struct vault_hashes){ f->row.before_hash, f->row.after_hash, f->row.diff_hash };
	return vault_get(cx, g->org_id, g->entry_id, &hashes, &f->values);
}

status
audit_get(struct ctx *cx, str org_id, str entry_id, struct audit_found *out)
{
	struct get g = { .org_id = org_id, .entry_id = entry_id };

	TRY(db_read(cx, get_read, &g));
	*out = g.found;
	return OK;
}

/* --- proofs --- */

struct prove {
	str org_id, entry_id;
	struct audit_inclusion found;
};

static status
inclusion_read(struct ctx *cx, void *arg)
{
	struct prove *p = arg;
	struct merkle_source source = tree_source(&p->org_id);
	struct leaf_row leaf = { .leaf_index = 0 };
	struct audit_row row;
	bool sealed;
	status s;

	TRY(load_entry(cx, p->org_id, p->entry_id, &row));
	TRY(load_leaf(cx, p->org_id, p->entry_id, &sealed, &leaf));
	s = tree_checkpoint(cx, p->org_id, &p->found.checkpoint);
	if (!sealed || s == E_NOT_FOUND || (s == OK && p->found.checkpoint.size <= leaf.leaf_index))
		return fail(
			cx, E_UNAVAILABLE, "no checkpoint covers this entry yet; ask again in two seconds");
	TRY(s);
	p->found.leaf_index = leaf.leaf_index;
	TRY(audit_row_leaf(cx, &row, &p->found.leaf));
	return merkle_prove_inclusion(
		cx, &source, (uint64_t)leaf.leaf_index, (uint64_t)p->found.checkpoint.size, &p->found.proof);
}

status
audit_inclusion(struct ctx *cx, str org_id, str entry_id, struct audit_inclusion *out)
{
	struct prove p = { .org_id = org_id, .entry_id = entry_id };

	TRY(db_read(cx, inclusion_read, &p));
	*out = p.found;
	return OK;
}

struct between {
	str org_id;
	int64_t from, to;
	struct audit_consistency found;
};

static status
consistency_read(struct ctx *cx, void *arg)
{
	struct between *b = arg;
	struct merkle_source source = tree_source(&b->org_id);
	struct tree_checkpoint last;
	struct tree_head head;
	int64_t to = b->to;

	TRY(tree_head(cx, b->org_id, &head));
	if (to == 0) {
		TRY(tree_checkpoint(cx, b->org_id, &last));
		to = last.size;
	}
	if (b->from < 1 || b->from > to || to > head.size)
		return fail(cx, E_INVALID, "from and to must be sizes of the log: 1 <= from <= to <= %lld",
			(long long)head.size);
	b->found.from = b->from;
	b->found.to = to;
	TRY(merkle_root_at(cx, &source, (uint64_t)b->from, &b->found.from_root));
	TRY(merkle_root_at(cx, &source, (uint64_t)to, &b->found.to_root));
	return merkle_prove_consistency(cx, &source, (uint64_t)b->from, (uint64_t)to, &b->found.proof);
}

status
audit_consistency(struct ctx *cx, str org_id, int64_t from, int64_t to, struct audit_consistency *out)
{
	struct between b = { .org_id = org_id, .from = from, .to = to };

	TRY(db_read(cx, consistency_read, &b));
	*out = b.found;
	return OK;
}

struct newest {
	str org_id;
	struct tree_checkpoint found;
};

static status
checkpoint_read(struct ctx *cx, void *arg)
{
	struct newest *n = arg;

	return tree_checkpoint(cx, n->org_id, &n->found);
}

status
audit_checkpoint(struct ctx *cx, str org_id, struct tree_checkpoint *out)
{
	struct newest n = { .org_id = org_id };

	TRY(db_read(cx, checkpoint_read, &n));
	*out = n.found;
	return OK;
}
