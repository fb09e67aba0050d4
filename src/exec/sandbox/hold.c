/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/sandbox/hold.h"

#include "base/limits.h"
#include "base/str.h"
#include "exec/sandbox/group.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN_WORDS 6 /* before the program's */
#define WORDS_MAX 1024
#define INFO_MAX  1024
#define AGAIN_MS  10
#define CHILD_PID "\"child-pid\":"

struct holder {
	int life, failed, children; /* the last: SIGCHLD as a descriptor */
	bool confined;
	const char *directory;
	char **variables;
	char **program, *words[WORDS_MAX]; /* as we got it; as it is started */
	char info[16], go[16];
	pid_t pid;
	int how; /* it has ended */
	bool ended;
	struct group group;
};

__attribute__((noreturn)) static void
give_up(const char *why)
{
	(void)fprintf(stderr, "sandbox: %s: %s\n", why, strerror(errno));
	_exit(126);
}

/* --- the program --- */

static void
limit(int what, rlim_t most)
{
	struct rlimit r = { most, most }, now;

	if (getrlimit((__rlimit_resource_t)what, &now) == 0 && now.rlim_max != RLIM_INFINITY &&
		now.rlim_max < most)
		return;
	(void)setrlimit((__rlimit_resource_t)what, &r);
}

/* bwrap says which process is the first inside, and waits with the program until we have limited that one. */
struct talk {
	int info[2], go[2];
};

static void
write_words(struct holder *h, const struct talk *t)
{
	size_t n = 0, i = 0;

	h->words[n++] = h->program[i++];
	if (h->confined) {
		(void)snprintf(h->info, sizeof(h->info), "%d", t->info[1]);
		(void)snprintf(h->go, sizeof(h->go), "%d", t->go[0]);
		h->words[n++] = (char *)(uintptr_t) "--info-fd";
		h->words[n++] = h->info;
		h->words[n++] = (char *)(uintptr_t) "--block-fd";
		h->words[n++] = h->go;
	}
	while (h->program[i] && n < WORDS_MAX - 1)
		h->words[n++] = h->program[i++];
	h->words[n] = NULL;
}

__attribute__((noreturn)) static void
become(const struct holder *h, const struct talk *t, pid_t parent)
{
	sigset_t none;
	int error;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should we be killed ourselves */
	if (getppid() != parent)
		_exit(1);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_NOFILE, LIMIT_UPSTREAM_FILES);
	limit(RLIMIT_FSIZE, LIMIT_UPSTREAM_FILE_BYTES);
	limit(RLIMIT_DATA, LIMIT_UPSTREAM_MEMORY);
	if (h->confined) {
		(void)close(t->info[0]);
		(void)close(t->go[1]);
	}
	if (!group_enter(&h->group))
		give_up("the program cannot be put into its control group");
	/* Not execve(): builds that count coverage write their counters in it, for which the limit leaves no memory. */
	if (!h->directory[0] || chdir(h->directory) == 0)
		(void)syscall(SYS_execve, h->words[0], h->words, h->variables);
	error = errno;
	(void)!write(h->failed, &error, sizeof(error));
	_exit(127);
}

/* {"child-pid": 123, ...}; 0: bwrap has ended before, or the server has. */
static pid_t
first_inside(const struct holder *h, int fd)
{
	struct pollfd p[2] = { { fd, POLLIN, 0 }, { h->life, POLLIN, 0 } };
	char text[INFO_MAX + 1], *at;
	size_t len = 0;
	int64_t pid;
	ssize_t n = 1;

	while (n > 0 && len < INFO_MAX) {
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents)
			return 0;
		n = read(fd, text + len, INFO_MAX - len);
		len += n > 0 ? (size_t)n : 0;
	}
	text[len] = '\0';
	at = strstr(text, CHILD_PID);
	if (!at)
		return 0;
	at += strlen(CHILD_PID);
	at += strspn(at, " ");
	return str_to_int((str){ at, strspn(at, "0123456789") }, &pid) ? (pid_t)pid : 0;
}

/*
 * The limit on processes is set inside: set before, it would count all processes of our user. It does not hold for
 * root, who needs a control group.
 */
static bool
limit_inside(const struct holder *h, const struct talk *t)
{
	struct rlimit most = { LIMIT_SANDBOX_PROCESSES, LIMIT_SANDBOX_PROCESSES };
	pid_t inside = first_inside(h, t->info[0]);

	if (inside <= 0) /* bwrap has said why, or will; or it ends with the server, while it waits */
		return true;
	if (prlimit(inside, RLIMIT_NPROC, &most, NULL) != 0 && !h->group.processes)
		return false;
	return write(t->go[1], "", 1) == 1;
}

/* --- its end --- */

static void
reap(struct holder *h)
{
	pid_t pid;
	int how;

	while ((pid = waitpid(-1, &how, WNOHANG)) > 0)
		if (pid == h->pid) {
			h->how = how;
			h->ended = true;
		}
}

