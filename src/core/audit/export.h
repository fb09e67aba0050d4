/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export: the log as a file, page by page: the pages one after the other are the file.
 *
 *	JSON lines   first line  {"checkpoint":"…","countersign":"audit-export","key":"…","version":1}
 *	             then        one line per entry, in the order of the tree: exactly the bytes of its leaf
 *	CSV          for spreadsheets: a line of names, then a line per entry; cannot be verified
 *
 *	selection    what a narrowed token or an agent sees of it: the first line is
 *	             {"countersign":"audit-selection","note":"…","size":n,"version":1}; cannot be verified
 *
 * Whoever hashes the lines has the tree; nothing of ours is needed (docs/audit.md).
 */
#ifndef CORE_AUDIT_EXPORT_H
#define CORE_AUDIT_EXPORT_H

#include "base/buf.h"
#include "core/audit/tree.h"
#include "core/visibility.h"

enum audit_format { AUDIT_JSONL, AUDIT_CSV };

struct audit_export {
	str org_id;
	enum audit_format format;
	int64_t size;			    /* how far: the size of a checkpoint; 0: the newest one's */
	int64_t from;			    /* the first entry of this page; 0 also writes the first line */
	int64_t limit;			    /* entries of this page, 1 to LIMIT_AUDIT_EXPORT */
	const struct visibility *selection; /* only what it shows; NULL: everything */
};

/* Where a page ended. */
struct audit_exported {
	int64_t size, next; /* next == size: that was the last page */
	struct tree_checkpoint checkpoint;
};

/*
 * Writes one page. Inside db_read. Needs cx->keys (the public half is in the first line).
 *
 * E_NOT_FOUND  nothing is signed yet, or there is no checkpoint of this size
 * E_CONFLICT   an entry of the tree is missing
 * E_TOO_LARGE  the page does not fit out: take fewer
 */
status audit_export_page(struct ctx *cx, const struct audit_export *e, struct buf *out,
	struct audit_exported *out_at) MUST_USE;

/* Writes everything to fd, page by page, each a read of its own; from and limit do not count. E_UNAVAILABLE
 * it cannot be written */
status audit_export_file(struct ctx *cx, const struct audit_export *e, int fd, struct audit_exported *out_at)
	MUST_USE;

/* The first line of a JSON lines export, with its end. */
str audit_export_header(struct arena *a, str key, str note);
#define AUDIT_EXPORT	"audit-export"
#define AUDIT_SELECTION "audit-selection" /* "countersign" of the first line of a selection */

#endif
