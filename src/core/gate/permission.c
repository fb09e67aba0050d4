/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/permission.h"

#include "base/fault.h"
#include "core/known/known.h"
#include "db/db.h"

#include "core/gate/permission.sql.h" /* SQL_PERMISSION_*, generated from permission.sql */

static const struct field tier_row[] = {
	FIELD_TEXT(struct caller_tier, tool),
	FIELD_TEXT(struct caller_tier, tier),
	FIELD_BOOL(struct caller_tier, override_),
	FIELD_END,
};

status
permission_ask(struct ctx *cx, const struct caller *c, struct permission_asked *out)
{
	out->of = c;
	if (FAULT_FAILS(permission_load))
		return fail(cx, E_INTERNAL, "the permissions could not be loaded");
	if (c->tiers_read)
		return OK;
	/* in chat and over REST the person is the delegator of the agent's token */
	return db_ask(cx, SQL_PERMISSION_SNAPSHOT, tier_row, sizeof(struct caller_tier), &out->rows,
		TEXT(c->org_id), TEXT(c->principal_id), TEXT(c->delegator_id));
}

void
permission_remember(struct ctx *cx, const struct permission_asked *asked)
{
	struct caller with = *asked->of;

	if (!cx->known || !with.via_token || !with.epoch || with.tiers_read)
		return;
	with.tiers = asked->rows.rows;
	with.tier_count = asked->rows.count;
	with.tiers_read = true;
	known_keep(cx->known, cx->credential, &with);
}

static status
take(struct ctx *cx, const struct caller_tier *rows, size_t count, struct permission_snapshot *out)
{
	struct permission_row *tiers = arena_alloc(cx->arena, (count + 1) * sizeof(*tiers));
	str *overrides = arena_alloc(cx->arena, (count + 1) * sizeof(*overrides));
	struct permission_snapshot s = { 0 };

	for (size_t i = 0; i < count; i++) {
		if (rows[i].override_) {
			overrides[s.override_count++] = rows[i].tool;
			continue;
		}
		tiers[s.count].tool = rows[i].tool;
		if (!tier_of(rows[i].tier, &tiers[s.count].tier))
			return fail(cx, E_INTERNAL, "a stored tier is not one");
		s.count++;
	}
	s.rows = tiers;
	s.overrides = overrides;
	*out = s;
	return OK;
}

status
permission_take(struct ctx *cx, const struct permission_asked *asked, struct permission_snapshot *out)
{
	const struct caller *c = asked->of;

	if (c->tiers_read)
		return take(cx, c->tiers, c->tier_count, out);
	TRY(db_wait(cx));
	return take(cx, asked->rows.rows, asked->rows.count, out);
}

status
permission_load(struct ctx *cx, const struct caller *c, struct permission_snapshot *out)
{
	struct permission_asked asked;

	TRY(permission_ask(cx, c, &asked));
	return permission_take(cx, &asked, out);
}

/* The verb of a tool's own name: "flag.delete" counts as delete_*, "note_create" and "create_note" as
 * create_* (TL-6). */
static bool
has_verb(const struct tool *t, const char *const *verbs)
{
	str name = str_of(t->name), plugin, own = name;

	if (str_cut(name, '.', &plugin, &own))
		name = own;
	for (; *verbs; verbs++)
		if (str_starts(name, str_of(*verbs)))
			return true;
	return false;
}

enum tier
permission_default(const struct tool *t)
{
	static const char *const asks[] = { "create", "update", "delete", NULL };
	enum tier said;

	if (t->outside && t->outside->tier.len && tier_of(t->outside->tier, &said))
		return said;
	if (str_starts(str_of(t->name), STR("mcp__")) || has_verb(t, asks) || t->effect != OP_READ)
		return TIER_NEEDS_APPROVAL;
	return TIER_ALWAYS_ALLOW;
}

enum tier
permission_tier(const struct permission_snapshot *s, const struct tool *t, bool *out_stored)
{
	for (size_t i = 0; i < s->count; i++) {
		if (str_eq(s->rows[i].tool, str_of(t->name))) {
			*out_stored = true;
			return s->rows[i].tier;
		}
	}
	*out_stored = false;
	return permission_default(t);
}

bool
permission_override(const struct permission_snapshot *s, const struct tool *t)
{
	for (size_t i = 0; i < s->override_count; i++)
		if (str_eq(s->overrides[i], str_of(t->name)))
			return true;
	return false;
}
