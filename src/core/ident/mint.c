/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ident/mint.h"

#include "base/check.h"
#include "base/limits.h"
#include "core/ident/cidr.h"
#include "db/db.h"
#include "json/bind.h"

#include "core/ident/mint.sql.h" /* SQL_MINT_*, generated from mint.sql */

#define TTL_LEAST_S (TOKEN_TTL_LEAST_US / 1000000)
#define TTL_MOST_S  (TOKEN_TTL_MOST_US / 1000000)

static const char *const levels[] = { "observer", "proposer", "operator", "maintainer", "admin", NULL };
static const char *const modes[] = { "approve", "auto", NULL };

const struct field mint_in[] = {
	FIELD_TEXT(struct mint_in, name, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "What it is for."),
	FIELD_TEXT(struct mint_in, principal_id, .max = LIMIT_NAME,
		.doc = "The agent or service that will use it; absent: yourself."),
	FIELD_TEXT(struct mint_in, level, .choices = levels,
		.doc = "A template of rules. Absent, and no rules: an agent reads and proposes in production "
		       "and "
		       "also writes and toggles elsewhere; yourself: what you have."),
	FIELD_JSON(struct mint_in, rules,
		.doc = "Single rules, `<plugin>.<resource>.<verb>`, as an array; never \"*\"."),
	FIELD_JSON(struct mint_in, environments, .doc = "Ids of environments as an array, or \"all\"."),
	FIELD_TEXT(struct mint_in, project_id, .max = LIMIT_NAME,
		.doc = "Instead of environments: those that this project has now."),
	FIELD_JSON(
		struct mint_in, keys, .doc = "Resource keys as an array, exact or `payments.*`, or \"all\"."),
	FIELD_JSON(struct mint_in, actions, .doc = "The only verbs it may use, as an array."),
	FIELD_JSON(struct mint_in, production_actions, .doc = "The only verbs it may use in production."),
	FIELD_JSON(struct mint_in, cidrs, .doc = "Addresses it may come from, as an array of CIDR blocks."),
	FIELD_INT(struct mint_in, rate_per_minute, .min = 1, .max = 100000,
		.doc = "Tool calls in any 60 seconds; 60 unless said."),
	FIELD_INT(struct mint_in, ttl_seconds, .min = TTL_LEAST_S, .max = TTL_MOST_S,
		.doc = "How long it lives: an hour to 90 days, 7 days unless said. Never longer than the "
		       "token it is "
		       "minted with."),
	FIELD_BOOL(struct mint_in, approval_required, .doc = "Everything it changes needs approval."),
	FIELD_TEXT(
		struct mint_in, mode, .choices = modes, .doc = "`auto` applies at once what policy allows."),
	FIELD_BOOL(struct mint_in, for_voting, .doc = "A token of your own that may vote, for an hour."),
	FIELD_BOOL(struct mint_in, override, .doc = "Yes, this agent is to have the level admin."),
	FIELD_END,
};

static status
refuse(struct ctx *cx, const char *path, const char *message)
{
	ctx_clear(cx);
	fail_issue(cx, str_of(path), str_of(message));
	return fail(cx, E_INVALID, "%s %s", path, message);
}

static void
warn(struct mint *m, const char *sentence)
{
	CHECK(m->warning_count + 1 < MINT_WARNINGS);
	m->warnings[m->warning_count++] = sentence;
}

/* --- for whom --- */

struct kind_row {
	str kind;
};
static const struct field kind_row[] = { FIELD_TEXT(struct kind_row, kind), FIELD_END };

static status
choose_principal(struct ctx *cx, const struct mint_in *in, struct mint *m)
{
	const struct caller *c = cx->caller;
	struct kind_row row;
	status s;

	if (!in->principal_id.len || str_eq(in->principal_id, c->principal_id)) {
		m->kind = PRINCIPAL_USER;
		m->token.principal_id = c->principal_id;
		return OK;
	}
	s = db_one(cx, SQL_MINT_PRINCIPAL, kind_row, &row, TEXT(c->org_id), TEXT(in->principal_id));
	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "there is no agent or service with this id");
	TRY(s);
	if (!principal_kind_of(row.kind, &m->kind) || m->kind == PRINCIPAL_USER)
		return fail(cx, E_FORBIDDEN, "nobody mints a token for another person");
	m->token.principal_id = in->principal_id;
	m->token.delegator_id = c->principal_id;
	return OK;
}

/* --- rights --- */

static bool
has_all(const struct rules *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (str_eq(r->items[i], STR(RULE_ALL)))
			return true;
	return r->level == LEVEL_ADMIN;
}

