/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/sandbox/walls.h"

#include "base/fault.h"
#include "base/limits.h"
#include "base/scoped.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const walls_system[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache",
	"/etc/alternatives", "/etc/localtime", "/etc/ssl/certs", "/etc/ca-certificates.conf", NULL };

bool
walls_within(str path, str dir)
{
	if (str_eq(dir, STR("/")))
		return true;
	return str_starts(path, dir) && (path.len == dir.len || path.ptr[dir.len] == '/');
}

/* --- real paths --- */

str
walls_real(struct arena *a, str path)
{
	char room[PATH_MAX];
	size_t cut = path.len;

	if (realpath(arena_cstr(a, path), room))
		return arena_str(a, str_of(room));
	while (cut && path.ptr[cut - 1] != '/')
		cut--;
	if (cut < 2)
		return path;
	return arena_printf(a, "%.*s/%.*s", STR_ARG(walls_real(a, (str){ path.ptr, cut - 1 })),
		STR_ARG(str_skip(path, cut)));
}

/* Where a descriptor leads now. */
static bool
real_of(struct arena *a, int fd, str *out)
{
	char name[32], room[PATH_MAX];
	struct stat st;
	ssize_t n;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, room, sizeof(room));
	if (n <= 0 || (size_t)n == sizeof(room) || room[0] != '/' || fstat(fd, &st) != 0 || !st.st_nlink)
		return false;
	*out = arena_str(a, (str){ room, (size_t)n });
	return true;
}

/* --- what is listed --- */

bool
walls_read_list(str text, struct walls_path *out, size_t most, size_t *out_count)
{
	str one, rest = text;
	size_t n = 0;

	while (rest.len) {
		bool writable;

		if (!str_cut(rest, ',', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		writable = str_ends(one, STR(":rw"));
		if (writable)
			one.len -= 3;
		if (n == most || !str_starts(one, STR("/")) || str_has_dots(one))
			return false;
		while (one.len > 1 && str_ends(one, STR("/")))
			one.len--;
		out[n++] = (struct walls_path){ one, writable };
	}
	*out_count = n;
	return true;
}

enum grade { NOT_LISTED, LISTED, WRITABLE };

/* The list is compared as it was when it was made: a link that somebody makes of a listed folder later lists nothing. */
static enum grade
grade_of(const struct walls_path *l, str real)
{
	if (!walls_within(real, l->path))
		return NOT_LISTED;
	return l->writable ? WRITABLE : LISTED;
}

static enum grade
grade_in_file(const char *file, str real)
{
	enum grade best = NOT_LISTED, one;
	FILE *f = fopen(file, "re");
	size_t room = 0;
	char *line = NULL;
	ssize_t n;

	while (f && (n = getline(&line, &room, f)) > 0) {
		struct walls_path l = { { line, (size_t)n - (line[n - 1] == '\n') },
			strncmp(line, "rw ", 3) == 0 };

		if (l.path.len < 4 || (!l.writable && strncmp(line, "ro ", 3) != 0) || line[3] != '/')
			continue;
		l.path = str_skip(l.path, 3);
		one = grade_of(&l, real);
		best = one > best ? one : best;
	}
	free(line);
	if (f)
		(void)fclose(f);
	return best;
}

static enum grade
grade(const struct walls *w, str real)
{
	enum grade best = NOT_LISTED, one;

	for (size_t i = 0; i < w->listed_count; i++) {
		one = grade_of(&w->listed[i], real);
		best = one > best ? one : best;
	}
	if (w->list_file) {
		one = grade_in_file(w->list_file, real);
		best = one > best ? one : best;
	}
	return best;
}

/* --- what is ours --- */

static bool
is_ours(struct arena *a, const struct walls *w, str real)
{
	str homes = walls_real(a, w->homes);

	if (homes.len && real.len > homes.len && walls_within(real, homes))
		return false;
	for (size_t i = 0; i < w->secret_count; i++) {
		str secret = walls_real(a, w->secrets[i]);

		if (secret.len && (walls_within(real, secret) || walls_within(secret, real)))
			return true;
	}
	return false;
}

/* Of the kernel, not of a disk: there is no granting of that. */
static bool
is_of_kernel(str path)
{
	return str_eq(path, STR("/")) || walls_within(path, STR("/proc")) ||
	       walls_within(path, STR("/sys")) || walls_within(path, STR("/dev/fd")) ||
	       str_eq(path, STR("/dev"));
}

static bool
is_of_system(str path, struct arena *links)
{
	for (size_t i = 0; walls_system[i]; i++) {
		str one = str_of(walls_system[i]);

		if (walls_within(path, links ? walls_real(links, one) : one))
			return true;
	}
	return false;
}

/* --- the decision --- */

static status
unlisted(struct ctx *cx, str path)
{
	return fail(cx, E_FORBIDDEN,
		"Forbidden: %.*s is not a path that this server's operator lists for programs; add it to the "
		"setting "
		"stdio-paths",
		STR_ARG(path));
}

static status
decide(struct ctx *cx, const struct walls *w, str path, str real, bool writable, bool *out_anyway)
{
	enum grade g;

	*out_anyway = false;
	if (PLANTED(paths_unchecked))
		return OK;
	if (is_of_kernel(path) || is_of_kernel(real))
		return fail(cx, E_FORBIDDEN, "Forbidden: no program is shown %.*s", STR_ARG(path));
	if (w && is_ours(cx->arena, w, real))
		return fail(cx, E_FORBIDDEN,
			"Forbidden: %.*s and Countersign's own data, keys, configuration or program are in "
			"one another; no program is shown that, whatever is listed",
			STR_ARG(path));
	if (!writable && is_of_system(real, cx->arena)) {
		*out_anyway = is_of_system(path, NULL); /* by another name it is not there yet */
		return OK;
	}
	g = w ? grade(w, real) : NOT_LISTED;
	if (g == NOT_LISTED)
		return unlisted(cx, path);
	if (writable && g != WRITABLE)
		return fail(cx, E_FORBIDDEN,
			"Forbidden: this server's operator lists %.*s for reading only; list it in "
			"stdio-paths with \":rw\" behind it",
			STR_ARG(path));
	return OK;
}

status
walls_open(struct ctx *cx, const struct walls *w, str path, bool writable, int *out_fd)
{
	scoped_fd fd = -1;
	bool anyway;
	str real;

	if (!str_starts(path, STR("/")) || str_has_dots(path) || str_find(path, '\0') < path.len)
		return fail(cx, E_INVALID, "%.*s is not an absolute path without dots", STR_ARG(path));
	fd = open(arena_cstr(cx->arena, path), O_PATH | O_CLOEXEC);
	if (fd < 0 || !real_of(cx->arena, fd, &real)) {
		if (w && grade(w, path) != NOT_LISTED)
			return fail(cx, E_INVALID, "there is no %.*s, so it cannot be shown to a program",
				STR_ARG(path));
		return unlisted(cx, path);
	}
	TRY(decide(cx, w, path, real, writable, &anyway));
	*out_fd = anyway ? -1 : fd_take(&fd);
	return OK;
}

status
walls_check(struct ctx *cx, const struct walls *w, str path, bool writable)
{
	int fd;

	TRY(walls_open(cx, w, path, writable, &fd));
	if (fd >= 0)
		(void)close(fd);
	return OK;
}
