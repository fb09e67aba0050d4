/* SPDX-License-Identifier: Apache-2.0 */
#include "base/check.h"
#include "base/limits.h"
#include "core/audit/seal/chain.h"
#include "core/audit/vault.h"
#include "core/audit/verify.h"
#include "db/db.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

#include <inttypes.h>
#include <sodium.h>

#define PAGE 1000

struct node_row {
	int64_t last_leaf, level;
	str hash;
};
static const struct field node_fields[] = {
	FIELD_INT(struct node_row, last_leaf),
	FIELD_INT(struct node_row, level),
	FIELD_BLOB(struct node_row, hash),
	FIELD_END,
};

struct check {
	struct audit_report report;
	str org_id, held_note;
	struct checkpoint_key key;
	struct checkpoint held;
	bool has_held;
	struct tree_head head;
	struct merkle_edge edge; /* what the entries give */
	int64_t node_count;	 /* what there must be */

	/* the page of nodes we are in, and the next checkpoint that is due */
	struct node_row *nodes;
	size_t node_at, node_len;
	struct tree_checkpoint due;
};

/* The first problem is the one to tell. Long texts are our own. */
__attribute__((format(printf, 3, 4))) static void
problem(struct check *c, struct ctx *cx, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!c->report.problem.len)
		c->report.problem = arena_vprintf(cx->arena, format, args);
	va_end(args);
}

static bool
broken(const struct check *c)
{
	return c->report.problem.len > 0;
}

/* --- checkpoints --- */

static const struct field checkpoint_fields[] = {
	FIELD_INT(struct tree_checkpoint, size),
	FIELD_TEXT(struct tree_checkpoint, note),
	FIELD_END,
};

/* The next stored checkpoint after the given size becomes the one that is due. */
static status
next_checkpoint(struct ctx *cx, struct check *c, int64_t after)
{
	status s = db_one(
		cx, SQL_AUDIT_CHECKPOINTS, checkpoint_fields, &c->due, TEXT(c->org_id), INT(after), INT(1));

	if (s == E_NOT_FOUND) {
		ctx_clear(cx);
		c->due = (struct tree_checkpoint){ .size = INT64_MAX };
		return OK;
	}
	return s;
}

static void
check_root(struct ctx *cx, struct check *c, const struct checkpoint *at, const char *what)
{
	struct merkle_hash root;

	merkle_root(&c->edge, &root);
	if (at->size != c->edge.size || !merkle_equal(&root, &at->root))
		problem(c, cx, "entries were changed: the first %" PRIu64 " do not give the root of %s",
			c->edge.size, what);
}

static void
check_due(struct ctx *cx, struct check *c)
{
	struct checkpoint stored;

	if (checkpoint_open(cx, c->due.note, &c->key, &stored) != OK) {
		problem(c, cx, "the stored checkpoint of %" PRId64 " entries: %.*s", c->due.size,
			STR_ARG(ctx_message(cx, E_INVALID)));
		ctx_clear(cx);
		return;
	}
	c->report.checkpoints++;
	check_root(cx, c, &stored, "a stored checkpoint");
}

/* --- leaves and nodes --- */

static void
check_done(struct ctx *cx, struct check *c, const struct merkle_done *done)
{
	const struct node_row *n = c->node_at < c->node_len ? &c->nodes[c->node_at++] : NULL;
	struct merkle_hash stored;

	c->node_count++;
	if (!n || (uint64_t)n->last_leaf != done->last_leaf || n->level != (int64_t)done->level ||
		!tree_hash(n->hash, &stored) || !merkle_equal(&stored, &done->hash))
		problem(c, cx, "a stored hash above entry %" PRIu64 " is missing or was changed",
			done->last_leaf);
}

static status
check_leaf(struct ctx *cx, struct check *c, const struct tree_leaf *l)
{
	struct merkle_done done[MERKLE_LEVELS];
	struct merkle_hash leaf, stored;
	size_t count;
	str data;

	if (l->leaf_index != (int64_t)c->edge.size)
		problem(c, cx, "the leaf %" PRIu64 " is missing", c->edge.size);
	else if (!l->row.id.len)
		problem(c, cx, "the entry %.*s is gone, though it is in the tree", STR_ARG(l->entry_id));
	if (broken(c))
		return OK;
	if (audit_row_leaf(cx, &l->row, &data) != OK) { /* larger than we let in */
		ctx_clear(cx);
		data = (str){ NULL, 0 };
	}
	merkle_leaf(data, &leaf);
	if (!tree_hash(l->hash, &stored) || !merkle_equal(&leaf, &stored))
		problem(c, cx, "the entry %.*s (leaf %" PRId64 ") was changed", STR_ARG(l->entry_id),
			l->leaf_index);
	else if (cx->keys && l->row.mac.len && chain_check_mac(cx, &l->row) != OK)
		problem(c, cx, "%.*s", STR_ARG(ctx_message(cx, E_CONFLICT)));
	count = merkle_append(&c->edge, &leaf, done);
	for (size_t i = 0; i < count; i++)
		check_done(cx, c, &done[i]);
	return OK;
}

