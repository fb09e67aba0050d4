/* SPDX-License-Identifier: Apache-2.0 */
#include "app/wrap/line.h"

#include "app/wrap/name.h"
#include "face/shown/shown.h"
#include "json/out.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the sandbox has anyway (exec/mcp/sandbox). */
static const char *const system_dirs[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64", NULL };

/* --- paths --- */

static bool
is_below(str path, str folder)
{
	if (str_eq(folder, STR("/")))
		return path.len > 1;
	return str_starts(path, folder) && path.len > folder.len && path.ptr[folder.len] == '/';
}

static bool
is_system(str path)
{
	for (size_t i = 0; system_dirs[i]; i++)
		if (str_eq(path, str_of(system_dirs[i])) || is_below(path, str_of(system_dirs[i])))
			return true;
	return false;
}

/* As it really is: without links and dots. False: it is not there. */
static bool
resolve(struct ctx *cx, str path, str *out)
{
	char room[PATH_MAX];

	if (str_find(path, '\0') < path.len || !realpath(arena_cstr(cx->arena, path), room))
		return false;
	*out = arena_str(cx->arena, str_of(room));
	return true;
}

/* The same place, said from the root; a link stays one, because that is what the program is told. */
static bool
absolute(struct ctx *cx, str path, str *out)
{
	struct stat st;

	if (!str_starts(path, STR("/")) || str_has_dots(path))
		return resolve(cx, path, out);
	while (path.len > 1 && str_ends(path, STR("/")))
		path.len--;
	if (stat(arena_cstr(cx->arena, path), &st) != 0)
		return false;
	*out = path;
	return true;
}

static bool
exists(struct ctx *cx, str path)
{
	return access(arena_cstr(cx->arena, path), F_OK) == 0;
}

static bool
is_folder(struct ctx *cx, str path)
{
	struct stat st;

	return stat(arena_cstr(cx->arena, path), &st) == 0 && S_ISDIR(st.st_mode);
}

static str
join(struct ctx *cx, str folder, const char *name)
{
	return arena_printf(cx->arena, "%.*s/%s", STR_ARG(str_eq(folder, STR("/")) ? STR("") : folder), name);
}

/* --- grants --- */

status
line_grant(struct ctx *cx, struct line *l, str path, bool writable)
{
	size_t at = l->grant_count;

	for (size_t i = 0; i < l->grant_count; i++)
		if (str_eq(l->grants[i].path, path) ||
			(is_below(path, l->grants[i].path) && l->grants[i].writable == writable))
			return OK;
	if (!writable && is_system(path))
		return OK;
	if (l->grant_count == LIMIT_SOURCE_WORDS)
		return fail(
			cx, E_INVALID, "the program would be granted more than %u paths", LIMIT_SOURCE_WORDS);
	for (; at > 0 && str_cmp(l->grants[at - 1].path, path) > 0; at--)
		l->grants[at] = l->grants[at - 1];
	l->grants[at] = (struct line_grant){ path, writable };
	l->grant_count++;
	return OK;
}

status
line_variable(struct ctx *cx, struct line *l, str name, str value)
{
	if (l->variable_count == LIMIT_SOURCE_WORDS)
		return fail(
			cx, E_INVALID, "the program would get more than %u variables", LIMIT_SOURCE_WORDS);
	l->variables[l->variable_count++] = (struct line_variable){ name, value };
	return OK;
}

const struct line_grant *
line_touches(struct ctx *cx, const struct line *l, str dir)
{
	str real, place;

	if (!resolve(cx, dir, &place))
		return NULL;
	for (size_t i = 0; i < l->grant_count; i++)
		if (resolve(cx, l->grants[i].path, &real) &&
			(str_eq(real, place) || is_below(real, place) || is_below(place, real)))
			return &l->grants[i];
	return NULL;
}

/* --- what a script needs --- */

static bool
is_script(str path)
{
	static const char *const ends[] = { ".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".rb", ".php",
		".jar", ".sh", NULL };

	for (size_t i = 0; ends[i]; i++)
		if (str_ends(path, str_of(ends[i])))
			return true;
	return false;
}

/* The outermost node_modules that it is in; or the project; or itself. */
static str
package_of(struct ctx *cx, str file)
{
	str found = { 0 };

	for (str dir = name_folder(file); dir.len > 1; dir = name_folder(dir)) {
		if (str_eq(name_base(dir), STR("node_modules")))
			found = dir;
	}
	for (str dir = name_folder(file); !found.len && dir.len > 1; dir = name_folder(dir))
		if (exists(cx, join(cx, dir, "package.json")) || exists(cx, join(cx, dir, "pyproject.toml")))
			found = dir;
	return found.len ? found : file;
}

static status
grant_script(struct ctx *cx, struct line *l, str file)
{
	str real;

	TRY(line_grant(cx, l, package_of(cx, file), false));
	if (resolve(cx, file, &real) && !str_eq(real, file))
		TRY(line_grant(cx, l, package_of(cx, real), false));
	return OK;
}

/* .../bin/program: with its neighbours, and the libraries beside them. *path: where it is found, as in PATH. */
static status
grant_installed(struct ctx *cx, struct line *l, str file, struct buf *path)
{
	static const char *const beside[] = { "lib", "pyvenv.cfg" };
	str bin = name_folder(file), prefix = name_folder(bin);

	if (is_system(file))
		return OK;
	if (!str_eq(name_base(bin), STR("bin")))
		return grant_script(cx, l, file);
	buf_printf(path, "%.*s:", STR_ARG(bin));
	TRY(line_grant(cx, l, bin, false));
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
		if (exists(cx, join(cx, prefix, beside[i])))
			TRY(line_grant(cx, l, join(cx, prefix, beside[i]), false));
	return OK;
}

static status
grant_program(struct ctx *cx, struct line *l)
{
	struct buf path;
	str real, text;

	buf_init(&path, cx->arena, LIMIT_SETTING_BYTES);
	TRY(grant_installed(cx, l, l->argv[0], &path));
	if (resolve(cx, l->argv[0], &real) && !str_eq(real, l->argv[0]))
		TRY(is_script(real) ? grant_script(cx, l, real) : grant_installed(cx, l, real, &path));
	if (!path.len)
		return OK;
	buf_add(&path, STR("/usr/local/bin:/usr/bin:/bin"));
	TRY(buf_finish(&path, &text));
	return line_variable(cx, l, STR("PATH"), text);
}

/* --- the arguments --- */

static bool
is_path(str word)
{
	return str_starts(word, STR("/")) || str_starts(word, STR("./")) || str_starts(word, STR("../")) ||
	       str_eq(word, STR(".")) || str_eq(word, STR(".."));
}

static status
grant_argument(struct ctx *cx, struct line *l, str path)
{
	if (is_folder(cx, path))
		return line_grant(cx, l, path, true);
	return is_script(path) ? grant_script(cx, l, path) : line_grant(cx, l, path, false);
}

/* A path is said from the root: the program starts elsewhere. --flag=/path names one, too. */
static status
read_argument(struct ctx *cx, struct line *l, str *word)
{
	str flag, value, path;

	if (!str_starts(*word, STR("-"))) {
		if (!(is_path(*word) || is_script(*word)) || !absolute(cx, *word, &path))
			return OK;
		*word = path;
		return grant_argument(cx, l, path);
	}
	if (!str_cut(*word, '=', &flag, &value) || !is_path(value) || !absolute(cx, value, &path))
		return OK;
	*word = arena_printf(cx->arena, "%.*s=%.*s", STR_ARG(flag), STR_ARG(path));
	return grant_argument(cx, l, path);
}

/* --- the program --- */

static str
variable_of(const char *name)
{
	return str_of(getenv(name));
}

static bool
can_run(struct ctx *cx, str path)
{
	return !is_folder(cx, path) && access(arena_cstr(cx->arena, path), X_OK) == 0;
}

static status
find_program(struct ctx *cx, str word, str *out)
{
	str folder, rest = variable_of("PATH"), path;

	if (str_find(word, '/') < word.len) {
		if (!absolute(cx, word, &path))
			return fail(cx, E_INVALID, "there is no program %.*s",
				STR_ARG(shown_line(cx->arena, word)));
		if (!can_run(cx, path))
			return fail(cx, E_INVALID, "%.*s cannot be run: it is not a program",
				STR_ARG(shown_line(cx->arena, word)));
		*out = path;
		return OK;
	}
	while (rest.len) {
		if (!str_cut(rest, ':', &folder, &rest)) {
			folder = rest;
			rest = (str){ 0 };
		}
		path = join(cx, folder, arena_cstr(cx->arena, word));
		if (str_starts(folder, STR("/")) && can_run(cx, path)) {
			*out = path;
			return OK;
		}
	}
	return fail(cx, E_INVALID, "there is no program \"%.*s\" in PATH; name it with its whole path",
		STR_ARG(shown_line(cx->arena, word)));
}

/* --- the flags --- */

static status
read_paths(struct ctx *cx, const struct cli_call *call, const char *flag, bool writable, struct line *l)
{
	str path;

	for (const struct cli_given *g = cli_next(call, flag, NULL); g; g = cli_next(call, flag, g)) {
		if (!absolute(cx, g->value, &path))
			return fail(cx, E_INVALID, "--%s %.*s: there is no such file or directory", flag,
				STR_ARG(shown_line(cx->arena, g->value)));
		TRY(line_grant(cx, l, path, writable));
	}
	return OK;
}

static status
read_variables(struct ctx *cx, const struct cli_call *call, struct line *l)
{
	for (const struct cli_given *g = cli_next(call, "env", NULL); g; g = cli_next(call, "env", g)) {
		const char *value = getenv(arena_cstr(cx->arena, g->value));

		if (!value)
			return fail(cx, E_INVALID,
				"--env %.*s: there is no such variable here; give its name, and its value in "
				"the "
				"environment",
				STR_ARG(shown_line(cx->arena, g->value)));
		TRY(line_variable(cx, l, g->value, str_of(value)));
	}
	return OK;
}

static status
read_network(struct ctx *cx, const struct cli_call *call, struct line *l)
{
	bool yes = cli_given(call, "allow-network", NULL), no = cli_given(call, "no-network", NULL);

	if (yes && no)
		return fail(cx, E_INVALID, "--allow-network and --no-network: which of them?");
	l->fetches = name_fetches(l->argv[0]);
	l->network = yes || (l->fetches && !no);
	return OK;
}

status
line_read(struct ctx *cx, const struct cli_call *call, size_t first, str name, struct line *out)
{
	size_t argc = call->argument_count > first ? call->argument_count - first : 0;
	str *argv = arena_alloc(cx->arena, (argc + 1) * sizeof(*argv));

	if (!argc || !call->arguments[first].len)
		return fail(cx, E_INVALID,
			"which program? It comes last, after two dashes: -- npx -y some-server /a/folder");
	if (argc > LIMIT_SOURCE_WORDS)
		return fail(cx, E_INVALID, "a program has at most %u words", LIMIT_SOURCE_WORDS);
	memcpy(argv, call->arguments + first, argc * sizeof(*argv));
	*out = (struct line){ .argv = argv, .argc = argc, .named = name.len > 0 };
	TRY(find_program(cx, argv[0], &argv[0]));
	TRY(read_network(cx, call, out));
	TRY(read_paths(cx, call, "read", false, out)); /* before what is granted by itself: it may be less */
	TRY(read_paths(cx, call, "write", true, out));
	TRY(read_variables(cx, call, out));
	TRY(grant_program(cx, out));
	for (size_t i = 1; i < argc; i++)
		TRY(read_argument(cx, out, &argv[i]));
	out->name = name.len ? name : name_of(cx->arena, argv, argc, LINE_NAME_MOST);
	return OK;
}

/* --- for the server --- */

static void
write_program(const struct line *l, struct json_out *o)
{
	json_out_object(o, "program");
	json_out_array(o, "argv");
	for (size_t i = 0; i < l->argc; i++)
		json_out_str(o, NULL, l->argv[i]);
	json_out_end(o);
	json_out_array(o, "paths");
	for (size_t i = 0; i < l->grant_count; i++) {
		json_out_object(o, NULL);
		json_out_str(o, "path", l->grants[i].path);
		json_out_bool(o, "writable", l->grants[i].writable);
		json_out_end(o);
	}
	json_out_end(o);
	json_out_bool(o, "network", l->network);
	json_out_end(o);
}

status
line_body(struct ctx *cx, const struct line *l, str name, str *out)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_BODY);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "name", name);
	json_out_str(&o, "kind", STR("stdio"));
	write_program(l, &o);
	json_out_object(&o, "env");
	for (size_t i = 0; i < l->variable_count; i++) {
		json_out_key(&o, l->variables[i].name);
		json_out_str(&o, NULL, l->variables[i].value);
	}
	json_out_end(&o);
	json_out_end(&o);
	return buf_finish(&b, out);
}

