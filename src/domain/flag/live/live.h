/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live: the compiled ruleset of each environment, in memory, the same on every server.
 *
 *	live_take --> the ruleset that is live now --(evaluate as often as one likes)--> live_release
 *
 * Never older than what this process has committed, and less than LIMIT_LIVE_LAG_US older than what others
 * have: "environment.changed" (store.h) marks an environment, a watcher asks the database for versions that
 * moved and loads those. Who takes a marked one loads it first, one thread per environment; a ruleset that
 * is still in use stays until its last user releases it. What was not used for longest makes room
 * (LIMIT_LIVE_ENVIRONMENTS, LIMIT_LIVE_BYTES). Any thread.
 */
#ifndef DOMAIN_FLAG_LIVE_LIVE_H
#define DOMAIN_FLAG_LIVE_LIVE_H

#include "domain/flag/evaluate.h"

struct live;

struct live_options {
	const struct ctx *base;	    /* what the watcher's ctx begins as */
	size_t environments, bytes; /* 0: LIMIT_LIVE_...; tests have less */
	int64_t lag_us;		    /* 0: LIMIT_LIVE_LAG_US */
};

/* One per process, in cx->live. Watches on a thread of its own. */
struct live *live_new(const struct live_options *o);
void live_free(struct live *l); /* NULL is fine; every ruleset has been released */

struct live_ruleset {
	const struct ruleset *rules;
	str org_id, environment_id;
	int64_t version;
};

/* Memory only, for the event loop: NULL where it is not there or not known to be the newest. Release it, too. */
const struct live_ruleset *live_peek(struct live *l, str org_id, str environment_id);

/*
 * Outside a transaction; loads where it must. Whether somebody may see it is the caller's business.
 *
 * E_NOT_FOUND   this organization has no such environment
 * E_NOT_CACHED  it cannot be loaded; the last one is not served in its place
 */
status live_take(struct ctx *cx, str org_id, str environment_id, const struct live_ruleset **out) MUST_USE;
void live_release(const struct live_ruleset *r); /* NULL is fine */

/* Somebody has seen this version, perhaps from another server: what is older here is looked at again. */
void live_expect(struct live *l, str org_id, str environment_id, int64_t version);

/* One round of the watcher, in cx, outside a transaction. For it and for tests. */
status live_watch(struct ctx *cx) MUST_USE;

struct live_stats {
	int64_t environments, bytes; /* now */
	int64_t loads;		     /* ever */
	int64_t rounds;		     /* the watcher's, ever */
};
void live_stats(struct live *l, struct live_stats *out);

#endif
