/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live: the compiled ruleset of each environment, in memory, the same on every server.
 *
 *	live_take --> the ruleset that is live now --(evaluate as often as one likes)--> live_release
 *
 * Never older than what this process has committed, and less than LIMIT_LIVE_LAG_US older than what others
 * have: "environment.changed" (store.h) marks an environment, a watcher asks the database for versions that
 * moved. Who takes a marked one loads it first, one thread per environment; a ruleset that is still in
 * use stays until its last user releases it. Any thread.
 */
#ifndef DOMAIN_FLAG_LIVE_LIVE_H
#define DOMAIN_FLAG_LIVE_LIVE_H

#include "domain/flag/evaluate.h"

struct live;

/* One per process, in cx->live. Watches on a thread of its own. base: what its ctx begins as. */
struct live *live_new(const struct ctx *base);
void live_free(struct live *l);

struct live_ruleset {
	const struct ruleset *rules;
	str org_id, environment_id;
	int64_t version;
};

/*
 * Memory only, for the event loop: NULL where it is not there or not known to be the newest. The environment
 * may be any tenant's: look at org_id.
 */
const struct live_ruleset *live_peek(struct live *l, str environment_id);

/*
 * Outside a transaction; loads where it must.
 *
 * E_NOT_FOUND   there is no such environment
 * E_NOT_CACHED  it cannot be loaded; the last one is not served in its place
 */
status live_take(struct ctx *cx, str environment_id, const struct live_ruleset **out) MUST_USE;
void live_release(struct live *l, const struct live_ruleset *r);

#endif
