/* SPDX-License-Identifier: Apache-2.0 */
/* The last checkpoint of each log, in a file beside the key: what a restored database cannot take back. */
#include "base/limits.h"
#include "base/random.h"
#include "base/scoped.h"
#include "core/audit/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

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
	str path;

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
	str path;

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
