/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve: from a command line to a server, and back.
 *
 *	signals blocked -> database open -> listening -> database migrated, prepared
 *	  -> ready line -> serving -> (SIGTERM) draining -> database closed
 *
 * It listens before it migrates: a start that fails because the address is taken, or
 * because an operation is wrong, leaves the schema as it was. Nobody is served before
 * the ready line.
 *
 * One thread takes all signals, so nothing of ours runs inside a signal handler.
 */
#include "app/app.h"

#include "app/wrap/address.h"
#include "app/wrap/confines.h"
#include "app/page.h"
#include "app/store.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "core/event.h"
#include "core/gate/tool.h"
#include "core/oauth/document.h"
#include "core/oidc/oidc.h"
#include "core/oidc/provider.h"
#include "core/gate/toolset.h"
#include "core/gate/quick/behind.h"
#include "core/gate/quick/lease.h"
#include "core/proposal/sweeper.h"
#include "core/audit/seal/seal.h"
#include "core/people/setup.h"
#include "db/db.h"
#include "core/known/known.h"
#include "core/outside/lane.h"
#include "core/ident/recall.h"
#include "exec/webhook/command.h"
#include "exec/webhook/courier.h"
#include "exec/webhook/hook.h"
#include "face/callback/callback.h"
#include "domain/flag/live/live.h"
#include "domain/flag/reservoir/reservoir.h"
#include "exec/upstream/clients.h"
#include "exec/upstream/preview.h"
#include "face/console/console.h"
#include "face/mcp/mcp.h"
#include "face/oauth/oauth.h"
#include "face/ofrep/ofrep.h"
#include "face/rest/feed.h"
#include "face/rest/rest.h"
#include "http/http.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILES_BESIDES_CONNECTIONS 64u /* databases, logs, the loop's own */
/* Supervisors signal the process and its group: what comes so soon after the first is the same wish. */
#define SAME_STOP_US SECOND_US

/* --- signals --- */

static sigset_t
watched_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGUSR2); /* ours: the watcher may go */
	return set;
}

/* Again after SAME_STOP_US: somebody has lost patience. *first_us is 0 before the first time. */
static void
stop(struct app *app, int64_t *first_us)
{
	int64_t now = clock_mono_us();

	if (*first_us && now - *first_us < SAME_STOP_US)
		return;
	if (*first_us) {
		LOG(LOG_WARN, "server.forced", LOG_STR("why", STR("a second signal")));
		_exit(1);
	}
	*first_us = now;
	atomic_store(&app->draining, true);
	LOG(LOG_INFO, "server.stopping", LOG_INT("drain_seconds", app->config.drain_seconds));
	event_end(app->events);
	mcp_end(app->mcp); /* before the server ends all streams */
	if (app->needed_fd > 0)
		upstreams_give_up(app->upstreams); /* whoever comes next waits for our end */
	http_server_stop(app->server);
}

static void *
watch(void *arg)
{
	struct app *app = arg;
	sigset_t set = watched_signals();
	int signal_number = 0;
	int64_t first_us = 0;

	while (sigwait(&set, &signal_number) == 0 && signal_number != SIGUSR2) {
		if (signal_number == SIGHUP) {
			LOG(LOG_INFO, "server.reload");
			http_server_reload(app->server);
		} else {
			stop(app, &first_us);
		}
	}
	return NULL;
}

/*
 * The kernel wakes it when the last who needs us has ended, in whatever way. It holds the lock until the process has
 * ended, so that who comes meanwhile waits for that, and starts anew. Detached: nothing can wake it otherwise.
 */
static void *
wait_until_alone(void *arg)
{
	const struct app *app = arg;
	int rc;

	do
		rc = flock(app->needed_fd, LOCK_EX);
	while (rc != 0 && errno == EINTR);
	LOG(LOG_INFO, "server.alone");
	CHECK(kill(getpid(), SIGTERM) == 0);
	return NULL;
}

static void
start_waiting(struct app *app)
{
	pthread_t thread;

	if (app->needed_fd <= 0)
		return;
	CHECK(pthread_create(&thread, NULL, wait_until_alone, app) == 0);
	CHECK(pthread_detach(thread) == 0);
}

/* --- what http asks of us --- */

