/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/leaves.h"

#include "db/db.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

#define LEAF_TEXT(m) FIELD_TEXT(struct leaf, row.m)
#define LEAF_JSON(m) FIELD_TEXT(struct leaf, row.m)
#define LEAF_INT(m)  FIELD_INT(struct leaf, row.m)
#define LEAF_BOOL(m) FIELD_BOOL(struct leaf, row.m)

static const struct field fields[] = {
	FIELD_INT(struct leaf, leaf_index),
	FIELD_TEXT(struct leaf, entry_id),
	FIELD_BLOB(struct leaf, hash),
#define X(type, member, key, doc) LEAF_##type(member),
	AUDIT_COLUMNS(X)
#undef X
		FIELD_END,
};

status
leaves_read(struct ctx *cx, str org_id, int64_t from, int64_t to, struct leaf **out_leaves, size_t *out_count)
{
	return db_all(cx, SQL_AUDIT_LEAVES, fields, sizeof(struct leaf), out_leaves, out_count, TEXT(org_id),
		INT(from), INT(to));
}