/* --- for people --- */

static void
tell_paths(struct ctx *cx, const struct line *l, const char *label, bool writable, str first, struct buf *b)
{
	struct buf text;

	buf_init(&text, cx->arena, LIMIT_ERROR_MESSAGE);
	buf_add(&text, first);
	for (size_t i = 0; i < l->grant_count; i++)
		if (l->grants[i].writable == writable)
			buf_printf(&text, "%s%.*s", text.len ? ", " : "",
				STR_ARG(shown_line(cx->arena, l->grants[i].path)));
	shown_whole(b, label, text.len ? buf_str(&text) : STR("nothing"));
}

static str
words_of(struct ctx *cx, const struct line *l)
{
	struct buf text;

	buf_init(&text, cx->arena, LIMIT_ERROR_MESSAGE);
	for (size_t i = 0; i < l->argc; i++)
		buf_printf(&text, "%s%.*s", i ? " " : "", STR_ARG(shown_line(cx->arena, l->argv[i])));
	return buf_str(&text);
}

static str
names_of(struct ctx *cx, const struct line *l)
{
	struct buf text;

	buf_init(&text, cx->arena, LIMIT_ERROR_MESSAGE);
	buf_add(&text, STR("PATH, HOME, LANG"));
	for (size_t i = 0; i < l->variable_count; i++)
		if (!str_eq(l->variables[i].name, STR("PATH")) && !str_eq(l->variables[i].name, STR("HOME")))
			buf_printf(&text, ", %.*s", STR_ARG(shown_line(cx->arena, l->variables[i].name)));
	return buf_str(&text);
}

void
line_tell(struct ctx *cx, const struct line *l, bool confined, struct buf *b)
{
	shown_whole(b, "Program", words_of(cx, l));
	shown_field(b, "Variables", names_of(cx, l));
	if (!confined) {
		shown_field(b, "Sandbox", STR("NONE: it may do whatever you may"));
		return;
	}
	shown_field(b, "Sandbox",
		STR("bubblewrap: a user of its own without rights, no other process to be seen"));
	tell_paths(cx, l, "May read", false, STR("the system's programs"), b);
	tell_paths(cx, l, "May write", true, STR(""), b);
	shown_whole(b, "Network",
		!l->network  ? STR("none")
		: l->fetches ? STR("whatever this machine reaches, because it fetches what it runs; "
				   "install that and name its program to do without")
			     : STR("whatever this machine reaches"));
}
