/* SPDX-License-Identifier: Apache-2.0 */
#include "app/wrap/place.h"

#include "app/store.h"
#include "base/check.h"
#include "base/scoped.h"
#include "db/db.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define USUAL_PORT    7700 /* where people look for the console */
#define DRAIN_SECONDS 5	   /* nobody is there any more when it stops */
#define TRY_MS	      20
#define TRIES	      50u /* a second: then people hear what is waited for */
#define ANOTHER	      "another wrap that starts the server, or sets itself up"

static status
refuse(struct ctx *cx, const char *path, const char *what)
{
	return fail(cx, E_UNAVAILABLE, "%s cannot be %s: %s", path, what, strerror(errno));
}

/* --- the directory --- */

static bool
is_given(const struct config *c, const char *name)
{
	for (size_t row = 0; row < setting_count; row++)
		if (strcmp(settings[row].flag.name, name) == 0)
			return c->source[row] != FROM_DEFAULT;
	return false;
}

/* A program that an MCP client starts is anywhere: ./data would be another one each time. */
static status
choose(struct ctx *cx, str *out)
{
	const char *home = getenv("HOME"), *data = getenv("XDG_DATA_HOME");

	if (is_given(&cx->app->config, "data"))
		*out = cx->app->config.data;
	else if (data && data[0] == '/')
		*out = arena_printf(cx->arena, "%s/countersign", data);
	else if (home && home[0] == '/')
		*out = arena_printf(cx->arena, "%s/.local/share/countersign", home);
	else
		return fail(cx, E_INVALID, "there is no home directory; say where the data is with --data");
	return OK;
}

/* With those above it. */
static status
make(struct ctx *cx, str path)
{
	for (size_t i = 1; i <= path.len; i++) {
		const char *part;

		if (i < path.len && path.ptr[i] != '/')
			continue;
		part = arena_cstr(cx->arena, (str){ path.ptr, i });
		if (mkdir(part, 0700) != 0 && errno != EEXIST)
			return refuse(cx, part, "made");
	}
	return OK;
}

/* Waits as long as it takes, but not in silence. what: for what, in words. */
static bool
take(struct ctx *cx, str dir, int fd, int how, const char *what)
{
	for (unsigned i = 0; i < TRIES; i++) {
		if (flock(fd, how | LOCK_NB) == 0)
			return true;
		if (errno != EWOULDBLOCK)
			return false;
		(void)poll(NULL, 0, TRY_MS);
	}
	address_say_waiting(cx, dir, what);
	return flock(fd, how) == 0;
}

static status
lock_file(struct ctx *cx, str dir, const char *name, int how, const char *what, int *out)
{
	const char *path = arena_printf(cx->arena, "%.*s/%s", STR_ARG(dir), name).ptr;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return refuse(cx, path, "opened");
	if (!take(cx, dir, fd, how, what)) {
		(void)close(fd);
		return refuse(cx, path, "locked");
	}
	*out = fd;
	return OK;
}

status
place_enter(struct ctx *cx, struct place *out)
{
	struct place p = { .hold = -1, .start = -1, .name = -1 };
	char room[PATH_MAX];
	str dir;
	status s;

	TRY(choose(cx, &dir));
	TRY(make(cx, dir));
	if (!realpath(arena_cstr(cx->arena, dir), room))
		return refuse(cx, arena_cstr(cx->arena, dir), "found");
	p.dir = arena_str(cx->arena, str_of(room));
	s = lock_file(cx, p.dir, "wrap.lock", LOCK_SH, "the server of earlier wraps to end", &p.hold);
	if (s == OK)
		s = lock_file(cx, p.dir, "wrap.start", LOCK_EX, ANOTHER, &p.start);
	if (s == OK)
		*out = p;
	else
		place_leave(&p);
	return s;
}

static void
let_go(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

void
place_ready(struct place *p)
{
	let_go(&p->start);
}

void
place_leave(struct place *p)
{
	let_go(&p->name);
	let_go(&p->start);
	let_go(&p->hold);
}

/* --- a server of our own --- */

static bool
is_free(uint16_t port)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	scoped_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int yes = 1;

	return fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
	       bind(fd, (const struct sockaddr *)&a, sizeof(a)) == 0;
}