static bool
has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* "123 456 ", all in one line. */
static void
kill_children(void)
{
	FILE *f = fopen("/proc/thread-self/children", "re");
	char *line = NULL;
	str one, rest;
	size_t room = 0;
	int64_t pid;
	ssize_t n = f ? getline(&line, &room, f) : 0;

	rest = (str){ line, n > 0 ? (size_t)n : 0 };
	while (str_cut(rest, ' ', &one, &rest))
		if (str_to_int(one, &pid) && pid > 0)
			(void)kill((pid_t)pid, SIGKILL);
	free(line);
	if (f)
		(void)fclose(f);
}

/* Whose parent dies becomes our child, and is killed in the next round. */
static void
end_all(struct holder *h)
{
	while (has_children()) {
		if (!h->ended)
			(void)kill(h->pid, SIGKILL);
		kill_children();
		reap(h);
		if (has_children())
			(void)poll(NULL, 0, AGAIN_MS);
	}
}

/* Until the server ends, or wants the end; or the program has ended and nothing of it is left. */
static void
watch(struct holder *h)
{
	struct pollfd p[2] = { { h->life, POLLIN, 0 }, { h->children, POLLIN, 0 } };

	while (has_children() && !(h->confined && h->ended)) {
		struct signalfd_siginfo one;

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents && read(h->children, &one, sizeof(one)) > 0)
			reap(h);
		if (p[0].revents)
			return;
	}
}

/* --- all of it --- */

/* The file's bytes, and where each variable of them begins; never freed: it is for the one exec. */
static char **
read_variables(int fd)
{
	size_t len, n = 0;
	struct stat st;
	char **all, *text;

	if (fstat(fd, &st) != 0 || st.st_size < 0)
		give_up("there is no environment");
	len = (size_t)st.st_size;
	text = malloc(len + 1);
	all = malloc((len + 1) * sizeof(*all)); /* each has a byte, its end */
	if (!text || !all || pread(fd, text, len, 0) != st.st_size)
		give_up("the environment cannot be read");
	text[len] = '\0';
	for (size_t i = 0; i < len; i += strlen(text + i) + 1)
		all[n++] = text + i;
	all[n] = NULL;
	(void)close(fd);
	return all;
}

static void
set_up(struct holder *h)
{
	sigset_t ended;

	(void)sigemptyset(&ended);
	(void)sigaddset(&ended, SIGCHLD);
	h->children = -1;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || sigprocmask(SIG_BLOCK, &ended, NULL) != 0 ||
		(h->children = signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK)) < 0 ||
		fcntl(h->life, F_SETFD, FD_CLOEXEC) != 0 || fcntl(h->failed, F_SETFD, FD_CLOEXEC) != 0)
		give_up("the program cannot be watched");
	(void)prctl(PR_SET_PDEATHSIG, 0); /* from here on the pipe says it */
	if (h->confined)
		group_make(&h->group, LIMIT_SANDBOX_MEMORY, LIMIT_SANDBOX_PROCESSES);
}

/* The program's end of its pipes is the program's alone: that it closes its output is seen. */
static void
let_go(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		give_up("the pipes of the program cannot be let go");
	(void)close(null);
}

static void
start(struct holder *h)
{
	struct talk t = { { -1, -1 }, { -1, -1 } };
	pid_t self = getpid();

	if (h->confined && (pipe(t.info) != 0 || pipe(t.go) != 0)) /* inherited, so without O_CLOEXEC */
		give_up("no pipe can be made");
	write_words(h, &t);
	h->pid = fork();
	if (h->pid == 0)
		become(h, &t, self);
	if (h->pid < 0)
		give_up("no process can be made");
	(void)close(h->failed);
	let_go();
	if (!h->confined)
		return;
	(void)close(t.info[1]);
	(void)close(t.go[0]);
	if (!limit_inside(h, &t)) {
		(void)fprintf(
			stderr, "sandbox: the number of processes cannot be limited: %s\n", strerror(errno));
		end_all(h);
	}
	(void)close(t.info[0]);
	(void)close(t.go[1]);
}

__attribute__((noreturn)) static void
end_as(int how)
{
	if (WIFSIGNALED(how)) {
		(void)signal(WTERMSIG(how), SIG_DFL);
		(void)raise(WTERMSIG(how));
	}
	_exit(WIFEXITED(how) ? WEXITSTATUS(how) : 1);
}

static int
descriptor(const char *word)
{
	int64_t n = -1;

	return str_to_int(str_of(word), &n) && n <= INT_MAX ? (int)n : -1;
}

int
hold_run(char **argv)
{
	struct holder h = { .failed = -1 };

	for (int i = 0; i <= OWN_WORDS; i++)
		if (!argv[i])
			return 2;
	h.life = descriptor(argv[1]);
	h.failed = descriptor(argv[2]);
	h.variables = read_variables(descriptor(argv[3]));
	h.confined = strcmp(argv[4], "confined") == 0;
	h.directory = argv[5];
	h.program = argv + OWN_WORDS;
	set_up(&h);
	start(&h);
	watch(&h);
	end_all(&h);
	group_remove(&h.group);
	end_as(h.how);
}

int
hold_wanted(char **argv)
{
	return argv[0] && strcmp(argv[0], HOLD_NAME) == 0;
}
