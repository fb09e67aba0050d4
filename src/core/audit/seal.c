/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/seal.h"

#include "base/check.h"
#include "base/fault.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/scoped.h"
#include "db/db.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

/* --- the last checkpoint of each log, in a file beside the key: what a restored database cannot take back
 * --- */

/* An organization's id is ours, but a file's name must be safe whatever it is. */
static status
path_of(struct ctx *cx, const char *dir, str org_id, str *out)
{
	for (size_t i = 0; i < org_id.len; i++) {
		char c = org_id.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '-' || c == '_'))
			return fail(cx, E_INVALID, "the organization's id is not one");
	}
	*out = arena_printf(cx->arena, "%s/%.*s.checkpoint", dir, STR_ARG(org_id));
	return OK;
}

status
held_read(struct ctx *cx, const char *held_dir, str org_id, str *out_note)
{
	char *text;
	ssize_t n;
	str path = STR("");

	TRY(path_of(cx, held_dir, org_id, &path));
	scoped_fd fd = open(path.ptr, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		*out_note = (str){ NULL, 0 };
		return OK;
	}
	text = arena_alloc(cx->arena, LIMIT_CHECKPOINT);
	n = fd < 0 ? -1 : pread(fd, text, LIMIT_CHECKPOINT, 0);
	if (n < 0)
		return fail(cx, E_UNAVAILABLE, "the held checkpoint %s cannot be read: %s", path.ptr,
			strerror(errno));
	*out_note = (str){ text, (size_t)n };
	return OK;
}

static bool
write_all(int fd, str text)
{
	return fd >= 0 && write(fd, text.ptr, text.len) == (ssize_t)text.len && fsync(fd) == 0;
}

status
held_write(struct ctx *cx, const char *held_dir, str org_id, str note)
{
	const char *draft;
	bool written;
	int wrong;
	str path = STR("");

	TRY(path_of(cx, held_dir, org_id, &path));
	draft = arena_printf(cx->arena, "%s.%.*s", path.ptr, STR_ARG(random_hex(cx->arena, 8))).ptr;
	scoped_fd fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	scoped_fd dir = open(held_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	written = write_all(fd, note) && rename(draft, path.ptr) == 0 && dir >= 0 && fsync(dir) == 0;
	wrong = errno;
	if (written)
		return OK;
	(void)unlink(draft);
	return fail(cx, E_UNAVAILABLE, "the checkpoint cannot be kept in %s: %s", path.ptr, strerror(wrong));
}

/* --- leaves --- */

struct batch {
	str org_id;
	int64_t size, entries;
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
	TRY(db_all(cx, SQL_AUDIT_PENDING_PAGE, audit_row_fields, sizeof(*rows), &rows, &count,
		TEXT(b->org_id), INT(LIMIT_AUDIT_BATCH)));
	b->size = from.size;
	b->entries = (int64_t)count;
	if (!count)
		return OK;
	to = from;
	TRY(append_rows(cx, &to, rows, count));
	b->size = to.size;
	return tree_advance(cx, b->org_id, &from, &to);
}

/* Until nothing is left, or so much was done that it is time to sign: where entries come faster than they are
 * sealed, there would be no checkpoint for as long as that goes on. */
static status
seal_pending(struct ctx *cx, str org_id, struct sealed *out)
{
	struct batch b = { .org_id = org_id };

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

/* --- checkpoints --- */

struct signing {
	str org_id, held, note;
	const struct checkpoint_key *key;
	struct checkpoint checkpoint;
	bool needed;
};

/* Demands that the tree continues a checkpoint that we signed. */
static status
check_note(struct ctx *cx, const struct signing *s, const struct tree_head *head, str note)
{
	struct checkpoint c;

	if (!note.len)
		return OK;
	if (checkpoint_open(cx, note, s->key, &c) != OK)
		return fail(cx, E_CONFLICT, "the last checkpoint of the audit log was changed: %.*s",
			STR_ARG(ctx_message(cx, E_INVALID)));
	return tree_extends(cx, s->org_id, head, &c);
}

static status /* inside one read: everything is of one moment */
look(struct ctx *cx, void *arg)
{
	struct tree_checkpoint last = { .size = 0 };
	struct signing *s = arg;
	struct tree_head head;
	status found;

	TRY(tree_head(cx, s->org_id, &head));
	TRY(check_note(cx, s, &head, s->held));
	found = tree_checkpoint(cx, s->org_id, &last);
	if (found != OK && found != E_NOT_FOUND)
		return found;
	ctx_clear(cx);
	if (found == OK)
		TRY(check_note(cx, s, &head, last.note));
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

/*
 * One signer at a time on this machine: the lock comes before the look at the head, so a tree can only have
 * grown since the file was written. Signers elsewhere have files of their own.
 */
static status
lock_folder(struct ctx *cx, const char *held_dir, int *out_fd)
{
	const char *path = arena_printf(cx->arena, "%s/lock", held_dir).ptr;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	while (fd >= 0 && flock(fd, LOCK_EX) != 0) {
		if (errno == EINTR)
			continue;
		(void)close(fd);
		fd = -1;
	}
	if (fd < 0)
		return fail(cx, E_UNAVAILABLE, "%s cannot be locked: %s", path, strerror(errno));
	*out_fd = fd;
	return OK;
}

status
audit_seal(struct ctx *cx, str org_id, const char *held_dir, struct sealed *out)
{
	struct signing s = { .org_id = org_id };
	struct sealed done = { .size = 0 };
	struct checkpoint_key key = { .name = checkpoint_origin(cx->arena, org_id) };
	scoped_fd locked = -1;

	CHECK(cx->keys != NULL);
	memcpy(key.bytes, cx->keys->sign_public, sizeof(key.bytes));
	s.key = &key;
	s.checkpoint.origin = key.name;
	TRY(seal_pending(cx, org_id, &done));
	if (FAULT_FAILS(seal_after_commit))
		return fail(cx, E_UNAVAILABLE, "stopped between sealing and signing");
	TRY(lock_folder(cx, held_dir, &locked));
	TRY(sign(cx, &s, held_dir));
	done.signed_now = s.needed;
	*out = done;
	return OK;
}
