/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kerneldriver: people and an agent propose, vote and apply on notes while the process is killed under them.
 * tests/fault/run-kernel drives it and judges what is in the database afterwards.
 *
 *	kerneldriver first=N cases=N seed=N sqlite=DIR|postgres=URL keys=FILE held=DIR org=ID history=FILE
 *	             agent=TOKEN ann=SESSION,CSRF bob=SESSION,CSRF [plant=NAME] [point=NAME] [mode=MODE]
 *
 * Each case is a process (PostgreSQL: two, the second unharmed) with CLIENTS threads and one that sweeps and
 * seals, with one fault armed: which point, at which passing and how, the seed says. Every client writes what
 * it is about to ask ("? ...") and what it was told ("= ...") to the history, each with one write, so that
 * what it has heard is known also after a kill.
 */
#include "base/check.h"
#include "base/fault.h"
#include "base/limits.h"
#include "core/audit/seal/seal.h"
#include "core/gate/tool.h"
#include "core/ident/caller.h"
#include "core/keys.h"
#include "core/op.h"
#include "core/proposal/proposal.h"
#include "core/proposal/sweeper.h"
#include "db/db.h"
#include "domain/note/note.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS	     3
#define STEPS	     3 /* proposals of each client in a case */
#define REMEMBERED   8 /* notes and proposals that clients meet at */
#define HUNG_SECONDS 90
#define STOPPED_NS   20000000

/* What a case ends with, beside death. */
enum { EXIT_DONE = 0, EXIT_USAGE = 2, EXIT_NOT_OPENED = 3, EXIT_TOLD_WRONG = 4 };

/* Shared by every process of the run: where clients meet, so that they race. */
struct meeting {
	struct {
		char id[64];
		atomic_bool there;
	} notes[REMEMBERED], proposals[REMEMBERED];
	atomic_uint next_note, next_proposal;
};

struct rig {
	struct arena arena;
	struct db_options db;
	struct keys keys;
	const char *held, *plant, *history_path, *point, *mode; /* point, mode NULL: any */
	str org;
	struct credential agent, people[2];
	int64_t first, cases, seed;
	int history;
	struct meeting *meeting;
	int64_t killed, ended, died, hung, wrong; /* what became of the processes */
};

struct client {
	struct rig *rig;
	struct ctx cx; /* what each operation's context begins with */
	struct arena arena;
	int64_t number;
	uint64_t random;
	pthread_t thread;
};

static uint64_t
draw(uint64_t *random, uint64_t below)
{
	*random ^= *random << 13; /* xorshift: the seed alone says what a case tries */
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (*random >> 11) % below;
}

static uint64_t
scatter(int64_t seed, int64_t number)
{
	uint64_t x = (uint64_t)seed * 0x9e3779b97f4a7c15u + (uint64_t)number * 0xbf58476d1ce4e5b9u + 1;

	for (int i = 0; i < 8; i++)
		(void)draw(&x, 2);
	return x ? x : 1;
}

/* One write call: a line is there wholly or not at all. */
__attribute__((format(printf, 2, 3))) static void
say(const struct rig *r, const char *format, ...)
{
	char line[400];
	va_list ap;
	int len;

	va_start(ap, format);
	len = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	CHECK(len > 0 && (size_t)len < sizeof(line));
	CHECK(write(r->history, line, (size_t)len) == len);
}

/* --- operations, by the one way in --- */

struct job {
	struct propose_in ask;
	str id, view_hash;
	struct proposal *out;
};

static status
run_propose(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct job *j = in;
	str token;

	(void)out;
	return proposal_propose(cx, &j->ask, j->out, &token);
}

static status
run_approve(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct job *j = in;

	(void)out;
	return proposal_approve(cx, j->id, j->view_hash, j->out);
}

static status
run_deny(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct job *j = in;

	(void)out;
	return proposal_deny(cx, j->id, j->view_hash, (str){ 0 }, j->out);
}

static status
run_cancel(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct job *j = in;

	(void)out;
	return proposal_cancel(cx, j->id, (str){ 0 }, j->out);
}

static status
run_apply(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct job *j = in;

	(void)out;
	return proposal_apply(cx, &(struct apply_in){ .id = j->id }, j->out);
}

enum kind { PROPOSE, APPROVE, DENY, CANCEL, APPLY };
#define RIG_OP(n, f)                                                                                         \
	{                                                                                                    \
		.name = n, .rule = RULE_ANYBODY, .effect = OP_MUTATE, .tx = OP_TX_DECIDE, .run = f           \
	}
