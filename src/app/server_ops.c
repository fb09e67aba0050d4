/* SPDX-License-Identifier: Apache-2.0 */
#include "app/server_ops.h"

#include "app/app.h"
#include "app/metrics.h"
#include "base/fault.h"
#include "core/audit/seal/seal.h"
#include "db/db.h"

/* --- health --- */

struct health_out {
	str status;
};
static const char *const health_words[] = { "ok", NULL };
static const struct field health_out[] = {
	FIELD_TEXT(struct health_out, status, .need = true, .choices = health_words, .doc = "It is alive."),
	FIELD_END,
};

static status
run_health(struct ctx *cx, const void *in, struct json_out *out)
{
	(void)cx;
	(void)in;
	json_out_str(out, "status", STR("ok"));
	return OK;
}

struct ready_out {
	str status, database, audit;
	int64_t schema_version, commits_waiting;
};
static const char *const audit_words[] = { "ok", "refused", NULL };
static const char *const ready_words[] = { "ready", "reads_only", NULL };
static const char *const engines[] = { "sqlite", "postgres", NULL };
static const struct field ready_out[] = {
	FIELD_TEXT(struct ready_out, status, .need = true, .choices = ready_words,
		.doc = "It can do work; or reads_only: the database does not answer commits, as where a "
		       "synchronous "
		       "standby is missing. Some connections are kept for reads."),
	FIELD_TEXT(struct ready_out, database, .need = true, .choices = engines,
		.doc = "Which database it uses."),
	FIELD_INT(struct ready_out, schema_version, .need = true, .min = 1,
		.doc = "The version of its schema."),
	FIELD_TEXT(struct ready_out, audit, .need = true, .choices = audit_words,
		.doc = "ok; or refused: the log of an organization is not sealed or signed, because it was "
		       "tampered with or rolled back. The server's own log says how (audit.refused)."),
	FIELD_INT(struct ready_out, commits_waiting, .need = true, .min = 0,
		.doc = "Commits that the database has not answered for five seconds."),
	FIELD_END,
};

static str
audit_word(const struct app *app)
{
	struct sealer_stats s = { .rounds = 0 };

	if (app->sealer)
		sealer_stats(app->sealer, &s);
	return s.refused ? STR("refused") : STR("ok");
}

static status
run_ready(struct ctx *cx, const void *in, struct json_out *out)
{
	struct ready_out answer = { .status = STR("ready"), .database = str_of(db_engine(cx->db)) };
	struct db_schema schema;
	struct db_stats stats;

	(void)in;
	if (atomic_load(&cx->app->draining))
		return fail(cx, E_UNAVAILABLE, "the server is stopping");
	TRY(db_schema(cx, &schema));
	if (schema.version < migrations[migration_count - 1].version)
		return fail(cx, E_SCHEMA,
			"the database's schema is older than this server; it was changed while it ran");
	answer.schema_version = schema.version;
	db_stats(cx->db, &stats);
	answer.commits_waiting = stats.commits_waiting;
	if (stats.commits_waiting)
		answer.status = STR("reads_only");
	answer.audit = audit_word(cx->app);
	json_out_fields(out, ready_out, &answer);
	return OK;
}

/* --- metrics, openapi: texts --- */

static status
run_metrics(struct ctx *cx, const void *in, struct json_out *out)
{
	(void)in;
	metrics_write(cx->app, out->buf);
	return OK;
}

static status
run_openapi(struct ctx *cx, const void *in, struct json_out *out)
{
	(void)in;
	json_out_raw(out, NULL, cx->app->openapi);
	return OK;
}

/* --- version --- */

struct version_out {
	str name, version, compiler;
	bool faults;
};
static const struct field version_out[] = {
	FIELD_TEXT(struct version_out, name, .need = true, .doc = "countersign."),
	FIELD_TEXT(struct version_out, version, .need = true, .doc = "The version of the program."),
	FIELD_TEXT(struct version_out, compiler, .need = true, .doc = "What it was compiled with."),
	FIELD_BOOL(struct version_out, faults, .need = true,
		.doc = "Whether fault points are compiled in; never in a release."),
	FIELD_END,
};

static status
run_version(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct version_out answer = {
		.name = STR(PROGRAM),
		.version = STR(COUNTERSIGN_VERSION),
		.compiler = STR(__VERSION__),
		.faults = fault_enabled(),
	};

	(void)cx;
	(void)in;
	json_out_fields(out, version_out, &answer);
	return OK;
}

/* --- config --- */

struct config_out {
	struct json *settings;
};
static const struct field config_out[] = {
	FIELD_JSON(struct config_out, settings, .need = true,
		.doc = "One object per setting: name, value (secrets masked) and source: default, file, "
		       "environment or flag."),
	FIELD_END,
};

static status
run_config(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct config *c = &cx->app->config;

	(void)in;
	json_out_array(out, "settings");
	for (size_t row = 0; row < setting_count; row++) {
		if (!(settings[row].where & IN_SERVE))
			continue; /* a client's: not used here */
		json_out_object(out, NULL);
		json_out_str(out, "name", str_of(settings[row].flag.name));
		json_out_str(out, "value", config_shown(cx->arena, c, &settings[row]));
		json_out_str(out, "source", str_of(config_source_name(c->source[row])));
		json_out_end(out);
	}
	json_out_end(out);
	return OK;
}

const struct op server_ops[] = {
	{ .name = "server_health",
		.method = "GET",
		.path = "/healthz",
		.rule = RULE_PUBLIC,
		.where = OP_INLINE,
		.doc = "Says that the server is alive. It does not ask the database; see server_ready.",
		.out = health_out,
		.run = run_health },
	{ .name = "server_ready",
		.method = "GET",
		.path = "/readyz",
		.rule = RULE_PUBLIC,
		.doc = "Says whether the server can do work. It can while the database answers with the "
		       "right "
		       "schema and no stop has been asked for.",
		.out = ready_out,
		.errors = OP_ERRORS(E_UNAVAILABLE, E_SCHEMA),
		.run = run_ready },
	{ .name = "server_metrics",
		.method = "GET",
		.path = "/metrics",
		.rule = RULE_PUBLIC,
		.where = OP_INLINE,
		.doc = "Gives figures for Prometheus. They name operations and sums, never people, paths or "
		       "content.",
		.content_type = METRICS_CONTENT_TYPE,
		.run = run_metrics },
	{ .name = "server_version",
		.method = "GET",
		.path = "/api/v1/version",
		.rule = RULE_PUBLIC,
		.where = OP_INLINE,
		.doc = "Says which version this is.",
		.out = version_out,
		.run = run_version },
	{ .name = "server_config",
		.method = "GET",
		.path = "/api/v1/config",
		.rule = "server.config.read",
		.tx = OP_TX_READ,
		.doc = "Lists every setting, its value and where it came from. Secrets are masked.",
		.out = config_out,
		.run = run_config },
	{ .name = "openapi",
		.method = "GET",
		.path = "/openapi.json",
		.rule = RULE_PUBLIC,
		.where = OP_INLINE,
		.doc = "Gives this API as an OpenAPI 3.1 document.",
		.content_type = "application/json",
		.run = run_openapi },
	{ 0 },
};
