/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/toolset.h"

#include "base/check.h"
#include "base/scoped.h"
#include "core/known/known.h"
#include "core/outside/outside.h"
#include "db/db.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/gate/toolset.sql.h" /* SQL_TOOLSET_*, generated from toolset.sql */

#define ORG_ID 64u   /* bytes of an id that is remembered; ours have 36 */
#define SLOTS  1024u /* organizations; two that share one push each other out */

/* What is known of one organization. tools NULL: it has none of its own. */
struct known_set {
	char org_id[ORG_ID];
	size_t len; /* of it */
	int64_t epoch;
	struct registry *tools;
};

struct toolsets {
	const struct registry *base;
	pthread_mutex_t lock;
	struct known_set slots[SLOTS];
};

struct toolsets *
toolsets_new(const struct registry *base)
{
	struct toolsets *t = calloc(1, sizeof(*t));

	CHECK(t != NULL && pthread_mutex_init(&t->lock, NULL) == 0);
	t->base = base;
	return t;
}

static void
forget(struct known_set *s)
{
	registry_release(s->tools);
	*s = (struct known_set){ 0 };
}

void
toolsets_free(struct toolsets *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		forget(&t->slots[i]);
	CHECK(pthread_mutex_destroy(&t->lock) == 0);
	free(t);
}

/* --- rows, as tools --- */

static const struct field row[] = {
	FIELD_TEXT(struct toolset_tool, name),
	FIELD_TEXT(struct toolset_tool, provider),
	FIELD_TEXT(struct toolset_tool, source_id),
	FIELD_TEXT(struct toolset_tool, source),
	FIELD_TEXT(struct toolset_tool, remote),
	FIELD_TEXT(struct toolset_tool, state),
	FIELD_INT(struct toolset_tool, version),
	FIELD_TEXT(struct toolset_tool, title),
	FIELD_TEXT(struct toolset_tool, doc),
	FIELD_TEXT(struct toolset_tool, effect),
	FIELD_TEXT(struct toolset_tool, category),
	FIELD_TEXT(struct toolset_tool, domain),
	FIELD_TEXT(struct toolset_tool, target),
	FIELD_TEXT(struct toolset_tool, in_schema),
	FIELD_TEXT(struct toolset_tool, out_schema),
	FIELD_BOOL(struct toolset_tool, rollback),
	FIELD_BOOL(struct toolset_tool, financial),
	FIELD_BOOL(struct toolset_tool, personal_data),
	FIELD_BOOL(struct toolset_tool, phi),
	FIELD_TEXT(struct toolset_tool, failure),
	FIELD_TEXT(struct toolset_tool, contract),
	FIELD_TEXT(struct toolset_tool, tier),
	FIELD_INT(struct toolset_tool, deadline_ms),
	FIELD_TEXT(struct toolset_tool, options),
	FIELD_TEXT(struct toolset_tool, definition),
	FIELD_TEXT(struct toolset_tool, definition_hash),
	FIELD_TEXT(struct toolset_tool, seen),
	FIELD_TEXT(struct toolset_tool, seen_hash),
	FIELD_INT(struct toolset_tool, seen_at),
	FIELD_END,
};

/* By provider and effect. */
static const char *const rules[3][3][2] = {
	[TOOL_MCP] = { [OP_READ] = { "mcp.tool.read", NULL },
		[OP_MUTATE] = { "mcp.tool.write", NULL },
		[OP_DESTRUCTIVE] = { "mcp.tool.delete", NULL } },
	[TOOL_WEBHOOK] = { [OP_READ] = { "webhook.tool.read", NULL },
		[OP_MUTATE] = { "webhook.tool.write", NULL },
		[OP_DESTRUCTIVE] = { "webhook.tool.delete", NULL } },
};

static enum op_effect
effect_of(str name)
{
	return str_eq(name, STR("read"))     ? OP_READ
	       : str_eq(name, STR("mutate")) ? OP_MUTATE
					     : OP_DESTRUCTIVE; /* the strictest where nobody knows */
}

static enum tool_category
category_of(enum op_effect effect, str name)
{
	if (effect == OP_READ)
		return TOOL_CATEGORY_A;
	return str_eq(name, STR("A"))	? TOOL_CATEGORY_A
	       : str_eq(name, STR("B")) ? TOOL_CATEGORY_B
					: TOOL_CATEGORY_C;
}

static enum tool_contract
contract_of(str name)
{
	for (int c = TOOL_IDEMPOTENT; c < TOOL_BLIND; c++)
		if (str_eq(name, str_of(contract_name((enum tool_contract)c))))
			return (enum tool_contract)c;
	return TOOL_BLIND;
}

/* Whose provider is there and looks at things before they are asked for. */
static const struct outside_provider *
provider_of(const struct ctx *cx, const struct tool_call *call)
{
	return cx->outside ? &cx->outside->providers[call->tool->provider] : NULL;
}

static status
survey(struct ctx *cx, const struct tool_call *call, const struct json **out)
{
	const struct outside_provider *p = provider_of(cx, call);

	return p && p->survey ? p->survey(cx, p->arg, call, out) : OK;
}

