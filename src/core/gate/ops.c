/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue, the agents' tiers and the people's overrides as operations (TL-2, TL-6, TL-7). */
#include "base/limits.h"
#include "core/gate/gate.h"
#include "core/gate/toolset.h"
#include "core/people/change.h"
#include "db/db.h"
#include "json/bind.h"

#include "core/gate/permission.sql.h" /* SQL_PERMISSION_*, generated from permission.sql */

/* --- the catalogue --- */

struct tools_out {
	struct json *tools;
};
static const struct field tools_out[] = {
	FIELD_JSON(struct tools_out, tools, .need = true, .doc = "By name, each with all it declares."),
	FIELD_END,
};

static void
out_rules(const struct tool *t, struct json_out *o)
{
	json_out_array(o, "rules");
	for (size_t i = 0; t->rules[i]; i++)
		json_out_str(o, NULL, str_of(t->rules[i]));
	json_out_end(o);
	if (t->propose_rule)
		json_out_str(o, "proposeRule", str_of(t->propose_rule));
}

static void
out_tool(struct ctx *cx, const struct tool *t, struct json_out *o)
{
	json_out_str(o, "name", str_of(t->name));
	json_out_str(o, "modelName", tool_model_name(cx->arena, t));
	json_out_int(o, "version", t->version);
	json_out_str(o, "title", str_of(t->title));
	json_out_str(o, "description", str_of(t->doc));
	json_out_str(o, "effect", str_of(effect_name(t->effect)));
	json_out_raw(o, "inputSchema", tool_in_text(cx->tools, t));
	json_out_raw(o, "outputSchema", tool_out_text(cx->tools, t));
	out_rules(t, o);
	json_out_str(o, "category", str_of(category_name(t->category)));
	json_out_str(o, "domain", str_of(t->domain));
	json_out_str(o, "targetSystem", str_of(t->target));
	json_out_bool(o, "rollbackSupported", t->rollback);
	json_out_bool(o, "financial", t->financial);
	json_out_bool(o, "personalData", t->personal_data);
	json_out_bool(o, "phi", t->phi);
	json_out_str(o, "contract", str_of(contract_name(t->contract)));
	json_out_str(o, "provider", str_of(provider_name(t->provider)));
}

static status
run_tools(struct ctx *cx, const void *in, struct json_out *out)
{
	struct permission_snapshot snapshot;
	bool stored;

	(void)in;
	TRY(permission_load(cx, cx->caller, &snapshot));
	json_out_array(out, "tools");
	for (size_t i = 0; i < registry_count(cx->tools); i++) {
		const struct tool *t = registry_at(cx->tools, i);

		if (!gate_lists(cx->caller, &snapshot, t))
			continue;
		json_out_object(out, NULL);
		out_tool(cx, t, out);
		json_out_str(
			out, "permissionStatus", str_of(tier_name(permission_tier(&snapshot, t, &stored))));
		json_out_bool(out, "override", permission_override(&snapshot, t));
		json_out_end(out);
	}
	json_out_end(out);
	return OK;
}

/* --- an agent's tiers --- */

struct agent_in {
	str id;
};
static const struct field agent_in[] = {
	FIELD_TEXT(struct agent_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which agent."),
	FIELD_END,
};

struct name_row {
	str name;
};
static const struct field name_row[] = { FIELD_TEXT(struct name_row, name), FIELD_END };

/* Another tenant's agent, and what is no agent, is not there. */
static status
find_agent(struct ctx *cx, str id, str *out_name)
{
	struct name_row found;
	status s = db_one(cx, SQL_PERMISSION_AGENT, name_row, &found, TEXT(cx->caller->org_id), TEXT(id));

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "there is no agent with this id");
	TRY(s);
	*out_name = found.name;
	return OK;
}

static status
load_of(struct ctx *cx, str agent_id, struct permission_snapshot *out)
{
	struct caller agent = { .org_id = cx->caller->org_id, .principal_id = agent_id };

	return permission_load(cx, &agent, out);
}

