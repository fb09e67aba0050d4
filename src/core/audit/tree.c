/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/tree.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "db/db.h"
#include "json/out.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

#include <inttypes.h>

static str
bytes(const struct merkle_hash *h, size_t count)
{
	return (str){ (const char *)h, count * MERKLE_HASH };
}

bool
tree_hash(str stored, struct merkle_hash *out)
{
	if (stored.len != MERKLE_HASH)
		return false;
	memcpy(out->bytes, stored.ptr, MERKLE_HASH);
	return true;
}

/* --- the head --- */

struct head_row {
	int64_t size;
	str root, edge;
	int64_t signed_size;
};
static const struct field head_fields[] = {
	FIELD_INT(struct head_row, size),
	FIELD_BLOB(struct head_row, root),
	FIELD_BLOB(struct head_row, edge),
	FIELD_INT(struct head_row, signed_size),
	FIELD_END,
};

static bool
read_head(const struct head_row *row, struct tree_head *out)
{
	struct tree_head h = { .size = row->size, .signed_size = row->signed_size };
	struct merkle_hash root;

	if (row->size < 0 || !tree_hash(row->root, &h.root) ||
		row->edge.len != merkle_edge_count((uint64_t)row->size) * MERKLE_HASH)
		return false;
	h.edge.size = (uint64_t)row->size;
	if (row->edge.len)
		memcpy(h.edge.roots, row->edge.ptr, row->edge.len);
	merkle_root(&h.edge, &root);
	if (!merkle_equal(&root, &h.root))
		return false;
	*out = h;
	return true;
}

static status
load_head(struct ctx *cx, const struct sql *sql, str org_id, struct tree_head *out)
{
	struct head_row row;

	TRY(db_one(cx, sql, head_fields, &row, TEXT(org_id)));
	if (!read_head(&row, out))
		return fail(cx, E_CONFLICT,
			"the head of the audit log was changed: its edge does not give its root");
	return OK;
}

status
tree_head(struct ctx *cx, str org_id, struct tree_head *out)
{
	status s = load_head(cx, SQL_AUDIT_HEAD_GET, org_id, out);

	if (s != E_NOT_FOUND)
		return s;
	ctx_clear(cx);
	*out = (struct tree_head){ .size = 0 };
	merkle_root(&out->edge, &out->root);
	return OK;
}

status
tree_lock(struct ctx *cx, str org_id, struct tree_head *out)
{
	struct tree_head empty = { .size = 0 };
	status s = load_head(cx, SQL_AUDIT_HEAD_LOCK, org_id, out);

	if (s != E_NOT_FOUND)
		return s;
	ctx_clear(cx);
	merkle_root(&empty.edge, &empty.root);
	TRY(db_run(cx, SQL_AUDIT_HEAD_ADD, TEXT(org_id), BLOB(bytes(&empty.root, 1)),
		BLOB(bytes(&empty.root, 0))));
	return load_head(cx, SQL_AUDIT_HEAD_LOCK, org_id, out);
}

status
tree_advance(struct ctx *cx, str org_id, const struct tree_head *from, const struct tree_head *to)
{
	struct merkle_hash root;
	int64_t moved;

	merkle_root(&to->edge, &root);
	TRY(db_run_count(cx, SQL_AUDIT_HEAD_ADVANCE, &moved, TEXT(org_id), INT(to->size),
		BLOB(bytes(&root, 1)), BLOB(bytes(to->edge.roots, merkle_edge_count(to->edge.size))),
		INT(from->size), BLOB(bytes(&from->root, 1))));
	if (moved != 1)
		return fail(cx, E_CONFLICT, "the audit log was sealed by somebody else at the same time");
	return OK;
}

/* --- growing --- */

/* Rows of one table for one statement: a JSON array that names them, and their hashes in the same order. */
struct column {
	struct buf names, hashes;
	struct json_out out;
};

static void
start(struct ctx *cx, struct column *c)
{
	buf_init(&c->names, cx->arena, LIMIT_AUDIT_SEAL);
	buf_init(&c->hashes, cx->arena, LIMIT_AUDIT_SEAL);
	json_out_init(&c->out, &c->names);
	json_out_array(&c->out, NULL);
}

static status
finish(struct column *c, str *out_names, str *out_hashes)
{
	json_out_end(&c->out);
	TRY(buf_finish(&c->names, out_names));
	return buf_finish(&c->hashes, out_hashes);
}

/* A node's name is 64 * last_leaf + level. */
_Static_assert(MERKLE_LEVELS <= 64, "a level fits six bits");

static status
grow(struct ctx *cx, struct tree_head *head, const struct audit_row *row, struct column *leaves,
	struct column *nodes)
{
	struct merkle_done done[MERKLE_LEVELS];
	struct merkle_hash leaf;
	size_t count;
	str data;