static const struct op ops[] = {
	[PROPOSE] = RIG_OP("propose", run_propose),
	[APPROVE] = RIG_OP("approve", run_approve),
	[DENY] = RIG_OP("deny", run_deny),
	[CANCEL] = RIG_OP("cancel", run_cancel),
	[APPLY] = RIG_OP("apply", run_apply),
};

/* "? op who target" before, "= op who target status proposal state" after. */
static status
ask(struct client *c, enum kind kind, const char *who, const struct credential *as, struct job *job)
{
	str target = kind == PROPOSE ? job->ask.idempotency_key : job->id;
	struct ctx cx = c->cx;
	struct buf text;
	struct json_out out;
	status s;

	cx.credential = as;
	buf_init(&text, &c->arena, KIB);
	json_out_init(&out, &text);
	say(c->rig, "? %s %s %.*s\n", ops[kind].name, who, STR_ARG(target));
	s = op_run(&cx, &ops[kind], job, &out);
	if (s == OK)
		say(c->rig, "= %s %s %.*s ok %.*s %.*s\n", ops[kind].name, who, STR_ARG(target),
			STR_ARG(job->out->id), STR_ARG(job->out->state_name));
	else
		say(c->rig, "= %s %s %.*s %s - %.*s\n", ops[kind].name, who, STR_ARG(target),
			status_info(s)->code, STR_ARG(ctx_message(&cx, s)));
	return s;
}

/* --- where clients meet --- */

#define REMEMBER(meeting, list, next, text)                                                                  \
	do {                                                                                                 \
		unsigned at_ = atomic_fetch_add(&(meeting)->next, 1) % REMEMBERED;                           \
		atomic_store(&(meeting)->list[at_].there, false);                                            \
		(void)snprintf(                                                                              \
			(meeting)->list[at_].id, sizeof((meeting)->list[at_].id), "%.*s", STR_ARG(text));    \
		atomic_store(&(meeting)->list[at_].there, true);                                             \
	} while (0)

/* --- what a client does --- */

/* A call on a note that others work on, too. */
static void
input(struct client *c, struct propose_in *ask_for)
{
	unsigned choice = (unsigned)draw(&c->random, 100), at = (unsigned)draw(&c->random, REMEMBERED);
	struct meeting *m = c->rig->meeting;
	struct json *o = json_new_object(&c->arena);
	str words = arena_printf(&c->arena, "words %" PRIu64, draw(&c->random, 1000000));

	if (choice < 35 || !atomic_load(&m->notes[at].there)) {
		ask_for->tool = STR("note.create");
		json_add_member(o, STR("title"), json_new_string(&c->arena, words));
	} else {
		ask_for->tool = choice < 85 ? STR("note.update") : STR("note.delete");
		json_add_member(o, STR("id"),
			json_new_string(&c->arena, arena_printf(&c->arena, "%s", m->notes[at].id)));
	}
	if (!str_eq(ask_for->tool, STR("note.delete")))
		json_add_member(o, STR("text"), json_new_string(&c->arena, words));
	ask_for->input = o;
}

/* Ann and Bob vote until there are enough. */
static void
vote(struct client *c, const struct proposal *p, struct proposal *out)
{
	static const char *const names[] = { "ann", "bob" };
	struct job job = { .id = p->id, .view_hash = p->view_hash, .out = out };
	size_t first = draw(&c->random, 2);

	for (size_t i = 0; i < 2; i++) {
		size_t who = (first + i) % 2;

		if (ask(c, APPROVE, names[who], &c->rig->people[who], &job) == OK &&
			out->state != PROPOSAL_PENDING)
			return;
	}
}

static void
apply(struct client *c, str id)
{
	struct proposal done = { 0 };
	struct job job = { .id = id, .out = &done };
	size_t who = draw(&c->random, 2);

	if (ask(c, APPLY, who ? "bob" : "ann", &c->rig->people[who], &job) != OK)
		return;
	if (str_eq(done.tool, STR("note.create")) && done.state == PROPOSAL_APPLIED)
		REMEMBER(c->rig->meeting, notes, next_note, done.minted_id);
}

static void
apply_another(struct client *c)
{
	struct meeting *m = c->rig->meeting;
	unsigned at = (unsigned)draw(&c->random, REMEMBERED);

	if (atomic_load(&m->proposals[at].there))
		apply(c, arena_printf(&c->arena, "%s", m->proposals[at].id));
}

