/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that speaks MCP on its standard input and output.
 *
 * Its keeper is a thread of its own: it starts the program, hands its lines to who waits for them, and buries it. Between
 * us and the program stands a holder (exec/sandbox/hold), a process that ends the program and all that it has started
 * as soon as the pipe from us ends: also when we are killed, whichever thread has started it.
 */
#include "exec/mcp/inside.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/outside/waiter.h"
#include "exec/mcp/lines.h"
#include "exec/mcp/sandbox.h"
#include "exec/sandbox/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SLICE_US   INT64_C(100000)
#define GRACE_US   INT64_C(1000000)  /* to end by itself after its input has ended */
#define SETTLED_US INT64_C(10000000) /* who lived so long has not failed to start */
#define REST_US	   INT64_C(500000)
#define ANSWER_US  INT64_C(1000000)
#define WORDS_US   INT64_C(10000000)

/* A call that waits for its answer; in that call's arena. */
struct waiting {
	struct waiting *next;
	struct waiter waiter;
	int64_t id;
	struct arena arena; /* of: */
	str text;	    /* the answer; empty: none yet */
	bool lost;
};

struct mcp_child {
	struct mcp_client *c;
	int wake; /* an eventfd: the keeper is to end the program */
	int in;	  /* -1: none; whoever has the pen (`writing`) */

	pthread_mutex_t mutex;	/* guards all below */
	pthread_cond_t changed; /* up, ended, stopping */
	pthread_cond_t put;	/* the pen */
	pthread_t keeper;
	bool kept;	/* there is a keeper to be joined */
	bool up, ended; /* the program is there; or was, or could not be started */
	bool stopping;
	bool writing; /* somebody has the pen: one message at a time goes into `in` */
	uint64_t generation;
	struct waiting *waiting;
	unsigned failures; /* in a row */
	int64_t rests_until_us;
	char why[LIMIT_UPSTREAM_WORD + 1]; /* it ended */

	/* the keeper's own */
	struct arena arena; /* of the plan */
	struct sandbox_plan plan;
	struct lines out, words;
	struct last_words said; /* on its standard error */
	int64_t words_us;
	int words_said, words_dropped;
};

/* --- waiting --- */

