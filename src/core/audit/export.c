/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/export.h"

#include "base/check.h"
#include "base/limits.h"
#include "core/audit/query.h"
#include "db/db.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

str
audit_export_header(struct arena *a, str key, str note)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, a, 2 * LIMIT_CHECKPOINT);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "checkpoint", note);
	json_out_str(&o, "countersign", STR(AUDIT_EXPORT));
	json_out_str(&o, "key", key);
	json_out_int(&o, "version", 1);
	json_out_end(&o);
	buf_add_char(&b, '\n');
	return buf_str(&b);
}

static str
selection_header(struct arena *a, int64_t size)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, a, 2 * LIMIT_CHECKPOINT);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "countersign", STR(AUDIT_SELECTION));
	json_out_str(&o, "note",
		STR("a selection: what the credential that asked may see of the log; it cannot be verified"));
	json_out_int(&o, "size", size);
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
csv_line(struct buf *b, const struct tree_leaf *l, bool numbered)
{
	if (numbered) /* a selection does not say how much lies between its lines */
		buf_printf(b, "%" PRId64, l->leaf_index);
#define X(type, member, key, doc) CELL_##type(b, l->row.member);
	AUDIT_COLUMNS(X)
#undef X
	buf_add(b, STR("\r\n"));
}

/* --- pages --- */

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
write_head(struct ctx *cx, const struct audit_export *e, const struct tree_checkpoint *c, struct buf *out)
{
	str origin = checkpoint_origin(cx->arena, e->org_id);

	if (e->format == AUDIT_CSV)
		csv_names(out);
	else if (e->selection)
		buf_add(out, selection_header(cx->arena, c->size));
	else
		buf_add(out, audit_export_header(cx->arena,
				     checkpoint_key_text(cx->arena, origin, cx->keys->sign_public), c->note));
}

static status
write_leaf(struct ctx *cx, const struct audit_export *e, const struct tree_leaf *l, struct buf *out)
{
	str bytes;

	if (!l->row.id.len)
		return fail(cx, E_CONFLICT, "the audit entry %.*s is gone, though it is in the tree",
			STR_ARG(l->entry_id));
	if (e->format == AUDIT_CSV) {
		csv_line(out, l, !e->selection);
		return OK;
	}
	TRY(audit_row_leaf(cx, &l->row, &bytes));
	buf_add(out, bytes);
	buf_add_char(out, '\n');
	return OK;
}

static status
write_leaves(struct ctx *cx, const struct audit_export *e, const struct tree_leaf *leaves, size_t count,
	struct buf *out)
{
	struct audit_row *rows = ARENA_TRY_ARRAY(cx->arena, struct audit_row, e->selection ? count + 1 : 1);
	const bool *shown = NULL;

	if (!rows)
		return fail(cx, E_TOO_LARGE, "the page is too large; take fewer entries");
	for (size_t i = 0; e->selection && i < count; i++)
		rows[i] = leaves[i].row;
	if (e->selection)
		TRY(audit_shown(cx, e->selection, rows, count, &shown));
	for (size_t i = 0; i < count; i++)
		if (!shown || shown[i])
			TRY(write_leaf(cx, e, &leaves[i], out));
	return OK;
}

status
audit_export_page(
	struct ctx *cx, const struct audit_export *e, struct buf *out, struct audit_exported *out_at)
{
	struct tree_checkpoint c;
	struct tree_leaf *leaves;
	size_t count;
	int64_t to;

	CHECK(cx->keys && e->limit >= 1 && e->limit <= (int64_t)LIMIT_AUDIT_EXPORT && e->from >= 0);
	TRY(find_checkpoint(cx, e, &c));
	if (e->from > c.size)
		return fail(cx, E_INVALID, "the log ends at %" PRId64 " entries", c.size);
	to = c.size - e->from > e->limit ? e->from + e->limit : c.size;
	if (e->from == 0)
		write_head(cx, e, &c, out);
	TRY(tree_leaves(cx, e->org_id, e->from, to, &leaves, &count));
	if (count != (size_t)(to - e->from))
		return fail(cx, E_CONFLICT,
			"the audit log does not have all entries from %" PRId64 " to %" PRId64, e->from, to);
	TRY(write_leaves(cx, e, leaves, count, out));
	if (out->overflow)
		return fail(cx, E_TOO_LARGE, "the page is too large; take fewer entries");
	*out_at = (struct audit_exported){ .size = c.size, .next = to, .checkpoint = c };
	return OK;
}

/* --- a whole file --- */

struct page {
	struct audit_export export;
	struct buf text;
	struct audit_exported at;
};

static status /* a read of its own; may run twice */
page_read(struct ctx *cx, void *arg)
{
	struct page *p = arg;

	buf_init(&p->text, cx->arena, LIMIT_HTTP_ANSWER);
	return audit_export_page(cx, &p->export, &p->text, &p->at);
}

static status
write_all(struct ctx *cx, int fd, str text)
{
	while (text.len) {
		ssize_t n = write(fd, text.ptr, text.len);

		if (n < 0 && errno != EINTR)
			return fail(cx, E_UNAVAILABLE, "the export cannot be written: %s", strerror(errno));
		text = str_skip(text, n > 0 ? (size_t)n : 0);
	}
	return OK;
}

status
audit_export_file(struct ctx *cx, const struct audit_export *e, int fd, struct audit_exported *out_at)
{
	struct page p = { .export = *e };

	p.export.limit = LIMIT_AUDIT_EXPORT;
	do {
		struct arena_mark mark = arena_mark(cx->arena);

		TRY(db_read(cx, page_read, &p));
		TRY(write_all(cx, fd, buf_str(&p.text)));
		arena_rewind(cx->arena, mark);
		p.export.size = p.at.size; /* the log may have grown: this file ends where it began to */
		p.export.from = p.at.next;
	} while (p.at.next < p.at.size);
	*out_at = p.at;
	return OK;
}