static void
step(struct client *c, int64_t number, int i)
{
	struct proposal p = { 0 }, now = { 0 };
	unsigned fate = (unsigned)draw(&c->random, 100);
	struct job job = { .ask = { .idempotency_key = arena_printf(
					    &c->arena, "%" PRId64 "-%" PRId64 "-%d", number, c->number, i),
				   .expires_in_seconds = fate < 10 ? 1 : 0 },
		.out = &p };

	input(c, &job.ask);
	if (ask(c, PROPOSE, "agent", &c->rig->agent, &job) != OK)
		return;
	if (fate < 10)
		return; /* nobody looks at it: its time will be over */
	job = (struct job){ .id = p.id, .view_hash = p.view_hash, .out = &now };
	if (fate < 15) {
		(void)!ask(c, DENY, "bob", &c->rig->people[1], &job);
		return;
	}
	if (fate < 20) {
		(void)!ask(c, CANCEL, "agent", &c->rig->agent, &job);
		return;
	}
	vote(c, &p, &now);
	REMEMBER(c->rig->meeting, proposals, next_proposal, p.id);
	apply(c, p.id);
	apply_another(c);
}

static void *
client_run(void *arg)
{
	struct client *c = arg;
	int64_t number = c->number / 100;

	for (int i = 0; i < STEPS; i++) {
		step(c, number, i);
		arena_reset(&c->arena);
	}
	return NULL;
}

/* Sweeps and seals while the others work. */
static void *
keeper_run(void *arg)
{
	struct client *c = arg;
	struct sealed sealed;
	int64_t expired;

	for (int i = 0; i < 2; i++) {
		struct ctx cx = c->cx;

		(void)!sweeper_round(&cx, &expired);
		ctx_clear(&cx);
		(void)!audit_seal(&cx, c->rig->org, c->rig->held, &sealed);
		arena_reset(&c->arena);
	}
	return NULL;
}

/* --- one process --- */

static const char *const seldom[] = { "batch_between", "seal_after_commit", "seal_after_held",
	"expire_after_step" };

/* Not passed here, or (permission_load) tried by tests/api/gate.test.mjs: its failure is an error 500, which
 * nobody may hear otherwise. */
static bool
is_elsewhere(enum fault_point p)
{
	return p == FAULT_migrate_between || p == FAULT_http_before_answer || p == FAULT_permission_load;
}

/* So often is the point passed in a case, about. */
static unsigned
passings(const char *name)
{
	for (size_t i = 0; i < sizeof(seldom) / sizeof(seldom[0]); i++)
		if (strcmp(name, seldom[i]) == 0)
			return 2;
	return strncmp(name, "tx_", 3) == 0 ? 30 : 4;
}

/* Which fault this case is about. */
static const char *
choose(struct rig *r, int64_t number, uint64_t *random)
{
	enum fault_point p = (enum fault_point)(number % FAULT_COUNT);
	unsigned how = (unsigned)draw(random, 100);
	const char *mode = how < 70 ? "kill" : how < 85 ? "fail" : how < 95 ? "break" : "stop";
	const char *name = fault_name(is_elsewhere(p) ? FAULT_tx_before_commit : p);

	if (r->point)
		name = r->point;
	if (r->mode)
		mode = r->mode;
	return arena_printf(&r->arena, "%s:%u:%s", name, 1 + (unsigned)draw(random, passings(name)), mode)
		.ptr;
}

static void
client_begin(struct client *c, struct rig *r, const struct ctx *base, int64_t number)
{
	*c = (struct client){ .rig = r, .number = number, .random = scatter(r->seed, number) };
	arena_init(&c->arena, LIMIT_REQUEST_ARENA);
	c->cx = *base;
	c->cx.arena = &c->arena;
}

static void
open_all(struct rig *r, struct ctx *cx)
{
	static const struct tool *const tables[] = { note_tools, NULL };
	struct registry *tools;

	ctx_init(cx, &r->arena);
	cx->keys = &r->keys;
	if (db_open(cx, &r->db, &cx->db) != OK || db_prepare(cx) != OK ||
		registry_new(cx, tables, &tools) != OK) {
		(void)fprintf(stderr, "kerneldriver: %.*s\n", STR_ARG(ctx_message(cx, cx->error.code)));
		_exit(EXIT_NOT_OPENED);
	}
	cx->tools = tools;
}

/* The life of one process: number names its clients; spec NULL: nothing happens to it. */
_Noreturn static void
live(struct rig *r, int64_t number, int64_t process, const char *spec)
{
	struct client clients[CLIENTS + 1];
	struct ctx cx;

	(void)alarm(HUNG_SECONDS);
	open_all(r, &cx);
	if (r->plant)
		CHECK(fault_plant(r->plant));
	if (spec)
		CHECK(fault_arm(spec));
	for (int64_t i = 0; i <= CLIENTS; i++) {
		client_begin(&clients[i], r, &cx, number * 100 + process * 10 + i);
		CHECK(pthread_create(&clients[i].thread, NULL, i < CLIENTS ? client_run : keeper_run,
			      &clients[i]) == 0);
	}
	for (size_t i = 0; i <= CLIENTS; i++)
		CHECK(pthread_join(clients[i].thread, NULL) == 0);
	db_close(cx.db);
	_exit(EXIT_DONE);
}

