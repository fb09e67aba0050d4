/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/gate.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/hash/sha256.h"
#include "core/event.h"
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

status
gate_spend(struct ctx *cx)
{
	struct budget b = { 0 };
	int64_t now_us, wait_s;
	status s = budget_take(cx, cx->caller, &b);

	if (s != OK && s != E_RATE_LIMITED)
		return s;
	TRY(tx_now_us(cx, &now_us));
	wait_s = (b.reset_us - now_us + SECOND_US - 1) / SECOND_US;
	ctx_header(cx, "X-RateLimit-Limit", number(cx, b.cap));
	ctx_header(cx, "X-RateLimit-Remaining", number(cx, b.left));
	ctx_header(cx, "X-RateLimit-Reset", number(cx, wait_s));
	if (s == E_RATE_LIMITED)
		ctx_header(cx, "Retry-After", number(cx, wait_s > 0 ? wait_s : 1));
	return s;
}

/* Together: they are one round trip. */
static status
spend_and_load(struct ctx *cx, struct permission_snapshot *out)
{
	struct permission_asked asked;

	TRY(permission_ask(cx, cx->caller, &asked));
	TRY(gate_spend(cx));
	permission_remember(cx, &asked); /* nothing has been done yet */
	return permission_take(cx, &asked, out);
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

status
gate_record(struct ctx *cx, const struct gate_pass *p, const char *state, str proposal_id, str *out_id)
{
	const struct caller *c = cx->caller;
	int64_t now_us;
	str id;

	TRY(tx_now_us(cx, &now_us));
	id = p->call_id.len ? p->call_id : id_at(cx->arena, now_us);
	TRY(db_later(cx, SQL_GATE_RECORD, TEXT(c->org_id), TEXT(id), TEXT(c->principal_id),
		c->token_id.len ? TEXT(c->token_id) : NIL, TEXT(str_of(c->transport)),
		TEXT(str_of(p->tool->name)), TEXT(str_of(effect_name(p->tool->effect))), TEXT(str_of(state)),
		TEXT(p->args_hash), proposal_id.len ? TEXT(proposal_id) : NIL, INT(now_us)));
	event_emit(cx,
		&(struct event){ .org_id = c->org_id,
			.type = STR("tool.called"),
			.id = id,
			.data = arena_printf(cx->arena,
				"{\"tool\":\"%s\",\"effect\":\"%s\",\"status\":\"%s\",\"transport\":\"%s\"}",
				p->tool->name, effect_name(p->tool->effect), state, c->transport) });
	*out_id = id;
	return OK;
}
