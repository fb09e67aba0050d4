/* SPDX-License-Identifier: Apache-2.0 */
/* Which paths a program may be shown (EX-3). */
#include "tests/unit/tempdir.h"
#include "tests/unit/unit.h"

#include "exec/mcp/sandbox.h"
#include "exec/sandbox/filter.h"
#include "exec/sandbox/walls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * DIR/ours/keys  DIR/ours/homes/one  DIR/files/out  DIR/files/link -> DIR/ours  DIR/program
 */
struct scene {
	struct tempdir dir;
	struct unit *u;
	struct walls walls;
	struct walls_path listed[4];
	str secrets[3];
};

static str
at(struct scene *s, const char *name)
{
	return arena_printf(&s->u->arena, "%s/%s", s->dir.path, name);
}

static void
make_file(str path)
{
	int fd = open(path.ptr, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	(void)close(fd);
}

static void
begin(struct scene *s, struct unit *u)
{
	static const char *const folders[] = { "ours", "ours/homes", "ours/homes/one", "files", "files/out" };

	*s = (struct scene){ .u = u, .dir = { "/tmp/countersign-walls.XXXXXX" } };
	assert_non_null(mkdtemp(s->dir.path));
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		assert_int_equal(mkdir(at(s, folders[i]).ptr, 0700), 0);
	make_file(at(s, "ours/keys"));
	make_file(at(s, "program"));
	assert_int_equal(symlink(at(s, "ours").ptr, at(s, "files/link").ptr), 0);
	s->secrets[0] = at(s, "ours");
	s->secrets[1] = at(s, "program");
	s->secrets[2] = at(s, "later/keys-checkpoints");
	s->listed[0] = (struct walls_path){ at(s, "files"), false };
	s->listed[1] = (struct walls_path){ at(s, "files/out"), true };
	s->walls = (struct walls){ .listed = s->listed,
		.listed_count = 2,
		.data = s->secrets[0],
		.homes = at(s, "ours/homes"),
		.program = s->secrets[1],
		.secrets = s->secrets,
		.secret_count = 3 };
}

static void
end(struct scene *s)
{
	tempdir_done(&s->dir);
}

static status
may(struct scene *s, str path, bool writable)
{
	status done = walls_check(&s->u->cx, &s->walls, path, writable);

	ctx_clear(&s->u->cx);
	return done;
}

static void
only_what_is_listed_is_shown_and_written_where_it_says_so(void **state)
{
	struct scene s;
	UNIT(u);

	(void)state;
	begin(&s, &u);
	assert_status(may(&s, at(&s, "files"), false), OK);
	assert_status(may(&s, at(&s, "files"), true), E_FORBIDDEN);
	assert_status(may(&s, at(&s, "files/out"), true), OK);
	assert_status(may(&s, at(&s, "files/none"), false), E_INVALID);
	assert_status(may(&s, at(&s, "filesystem"), false), E_FORBIDDEN);
	assert_status(may(&s, STR("/etc/passwd"), false), E_FORBIDDEN);
	assert_status(may(&s, STR("/usr/bin"), false), OK); /* every sandbox has it */
	assert_status(may(&s, STR("/usr/bin"), true), E_FORBIDDEN);
	assert_status(may(&s, STR("relative"), false), E_INVALID);
	assert_status(may(&s, at(&s, "files/../ours"), false), E_INVALID);
	assert_status(may(&s, STR("/usr\0/x"), false), E_INVALID);
	end(&s);
}

static void
nothing_of_ours_is_shown_whatever_is_listed(void **state)
{
	static const char *const ours[] = { "ours", "ours/keys", "ours/homes", "files/link",
		"files/link/keys", "program", "" };
	struct scene s;
	UNIT(u);

	(void)state;
	begin(&s, &u);
	s.listed[0] = (struct walls_path){ STR("/"), true };
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		assert_status(may(&s, at(&s, ours[i]), false), E_FORBIDDEN);
	assert_status(may(&s, STR("/tmp"), false), E_FORBIDDEN); /* the folder it all lies in */
	assert_status(may(&s, at(&s, "ours/homes/one"), true), OK);
	assert_int_equal(mkdir(at(&s, "later").ptr, 0700), 0);
	assert_status(may(&s, at(&s, "later"), false), E_FORBIDDEN); /* it will hold something of ours */
	end(&s);
}

static void
what_belongs_to_the_kernel_is_not_shown(void **state)
{
	static const str places[] = { STR("/"), STR("/proc"), STR("/proc/self/root"), STR("/proc/self/cwd"),
		STR("/sys"), STR("/sys/fs/cgroup"), STR("/dev") };
	struct scene s;
	UNIT(u);

	(void)state;
	begin(&s, &u);
	s.listed[0] = (struct walls_path){ STR("/"), true };
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		assert_status(may(&s, places[i], false), E_FORBIDDEN);
	end(&s);
}

/* What was opened is what is bound, whatever its name leads to by then. */
static void
a_link_that_is_exchanged_after_the_look_changes_nothing(void **state)
{
	struct stat opened, meant;
	struct scene s;
	str name;
	int fd;
	UNIT(u);

	(void)state;
	begin(&s, &u);
	name = at(&s, "files/swapped");
	assert_int_equal(symlink(at(&s, "files/out").ptr, name.ptr), 0);
	assert_status(walls_open(&u.cx, &s.walls, name, true, &fd), OK);
	assert_int_equal(unlink(name.ptr), 0);
	assert_int_equal(symlink(at(&s, "ours").ptr, name.ptr), 0);
	assert_int_equal(fstat(fd, &opened), 0);
	assert_int_equal(stat(at(&s, "files/out").ptr, &meant), 0);
	assert_true(opened.st_ino == meant.st_ino && opened.st_dev == meant.st_dev);
	(void)close(fd);
	assert_status(may(&s, name, false), E_FORBIDDEN);
	end(&s);
}

/* A program that may write a listed folder makes a link of another listed one: the list is as it was read. */
static void
a_listed_folder_that_becomes_a_link_lists_nothing(void **state)
{
	struct scene s;
	UNIT(u);

	(void)state;
	begin(&s, &u);
	assert_int_equal(mkdir(at(&s, "elsewhere").ptr, 0700), 0);
	assert_int_equal(rmdir(at(&s, "files/out").ptr), 0);
	assert_int_equal(symlink(at(&s, "elsewhere").ptr, at(&s, "files/out").ptr), 0);
	assert_status(may(&s, at(&s, "files/out"), true), E_FORBIDDEN);
	assert_status(may(&s, at(&s, "files/out"), false), E_FORBIDDEN);
	end(&s);
}

static void
a_file_lists_more_and_lines_that_are_none_list_nothing(void **state)
{
	struct scene s;
	FILE *f;
	UNIT(u);

	(void)state;
	begin(&s, &u);
	s.walls.list_file = at(&s, "ours/wrap.paths").ptr;
	assert_status(may(&s, STR("/var"), false), E_FORBIDDEN);
	f = fopen(s.walls.list_file, "we");
	assert_non_null(f);
	assert_true(fprintf(f, "/var\nrx /var\nro\nro var\n\nro /var/log\nrw /etc/ssl") > 0);
	assert_int_equal(fclose(f), 0);
	assert_status(may(&s, STR("/var"), false), E_FORBIDDEN);
	assert_status(may(&s, STR("/var/log"), false), OK);
	assert_status(may(&s, STR("/var/log"), true), E_FORBIDDEN);
	assert_status(may(&s, STR("/etc/ssl/certs"), true), OK);
	end(&s);
}

static void
a_list_is_absolute_paths_some_of_them_to_be_written(void **state)
{
	static const char *const wrong[] = { "x", "/a,b", "/a,,/b", ":rw", "/a/../b", "/1,/2,/3,/4,/5" };
	struct walls_path listed[4];
	size_t count;

	(void)state;
	assert_true(walls_read_list(STR("/srv/files,/srv/letters/:rw,/"), listed, 4, &count));
	assert_int_equal(count, 3);
	assert_str(listed[0].path, "/srv/files");
	assert_str(listed[1].path, "/srv/letters");
	assert_true(!listed[0].writable && listed[1].writable);
	assert_true(walls_read_list(STR(""), listed, 4, &count) && count == 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(walls_read_list(str_of(wrong[i]), listed, 4, &count));
}

static bool
says(const struct sandbox_plan *plan, const char *word, const char *next)
{
	for (size_t i = 0; plan->argv[i]; i++)
		if (strcmp(plan->argv[i], word) == 0 && plan->argv[i + 1] &&
			(!next || strcmp(plan->argv[i + 1], next) == 0))
			return true;
	return false;
}

static void
a_plan_has_a_filter_and_masks_what_the_system_would_show(void **state)
{
	static const str argv[] = { STR("/bin/x") };
	struct mcp_program p = { .argv = argv, .argc = 1 };
	struct sandbox_plan plan;
	struct scene s;
	UNIT(u);

	(void)state;
	begin(&s, &u);
	s.secrets[0] = STR("/usr/share");    /* as if our data were there */
	s.secrets[2] = STR("/usr/bin/true"); /* or a key */
	p.walls = &s.walls;
	assert_status(sandbox_plan(&u.cx, &p, &plan), OK);
	assert_true(says(&plan, "--seccomp", NULL) && says(&plan, "--disable-userns", NULL));
	assert_true(says(&plan, "--tmpfs", "/usr/share"));
	assert_true(says(&plan, "/dev/null", walls_real(&u.arena, STR("/usr/bin/true")).ptr));
	assert_false(says(&plan, "/dev/null", s.secrets[1].ptr));
	sandbox_plan_done(&plan);
	end(&s);
}

/* In a child, under the filter: 0 where the socket is made, else the error. */
static int
socket_error(const struct sock_filter *code, size_t count, int family, int type, int protocol)
{
	struct sock_fprog program = { .len = (unsigned short)count,
		.filter = (struct sock_filter *)(uintptr_t)code };
	pid_t pid = fork();
	int how = 0;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
			_exit(255);
		_exit(socket(family, type, protocol) >= 0 ? 0 : errno);
	}
	assert_int_equal(waitpid(pid, &how, 0), pid);
	assert_true(WIFEXITED(how));
	return WEXITSTATUS(how);
}

static void
a_program_has_sockets_of_the_usual_families_and_no_others(void **state)
{
	struct sock_filter code[4096];
	UNIT(u);
	ssize_t n;
	int fd;

	(void)state;
	assert_status(filter_open(&u.cx, &fd), OK);
	n = read(fd, code, sizeof(code));
	assert_true(n > 0 && (size_t)n < sizeof(code));
	(void)close(fd);
	n /= (ssize_t)sizeof(code[0]);
	assert_int_equal(socket_error(code, (size_t)n, AF_UNIX, SOCK_STREAM, 0), 0);
	assert_int_equal(socket_error(code, (size_t)n, AF_INET, SOCK_STREAM, 0), 0);
	assert_int_equal(socket_error(code, (size_t)n, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), 0);
	for (int protocol = 1; protocol < MAX_LINKS; protocol++)
		assert_int_equal(socket_error(code, (size_t)n, AF_NETLINK, SOCK_RAW, protocol), EAFNOSUPPORT);
	assert_int_equal(socket_error(code, (size_t)n, AF_PACKET, SOCK_RAW, 0), EAFNOSUPPORT);
	assert_int_equal(socket_error(code, (size_t)n, AF_VSOCK, SOCK_STREAM, 0), EAFNOSUPPORT);
	assert_int_equal(socket_error(code, (size_t)n, AF_ALG, SOCK_SEQPACKET, 0), EAFNOSUPPORT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_listed_is_shown_and_written_where_it_says_so),
		cmocka_unit_test(nothing_of_ours_is_shown_whatever_is_listed),
		cmocka_unit_test(what_belongs_to_the_kernel_is_not_shown),
		cmocka_unit_test(a_link_that_is_exchanged_after_the_look_changes_nothing),
		cmocka_unit_test(a_listed_folder_that_becomes_a_link_lists_nothing),
		cmocka_unit_test(a_file_lists_more_and_lines_that_are_none_list_nothing),
		cmocka_unit_test(a_list_is_absolute_paths_some_of_them_to_be_written),
		cmocka_unit_test(a_plan_has_a_filter_and_masks_what_the_system_would_show),
		cmocka_unit_test(a_program_has_sockets_of_the_usual_families_and_no_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
