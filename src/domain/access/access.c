/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/access/access.h"

#include "base/limits.h"
#include "core/gate/permission.h"
#include "core/people/member.h"
#include "json/bind.h"

void
access_text(struct ctx *cx, struct json *o, const char *key, str text)
{
	json_add_member(o, str_of(key), json_new_string(cx->arena, text));
}

/* --- agents --- */

static const struct field list_in[] = { OP_PAGE_FIELDS(struct access_page), FIELD_END };

static status
out_agents(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct access_page *page = in;

	return member_out_agents(cx, page->after, page->limit, out);
}

static status
list_agents(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct access_page page = { 0 };
	struct tool_result r = {
		.summary = STR("List agents"), .resource_type = STR("principal"), .affected = STR("nothing")
	};

	TRY(json_bind(cx, call->input, list_in, sizeof(page), &page));
	TRY(tool_value(cx, out_agents, &page, &r.value));
	*out = r;
	return OK;
}

struct agent_out {
	str id, name, domain;
	bool disabled;
};
static const struct field agent_out[] = {
	FIELD_TEXT(struct agent_out, id, .need = true, .doc = "Its id."),
	FIELD_TEXT(struct agent_out, name, .need = true, .doc = "What people call it."),
	FIELD_TEXT(struct agent_out, domain, .need = true, .doc = "What it proposes in."),
	FIELD_BOOL(struct agent_out, disabled, .need = true, .doc = "Whether it is shut out."),
	FIELD_END,
};

static struct json *
show_agent(struct ctx *cx, const struct member *m, bool disabled)
{
	struct json *o = json_new_object(cx->arena);

	access_text(cx, o, "id", m->id);
	access_text(cx, o, "name", m->name);
	access_text(cx, o, "domain", m->domain);
	json_add_member(o, STR("disabled"), json_new_bool(cx->arena, disabled));
	return o;
}

static struct tool_result
about_agent(struct ctx *cx, str id, str name, const char *what)
{
	return (struct tool_result){
		.summary = arena_printf(cx->arena, "%s the agent \"%.*s\"", what, STR_ARG(name)),
		.resource_type = STR("principal"),
		.resource_key = id,
		.resource_id = id,
		.affected = STR("1 agent"),
	};
}

struct create_in {
	str name, domain;
};
static const struct field create_in[] = {
	FIELD_TEXT(struct create_in, name, .need = true, .min = 1, .max = LIMIT_NAME,
		.doc = "What people call it."),
	FIELD_TEXT(struct create_in, domain, .choices = member_domains,
		.doc = "What it proposes in; operations unless said."),
	FIELD_END,
};

static status
create_agent(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct create_in in = { .domain = STR("operations") };
	struct member m;

	TRY(json_bind(cx, call->input, create_in, sizeof(in), &in));
	m = (struct member){ .id = call->id,
		.kind = STR("agent"),
		.name = in.name,
		.domain = in.domain,
		.created_at = call->now_us };
	TRY(member_add_agent(cx, &m));
	*out = about_agent(cx, m.id, m.name, "Create");
	out->after = out->value = show_agent(cx, &m, false);
	return OK;
}

struct id_in {
	str id;
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Which agent."),
	FIELD_END,
};

static status
disable_agent(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct id_in in = { 0 };
	struct member m;

	TRY(json_bind(cx, call->input, id_in, sizeof(in), &in));
	TRY(member_load(cx, in.id, true, &m));
	if (m.disabled_at)
		return fail(cx, E_CONFLICT, "this agent is shut out already");
	TRY(member_set_disabled(cx, &m, true));
	*out = about_agent(cx, m.id, m.name, "Shut out");
	out->affected = STR("1 agent and all its tokens");
	out->before = show_agent(cx, &m, false);
	out->after = out->value = show_agent(cx, &m, true);
	return OK;
}

/* --- permissions --- */

