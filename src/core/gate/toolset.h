/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolset: what one organization can ask for: the built-in tools, and those of others that its admins have accepted
 * (table outside_tool).
 *
 *	caller identified --toolset_enter--> cx->tools, held until the arena of the ctx is emptied
 *
 * Compiled once, and remembered under the epoch of the organization's rights: a tool that is accepted, changed or
 * quarantined draws another one, so it is there, or gone, with the next request on every server. An organization that
 * has none uses the built-in registry itself. Any thread.
 *
 * A row that cannot be offered (its schema is no JSON, its name for models is taken) is left out, and toolset_problem
 * says why: it is never a failure of everybody's requests. Whether its schema is one is asked when it is accepted, and the
 * schema is compiled when it is first called, outside of transactions: a call of one that is none is refused.
 */
#ifndef CORE_GATE_TOOLSET_H
#define CORE_GATE_TOOLSET_H

#include "core/gate/tool.h"

struct toolsets;

/* One per process, in cx->toolsets. base outlives it, and it outlives every ctx that has entered. */
struct toolsets *toolsets_new(const struct registry *base);
void toolsets_free(struct toolsets *t); /* NULL is fine */

/*
 * Inside tx_run or db_read: cx->tools becomes the organization's. epoch: as read in the same transaction, before; 0: it
 * was not, and nothing is remembered. Without cx->toolsets nothing happens.
 */
status toolset_enter(struct ctx *cx, str org_id, int64_t epoch) MUST_USE;

/*
 * Without the database: cx->tools becomes what the credential's organization had when the credential was last used.
 * Only to look a name up: who asks, and whether it is still there, is for the transaction to say. False: not known.
 */
bool toolset_recall(struct ctx *cx);

/* As toolset_enter, where nobody has been identified (the sweeper). */
status toolset_of(struct ctx *cx, str org_id) MUST_USE;

/* --- what is stored of them, for those who bring them (exec/) --- */

/* As a row of outside_tool; words as the table allows them. */
struct toolset_tool {
	str name, provider, source_id, source, remote;
	str state; /* "quarantined", "accepted", "gone": offered only when accepted */
	int64_t version;
	str title, doc, effect, category, domain, target, in_schema, out_schema;
	bool rollback, financial, personal_data, phi;
	str failure, contract, tier;
	int64_t deadline_ms;
	str options;
	str definition, definition_hash; /* as it was accepted; empty before */
	str seen, seen_hash;		 /* as it was last seen */
	int64_t seen_at;
};

/* Inside tx_run or db_read. E_NOT_FOUND */
status toolset_get(struct ctx *cx, str org_id, str name, struct toolset_tool *out) MUST_USE;
/* All of one source, by name; source_id empty: of all. */
status toolset_list(struct ctx *cx, str org_id, str source_id, struct toolset_tool **out, size_t *out_count)
	MUST_USE;

/* Inside tx_run, with the lock on rights: in place of what has this name. */
status toolset_put(struct ctx *cx, str org_id, const struct toolset_tool *t) MUST_USE;
/* One of a source, or all of it where name is empty. Their versions stay behind: none comes back (PA-6). What was
 * allowed without a question ends with them (TL-6, TL-7). */
status toolset_drop(struct ctx *cx, str org_id, str source_id, str name) MUST_USE;
/* Inside tx_run: the last version of a tool of this name that was deleted, 0: there was none. A new one goes on from it. */
status toolset_past(struct ctx *cx, str org_id, str name, int64_t *out_version) MUST_USE;

/*
 * Could this one be offered beside what the organization has accepted already? *out_why says why not; empty: it could.
 * For one that is stored and accepted it says why it is not offered.
 */
status toolset_problem(struct ctx *cx, str org_id, const struct toolset_tool *t, str *out_why) MUST_USE;

/* Could it be one of another system's, by its name or what models call it? Asks nobody. */
bool toolset_names(str name);

#endif