static struct timespec
soon(int64_t us)
{
	struct timespec t;

	/* checksrc: allow clock_gettime (pthread takes this clock and no other) */
	CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	t.tv_nsec += (long)us * 1000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* With the mutex; returns at the latest after a while. */
static void
wait_a_while(struct mcp_child *ch, pthread_cond_t *for_what)
{
	struct timespec t = soon(SLICE_US);

	(void)pthread_cond_timedwait(for_what, &ch->mutex, &t);
}

/* With the mutex. */
static void
call_all(struct mcp_child *ch)
{
	CHECK(pthread_cond_broadcast(&ch->changed) == 0);
	for (struct waiting *w = ch->waiting; w; w = w->next)
		waiter_wake(&w->waiter);
}

static void
leave(struct mcp_child *ch, struct waiting *w)
{
	scoped_lock held = lock(&ch->mutex);

	for (struct waiting **at = &ch->waiting; *at; at = &(*at)->next)
		if (*at == w) {
			*at = w->next;
			return;
		}
}

/* --- writing --- */

/* Bytes that have left; fewer than all: it was too late, or nobody reads. */
static size_t
write_some(struct mcp_child *ch, str text, int64_t until_us)
{
	size_t done = 0;

	while (done < text.len && ch->in >= 0) {
		struct pollfd p = { .fd = ch->in, .events = POLLOUT };
		ssize_t n = write(ch->in, text.ptr + done, text.len - done);

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			break;
		if (clock_mono_us() >= until_us || atomic_load(&ch->c->stopping))
			break;
		(void)poll(&p, 1, (int)(SLICE_US / 1000));
	}
	return done;
}

/* The pen is a flag and no mutex: who waits for it does so until a time, which not every checker of threads knows of
 * mutexes. */
static bool
take_pen(struct mcp_child *ch, int64_t until_us)
{
	scoped_lock held = lock(&ch->mutex);

	while (ch->writing) {
		if (clock_mono_us() >= until_us)
			return false;
		wait_a_while(ch, &ch->put);
	}
	ch->writing = true;
	return true;
}

static void
put_pen(struct mcp_child *ch)
{
	scoped_lock held = lock(&ch->mutex);

	ch->writing = false;
	CHECK(pthread_cond_signal(&ch->put) == 0);
}

static void
poke(struct mcp_child *ch)
{
	uint64_t one = 1;

	CHECK(write(ch->wake, &one, sizeof(one)) == (ssize_t)sizeof(one));
}

/* A line, all of it or nothing; half a line spoils what comes after it, so then the program is ended. */
static size_t
write_line(struct mcp_child *ch, str line, int64_t until_us)
{
	size_t done;

	if (!take_pen(ch, until_us))
		return 0;
	done = write_some(ch, line, until_us);
	put_pen(ch);
	if (done && done < line.len)
		poke(ch);
	return done;
}

static str
as_line(struct ctx *cx, str message)
{
	char *line = arena_try_bytes(cx->arena, message.len + 1);

	if (!line)
		return (str){ 0 };
	memcpy(line, message.ptr, message.len);
	line[message.len] = '\n';
	return (str){ line, message.len + 1 };
}

/* --- what the program says --- */

/* With the mutex. */
static struct waiting *
find(struct mcp_child *ch, const struct json *message)
{
	if (json_get(message, STR("id")))
		for (struct waiting *w = ch->waiting; w; w = w->next)
			if (!w->text.len && mcp_message_answers(message, w->id))
				return w;
	return NULL;
}

static void
hand_over(struct mcp_child *ch, const struct json *message, str line)
{
	scoped_lock held = lock(&ch->mutex);
	struct waiting *w = find(ch, message);

	if (!w)
		return;
	ch->failures = 0;
	w->text = arena_str(&w->arena, line);
	waiter_wake(&w->waiter);
}

static void
respond(struct mcp_child *ch, struct ctx *cx, const struct json *request)
{
	str text;

	if (mcp_message_respond(cx, ch->c, request, &text) != OK)
		return;
	text = as_line(cx, text);
	if (text.len)
		(void)write_line(ch, text, clock_mono_us() + ANSWER_US);
}

static void
take_line(void *arg, str line)
{
	struct mcp_child *ch = arg;
	struct arena a;
	struct mended mended;
	struct json *doc;
	struct ctx cx;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &a);
	if (json_parse_mended(&cx, line, &doc, &mended) == OK) {
		switch (mcp_message_kind(doc)) {
		case MCP_ANSWER:
			hand_over(ch, doc, line);
			break;
		case MCP_REQUEST:
			respond(ch, &cx, doc);
			break;
		case MCP_NOTICE:
			mcp_message_notice(ch->c, doc);
			break;
		case MCP_NO_MESSAGE:
		default:
			break;
		}
	}
	arena_done(&a);
}

/* Its standard error is for people: it is logged, but not its secrets, and not without end. */
static void
take_word(void *arg, str line)
{
	struct mcp_child *ch = arg;
	const struct mcp_program *p = ch->c->options.program;
	int64_t now = clock_mono_us();
	char word[LIMIT_UPSTREAM_WORD + 1];

	lines_show(line, p->variables, p->variable_count, word, sizeof(word));
	last_words_hear(&ch->said, str_of(word), now);
	if (now - ch->words_us > WORDS_US) {
		if (ch->words_dropped)
			LOG(LOG_WARN, "upstream.stderr_dropped", LOG_STR("upstream", ch->c->options.name),
				LOG_INT("lines", ch->words_dropped));
		ch->words_us = now;
		ch->words_said = ch->words_dropped = 0;
	}
	if (++ch->words_said > LIMIT_UPSTREAM_WORDS)
		ch->words_dropped++;
	else
		LOG(LOG_INFO, "upstream.stderr", LOG_STR("upstream", ch->c->options.name),
			LOG_STR("line", str_of(word)));
}

/* --- its life --- */

struct ends {
	int in[2], out[2], words[2], failed[2];
	int life[2]; /* it ends when the program shall */
	int environment;
};

