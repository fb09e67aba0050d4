/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/mcp/sandbox.h"

#include "base/fault.h"
#include "base/limits.h"
#include "exec/sandbox/filter.h"
#include "exec/sandbox/walls.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MAX 512u /* arguments and paths of one program; its options are a fraction */

struct words {
	const char *all[WORDS_MAX + 1];
	size_t count;
	bool overflow;
};

static void
add(struct words *w, const char *word)
{
	w->overflow = w->overflow || w->count == WORDS_MAX;
	if (!w->overflow)
		w->all[w->count++] = word;
}

static bool
is_text(str s)
{
	return str_find(s, '\0') == s.len;
}

/* A path that means one place: from the root, and never back. */
static bool
is_path(str path)
{
	str one, rest = path;

	if (!str_starts(path, STR("/")) || !is_text(path) || path.len > LIMIT_SETTING_BYTES)
		return false;
	while (rest.len) {
		if (!str_cut(rest, '/', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		if (str_eq(one, STR("..")))
			return false;
	}
	return true;
}

static bool
is_variable(const struct http_client_field *v)
{
	for (size_t i = 0; i < v->name.len; i++) {
		char c = v->name.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
			    (i && c >= '0' && c <= '9')))
			return false;
	}
	return v->name.len && is_text(v->value) && !str_starts(v->name, STR("LD_"));
}

static status
check(struct ctx *cx, const struct mcp_program *p)
{
	for (size_t i = 0; i < p->argc; i++)
		if (!is_text(p->argv[i]))
			return fail(cx, E_INVALID, "an argument of the program is not text");
	for (size_t i = 0; i < p->variable_count; i++)
		if (!is_variable(&p->variables[i]))
			return fail(cx, E_INVALID, "%.*s is not a variable that a program can get",
				STR_ARG(p->variables[i].name));
	for (size_t i = 0; i < p->path_count; i++)
		if (!is_path(p->paths[i].path))
			return fail(cx, E_INVALID, "%.*s is not an absolute path", STR_ARG(p->paths[i].path));
	if (p->path_count > LIMIT_SOURCE_WORDS)
		return fail(cx, E_INVALID, "the program is granted more than %u paths", LIMIT_SOURCE_WORDS);
	if (p->directory.len && !is_path(p->directory))
		return fail(cx, E_INVALID, "%.*s is not an absolute path", STR_ARG(p->directory));
	return OK;
}

/* What one with a network needs besides, to find others. */
static const char *const network_files[] = { "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf",
	"/etc/ssl/openssl.cnf", NULL };

static void
add_three(struct words *w, const char *option, const char *from, const char *to)
{
	add(w, option);
	add(w, from);
	add(w, to);
}

/* A link stays one: /bin beside /usr/bin would be a second way to what is masked in the first. */
static void
bind_all(struct ctx *cx, struct words *w, const char *const *paths)
{
	char to[PATH_MAX];

	for (size_t i = 0; paths[i]; i++) {
		ssize_t n = readlink(paths[i], to, sizeof(to));

		if (n > 0 && (size_t)n < sizeof(to) && to[0] != '/' && strrchr(paths[i], '/') == paths[i])
			add_three(w, "--symlink", arena_cstr(cx->arena, (str){ to, (size_t)n }), paths[i]);
		else
			add_three(w, "--ro-bind-try", paths[i], paths[i]);
	}
}

/* --- what is ours --- */

/* By a directory of the system, or by what is granted: that was refused, and this is the second lock. */
static bool
is_shown(struct ctx *cx, const struct mcp_program *p, str real)
{
	for (size_t i = 0; walls_system[i]; i++)
		if (walls_within(real, walls_real(cx->arena, str_of(walls_system[i]))))
			return true;
	for (size_t i = 0; i < p->path_count; i++)
		if (walls_within(real, walls_real(cx->arena, p->paths[i].path)))
			return true;
	return false;
}

/* An empty directory or file in its place. Our program may be seen: it is what everybody can install. */
static void
mask(struct ctx *cx, const struct mcp_program *p, struct words *w)
{
	const struct walls *walls = p->walls;
	struct stat st;

	for (size_t i = 0; walls && !PLANTED(paths_unchecked) && i < walls->secret_count; i++) {
		str real = walls_real(cx->arena, walls->secrets[i]);
		const char *path = arena_cstr(cx->arena, real);

		if (stat(path, &st) != 0 || str_eq(walls->secrets[i], walls->program) ||
			!is_shown(cx, p, real))
			continue;
		if (S_ISDIR(st.st_mode)) {
			add(w, "--tmpfs");
			add(w, path);
		} else {
			add_three(w, "--ro-bind", "/dev/null", path);
		}
	}
}

/* --- what is granted --- */

static const char *
number(struct ctx *cx, int n)
{
	return arena_printf(cx->arena, "%d", n).ptr;
}

static status
bind_path(struct ctx *cx, const struct mcp_program *p, const struct mcp_path *path, struct words *w,
	struct sandbox_plan *out)
{
	int fd;