struct agent_in {
	str agent_id;
};
static const struct field agent_in[] = {
	FIELD_TEXT(
		struct agent_in, agent_id, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Which agent."),
	FIELD_END,
};

struct tiers_out {
	struct json *tools;
};
static const struct field tiers_out[] = {
	FIELD_JSON(struct tiers_out, tools, .need = true, .doc = "[{toolName, permissionStatus, stored}]"),
	FIELD_END,
};

static status
out_permissions(struct ctx *cx, const void *in, struct json_out *out)
{
	return permission_out(cx, ((const struct agent_in *)in)->agent_id, out);
}

static status
list_permissions(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct agent_in in = { 0 };
	struct tool_result r = { .summary = STR("List an agent's permissions"),
		.resource_type = STR("principal"),
		.affected = STR("nothing") };

	TRY(json_bind(cx, call->input, agent_in, sizeof(in), &in));
	TRY(tool_value(cx, out_permissions, &in, &r.value));
	r.resource_key = r.resource_id = in.agent_id;
	*out = r;
	return OK;
}

struct set_in {
	str agent_id, tool, status;
};
static const struct field set_in[] = {
	FIELD_TEXT(struct set_in, agent_id, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Which agent."),
	FIELD_TEXT(struct set_in, tool, .need = true, .min = 1, .max = LIMIT_TOOL_NAME, .doc = "Which tool."),
	FIELD_TEXT(struct set_in, status, .need = true, .choices = permission_tiers,
		.doc = "What it may do with it."),
	FIELD_END,
};

struct permission_shown {
	str agent_id, tool, status;
	bool stored;
};
static const struct field permission_shown[] = {
	FIELD_TEXT(struct permission_shown, agent_id, .need = true, .doc = "Which agent."),
	FIELD_TEXT(struct permission_shown, tool, .need = true, .doc = "Which tool."),
	FIELD_TEXT(struct permission_shown, status, .need = true, .choices = permission_tiers,
		.doc = "What it may do with it."),
	FIELD_BOOL(struct permission_shown, stored, .need = true, .doc = "False: its default."),
	FIELD_END,
};

static struct json *
show_permission(struct ctx *cx, const struct set_in *in, enum tier tier, bool stored)
{
	struct json *o = json_new_object(cx->arena);

	access_text(cx, o, "agentId", in->agent_id);
	access_text(cx, o, "tool", in->tool);
	access_text(cx, o, "status", str_of(tier_name(tier)));
	json_add_member(o, STR("stored"), json_new_bool(cx->arena, stored));
	return o;
}

static status
set_permission(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct set_in in = { 0 };
	struct permission_change change;
	enum tier tier = TIER_BLOCKED;

	TRY(json_bind(cx, call->input, set_in, sizeof(in), &in));
	(void)tier_of(in.status, &tier); /* the field's choices */
	TRY(permission_set(cx, in.agent_id, in.tool, tier, &change));
	*out = about_agent(cx, in.agent_id, change.agent_name, "Change a permission of");
	out->summary = arena_printf(cx->arena, "Set %.*s to %.*s for the agent \"%.*s\"", STR_ARG(in.tool),
		STR_ARG(in.status), STR_ARG(change.agent_name));
	out->affected = STR("1 permission");
	out->before = show_permission(cx, &in, change.was, change.was_stored);
	out->after = out->value = show_permission(cx, &in, tier, true);
	return OK;
}

/* --- the declarations --- */

static const char *const reads_agents[] = { "access.agent.read", NULL };
static const char *const manages_agents[] = { "access.agent.manage", NULL };
static const char *const reads_permissions[] = { "access.permission.read", NULL };
static const char *const manages_permissions[] = { "access.permission.manage", NULL };

const struct tool access_tools[] = {
	{ .name = "agent.list",
		.version = 1,
		.title = "List agents",
		.doc = "Lists the agents of the organization.",
		.effect = OP_READ,
		.in = list_in,
		.in_size = sizeof(struct access_page),
		.out = op_list_out,
		.rules = reads_agents,
		.category = TOOL_CATEGORY_A,
		.domain = ACCESS_DOMAIN,
		.target = ACCESS_TARGET,
		.rollback = true,
		.run = list_agents },
	{ .name = "agent.create",
		.version = 1,
		.title = "Create an agent",
		.doc = "Adds an agent. It can do nothing before it has a token.",
		.effect = OP_MUTATE,
		.in = create_in,
		.in_size = sizeof(struct create_in),
		.out = agent_out,
		.rules = manages_agents,
		.propose_rule = "access.agent.propose",
		.domain = ACCESS_DOMAIN,
		.target = ACCESS_TARGET,
		.rollback = true, /* it can be shut out again, and had no rights by itself */
		.changes_rights = true,
		.failure = "The agent is not created; nothing else is affected.",
		.run = create_agent },
	{ .name = "agent.disable",
		.version = 1,
		.title = "Shut an agent out",
		.doc = "Shuts an agent out. Its tokens end in the same moment, for good.",
		.effect = OP_DESTRUCTIVE,
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = agent_out,
		.rules = manages_agents,
		.propose_rule = "access.agent.propose",
		.domain = ACCESS_DOMAIN,
		.target = ACCESS_TARGET,
		.changes_rights = true,
		.failure = "The agent and its tokens stay as they are.",
		.run = disable_agent },
	{ .name = "permission.list",
		.version = 1,
		.title = "List an agent's permissions",
		.doc = "Shows what an agent may do with each tool: always_allow, needs_approval or blocked.",
		.effect = OP_READ,
		.in = agent_in,
		.in_size = sizeof(struct agent_in),
		.out = tiers_out,
		.rules = reads_permissions,
		.category = TOOL_CATEGORY_A,
		.domain = ACCESS_DOMAIN,
		.target = ACCESS_TARGET,
		.rollback = true,
		.run = list_permissions },
	{ .name = "permission.set",
		.version = 1,
		.title = "Set an agent's permission",
		.doc = "Says what an agent may do with one tool: always_allow, needs_approval or blocked.",
		.effect = OP_MUTATE,
		.in = set_in,
		.in_size = sizeof(struct set_in),
		.out = permission_shown,
		.rules = manages_permissions,
		.propose_rule = "access.permission.propose",
		.domain = ACCESS_DOMAIN,
		.target = ACCESS_TARGET,
		.rollback = true,
		.changes_rights = true,
		.authority = true,
		.failure = "The agent's permission stays as it is.",
		.run = set_permission },
	{ 0 },
};