/* Without rights in the wish: what the minter has, an agent at most what is safe (ID-7). */
static void
default_rights(const struct caller *c, struct mint *m, struct rules *set)
{
	const struct rules *own = &c->rules;
	bool agent = m->kind != PRINCIPAL_USER;

	*set = *own;
	if (has_all(own))
		*set = (struct rules){ .level = LEVEL_ADMIN };
	if (!agent)
		return;
	if (set->level > LEVEL_OPERATOR)
		set->level = LEVEL_OPERATOR;
	m->token.verbs = TOKEN_AGENT_VERBS;
	m->token.production_verbs = TOKEN_AGENT_PRODUCTION_VERBS;
}

static status
read_rules(struct ctx *cx, const struct mint_in *in, struct rules *set)
{
	TRY(json_bind_strings(cx, in->rules, STR("/rules"), LIMIT_RULES, &set->items, &set->count));
	for (size_t i = 0; i < set->count; i++) {
		if (str_eq(set->items[i], STR(RULE_ALL)))
			return refuse(cx, "/rules", "may not hold \"*\": a token says what it is for");
		if (!rule_valid(set->items[i]))
			return refuse(cx, "/rules", "must be rules of the form <plugin>.<resource>.<verb>");
	}
	if (in->level.len)
		CHECK(level_of(in->level, &set->level)); /* the field's choices */
	return OK;
}

/* `approve` is not for agents: single rules go, and a level is left without that verb. */
static void
strip_approve(struct ctx *cx, struct mint *m, struct rules *set)
{
	str *kept = arena_alloc(cx->arena, (set->count + 1) * sizeof(*kept));
	bool stripped = (level_verbs(set->level) & 1u << VERB_APPROVE) && !m->token.verbs;
	size_t n = 0;
	enum verb verb;

	for (size_t i = 0; i < set->count; i++) {
		if (rule_verb(set->items[i], &verb) && verb == VERB_APPROVE)
			stripped = true;
		else
			kept[n++] = set->items[i];
	}
	set->items = kept;
	set->count = n;
	if (m->token.verbs & 1u << VERB_APPROVE || m->token.production_verbs & 1u << VERB_APPROVE)
		stripped = true;
	if (!m->token.verbs)
		m->token.verbs = (1u << VERBS) - 1;
	m->token.verbs &= ~(1u << VERB_APPROVE);
	m->token.production_verbs &= ~(1u << VERB_APPROVE);
	if (stripped)
		warn(m, "approve was left out: only people approve");
}

static status
check_admin(struct ctx *cx, const struct mint_in *in, struct mint *m, enum level level)
{
	if (m->kind == PRINCIPAL_USER || level != LEVEL_ADMIN)
		return OK;
	if (!in->override)
		return refuse(cx, "/override", "must be true to give the level admin to an agent");
	warn(m, "WARNING: this agent holds the level admin: it can change members, tokens and policy");
	return OK;
}

/* --- verbs --- */

static status
read_verbs(struct ctx *cx, const struct json *list, const char *path, uint32_t *out)
{
	const str *items;
	size_t count;
	enum verb verb;

	if (!list)
		return OK;
	TRY(json_bind_strings(cx, list, str_of(path), VERBS, &items, &count));
	*out = 0;
	for (size_t i = 0; i < count; i++) {
		if (!verb_of(items[i], &verb))
			return refuse(cx, path,
				"must be verbs: read, propose, toggle, write, approve, create, "
				"promote, delete, manage");
		*out |= 1u << verb;
	}
	return *out ? OK : refuse(cx, path, "must name at least one verb");
}

/* `actions` are the only verbs it may use: of the default in production what is among them. None is no way to say
 * nothing (0 is every verb), so that must be said. */
static status
choose_verbs(struct ctx *cx, const struct mint_in *in, struct token_new *t)
{
	bool defaults = in->actions && !in->production_actions && t->production_verbs;

	TRY(read_verbs(cx, in->actions, "/actions", &t->verbs));
	if (defaults)
		t->production_verbs &= t->verbs;
	if (defaults && !t->production_verbs)
		return refuse(cx, "/productionActions",
			"must say what it may do in production: without a word it reads and proposes there, "
			"and "
			"`actions` has neither");
	return read_verbs(cx, in->production_actions, "/productionActions", &t->production_verbs);
}