static void
open_ends(struct ends *e)
{
	CHECK(pipe2(e->in, O_CLOEXEC) == 0 && pipe2(e->out, O_CLOEXEC) == 0);
	CHECK(pipe2(e->words, O_CLOEXEC) == 0 && pipe2(e->failed, O_CLOEXEC) == 0);
	CHECK(pipe2(e->life, O_CLOEXEC) == 0);
}

/* What the holder is told, before the program's own words. */
struct holding {
	const char **argv; /* in an arena */
	const int *fds;	   /* that it gets */
	size_t fd_count;
};

/* After fork, before exec: only what may be called between them (signal-safety(7)). */
__attribute__((noreturn)) static void
become(const struct ends *e, const struct holding *h, pid_t parent)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };
	sigset_t none;
	int error;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* until the holder holds */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (getppid() != parent) /* it died meanwhile */
		_exit(1);
	for (int s = 1; s < NSIG; s++)
		(void)sigaction(s, &usual, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(e->in[0], 0) == 0 && dup2(e->out[1], 1) == 1 && dup2(e->words[1], 2) == 2) {
		(void)close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
		for (size_t i = 0; i < h->fd_count; i++)
			(void)fcntl(h->fds[i], F_SETFD, 0);
		/* by its number: before a call by name a build that counts coverage would allocate, and there is a limit */
		(void)syscall(SYS_execve, "/proc/self/exe", h->argv, (const char *[]){ NULL });
	}
	error = errno;
	(void)!write(e->failed[1], &error, sizeof(error));
	_exit(127);
}

/* A file in memory: the program's variables are somebody else's, and the holder, outside the sandbox, has none. */
static int
write_environment(const char **environment)
{
	int fd = memfd_create("environment", MFD_CLOEXEC);

	CHECK(fd >= 0);
	for (size_t i = 0; environment[i]; i++) {
		size_t len = strlen(environment[i]) + 1;

		CHECK(write(fd, environment[i], len) == (ssize_t)len);
	}
	return fd;
}

static struct holding
plan_holding(struct arena *a, const struct ends *e, const struct sandbox_plan *plan)
{
	size_t words = 0, n = 0;
	const char **argv;
	int *fds = arena_alloc(a, (plan->fd_count + 3) * sizeof(*fds));

	while (plan->argv[words])
		words++;
	argv = arena_alloc(a, (words + 7) * sizeof(*argv));
	argv[n++] = HOLD_NAME;
	argv[n++] = arena_printf(a, "%d", e->life[0]).ptr;
	argv[n++] = arena_printf(a, "%d", e->failed[1]).ptr;
	argv[n++] = arena_printf(a, "%d", e->environment).ptr;
	argv[n++] = plan->directory ? "free" : "confined";
	argv[n++] = plan->directory ? plan->directory : "";
	memcpy(argv + n, plan->argv, (words + 1) * sizeof(*argv));
	memcpy(fds, plan->fds, plan->fd_count * sizeof(*fds));
	fds[plan->fd_count] = e->life[0];
	fds[plan->fd_count + 1] = e->failed[1];
	fds[plan->fd_count + 2] = e->environment;
	return (struct holding){ .argv = argv, .fds = fds, .fd_count = plan->fd_count + 3 };
}

/* The start is over: well, or with a sentence. */
static void
say_up(struct mcp_child *ch, int in)
{
	CHECK(take_pen(ch, INT64_MAX));
	ch->in = in;
	put_pen(ch);
	{
		scoped_lock held = lock(&ch->mutex);

		ch->up = true;
		ch->generation++;
		CHECK(pthread_cond_broadcast(&ch->changed) == 0);
	}
}

static void
hang_up(struct mcp_child *ch)
{
	CHECK(take_pen(ch, INT64_MAX));
	if (ch->in >= 0)
		(void)close(ch->in);
	ch->in = -1;
	put_pen(ch);
}

/* Who comes now gets the next one. */
static void
say_ending(struct mcp_child *ch)
{
	scoped_lock held = lock(&ch->mutex);

	ch->up = false;
}