/* --- the run --- */

static pid_t
begin(struct rig *r, int64_t number, int64_t process, const char *spec)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		live(r, number, process, spec);
	return pid;
}

/* Waits for one process; a stopped one is let go on after a moment in which the others meet its locks. */
static void
judge(struct rig *r, pid_t pid, bool armed)
{
	struct timespec moment = { .tv_nsec = STOPPED_NS };
	int how;

	CHECK(waitpid(pid, &how, WUNTRACED) == pid);
	while (WIFSTOPPED(how)) {
		(void)nanosleep(&moment, NULL);
		CHECK(kill(pid, SIGCONT) == 0);
		CHECK(waitpid(pid, &how, WUNTRACED) == pid);
	}
	if (WIFEXITED(how) && WEXITSTATUS(how) == EXIT_DONE)
		r->ended++;
	else if (WIFSIGNALED(how) && WTERMSIG(how) == SIGALRM)
		r->hung++;
	else if (armed && WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL)
		r->killed++;
	else if (armed && WIFEXITED(how) && WEXITSTATUS(how) > EXIT_TOLD_WRONG)
		r->died++; /* SQLite: it could not know what became of a commit, and ended itself */
	else
		r->wrong++;
}

static void
run_case(struct rig *r, int64_t number)
{
	uint64_t random = scatter(r->seed, number);
	const char *spec = choose(r, number, &random);
	bool two = r->db.postgres_url && number % 2;
	pid_t first, second = 0;

	say(r, "# %" PRId64 " %s\n", number, spec);
	first = begin(r, number, 0, spec);
	if (two)
		second = begin(r, number, 1, NULL);
	judge(r, first, true);
	if (two)
		judge(r, second, false);
	arena_reset(&r->arena);
}

/* --- the command line --- */

static str word;

static bool
is(const char *name)
{
	str key, value;

	if (!str_cut(word, '=', &key, &value) || !str_eq(key, str_of(name)))
		return false;
	word = value;
	return true;
}

static struct credential
person(str secret)
{
	struct credential c = { .peer = STR("127.0.0.1"), .transport = "rest", .same_origin = true };

	if (!str_cut(secret, ',', &c.session, &c.csrf))
		c.bearer = secret;
	return c;
}

static void
number(int64_t *out)
{
	if (!str_to_int(word, out))
		exit(EXIT_USAGE);
}

static void
read_word(struct rig *r, const char *text, const char **keys_path)
{
	word = str_of(text);
	if (is("first"))
		number(&r->first);
	else if (is("cases"))
		number(&r->cases);
	else if (is("seed"))
		number(&r->seed);
	else if (is("sqlite"))
		r->db.sqlite_dir = word.ptr;
	else if (is("postgres"))
		r->db.postgres_url = word.ptr;
	else if (is("keys"))
		*keys_path = word.ptr;
	else if (is("held"))
		r->held = word.ptr;
	else if (is("org"))
		r->org = word;
	else if (is("history"))
		r->history_path = word.ptr;
	else if (is("agent"))
		r->agent = person(word);
	else if (is("ann"))
		r->people[0] = person(word);
	else if (is("bob"))
		r->people[1] = person(word);
	else if (is("point"))
		r->point = word.ptr;
	else if (is("mode"))
		r->mode = word.ptr;
	else if (is("plant"))
		r->plant = word.ptr;
	else
		exit(EXIT_USAGE);
}

int
main(int argc, char **argv)
{
	static struct rig r;
	const char *keys_path = "";
	struct ctx cx;

	r.db.connections = CLIENTS;
	for (int i = 1; i < argc; i++)
		read_word(&r, argv[i], &keys_path);
	arena_init(&r.arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &r.arena);
	if (!fault_enabled() || !r.history_path || keys_load(&cx, keys_path, &r.keys) != OK)
		return EXIT_USAGE;
	r.history = open(r.history_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	r.meeting = mmap(NULL, sizeof(*r.meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(r.history >= 0 && r.meeting != MAP_FAILED);
	for (int64_t i = r.first; i < r.first + r.cases; i++)
		run_case(&r, i);
	(void)printf("killed %" PRId64 " ended %" PRId64 " died %" PRId64 " hung %" PRId64 " wrong %" PRId64
		     "\n",
		r.killed, r.ended, r.died, r.hung, r.wrong);
	return r.hung || r.wrong;
}
