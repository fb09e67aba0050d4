/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/health.h"

#include "core/ident/caller.h"
#include "core/outside/lane.h"
#include "db/db.h"
#include "json/out.h"

#include "exec/health.sql.h" /* SQL_HEALTH_*, generated from health.sql */

struct health {
	str id, name, kind; /* http, stdio; sync, callback, events */
	bool disabled;
	int64_t looked_at;
	str problem;
	int64_t accepted, quarantined, waiting, dead;
};
static const struct field row[] = {
	FIELD_TEXT(struct health, id),
	FIELD_TEXT(struct health, name),
	FIELD_TEXT(struct health, kind),
	FIELD_BOOL(struct health, disabled),
	FIELD_INT(struct health, looked_at),
	FIELD_TEXT(struct health, problem),
	FIELD_INT(struct health, accepted),
	FIELD_INT(struct health, quarantined),
	FIELD_INT(struct health, waiting),
	FIELD_INT(struct health, dead),
	FIELD_END,
};

struct health_out {
	struct json *upstreams, *connections;
};
static const struct field health_out[] = {
	FIELD_JSON(struct health_out, upstreams, .need = true,
		.doc = "Other MCP servers, by name: {id, name, kind, state, breaker, breakerSince?, "
		       "failures, "
		       "calls, "
		       "answeredAt?, problem?, lookedAt?, accepted, quarantined}."),
	FIELD_JSON(struct health_out, connections, .need = true,
		.doc = "Connections, by name: {id, name, kind, state, breaker, breakerSince?, failures, "
		       "calls, "
		       "answeredAt?, problem?, accepted, waiting, dead}; empty for who may not manage them."),
	FIELD_END,
};

static void
write_lane(struct ctx *cx, struct json_out *o, str id)
{
	struct lane_state lane = cx->lanes ? lane_look(cx, id) : (struct lane_state){ .breaker = "closed" };

	json_out_str(o, "breaker", str_of(lane.breaker));
	if (lane.open_us)
		json_out_time(o, "breakerSince", lane.open_us);
	json_out_int(o, "failures", lane.failures);
	json_out_int(o, "calls", lane.calls);
	if (lane.last_us)
		json_out_time(o, "answeredAt", lane.last_us);
}

static void
write_health(struct ctx *cx, struct json_out *o, const struct health *h)
{
	json_out_object(o, NULL);
	json_out_str(o, "id", h->id);
	json_out_str(o, "name", h->name);
	json_out_str(o, "kind", h->kind);
	json_out_str(o, "state", h->disabled ? STR("disabled") : STR("active"));
	write_lane(cx, o, h->id);
	if (h->problem.len)
		json_out_str(o, "problem", h->problem);
	if (h->looked_at)
		json_out_time(o, "lookedAt", h->looked_at);
	json_out_int(o, "accepted", h->accepted);
	json_out_int(o, "quarantined", h->quarantined);
	json_out_int(o, "waiting", h->waiting);
	json_out_int(o, "dead", h->dead);
	json_out_end(o);
}

static status
write_all(struct ctx *cx, const struct sql *how, const char *key, struct json_out *out)
{
	struct health *rows = NULL;
	size_t count = 0;

	if (how)
		TRY(db_all(cx, how, row, sizeof(*rows), &rows, &count, TEXT(cx->caller->org_id)));
	json_out_array(out, key);
	for (size_t i = 0; i < count; i++)
		write_health(cx, out, &rows[i]);
	json_out_end(out);
	return OK;
}

static status
run_health(struct ctx *cx, const void *in, struct json_out *out)
{
	bool manages = caller_may(cx->caller, STR("webhook.connection.manage"));

	(void)in;
	TRY(write_all(cx, SQL_HEALTH_UPSTREAMS, "upstreams", out));
	return write_all(cx, manages ? SQL_HEALTH_CONNECTIONS : NULL, "connections", out);
}

const struct op health_ops[] = {
	{ .name = "outside_health",
		.method = "GET",
		.path = "/api/v1/outside/health",
		.rule = "mcp.upstream.read",
		.tx = OP_TX_READ,
		.doc = "Says how the other systems are: whether they answer, what waits to be accepted, what "
		       "could not be told.",
		.out = health_out,
		.errors = OP_ERRORS(E_UNAVAILABLE),
		.run = run_health },
	{ 0 },
};
