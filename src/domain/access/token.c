/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens as tools. */
#include "domain/access/access.h"

#include "base/limits.h"
#include "core/ident/mint.h"
#include "core/people/member.h"
#include "json/bind.h"

#include <inttypes.h>

static const struct field list_in[] = { OP_PAGE_FIELDS(struct access_page), FIELD_END };

static status
out_tokens(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct access_page *page = in;

	return mint_out_page(cx, page->after, page->limit, out);
}

static status
list(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct access_page page = { 0 };
	struct tool_result r = {
		.summary = STR("List tokens"), .resource_type = STR("token"), .affected = STR("nothing")
	};

	TRY(json_bind(cx, call->input, list_in, sizeof(page), &page));
	TRY(tool_value(cx, out_tokens, &page, &r.value));
	*out = r;
	return OK;
}

/* --- revoke --- */

struct id_in {
	str id;
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Which token."),
	FIELD_END,
};

struct token_shown {
	str id, name, hint, principal_id;
	bool revoked;
};
static const struct field token_shown[] = {
	FIELD_TEXT(struct token_shown, id, .need = true, .doc = "Its id."),
	FIELD_TEXT(struct token_shown, name, .need = true, .doc = "What it is for."),
	FIELD_TEXT(struct token_shown, hint, .need = true, .doc = "How its secret begins."),
	FIELD_TEXT(struct token_shown, principal_id, .need = true, .doc = "Who uses it."),
	FIELD_BOOL(struct token_shown, revoked, .need = true, .doc = "Whether it has ended."),
	FIELD_END,
};

static struct json *
show(struct ctx *cx, const struct mint_token *t, bool revoked)
{
	struct json *o = json_new_object(cx->arena);

	access_text(cx, o, "id", t->id);
	access_text(cx, o, "name", t->name);
	access_text(cx, o, "hint", t->hint);
	access_text(cx, o, "principalId", t->principal_id);
	json_add_member(o, STR("revoked"), json_new_bool(cx->arena, revoked));
	return o;
}

static status
revoke(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct id_in in = { 0 };
	struct mint_token t;
	int64_t count;

	TRY(json_bind(cx, call->input, id_in, sizeof(in), &in));
	TRY(mint_find(cx, in.id, &t));
	if (t.revoked)
		return fail(cx, E_CONFLICT, "this token is revoked already");
	TRY(mint_end(cx, &t, &count));
	*out = (struct tool_result){ .summary = arena_printf(
					     cx->arena, "Revoke the token \"%.*s\"", STR_ARG(t.name)),
		.resource_type = STR("token"),
		.resource_key = t.id,
		.resource_id = t.id,
		.affected = arena_printf(cx->arena, "%" PRId64 " token%s: it, and what was minted with it",
			count, count == 1 ? "" : "s"),
		.before = show(cx, &t, false) };
	out->after = out->value = show(cx, &t, true);
	return OK;
}

/* --- mint --- */

/* Not admin, not for voting, not for a person, never automatic: that much nobody gets by asking. */
static const char *const levels[] = { "observer", "proposer", "operator", "maintainer", NULL };
static const struct field mint_tool_in[] = {
	FIELD_TEXT(struct mint_in, name, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "What it is for."),
	FIELD_TEXT(struct mint_in, principal_id, .need = true, .min = 1, .max = LIMIT_NAME,
		.doc = "The agent that will use it."),
	FIELD_TEXT(struct mint_in, level, .choices = levels, .doc = "A template of rules."),
	FIELD_JSON(struct mint_in, rules, .doc = "Single rules, as an array; a token has a level or rules."),
	FIELD_JSON(struct mint_in, environments,
		.doc = "Ids of environments as an array, or \"all\", which it is unless said."),
	FIELD_JSON(struct mint_in, keys,
		.doc = "Resource keys as an array, or \"all\", which it is unless said."),
	FIELD_JSON(struct mint_in, actions, .doc = "The only verbs it may use, as an array."),
	FIELD_INT(struct mint_in, rate_per_minute, .min = 1, .max = 100000,
		.doc = "Tool calls in any 60 seconds; 60 unless said."),
	FIELD_INT(struct mint_in, ttl_seconds, .min = TOKEN_TTL_LEAST_US / 1000000,
		.max = TOKEN_TTL_MOST_US / 1000000, .doc = "How long it lives at most; 7 days unless said."),
	FIELD_BOOL(struct mint_in, approval_required, .doc = "Everything it changes needs approval."),
	FIELD_END,
};

static status
bad(struct ctx *cx, const char *path, const char *what)
{
	ctx_clear(cx);
	fail_issue(cx, str_of(path), str_of(what));
	return fail(cx, E_INVALID, "%s %s", path, what);
}

/* What is wrong with the wish whoever applies it. */
static status
check_wish(struct ctx *cx, const struct mint_in *in)
{
	const str *items;
	size_t count;

	if (!in->level.len && !in->rules)
		return bad(
			cx, "/level", "or rules must be given: a token that is proposed says what it is for");
	TRY(json_bind_strings(cx, in->rules, STR("/rules"), LIMIT_RULES, &items, &count));
	for (size_t i = 0; i < count; i++)
		if (str_eq(items[i], STR(RULE_ALL)) || !rule_valid(items[i]))
			return bad(cx, "/rules", "must be rules of the form <plugin>.<resource>.<verb>");
	return OK;
}

