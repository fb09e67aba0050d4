/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/sandbox/trial.h"

#include "base/scoped.h"
#include "exec/sandbox/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

__attribute__((noreturn)) static void
become(const char *filter, const char *folder, int words)
{
	const char *const argv[] = { SANDBOX_PROGRAM, "--unshare-user", "--disable-userns", "--unshare-pid",
		"--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-cgroup-try",
		"--die-with-parent", "--cap-drop", "ALL", "--seccomp", filter, "--ro-bind", "/", "/",
		"--ro-bind-fd", folder, "/usr", "--proc", "/proc", "--dev", "/dev", "--", "/bin/true", NULL };

	(void)dup2(words, STDERR_FILENO);
	(void)execv(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* Its first line of complaint. */
static str
listen_to(struct ctx *cx, int fd)
{
	char text[400];
	str line, rest;
	ssize_t n = read(fd, text, sizeof(text));

	line = (str){ text, n > 0 ? (size_t)n : 0 };
	if (!str_cut(line, '\n', &line, &rest))
		rest = line;
	return line.len ? arena_str(cx->arena, line) : STR("it ended without a word");
}

static bool
run(struct ctx *cx, int filter, int folder, str *out_why)
{
	const char *numbers[] = { arena_printf(cx->arena, "%d", filter).ptr,
		arena_printf(cx->arena, "%d", folder).ptr };
	int words[2], how = 0;
	pid_t pid;

	if (pipe2(words, O_CLOEXEC) != 0 || fcntl(filter, F_SETFD, 0) != 0 ||
		fcntl(folder, F_SETFD, 0) != 0) {
		*out_why = STR("no pipe can be made");
		return false;
	}
	pid = fork();
	if (pid == 0)
		become(numbers[0], numbers[1], words[1]);
	(void)close(words[1]);
	*out_why = listen_to(cx, words[0]);
	(void)close(words[0]);
	while (pid > 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

bool
sandbox_try(struct ctx *cx, str *out_why)
{
	scoped_fd filter = -1, folder = open("/usr", O_PATH | O_CLOEXEC);

	if (access(SANDBOX_PROGRAM, X_OK) != 0) {
		*out_why = STR("install the package bubblewrap (" SANDBOX_PROGRAM ")");
		return false;
	}
	if (filter_open(cx, &filter) != OK) {
		*out_why = ctx_message(cx, cx->error.code);
		ctx_clear(cx);
		return false;
	}
	return run(cx, filter, folder, out_why);
}
