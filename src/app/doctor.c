/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor: looks at what the program stands on and says what to do. It changes nothing.
 */
#include "app/app.h"

#include "app/store.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/scoped.h"
#include "core/people/link/recover.h"
#include "db/db.h"
#include "exec/sandbox/group.h"
#include "exec/sandbox/trial.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timex.h>

#define SANE_US	     (INT64_C(1735689600) * SECOND_US) /* 2025-01-01: before it, a clock was never set */
#define DISK_FAIL    (64u * MIB)
#define DISK_WARN    (1024u * MIB)
#define FILES_WANTED 1024u

enum level { FINE, WARN, BAD };

struct finding {
	enum level level;
	str sentence;
};

__attribute__((format(printf, 3, 4))) static struct finding
say(struct ctx *cx, enum level level, const char *format, ...)
{
	struct finding f = { .level = level };
	va_list args;

	va_start(args, format);
	f.sentence = arena_vprintf(cx->arena, format, args);
	va_end(args);
	return f;
}

/* --- data directory and disk --- */

static struct finding
check_directory(struct ctx *cx)
{
	const char *path = arena_cstr(cx->arena, cx->app->config.data);
	struct stat st;

	if (stat(path, &st) != 0 && errno == ENOENT)
		return say(cx, WARN, "%s does not exist yet; `countersign serve` makes it", path);
	if (stat(path, &st) != 0)
		return say(cx, BAD, "%s cannot be looked at: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return say(cx, BAD, "%s is not a directory; give another with --data", path);
	if (st.st_uid != geteuid())
		return say(cx, BAD, "%s belongs to user %u, not to %u who runs this; use chown", path,
			st.st_uid, geteuid());
	if (st.st_mode & 077)
		return say(cx, BAD, "others may enter %s (mode %03o); `chmod 700 %s`", path,
			st.st_mode & 0777, path);
	return say(cx, FINE, "%s is its owner's alone", path);
}

static struct finding
check_disk(struct ctx *cx)
{
	const char *path = arena_cstr(cx->arena, cx->app->config.data);
	struct statvfs fs;
	uint64_t mib;

	if (statvfs(path, &fs) != 0 && statvfs(".", &fs) != 0)
		return say(cx, WARN, "free space is not known: %s", strerror(errno));
	mib = (uint64_t)fs.f_bavail * fs.f_frsize / MIB;
	if (mib < DISK_FAIL / MIB)
		return say(cx, BAD, "only %" PRIu64 " MiB are free; make room before you start", mib);
	if (mib < DISK_WARN / MIB)
		return say(cx, WARN, "only %" PRIu64 " MiB are free; make room soon", mib);
	return say(cx, FINE, "%" PRIu64 " MiB are free", mib);
}

/* --- database --- */

static struct finding
check_schema(struct ctx *cx)
{
	int64_t ours = migrations[migration_count - 1].version;
	struct db_schema schema;
	str engine;

	if (store_describe(cx, &engine) != OK || db_schema(cx, &schema) != OK)
		return say(cx, BAD, "%.*s", STR_ARG(ctx_message(cx, cx->error.code)));
	if (schema.min_compatible > ours)
		return say(cx, BAD,
			"its schema (%" PRId64 ") is too new for this program (%" PRId64
			"); upgrade Countersign",
			schema.version, ours);
	if (schema.version < ours)
		return say(cx, WARN,
			"its schema (%" PRId64 ") is older than this program (%" PRId64
			"); `countersign migrate` or the next start brings it up",
			schema.version, ours);
	return say(cx, FINE, "%.*s, schema %" PRId64, STR_ARG(engine), schema.version);
}

static struct finding
check_database(struct ctx *cx)
{
	const struct config *c = &cx->app->config;
	struct finding f;
	status s;

	if (!c->database.len && access(arena_cstr(cx->arena, c->data), F_OK) != 0)
		return say(cx, WARN, "there is none in %.*s yet; `countersign serve` makes it",
			STR_ARG(c->data));
	s = store_open(cx, false);
	if (s == E_BUSY)
		return say(cx, WARN,
			"it is open in another process, so it was not looked at: is the server running?");
	if (s != OK)
		return say(cx, c->database.len || s != E_UNAVAILABLE ? BAD : WARN, "%.*s",
			STR_ARG(ctx_message(cx, s)));
	f = check_schema(cx);
	store_close(cx);
	return f;
}

static struct finding
say_recovered(struct ctx *cx)
{
	struct db_schema schema;
	int64_t at;

	if (db_schema(cx, &schema) != OK || schema.version < migrations[migration_count - 1].version ||
		db_prepare(cx) != OK || recover_last(cx, &at) != OK)
		return say(cx, WARN, "not known: the database could not be read");
	if (at)
		return say(cx, WARN,
			"access was recovered on %.*s with `countersign recover`; the audit log has who and "
			"what",
			STR_ARG(clock_text(cx->arena, at)));
	return say(cx, FINE, "nobody recovered access in the last 30 days");
}

static struct finding
check_recovery(struct ctx *cx)
{
	const struct config *c = &cx->app->config;
	struct finding f;

	if (!c->database.len && access(arena_cstr(cx->arena, c->data), F_OK) != 0)
		return say(cx, FINE, "there is no database yet");
	if (store_open(cx, false) != OK)
		return say(cx, WARN, "not known: the database could not be opened");
	f = say_recovered(cx);
	store_close(cx);
	return f;
}

/* --- clock --- */

static struct finding
check_clock(struct ctx *cx)
{
	struct timex t = { 0 };
	int64_t now = clock_now_us();
	str text = clock_text(cx->arena, now);

	if (now < SANE_US)
		return say(cx, BAD, "it says %.*s; set it, expiry and audit depend on it", STR_ARG(text));
	if (adjtimex(&t) == TIME_ERROR || (t.status & STA_UNSYNC))
		return say(cx, WARN, "it says %.*s, but nothing keeps it right; run an NTP client",
			STR_ARG(text));
	return say(cx, FINE, "it says %.*s and is kept right", STR_ARG(text));
}

/* --- kernel --- */

static struct finding
check_landlock(struct ctx *cx)
{
	/* landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION): gives the ABI */
	long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, 1u);

	if (abi < 1)
		return say(
			cx, WARN, "not available: %s; tools will run with a weaker sandbox", strerror(errno));
	return say(cx, FINE, "ABI %ld", abi);
}