	TRY(walls_open(cx, p->walls, path->path, path->writable, &fd));
	if (fd < 0)
		return OK;
	out->fds[out->fd_count++] = fd;
	add_three(w, path->writable ? "--bind-fd" : "--ro-bind-fd", number(cx, fd),
		arena_cstr(cx->arena, path->path));
	return OK;
}

static status
bind_granted(
	struct ctx *cx, const struct mcp_program *p, bool homes, struct words *w, struct sandbox_plan *out)
{
	for (size_t i = 0; i < p->path_count; i++) {
		str real = walls_real(cx->arena, p->paths[i].path);
		bool home = p->walls && p->walls->data.len && walls_within(real, p->walls->data);

		if (home == homes)
			TRY(bind_path(cx, p, &p->paths[i], w, out));
	}
	return OK;
}

static status
set_filter(struct ctx *cx, struct words *w, struct sandbox_plan *out)
{
	int fd;

	TRY(filter_open(cx, &fd));
	out->fds[out->fd_count++] = fd;
	add(w, "--seccomp");
	add(w, number(cx, fd));
	return OK;
}

static status
confine(struct ctx *cx, const struct mcp_program *p, struct words *w, struct sandbox_plan *out)
{
	static const char *const first[] = { SANDBOX_PROGRAM, "--unshare-user", "--uid", "65534", "--gid",
		"65534", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
		"--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--hostname", "sandbox", NULL };

	for (size_t i = 0; first[i]; i++)
		add(w, first[i]);
	if (!p->network)
		add(w, "--unshare-net");
	if (!PLANTED(programs_unfiltered))
		TRY(set_filter(cx, w, out));
	bind_all(cx, w, walls_system);
	if (p->network)
		bind_all(cx, w, network_files);
	add(w, "--proc");
	add(w, "/proc");
	add(w, "--dev");
	add(w, "/dev");
	add(w, "--tmpfs");
	add(w, "/tmp");
	TRY(bind_granted(cx, p, false, w, out));
	mask(cx, p, w);
	TRY(bind_granted(cx, p, true, w, out)); /* a home in the data, which is masked now */
	add(w, "--chdir");
	add(w, p->directory.len ? arena_cstr(cx->arena, p->directory) : "/tmp");
	add(w, "--");
	return OK;
}

static const char **
finish(struct ctx *cx, const struct words *w)
{
	const char **all = arena_alloc(cx->arena, (w->count + 1) * sizeof(*all));

	memcpy(all, w->all, w->count * sizeof(*all));
	return all;
}

/* Unless it is granted otherwise: of two, programs differ in which they take. */
static void
add_usual(struct words *w, const struct mcp_program *p, const char *name, const char *entry)
{
	for (size_t i = 0; i < p->variable_count; i++)
		if (str_eq(p->variables[i].name, str_of(name)))
			return;
	add(w, entry);
}

static const char **
environment(struct ctx *cx, const struct mcp_program *p)
{
	struct words w = { .count = 0 };

	add_usual(&w, p, "PATH", "PATH=/usr/local/bin:/usr/bin:/bin");
	add_usual(&w, p, "HOME", "HOME=/tmp");
	add_usual(&w, p, "LANG", "LANG=C.UTF-8");
	for (size_t i = 0; i < p->variable_count; i++)
		add(&w, arena_printf(cx->arena, "%.*s=%.*s", STR_ARG(p->variables[i].name),
				STR_ARG(p->variables[i].value))
				.ptr);
	return w.overflow ? NULL : finish(cx, &w);
}

static status
write_plan(struct ctx *cx, const struct mcp_program *p, struct sandbox_plan *out)
{
	struct words w = { .count = 0 };

	TRY(check(cx, p));
	if (!p->unconfined)
		TRY(confine(cx, p, &w, out));
	for (size_t i = 0; i < p->argc; i++)
		add(&w, arena_cstr(cx->arena, p->argv[i]));
	out->environment = environment(cx, p);
	if (w.overflow || !out->environment)
		return fail(cx, E_INVALID, "the program has too many arguments, variables or paths");
	out->argv = finish(cx, &w);
	out->directory = !p->unconfined ? NULL : p->directory.len ? arena_cstr(cx->arena, p->directory) : "/";
	return OK;
}

status
sandbox_plan(struct ctx *cx, const struct mcp_program *p, struct sandbox_plan *out)
{
	struct sandbox_plan plan = { .fd_count = 0 };
	status s = write_plan(cx, p, &plan);

	if (s != OK)
		sandbox_plan_done(&plan);
	else
		*out = plan;
	return s;
}

void
sandbox_plan_done(struct sandbox_plan *plan)
{
	for (size_t i = 0; i < plan->fd_count; i++)
		(void)close(plan->fds[i]);
	plan->fd_count = 0;
}

str
sandbox_missing(struct ctx *cx, const struct mcp_program *p)
{
	(void)cx;
	if (p->unconfined || access(SANDBOX_PROGRAM, X_OK) == 0)
		return (str){ 0 };
	return STR("there is no sandbox on this machine, so the program is not started: install the package "
		   "bubblewrap "
		   "(/usr/bin/bwrap), or start this server with --stdio-upstreams unconfined");
}