static status
read_wish(struct ctx *cx, const struct json *input, struct mint_in *out)
{
	struct mint_in in = { .rate_per_minute = TOKEN_RATE, .ttl_seconds = TOKEN_TTL_AGENT_US / 1000000 };

	TRY(json_bind(cx, input, mint_tool_in, sizeof(in), &in));
	TRY(check_wish(cx, &in));
	if (!in.environments)
		in.environments = json_new_string(cx->arena, STR("all"));
	if (!in.keys)
		in.keys = json_new_string(cx->arena, STR("all"));
	*out = in;
	return OK;
}

static void
add(struct ctx *cx, struct json *o, const char *key, const struct json *value)
{
	if (value)
		json_add_member(o, str_of(key), json_share(cx->arena, value));
}

/* The wish with its defaults: the same whoever looks, and before and after it is granted. */
static struct json *
show_wish(struct ctx *cx, const struct mint_in *in, str id, str agent)
{
	struct json *o = json_new_object(cx->arena);

	access_text(cx, o, "id", id);
	access_text(cx, o, "name", in->name);
	access_text(cx, o, "principalId", in->principal_id);
	access_text(cx, o, "principalName", agent);
	access_text(cx, o, "level", in->level);
	access_text(cx, o, "onAuthorityOf", STR("the person who applies this"));
	add(cx, o, "rules", in->rules);
	add(cx, o, "environments", in->environments);
	add(cx, o, "keys", in->keys);
	add(cx, o, "actions", in->actions);
	json_add_member(o, STR("ratePerMinute"), json_new_int(cx->arena, in->rate_per_minute));
	json_add_member(o, STR("ttlSeconds"), json_new_int(cx->arena, in->ttl_seconds));
	json_add_member(o, STR("approvalRequired"), json_new_bool(cx->arena, in->approval_required));
	return o;
}

struct granted {
	str token_id, hint;
};
static const struct field granted[] = {
	FIELD_TEXT(struct granted, token_id, .need = true, .doc = "Its id."),
	FIELD_TEXT(struct granted, hint, .need = true, .doc = "How its secret begins."),
	FIELD_END,
};

/* By a person it is minted, on their authority. An agent has none to give: its dry-run shows the wish. */
static status
grant(struct ctx *cx, const struct mint_in *in, str id, struct tool_result *out)
{
	struct json *value = json_new_object(cx->arena), *secret = json_new_object(cx->arena);
	struct token_minted minted;
	struct mint m;

	if (cx->caller->kind != PRINCIPAL_USER)
		return OK;
	TRY(mint_run(cx, in, id, &m, &minted));
	access_text(cx, value, "tokenId", minted.token_id);
	access_text(cx, value, "hint", minted.hint);
	access_text(cx, secret, "token", minted.secret);
	out->value = value;
	out->reveal = secret;
	return OK;
}

static status
mint(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct tool_result r = { .resource_type = STR("token"),
		.resource_key = call->id,
		.resource_id = call->id,
		.affected = STR("1 new token") };
	struct member agent;
	struct mint_in in;

	TRY(read_wish(cx, call->input, &in));
	TRY(member_load(cx, in.principal_id, true, &agent));
	if (agent.disabled_at)
		return fail(cx, E_CONFLICT, "this agent is shut out");
	TRY(grant(cx, &in, call->id, &r));
	r.summary = arena_printf(cx->arena, "Mint the token \"%.*s\" for the agent \"%.*s\"",
		STR_ARG(in.name), STR_ARG(agent.name));
	r.after = show_wish(cx, &in, call->id, agent.name);
	*out = r;
	return OK;
}

/* --- the declarations --- */

static const char *const reads[] = { "access.token.read", NULL };
static const char *const manages[] = { "access.token.manage", NULL };

const struct tool access_token_tools[] = {
	{ .name = "token.list",
		.version = 1,
		.title = "List tokens",
		.doc = "Lists tokens, never their secrets: your own, or with access.token.manage all.",
		.effect = OP_READ,
		.in = list_in,
		.in_size = sizeof(struct access_page),
		.out = op_list_out,
		.rules = reads,
		.category = TOOL_CATEGORY_A,
		.domain = ACCESS_DOMAIN,
		.target = ACCESS_TARGET,
		.rollback = true,
		.run = list },
	{ .name = "token.mint",
		.version = 1,
		.title = "Mint a token for an agent",
		.doc = "Mints a token for an agent, on the authority of the person who applies it and never "
		       "with more than they have. That person gets the secret, once.",
		.effect = OP_MUTATE,
		.in = mint_tool_in,
		.in_size = sizeof(struct mint_in),
		.out = granted,
		.rules = manages,
		.propose_rule = "access.token.propose",
		.domain = ACCESS_DOMAIN,
		.target = ACCESS_TARGET,
		.rollback = false, /* it can be revoked, but not what was done with it */
		.changes_rights = true,
		.reveals = true,
		.failure = "No token is minted.",
		.run = mint },
	{ .name = "token.revoke",
		.version = 1,
		.title = "Revoke a token",
		.doc = "Ends a token and everything that was minted with it, at once and for good.",
		.effect = OP_DESTRUCTIVE,
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = token_shown,
		.rules = manages,
		.propose_rule = "access.token.propose",
		.domain = ACCESS_DOMAIN,
		.target = ACCESS_TARGET,
		.changes_rights = true,
		.failure = "The token stays as it is.",
		.run = revoke },
	{ 0 },
};
