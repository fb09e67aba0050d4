/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree: an organization's Merkle tree as the database has it. Inside tx_run or db_read, all of it.
 */
#ifndef CORE_AUDIT_TREE_H
#define CORE_AUDIT_TREE_H

#include "core/audit/checkpoint.h"
#include "core/audit/row.h"

struct tree_head {
	int64_t size;
	struct merkle_hash root;
	struct merkle_edge edge;
	int64_t signed_size; /* of the newest checkpoint */
};

/*
 * The head; a log without one is empty. tree_lock makes it where it is missing and keeps other sealers out
 * until the transaction ends.
 *
 * E_CONFLICT  the stored edge does not give the stored root: somebody changed it
 */
status tree_head(struct ctx *cx, str org_id, struct tree_head *out) MUST_USE;
status tree_lock(struct ctx *cx, str org_id, struct tree_head *out) MUST_USE;

/* Adds the rows (one at least, of one organization, at most LIMIT_AUDIT_BATCH) as the next leaves: the leaves, the
 * nodes they complete; *head moves, but for its root, which only tree_advance needs, and the stored head does not. */
status
tree_append(struct ctx *cx, struct tree_head *head, const struct audit_row *rows, size_t count) MUST_USE;

/* Moves the stored head from one to the other. E_CONFLICT  it is not where we found it */
status
tree_advance(struct ctx *cx, str org_id, const struct tree_head *from, const struct tree_head *to) MUST_USE;

/* Stored hashes for proofs; org_id must live as long. A hash that is missing is E_CONFLICT. */
struct merkle_source tree_source(const str *org_id);

/* The newest checkpoint's text and size. E_NOT_FOUND  none is signed yet */
struct tree_checkpoint {
	int64_t size;
	str note;
};
status tree_checkpoint(struct ctx *cx, str org_id, struct tree_checkpoint *out) MUST_USE;

/* A leaf and its entry. */
struct tree_leaf {
	int64_t leaf_index;
	str entry_id, hash;
	struct audit_row row; /* row.id is empty where the entry is gone */
};

/* The leaves from <= index < to, in order; at most LIMIT_DB_ROWS. For exports and verification. */
status tree_leaves(struct ctx *cx, str org_id, int64_t from, int64_t to, struct tree_leaf **out_leaves,
	size_t *out_count) MUST_USE;

/* Exactly 32 bytes of a stored hash. */
bool tree_hash(str stored, struct merkle_hash *out);

/* Does the tree (of this head) begin with what the checkpoint says? E_CONFLICT  no: a sentence says how */
status
tree_extends(struct ctx *cx, str org_id, const struct tree_head *head, const struct checkpoint *c) MUST_USE;

#endif