/* Beside a token's verbs a new one has only some of them; what it does not say is what there is. */
static status
narrow_verbs(struct ctx *cx, const struct mint_in *in, struct token_new *t)
{
	const struct scope *own = &cx->caller->scope;
	uint32_t all = (1u << VERBS) - 1, had = own->verbs ? own->verbs : all;
	uint32_t had_production = own->production_verbs ? own->production_verbs : had;
	uint32_t verbs = t->verbs ? t->verbs : all;
	uint32_t production = t->production_verbs ? t->production_verbs : verbs;

	if ((in->actions && verbs & ~had) || (in->production_actions && production & ~had_production))
		return fail(cx, E_FORBIDDEN,
			"nobody gives more than they have: your token has not all these actions");
	if ((verbs & had) == 0 || (production & had_production) == 0)
		return fail(cx, E_FORBIDDEN, "your token leaves nothing that this one could do");
	if (had != all)
		t->verbs = verbs & had;
	if (t->production_verbs || had_production != all)
		t->production_verbs = production & had_production;
	return OK;
}

static status
choose_rights(struct ctx *cx, const struct mint_in *in, struct mint *m)
{
	struct caller wide = *cx->caller; /* verbs are looked at by themselves */
	struct rules set = { 0 };

	if (!in->level.len && !in->rules)
		default_rights(cx->caller, m, &set);
	else
		TRY(read_rules(cx, in, &set));
	TRY(choose_verbs(cx, in, &m->token));
	TRY(check_admin(cx, in, m, set.level));
	if (m->kind != PRINCIPAL_USER)
		strip_approve(cx, m, &set);
	wide.scope.verbs = wide.scope.production_verbs = 0;
	TRY(caller_may_give(cx, &wide, &set));
	m->token.level = set.level;
	m->token.rules = set.items;
	m->token.rule_count = set.count;
	return narrow_verbs(cx, in, &m->token);
}

/* --- where --- */

/* "all", a list, or nothing (then *out_given is false). */
static status
read_scope(struct ctx *cx, const struct json *j, const char *path, bool *out_given, bool *out_all,
	const str **out_items, size_t *out_count)
{
	*out_given = j != NULL;
	*out_all = j && j->type == JSON_STRING && str_eq(j->text, STR("all"));
	if (*out_all)
		return OK;
	TRY(json_bind_strings(cx, j, str_of(path), LIMIT_SCOPE, out_items, out_count));
	return j && *out_count == 0 ? refuse(cx, path, "must name at least one, or be \"all\"") : OK;
}

struct environment_row {
	str id, project_id;
};
static const struct field environment_row[] = {
	FIELD_TEXT(struct environment_row, id),
	FIELD_TEXT(struct environment_row, project_id),
	FIELD_END,
};

static bool
is_among(const struct environment_row *rows, size_t count, str id)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(rows[i].id, id))
			return true;
	return false;
}

static status
choose_project(struct ctx *cx, const struct mint_in *in, const struct environment_row *rows, size_t count,
	struct token_new *t)
{
	str *ids = arena_alloc(cx->arena, (count + 1) * sizeof(*ids));
	size_t n = 0;

	if (in->environments)
		return refuse(cx, "/projectId", "goes without environments");
	for (size_t i = 0; i < count; i++)
		if (str_eq(rows[i].project_id, in->project_id))
			ids[n++] = rows[i].id;
	t->environments = ids;
	t->environment_count = n;
	return n ? OK : refuse(cx, "/projectId", "is not a project with environments");
}

static status
choose_environments(struct ctx *cx, const struct mint_in *in, struct token_new *t)
{
	const struct scope *own = &cx->caller->scope;
	struct environment_row *rows;
	size_t count;
	bool given;

	TRY(db_all(cx, SQL_MINT_ENVIRONMENTS, environment_row, sizeof(*rows), &rows, &count,
		TEXT(cx->caller->org_id)));
	TRY(read_scope(cx, in->environments, "/environments", &given, &t->all_environments, &t->environments,
		&t->environment_count));
	if (in->project_id.len) {
		TRY(choose_project(cx, in, rows, count, t));
	} else if (!given) {
		t->all_environments = own->all_environments;
		t->environments = own->environments;
		t->environment_count = own->environment_count;
	}
	if (t->all_environments && !own->all_environments)
		return fail(cx, E_FORBIDDEN,
			"nobody gives more than they have: your token is not for all environments");
	for (size_t i = 0; i < t->environment_count; i++) {
		if (!is_among(rows, count, t->environments[i]))
			return refuse(cx, "/environments",
				"must be ids of environments; GET /api/v1/environments lists them");
		if (!caller_in_scope(cx->caller, t->environments[i], (str){ 0 }))
			return fail(cx, E_FORBIDDEN,
				"nobody gives more than they have: your token is not for %.*s",
				STR_ARG(t->environments[i]));
	}
	return OK;
}