/* Its settings: SQLite in the directory, at a loopback address, and all else as usual. */
static void
configure(struct config *c, const struct place *p, bool unconfined)
{
	str listen = is_given(c, "listen") ? c->listen
		     : is_free(USUAL_PORT) ? STR("127.0.0.1:7700")
					   : STR("127.0.0.1:0");
	str level = c->log_level;

	config_defaults(c);
	c->data = p->dir;
	c->listen = listen;
	c->log_level = level;
	c->stdio_upstreams = unconfined ? STR("unconfined") : STR("sandboxed");
	c->drain_seconds = DRAIN_SECONDS;
}

static status
prepare(struct ctx *cx, const struct place *p)
{
	int applied;
	status s;

	TRY(store_open(cx, true));
	s = db_migrate(cx, &applied);
	if (s == OK)
		s = db_prepare(cx);
	if (s == OK)
		s = store_keys(cx, STR(INSTALLATION_NAME));
	if (s == OK)
		s = tokens_prepare(cx, p->dir);
	store_close(cx);
	return s;
}

/* In the new process: apart from our terminal, our client and our locks. */
__attribute__((noreturn)) static void
become_server(struct ctx *cx, struct place *p, int told)
{
	const struct cli_call none = { 0 };
	const char *path = arena_printf(cx->arena, "%.*s/wrap.log", STR_ARG(p->dir)).ptr;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct buf b;
	status s;

	place_leave(p);
	CHECK(setsid() >= 0 && null >= 0);
	CHECK(dup2(null, STDIN_FILENO) >= 0 && dup2(told, STDOUT_FILENO) >= 0 &&
		dup2(log >= 0 ? log : null, STDERR_FILENO) >= 0);
	(void)close(told);
	s = lock_file(cx, p->dir, "wrap.lock", LOCK_UN, "", &cx->app->needed_fd);
	if (s == OK)
		s = run_serve(cx, &none);
	buf_init(&b, cx->arena, LIMIT_ERROR_MESSAGE);
	buf_add(&b, s == OK ? STR("") : ctx_message(cx, s));
	if (app_print(cx, &b) != OK) /* to who waits for the ready line */
		exit(1);
	exit(s == OK ? 0 : 1);
}

/* What it says until it is ready, or has ended. */
static str
listen_to(struct ctx *cx, int fd)
{
	struct buf b;
	ssize_t n = 1;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	while (n > 0 && !b.overflow) {
		char piece[1024];

		n = read(fd, piece, sizeof(piece));
		if (n > 0)
			buf_add(&b, (str){ piece, (size_t)n });
		if (memmem(b.ptr, b.len, "Countersign is ready at ", 24))
			break;
	}
	return buf_str(&b);
}

static status
start(struct ctx *cx, struct place *p)
{
	int ends[2];
	pid_t pid;
	str said;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return refuse(cx, "a pipe", "made");
	(void)waitpid(-1, NULL, WNOHANG); /* one that was ours and has ended */
	pid = fork();			  /* no thread of ours is alive here */
	if (pid == 0) {
		(void)close(ends[0]);
		become_server(cx, p, ends[1]);
	}
	(void)close(ends[1]);
	if (pid < 0) {
		(void)close(ends[0]);
		return refuse(cx, "a process", "made");
	}
	said = listen_to(cx, ends[0]);
	(void)close(ends[0]);
	if (memmem(said.ptr, said.len, "Countersign is ready at ", 24))
		return OK;
	(void)waitpid(pid, NULL, 0);
	return fail(cx, E_UNAVAILABLE, "no server could be started on %.*s: %.*s", STR_ARG(p->dir),
		STR_ARG(said.len ? said : STR("it ended; wrap.log there may say why")));
}

static status
serve(struct ctx *cx, struct place *p, bool unconfined)
{
	struct config ours = cx->app->config;
	bool found = false;
	status s;

	configure(&cx->app->config, p, unconfined);
	s = prepare(cx, p);
	if (s == OK)
		s = start(cx, p);
	cx->app->config = ours;
	TRY(s);
	TRY(address_find(cx, p->dir, &p->at, &found));
	return found ? OK : fail(cx, E_UNAVAILABLE, "the server on %.*s has ended", STR_ARG(p->dir));
}

/* How the server of somebody else starts programs is not ours to say; only to be told. */
static status
check_programs(struct ctx *cx, const struct place *p, bool unconfined)
{
	if (str_eq(p->at.programs, STR("off")))
		return fail(cx, E_CONFLICT,
			"the server that runs on %.*s was started without programs; start it with "
			"`countersign "
			"serve --data %.*s --stdio-upstreams sandboxed`, or stop it, and wrap starts one",
			STR_ARG(p->dir), STR_ARG(p->dir));
	if (str_eq(p->at.programs, STR("unconfined")) && !unconfined)
		return fail(cx, E_CONFLICT,
			"the server that runs on %.*s starts programs without a sandbox; give --unconfined "
			"if "
			"that is what you want, or another --data",
			STR_ARG(p->dir));
	return OK;
}

