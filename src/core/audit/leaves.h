/* SPDX-License-Identifier: Apache-2.0 */
/* leaves: the tree's leaves in order, each with its entry. Inside db_read. For exports and verification. */
#ifndef CORE_AUDIT_LEAVES_H
#define CORE_AUDIT_LEAVES_H

#include "core/audit/row.h"

struct leaf {
	int64_t leaf_index;
	str entry_id, hash;
	struct audit_row row; /* row.id is empty where the entry is gone */
};

/* Leaves from <= index < to; to - from at most LIMIT_DB_ROWS. */
status leaves_read(struct ctx *cx, str org_id, int64_t from, int64_t to, struct leaf **out_leaves,
	size_t *out_count) MUST_USE;

#endif
