/* SPDX-License-Identifier: Apache-2.0 */
#include "app/wrap/confines.h"

#include "app/app.h"
#include "app/store.h"
#include "base/limits.h"
#include "base/scoped.h"
#include "db/db.h"
#include "exec/upstream/program.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

struct secrets {
	str all[LIMIT_SANDBOX_SECRETS];
	size_t count;
};

/* A file that is not there yet will be where its folder is. */
static str
absolute(struct ctx *cx, str path)
{
	char room[PATH_MAX];

	if (!path.len || str_starts(path, STR("/")))
		return path.len ? walls_real(cx->arena, path) : path;
	if (!getcwd(room, sizeof(room)))
		return (str){ 0 };
	return walls_real(cx->arena, arena_printf(cx->arena, "%s/%.*s", room, STR_ARG(path)));
}

static void
keep_back(struct ctx *cx, struct secrets *s, str path)
{
	str real = absolute(cx, path);

	if (real.len && s->count < LIMIT_SANDBOX_SECRETS)
		s->all[s->count++] = real;
}

static str
own_program(struct ctx *cx)
{
	char room[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", room, sizeof(room));

	return n > 0 ? arena_str(cx->arena, (str){ room, (size_t)n }) : (str){ 0 };
}

static void
keep_back_ours(struct ctx *cx, struct walls *w, struct secrets *s)
{
	const struct config *c = &cx->app->config;
	str sockets[LIMIT_SANDBOX_SECRETS / 2];
	size_t n = 0;

	keep_back(cx, s, w->data);
	keep_back(cx, s, w->program);
	keep_back(cx, s, c->keys);
	keep_back(cx, s, str_of(store_held_dir(cx)));
	keep_back(cx, s, c->config);
	keep_back(cx, s, c->tls_key);
	if (c->database.len)
		n = db_socket_folders(
			cx->arena, arena_cstr(cx->arena, c->database), sockets, LIMIT_SANDBOX_SECRETS / 2);
	for (size_t i = 0; i < n; i++)
		keep_back(cx, s, sockets[i]);
}

void
confines_read(struct ctx *cx, struct walls *out)
{
	struct walls_path *listed = arena_alloc(cx->arena, LIMIT_SANDBOX_PATHS * sizeof(*listed));
	struct secrets *s = ARENA_NEW(cx->arena, struct secrets);
	struct walls w = { .data = absolute(cx, cx->app->config.data), .program = own_program(cx) };

	/* the setting has been checked when it was read */
	(void)walls_read_list(cx->app->config.stdio_paths, listed, LIMIT_SANDBOX_PATHS, &w.listed_count);
	for (size_t i = 0; i < w.listed_count; i++)
		listed[i].path = walls_real(cx->arena, listed[i].path);
	w.listed = listed;
	w.homes = arena_printf(cx->arena, "%.*s/homes", STR_ARG(w.data));
	w.list_file = arena_printf(cx->arena, "%.*s/" CONFINES_FILE, STR_ARG(w.data)).ptr;
	w.program_file = arena_printf(cx->arena, "%.*s/" CONFINES_PROGRAMS, STR_ARG(w.data)).ptr;
	keep_back_ours(cx, &w, s);
	w.secrets = s->all;
	w.secret_count = s->count;
	*out = w;
}

/* --- what a wrap lists --- */

static bool
is_in(FILE *f, str line)
{
	size_t room = 0;
	char *text = NULL;
	bool found = false;
	ssize_t n;

	while (!found && (n = getline(&text, &room, f)) > 0)
		found = str_eq((str){ text, (size_t)n }, line);
	free(text);
	return found;
}

/* Unless it is there. what: for the error. */
static status
list_line(struct ctx *cx, const char *file, str line, str what)
{
	int fd = open(file, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r+");
	bool done = false;

	if (str_find(line, '\n') + 1 < line.len) {
		errno = EINVAL; /* a name with a line break would be two lines */
	} else if (f) {
		done = is_in(f, line) || write(fd, line.ptr, line.len) == (ssize_t)line.len;
	}
	if (f)
		(void)fclose(f);
	if (!done)
		return fail(cx, E_UNAVAILABLE, "%.*s cannot be listed in %s: %s", STR_ARG(what), file,
			strerror(errno));
	return OK;
}

status
confines_list(struct ctx *cx, str dir, str path, bool writable)
{
	const char *file = arena_printf(cx->arena, "%.*s/" CONFINES_FILE, STR_ARG(dir)).ptr;
	str line = arena_printf(
		cx->arena, "%s %.*s\n", writable ? "rw" : "ro", STR_ARG(walls_real(cx->arena, path)));

	return list_line(cx, file, line, path);
}

status
confines_program(struct ctx *cx, str dir, str body)
{
	const char *file = arena_printf(cx->arena, "%.*s/" CONFINES_PROGRAMS, STR_ARG(dir)).ptr;
	struct json *doc;
	str digest;

	TRY(json_parse(cx, body, &doc));
	TRY(program_digest(cx, json_get(doc, STR("program")), json_get(doc, STR("env")), &digest));
	return list_line(cx, file, arena_printf(cx->arena, "%.*s\n", STR_ARG(digest)), STR("the program"));
}