/* After each leaf: is a checkpoint due at this size? */
static status
check_size(struct ctx *cx, struct check *c)
{
	if (c->has_held && c->edge.size == c->held.size)
		check_root(cx, c, &c->held, "the held checkpoint");
	if ((int64_t)c->edge.size < c->due.size)
		return OK;
	check_due(cx, c);
	return next_checkpoint(cx, c, (int64_t)c->edge.size);
}

static status
check_page(struct ctx *cx, struct check *c, bool *out_more)
{
	int64_t from = (int64_t)c->edge.size;
	struct tree_leaf *leaves;
	size_t count;

	TRY(tree_leaves(cx, c->org_id, from, from + PAGE, &leaves, &count));
	TRY(db_all(cx, SQL_AUDIT_NODES, node_fields, sizeof(struct node_row), &c->nodes, &c->node_len,
		TEXT(c->org_id), INT(from), INT(from + PAGE)));
	c->node_at = 0;
	for (size_t i = 0; i < count && !broken(c); i++) {
		TRY(check_leaf(cx, c, &leaves[i]));
		if (!broken(c))
			TRY(check_size(cx, c));
	}
	if (c->node_at != c->node_len)
		problem(c, cx, "there are stored hashes that no entry gives");
	*out_more = count > 0 && !broken(c);
	return OK;
}

/* What must outlive the page's memory is copied; the checkpoint that is due is read again. */
static status
check_leaves(struct ctx *cx, struct check *c)
{
	bool more = true;

	while (more) {
		struct arena_mark mark = arena_mark(cx->arena);

		TRY(next_checkpoint(cx, c, (int64_t)c->edge.size));
		TRY(check_page(cx, c, &more));
		if (more)
			arena_rewind(cx->arena, mark);
	}
	return OK;
}

/* --- values --- */

struct value_row {
	str entry_id;
	struct vault_sealed sealed;
	str subject;
	struct vault_hashes hashes;
};
static const struct field value_fields[] = {
	FIELD_TEXT(struct value_row, entry_id),
	FIELD_TEXT(struct value_row, sealed.key_id),
	FIELD_BLOB(struct value_row, sealed.sealed),
	FIELD_BLOB(struct value_row, sealed.wrapped),
	FIELD_TEXT(struct value_row, subject),
	FIELD_TEXT(struct value_row, hashes.before),
	FIELD_TEXT(struct value_row, hashes.after),
	FIELD_TEXT(struct value_row, hashes.diff),
	FIELD_END,
};

struct count_row {
	int64_t count;
};
static const struct field count_fields[] = { FIELD_INT(struct count_row, count), FIELD_END };

/* A key that is gone must have been destroyed on the record. */
static status
check_erased(struct ctx *cx, struct check *c, const struct value_row *v)
{
	struct count_row said;

	TRY(db_one(cx, SQL_AUDIT_ERASURE_FIND, count_fields, &said, TEXT(c->org_id), TEXT(v->sealed.key_id)));
	if (!said.count)
		problem(c, cx, "the key of entry %.*s is gone, and no entry says that it was destroyed",
			STR_ARG(v->entry_id));
	c->report.erased++;
	return OK;
}

static status
check_value(struct ctx *cx, struct check *c, const struct value_row *v)
{
	struct vault_values got;

	if (!v->sealed.wrapped.len)
		return check_erased(cx, c, v);
	TRY(vault_open(cx, c->org_id, v->entry_id, &v->sealed, &v->hashes, &got));
	if (got.state != VAULT_OPEN)
		problem(c, cx,
			"the values of entry %.*s were changed, or this is not the key file they were made "
			"with",
			STR_ARG(v->entry_id));
	c->report.values++;
	return OK;
}

static status
check_values(struct ctx *cx, struct check *c)
{
	char after[64] = "";

	for (bool more = true; more && !broken(c);) {
		struct arena_mark mark = arena_mark(cx->arena);
		struct value_row *rows;
		size_t count;

		TRY(db_all(cx, SQL_AUDIT_VALUES, value_fields, sizeof(*rows), &rows, &count, TEXT(c->org_id),
			TEXT(str_of(after)), INT(100)));
		for (size_t i = 0; i < count && !broken(c); i++)
			TRY(check_value(cx, c, &rows[i]));
		more = count == 100;
		if (more && rows[count - 1].entry_id.len >= sizeof(after))
			return fail(cx, E_INTERNAL, "an audit entry's id is not one");
		if (more)
			memcpy(after, rows[count - 1].entry_id.ptr, rows[count - 1].entry_id.len + 1);
		if (!broken(c))
			arena_rewind(cx->arena, mark);
	}
	return OK;
}