static struct finding
check_seccomp(struct ctx *cx)
{
	if (prctl(PR_GET_SECCOMP) < 0)
		return say(
			cx, WARN, "not available: %s; tools will run with a weaker sandbox", strerror(errno));
	return say(cx, FINE, "available");
}

/* A number in a file of /proc, or -1. */
static int64_t
read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	char text[32] = "";
	int64_t n = -1;
	str line;

	if (!f)
		return -1;
	line = (str){ text, fread(text, 1, sizeof(text), f) };
	(void)fclose(f);
	if (line.len && line.ptr[line.len - 1] == '\n')
		line.len--;
	return str_to_int(line, &n) ? n : -1;
}

static struct finding
check_namespaces(struct ctx *cx)
{
	int64_t most = read_number("/proc/sys/user/max_user_namespaces");

	if (most == 0 || read_number("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		return say(
			cx, WARN, "user namespaces are switched off; tools that need a sandbox will not run");
	if (most < 0)
		return say(cx, WARN,
			"this kernel has no user namespaces; tools that need a sandbox will not run");
	return say(cx, FINE, "available");
}

/* What the sandbox of programs rests on, tried as it is used. */
static struct finding
check_sandbox(struct ctx *cx)
{
	bool wanted = str_eq(cx->app->config.stdio_upstreams, STR("sandboxed"));
	str why;

	if (!sandbox_try(cx, &why))
		return say(cx, wanted ? BAD : WARN,
			"programs cannot be started in a sandbox: %.*s; with stdio-upstreams sandboxed none "
			"is started",
			STR_ARG(why));
	return say(
		cx, FINE, "bubblewrap works, with a filter of system calls and without new user namespaces");
}

static struct finding
check_group(struct ctx *cx)
{
	struct group g;

	group_make(&g, LIMIT_SANDBOX_MEMORY, LIMIT_SANDBOX_PROCESSES);
	group_remove(&g);
	if (g.memory && g.processes)
		return say(cx, FINE,
			"a program and all it starts have together at most %u MiB and %u processes (control "
			"group)",
			(unsigned)(LIMIT_SANDBOX_MEMORY / MIB), LIMIT_SANDBOX_PROCESSES);
	if (!g.processes && geteuid() == 0)
		return say(cx, WARN,
			"we run as root and may make no control group, so nothing limits how many processes "
			"a program has%s; run the server as another user, or delegate a control group to it",
			g.memory ? "" : ", and its memory only for each process");
	return say(cx, WARN,
		"we may not make control groups of %s: a program has at most %u processes, with %u MiB of "
		"data each; delegate a control group to the server to limit them together",
		g.processes ? "memory"
		: g.memory  ? "processes"
			    : "memory and processes",
		LIMIT_SANDBOX_PROCESSES, (unsigned)(LIMIT_UPSTREAM_MEMORY / MIB));
}

static struct finding
check_files(struct ctx *cx)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return say(cx, WARN, "the limit is not known: %s", strerror(errno));
	if (limit.rlim_max < FILES_WANTED)
		return say(cx, WARN,
			"at most %" PRIu64 " may be open; raise the hard limit (`ulimit -Hn`) to %u or more",
			(uint64_t)limit.rlim_max, FILES_WANTED);
	return say(cx, FINE, "up to %" PRIu64 " may be open", (uint64_t)limit.rlim_max);
}

