/* SPDX-License-Identifier: Apache-2.0 */
/* Agents as operations. An agent is an identity; what it may do, its tokens say. */
#include "core/people/member.h"

#include "base/limits.h"
#include "core/id.h"
#include "core/people/change.h"
#include "db/db.h"

const char *const member_domains[] = { "chat", "sales", "accounting", "marketing", "project-management",
	"operations", NULL };

struct agent_out {
	str id, name, domain, created_at;
	bool disabled;
};
static const struct field agent_out[] = {
	FIELD_TEXT(struct agent_out, id, .need = true, .doc = "The agent's id."),
	FIELD_TEXT(struct agent_out, name, .need = true, .doc = "What people call it."),
	FIELD_TEXT(struct agent_out, domain, .need = true, .choices = member_domains,
		.doc = "What it proposes in."),
	FIELD_BOOL(struct agent_out, disabled, .need = true, .doc = "Whether it is shut out."),
	FIELD_TEXT(struct agent_out, created_at, .need = true, .doc = "When it was added."),
	FIELD_END,
};

static void
write_agent(struct json_out *o, const void *row)
{
	const struct member *m = row;

	json_out_str(o, "id", m->id);
	json_out_str(o, "name", m->name);
	json_out_str(o, "domain", m->domain);
	json_out_bool(o, "disabled", m->disabled_at != 0);
	json_out_time(o, "createdAt", m->created_at);
}

static status
answer(struct ctx *cx, str id, struct json_out *out)
{
	struct member m;

	TRY(member_load(cx, id, true, &m));
	write_agent(out, &m);
	return OK;
}

struct list_in {
	str after;
	int64_t limit;
};
static const struct field list_in[] = { OP_PAGE_FIELDS(struct list_in), FIELD_END };

status
member_out_agents(struct ctx *cx, str after, int64_t limit, struct json_out *out)
{
	struct member *rows;
	size_t count;

	TRY(member_page(cx, true, after, limit, &rows, &count));
	op_list(out, rows, sizeof(*rows), count, limit, write_agent);
	return OK;
}

static status
run_list(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct list_in *p = in;

	return member_out_agents(cx, p->after, p->limit, out);
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

status
member_add_agent(struct ctx *cx, const struct member *m)
{
	struct json *after = json_new_object(cx->arena);

	TRY(member_store(cx, m));
	change_text(cx->arena, change_text(cx->arena, after, "name", m->name), "domain", m->domain);
	return change_record(cx, AUDIT_PRINCIPAL_CREATED, "principal", m->id, m->name, NULL, after);
}

static status
run_create(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct create_in *c = in;
	struct member m = {
		.kind = STR("agent"), .name = c->name, .domain = c->domain.len ? c->domain : STR("operations")
	};

	TRY(tx_now_us(cx, &m.created_at));
	m.id = id_at(cx->arena, m.created_at);
	TRY(member_add_agent(cx, &m));
	write_agent(out, &m);
	return OK;
}

struct change_in {
	str id, name, domain;
	struct json *disabled;
};
static const struct field change_in[] = {
	FIELD_TEXT(struct change_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which agent."),
	FIELD_TEXT(struct change_in, name, .max = LIMIT_NAME, .doc = "Another name."),
	FIELD_TEXT(struct change_in, domain, .choices = member_domains, .doc = "Another domain."),
	FIELD_JSON(struct change_in, disabled, .doc = "true shuts it out at once, false lets it in again."),
	FIELD_END,
};

static status
run_change(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct change_in *c = in;
	struct member m;

	TRY(member_load(cx, c->id, true, &m));
	if (c->disabled && c->disabled->type != JSON_BOOL)
		return fail(cx, E_INVALID, "/disabled must be true or false");
	TRY(member_rename(cx, &m, c->name, c->domain));
	if (c->disabled)
		TRY(member_set_disabled(cx, &m, c->disabled->truth));
	return answer(cx, m.id, out);
}

struct id_in {
	str id;
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which agent."),
	FIELD_END,
};

static status
run_get(struct ctx *cx, const void *in, struct json_out *out)
{
	return answer(cx, ((const struct id_in *)in)->id, out);
}

static status
run_disable(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct id_in *i = in;
	struct member m;

	TRY(member_load(cx, i->id, true, &m));
	TRY(member_set_disabled(cx, &m, true));
	return answer(cx, m.id, out);
}

const struct op agent_ops[] = {
	{ .name = "agent_list",
		.method = "GET",
		.path = "/api/v1/agents",
		.rule = "access.agent.read",
		.tx = OP_TX_READ,
		.doc = "Lists the agents of the organization.",
		.in = list_in,
		.in_size = sizeof(struct list_in),
		.out = op_list_out,
		.run = run_list },
	{ .name = "agent_get",
		.method = "GET",
		.path = "/api/v1/agents/{id}",
		.rule = "access.agent.read",
		.tx = OP_TX_READ,
		.doc = "Shows one agent.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = agent_out,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_get },
	{ .name = "agent_create",
		.method = "POST",
		.path = "/api/v1/agents",
		.rule = "access.agent.manage",
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Adds an agent. It can do nothing before somebody mints a token for it.",
		.in = create_in,
		.in_size = sizeof(struct create_in),
		.out = agent_out,
		.success = 201,
		.run = run_create },
	{ .name = "agent_change",
		.method = "PATCH",
		.path = "/api/v1/agents/{id}",
		.rule = "access.agent.manage",
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Changes an agent's name, domain or state; what is absent stays.",
		.in = change_in,
		.in_size = sizeof(struct change_in),
		.out = agent_out,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_change },
	{ .name = "agent_disable",
		.method = "DELETE",
		.path = "/api/v1/agents/{id}",
		.rule = "access.agent.manage",
		.effect = OP_DESTRUCTIVE,
		.tx = OP_TX_RIGHTS,
		.doc = "Shuts an agent out. Its tokens end in the same moment.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = agent_out,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_disable },
	{ 0 },
};
