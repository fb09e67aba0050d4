/* SPDX-License-Identifier: Apache-2.0 */
/*
 * permission: the three tiers per (agent, tool) and the people's "approve always" (TL-6, TL-7, TL-8).
 *
 * One snapshot per request, loaded in one query before the tool's name is looked up, and frozen. Of the one who asks
 * the gate remembers it with the rest of them (core/known/known.h).
 */
#ifndef CORE_GATE_PERMISSION_H
#define CORE_GATE_PERMISSION_H

#include "core/gate/policy.h"
#include "db/db.h"
#include "json/out.h"

struct permission_row {
	str tool;
	enum tier tier;
};

struct permission_snapshot {
	const struct permission_row *rows; /* sorted by tool */
	size_t count;
	const str *overrides; /* tools this caller's person always approves for this agent, sorted */
	size_t override_count;
};

/* Inside tx_run or db_read. People have no rows: everything at its default. A failure fails the request. */
status permission_load(struct ctx *cx, const struct caller *c, struct permission_snapshot *out) MUST_USE;

/* The same in two steps: asked before other statements, waited for and taken after them. */
struct permission_asked {
	const struct caller *of;
	struct db_rows rows;
};
status permission_ask(struct ctx *cx, const struct caller *c, struct permission_asked *out) MUST_USE;
status permission_take(struct ctx *cx, const struct permission_asked *asked, struct permission_snapshot *out)
	MUST_USE;

/*
 * The tiers of the one whose credential this is stand under their epoch as well: the next request need not ask for
 * them. Only where this transaction has not changed any: what it may still undo is nothing to remember.
 */
void permission_remember(struct ctx *cx, const struct permission_asked *asked);

/* The stored status, or the default for a tool of that name and effect. */
enum tier permission_tier(const struct permission_snapshot *s, const struct tool *t, bool *out_stored);
enum tier permission_default(const struct tool *t);
bool permission_override(const struct permission_snapshot *s, const struct tool *t);

/* Members of an agent's tiers, as agent_tools answers. An agent does not see what is blocked for itself
 * (TL-2). E_NOT_FOUND */
status permission_out(struct ctx *cx, str agent_id, struct json_out *out) MUST_USE;

/*
 * Inside tx_run, with the lock on rights: stores one tier, on record. *out says what it was.
 *
 * E_NOT_FOUND  no such agent; no such tool, or one that is blocked for the agent who asks
 */
struct permission_change {
	str agent_name;
	enum tier was;
	bool was_stored;
};
status permission_set(struct ctx *cx, str agent_id, str tool, enum tier tier, struct permission_change *out)
	MUST_USE;

extern const char *const permission_tiers[]; /* their names, NULL-terminated */

#endif