	TRY(audit_row_leaf(cx, row, &data));
	merkle_leaf(data, &leaf);
	json_out_str(&leaves->out, NULL, row->id);
	buf_add(&leaves->hashes, bytes(&leaf, 1));
	count = merkle_append(&head->edge, &leaf, done);
	for (size_t i = 0; i < count; i++) {
		json_out_int(&nodes->out, NULL, (int64_t)(done[i].last_leaf << 6 | done[i].level));
		buf_add(&nodes->hashes, bytes(&done[i].hash, 1));
	}
	head->size++;
	return OK;
}

status
tree_append(struct ctx *cx, struct tree_head *head, const struct audit_row *rows, size_t count)
{
	int64_t from = head->size;
	struct column leaves, nodes;
	str names, hashes;

	start(cx, &leaves);
	start(cx, &nodes);
	for (size_t i = 0; i < count; i++)
		TRY(grow(cx, head, &rows[i], &leaves, &nodes));
	TRY(finish(&leaves, &names, &hashes));
	TRY(db_later(cx, SQL_AUDIT_LEAVES_ADD, TEXT(rows[0].org_id), INT(from), TEXT(names), BLOB(hashes)));
	TRY(finish(&nodes, &names, &hashes));
	return db_later(cx, SQL_AUDIT_NODES_ADD, TEXT(rows[0].org_id), TEXT(names), BLOB(hashes));
}

/* --- proofs --- */

struct hash_row {
	str hash;
};
static const struct field hash_fields[] = { FIELD_BLOB(struct hash_row, hash), FIELD_END };

static status
get_hash(struct ctx *cx, void *arg, unsigned level, uint64_t index, struct merkle_hash *out)
{
	const str *org_id = arg;
	struct hash_row row;
	status s;

	s = level == 0 ? db_one(cx, SQL_AUDIT_LEAF_HASH, hash_fields, &row, TEXT(*org_id), INT(index))
		       : db_one(cx, SQL_AUDIT_NODE_HASH, hash_fields, &row, TEXT(*org_id),
				 INT(((index + 1) << level) - 1), INT(level));
	if (s == E_NOT_FOUND || (s == OK && !tree_hash(row.hash, out)))
		return fail(cx, E_CONFLICT,
			"a hash of the audit log is missing or was changed (level %u, number %" PRIu64 ")",
			level, index);
	return s;
}

struct merkle_source
tree_source(const str *org_id)
{
	union { /* the source hands it back to get_hash, which only reads it */
		const str *in;
		void *out;
	} arg = { .in = org_id };

	return (struct merkle_source){ .get = get_hash, .arg = arg.out };
}

static const struct field checkpoint_fields[] = {
	FIELD_INT(struct tree_checkpoint, size),
	FIELD_TEXT(struct tree_checkpoint, note),
	FIELD_END,
};

status
tree_checkpoint(struct ctx *cx, str org_id, struct tree_checkpoint *out)
{
	status s = db_one(cx, SQL_AUDIT_CHECKPOINT_LAST, checkpoint_fields, out, TEXT(org_id));

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "no checkpoint of this audit log is signed yet");
	return s;
}

status
tree_extends(struct ctx *cx, str org_id, const struct tree_head *head, const struct checkpoint *c)
{
	struct merkle_source source = tree_source(&org_id);
	struct merkle_proof proof;

	if ((uint64_t)head->size < c->size)
		return fail(cx, E_CONFLICT,
			"the audit log is smaller than a checkpoint that was signed: %" PRId64
			" entries, not %" PRIu64
			". The database was rolled back, or an older copy was restored",
			head->size, c->size);
	TRY(merkle_prove_consistency(cx, &source, c->size, (uint64_t)head->size, &proof));
	if (!merkle_verify_consistency(c->size, &c->root, (uint64_t)head->size, &head->root, &proof))
		return fail(cx, E_CONFLICT,
			"the audit log does not continue a checkpoint that was signed at %" PRIu64
			" entries: entries were changed, or the log was forked from an older copy",
			c->size);
	return OK;
}

/* --- leaves with their entries --- */

#define LEAF_TEXT(m) FIELD_TEXT(struct tree_leaf, row.m)
#define LEAF_JSON(m) FIELD_TEXT(struct tree_leaf, row.m)
#define LEAF_INT(m)  FIELD_INT(struct tree_leaf, row.m)
#define LEAF_BOOL(m) FIELD_BOOL(struct tree_leaf, row.m)

static const struct field leaf_fields[] = {
	FIELD_INT(struct tree_leaf, leaf_index),
	FIELD_TEXT(struct tree_leaf, entry_id),
	FIELD_BLOB(struct tree_leaf, hash),
#define X(type, member, key, doc) LEAF_##type(member),
	AUDIT_COLUMNS(X)
#undef X
		FIELD_TEXT(struct tree_leaf, row.mac),
	FIELD_END,
};

status
tree_leaves(struct ctx *cx, str org_id, int64_t from, int64_t to, struct tree_leaf **out_leaves,
	size_t *out_count)
{
	return db_all(cx, SQL_AUDIT_LEAVES, leaf_fields, sizeof(struct tree_leaf), out_leaves, out_count,
		TEXT(org_id), INT(from), INT(to));
}