static void
describe(struct mcp_child *ch, int how, int error)
{
	const struct last_words *w = &ch->said;
	bool walled = !ch->c->options.program->unconfined &&
		      (strncmp(w->last, "bwrap: ", 7) == 0 || strncmp(w->last, "sandbox: ", 9) == 0);
	const char *said = w->rank ? "; it said: " : w->last[0] ? "; it last said: " : "";
	const char *word = w->rank ? w->telling : w->last;

	if (error)
		(void)snprintf(ch->why, sizeof(ch->why), "the program cannot be started: %s",
			strerrordesc_np(error));
	else if (walled)
		(void)snprintf(ch->why, sizeof(ch->why),
			"the sandbox cannot be set up, so the program was not started (%.200s): allow "
			"unprivileged user "
			"namespaces and install a bubblewrap of 2024 or later (`countersign doctor` tries "
			"both), or start this server with --stdio-upstreams unconfined",
			w->last);
	else if (WIFSIGNALED(how))
		(void)snprintf(ch->why, sizeof(ch->why), "the program was ended by signal %d%s%.300s",
			WTERMSIG(how), said, word);
	else
		(void)snprintf(ch->why, sizeof(ch->why), "the program ended with code %d%s%.300s",
			WEXITSTATUS(how), said, word);
}

static void
say_down(struct mcp_child *ch, int how, int error, int64_t since_us)
{
	scoped_lock held = lock(&ch->mutex);
	int64_t rest = REST_US;

	describe(ch, how, error);
	ch->up = false;
	ch->ended = true;
	for (struct waiting *w = ch->waiting; w; w = w->next)
		w->lost = true;
	ch->failures = !error && clock_mono_us() - since_us > SETTLED_US ? 0 : ch->failures + 1;
	for (unsigned i = 1; i < ch->failures && rest < LIMIT_UPSTREAM_REST_US; i++)
		rest *= 2;
	ch->rests_until_us = ch->failures > 1 ? clock_mono_us() + rest : 0;
	call_all(ch);
}

/* Reads what there is. False: the end. */
static bool
drain(struct lines *l, int fd)
{
	static _Thread_local char bytes[16384];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	return n > 0 && lines_feed(l, (str){ bytes, (size_t)n });
}

/* Until its output ends, or somebody wants it to. */
static void
attend(struct mcp_child *ch, const struct ends *e)
{
	struct pollfd p[3] = { { e->out[0], POLLIN, 0 }, { e->words[0], POLLIN, 0 },
		{ ch->wake, POLLIN, 0 } };
	int64_t until = 0;

	while (!until || clock_mono_us() < until) {
		if (poll(p, 3, until ? (int)(SLICE_US / 1000) : -1) < 0)
			continue;
		if (p[1].revents && !drain(&ch->words, e->words[0]))
			p[1].fd = -1;
		if (p[0].revents && !drain(&ch->out, e->out[0]))
			break;
		if (p[2].revents) {
			say_ending(ch);
			hang_up(ch); /* the polite way to say: end */
			until = clock_mono_us() + GRACE_US;
			p[2].fd = -1;
		}
	}
	/* its last words come before its end is known */
	while (p[1].fd >= 0 && poll(&p[1], 1, 0) > 0 && drain(&ch->words, e->words[0]))
		;
}

