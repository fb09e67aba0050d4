/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/upstream/look.h"

#include "base/limits.h"
#include "core/audit/audit.h"
#include "core/gate/toolset.h"
#include "db/db.h"
#include "exec/upstream/authorization.h"
#include "exec/upstream/clients.h"
#include "exec/upstream/pin.h"

/* The known ones, and which of them were seen again. */
struct looking {
	const struct upstream *of;
	struct toolset_tool *known;
	bool *seen;
	size_t count;
	int64_t now_us;
	struct look_found found;
};

static status
record(struct ctx *cx, const struct looking *l, enum audit_action action, const struct toolset_tool *t,
	const char *why)
{
	struct audit_entry e = { .action = action,
		.org_id = l->of->org_id,
		.resource_type = STR("outside_tool"),
		.resource_id = t->name,
		.resource_key = t->name,
		.reason = str_of(why),
		.args_hash = t->seen_hash };

	return audit_add(cx, &e, NULL);
}

/* Until an admin says something of it, the worst is true of it. */
static struct toolset_tool
begin(const struct looking *l, const struct pin *p)
{
	return (struct toolset_tool){ .name = p->name,
		.provider = STR("mcp"),
		.source_id = l->of->id,
		.source = l->of->name,
		.remote = p->remote,
		.title = pin_title(p),
		.doc = pin_doc(p),
		.effect = STR("destructive"),
		.category = STR("C"),
		.domain = STR("operations"),
		.target = l->of->name,
		.in_schema = STR("{}"),
		.out_schema = STR("{}"),
		.failure = STR("Nobody has said what it means if it fails."),
		.contract = STR("blind"),
		.tier = STR("needs_approval"),
		.deadline_ms = LIMIT_UPSTREAM_DEADLINE_MS,
		.options = STR("{}") };
}

static status
store(struct ctx *cx, struct looking *l, struct toolset_tool *t, const struct pin *p, const char *state)
{
	t->state = str_of(state);
	t->seen = p->text;
	t->seen_hash = p->hash;
	t->seen_at = l->now_us;
	return toolset_put(cx, l->of->org_id, t);
}

static status
see_again(struct ctx *cx, struct looking *l, struct toolset_tool *t, const struct pin *p)
{
	bool was_gone = str_eq(t->state, STR("gone")), same = str_eq(t->seen_hash, p->hash);
	bool accepted = t->definition.len && str_eq(t->definition_hash, p->hash);

	if (same && !was_gone)
		return OK;
	TRY(store(cx, l, t, p, same && accepted ? "accepted" : "quarantined"));
	if (same)
		return OK;
	l->found.changed++;
	return record(cx, l, AUDIT_RECORD_CHANGED, t, "quarantined: its definition has changed");
}

static status
see(struct ctx *cx, struct looking *l, const struct mcp_tool *tool)
{
	struct toolset_tool fresh;
	struct pin p;

	TRY(pin_read(cx, l->of->name, tool->name, tool->definition, &p));
	for (size_t i = 0; i < l->count; i++) {
		if (!str_eq(l->known[i].name, p.name))
			continue;
		if (l->seen[i])
			return OK; /* twice in one list: the first counts */
		l->seen[i] = true;
		return see_again(cx, l, &l->known[i], &p);
	}
	fresh = begin(l, &p);
	TRY(toolset_past(cx, l->of->org_id, fresh.name, &fresh.version));
	l->found.fresh++;
	TRY(store(cx, l, &fresh, &p, "quarantined"));
	return record(cx, l, AUDIT_RECORD_CREATED, &fresh, "quarantined: never seen before");
}

static status
miss(struct ctx *cx, struct looking *l, struct toolset_tool *t)
{
	bool changed = t->definition.len && !str_eq(t->definition_hash, t->seen_hash);

	if (str_eq(t->state, STR("gone")) || changed)
		return OK; /* what was changed stays in quarantine, wherever it is */
	t->state = STR("gone");
	l->found.gone++;
	TRY(toolset_put(cx, l->of->org_id, t));
	return record(cx, l, AUDIT_RECORD_CHANGED, t, "gone: the server does not list it any more");
}

status
look_store(struct ctx *cx, const struct upstream *of, const struct mcp_tools *tools, struct look_found *out)
{
	struct upstream now;
	struct looking l = { .of = &now };

	TRY(upstream_lock(cx, of->org_id, of->id, &now));
	if (now.version != of->version)
		return fail(cx, E_CONFLICT, "%.*s was changed meanwhile; look again", STR_ARG(now.name));
	TRY(tx_now_us(cx, &l.now_us));
	TRY(toolset_list(cx, now.org_id, now.id, &l.known, &l.count));
	l.seen = arena_alloc(cx->arena, l.count + 1);
	l.found.tools = (int64_t)tools->count;
	for (size_t i = 0; i < tools->count && i < LIMIT_SOURCE_TOOLS; i++)
		TRY(see(cx, &l, &tools->all[i]));
	for (size_t i = 0; i < l.count; i++)
		if (!l.seen[i])
			TRY(miss(cx, &l, &l.known[i]));
	TRY(authorization_unneed(cx, &now));
	TRY(upstream_looked(cx, &now,
		tools->count > LIMIT_SOURCE_TOOLS ? STR("it has more tools than are looked at")
						  : (str){ 0 }));
	*out = l.found;
	return OK;
}

struct storing {
	const struct upstream *of;
	const struct mcp_tools *tools;
	str problem;
};

static status
store_found(struct ctx *cx, void *arg)
{
	const struct storing *s = arg;
	struct look_found found;

	return look_store(cx, s->of, s->tools, &found);
}

static status
store_problem(struct ctx *cx, void *arg)
{
	const struct storing *s = arg;

	return upstream_looked(cx, s->of, s->problem);
}

status
look_and_store(struct ctx *cx, const struct upstream *of)
{
	struct mcp_tools tools = { 0 };
	struct storing s = { .of = of, .tools = &tools };
	status asked = upstreams_list(cx, of, &tools);

	if (asked == OK)
		return tx_run(cx, store_found, &s);
	s.problem = arena_str(cx->arena, ctx_message(cx, asked));
	ctx_clear(cx);
	return tx_run(cx, store_problem, &s);
}