/* --- network --- */

static struct finding
try_bind(struct ctx *cx, const struct addrinfo *info)
{
	scoped_fd fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int on = 1;
	str listen_at = cx->app->config.listen;

	if (fd < 0)
		return say(cx, BAD, "no socket can be made: %s", strerror(errno));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, info->ai_addr, info->ai_addrlen) == 0)
		return say(cx, FINE, "%.*s is free", STR_ARG(listen_at));
	if (errno == EADDRINUSE)
		return say(cx, WARN,
			"%.*s is in use: is the server running? Else choose another with --listen",
			STR_ARG(listen_at));
	return say(cx, BAD, "%.*s cannot be used: %s; choose another with --listen", STR_ARG(listen_at),
		strerror(errno));
}

static struct finding
check_port(struct ctx *cx)
{
	struct config_address at = config_listen(&cx->app->config);
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE
	};
	struct addrinfo *info;
	struct finding f;
	int rc = getaddrinfo(
		arena_cstr(cx->arena, at.host), arena_printf(cx->arena, "%d", at.port).ptr, &hints, &info);

	if (rc != 0)
		return say(cx, BAD, "%.*s is not an address of this machine: %s", STR_ARG(at.host),
			gai_strerror(rc));
	f = try_bind(cx, info);
	freeaddrinfo(info);
	return f;
}

/* --- all of them --- */

static const struct {
	const char *name;
	struct finding (*run)(struct ctx *cx);
} checks[] = {
	{ "data directory", check_directory },
	{ "disk", check_disk },
	{ "database", check_database },
	{ "recovery", check_recovery },
	{ "address", check_port },
	{ "clock", check_clock },
	{ "open files", check_files },
	{ "landlock", check_landlock },
	{ "seccomp", check_seccomp },
	{ "user namespaces", check_namespaces },
	{ "sandbox", check_sandbox },
	{ "control groups", check_group },
};

static const char *const level_names[] = { [FINE] = "ok", [WARN] = "warn", [BAD] = "fail" };

static void
write_json(struct json_out *o, const char *name, const struct finding *f)
{
	json_out_object(o, NULL);
	json_out_str(o, "name", str_of(name));
	json_out_str(o, "level", str_of(level_names[f->level]));
	json_out_str(o, "message", f->sentence);
	json_out_end(o);
}

static bool
is_place(const struct setting *s)
{
	return s->offset == offsetof(struct config, data) || s->offset == offsetof(struct config, database) ||
	       s->offset == offsetof(struct config, listen);
}

/* Where it looked. Who runs the server with other settings sees that this was not its place. */
static void
write_places(struct ctx *cx, struct buf *b, struct json_out *o, bool json)
{
	if (!json)
		buf_add(b, STR("Looked at"));
	for (size_t row = 0; row < setting_count; row++) {
		const char *name = settings[row].flag.name;
		str value = config_shown(cx->arena, &cx->app->config, &settings[row]);

		if (!is_place(&settings[row]) || !value.len)
			continue;
		if (json)
			json_out_str(o, name, value);
		else
			buf_printf(b, " --%s %.*s", name, STR_ARG(value));
	}
	if (!json)
		buf_add(b, STR(" (give the server's own settings to look where it does)\n"));
}

status
run_doctor(struct ctx *cx, const struct cli_call *call)
{
	bool json = cli_given(call, "json", NULL);
	size_t bad = 0;
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	if (json)
		json_out_object(&o, NULL);
	write_places(cx, &b, &o, json);
	if (json)
		json_out_array(&o, "checks");
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct finding f = checks[i].run(cx);

		bad += f.level == BAD;
		if (json)
			write_json(&o, checks[i].name, &f);
		else
			buf_printf(&b, "%-4s  %s: %.*s\n", level_names[f.level], checks[i].name,
				STR_ARG(f.sentence));
	}
	if (json) {
		json_out_end(&o);
		json_out_bool(&o, "ok", bad == 0);
		json_out_end(&o);
		buf_add_char(&b, '\n');
	}
	TRY(app_print(cx, &b));
	return bad ? fail(cx, E_UNAVAILABLE, "%zu of the checks failed", bad) : OK;
}
