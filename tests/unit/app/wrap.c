/* SPDX-License-Identifier: Apache-2.0 */
/* What a program is called, and what its line is granted. */
#include "tests/unit/unit.h"

#include "app/wrap/line.h"
#include "app/wrap/name.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS 8

static size_t
split(const char *text, str *out)
{
	str rest = str_of(text), word;
	size_t n = 0;

	while (str_cut(rest, ' ', &word, &rest))
		out[n++] = word;
	out[n++] = rest;
	return n;
}

static void
a_program_is_called_after_what_it_runs(void **state)
{
	static const struct {
		const char *line, *name;
	} all[] = {
		{ "npx -y @modelcontextprotocol/server-filesystem /srv", "server-filesystem" },
		{ "/usr/bin/npx @scope/pkg@1.2.3", "pkg" },
		{ "npx Some_Server@latest", "some-server" },
		{ "uvx mcp-server-git --repository /srv", "mcp-server-git" },
		{ "/usr/bin/uv tool run thing", "thing" },
		{ "npm exec -- thing", "thing" },
		{ "python3.11 -m mcp_server_time", "mcp-server-time" },
		{ "/usr/bin/node /srv/server-x/dist/index.js stdio", "server-x" },
		{ "/usr/bin/node /srv/weather.js", "weather" },
		{ "/usr/bin/node /index.js", "index" },
		{ "/opt/bin/github-mcp-server stdio", "github-mcp-server" },
		{ "node --version", "node" },
		{ "/opt/---", "server" },
		{ "/opt/.hidden", "hidden" },
		{ "/opt/a-very-long-name-that-goes-on-and-on-and-on", "a-very-long-name-that-goes-on" },
	};
	str words[WORDS];
	UNIT(u);

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_str(
			name_of(u.cx.arena, words, split(all[i].line, words), LINE_NAME_MOST), all[i].name);
}

static void
folders_and_names_are_told_apart(void **state)
{
	(void)state;
	assert_str(name_base(STR("/a/b/")), "b");
	assert_str(name_base(STR("b")), "b");
	assert_str(name_folder(STR("/a/b")), "/a");
	assert_str(name_folder(STR("/a")), "/");
	assert_str(name_folder(STR("a")), "");
	assert_true(name_fetches(STR("/usr/bin/npx")));
	assert_false(name_fetches(STR("/usr/bin/node")));
}

/* --- grants --- */

static void
a_folder_comes_before_what_is_in_it(void **state)
{
	struct line l = { 0 };
	UNIT(u);

	(void)state;
	assert_status(line_grant(&u.cx, &l, STR("/srv/a/b"), false), OK);
	assert_status(line_grant(&u.cx, &l, STR("/srv/a"), true), OK);
	assert_status(line_grant(&u.cx, &l, STR("/srv/a/c"), true), OK); /* has it already */
	assert_status(line_grant(&u.cx, &l, STR("/srv/a"), false), OK);	 /* the first word counts */
	assert_status(line_grant(&u.cx, &l, STR("/usr/share"), false), OK);
	assert_int_equal(l.grant_count, 2);
	assert_str(l.grants[0].path, "/srv/a");
	assert_true(l.grants[0].writable);
	assert_str(l.grants[1].path, "/srv/a/b");
	assert_false(l.grants[1].writable);
}

static void
grants_and_variables_have_an_end(void **state)
{
	struct line l = { 0 };
	UNIT(u);

	(void)state;
	for (unsigned i = 0; i < LIMIT_SOURCE_WORDS; i++) {
		assert_status(line_grant(&u.cx, &l, arena_printf(u.cx.arena, "/srv/%u", i), true), OK);
		assert_status(line_variable(&u.cx, &l, STR("A"), STR("b")), OK);
	}
	assert_status(line_grant(&u.cx, &l, STR("/srv/more"), true), E_INVALID);
	assert_status(line_variable(&u.cx, &l, STR("A"), STR("b")), E_INVALID);
}

static void
what_is_in_one_another_is_found(void **state)
{
	struct line l = { 0 };
	UNIT(u);

	(void)state;
	assert_status(line_grant(&u.cx, &l, STR("/"), true), OK);
	assert_non_null(line_touches(&u.cx, &l, STR("/tmp")));
	l = (struct line){ 0 };
	assert_status(line_grant(&u.cx, &l, STR("/proc/self/fd"), false), OK);
	assert_null(line_touches(&u.cx, &l, STR("/tmp")));
	assert_null(line_touches(&u.cx, &l, STR("/nowhere/at/all")));
	assert_status(line_grant(&u.cx, &l, STR("/tmp/../tmp/."), false), OK);
	assert_non_null(line_touches(&u.cx, &l, STR("/tmp")));
}

/* --- a line --- */

