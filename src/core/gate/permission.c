/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/permission.h"

#include "base/fault.h"
#include "db/db.h"

#include "core/gate/permission.sql.h" /* SQL_PERMISSION_*, generated from permission.sql */

struct snapshot_row {
	str tool, tier;
	bool override_;
};
static const struct field snapshot_row[] = {
	FIELD_TEXT(struct snapshot_row, tool),
	FIELD_TEXT(struct snapshot_row, tier),
	FIELD_BOOL(struct snapshot_row, override_),
	FIELD_END,
};

status
permission_ask(struct ctx *cx, const struct caller *c, struct db_rows *out)
{
	if (FAULT_FAILS(permission_load))
		return fail(cx, E_INTERNAL, "the permissions could not be loaded");
	/* in chat and over REST the person is the delegator of the agent's token */
	return db_ask(cx, SQL_PERMISSION_SNAPSHOT, snapshot_row, sizeof(struct snapshot_row), out,
		TEXT(c->org_id), TEXT(c->principal_id), TEXT(c->delegator_id));
}

status
permission_take(struct ctx *cx, const struct db_rows *asked, struct permission_snapshot *out)
{
	const struct snapshot_row *rows = asked->rows;
	struct permission_row *tiers = arena_alloc(cx->arena, (asked->count + 1) * sizeof(*tiers));
	str *overrides = arena_alloc(cx->arena, (asked->count + 1) * sizeof(*overrides));
	struct permission_snapshot s = { 0 };

	for (size_t i = 0; i < asked->count; i++) {
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
permission_load(struct ctx *cx, const struct caller *c, struct permission_snapshot *out)
{
	struct db_rows rows;

	TRY(permission_ask(cx, c, &rows));
	TRY(db_wait(cx));
	return permission_take(cx, &rows, out);
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
