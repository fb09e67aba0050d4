/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/sweeper.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/log.h"
#include "core/event.h"
#include "core/proposal/kept/retention.h"
#include "core/proposal/run/attempt.h"
#include "db/db.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/proposal/proposal.sql.h" /* SQL_PROPOSAL_*, generated from proposal.sql */

struct sweeper {
	struct sweeper_options options;
	struct event_hub *bell; /* rings when it is time to end */
	atomic_bool stop;
	pthread_t thread;
};

/* --- what is due --- */

struct due {
	str org_id, id;
	bool executing; /* its outcome is overdue, not its decision */
	bool done;
};
struct due_list {
	struct due *items;
	size_t count, room;
};

struct id_row {
	str id;
};
static const struct field id_row[] = { FIELD_TEXT(struct id_row, id), FIELD_END };

static status
find_by(struct ctx *cx, const struct sql *which, str org_id, int64_t until_us, struct due_list *list)
{
	struct due *all;
	struct id_row *ids;
	size_t count;

	TRY(db_all(cx, which, id_row, sizeof(*ids), &ids, &count, TEXT(org_id), INT(until_us)));
	all = arena_alloc(cx->arena, (list->count + count + 1) * sizeof(*all));
	if (list->count)
		memcpy(all, list->items, list->count * sizeof(*all));
	for (size_t i = 0; i < count; i++)
		all[list->count++] = (struct due){
			.org_id = org_id, .id = ids[i].id, .executing = which == SQL_PROPOSAL_OVERRUN
		};
	list->items = all;
	return OK;
}

static status
find_in(struct ctx *cx, str org_id, int64_t now_us, struct due_list *list)
{
	TRY(find_by(cx, SQL_PROPOSAL_OVERDUE, org_id, now_us, list));
	return find_by(cx, SQL_PROPOSAL_OVERRUN, org_id, now_us - LIMIT_SEND_SLACK_US, list);
}

static status
find_due(struct ctx *cx, void *arg)
{
	struct due_list *list = arg;
	struct id_row *orgs;
	size_t count;
	int64_t now_us;

	*list = (struct due_list){ 0 };
	TRY(tx_now_us(cx, &now_us));
	TRY(db_all(cx, SQL_PROPOSAL_ORGS, id_row, sizeof(*orgs), &orgs, &count));
	for (size_t i = 0; i < count; i++)
		TRY(find_in(cx, orgs[i].id, now_us, list));
	return OK;
}

static status
tidy(struct ctx *cx, void *arg)
{
	struct due *d = arg;

	return d->executing ? attempt_lose(cx, d->org_id, d->id, &d->done)
			    : proposal_expire(cx, d->org_id, d->id, &d->done);
}

status
sweeper_round(struct ctx *cx, int64_t *out_tidied)
{
	struct due_list list;
	int64_t tidied = 0;

	TRY(db_read(cx, find_due, &list));
	for (size_t i = 0; i < list.count; i++) {
		status s = tx_run(cx, tidy, &list.items[i]);

		if (s != OK) { /* one that was tampered with must not keep the others open */
			LOG(LOG_WARN, "proposal.not_tidied", LOG_STR("id", list.items[i].id),
				LOG_STR("why", ctx_message(cx, s)));
			ctx_clear(cx);
		}
		tidied += s == OK && list.items[i].done;
	}
	*out_tidied = tidied;
	return OK;
}

/* --- the thread --- */

static void
sweep(struct sweeper *s, struct arena *a)
{
	struct ctx cx;
	int64_t tidied;
	status why;

	ctx_init(&cx, a);
	cx.db = s->options.db;
	cx.keys = s->options.keys;
	cx.tools = s->options.tools;
	cx.toolsets = s->options.toolsets;
	cx.events = s->options.events;
	cx.leases = s->options.leases;
	why = sweeper_round(&cx, &tidied);
	if (why != OK)
		LOG(LOG_WARN, "proposal.sweep_failed", LOG_STR("why", ctx_message(&cx, why)));
	if (s->options.keep_us) {
		ctx_clear(&cx);
		why = retention_round(&cx, s->options.keep_us, &tidied);
		if (why != OK)
			LOG(LOG_WARN, "proposal.retention_failed", LOG_STR("why", ctx_message(&cx, why)));
	}
	for (size_t i = 0; s->options.also && s->options.also[i]; i++) {
		ctx_clear(&cx);
		why = s->options.also[i](&cx);
		if (why != OK)
			LOG(LOG_WARN, "sweep_failed", LOG_STR("why", ctx_message(&cx, why)));
	}
	arena_reset(a);
}

static void *
run(void *arg)
{
	struct sweeper *s = arg;
	struct arena a;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	while (!atomic_load(&s->stop)) {
		sweep(s, &a);
		event_wait(s->bell, 0, LIMIT_SWEEP_US);
	}
	arena_done(&a);
	return NULL;
}

struct sweeper *
sweeper_start(const struct sweeper_options *o)
{
	struct sweeper *s = calloc(1, sizeof(*s));

	CHECK(s != NULL);
	s->options = *o;
	s->bell = event_hub_new(0);
	CHECK(pthread_create(&s->thread, NULL, run, s) == 0);
	return s;
}

void
sweeper_stop(struct sweeper *s)
{
	if (!s)
		return;
	atomic_store(&s->stop, true);
	event_publish(s->bell, &(struct event){ .type = STR("stop") });
	CHECK(pthread_join(s->thread, NULL) == 0);
	event_hub_free(s->bell);
	free(s);
}
