/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.change: who may approve, changed by a proposal (AP-4; docs/decisions/0033).
 *
 *	{operation, input} --dry-run: the operation itself, undone--> what its record says changes --> card
 *	                   --apply, in a fresh session---------------> the operation itself
 *
 * The operations are those with `authority`; a unit test compares the lists. A proposer needs the right to propose the
 * operation, who votes and who applies needs the operation's own rule.
 */
#include "domain/access/access.h"

#include "base/limits.h"
#include "core/audit/audit.h"
#include "core/door/authority.h"
#include "core/gate/settings.h"
#include "core/ident/caller.h"
#include "json/bind.h"

#define SUMMARY "Change who may approve: "

const char *const access_operations[] = { "agent_tools_put", "connection_change", "connection_tool_put",
	"environment_change", "member_change", "member_create", "member_disable", "member_link",
	"member_unbind", "project_change", "role_change", "role_create", "role_delete", "settings_put",
	"team_create", "team_delete", "team_only", "team_put", "upstream_create", "upstream_tools_accept",
	NULL };

/* What an answer may hold that is shown once, to who applies. */
static const char *const secrets[] = { "link", "password", "secret", "token", NULL };

/* What would be stored for everybody who sees the proposal. */
static const char *const kept_out[] = { "authSecret", "bearer", "env", "headers", "password", NULL };

struct change_in {
	str operation;
	struct json *input;
};
static const struct field change_in[] = {
	FIELD_TEXT(struct change_in, operation, .need = true, .choices = access_operations,
		.doc = "The operation that changes who may approve, by its operationId in /openapi.json."),
	FIELD_JSON(struct change_in, input, .need = true,
		.doc = "An object with what that operation takes, members of its path too (id)."),
	FIELD_END,
};

struct change_out {
	str operation;
	struct json *answer;
};
static const struct field change_out[] = {
	FIELD_TEXT(struct change_out, operation, .need = true, .doc = "What was done."),
	FIELD_JSON(struct change_out, answer, .need = true, .doc = "What the operation answers."),
	FIELD_END,
};

/* --- which --- */

static const struct op *
find(const struct ctx *cx, str name)
{
	for (const struct op *const *t = cx->ops; t && *t; t++)
		OP_EACH (op, *t)
			if (op->authority && str_eq(name, str_of(op->name)))
				return op;
	return NULL;
}

static bool
is_among(const char *const *names, str name)
{
	for (; *names; names++)
		if (str_eq(name, str_of(*names)))
			return true;
	return false;
}

static status
read_input(struct ctx *cx, const struct json *input, struct change_in *out, const struct op **out_op)
{
	struct change_in i = { .input = NULL };

	TRY(json_bind(cx, input, change_in, sizeof(i), &i));
	*out_op = find(cx, i.operation);
	if (!*out_op || i.input->type != JSON_OBJECT)
		return fail(
			cx, E_INVALID, "/input must be an object with what %.*s takes", STR_ARG(i.operation));
	JSON_EACH (m, i.input)
		if (is_among(kept_out, m->key))
			return fail(cx, E_INVALID,
				"/input/%.*s is a secret, and a proposal is shown to others: do this in a "
				"session",
				STR_ARG(m->key));
	*out = i;
	return OK;
}

/* --- who --- */

/* "access.member.manage" -> "access.member.propose" */
static str
propose_rule(struct arena *a, str rule)
{
	while (rule.len && rule.ptr[rule.len - 1] != '.')
		rule.len--;
	return arena_printf(a, "%.*spropose", STR_ARG(rule));
}

static status
may_propose(struct ctx *cx, const struct op *op)
{
	str asked = propose_rule(cx->arena, str_of(op->rule));
	const char *const needed[] = { arena_cstr(cx->arena, asked), NULL };

	if (caller_may(cx->caller, str_of(op->rule)))
		return OK;
	return caller_require(cx, cx->caller, op->name, needed);
}

/* Who applies it, and who votes. */
static status
may_decide(struct ctx *cx, const struct json *input)
{
	const char *needed[] = { NULL, NULL };
	const struct op *op;
	struct change_in i;

	TRY(read_input(cx, input, &i, &op));
	needed[0] = op->rule;
	return caller_require(cx, cx->caller, op->name, needed);
}

/* The dry-run is made with the rights of the person behind the token: who applies it has their own. */
static struct caller
person_behind(const struct caller *c)
{
	struct caller p = *c;

	if (!c->delegated)
		return p;
	p.rules = c->delegator;
	p.delegated = false;
	p.kind = PRINCIPAL_USER;
	p.via_token = false;
	p.scope.verbs = p.scope.production_verbs = 0;
	return p;
}

/* --- doing it --- */

struct doing {
	const struct op *op;
	const void *in;
	const struct json *asked; /* the operation's input */
	struct audit_told told;
	const struct json *answer;
};

/* What the operation says besides its answer (ETag) is not said, and what came with this request is not about it. */
static status
run(struct ctx *cx, struct doing *d)
{
	str if_match = cx->if_match;
	size_t headers = cx->header_count;
	status s;

	cx->if_match = (str){ 0 };
	cx->told = &d->told;
	s = tool_value(cx, d->op->run, d->in, &d->answer);
	cx->told = NULL;
	cx->if_match = if_match;
	cx->header_count = headers;
	return s;
}