struct scene {
	struct unit *u;
	char dir[64];
	str words[WORDS];
	struct cli_call call;
};

static void
make_file(const struct scene *s, const char *name, mode_t mode)
{
	const char *path = arena_printf(s->u->cx.arena, "%s/%s", s->dir, name).ptr;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	(void)close(fd);
}

static void
make_dir(const struct scene *s, const char *name)
{
	assert_int_equal(mkdir(arena_printf(s->u->cx.arena, "%s/%s", s->dir, name).ptr, 0700), 0);
}

static void
begin(struct scene *s, struct unit *u)
{
	*s = (struct scene){ .u = u, .dir = "/tmp/countersign-line.XXXXXX" };
	assert_non_null(mkdtemp(s->dir));
}

static int
drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void
end(const struct scene *s)
{
	assert_int_equal(nftw(s->dir, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static str
in(const struct scene *s, const char *name)
{
	return arena_printf(s->u->cx.arena, "%s/%s", s->dir, name);
}

static status
read_line(struct scene *s, const char *line, struct line *out)
{
	s->call.arguments = s->words;
	s->call.argument_count = split(line, s->words);
	return line_read(&s->u->cx, &s->call, 0, (str){ 0 }, out);
}

static bool
has(const struct line *l, str path, bool writable)
{
	for (size_t i = 0; i < l->grant_count; i++)
		if (str_eq(l->grants[i].path, path))
			return l->grants[i].writable == writable;
	return false;
}

static void
what_the_line_names_is_granted(void **state)
{
	struct scene s;
	struct line l;
	UNIT(u);

	(void)state;
	begin(&s, &u);
	make_dir(&s, "opt");
	make_dir(&s, "opt/bin");
	make_dir(&s, "opt/lib");
	make_file(&s, "opt/bin/serve", 0700);
	make_dir(&s, "project");
	make_dir(&s, "project/src");
	make_file(&s, "project/package.json", 0600);
	make_file(&s, "project/src/index.js", 0600);
	make_dir(&s, "letters");
	make_file(&s, "note.txt", 0600);
	assert_status(read_line(&s,
			      arena_printf(u.cx.arena,
				      "%s/opt/bin/serve %s/project/src/index.js --dir=%s/letters "
				      "%s/note.txt /no/such/thing -v plain",
				      s.dir, s.dir, s.dir, s.dir)
				      .ptr,
			      &l),
		OK);
	assert_true(has(&l, in(&s, "opt/bin"), false));
	assert_true(has(&l, in(&s, "opt/lib"), false));
	assert_true(has(&l, in(&s, "project"), false));
	assert_true(has(&l, in(&s, "letters"), true));
	assert_true(has(&l, in(&s, "note.txt"), false));
	assert_int_equal(l.grant_count, 5);
	assert_int_equal(l.variable_count, 1);
	assert_str(l.variables[0].name, "PATH");
	assert_true(str_starts(l.variables[0].value, in(&s, "opt/bin")));
	assert_false(l.network);
	assert_str(l.name, "serve");
	end(&s);
}

static void
a_package_runner_reaches_the_network(void **state)
{
	struct scene s;
	struct line l;
	UNIT(u);

	(void)state;
	begin(&s, &u);
	make_file(&s, "npx", 0700);
	assert_status(read_line(&s, arena_printf(u.cx.arena, "%s/npx thing", s.dir).ptr, &l), OK);
	assert_true(l.network && l.fetches);
	assert_str(l.name, "thing");
	assert_true(has(&l, in(&s, "npx"), false));
	end(&s);
}

static void
what_is_no_program_is_refused(void **state)
{
	struct scene s;
	struct line l;
	UNIT(u);

	(void)state;
	begin(&s, &u);
	make_file(&s, "text", 0600);
	assert_status(read_line(&s, "", &l), E_INVALID);
	assert_status(read_line(&s, "no-such-program-anywhere", &l), E_INVALID);
	assert_status(read_line(&s, arena_printf(u.cx.arena, "%s/none", s.dir).ptr, &l), E_INVALID);
	assert_status(read_line(&s, s.dir, &l), E_INVALID);
	if (access(in(&s, "text").ptr, X_OK) != 0)
		assert_status(read_line(&s, arena_printf(u.cx.arena, "%s/text", s.dir).ptr, &l), E_INVALID);
	end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_is_called_after_what_it_runs),
		cmocka_unit_test(folders_and_names_are_told_apart),
		cmocka_unit_test(a_folder_comes_before_what_is_in_it),
		cmocka_unit_test(grants_and_variables_have_an_end),
		cmocka_unit_test(what_is_in_one_another_is_found),
		cmocka_unit_test(what_the_line_names_is_granted),
		cmocka_unit_test(a_package_runner_reaches_the_network),
		cmocka_unit_test(what_is_no_program_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