static status
recheck(struct ctx *cx, const struct tool_call *call, str *out_digest)
{
	const struct outside_provider *p = provider_of(cx, call);

	if (!p || !p->recheck)
		return fail(cx, E_UNAVAILABLE, "it cannot be looked at from here");
	return p->recheck(cx, p->arg, call, out_digest);
}

static const struct tool_outside *
outside_of(struct arena *a, const struct toolset_tool *r)
{
	struct tool_outside *o = arena_alloc(a, sizeof(*o));

	*o = (struct tool_outside){ .source_id = arena_str(a, r->source_id),
		.source = arena_str(a, r->source),
		.remote = arena_str(a, r->remote),
		.definition_hash = arena_str(a, r->definition_hash),
		.deadline_ms = r->deadline_ms,
		.tier = arena_str(a, r->tier),
		.options = arena_str(a, r->options) };
	return o;
}

static void
read_row(struct arena *a, const struct toolset_tool *r, struct tool *out)
{
	bool mcp = str_eq(r->provider, STR("mcp"));
	enum op_effect effect = effect_of(r->effect);

	*out = (struct tool){ .name = arena_cstr(a, r->name),
		.version = (int)r->version,
		.title = arena_cstr(a, r->title),
		.doc = arena_cstr(a, r->doc),
		.effect = effect,
		.in_schema = arena_cstr(a, r->in_schema),
		.out_schema = arena_cstr(a, r->out_schema),
		.rules = rules[mcp ? TOOL_MCP : TOOL_WEBHOOK][effect],
		.propose_rule = mcp ? "mcp.tool.propose" : "webhook.tool.propose",
		.category = category_of(effect, r->category),
		.domain = arena_cstr(a, r->domain),
		.target = arena_cstr(a, r->target),
		.rollback = r->rollback,
		.financial = r->financial,
		.personal_data = r->personal_data,
		.phi = r->phi,
		.failure = arena_cstr(a, r->failure),
		.contract = contract_of(r->contract),
		.provider = mcp ? TOOL_MCP : TOOL_WEBHOOK,
		.outside = outside_of(a, r),
		.survey = effect == OP_READ ? NULL : survey,
		.recheck = recheck };
}

/* One registry of these; problems: as the rows are. NULL: there are none. */
static struct registry *
compile(struct ctx *cx, const struct toolset_tool *rows, size_t count, str *problems)
{
	struct registry *r;
	struct tool *tools;

	if (!count)
		return NULL;
	r = registry_over(cx->toolsets->base, count);
	tools = arena_alloc(registry_room(r), count * sizeof(*tools));
	for (size_t i = 0; i < count; i++)
		read_row(registry_room(r), &rows[i], &tools[i]);
	registry_add(cx, r, tools, count, problems);
	return r;
}

static status
load(struct ctx *cx, str org_id, struct toolset_tool **out, size_t *out_count)
{
	return db_all(cx, SQL_TOOLSET_ACCEPTED, row, sizeof(**out), out, out_count, TEXT(org_id));
}

static status
build(struct ctx *cx, str org_id, struct registry **out)
{
	struct toolset_tool *rows;
	size_t count;

	TRY(load(cx, org_id, &rows, &count));
	*out = compile(cx, rows, count, arena_alloc(cx->arena, (count + 1) * sizeof(str)));
	return OK;
}

/* --- what is remembered --- */

static struct known_set *
slot_of(struct toolsets *t, str org_id)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < org_id.len; i++)
		hash = (hash ^ (unsigned char)org_id.ptr[i]) * 16777619u;
	return &t->slots[hash % SLOTS];
}

/* Held for who asks; *out NULL: it has none. */
static bool
find(struct toolsets *t, str org_id, int64_t epoch, struct registry **out)
{
	scoped_lock held = lock(&t->lock);
	const struct known_set *s = slot_of(t, org_id);

	if (!epoch || s->epoch != epoch || !str_eq((str){ s->org_id, s->len }, org_id))
		return false;
	if (s->tools)
		registry_hold(s->tools);
	*out = s->tools;
	return true;
}

static void
keep(struct toolsets *t, str org_id, int64_t epoch, struct registry *tools)
{
	scoped_lock held = lock(&t->lock);
	struct known_set *s = slot_of(t, org_id);

	if (org_id.len > ORG_ID)
		return;
	forget(s);
	if (tools)
		registry_hold(tools);
	*s = (struct known_set){ .len = org_id.len, .epoch = epoch, .tools = tools };
	memcpy(s->org_id, org_id.ptr, org_id.len);
}

static void
release(void *arg)
{
	registry_release(arg);
}

/* Takes over the hold. What was there before stays until the end, too: something may still point into it. */
static void
use(struct ctx *cx, struct registry *tools)
{
	const struct registry *now = tools ? tools : cx->toolsets->base;

	if (tools && cx->tools == now)
		registry_release(tools); /* it is held already */
	else if (tools)
		arena_at_end(cx->arena, release, tools);
	cx->tools = now;
}