/* --- MACs and numbers (chain.h) --- */

/* What waits to be sealed, page by page. Without the key their numbers are looked at, and not their MACs. */
static status
check_waiting(struct ctx *cx, struct check *c)
{
	char after[65] = "";
	bool more = true;

	while (more && !broken(c)) {
		struct arena_mark mark = arena_mark(cx->arena);
		struct audit_row *rows;
		size_t count;
		status s = OK;

		TRY(db_all(cx, SQL_AUDIT_PENDING_PAGE, audit_row_sealed, sizeof(*rows), &rows, &count,
			TEXT(c->org_id), INT(PAGE), TEXT(str_of(after))));
		for (size_t i = 0; cx->keys && s == OK && i < count; i++)
			s = chain_check_mac(cx, &rows[i]);
		if (s == E_CONFLICT)
			problem(c, cx, "%.*s", STR_ARG(ctx_message(cx, s)));
		else
			TRY(s);
		more = count == PAGE && rows[count - 1].id.len < sizeof(after);
		if (more)
			memcpy(after, rows[count - 1].id.ptr, rows[count - 1].id.len + 1);
		if (!broken(c))
			arena_rewind(cx->arena, mark);
	}
	return OK;
}

struct shifted {
	str proposal_id;
	int64_t entries, last;
};
static const struct field shifted_fields[] = {
	FIELD_TEXT(struct shifted, proposal_id),
	FIELD_INT(struct shifted, entries),
	FIELD_INT(struct shifted, last),
	FIELD_END,
};

/* The last entry of every proposal, and of the changes of rights. */
static status
check_ends(struct ctx *cx, struct check *c)
{
	struct shifted found;
	str wrong = { NULL, 0 };
	status s = db_one(cx, SQL_AUDIT_SHIFTED, shifted_fields, &found, TEXT(c->org_id));

	if (s == OK)
		problem(c, cx,
			"the proposal %.*s does not fit its entries: it was sealed with %" PRId64
			" of them, and the last one that is there is number %" PRId64,
			STR_ARG(found.proposal_id), found.entries, found.last ? found.last : 1);
	else if (s != E_NOT_FOUND)
		return s;
	ctx_clear(cx);
	if (cx->keys)
		TRY(chain_rights_problem(cx, c->org_id, &wrong));
	if (wrong.len)
		problem(c, cx, "%.*s", STR_ARG(wrong));
	return OK;
}

static status
check_chains(struct ctx *cx, struct check *c)
{
	status s;

	TRY(check_waiting(cx, c));
	s = broken(c) ? OK : chain_check_all(cx, c->org_id);
	if (s == E_CONFLICT) {
		problem(c, cx, "%.*s", STR_ARG(ctx_message(cx, s)));
		ctx_clear(cx);
		return OK;
	}
	TRY(s);
	return broken(c) ? OK : check_ends(cx, c);
}

/* --- all of it --- */

struct counts {
	int64_t entries, leaves, nodes, pending, pending_entries, valueless;
};
static const struct field counts_fields[] = {
	FIELD_INT(struct counts, entries),
	FIELD_INT(struct counts, leaves),
	FIELD_INT(struct counts, nodes),
	FIELD_INT(struct counts, pending),
	FIELD_INT(struct counts, pending_entries),
	FIELD_INT(struct counts, valueless),
	FIELD_END,
};

static status
check_counts(struct ctx *cx, struct check *c)
{
	struct counts n;

	TRY(db_one(cx, SQL_AUDIT_COUNTS, counts_fields, &n, TEXT(c->org_id)));
	c->report.pending = n.pending;
	if (n.leaves != c->head.size)
		problem(c, cx, "the tree has %" PRId64 " leaves, its head says %" PRId64, n.leaves,
			c->head.size);
	if (n.nodes != c->node_count)
		problem(c, cx, "there are stored hashes that no entry gives");
	if (n.entries != n.leaves + n.pending || n.pending != n.pending_entries)
		problem(c, cx,
			"entries were added or removed outside the log: %" PRId64 " are stored, %" PRId64
			" sealed, %" PRId64 " pending",
			n.entries, n.leaves, n.pending);
	if (n.valueless)
		problem(c, cx, "the values of %" PRId64 " entries are gone", n.valueless);
	return OK;
}