static void
say_again(struct ctx *cx, const struct place *p)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_ERROR_MESSAGE);
	buf_printf(&b, PROGRAM ": the server on %.*s has ended, and is started again\n", STR_ARG(p->dir));
	if (app_print_to(cx, STDERR_FILENO, &b) != OK)
		ctx_clear(cx); /* nobody reads it */
}

status
place_serve(struct ctx *cx, struct place *p, bool unconfined)
{
	struct tokens t;
	bool found;
	status s;

	TRY(address_find(cx, p->dir, &p->at, &found));
	if (!found && p->at.url.len)
		say_again(cx, p);
	if (!found)
		TRY(serve(cx, p, unconfined));
	s = tokens_load(cx, p->dir, &t);
	if (s == E_NOT_FOUND)
		return fail(cx, E_CONFLICT,
			"%.*s was set up without wrap, so there is no token in it: give wrap an agent's "
			"token in "
			"COUNTERSIGN_TOKEN and the server with --server, or choose another directory with "
			"--data",
			STR_ARG(p->dir));
	TRY(s);
	TRY(check_programs(cx, p, unconfined));
	p->admin_token = t.admin_token;
	p->agent_token = t.agent_token;
	return OK;
}

static str
keep(struct arena *a, str was, str now)
{
	return str_eq(was, now) ? was : arena_str(a, now);
}

/* In an arena of its own, but for what it leaves in *p: who lives long may do it often. */
static status
serve_again(struct ctx *cx, struct arena *scratch, struct place *p)
{
	struct place was = *p;
	struct ctx own;
	status s;

	ctx_init(&own, scratch);
	own.app = cx->app;
	s = lock_file(&own, p->dir, "wrap.start", LOCK_EX, ANOTHER, &p->start);
	if (s == OK)
		s = place_serve(&own, p, str_eq(was.at.programs, STR("unconfined")));
	place_ready(p);
	if (s != OK) {
		*p = was;
		return fail(cx, s, "%.*s", STR_ARG(ctx_message(&own, s)));
	}
	p->at.url = keep(cx->arena, was.at.url, p->at.url);
	p->at.programs = keep(cx->arena, was.at.programs, p->at.programs);
	p->admin_token = keep(cx->arena, was.admin_token, p->admin_token);
	p->agent_token = keep(cx->arena, was.agent_token, p->agent_token);
	return OK;
}

status
place_revive(struct ctx *cx, struct place *p)
{
	struct arena scratch;
	status s;

	if (!p->at.wraps)
		return OK;
	arena_init(&scratch, LIMIT_REQUEST_ARENA);
	s = serve_again(cx, &scratch, p);
	arena_done(&scratch);
	return s;
}

/* --- names and homes --- */

status
place_home(struct ctx *cx, const struct place *p, str digest, str *out)
{
	str home = arena_printf(cx->arena, "%.*s/homes/%.16s", STR_ARG(p->dir), digest.ptr);

	TRY(make(cx, home));
	*out = home;
	return OK;
}

status
place_name(struct ctx *cx, struct place *p, str name, str *out_digest, bool *out_alone)
{
	char room[128];
	ssize_t n;

	let_go(&p->name);
	TRY(make(cx, arena_printf(cx->arena, "%.*s/wraps", STR_ARG(p->dir))));
	TRY(lock_file(
		cx, p->dir, arena_printf(cx->arena, "wraps/%.*s", STR_ARG(name)).ptr, LOCK_UN, "", &p->name));
	n = pread(p->name, room, sizeof(room), 0);
	*out_digest = arena_str(cx->arena, (str){ room, n > 0 ? (size_t)n : 0 });
	*out_alone = flock(p->name, LOCK_EX | LOCK_NB) == 0;
	return OK;
}

status
place_keep_name(struct ctx *cx, struct place *p, str digest)
{
	if (digest.len && (ftruncate(p->name, 0) != 0 ||
				  pwrite(p->name, digest.ptr, digest.len, 0) != (ssize_t)digest.len))
		return refuse(cx, "wraps/NAME", "written");
	return flock(p->name, LOCK_SH) == 0 ? OK : refuse(cx, "wraps/NAME", "locked");
}
