/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/seal/seal.h"

#include "base/check.h"
#include "base/fault.h"
#include "base/limits.h"
#include "base/scoped.h"
#include "core/audit/seal/chain.h"
#include "core/audit/seal/held.h"
#include "db/db.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

/* --- leaves --- */

struct batch {
	str org_id;
	int64_t size, entries;
	struct chain_rule rule;
};

static status
append_rows(struct ctx *cx, struct tree_head *head, const struct audit_row *rows, size_t count)
{
	int64_t from = head->size, gone;

	TRY(tree_append(cx, head, rows, count));
	TRY(db_run_count(
		cx, SQL_AUDIT_PENDING_DONE, &gone, TEXT(rows[0].org_id), INT(from), INT(head->size)));
	if (gone != (int64_t)count)
		return fail(cx, E_CONFLICT, "the audit log was sealed by somebody else at the same time");
	return OK;
}

static status /* inside one transaction */
batch_tx(struct ctx *cx, void *arg)
{
	struct batch *b = arg;
	struct tree_head from, to;
	struct audit_row *rows;
	size_t count;

	TRY(tree_lock(cx, b->org_id, &from));
	TRY(db_all(cx, SQL_AUDIT_PENDING_PAGE, audit_row_sealed, sizeof(*rows), &rows, &count,
		TEXT(b->org_id), INT(LIMIT_AUDIT_BATCH), TEXT(STR(""))));
	b->size = from.size;
	b->entries = (int64_t)count;
	if (!count)
		return OK;
	TRY(chain_check(cx, rows, count, &b->rule));
	to = from;
	TRY(append_rows(cx, &to, rows, count));
	b->size = to.size;
	chain_remember(cx, rows, count);
	return tree_advance(cx, b->org_id, &from, &to);
}

/* Until nothing is left, or so much was done that it is time to sign: where entries come faster than they are
 * sealed, there would be no checkpoint for as long as that goes on. */
static status
seal_pending(struct ctx *cx, str org_id, const struct chain_rule *rule, struct sealed *out)
{
	struct batch b = { .org_id = org_id, .rule = *rule };

	do {
		struct arena_mark mark = arena_mark(cx->arena);
		status s = tx_run(cx, batch_tx, &b);

		if (s == OK)
			arena_rewind(cx->arena, mark);
		TRY(s);
		out->entries += b.entries;
		out->size = b.size;
		out->more = b.entries == LIMIT_AUDIT_BATCH;
	} while (out->more && out->entries < LIMIT_AUDIT_ROUND);
	return OK;
}

status
audit_seal_before(struct ctx *cx, str org_id)
{
	struct sealed done = { .size = 0, .more = true };

	while (done.more)
		TRY(seal_pending(cx, org_id, &(struct chain_rule){ .before = true }, &done));
	return OK;
}

/* --- checkpoints --- */

struct signing {
	str org_id, held, note;
	struct checkpoint_key key;
	struct checkpoint checkpoint;
	bool needed;
};

static status /* inside one read: everything is of one moment */
look(struct ctx *cx, void *arg)
{
	struct tree_checkpoint last = { .size = 0 };
	struct signing *s = arg;
	struct tree_head head;
	status found;

	TRY(tree_head(cx, s->org_id, &head));
	TRY(held_fits(cx, s->org_id, &s->key, &head, s->held));
	found = tree_checkpoint(cx, s->org_id, &last);
	if (found != OK && found != E_NOT_FOUND)
		return found;
	ctx_clear(cx);
	if (found == OK)
		TRY(held_fits(cx, s->org_id, &s->key, &head, last.note));
	s->needed = last.size < head.size || head.signed_size < head.size;
	s->checkpoint.size = (uint64_t)head.size;
	s->checkpoint.root = head.root;
	return OK;
}

static status /* inside one transaction */
publish_tx(struct ctx *cx, void *arg)
{
	const struct signing *s = arg;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	TRY(db_run(cx, SQL_AUDIT_CHECKPOINT_ADD, TEXT(s->org_id), INT(s->checkpoint.size), TEXT(s->note),
		INT(now_us)));
	return db_run(cx, SQL_AUDIT_HEAD_SIGNED, TEXT(s->org_id), INT(s->checkpoint.size));
}

static status
sign(struct ctx *cx, struct signing *s, const char *held_dir)
{
	TRY(held_read(cx, held_dir, s->org_id, &s->held));
	TRY(db_read(cx, look, s));
	if (!s->needed)
		return OK;
	s->note = checkpoint_sign(cx->arena, cx->keys, &s->checkpoint);
	TRY(held_write(cx, held_dir, s->org_id, s->note));
	if (FAULT_FAILS(seal_after_held))
		return fail(cx, E_UNAVAILABLE, "stopped between file and database");
	return tx_run(cx, publish_tx, s);
}

status
audit_seal(struct ctx *cx, str org_id, const char *held_dir, struct sealed *out)
{
	struct signing s = { .org_id = org_id, .key = checkpoint_key_own(cx, org_id) };
	struct chain_rule rule = { .before = false };
	struct sealed done = { .size = 0 };
	scoped_fd locked = -1;

	s.checkpoint.origin = s.key.name;
	TRY(held_missing(cx, held_dir, org_id, &rule.missing));
	TRY(seal_pending(cx, org_id, &rule, &done));
	if (FAULT_FAILS(seal_after_commit))
		return fail(cx, E_UNAVAILABLE, "stopped between sealing and signing");
	TRY(held_lock(cx, held_dir, &locked));
	TRY(sign(cx, &s, held_dir));
	done.signed_now = s.needed;
	*out = done;
	return OK;
}