/* What is blocked for the agent who asks is not there for it, whomever it asks about (TL-2). */
static bool
is_hidden(const struct permission_snapshot *own, const struct tool *t)
{
	bool stored;

	return own && permission_tier(own, t, &stored) == TIER_BLOCKED;
}

/* The tiers of the agent who asks; NULL for people. */
static status
load_own(struct ctx *cx, struct permission_snapshot *space, const struct permission_snapshot **out)
{
	*out = cx->caller->kind == PRINCIPAL_AGENT ? space : NULL;
	return *out ? permission_load(cx, cx->caller, space) : OK;
}

static status
out_tiers(struct ctx *cx, const struct permission_snapshot *s, struct json_out *out)
{
	const struct permission_snapshot *own;
	struct permission_snapshot space;

	TRY(load_own(cx, &space, &own));
	json_out_array(out, "tools");
	for (size_t i = 0; i < registry_count(cx->tools); i++) {
		const struct tool *t = registry_at(cx->tools, i);
		bool stored;
		enum tier tier = permission_tier(s, t, &stored);

		if (is_hidden(own, t))
			continue;
		json_out_object(out, NULL);
		json_out_str(out, "toolName", str_of(t->name));
		json_out_str(out, "permissionStatus", str_of(tier_name(tier)));
		json_out_bool(out, "stored", stored);
		json_out_end(out);
	}
	json_out_end(out);
	return OK;
}

status
permission_out(struct ctx *cx, str agent_id, struct json_out *out)
{
	struct permission_snapshot snapshot;
	str name;

	TRY(find_agent(cx, agent_id, &name));
	TRY(load_of(cx, agent_id, &snapshot));
	return out_tiers(cx, &snapshot, out);
}

static status
run_agent_tools(struct ctx *cx, const void *in, struct json_out *out)
{
	return permission_out(cx, ((const struct agent_in *)in)->id, out);
}