/* What the loop may answer comes by the hundred thousand: where all is well nobody reads a line of each. */
static enum log_level
answer_level(const struct http_exchange *x)
{
	if (x->status >= 500)
		return LOG_ERROR;
	return x->route && x->route->peek && x->status < 400 ? LOG_DEBUG : LOG_INFO;
}

/* One line per request. An error says its code, and where it is ours also what it was. */
static void
log_answer(const struct http_exchange *x, int64_t duration_us)
{
	const struct op *op = rest_op_of(x->route);
	const struct error *e = &x->cx->error;
	bool ours = x->status >= 500;
	struct log_field fields[10] = {
		LOG_STR("id", x->cx->request_id),
		LOG_STR("method", str_of(http_method_name(x->req.method))),
		LOG_STR("path", callback_path_shown(x->req.path)),
		LOG_INT("status", x->status),
		LOG_INT("us", duration_us),
		LOG_STR("peer", x->req.peer),
	};
	size_t n = 6;

	if (op)
		fields[n++] = LOG_STR("op", str_of(op->name));
	if (e->code != OK)
		fields[n++] = LOG_STR("code", str_of(status_info(e->code)->code));
	if (e->code != OK && ours)
		fields[n++] = LOG_STR("error", ctx_message(x->cx, e->code));
	log_write(answer_level(x), "http.request", fields);
}

static void
answered(const struct http_exchange *x, int64_t duration_us)
{
	figures_count(&x->cx->app->figures, x, duration_us);
	if (log_wants(answer_level(x)))
		log_answer(x, duration_us);
}

/* Before a handler: in the words of the face whose path it is. */
static void
refuse(struct http_exchange *x, status s)
{
	if (ofrep_owns(x))
		ofrep_refuse(x, s);
	else
		rest_refuse(x, s);
}

/* --- start --- */

/* Each connection is a file; the soft limit that shells give is for programs that have few. */
static void
raise_file_limit(const struct config *c)
{
	struct rlimit limit;
	rlim_t need = (rlim_t)c->max_connections + FILES_BESIDES_CONNECTIONS;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	if (limit.rlim_cur < need && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max < need ? limit.rlim_max : need;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur < need)
		LOG(LOG_WARN, "server.file_limit", LOG_INT("limit", limit.rlim_cur), LOG_INT("needed", need),
			LOG_STR("hint", STR("raise `ulimit -n` or lower max-connections")));
}

/* Said before anything is opened, and in the system's words rather than in OpenSSL's. */
static status
check_readable(struct ctx *cx, const char *setting, str file)
{
	if (file.len && access(arena_cstr(cx->arena, file), R_OK) != 0)
		return fail(cx, E_INVALID, "%s: %.*s cannot be read: %s", setting, STR_ARG(file),
			strerror(errno));
	return OK;
}

static status
prepare_database(struct ctx *cx)
{
	int applied;

	TRY(db_migrate(cx, &applied));
	if (applied)
		LOG(LOG_INFO, "database.migrated", LOG_INT("applied", applied));
	return db_prepare(cx);
}

static status
listen_on(struct ctx *cx)
{
	struct app *app = cx->app;
	const struct config *c = &app->config;
	struct config_address at = config_listen(c);
	struct http_route *routes;
	size_t count;
	struct http_options o = {
		.host = arena_cstr(cx->arena, at.host),
		.port = at.port,
		.workers = (int)c->workers,
		.max_connections = (int)c->max_connections,
		.max_connections_per_address = (int)c->max_connections_per_address,
		.tls_certificate = c->tls_certificate.len ? arena_cstr(cx->arena, c->tls_certificate) : NULL,
		.tls_key = c->tls_key.len ? arena_cstr(cx->arena, c->tls_key) : NULL,
		.drain_seconds = (int)c->drain_seconds,
		.proxies = config_proxies(cx->arena, c),
		.base = &app->base,
		.refuse = refuse,
		.done = answered,
	};

	app->base = (struct ctx){ .db = cx->db,
		.app = app,
		.tools = app->tools,
		.toolsets = app->toolsets,
		.events = app->events,
		.oidc = app->oidc,
		.oauth = app->oauth,
		.open_proposals = c->open_proposals,
		.public_url = c->public_url };
	TRY(rest_routes(cx, app_ops,
		PAGE_ROUTES + CONSOLE_ROUTES + OFREP_ROUTES + MCP_ROUTES + OAUTH_ROUTES + CALLBACK_ROUTES,
		&routes, &count));
	TRY(rest_openapi(cx, app_ops, &app->openapi));
	TRY(page_routes(cx, routes + count));
	count += PAGE_ROUTES;
	TRY(console_routes(cx, &plain_page, routes + count));
	count += CONSOLE_ROUTES;
	app->ofrep = ofrep_new();
	ofrep_routes(app->ofrep, routes + count);
	count += OFREP_ROUTES;
	mcp_routes(app->mcp, routes + count);
	count += MCP_ROUTES;
	TRY(oauth_routes(cx, &app->nameless, routes + count));
	count += OAUTH_ROUTES;
	callback_routes(routes + count);
	count += CALLBACK_ROUTES;
	figures_init(&app->figures, cx->arena, routes, count);
	return http_server_new(cx, &o, routes, count, &app->server);
}

