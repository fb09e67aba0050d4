/* SPDX-License-Identifier: Apache-2.0 */
#include "core/visibility.h"

#include "core/gate/permission.h"

/* A stored tier stands also where the tool is gone; a tool without one may be blocked by its own default. */
static void
find_blocked(struct ctx *cx, const struct permission_snapshot *s, struct visibility *v)
{
	size_t tools = registry_count(cx->tools);
	str *blocked = arena_alloc(cx->arena, (s->count + tools + 1) * sizeof(*blocked));

	for (size_t i = 0; i < s->count; i++)
		if (s->rows[i].tier == TIER_BLOCKED)
			blocked[v->blocked_count++] = s->rows[i].tool;
	for (size_t i = 0; i < tools; i++) {
		const struct tool *t = registry_at(cx->tools, i);
		bool stored;

		if (t->outside && permission_default(t) == TIER_BLOCKED &&
			permission_tier(s, t, &stored) == TIER_BLOCKED && !stored)
			blocked[v->blocked_count++] = str_of(t->name);
	}
	v->blocked = blocked;
}

status
visibility_of(struct ctx *cx, const struct visibility **out)
{
	struct permission_snapshot snapshot;
	struct visibility *v;

	if (cx->visibility && cx->visibility->of == cx->caller) {
		*out = cx->visibility;
		return OK;
	}
	v = ARENA_NEW(cx->arena, struct visibility);
	*v = (struct visibility){ .of = cx->caller, .narrowed = caller_is_narrowed(cx->caller) };
	if (cx->caller->kind == PRINCIPAL_AGENT) {
		TRY(permission_load(cx, cx->caller, &snapshot));
		find_blocked(cx, &snapshot, v);
	}
	*out = cx->visibility = v;
	return OK;
}

bool
visibility_is_whole(const struct visibility *v)
{
	return !v->narrowed && !v->blocked_count;
}

bool
visibility_has_tool(const struct visibility *v, str name)
{
	for (size_t i = 0; i < v->blocked_count; i++)
		if (str_eq(v->blocked[i], name))
			return false;
	return true;
}

/* A tool that nobody knows any more may have shown anything. */
static bool
spans(const struct ctx *cx, str name)
{
	const struct tool *t = tool_find(cx->tools, name);

	return name.len && (!t || t->spans);
}

bool
visibility_shows(struct ctx *cx, const struct visibility *v, const struct visible *thing)
{
	if (!visibility_has_tool(v, thing->tool))
		return false;
	if (!v->narrowed || (thing->token_id.len && str_eq(thing->token_id, v->of->token_id)))
		return true;
	return !spans(cx, thing->tool) && caller_reaches(v->of, thing->environment_id, thing->key);
}

bool
visibility_selects(const struct caller *c)
{
	return c->kind == PRINCIPAL_AGENT || caller_is_narrowed(c);
}
