/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/gate.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/hash/sha256.h"
#include "core/gate/quick/behind.h"
#include "core/gate/quick/lease.h"
#include "core/id.h"
#include "core/oauth/scope.h"
#include "db/db.h"
#include "json/canon.h"

#include <inttypes.h>

#include "core/gate/gate.sql.h" /* SQL_GATE_*, generated from gate.sql */

const struct tool *
gate_tool(const struct ctx *cx, str name)
{
	const struct tool *t = tool_find(cx->tools, name);

	return t ? t : tool_of_kind(cx->tools, name);
}

bool
gate_may(const struct caller *c, const struct tool *t, bool production)
{
	for (size_t i = 0; t->rules[i]; i++)
		if (!caller_may_in(c, str_of(t->rules[i]), production))
			return false;
	return true;
}

bool
gate_may_propose(const struct caller *c, const struct tool *t, bool production)
{
	return gate_may(c, t, production) ||
	       (t->propose_rule && caller_may_in(c, str_of(t->propose_rule), production));
}

str
gate_approve_rule(struct arena *a, const struct tool *t)
{
	str rule = str_of(t->rules[0]);

	while (rule.len && rule.ptr[rule.len - 1] != '.')
		rule.len--;
	return arena_printf(a, "%.*sapprove", STR_ARG(rule));
}

bool
gate_may_vote(struct ctx *cx, const struct caller *c, const struct tool *t)
{
	return c->kind == PRINCIPAL_USER &&
	       rules_cover(c->delegated ? &c->delegator : &c->rules, gate_approve_rule(cx->arena, t));
}

bool
gate_in_session(const struct caller *c)
{
	return c->kind == PRINCIPAL_USER && !c->via_token;
}

/* In one kind of environment at least: which one it is about is known when it has run. */
static bool
may_propose(const struct caller *c, const struct tool *t)
{
	return gate_may_propose(c, t, true) || gate_may_propose(c, t, false);
}

bool
gate_lists(const struct caller *c, const struct permission_snapshot *s, const struct tool *t)
{
	bool stored;

	return c->kind != PRINCIPAL_SERVICE && may_propose(c, t) &&
	       permission_tier(s, t, &stored) != TIER_BLOCKED;
}

status
gate_check_input(struct ctx *cx, const struct tool *t, const struct json *input)
{
	struct schema_issues issues;

	TRY(schema_check(cx, tool_schema(cx->tools, t), input, &issues));
	if (issues.count == 0)
		return OK;
	for (size_t i = 0; i < issues.count; i++)
		fail_issue(cx, issues.issues[i].path, issues.issues[i].message);
	return fail(
		cx, E_INVALID, "the input of %s is not what it takes; correct it and call again", t->name);
}

static str
number(struct ctx *cx, int64_t n)
{
	return arena_int(cx->arena, n < 0 ? 0 : n);
}

/* What the answer says of it (TL-9). */
static status
say_left(struct ctx *cx, const struct budget *b, status s)
{
	int64_t now_us, wait_s;

	TRY(tx_now_us(cx, &now_us));
	wait_s = (b->reset_us - now_us + SECOND_US - 1) / SECOND_US;
	ctx_header(cx, "X-RateLimit-Limit", number(cx, b->cap));
	ctx_header(cx, "X-RateLimit-Remaining", number(cx, b->left));
	ctx_header(cx, "X-RateLimit-Reset", number(cx, wait_s));
	if (s == E_RATE_LIMITED)
		ctx_header(cx, "Retry-After", number(cx, wait_s > 0 ? wait_s : 1));
	return s;
}

static bool
may_borrow(const struct ctx *cx)
{
	return cx->leases && cx->credential && cx->credential->bearer.len;
}

bool
gate_ready(struct ctx *cx)
{
	return may_borrow(cx) && lease_ready(cx->leases, cx->credential);
}

/* Of a lease, without the database; or it has been, in this request. */
static bool
is_paid(struct ctx *cx)
{
	struct purse *p = cx->purse;

	if (!p || !may_borrow(cx))
		return false;
	if (!p->paid)
		p->paid = lease_take(cx->leases, cx->credential, &p->budget);
	return p->paid;
}

status
gate_spend(struct ctx *cx)
{
	struct budget b = { 0 };
	status s;

	if (is_paid(cx))
		return say_left(cx, &cx->purse->budget, OK);
	s = budget_take(cx, cx->caller, &b);
	return s == OK || s == E_RATE_LIMITED ? say_left(cx, &b, s) : s;
}

bool
gate_pay(struct ctx *cx)
{
	if (!is_paid(cx))
		return false;
	if (say_left(cx, &cx->purse->budget, OK) != OK)
		ctx_clear(cx); /* the headers are all that is missing */
	return true;
}

/* Together: they are one round trip. */
static status
spend_and_load(struct ctx *cx, struct permission_snapshot *out)
{
	struct permission_asked asked;

	TRY(permission_ask(cx, cx->caller, &asked));
	TRY(gate_spend(cx));
	TRY(permission_take(cx, &asked, out));
	permission_remember(cx, &asked); /* nothing has been done yet */
	return OK;
}