/* What stands behind '#' is sent to no server: it gets into no log on the way. */
static status
offer_setup(struct ctx *cx, str url, struct buf *b)
{
	str secret;

	TRY(setup_offer(cx, &secret));
	if (secret.len)
		buf_printf(b,
			"Nobody has been set up yet. Open this link in a browser; it makes the first admin, "
			"once, "
			"within an hour:\n  %.*s" SETUP_PATH "#%.*s\n"
			"It leads on to your first agent, the line that connects it, and a first decision.\n"
			"(`countersign init` does the same without a browser, before the start.)\n",
			STR_ARG(url), STR_ARG(secret));
	return OK;
}

/* One line that a person can paste (RUN-1); the token is theirs to mint. */
static void
say_mcp(const struct app *app, str url, struct buf *b)
{
	buf_printf(b,
		"Agents connect by MCP, each with a token that the console gives it (docs/connect.md has "
		"other clients%s):\n"
		"  claude mcp add --transport http countersign %.*s/mcp --header \"Authorization: Bearer "
		"$COUNTERSIGN_TOKEN\"\n",
		app->nameless ? "" : ", and how to go without a token", STR_ARG(url));
	if (app->nameless)
		buf_add(b,
			STR("They need a token: OAuth is off, because other machines reach this server and "
			    "nobody has\nsaid by which name. Set public-url to the address they use (for "
			    "example\n--public-url https://countersign.example.org).\n"));
}

/* A name to be filled in where the address is of all interfaces: nobody connects to that. */
static str
address_for_others(struct arena *a, const struct app *app, str url)
{
	str host = config_listen(&app->config).host;

	if (app->config.public_url.len)
		return app->config.public_url;
	if (!str_eq(host, STR("0.0.0.0")) && !str_eq(host, STR("::")))
		return url;
	return arena_printf(a, "%s://THIS-MACHINE:%d", app->config.tls_certificate.len ? "https" : "http",
		http_server_port(app->server));
}

static status
say_ready(struct ctx *cx)
{
	const struct app *app = cx->app;
	struct config_address at = config_listen(&app->config);
	bool tls = app->config.tls_certificate.len > 0, v6 = str_find(at.host, ':') < at.host.len;
	str database, url;
	struct buf b;

	TRY(store_describe(cx, &database));
	url = arena_printf(cx->arena, "%s://%s%.*s%s:%d", tls ? "https" : "http", v6 ? "[" : "",
		STR_ARG(at.host), v6 ? "]" : "", http_server_port(app->server));
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	buf_printf(&b, "Countersign %s with %.*s\n", COUNTERSIGN_VERSION, STR_ARG(database));
	if (!tls && !config_is_loopback(at.host)) {
		LOG(LOG_WARN, "server.exposed", LOG_STR("url", url));
		buf_add(&b, STR("Warning: other machines can reach this address and TLS is off. Put a TLS "
				"proxy in "
				"front,\nor give --tls-certificate and --tls-key.\n"));
	}
	buf_printf(&b, "Countersign is ready at %.*s\n", STR_ARG(url));
	TRY(offer_setup(cx, app->config.public_url.len ? app->config.public_url : url, &b));
	say_mcp(app, address_for_others(cx->arena, app, url), &b);
	address_publish(cx, url);
	LOG(LOG_INFO, "server.ready", LOG_STR("url", url), LOG_STR("version", STR(COUNTERSIGN_VERSION)),
		LOG_STR("database", str_of(db_engine(app->db))));
	return app_print(cx, &b);
}