status
toolset_enter(struct ctx *cx, str org_id, int64_t epoch)
{
	struct registry *tools;

	if (!cx->toolsets)
		return OK;
	if (!find(cx->toolsets, org_id, epoch, &tools)) {
		TRY(build(cx, org_id, &tools));
		if (epoch)
			keep(cx->toolsets, org_id, epoch, tools);
	}
	use(cx, tools);
	return OK;
}

bool
toolset_recall(struct ctx *cx)
{
	const struct credential *c = cx->credential;
	struct registry *tools;
	struct caller known;

	if (!cx->toolsets || !cx->known || !c || !c->bearer.len ||
		!known_find(cx->known, cx->arena, c, &known) ||
		!find(cx->toolsets, known.org_id, known.epoch, &tools))
		return false;
	use(cx, tools);
	return true;
}

struct epoch_row {
	int64_t epoch;
};
static const struct field epoch_row[] = { FIELD_INT(struct epoch_row, epoch), FIELD_END };

status
toolset_of(struct ctx *cx, str org_id)
{
	struct epoch_row e;

	if (!cx->toolsets)
		return OK;
	TRY(db_one(cx, SQL_TOOLSET_EPOCH, epoch_row, &e, TEXT(org_id)));
	return toolset_enter(cx, org_id, e.epoch);
}

bool
toolset_names(str name)
{
	return str_starts(name, STR("mcp__")) || str_starts(name, STR("webhook.")) ||
	       str_starts(name, STR("webhook_"));
}

/* --- what is stored --- */

status
toolset_get(struct ctx *cx, str org_id, str name, struct toolset_tool *out)
{
	return db_one(cx, SQL_TOOLSET_GET, row, out, TEXT(org_id), TEXT(name));
}

status
toolset_list(struct ctx *cx, str org_id, str source_id, struct toolset_tool **out, size_t *out_count)
{
	return db_all(
		cx, SQL_TOOLSET_LIST, row, sizeof(**out), out, out_count, TEXT(org_id), TEXT(source_id));
}

status
toolset_put(struct ctx *cx, str org_id, const struct toolset_tool *t)
{
	return db_run(cx, SQL_TOOLSET_PUT, TEXT(org_id), TEXT(t->name), TEXT(t->provider), TEXT(t->source_id),
		TEXT(t->source), TEXT(t->remote), TEXT(t->state), INT(t->version), TEXT(t->title),
		TEXT(t->doc), TEXT(t->effect), TEXT(t->category), TEXT(t->domain), TEXT(t->target),
		TEXT(t->in_schema), TEXT(t->out_schema), INT(t->rollback), INT(t->financial),
		INT(t->personal_data), INT(t->phi), TEXT(t->failure), TEXT(t->contract), TEXT(t->tier),
		INT(t->deadline_ms), TEXT(t->options), TEXT(t->definition), TEXT(t->definition_hash),
		TEXT(t->seen), TEXT(t->seen_hash), INT(t->seen_at));
}

struct past_row {
	int64_t version;
};
static const struct field past_row[] = { FIELD_INT(struct past_row, version), FIELD_END };

status
toolset_past(struct ctx *cx, str org_id, str name, int64_t *out_version)
{
	struct past_row past = { 0 };
	status s = db_one(cx, SQL_TOOLSET_PAST, past_row, &past, TEXT(org_id), TEXT(name));

	if (s != E_NOT_FOUND)
		TRY(s);
	*out_version = past.version;
	return OK;
}

status
toolset_drop(struct ctx *cx, str org_id, str source_id, str name)
{
	TRY(db_run(cx, SQL_TOOLSET_DISTRUST, TEXT(org_id), TEXT(source_id), TEXT(name)));
	TRY(db_run(cx, SQL_TOOLSET_UNLIFT, TEXT(org_id), TEXT(source_id), TEXT(name)));
	TRY(db_run(cx, SQL_TOOLSET_BURY, TEXT(org_id), TEXT(source_id), TEXT(name)));
	return db_run(cx, SQL_TOOLSET_DROP, TEXT(org_id), TEXT(source_id), TEXT(name));
}

/* The candidate comes after all others: it is the one that has to give way, unless it is one of them. */
status
toolset_problem(struct ctx *cx, str org_id, const struct toolset_tool *t, str *out_why)
{
	struct toolset_tool *rows, *all;
	struct registry *tools;
	size_t count, at;
	str *problems;

	CHECK(cx->toolsets != NULL);
	TRY(load(cx, org_id, &rows, &count));
	all = arena_alloc(cx->arena, (count + 1) * sizeof(*all));
	problems = arena_alloc(cx->arena, (count + 1) * sizeof(*problems));
	for (at = 0; at < count && !str_eq(rows[at].name, t->name); at++)
		;
	if (count)
		memcpy(all, rows, count * sizeof(*all));
	all[at] = *t;
	tools = compile(cx, all, at == count ? count + 1 : count, problems);
	*out_why = problems[at].len ? problems[at] : tool_problem(cx, tools, tool_find(tools, t->name));
	registry_release(tools);
	return OK;
}
