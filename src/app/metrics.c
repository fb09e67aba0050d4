/* SPDX-License-Identifier: Apache-2.0 */
#include "app/metrics.h"

#include "app/app.h"
#include "base/scoped.h"
#include "core/audit/seal/seal.h"
#include "core/event.h"
#include "core/outside/lane.h"
#include "core/slot.h"
#include "db/db.h"
#include "domain/flag/live/live.h"
#include "http/http.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

static void
head(struct buf *b, const char *name, const char *type, const char *doc)
{
	buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, doc, name, type);
}

static void
one(struct buf *b, const char *name, const char *type, const char *doc, int64_t n)
{
	head(b, name, type, doc);
	buf_printf(b, "%s %" PRId64 "\n", name, n);
}

/* The second number of /proc/self/statm: pages in memory. */
static int64_t
resident_bytes(void)
{
	scoped_fd fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char text[128];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	str size, rest, resident;
	int64_t pages;

	if (n <= 0 || !str_cut((str){ text, (size_t)n }, ' ', &size, &rest) ||
		!str_cut(rest, ' ', &resident, &rest) || !str_to_int(resident, &pages))
		return 0;
	return pages * sysconf(_SC_PAGESIZE);
}

/* Newer kernels (6.2) say how many without a walk. */
static int64_t
open_files(void)
{
	struct stat st;
	int64_t n = 0;
	DIR *dir;

	if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0)
		return st.st_size;
	dir = opendir("/proc/self/fd");
	while (dir && readdir(dir))
		n++;
	if (dir)
		(void)closedir(dir);
	return n;
}

static void
write_process(const struct app *app, struct buf *b)
{
	head(b, "countersign_build_info", "gauge", "Which build this is; always 1.");
	buf_printf(b, "countersign_build_info{version=\"%s\"} 1\n", COUNTERSIGN_VERSION);
	one(b, "process_resident_memory_bytes", "gauge", "Memory in use.", resident_bytes());
	one(b, "process_open_fds", "gauge", "Open files and sockets.", open_files());
	head(b, "process_start_time_seconds", "gauge", "When the process began, in seconds since 1970.");
	buf_printf(b, "process_start_time_seconds %" PRId64 ".%06" PRId64 "\n", app->started_us / 1000000,
		app->started_us % 1000000);
	one(b, "countersign_draining", "gauge", "1 while the server is stopping.",
		atomic_load(&app->draining) ? 1 : 0);
}

static void
write_rulesets(const struct app *app, struct buf *b)
{
	struct live_stats s;

	live_stats(app->live, &s);
	one(b, "countersign_rulesets", "gauge", "Environments whose ruleset is loaded.", s.environments);
	one(b, "countersign_ruleset_bytes", "gauge", "Memory of all loaded rulesets.", s.bytes);
	one(b, "countersign_ruleset_loads_total", "counter", "Rulesets compiled so far.", s.loads);
}

static void
write_lanes(const struct app *app, struct buf *b)
{
	struct lane_stats s = lane_stats(app->lanes);

	one(b, "countersign_outside_calls", "gauge", "Calls to other systems on their way.", s.calls);
	one(b, "countersign_outside_waiting", "gauge", "Calls that wait for a place at another system.",
		s.waiting);
	one(b, "countersign_outside_busy", "gauge", "Other systems that a call is on its way to.", s.busy);
	one(b, "countersign_outside_broken", "gauge",
		"Other systems that are not asked for now, because they did not answer.", s.broken);
	one(b, "countersign_outside_refused_total", "counter",
		"Calls that were not made: too many were on their way, or the system did not answer.",
		s.refused);
}

static void
write_http(const struct app *app, struct buf *b)
{
	struct http_stats s;

	http_server_stats(app->server, &s);
	one(b, "countersign_http_connections", "gauge", "Open connections.", s.connections);
	one(b, "countersign_http_streams", "gauge", "Open event streams.", s.streams);
	one(b, "countersign_http_requests_total", "counter", "Requests that reached a handler.", s.requests);
	one(b, "countersign_http_refused_total", "counter", "Requests refused before a handler.", s.refused);
	one(b, "countersign_http_jobs_waiting", "gauge", "Requests waiting for a worker.", s.jobs_waiting);
}

static void
write_slots(const struct app *app, struct buf *b)
{
	struct slot_stats s;

	slot_stats(event_slots(app->events), &s);
	head(b, "countersign_streams_held", "gauge", "Event streams and waits that are held, by kind.");
	for (size_t k = 0; k < SLOT_KIND_COUNT; k++)
		buf_printf(b, "countersign_streams_held{kind=\"%s\"} %" PRId64 "\n",
			slot_kind_name((enum slot_kind)k), s.held[k]);
	head(b, "countersign_streams_refused_total", "counter",
		"Event streams and waits that were one too many for their holder, organization or server.");
	for (size_t k = 0; k < SLOT_KIND_COUNT; k++)
		buf_printf(b, "countersign_streams_refused_total{kind=\"%s\"} %" PRId64 "\n",
			slot_kind_name((enum slot_kind)k), s.refused[k]);
}

static void
write_db(const struct app *app, struct buf *b)
{
	struct db_stats s;

	db_stats(app->db, &s);
	one(b, "countersign_db_transactions_total", "counter", "Transactions committed.", s.transactions);
	one(b, "countersign_db_batches_total", "counter", "Commits of one or more transactions together.",
		s.batches);
	one(b, "countersign_db_reruns_total", "counter", "Transactions that ran again.", s.reruns);
	one(b, "countersign_db_unknown_total", "counter", "Commits whose outcome was not known.", s.unknown);
	one(b, "countersign_db_reconnects_total", "counter", "Connections made again.", s.reconnects);
	one(b, "countersign_db_round_trips_total", "counter",
		"Times that the server was waited for (PostgreSQL).", s.round_trips);
	one(b, "countersign_db_commits_waiting", "gauge",
		"COMMITs that the database has not answered for five seconds (PostgreSQL).",
		s.commits_waiting);
	one(b, "countersign_db_queue", "gauge",
		"Transactions waiting for the writer (SQLite) or for a connection (PostgreSQL).",
		s.queue_now);
}

static void
write_audit(const struct app *app, struct buf *b)
{
	struct sealer_stats s = { .rounds = 0 };

	if (app->sealer)
		sealer_stats(app->sealer, &s);
	one(b, "countersign_audit_refused", "gauge",
		"Organizations whose log is not sealed or signed, because it was tampered with or rolled "
		"back.",
		s.refused);
	one(b, "countersign_audit_failures_total", "counter",
		"Times that a log could not be sealed or signed.", s.failures);
	one(b, "countersign_audit_entries_total", "counter", "Entries sealed by this server.", s.entries);
	one(b, "countersign_audit_checkpoints_total", "counter", "Checkpoints signed by this server.",
		s.checkpoints);
}

void
metrics_write(struct app *app, struct buf *b)
{
	write_process(app, b);
	write_http(app, b);
	write_slots(app, b);
	figures_write(&app->figures, b);
	write_db(app, b);
	write_audit(app, b);
	write_lanes(app, b);
	write_rulesets(app, b);
}