static void
check_head(struct ctx *cx, struct check *c)
{
	struct checkpoint head = { .size = (uint64_t)c->head.size, .root = c->head.root };

	check_root(cx, c, &head, "the head");
	if (c->has_held && c->held.size > c->edge.size)
		problem(c, cx,
			"the log was cut or rolled back: it has %" PRIu64
			" entries, the held checkpoint was signed at %" PRIu64,
			c->edge.size, c->held.size);
	if (c->due.size != INT64_MAX && !broken(c))
		problem(c, cx, "the log was cut: there is a checkpoint of %" PRId64 " entries", c->due.size);
	c->report.entries = (int64_t)c->edge.size;
	c->report.root = base64_text(cx->arena, c->head.root.bytes, MERKLE_HASH);
}

static void
open_held(struct ctx *cx, struct check *c)
{
	c->has_held = false;
	if (!c->held_note.len)
		return;
	c->has_held = checkpoint_open(cx, c->held_note, &c->key, &c->held) == OK;
	if (!c->has_held)
		problem(c, cx, "the held checkpoint: %.*s", STR_ARG(ctx_message(cx, E_INVALID)));
	else
		c->report.checkpoints++;
	ctx_clear(cx);
}

static status
load_head(struct ctx *cx, struct check *c)
{
	status s = tree_head(cx, c->org_id, &c->head);

	if (s != E_CONFLICT)
		return s;
	problem(c, cx, "%.*s", STR_ARG(ctx_message(cx, s)));
	ctx_clear(cx);
	return OK;
}

static status /* inside one read */
verify(struct ctx *cx, void *arg)
{
	struct check *c = arg;
	struct audit_report blank = { .key = c->report.key,
		.key_given = c->report.key_given,
		.held_given = c->report.held_given,
		.origin = c->key.name };

	c->report = blank; /* a read may run twice */
	c->edge.size = 0;
	c->node_count = 0;
	open_held(cx, c);
	TRY(load_head(cx, c));
	if (!broken(c))
		TRY(check_leaves(cx, c));
	if (!broken(c)) {
		check_head(cx, c);
		TRY(check_counts(cx, c));
	}
	if (!broken(c))
		TRY(check_chains(cx, c));
	if (!broken(c) && cx->keys)
		TRY(check_values(cx, c));
	return OK;
}

status
audit_verify_database(struct ctx *cx, str org_id, str key, str held, struct audit_report *report)
{
	struct check *c = ARENA_NEW(cx->arena, struct check);
	str origin = checkpoint_origin(cx->arena, org_id);

	CHECK(sodium_init() >= 0);
	if (!key.len && !cx->keys)
		return fail(cx, E_INVALID, "which public key? Give one, or the key file");
	if (!key.len)
		key = checkpoint_key_text(cx->arena, origin, cx->keys->sign_public);
	TRY(checkpoint_key_parse(cx, key, &c->key));
	c->org_id = org_id;
	c->held_note = held;
	c->report = (struct audit_report){ .key = key, .key_given = true, .held_given = held.len > 0 };
	if (!str_eq(c->key.name, origin))
		return fail(cx, E_INVALID, "the public key is of another log: %.*s", STR_ARG(c->key.name));
	TRY(db_read(cx, verify, c));
	*report = c->report;
	return OK;
}

/* --- which logs there are --- */

struct org_row {
	str org_id;
};
static const struct field org_fields[] = { FIELD_TEXT(struct org_row, org_id), FIELD_END };

struct orgs {
	str after;
	struct org_row *rows;
	size_t count;
};

static status
orgs_read(struct ctx *cx, void *arg)
{
	struct orgs *o = arg;

	return db_all(cx, SQL_AUDIT_ORGS, org_fields, sizeof(*o->rows), &o->rows, &o->count, TEXT(o->after));
}

struct org_named {
	str name;
	struct org_row row;
};

static status
org_read(struct ctx *cx, void *arg)
{
	struct org_named *o = arg;

	return db_one(cx, SQL_AUDIT_ORG_NAMED, org_fields, &o->row, TEXT(o->name));
}

status
audit_verify_org(struct ctx *cx, str name, str *out_org_id)
{
	struct org_named o = { .name = name };
	status s = db_read(cx, org_read, &o);

	if (s == E_NOT_FOUND)
		return fail(cx, s, "there is no organization \"%.*s\"", STR_ARG(name));
	TRY(s);
	*out_org_id = o.row.org_id;
	return OK;
}

status
audit_verify_orgs(struct ctx *cx, str after, str **out_ids, size_t *out_count)
{
	struct orgs o = { .after = after };

	TRY(db_read(cx, orgs_read, &o));
	*out_ids = o.count ? &o.rows->org_id : NULL; /* a row is nothing but its id */
	*out_count = o.count;
	return OK;
}
_Static_assert(sizeof(struct org_row) == sizeof(str), "an array of rows is an array of ids");