static status
run_as(struct ctx *cx, bool applies, struct doing *d)
{
	const struct caller *asks = cx->caller;
	struct caller behind = person_behind(asks);
	status s;

	if (applies)
		return run(cx, d);
	cx->caller = &behind;
	s = run(cx, d);
	cx->caller = asks;
	return s;
}

/* --- what is said of it --- */

static void
write_answer(struct ctx *cx, const struct doing *d, struct tool_result *r)
{
	struct json *value = json_new_object(cx->arena), *said = json_new_object(cx->arena),
		    *secret = json_new_object(cx->arena);

	JSON_EACH (m, d->answer)
		json_add_member(is_among(secrets, m->key) ? secret : said, m->key, json_share(cx->arena, m));
	access_text(cx, value, "operation", str_of(d->op->name));
	json_add_member(value, STR("answer"), said);
	r->value = value;
	r->reveal = secret->count ? secret : NULL;
}

/* The id of what there is already; empty: it makes something, or is about the organization. */
static str
id_of(const struct doing *d)
{
	const struct json *id = json_get(d->asked, STR("id"));

	return id && id->type == JSON_STRING ? id->text : (str){ 0 };
}

/* Whom or what it is about, as people call it, and by its id: somebody else may have the same name. */
static str
subject_of(struct ctx *cx, const struct doing *d)
{
	const struct json *name = json_get(d->answer, STR("name"));
	str called = d->told.key, id = id_of(d);

	if (name && name->type == JSON_STRING)
		called = name->text;
	if (!id.len || !called.len || str_eq(called, id))
		return !id.len && name ? arena_printf(cx->arena, "\"%.*s\"", STR_ARG(called)) : id;
	return arena_printf(cx->arena, "\"%.*s\" (%.*s)", STR_ARG(called), STR_ARG(id));
}

/* What is asked for stands beside what it changes: a card leaves nothing of it out. */
static struct json *
with_input(struct ctx *cx, const struct json *after, const struct json *input)
{
	struct json *o = json_new_object(cx->arena);

	if (after)
		JSON_EACH (m, after)
			json_add_member(o, m->key, json_share(cx->arena, m));
	json_add_member(o, STR("asked"), json_share(cx->arena, input));
	return o;
}

static str
summary_of(struct ctx *cx, const struct doing *d)
{
	str words = arena_str(cx->arena, str_of(d->op->name)), name = subject_of(cx, d);
	char *at = (char *)(uintptr_t)words.ptr;

	for (size_t i = 0; i < words.len; i++)
		if (at[i] == '_')
			at[i] = ' ';
	return name.len ? arena_printf(cx->arena, SUMMARY "%.*s, %.*s", STR_ARG(words), STR_ARG(name))
			: arena_printf(cx->arena, SUMMARY "%.*s", STR_ARG(words));
}

static void
add_place(struct ctx *cx, const struct doing *d, const struct json *input, struct tool_result *r)
{
	const struct json *id = json_get(input, STR("id"));
	str *place = ARENA_NEW(cx->arena, str);

	if (strcmp(d->op->name, "environment_change") != 0 || !id || id->type != JSON_STRING)
		return;
	*place = id->text;
	r->environments = place;
	r->environment_count = 1;
}

static status
change(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	bool applies = call->proposal_id.len > 0;
	struct doing d = { .op = NULL };
	struct tool_result r = { .affected = STR("who may approve, and what an approval is worth") };
	struct policy_rules after;
	struct change_in i;
	void *in;

	TRY(read_input(cx, call->input, &i, &d.op));
	TRY(applies ? may_decide(cx, call->input) : may_propose(cx, d.op));
	in = arena_alloc(cx->arena, d.op->in_size);
	memset(in, 0, d.op->in_size);
	TRY(fail_below(cx, STR("/input"), json_bind(cx, i.input, d.op->in, d.op->in_size, in)));
	d.in = in;
	d.asked = i.input;
	TRY(fail_below(cx, STR("/input"), run_as(cx, applies, &d)));
	TRY(policy_rules_load(cx, cx->caller->org_id, &after));
	TRY(authority_enough(cx, &after));
	r.summary = summary_of(cx, &d);
	r.resource_type = str_of(d.op->name);
	r.before = d.told.before;
	r.after = with_input(cx, d.told.after, i.input);
	r.resource_id = r.resource_key = id_of(&d);
	add_place(cx, &d, i.input, &r);
	write_answer(cx, &d, &r);
	*out = r;
	return OK;
}

/* --- the declaration --- */

static const char *const manages[] = { "access.change.manage", NULL };

const struct tool access_change_tools[] = {
	{ .name = AUTHORITY_TOOL,
		.version = 1,
		.title = "Change who may approve",
		.doc = "Proposes a change of members, roles, teams, policy, an environment's production and "
		       "approval "
		       "gate, an agent's tiers, programs, or accepted and declared tools of other systems: "
		       "the "
		       "operation that does it, and its input. A person decides it in a session.",
		.effect = OP_MUTATE,
		.in = change_in,
		.in_size = sizeof(struct change_in),
		.out = change_out,
		.rules = manages,
		.propose_rule = "access.change.propose",
		.domain = ACCESS_DOMAIN,
		.target = ACCESS_TARGET,
		.changes_rights = true,
		.authority = true,
		.may_decide = may_decide,
		.spans = true,
		.reveals = true,
		.failure = "Who may approve stays as it is.",
		.run = change },
	{ 0 },
};
