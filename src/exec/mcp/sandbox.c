/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/mcp/sandbox.h"

#include "base/limits.h"

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
	if (p->directory.len && !is_path(p->directory))
		return fail(cx, E_INVALID, "%.*s is not an absolute path", STR_ARG(p->directory));
	return OK;
}

/* What every program needs of the system, and what one with a network needs to find others. */
static const char *const system_dirs[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache",
	"/etc/alternatives", "/etc/localtime", "/etc/ssl/certs", "/etc/ca-certificates.conf", NULL };
static const char *const network_files[] = { "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf",
	"/etc/ssl/openssl.cnf", NULL };

static void
bind_all(struct words *w, const char *const *paths)
{
	for (size_t i = 0; paths[i]; i++) {
		add(w, "--ro-bind-try");
		add(w, paths[i]);
		add(w, paths[i]);
	}
}

static void
confine(struct ctx *cx, const struct mcp_program *p, struct words *w)
{
	static const char *const first[] = { SANDBOX_PROGRAM, "--unshare-user", "--uid", "65534", "--gid",
		"65534", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox", NULL };
	const char *directory = p->directory.len ? arena_cstr(cx->arena, p->directory) : "/tmp";

	for (size_t i = 0; first[i]; i++)
		add(w, first[i]);
	if (!p->network)
		add(w, "--unshare-net");
	bind_all(w, system_dirs);
	if (p->network)
		bind_all(w, network_files);
	add(w, "--proc");
	add(w, "/proc");
	add(w, "--dev");
	add(w, "/dev");
	add(w, "--tmpfs");
	add(w, "/tmp");
	for (size_t i = 0; i < p->path_count; i++) {
		const char *path = arena_cstr(cx->arena, p->paths[i].path);

		add(w, p->paths[i].writable ? "--bind" : "--ro-bind");
		add(w, path);
		add(w, path);
	}
	add(w, "--chdir");
	add(w, directory);
	add(w, "--");
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

status
sandbox_plan(struct ctx *cx, const struct mcp_program *p, struct sandbox_plan *out)
{
	struct words w = { .count = 0 };

	TRY(check(cx, p));
	if (!p->unconfined)
		confine(cx, p, &w);
	for (size_t i = 0; i < p->argc; i++)
		add(&w, arena_cstr(cx->arena, p->argv[i]));
	out->environment = environment(cx, p);
	if (w.overflow || !out->environment)
		return fail(cx, E_INVALID, "the program has too many arguments, variables or paths");
	out->argv = finish(cx, &w);
	out->directory = !p->unconfined ? NULL : p->directory.len ? arena_cstr(cx->arena, p->directory) : "/";
	return OK;
}

str
sandbox_missing(struct ctx *cx, const struct mcp_program *p)
{
	(void)cx;
	if (p->unconfined || access(SANDBOX_PROGRAM, X_OK) == 0)
		return (str){ 0 };
	return STR("there is no sandbox on this machine, so the program is not started: install the package "
		   "bubblewrap "
		   "(/usr/bin/bwrap), or grant the program to run unconfined");
}
