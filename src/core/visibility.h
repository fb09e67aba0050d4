/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visibility: what is kept from a caller whose rules would show it (ID-6, TL-2).
 *
 *	a narrowed token   sees what names an environment and a key of its scope, and what it did itself
 *	an agent           sees nothing of a tool that is blocked for it: neither its name nor what it did
 *
 * Read once for each identified caller (cx->visibility) and used by every list, log and stream. It gives no right.
 */
#ifndef CORE_VISIBILITY_H
#define CORE_VISIBILITY_H

#include "core/ident/caller.h"

struct visibility {
	const struct caller *of;
	bool narrowed;
	const str *blocked; /* names of tools */
	size_t blocked_count;
};

/* What is known of a stored thing. */
struct visible {
	str tool;	    /* the tool it came from; empty: none */
	str environment_id; /* where it lies; empty: in none, or nobody can say */
	str key;	    /* empty: the same */
	str token_id;	    /* the token it was made with */
};

/* Inside tx_run or db_read, with cx->caller. A failure fails the request: there is no permissive fallback (TL-8). */
status visibility_of(struct ctx *cx, const struct visibility **out) MUST_USE;

/* Is nothing kept from them? */
bool visibility_is_whole(const struct visibility *v);

/* Is the tool of this name there for them? */
bool visibility_has_tool(const struct visibility *v, str name);

bool visibility_shows(struct ctx *cx, const struct visibility *v, const struct visible *thing);

/*
 * What a caller gets of the log is a selection: a narrowed token's and, so that nobody can tell from it that a tool is
 * blocked, every agent's. No proof is offered for a selection.
 */
bool visibility_selects(const struct caller *c);

#endif
