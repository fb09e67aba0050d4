/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/sight.h"

#include "base/limits.h"
#include "core/gate/gate.h"
#include "core/visibility.h"
#include "core/proposal/handler.h"
#include "core/proposal/row.h"
#include "db/db.h"

#include "core/proposal/proposal.sql.h" /* SQL_PROPOSAL_*, generated from proposal.sql */

#define STRETCH 200 /* rows of one statement */

/* An agent that two people use is two parties: what it asked on one's authority is not the other's to see. */
bool
sight_is_party(const struct ctx *cx, const struct proposal *p)
{
	const struct caller *c = cx->caller;

	if (c->kind == PRINCIPAL_AGENT)
		return str_eq(c->principal_id, p->proposer_id) && str_eq(c->delegator_id, p->delegator_id);
	return str_eq(c->principal_id, p->proposer_id) ||
	       (p->delegator_id.len && str_eq(c->principal_id, p->delegator_id));
}

/* What is kept from them whatever they may do: out of the token's scope, or of a tool that is blocked for the agent. */
static bool
is_shown(struct ctx *cx, const struct proposal *p)
{
	const struct visible thing = { .tool = p->tool,
		.environment_id = p->environment_id,
		.key = p->resource_key,
		.token_id = p->token_id };
	const struct visibility *v;

	if (visibility_of(cx, &v) == OK)
		return visibility_shows(cx, v, &thing);
	return false; /* fail closed; the next statement fails the request */
}

/* The database is asked only where it makes a difference; where it cannot say, the stricter holds. */
static bool
in_production(struct ctx *cx, const struct proposal *p)
{
	bool production = true, gate;

	if (!p->environment_id.len || !cx->caller->scope.production_verbs)
		return true;
	if (handler_environment(cx, p->environment_id, &production, &gate) != OK)
		ctx_clear(cx);
	return production;
}

bool
sight_may_apply(struct ctx *cx, const struct proposal *p)
{
	const struct tool *t = tool_find(cx->tools, p->tool);

	if (!t || cx->caller->kind == PRINCIPAL_SERVICE ||
		!caller_in_scope(cx->caller, p->environment_id, p->resource_key))
		return false;
	return gate_may(cx->caller, t, in_production(cx, p));
}

/* An agent that may read notes is not thereby one who may see what others want to read. */
static bool
may_decide(struct ctx *cx, const struct proposal *p)
{
	const struct tool *t = tool_find(cx->tools, p->tool);

	if (t && cx->caller->kind == PRINCIPAL_USER && caller_may(cx->caller, row_approve_rule(cx->arena, t)))
		return true;
	return t && t->effect != OP_READ && sight_may_apply(cx, p);
}

bool
sight_of(struct ctx *cx, const struct proposal *p)
{
	return is_shown(cx, p) && (sight_is_party(cx, p) || may_decide(cx, p) ||
					  caller_may(cx->caller, STR("proposal.proposal.read")));
}

bool
sight_of_result(struct ctx *cx, const struct proposal *p)
{
	bool applied = cx->caller->kind != PRINCIPAL_AGENT && str_eq(cx->caller->principal_id, p->applier_id);

	return is_shown(cx, p) && (sight_is_party(cx, p) || applied || sight_may_apply(cx, p));
}

status
sight_require(struct ctx *cx, const struct proposal *p)
{
	const struct visibility *v;

	TRY(visibility_of(cx, &v));
	if (sight_of(cx, p))
		return OK;
	return fail(cx, E_NOT_FOUND, "there is no proposal with this id");
}

/* --- pages --- */

static const struct field scan_row[] = {
	FIELD_TEXT(struct proposal, id),
	FIELD_TEXT(struct proposal, tool),
	FIELD_TEXT(struct proposal, proposer_id),
	FIELD_TEXT(struct proposal, delegator_id),
	FIELD_TEXT(struct proposal, token_id),
	FIELD_TEXT(struct proposal, environment_id),
	FIELD_TEXT(struct proposal, resource_key),
	FIELD_END,
};

struct page {
	const struct row_filter *filter;
	const struct visibility *visibility;
	str before;
	struct proposal *rows;
	size_t count;
	bool full; /* and there is another one */
};

/* What the scan says is not sealed: it is asked again of the row that is. */
static status
take(struct ctx *cx, struct page *page, const struct proposal *found)
{
	struct proposal *p = &page->rows[page->count];
	status s = row_get(cx, cx->caller->org_id, found->id, p);

	if (s == E_TAMPERED) {
		ctx_clear(cx);
		*p = *found;
		p->state_name = STR("tampered");
		page->count += visibility_is_whole(page->visibility);
		return OK;
	}
	TRY(s);
	page->count += sight_of(cx, p);
	return OK;
}

/* *out_end: that was the last stretch, or the page is full. */
static status
read_stretch(struct ctx *cx, struct page *page, bool *out_end)
{
	const struct row_filter *f = page->filter;
	struct proposal *rows;
	size_t count;

	TRY(db_all(cx, SQL_PROPOSAL_SCAN, scan_row, sizeof(*rows), &rows, &count, TEXT(cx->caller->org_id),
		TEXT(page->before), TEXT(f->state), TEXT(f->tool), TEXT(f->proposer_id), INT(STRETCH)));
	for (size_t i = 0; i < count; i++) {
		if (!sight_of(cx, &rows[i]))
			continue;
		page->full = page->count == (size_t)f->limit;
		if (page->full)
			break;
		TRY(take(cx, page, &rows[i]));
	}
	if (count)
		page->before = rows[count - 1].id;
	*out_end = page->full || count < STRETCH;
	return OK;
}

static status
scan(struct ctx *cx, struct page *page, str *out_next)
{
	bool end = false;

	page->rows = ARENA_TRY_ARRAY(cx->arena, struct proposal, (size_t)page->filter->limit);
	if (!page->rows)
		return fail(cx, E_TOO_LARGE, "the page is too large");
	for (size_t seen = 0; !end && seen < LIMIT_PROPOSAL_SCAN; seen += STRETCH)
		TRY(read_stretch(cx, page, &end));
	*out_next = page->before;
	if (page->full)
		*out_next = page->rows[page->count - 1].id;
	else if (end)
		*out_next = (str){ 0 };
	return OK;
}

status
sight_page(struct ctx *cx, const struct row_filter *f, struct proposal **out_rows, size_t *out_count,
	str *out_next)
{
	struct page page = { .filter = f, .before = f->before.len ? f->before : STR(ROW_AFTER_LAST) };
	bool full;

	TRY(visibility_of(cx, &page.visibility));
	if (visibility_is_whole(page.visibility) && caller_may(cx->caller, STR("proposal.proposal.read"))) {
		TRY(row_list(cx, cx->caller->org_id, f, out_rows, out_count));
		full = *out_count == (size_t)f->limit;
		*out_next = full ? (*out_rows)[*out_count - 1].id : (str){ 0 };
		return OK;
	}
	TRY(scan(cx, &page, out_next));
	*out_rows = page.rows;
	*out_count = page.count;
	return OK;
}