static status
start_sealer(struct ctx *cx)
{
	struct sealer_options o = { .db = cx->db, .keys = cx->keys, .held_dir = store_held_dir(cx) };

	TRY(sealer_start(cx, &o, &cx->app->sealer));
	cx->app->base.sealer = cx->app->sealer;
	cx->app->base.numbers = sealer_numbers(cx->app->sealer);
	return OK;
}

static enum upstream_programs
programs_of(const struct config *c)
{
	return str_eq(c->stdio_upstreams, STR("sandboxed"))    ? UPSTREAM_SANDBOXED
	       : str_eq(c->stdio_upstreams, STR("unconfined")) ? UPSTREAM_UNCONFINED
							       : UPSTREAM_NO_PROGRAMS;
}

static void
start_upstreams(struct ctx *cx)
{
	struct app *app = cx->app;
	struct walls *walls = ARENA_NEW(cx->arena, struct walls);

	confines_read(cx, walls);
	app->base.outside = &app->outside;
	app->upstreams = upstreams_new(&(struct upstreams_options){
		.base = &app->base, .programs = programs_of(&app->config), .walls = walls });
	app->outside.providers[TOOL_MCP] = (struct outside_provider){ .call = upstreams_call,
		.prepare = upstreams_prepare,
		.arg = app->upstreams,
		.source = upstream_source_of,
		.survey = preview_survey,
		.recheck = preview_recheck };
}

/* After the address is ours: the database, the keys that belong to it, and what works behind the requests. */
static status
start_kernel(struct ctx *cx)
{
	struct app *app = cx->app;

	TRY(prepare_database(cx));
	TRY(store_keys(cx, STR(INSTALLATION_NAME)));
	app->base.ops = app_ops;
	app->base.keys = cx->keys; /* no request has been accepted yet */
	TRY(start_sealer(cx));
	app->feed = feed_start(&(struct feed_options){ .db = app->db,
		.keys = cx->keys,
		.tools = app->tools,
		.toolsets = app->toolsets,
		.events = app->events });
	app->base.feed = app->feed;
	app->known = known_new();
	app->base.known = app->known;
	app->leases = leases_new();
	app->base.leases = app->leases;
	app->behind = behind_start(&(struct behind_options){ .db = app->db, .events = app->events });
	app->base.behind = app->behind;
	app->lanes = lanes_new();
	app->base.lanes = app->lanes;
	start_upstreams(cx);
	app->outside.providers[TOOL_WEBHOOK] =
		(struct outside_provider){ .call = command_call, .source = hook_source_of };
	app->courier = courier_start(&(struct courier_options){ .db = app->db, .keys = cx->keys });
	app->recall = recall_new(app->config.evaluations_per_second);
	app->base.recall = app->recall;
	app->live = live_new(&(struct live_options){ .base = &app->base });
	app->base.live = app->live;
	app->reservoir = reservoir_new(&app->base);
	app->base.reservoir = app->reservoir;
	ofrep_start(app->ofrep, &app->base);
	app->sweeper = sweeper_start(&(struct sweeper_options){ .db = app->db,
		.keys = cx->keys,
		.tools = app->tools,
		.toolsets = app->toolsets,
		.events = app->events,
		.leases = app->leases,
		.keep_us = app->config.kept_days * 86400 * SECOND_US,
		.also = app_sweeps });
	upstreams_start(app->upstreams);
	mcp_start(app->mcp);
	return say_ready(cx);
}

static status
serve_on(struct ctx *cx)
{
	struct app *app = cx->app;
	pthread_t watcher;
	status s = start_kernel(cx);

	if (s == OK) {
		CHECK(pthread_create(&watcher, NULL, watch, app) == 0);
		start_waiting(app);
		http_server_run(app->server);
		CHECK(pthread_kill(watcher, SIGUSR2) == 0);
		CHECK(pthread_join(watcher, NULL) == 0);
	}
	address_withdraw(cx);
	upstreams_stop(app->upstreams); /* first: nobody waits for another system any longer */
	sweeper_stop(app->sweeper);
	courier_stop(app->courier);
	feed_stop(app->feed); /* before the server: they hold streams */
	ofrep_stop(app->ofrep);
	mcp_stop(app->mcp);
	http_server_free(app->server);
	reservoir_free(app->reservoir);
	live_free(app->live);
	recall_free(app->recall);
	known_free(app->known);
	behind_stop(app->behind); /* after the last request: its row is written, too */
	leases_free(app->leases);
	upstreams_free(app->upstreams);
	lanes_free(app->lanes);
	sealer_stop(app->sealer); /* after the last request: what it recorded is sealed, too */
	return s;
}

