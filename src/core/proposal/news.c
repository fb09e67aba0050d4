/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/news.h"

#include "core/visibility.h"
#include "core/id.h"
#include "core/proposal/sight.h"
#include "db/db.h"
#include "json/out.h"

#include <inttypes.h>

#include "core/proposal/news.sql.h" /* SQL_NEWS_*, generated from news.sql */

#define AT_ONCE 500 /* rows of a kind in one look; the rest comes with the next */

struct gathering {
	struct news *items;
	size_t count;
	int64_t newest;
	bool full; /* a kind had more: do not look back, or the rest would never come */
};

static str
finish(struct ctx *cx, struct json_out *o)
{
	str text;

	json_out_end(o);
	if (buf_finish(o->buf, &text) != OK)
		return STR("{}");
	(void)cx;
	return text;
}

static void
start(struct ctx *cx, struct buf *b, struct json_out *o)
{
	buf_init(b, cx->arena, LIMIT_LOG_LINE);
	json_out_init(o, b);
	json_out_object(o, NULL);
}

static void
add(struct gathering *g, struct news n)
{
	g->items[g->count++] = n;
}

static void
pass(struct gathering *g, size_t rows, int64_t newest)
{
	if (newest > g->newest)
		g->newest = newest;
	if (rows == AT_ONCE)
		g->full = true;
}

/* --- proposals and votes --- */

struct proposal_row {
	str id, word, tool, risk, proposer_id, delegator_id, token_id, environment_id, resource_key;
	int64_t at;
};
static const struct field proposal_row[] = {
	FIELD_TEXT(struct proposal_row, id),
	FIELD_TEXT(struct proposal_row, word),
	FIELD_TEXT(struct proposal_row, tool),
	FIELD_TEXT(struct proposal_row, risk),
	FIELD_TEXT(struct proposal_row, proposer_id),
	FIELD_TEXT(struct proposal_row, delegator_id),
	FIELD_TEXT(struct proposal_row, token_id),
	FIELD_TEXT(struct proposal_row, environment_id),
	FIELD_TEXT(struct proposal_row, resource_key),
	FIELD_INT(struct proposal_row, at),
	FIELD_END,
};

static bool
may_hear(struct ctx *cx, const struct proposal_row *r)
{
	struct proposal p = { .tool = r->tool,
		.proposer_id = r->proposer_id,
		.delegator_id = r->delegator_id,
		.token_id = r->token_id,
		.environment_id = r->environment_id,
		.resource_key = r->resource_key };

	return sight_of(cx, &p);
}

static struct news
tell(struct ctx *cx, const struct proposal_row *r, bool vote)
{
	struct json_out o;
	struct buf b;

	start(cx, &b, &o);
	json_out_str(&o, "proposalId", r->id);
	json_out_str(&o, "tool", r->tool);
	json_out_str(&o, vote ? "decision" : "status", r->word);
	json_out_str(&o, "risk", r->risk);
	return (struct news){ .at = r->at,
		.key = arena_printf(cx->arena, "%.*s %.*s %" PRId64, STR_ARG(r->id), STR_ARG(r->word), r->at),
		.event = { .org_id = cx->caller->org_id,
			.id = r->id,
			.type = vote ? STR("approval.decided")
				     : arena_printf(cx->arena, "proposal.%.*s", STR_ARG(r->word)),
			.data = finish(cx, &o) } };
}

static status
gather(struct ctx *cx, const struct sql *from, bool vote, int64_t since_us, struct gathering *g)
{
	struct proposal_row *rows;
	size_t count;

	TRY(db_all(cx, from, proposal_row, sizeof(*rows), &rows, &count, TEXT(cx->caller->org_id),
		INT(since_us), INT(AT_ONCE)));
	for (size_t i = 0; i < count; i++) {
		pass(g, count, rows[i].at);
		if (may_hear(cx, &rows[i]))
			add(g, tell(cx, &rows[i], vote));
	}
	return OK;
}

/* --- calls --- */

struct call_row {
	str id, principal_id, token_id, delegator_id, transport, tool, effect, status;
	int64_t at;
};
static const struct field call_row[] = {
	FIELD_TEXT(struct call_row, id),
	FIELD_TEXT(struct call_row, principal_id),
	FIELD_TEXT(struct call_row, token_id),
	FIELD_TEXT(struct call_row, delegator_id),
	FIELD_TEXT(struct call_row, transport),
	FIELD_TEXT(struct call_row, tool),
	FIELD_TEXT(struct call_row, effect),
	FIELD_TEXT(struct call_row, status),
	FIELD_INT(struct call_row, at),
	FIELD_END,
};

static struct news
tell_call(struct ctx *cx, const struct call_row *r)
{
	struct json_out o;
	struct buf b;

	start(cx, &b, &o);
	json_out_str(&o, "principalId", r->principal_id);
	json_out_str(&o, "transport", r->transport);
	json_out_str(&o, "tool", r->tool);
	json_out_str(&o, "effect", r->effect);
	json_out_str(&o, "status", r->status);
	return (struct news){ .at = r->at,
		.key = r->id,
		.event = { .org_id = cx->caller->org_id,
			.id = r->id,
			.type = STR("tool.called"),
			.data = finish(cx, &o) } };
}

/* An agent's own are those on the same person's authority. A call says nothing of where it was about. */
static bool
may_hear_call(struct ctx *cx, const struct visibility *v, const struct call_row *r, bool all)
{
	const struct caller *c = cx->caller;
	bool own = str_eq(r->principal_id, c->principal_id) &&
		   (c->kind != PRINCIPAL_AGENT || str_eq(r->delegator_id, c->delegator_id));

	return (all || own) &&
	       visibility_shows(cx, v, &(struct visible){ .tool = r->tool, .token_id = r->token_id });
}

/* Their own calls, and everybody's for whoever may read the audit. */
static status
gather_calls(struct ctx *cx, int64_t since_us, struct gathering *g)
{
	bool all = caller_may(cx->caller, STR("audit.entry.read"));
	const struct visibility *v;
	struct call_row *rows;
	size_t count;

	TRY(visibility_of(cx, &v));
	TRY(db_all(cx, SQL_NEWS_CALLS, call_row, sizeof(*rows), &rows, &count, TEXT(cx->caller->org_id),
		TEXT(id_floor(cx->arena, since_us)), INT(AT_ONCE)));
	for (size_t i = 0; i < count; i++) {
		pass(g, count, rows[i].at);
		if (may_hear_call(cx, v, &rows[i], all))
			add(g, tell_call(cx, &rows[i]));
	}
	return OK;
}

status
news_since(struct ctx *cx, int64_t since_us, struct news **out, size_t *out_count, int64_t *out_next)
{
	struct gathering g = { .newest = since_us };

	g.items = arena_alloc(cx->arena, (size_t)3 * AT_ONCE * sizeof(*g.items));
	TRY(gather_calls(cx, since_us, &g));
	TRY(gather(cx, SQL_NEWS_PROPOSALS, false, since_us, &g));
	TRY(gather(cx, SQL_NEWS_VOTES, true, since_us, &g));
	*out = g.items;
	*out_count = g.count;
	*out_next = g.full || g.newest - NEWS_BACK_US < since_us ? (g.full ? g.newest : since_us)
								 : g.newest - NEWS_BACK_US;
	return OK;
}
