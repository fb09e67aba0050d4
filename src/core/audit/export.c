/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/export.h"

#include "base/check.h"
#include "base/limits.h"
#include "core/audit/leaves.h"
#include "db/db.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

#include <inttypes.h>

str
audit_export_header(struct arena *a, str key, str note)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, a, 2 * LIMIT_CHECKPOINT);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "checkpoint", note);
	json_out_str(&o, "countersign", STR("audit-export"));
	json_out_str(&o, "key", key);
	json_out_int(&o, "version", 1);
	json_out_end(&o);
	buf_add_char(&b, '\n');
	return buf_str(&b);
}

/* --- CSV (RFC 4180) --- */

/* Quoted, always. What a spreadsheet would take for a formula gets an apostrophe first. */
static void
cell(struct buf *b, str text)
{
	buf_add_char(b, '"');
	if (text.len && strchr("=+-@\t\r", text.ptr[0]))
		buf_add_char(b, '\'');
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '"')
			buf_add_char(b, '"');
		buf_add_char(b, text.ptr[i]);
	}
	buf_add_char(b, '"');
}

static void
cell_text(struct buf *b, str text)
{
	buf_add_char(b, ',');
	cell(b, text);
}

static void
cell_int(struct buf *b, int64_t n)
{
	buf_printf(b, ",%" PRId64, n);
}

static void
cell_bool(struct buf *b, bool truth)
{
	buf_add(b, truth ? STR(",true") : STR(",false"));
}

#define CELL_TEXT cell_text
#define CELL_JSON cell_text
#define CELL_INT  cell_int
#define CELL_BOOL cell_bool

static void
csv_names(struct buf *b)
{
	buf_add(b, STR("leafIndex"));
#define X(type, member, key, doc) buf_add(b, STR("," key));
	AUDIT_COLUMNS(X)
#undef X
	buf_add(b, STR("\r\n"));
}

static void
csv_line(struct buf *b, const struct leaf *l)
{
	buf_printf(b, "%" PRId64, l->leaf_index);
#define X(type, member, key, doc) CELL_##type(b, l->row.member);
	AUDIT_COLUMNS(X)
#undef X
	buf_add(b, STR("\r\n"));
}

/* --- pages --- */

struct page {
	const struct audit_export *export;
	struct buf *out;
	struct buf saved; /* how out was: a read may run twice, and forgets the memory of its first time */
	struct audit_exported at;
};

static const struct field note_fields[] = {
	FIELD_INT(struct tree_checkpoint, size),
	FIELD_TEXT(struct tree_checkpoint, note),
	FIELD_END,
};

static status
find_checkpoint(struct ctx *cx, const struct audit_export *e, struct tree_checkpoint *out)
{
	status s;

	if (e->size == 0)
		return tree_checkpoint(cx, e->org_id, out);
	s = db_one(cx, SQL_AUDIT_CHECKPOINTS, note_fields, out, TEXT(e->org_id), INT(e->size - 1), INT(1));
	if (s == E_NOT_FOUND || (s == OK && out->size != e->size))
		return fail(cx, E_NOT_FOUND, "there is no checkpoint of %" PRId64 " entries", e->size);
	return s;
}

static void
write_head(struct ctx *cx, struct page *p, str note)
{
	str origin = checkpoint_origin(cx->arena, p->export->org_id);

	if (p->export->format == AUDIT_CSV)
		csv_names(p->out);
	else
		buf_add(p->out, audit_export_header(cx->arena,
					checkpoint_key_text(cx->arena, origin, cx->keys->sign_public), note));
}

static status
write_leaf(struct ctx *cx, struct page *p, const struct leaf *l)
{
	str bytes;

	if (!l->row.id.len)
		return fail(cx, E_CONFLICT, "the audit entry %.*s is gone, though it is in the tree",
			STR_ARG(l->entry_id));
	if (p->export->format == AUDIT_CSV) {
		csv_line(p->out, l);
		return OK;
	}
	TRY(audit_row_leaf(cx, &l->row, &bytes));
	buf_add(p->out, bytes);
	buf_add_char(p->out, '\n');
	return OK;
}

static status
page_read(struct ctx *cx, void *arg)
{
	struct page *p = arg;
	const struct audit_export *e = p->export;
	struct tree_checkpoint c;
	struct leaf *leaves;
	size_t count;
	int64_t to;

	*p->out = p->saved;
	TRY(find_checkpoint(cx, e, &c));
	to = c.size - e->from > e->limit ? e->from + e->limit : c.size;
	if (e->from == 0)
		write_head(cx, p, c.note);
	TRY(leaves_read(cx, e->org_id, e->from, to, &leaves, &count));
	if (e->from > to || count != (size_t)(to - e->from))
		return fail(cx, e->from > to ? E_INVALID : E_CONFLICT,
			"the audit log does not have the entries %" PRId64 " to %" PRId64, e->from, to);
	for (size_t i = 0; i < count; i++)
		TRY(write_leaf(cx, p, &leaves[i]));
	p->at = (struct audit_exported){ .size = c.size, .next = to };
	return p->out->overflow ? fail(cx, E_TOO_LARGE, "the page is too large; take fewer entries") : OK;
}

status
audit_export_page(
	struct ctx *cx, const struct audit_export *e, struct buf *out, struct audit_exported *out_at)
{
	struct page p = { .export = e, .out = out, .saved = *out };

	CHECK(cx->keys && e->limit >= 1 && e->limit <= (int64_t)LIMIT_AUDIT_EXPORT && e->from >= 0);
	TRY(db_read(cx, page_read, &p));
	*out_at = p.at;
	return OK;
}
