/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/seal/held.h"

#include "base/limits.h"
#include "base/random.h"
#include "base/scoped.h"
#include "db/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

/* --- files --- */

/* An organization's id is ours, but a file's name must be safe whatever it is. */
static status
path_of(struct ctx *cx, const char *dir, str org_id, const char *what, str *out)
{
	for (size_t i = 0; i < org_id.len; i++) {
		char c = org_id.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '-' || c == '_'))
			return fail(cx, E_INVALID, "the organization's id is not one");
	}
	*out = arena_printf(cx->arena, "%s/%.*s.%s", dir, STR_ARG(org_id), what);
	return OK;
}

static status
read_file(struct ctx *cx, const char *held_dir, str org_id, const char *what, str *out_note)
{
	char *text;
	ssize_t n;
	str path = STR("");

	TRY(path_of(cx, held_dir, org_id, what, &path));
	scoped_fd fd = open(path.ptr, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		*out_note = (str){ NULL, 0 };
		return OK;
	}
	text = arena_alloc(cx->arena, LIMIT_CHECKPOINT);
	n = fd < 0 ? -1 : pread(fd, text, LIMIT_CHECKPOINT, 0);
	if (n < 0)
		return fail(cx, E_UNAVAILABLE, "%s, which is held against the log, cannot be read: %s",
			path.ptr, strerror(errno));
	*out_note = (str){ text, (size_t)n };
	return OK;
}

status
held_read(struct ctx *cx, const char *held_dir, str org_id, str *out_note)
{
	return read_file(cx, held_dir, org_id, "checkpoint", out_note);
}

status
held_missing(struct ctx *cx, const char *held_dir, str org_id, str *out_lines)
{
	return read_file(cx, held_dir, org_id, "missing", out_lines);
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

	TRY(path_of(cx, held_dir, org_id, "checkpoint", &path));
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

status
held_lock(struct ctx *cx, const char *held_dir, int *out_fd)
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

/* --- what is held against the tree --- */

status
held_fits(
	struct ctx *cx, str org_id, const struct checkpoint_key *key, const struct tree_head *head, str note)
{
	struct checkpoint c;

	if (!note.len)
		return OK;
	if (checkpoint_open(cx, note, key, &c) != OK)
		return fail(cx, E_CONFLICT, "the last checkpoint of the audit log was changed: %.*s",
			STR_ARG(ctx_message(cx, E_INVALID)));
	return tree_extends(cx, org_id, head, &c);
}

/* A note and what it says; size 0: none. */
static status
open_note(struct ctx *cx, const struct checkpoint_key *key, str note, struct checkpoint *out)
{
	*out = (struct checkpoint){ .size = 0 };
	if (!note.len || checkpoint_open(cx, note, key, out) == OK)
		return OK;
	return fail(cx, E_CONFLICT, "a checkpoint of the audit log is not ours: %.*s",
		STR_ARG(ctx_message(cx, E_INVALID)));
}

struct looking {
	str org_id, held, seen;
	const struct checkpoint_key *key;
};

static status /* inside one read */
look(struct ctx *cx, void *arg)
{
	const struct looking *l = arg;
	struct tree_head head;

	TRY(tree_head(cx, l->org_id, &head));
	TRY(held_fits(cx, l->org_id, l->key, &head, l->held));
	return held_fits(cx, l->org_id, l->key, &head, l->seen);
}

status
held_keep(struct ctx *cx, const char *held_dir, str org_id, str note, struct held_news *out)
{
	struct checkpoint_key key = checkpoint_key_own(cx, org_id);
	struct looking l = { .org_id = org_id, .seen = note, .key = &key };
	struct checkpoint held, seen;
	scoped_fd locked = -1;

	TRY(open_note(cx, &key, note, &seen));
	TRY(held_lock(cx, held_dir, &locked));
	TRY(held_read(cx, held_dir, org_id, &l.held));
	TRY(open_note(cx, &key, l.held, &held));
	/* what was signed is held whatever the tree is now: that is what it is for */
	if (seen.size > held.size)
		TRY(held_write(cx, held_dir, org_id, note));
	*out = (struct held_news){ (int64_t)held.size, (int64_t)seen.size };
	return db_read(cx, look, &l);
}