struct put_in {
	str id;
	struct json *tools;
};
static const struct field put_in[] = {
	FIELD_TEXT(struct put_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which agent."),
	FIELD_JSON(struct put_in, tools, .need = true,
		.doc = "All that shall be stored: [{toolName, permissionStatus}], by either name of the "
		       "tool; every other tool has its default."),
	FIELD_END,
};

const char *const permission_tiers[] = { "always_allow", "needs_approval", "blocked", NULL };
struct tier_in {
	str tool_name, permission_status;
};
static const struct field tier_in[] = {
	FIELD_TEXT(struct tier_in, tool_name, .need = true, .min = 1, .max = LIMIT_TOOL_NAME),
	FIELD_TEXT(struct tier_in, permission_status, .need = true, .choices = permission_tiers),
	FIELD_END,
};

static status
bad_item(struct ctx *cx, size_t index, const char *what)
{
	ctx_clear(cx);
	fail_issue(cx, arena_printf(cx->arena, "/tools/%zu", index), str_of(what));
	return fail(cx, E_INVALID, "/tools/%zu %s", index, what);
}

/* What models call it will do; the registry's name is kept. */
static bool
name_tool(const struct ctx *cx, str *name)
{
	const struct tool *t = tool_find(cx->tools, *name);

	if (!t)
		t = tool_of_model(cx->tools, *name);
	if (t)
		*name = str_of(t->name);
	return t != NULL;
}

static status
read_tiers(struct ctx *cx, const struct json *list, struct tier_in **out)
{
	struct tier_in *items;
	size_t n = 0;

	if (list->type != JSON_ARRAY || list->count > LIMIT_AGENT_TOOLS) {
		fail_issue(cx, STR("/tools"), STR("must be a list of {toolName, permissionStatus}"));
		return fail(cx, E_INVALID, "/tools must be a list of {toolName, permissionStatus}");
	}
	items = arena_alloc(cx->arena, (list->count + 1) * sizeof(*items));
	JSON_EACH (item, list) {
		TRY(fail_below(cx, arena_printf(cx->arena, "/tools/%zu", n),
			json_bind(cx, item, tier_in, sizeof(*items), &items[n])));
		if (!name_tool(cx, &items[n].tool_name))
			return bad_item(cx, n, "names a tool that there is not");
		for (size_t i = 0; i < n; i++)
			if (str_eq(items[i].tool_name, items[n].tool_name))
				return bad_item(cx, n, "names a tool twice");
		n++;
	}
	*out = items;
	return OK;
}

static struct json *
describe(struct ctx *cx, const struct permission_snapshot *s)
{
	struct json *o = json_new_object(cx->arena);

	for (size_t i = 0; i < s->count; i++)
		json_add_member(
			o, s->rows[i].tool, json_new_string(cx->arena, str_of(tier_name(s->rows[i].tier))));
	return o;
}

static status
store_tiers(struct ctx *cx, str agent_id, const struct tier_in *items, size_t count)
{
	str org_id = cx->caller->org_id;

	TRY(db_run(cx, SQL_PERMISSION_CLEAR, TEXT(org_id), TEXT(agent_id)));
	for (size_t i = 0; i < count; i++) {
		const struct tool *t = tool_find(cx->tools, items[i].tool_name);

		TRY(db_run(cx, SQL_PERMISSION_SET, TEXT(org_id), TEXT(agent_id), TEXT(items[i].tool_name),
			TEXT(str_of(provider_name(t->provider))), TEXT(items[i].permission_status)));
	}
	return OK;
}

static status
run_put_tools(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct put_in *i = in;
	struct permission_snapshot was, now;
	struct tier_in *items;
	str name;

	TRY(find_agent(cx, i->id, &name));
	TRY(read_tiers(cx, i->tools, &items));
	TRY(load_of(cx, i->id, &was));
	TRY(store_tiers(cx, i->id, items, i->tools->count));
	TRY(load_of(cx, i->id, &now));
	TRY(change_record(cx, AUDIT_PERMISSION_CHANGED, "principal", i->id, name, describe(cx, &was),
		describe(cx, &now)));
	return out_tiers(cx, &now, out);
}

static status
find_tool(struct ctx *cx, str name, const struct tool **out)
{
	const struct permission_snapshot *own;
	struct permission_snapshot space;
	const struct tool *t = tool_find(cx->tools, name);

	TRY(load_own(cx, &space, &own));
	if (!t || is_hidden(own, t))
		return fail(cx, E_NOT_FOUND, "there is no tool called \"%.*s\"", STR_ARG(name));
	*out = t;
	return OK;
}

status
permission_set(struct ctx *cx, str agent_id, str tool, enum tier tier, struct permission_change *out)
{
	str org_id = cx->caller->org_id;
	struct permission_snapshot was, now;
	struct permission_change change;
	const struct tool *t;

	TRY(find_agent(cx, agent_id, &change.agent_name));
	TRY(find_tool(cx, tool, &t));
	TRY(load_of(cx, agent_id, &was));
	change.was = permission_tier(&was, t, &change.was_stored);
	TRY(db_run(cx, SQL_PERMISSION_UNSET, TEXT(org_id), TEXT(agent_id), TEXT(tool)));
	TRY(db_run(cx, SQL_PERMISSION_SET, TEXT(org_id), TEXT(agent_id), TEXT(tool),
		TEXT(str_of(provider_name(t->provider))), TEXT(str_of(tier_name(tier)))));
	TRY(load_of(cx, agent_id, &now));
	TRY(change_record(cx, AUDIT_PERMISSION_CHANGED, "principal", agent_id, change.agent_name,
		describe(cx, &was), describe(cx, &now)));
	*out = change;
	return OK;
}

/* --- overrides: "approve always" --- */

struct override_row {
	str agent_id, tool_name;
	int64_t created_at;
};
static const struct field override_row[] = {
	FIELD_TEXT(struct override_row, agent_id),
	FIELD_TEXT(struct override_row, tool_name),
	FIELD_INT(struct override_row, created_at),
	FIELD_END,
};

struct overrides_out {
	struct json *overrides;
};
static const struct field overrides_out[] = {
	FIELD_JSON(struct overrides_out, overrides, .need = true, .doc = "Your own."),
	FIELD_END,
};

static status
run_overrides(struct ctx *cx, const void *in, struct json_out *out)
{
	struct override_row *rows;
	size_t count;

	(void)in;
	TRY(db_all(cx, SQL_PERMISSION_OVERRIDE_LIST, override_row, sizeof(*rows), &rows, &count,
		TEXT(cx->caller->org_id), TEXT(cx->caller->principal_id)));
	json_out_array(out, "overrides");
	for (size_t i = 0; i < count; i++) {
		json_out_object(out, NULL);
		json_out_str(out, "agentId", rows[i].agent_id);
		json_out_str(out, "toolName", rows[i].tool_name);
		json_out_time(out, "createdAt", rows[i].created_at);
		json_out_end(out);
	}
	json_out_end(out);
	return OK;
}

struct override_in {
	str agent_id, tool_name;
};
static const struct field override_in[] = {
	FIELD_TEXT(struct override_in, agent_id, .need = true, .min = 1, .max = 64, .doc = "Which agent."),
	FIELD_TEXT(struct override_in, tool_name, .need = true, .min = 1, .max = LIMIT_TOOL_NAME,
		.doc = "Which tool."),
	FIELD_END,
};

struct override_out {
	str agent_id, tool_name;
};
static const struct field override_out[] = {
	FIELD_TEXT(struct override_out, agent_id, .need = true, .doc = "Which agent."),
	FIELD_TEXT(struct override_out, tool_name, .need = true, .doc = "Which tool."),
	FIELD_END,
};

/* A standing yes is a vote: it takes a person, and a credential that may vote (AP-3, TL-7). */
static status
require_person(struct ctx *cx)
{
	if (cx->caller->kind == PRINCIPAL_USER && cx->caller->may_vote)
		return OK;
	return fail(cx, E_FORBIDDEN,
		"Forbidden: this override (only a person makes one, signed in or with a token minted for "
		"voting)");
}

static status
record_override(struct ctx *cx, enum audit_action action, const struct override_in *o)
{
	struct audit_entry e = { .action = action,
		.resource_type = STR("tool_override"),
		.resource_id = o->agent_id,
		.resource_key = o->tool_name,
		.agent_id = o->agent_id,
		.tool = o->tool_name,
		.with_override = true };

	return audit_add(cx, &e, NULL);
}

/* Not there at all, or only not now. */
static status
refuse_absent(struct ctx *cx, str name)
{
	struct toolset_tool away;
	status s = toolset_get(cx, cx->caller->org_id, name, &away);

	if (s == E_NOT_FOUND)
		return fail(cx, s, "there is no tool called \"%.*s\"", STR_ARG(name));
	TRY(s);
	return fail(cx, E_CONFLICT,
		"%.*s is not offered now (quarantined, or its server is away); say it again when it is",
		STR_ARG(name));
}

/* A standing yes is to what one can see now: not to what nobody offers, nor to what would be asked about all the same.
 * One that was made stays while its tool is away, and counts again when it is back. */
static status
require_liftable(struct ctx *cx, str name)
{
	const struct tool *t = tool_find(cx->tools, name);
	const char *never = t ? policy_never_lifted(t) : NULL;

	if (!t)
		return refuse_absent(cx, name);
	return never ? fail(cx, E_CONFLICT, "\"approve always\" would never count for %s: %s", t->name, never)
		     : OK;
}

static status
run_override_add(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct override_in *i = in;
	int64_t now_us;
	str name;

	TRY(require_person(cx));
	TRY(find_agent(cx, i->agent_id, &name));
	TRY(require_liftable(cx, i->tool_name));
	TRY(tx_now_us(cx, &now_us));
	TRY(db_run(cx, SQL_PERMISSION_OVERRIDE_ADD, TEXT(cx->caller->org_id), TEXT(cx->caller->principal_id),
		TEXT(i->agent_id), TEXT(i->tool_name), INT(now_us)));
	TRY(record_override(cx, AUDIT_OVERRIDE_CREATED, i));
	json_out_fields(out, override_out, i);
	return OK;
}

static status
run_override_delete(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct override_in *i = in;
	int64_t rows;

	if (cx->caller->kind != PRINCIPAL_USER)
		return require_person(cx);
	TRY(db_run_count(cx, SQL_PERMISSION_OVERRIDE_DELETE, &rows, TEXT(cx->caller->org_id),
		TEXT(cx->caller->principal_id), TEXT(i->agent_id), TEXT(i->tool_name)));
	if (rows == 0)
		return fail(cx, E_NOT_FOUND, "you have no such override");
	TRY(record_override(cx, AUDIT_OVERRIDE_DELETED, i));
	json_out_fields(out, override_out, i);
	return OK;
}

const struct op gate_ops[] = {
	{ .name = "tool_list",
		.method = "GET",
		.path = "/api/v1/tools",
		.rule = RULE_ANYBODY,
		.tx = OP_TX_READ,
		.doc = "Lists the tools that you may run or propose, with all they declare.",
		.out = tools_out,
		.errors = OP_ERRORS(E_UNAVAILABLE),
		.run = run_tools },
	{ .name = "agent_tools",
		.method = "GET",
		.path = "/api/v1/agents/{id}/tools",
		.rule = "access.agent.read",
		.tx = OP_TX_READ,
		.doc = "Shows what an agent may do with each tool: always_allow, needs_approval or blocked.",
		.in = agent_in,
		.in_size = sizeof(struct agent_in),
		.out = tools_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_UNAVAILABLE),
		.run = run_agent_tools },
	{ .name = "agent_tools_put",
		.method = "PUT",
		.path = "/api/v1/agents/{id}/tools",
		.rule = "access.agent.manage",
		.effect = OP_MUTATE,
		.authority = true,
		.tx = OP_TX_RIGHTS,
		.doc = "Says what an agent may do with each tool. It is the full set: what it does not name "
		       "goes "
		       "back to its default.",
		.in = put_in,
		.in_size = sizeof(struct put_in),
		.out = tools_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_UNAVAILABLE, E_COMMIT_UNKNOWN),
		.run = run_put_tools },
	{ .name = "override_list",
		.method = "GET",
		.path = "/api/v1/tool-overrides",
		.rule = RULE_ANYBODY,
		.tx = OP_TX_READ,
		.doc = "Lists the tools that you always approve, by agent.",
		.out = overrides_out,
		.errors = OP_ERRORS(E_UNAVAILABLE),
		.run = run_overrides },
	{ .name = "override_create",
		.method = "POST",
		.path = "/api/v1/tool-overrides",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Always approves a tool for an agent that acts for you. It never lifts what is "
		       "destructive, of high risk, of category C or guarded by a compliance mode; of a tool "
		       "for which it could never count it is refused.",
		.in = override_in,
		.in_size = sizeof(struct override_in),
		.out = override_out,
		.success = 201,
		.errors = OP_ERRORS(E_NOT_FOUND, E_CONFLICT, E_UNAVAILABLE, E_COMMIT_UNKNOWN),
		.run = run_override_add },
	{ .name = "override_delete",
		.method = "DELETE",
		.path = "/api/v1/tool-overrides",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Takes an override back.",
		.in = override_in,
		.in_size = sizeof(struct override_in),
		.out = override_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_UNAVAILABLE, E_COMMIT_UNKNOWN),
		.run = run_override_delete },
	{ 0 },
};
