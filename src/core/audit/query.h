/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query: what the log says, and the proofs of it. Inside db_read or tx_run, all of it.
 *
 * A list costs the same however long the log is: it walks an index newest first, looks at no more than
 * LIMIT_AUDIT_SCAN entries, and says where it stopped.
 */
#ifndef CORE_AUDIT_QUERY_H
#define CORE_AUDIT_QUERY_H

#include "core/audit/tree.h"
#include "core/audit/vault.h"
#include "core/visibility.h"

struct audit_filter {
	struct audit_row
		want; /* what is empty, 0 or false is not asked for; approvers: one id that is among them */
	bool not_via_token, not_with_override;
	str cursor;			     /* entries older than this id; empty: from the newest */
	int64_t from_us, to_us;		     /* from inclusive, to exclusive; 0: open */
	int64_t limit;			     /* 1 to LIMIT_AUDIT_PAGE */
	const struct visibility *visibility; /* of who asks; NULL: everything is shown */
};

/*
 * Which of the rows the caller may see (ID-6, TL-2): those that lie in the scope of a narrowed token, or were made with
 * it; for an agent none that names a tool which is blocked for it, nor who may use which tool. NULL: nobody asks.
 */
status audit_shown(struct ctx *cx, const struct visibility *v, const struct audit_row *rows, size_t count,
	const bool **out_shown) MUST_USE;

struct audit_page {
	const struct audit_row *rows; /* newest first */
	size_t count;
	str next; /* the cursor of the next page; empty: nothing is left. A page may be short and still have
		     one */
};

/* E_INVALID  the cursor is not an id */
status audit_list(struct ctx *cx, str org_id, const struct audit_filter *f, struct audit_page *out) MUST_USE;

struct audit_found {
	struct audit_row row;
	struct vault_values values;
	bool sealed;
	int64_t leaf_index;
};

/* E_NOT_FOUND  there is no such entry in this log, or v does not show it */
status audit_get(struct ctx *cx, str org_id, str entry_id, const struct visibility *v,
	struct audit_found *out) MUST_USE;

struct audit_inclusion {
	int64_t leaf_index;
	str leaf; /* the bytes that are hashed */
	struct merkle_proof proof;
	struct tree_checkpoint checkpoint; /* what it is proved against: the newest one */
};

/* E_NOT_FOUND  no such entry; E_UNAVAILABLE  no checkpoint covers it yet: ask again in two seconds */
status audit_inclusion(struct ctx *cx, str org_id, str entry_id, struct audit_inclusion *out) MUST_USE;

struct audit_consistency {
	int64_t from, to;
	struct merkle_hash from_root, to_root;
	struct merkle_proof proof;
};

/* to 0: the newest checkpoint's size. E_INVALID  not 1 <= from <= to <= the log's size */
status audit_consistency(struct ctx *cx, str org_id, int64_t from, int64_t to, struct audit_consistency *out)
	MUST_USE;

#endif
