/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot: how many event streams and waits somebody holds on this server at once.
 *
 *	slot_take --> held by the stream, however long --> slot_give_back
 *
 * Each kind has a maximum for one holder, one organization and the server, and agents and services leave the last
 * quarter of an organization's and of the server's to people. What is held is a list, so nothing is counted twice or
 * for ever: a stream gives its slot back where its memory is freed.
 */
#ifndef CORE_SLOT_H
#define CORE_SLOT_H

#include "core/ident/caller.h"

#define SLOT_KINDS(X)                                                                                        \
	X(EVENTS, "events") /* GET /api/v1/events */                                                         \
	X(MCP, "mcp")	    /* streams that listen, and calls that wait for a decision */                    \
	X(OFREP, "ofrep")   /* pages and providers that wait for flags to change */                          \
	X(WAIT, "wait")	    /* proposal_wait over REST, which holds a worker */

enum slot_kind {
#define X(name, text) SLOT_##name,
	SLOT_KINDS(X)
#undef X
		SLOT_KIND_COUNT
};
const char *slot_kind_name(enum slot_kind k);

/* Whose it is. An agent that two people use holds twice: the streams of one are not the other's to take. */
struct slot_owner {
	str org_id, principal_id, delegator_id;
	bool person;
};
struct slot_owner slot_owner_of(const struct caller *c);

struct slots;
struct slot;

struct slots *slots_new(int waits); /* how many may wait at once, all together */
void slots_free(struct slots *s);   /* all were given back */

/*
 * E_RATE_LIMITED  this holder, or this organization, has as many as it may: the message says how many
 * E_UNAVAILABLE   the server has
 */
status slot_take(struct ctx *cx, struct slots *s, enum slot_kind kind, const struct slot_owner *o,
	struct slot **out) MUST_USE;
void slot_give_back(struct slots *s, struct slot *one); /* NULL: nothing */

struct slot_stats {
	int64_t held[SLOT_KIND_COUNT], refused[SLOT_KIND_COUNT];
};
void slot_stats(struct slots *s, struct slot_stats *out);

#endif