/* The identity provider of the settings, or NULL. Whether it answers is found out when somebody signs in. */
static struct oidc *
provider(struct ctx *cx, const struct config *c)
{
	struct oidc_options o = {
		.issuer = c->oidc_issuer,
		.client_id = c->oidc_client_id,
		.client_secret = c->oidc_client_secret,
		.redirect_uri = arena_printf(cx->arena, "%.*s" OIDC_CALLBACK, STR_ARG(c->public_url)),
		.ca_file = c->oidc_ca.len ? arena_cstr(cx->arena, c->oidc_ca) : NULL,
		.newcomer_role = c->oidc_newcomer_role,
		.newcomer_domains = c->oidc_newcomer_domains,
		.at_once = (int)(c->workers + 1) / 2,
	};

	return c->oidc_issuer.len ? oidc_new(&o) : NULL;
}

static struct oauth *
authorization_server(struct ctx *cx, const struct config *c)
{
	return oauth_new(&(struct oauth_options){
		.registrations = c->oauth_registrations,
		.document_hosts = c->oauth_document_hosts,
		.ca_file = c->oauth_ca.len ? arena_cstr(cx->arena, c->oauth_ca) : NULL,
	});
}

/* By which names may MCP be called? A loopback server's are its own; another's are what public-url says. */
static struct mcp *
new_mcp(struct app *app, bool conformance)
{
	return mcp_new(&(struct mcp_options){
		.base = &app->base, .conformance = conformance, .any_host = app->nameless });
}

/* glibc's own are 128 KiB: an answer that is larger would be mapped, faulted in page by page, and unmapped. */
static void
set_malloc(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, (int)LIMIT_MALLOC_MMAP);
	(void)mallopt(M_TRIM_THRESHOLD, (int)LIMIT_MALLOC_KEEP);
}

static status
serve(struct ctx *cx, bool conformance)
{
	struct app *app = cx->app;
	status s;

	set_malloc();
	TRY(registry_new(cx, app_tools, &app->tools));
	app->toolsets = toolsets_new(app->tools);
	app->oidc = provider(cx, &app->config);
	app->oauth = authorization_server(cx, &app->config);
	app->nameless = !config_is_loopback(config_listen(&app->config).host) && !app->config.public_url.len;
	app->events = event_hub_new((int)(app->config.workers / 2));
	app->mcp = new_mcp(app, conformance);
	s = listen_on(cx);
	if (s == OK)
		s = serve_on(cx);
	ofrep_free(app->ofrep);
	mcp_free(app->mcp);
	oidc_free(app->oidc);
	oauth_free(app->oauth);
	event_hub_free(app->events);
	toolsets_free(app->toolsets);
	registry_free(app->tools);
	return s;
}

status
run_serve(struct ctx *cx, const struct cli_call *call)
{
	sigset_t set = watched_signals();
	bool conformance = cli_given(call, "conformance", NULL);
	status s;

	if (conformance && !config_is_loopback(config_listen(&cx->app->config).host))
		return fail(cx, E_INVALID,
			"--conformance is for this machine only: its fixture asks nobody who they are; "
			"listen on "
			"127.0.0.1");
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0); /* every thread made from here on inherits it */
	TRY(check_readable(cx, "tls-certificate", cx->app->config.tls_certificate));
	TRY(check_readable(cx, "tls-key", cx->app->config.tls_key));
	TRY(check_readable(cx, "oidc-ca", cx->app->config.oidc_ca));
	TRY(check_readable(cx, "oauth-ca", cx->app->config.oauth_ca));
	raise_file_limit(&cx->app->config);
	TRY(store_open(cx, true));
	s = serve(cx, conformance);
	store_close(cx);
	if (s == OK)
		LOG(LOG_INFO, "server.stopped");
	return s;
}