static int
start_error(const struct ends *e)
{
	int error = 0;
	ssize_t n;

	do /* the end is closed by exec */
		n = read(e->failed[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(error) ? error : 0;
}

/* The holder ends as the program has, after the last of what it has started. */
static int
bury(pid_t pid)
{
	int how = 0;

	while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
		;
	return how;
}

static void
close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
}

static void *
keep(void *arg)
{
	struct mcp_child *ch = arg;
	int64_t since_us = clock_mono_us();
	pid_t parent = getpid(), pid;
	struct holding holding;
	struct ends e;
	int error, how;

	open_ends(&e);
	CHECK(fcntl(e.in[1], F_SETFL, O_NONBLOCK) == 0);
	e.environment = write_environment(ch->plan.environment);
	holding = plan_holding(&ch->arena, &e, &ch->plan);
	pid = fork();
	if (pid == 0)
		become(&e, &holding, parent);
	sandbox_plan_done(&ch->plan);
	close_all((int[]){ e.in[0], e.out[1], e.words[1], e.failed[1], e.life[0], e.environment }, 6);
	error = pid < 0 ? errno : start_error(&e);
	if (error) {
		(void)close(e.in[1]);
	} else {
		LOG(LOG_INFO, "upstream.started", LOG_STR("upstream", ch->c->options.name),
			LOG_INT("pid", pid));
		say_up(ch, e.in[1]);
		attend(ch, &e);
	}
	(void)close(e.life[1]);
	how = pid > 0 ? bury(pid) : 0;
	hang_up(ch);
	close_all((int[]){ e.out[0], e.words[0], e.failed[0] }, 3);
	say_down(ch, how, error, since_us);
	LOG(LOG_INFO, "upstream.ended", LOG_STR("upstream", ch->c->options.name),
		LOG_STR("why", str_of(ch->why)));
	return NULL;
}

/* --- promises --- */

struct mcp_child *
mcp_child_new(struct mcp_client *c)
{
	struct mcp_child *ch = calloc(1, sizeof(*ch));
	pthread_condattr_t monotonic;

	CHECK(ch); /* no memory */
	ch->c = c;
	ch->in = -1;
	ch->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	CHECK(ch->wake >= 0);
	arena_init(&ch->arena, LIMIT_REQUEST_ARENA);
	CHECK(pthread_mutex_init(&ch->mutex, NULL) == 0);
	CHECK(pthread_condattr_init(&monotonic) == 0);
	CHECK(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
	CHECK(pthread_cond_init(&ch->changed, &monotonic) == 0 &&
		pthread_cond_init(&ch->put, &monotonic) == 0);
	CHECK(pthread_condattr_destroy(&monotonic) == 0);
	return ch;
}

void
mcp_child_stop(struct mcp_child *ch)
{
	scoped_lock held = lock(&ch->mutex);

	if (!ch->stopping)
		poke(ch);
	ch->stopping = true;
	call_all(ch);
}

void
mcp_child_free(struct mcp_child *ch)
{
	if (ch->kept)
		CHECK(pthread_join(ch->keeper, NULL) == 0);
	lines_done(&ch->out);
	lines_done(&ch->words);
	(void)close(ch->wake);
	CHECK(pthread_cond_destroy(&ch->changed) == 0 && pthread_cond_destroy(&ch->put) == 0);
	CHECK(pthread_mutex_destroy(&ch->mutex) == 0);
	arena_done(&ch->arena);
	free(ch);
}

uint64_t
mcp_child_generation(struct mcp_child *ch)
{
	scoped_lock held = lock(&ch->mutex);

	return ch->up ? ch->generation : 0;
}

static status
check_start(struct ctx *cx, struct mcp_child *ch)
{
	str missing = sandbox_missing(cx, ch->c->options.program);

	if (ch->stopping)
		return fail(cx, E_UNAVAILABLE, "we are being stopped");
	if (missing.len)
		return fail(cx, E_UNAVAILABLE, "%.*s", STR_ARG(missing));
	if (clock_mono_us() < ch->rests_until_us)
		return fail(cx, E_UNAVAILABLE,
			"%s; it has failed %u times in a row and is left alone for a while", ch->why,
			ch->failures);
	return OK;
}

static status
make_keeper(struct ctx *cx, struct mcp_child *ch)
{
	uint64_t poked;

	arena_reset(&ch->arena);
	{
		struct ctx own;

		ctx_init(&own, &ch->arena);
		if (sandbox_plan(&own, ch->c->options.program, &ch->plan) != OK)
			return fail(cx, E_UNAVAILABLE, "%.*s", STR_ARG(ctx_message(&own, own.error.code)));
	}
	lines_init(&ch->out, LIMIT_UPSTREAM_LINE, false, take_line, ch);
	lines_init(&ch->words, LIMIT_UPSTREAM_WORD, true, take_word, ch);
	(void)!read(ch->wake, &poked, sizeof(poked)); /* that was meant for the last one */
	ch->said = (struct last_words){ 0 };
	ch->ended = false;
	CHECK(pthread_create(&ch->keeper, NULL, keep, ch) == 0);
	ch->kept = true;
	return OK;
}

/* Only one thread at a time opens a session, and only that one comes here. */
status
mcp_child_start(struct ctx *cx, struct mcp_child *ch, uint64_t *out_generation)
{
	scoped_lock held = lock(&ch->mutex);

	if (!ch->up) {
		TRY(check_start(cx, ch));
		if (ch->kept) { /* it is over, or will be in a moment */
			CHECK(pthread_mutex_unlock(&ch->mutex) == 0);
			CHECK(pthread_join(ch->keeper, NULL) == 0);
			CHECK(pthread_mutex_lock(&ch->mutex) == 0);
			ch->kept = false;
			TRY(check_start(cx, ch)); /* a stop, meanwhile */
		}
		TRY(make_keeper(cx, ch));
		while (!ch->up && !ch->ended)
			wait_a_while(ch, &ch->changed);
		if (!ch->up)
			return fail(cx, E_UNAVAILABLE, "%s", ch->why);
	}
	*out_generation = ch->generation;
	return OK;
}

static bool
enter(struct mcp_child *ch, const struct mcp_letter *l, struct waiting *w)
{
	scoped_lock held = lock(&ch->mutex);

	if (!ch->up || ch->generation != l->session.generation)
		return false;
	arena_init(&w->arena, LIMIT_REQUEST_ARENA);
	waiter_init(&w->waiter);
	w->next = ch->waiting;
	ch->waiting = w;
	return true;
}

static str
say_gone(struct ctx *cx, struct mcp_child *ch)
{
	scoped_lock held = lock(&ch->mutex);

	return ch->ended ? arena_printf(cx->arena, "%s", ch->why) : STR("the program is not there any more");
}

/* Most likely it has just ended: then that is the reason. */
static str
say_untaken(struct ctx *cx, struct mcp_child *ch, struct waiting *w)
{
	scoped_lock held = lock(&ch->mutex);

	for (int i = 0; i < 5 && !w->lost && !ch->stopping; i++)
		waiter_wait(&w->waiter, &ch->mutex, clock_mono_us() + SLICE_US);
	return w->lost ? arena_printf(cx->arena, "%s", ch->why) : STR("the program does not take it");
}

static void
wait_for_answer(struct ctx *cx, struct mcp_child *ch, const struct mcp_letter *l, struct waiting *w,
	struct mcp_reply *out)
{
	scoped_lock held = lock(&ch->mutex);

	while (!w->text.len && !w->lost && !ch->stopping && clock_mono_us() < l->deadline_us)
		waiter_wait(&w->waiter, &ch->mutex, l->deadline_us);
	if (w->lost && !w->text.len)
		out->why = arena_printf(cx->arena, "%s", ch->why);
	else if (!w->text.len)
		out->why = ch->stopping ? STR("we are being stopped") : STR("no answer came in time");
}

static void
say_cancelled(struct ctx *cx, struct mcp_child *ch, int64_t id)
{
	str line = arena_printf(cx->arena,
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		"cancelled\",\"params\":{\"requestId\":%lld}}\n",
		(long long)id);

	(void)write_line(ch, line, clock_mono_us() + SLICE_US);
}

static void
read_answer(struct ctx *cx, str text, struct mcp_reply *out)
{
	char *copy = arena_try_bytes(cx->arena, text.len);
	struct json *doc;

	if (copy)
		memcpy(copy, text.ptr, text.len);
	out->raw = (str){ copy, text.len };
	if (copy && json_parse_mended(cx, out->raw, &doc, &out->mended) == OK)
		out->message = doc;
	else
		out->why = STR("the answer is too large");
}

void
mcp_child_send(struct ctx *cx, struct mcp_child *ch, const struct mcp_letter *l, struct mcp_reply *out)
{
	struct waiting *w = ARENA_NEW(cx->arena, struct waiting);
	str line = as_line(cx, l->body);

	w->id = l->id;
	if (!line.len || !enter(ch, l, w)) {
		out->why = say_gone(cx, ch);
		return;
	}
	out->sent = (int64_t)write_line(ch, line, l->send_by_us);
	if ((size_t)out->sent < line.len)
		out->why = say_untaken(cx, ch, w);
	else if (l->id)
		wait_for_answer(cx, ch, l, w, out);
	leave(ch, w);
	if (w->text.len)
		read_answer(cx, w->text, out);
	else if (l->id && (size_t)out->sent == line.len && !w->lost)
		say_cancelled(cx, ch, l->id);
	waiter_done(&w->waiter);
	arena_done(&w->arena);
}