/* Are all keys of the pattern among those of the caller's token? */
static bool
holds_key(const struct scope *own, str pattern)
{
	str stem = pattern;

	if (own->all_keys)
		return true;
	if (str_ends(pattern, STR(".*")))
		stem.len--; /* "payments." */
	for (size_t i = 0; i < own->key_count; i++) {
		str have = own->keys[i];

		if (str_eq(have, pattern) ||
			(str_ends(have, STR(".*")) && str_starts(stem, (str){ have.ptr, have.len - 1 })))
			return true;
	}
	return false;
}

static status
choose_keys(struct ctx *cx, const struct mint_in *in, struct token_new *t)
{
	const struct scope *own = &cx->caller->scope;
	bool given;

	TRY(read_scope(cx, in->keys, "/keys", &given, &t->all_keys, &t->keys, &t->key_count));
	if (!given) {
		t->all_keys = own->all_keys;
		t->keys = own->keys;
		t->key_count = own->key_count;
	}
	if (t->all_keys && !own->all_keys)
		return fail(
			cx, E_FORBIDDEN, "nobody gives more than they have: your token is not for all keys");
	for (size_t i = 0; i < t->key_count; i++) {
		if (!t->keys[i].len || str_eq(t->keys[i], STR("*")))
			return refuse(cx, "/keys", "must be exact keys or prefixes such as payments.*");
		if (!holds_key(own, t->keys[i]))
			return fail(cx, E_FORBIDDEN,
				"nobody gives more than they have: your token is not for %.*s",
				STR_ARG(t->keys[i]));
	}
	return OK;
}

static bool
is_within(const struct caller *c, str block)
{
	for (size_t i = 0; i < c->cidr_count; i++)
		if (cidr_within(c->cidrs[i], block))
			return true;
	return c->cidr_count == 0;
}

static status
choose_addresses(struct ctx *cx, const struct mint_in *in, struct token_new *t)
{
	const struct caller *c = cx->caller;

	TRY(json_bind_strings(cx, in->cidrs, STR("/cidrs"), LIMIT_SCOPE, &t->cidrs, &t->cidr_count));
	if (!t->cidr_count) {
		t->cidrs = c->cidrs;
		t->cidr_count = c->cidr_count;
	}
	for (size_t i = 0; i < t->cidr_count; i++) {
		if (!cidr_valid(t->cidrs[i]))
			return refuse(cx, "/cidrs", "must be blocks such as 10.0.0.0/8 or 2001:db8::/32");
		if (!is_within(c, t->cidrs[i]))
			return fail(cx, E_FORBIDDEN,
				"nobody gives more than they have: your token may not come from %.*s",
				STR_ARG(t->cidrs[i]));
	}
	return OK;
}

/* --- how long --- */

static status
choose_life(struct ctx *cx, const struct mint_in *in, struct mint *m)
{
	const struct caller *c = cx->caller;
	struct token_new *t = &m->token;
	int64_t now_us;

	t->ttl_us = in->ttl_seconds ? in->ttl_seconds * 1000000 : TOKEN_TTL_AGENT_US;
	TRY(tx_now_us(cx, &now_us));
	if (in->for_voting) {
		if (m->kind != PRINCIPAL_USER)
			return refuse(cx, "/forVoting", "is for tokens of your own: agents never vote");
		if (in->ttl_seconds > TTL_LEAST_S)
			return refuse(cx, "/ttlSeconds", "must be 3600 for a token that may vote");
		if (!c->may_vote)
			return fail(
				cx, E_FORBIDDEN, "a token that may vote is minted by somebody who may vote");
		t->ttl_us = TOKEN_TTL_LEAST_US;
		t->vote_us = TOKEN_TTL_LEAST_US;
		if (c->vote_until && c->vote_until - now_us < t->vote_us)
			t->vote_us = c->vote_until - now_us;
	}
	if (c->expires_at && c->expires_at - now_us < t->ttl_us)
		t->ttl_us = c->expires_at - now_us;
	return OK;
}

status
mint_check(struct ctx *cx, const struct mint_in *in, struct mint *out)
{
	struct mint m = { .token = { .name = in->name,
				  .parent_id = cx->caller->token_id,
				  .rate_per_minute = in->rate_per_minute,
				  .approval_required = in->approval_required || cx->caller->approval_required,
				  .auto_mode = str_eq(in->mode, STR("auto")) } };

	if (cx->caller->kind != PRINCIPAL_USER)
		return fail(cx, E_FORBIDDEN, "only people mint tokens; an agent proposes token.mint");
	TRY(choose_principal(cx, in, &m));
	TRY(choose_rights(cx, in, &m));
	TRY(choose_environments(cx, in, &m.token));
	TRY(choose_keys(cx, in, &m.token));
	TRY(choose_addresses(cx, in, &m.token));
	TRY(choose_life(cx, in, &m));
	*out = m;
	return OK;
}