/* Names what is missing, and what would be enough to propose it (ID-9). */
status
gate_refuse(struct ctx *cx, const struct caller *c, const struct tool *t, bool production)
{
	status s = caller_require_in(cx, c, t->name, t->rules, production);

	if (s == OK)
		return fail(cx, E_FORBIDDEN, "Forbidden: %s", t->name);
	if (!t->propose_rule)
		return s;
	scope_step_up(cx, c, (const char *const[]){ t->propose_rule, NULL }); /* less is enough */
	return fail(cx, s, "%.*s; with %s you could propose it (proposal_create)",
		STR_ARG(ctx_message(cx, s)), t->propose_rule);
}

/* The same for what is blocked and for what is not there (TL-2). A kind has no dot in its name. */
static status
no_such(struct ctx *cx, str name)
{
	if (memchr(name.ptr, '.', name.len))
		return fail(cx, E_NOT_FOUND, "there is no tool called \"%.*s\"", STR_ARG(name));
	return fail(cx, E_NOT_FOUND,
		"there is no tool or kind called \"%.*s\"; GET /api/v1/tools lists those there are",
		STR_ARG(name));
}

/* The name, the tier, the rules, the input: nothing here touches the database. */
static status
resolve(struct ctx *cx, const struct permission_snapshot *snapshot, str name, const struct json *input,
	struct gate_pass *out)
{
	const struct caller *c = cx->caller;
	struct gate_pass p = { .tool = gate_tool(cx, name) };

	if (p.tool)
		p.tier = permission_tier(snapshot, p.tool, &p.tier_stored);
	if (!p.tool || p.tier == TIER_BLOCKED)
		return no_such(cx, name);
	p.override_ = permission_override(snapshot, p.tool);
	p.has_verb = gate_may(c, p.tool, true);
	if (!may_propose(c, p.tool))
		return gate_refuse(cx, c, p.tool, true);
	TRY(gate_check_input(cx, p.tool, input));
	TRY(canon_text(cx, input, &p.input));
	p.args_hash = sha256_hex(cx->arena, p.input);
	*out = p;
	return OK;
}

status
gate_look(struct ctx *cx, str name, const struct json *input, struct gate_pass *out)
{
	struct permission_snapshot snapshot;

	CHECK(cx->caller != NULL && cx->tools != NULL);
	if (cx->caller->kind == PRINCIPAL_SERVICE)
		return fail(cx, E_FORBIDDEN, "service principals cannot use tools");
	TRY(permission_load(cx, cx->caller, &snapshot));
	return resolve(cx, &snapshot, name, input, out);
}

status
gate_enter(struct ctx *cx, str name, const struct json *input, struct gate_pass *out)
{
	struct permission_snapshot snapshot;

	CHECK(cx->caller != NULL && cx->tools != NULL);
	if (cx->caller->kind == PRINCIPAL_SERVICE)
		return fail(cx, E_FORBIDDEN, "service principals cannot use tools");
	TRY(spend_and_load(cx, &snapshot));
	return resolve(cx, &snapshot, name, input, out);
}

status
gate_keep_failed(struct ctx *cx, str tool, const struct json *input)
{
	struct permission_snapshot snapshot;
	struct gate_pass pass;
	str id;

	TRY(spend_and_load(cx, &snapshot));
	if (cx->caller->kind == PRINCIPAL_SERVICE || resolve(cx, &snapshot, tool, input, &pass) != OK) {
		ctx_clear(cx);
		return OK; /* it never got to the tool */
	}
	return gate_record(cx, &pass, "failed", (str){ 0 }, &id);
}

/* --- what a call leaves --- */

struct event
gate_row_event(struct arena *a, const struct gate_row *r)
{
	return (struct event){ .org_id = r->org_id,
		.type = STR("tool.called"),
		.id = r->id,
		.data = arena_printf(a,
			"{\"tool\":\"%.*s\",\"effect\":\"%s\",\"status\":\"%s\",\"transport\":\"%s\"}",
			STR_ARG(r->tool), r->effect, r->state, r->transport) };
}

static struct gate_row
row_of(struct ctx *cx, const struct caller *c, const struct gate_pass *p, const char *state, int64_t now_us)
{
	return (struct gate_row){ .org_id = c->org_id,
		.id = p->call_id.len ? p->call_id : id_at(cx->arena, now_us),
		.principal_id = c->principal_id,
		.token_id = c->token_id,
		.tool = str_of(p->tool->name),
		.args_hash = p->args_hash,
		.transport = c->transport,
		.effect = effect_name(p->tool->effect),
		.state = state,
		.called_at = now_us };
}

status
gate_record(struct ctx *cx, const struct gate_pass *p, const char *state, str proposal_id, str *out_id)
{
	struct event event;
	struct gate_row r;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	r = row_of(cx, cx->caller, p, state, now_us);
	TRY(db_later(cx, SQL_GATE_RECORD, TEXT(r.org_id), TEXT(r.id), TEXT(r.principal_id),
		r.token_id.len ? TEXT(r.token_id) : NIL, TEXT(str_of(r.transport)), TEXT(r.tool),
		TEXT(str_of(r.effect)), TEXT(str_of(r.state)), TEXT(r.args_hash),
		proposal_id.len ? TEXT(proposal_id) : NIL, INT(now_us)));
	event = gate_row_event(cx->arena, &r);
	event_emit(cx, &event);
	*out_id = r.id;
	return OK;
}

bool
gate_record_behind(
	struct ctx *cx, const struct caller *c, const struct gate_pass *p, const char *state, int64_t now_us)
{
	struct gate_row row = row_of(cx, c, p, state, now_us);

	return cx->behind && !p->tool->personal_data && !p->tool->phi && behind_add(cx->behind, &row);
}
