/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ident/caller.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/limits.h"
#include "core/ident/cidr.h"
#include "core/known/known.h"
#include "core/ident/recall.h"
#include "core/ident/secret.h"
#include "core/oauth/scope.h"
#include "db/db.h"
#include "json/json.h"

#include "core/ident/caller.sql.h" /* SQL_CALLER_*, generated from caller.sql */

static const char *const kind_names[] = {
	[PRINCIPAL_USER] = "user",
	[PRINCIPAL_AGENT] = "agent",
	[PRINCIPAL_SERVICE] = "service",
};

const char *
principal_kind_name(enum principal_kind k)
{
	return kind_names[k];
}

bool
principal_kind_of(str name, enum principal_kind *out_kind)
{
	for (int k = PRINCIPAL_USER; k <= PRINCIPAL_SERVICE; k++) {
		if (str_eq(name, str_of(kind_names[k]))) {
			*out_kind = (enum principal_kind)k;
			return true;
		}
	}
	return false;
}

/* One sentence for all of them: which part was wrong is nobody's business. */
static status
stranger(struct ctx *cx)
{
	const struct credential *c = cx->credential;
	bool mcp = c && c->transport && strcmp(c->transport, "mcp") == 0; /* it takes no sessions */

	return fail(cx, E_UNAUTHENTICATED, "this needs a valid credential: Authorization: Bearer cs_\u2026%s",
		mcp ? "" : ", or a signed-in session");
}

/* --- what is stored as JSON --- */

/* The strings of a stored JSON array. What is not one is our own damage. */
static status
read_list(struct ctx *cx, str text, const str **out_items, size_t *out_count)
{
	struct json *doc;
	str *items;
	size_t n = 0;

	TRY(json_parse(cx, text, &doc));
	if (doc->type != JSON_ARRAY)
		return fail(cx, E_INTERNAL, "a stored list is not a list");
	items = arena_alloc(cx->arena, (doc->count + 1) * sizeof(*items));
	JSON_EACH (item, doc)
		items[n++] = item->text;
	*out_items = items;
	*out_count = n;
	return OK;
}

/* "all", or a list. */
static status
read_scope(struct ctx *cx, str text, bool *out_all, const str **out_items, size_t *out_count)
{
	*out_all = str_eq(text, STR("\"all\""));
	return *out_all ? OK : read_list(cx, text, out_items, out_count);
}

static status
read_rules(struct ctx *cx, str level, str rules, struct rules *out)
{
	if (!level_of(level, &out->level))
		out->level = LEVEL_NONE;
	return read_list(cx, rules, &out->items, &out->count);
}

/* --- a person's live rights: the union over their roles --- */

struct role_row {
	str level, rules;
};
static const struct field role_row[] = {
	FIELD_TEXT(struct role_row, level),
	FIELD_TEXT(struct role_row, rules),
	FIELD_END,
};

/* Appends the items of more to *set and takes the higher level. */
static void
unite(struct arena *a, struct rules *set, const struct rules *more)
{
	str *items = arena_alloc(a, (set->count + more->count + 1) * sizeof(*items));

	if (set->count)
		memcpy(items, set->items, set->count * sizeof(*items));
	if (more->count)
		memcpy(items + set->count, more->items, more->count * sizeof(*items));
	set->items = items;
	set->count += more->count;
	if (more->level > set->level)
		set->level = more->level;
}

/* Adds the rights of one role; a person without any has an empty one. */
static status
add_role(struct ctx *cx, struct rules *set, str level, str rules)
{
	struct rules one = { 0 };

	if (!rules.len)
		return OK;
	TRY(read_rules(cx, level, rules, &one));
	unite(cx->arena, set, &one);
	return OK;
}

status
caller_live_rules(struct ctx *cx, str org_id, str person_id, struct rules *out)
{
	struct rules all = { 0 };
	struct role_row *rows;
	size_t count;

	TRY(db_all(
		cx, SQL_CALLER_ROLES, role_row, sizeof(*rows), &rows, &count, TEXT(org_id), TEXT(person_id)));
	for (size_t i = 0; i < count; i++)
		TRY(add_role(cx, &all, rows[i].level, rows[i].rules));
	*out = all;
	return OK;
}

/* --- a token --- */

struct token_row {
	str org_id, slug, token_id, principal_id, kind, name;
	int64_t disabled_at;
	str delegator_id;
	int64_t delegator_disabled_at;
	str level, rules, environments, keys;
	int64_t verbs, production_verbs, rate_per_minute;
	bool approval_required, auto_mode;
	str cidrs;
	int64_t vote_until, expires_at, revoked_at;
	str audience, settings;
	int64_t policy_version;
	str role_level, role_rules;
};
static const struct field token_row[] = {
	FIELD_TEXT(struct token_row, org_id),
	FIELD_TEXT(struct token_row, slug),
	FIELD_TEXT(struct token_row, token_id),
	FIELD_TEXT(struct token_row, principal_id),
	FIELD_TEXT(struct token_row, kind),
	FIELD_TEXT(struct token_row, name),
	FIELD_INT(struct token_row, disabled_at),
	FIELD_TEXT(struct token_row, delegator_id),
	FIELD_INT(struct token_row, delegator_disabled_at),
	FIELD_TEXT(struct token_row, level),
	FIELD_TEXT(struct token_row, rules),
	FIELD_TEXT(struct token_row, environments),
	FIELD_TEXT(struct token_row, keys),
	FIELD_INT(struct token_row, verbs),
	FIELD_INT(struct token_row, production_verbs),
	FIELD_INT(struct token_row, rate_per_minute),
	FIELD_BOOL(struct token_row, approval_required),
	FIELD_BOOL(struct token_row, auto_mode),
	FIELD_TEXT(struct token_row, cidrs),
	FIELD_INT(struct token_row, vote_until),
	FIELD_INT(struct token_row, expires_at),
	FIELD_INT(struct token_row, revoked_at),
	FIELD_TEXT(struct token_row, audience),
	FIELD_TEXT(struct token_row, settings),
	FIELD_INT(struct token_row, policy_version),
	FIELD_TEXT(struct token_row, role_level),
	FIELD_TEXT(struct token_row, role_rules),
	FIELD_END,
};

bool
caller_may_come_from(const struct caller *c, str peer)
{
	for (size_t i = 0; i < c->cidr_count; i++)
		if (cidr_holds(c->cidrs[i], peer))
			return true;
	return c->cidr_count == 0;
}

/* What the token's rows say, one for each role behind it: rights and scope, not whether it is still good. */
static status
read_token(struct ctx *cx, const struct token_row *rows, size_t count, struct caller *out)
{
	struct token_row t = rows[0];

	*out = (struct caller){ .org_id = t.org_id,
		.org_slug = t.slug,
		.principal_id = t.principal_id,
		.name = t.name,
		.token_id = t.token_id,
		.audience = t.audience,
		.delegator_id = t.delegator_id,
		.via_token = true,
		.delegated = true,
		.approval_required = t.approval_required,
		.auto_mode = t.auto_mode,
		.rate_per_minute = t.rate_per_minute,
		.expires_at = t.expires_at,
		.settings = t.settings,
		.policy_version = t.policy_version };
	TRY(read_list(cx, t.cidrs, &out->cidrs, &out->cidr_count));
	if (!principal_kind_of(t.kind, &out->kind))
		return fail(cx, E_INTERNAL, "a principal of a kind that there is not");
	out->vote_until = t.vote_until;
	out->scope.verbs = (uint32_t)t.verbs;
	out->scope.production_verbs = (uint32_t)t.production_verbs;
	TRY(read_rules(cx, t.level, t.rules, &out->rules));
	TRY(read_scope(cx, t.environments, &out->scope.all_environments, &out->scope.environments,
		&out->scope.environment_count));
	TRY(read_scope(cx, t.keys, &out->scope.all_keys, &out->scope.keys, &out->scope.key_count));
	for (size_t i = 0; i < count; i++)
		TRY(add_role(cx, &out->delegator, rows[i].role_level, rows[i].role_rules));
	return OK;
}

/* What the time and the place of a use decide, however long ago it was read who it is. */
static status
check_use(struct ctx *cx, str peer, struct caller *c)
{
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	if (c->expires_at <= now_us || !caller_may_come_from(c, peer))
		return stranger(cx);
	c->may_vote = c->kind == PRINCIPAL_USER && c->vote_until > now_us;
	return OK;
}

/* The same, for one that is still good, and used from there. */
static status
read_good_token(struct ctx *cx, const struct token_row *rows, size_t count, str peer, struct caller *out)
{
	if (!count || rows->revoked_at || rows->disabled_at || rows->delegator_disabled_at)
		return stranger(cx);
	TRY(read_token(cx, rows, count, out));
	return check_use(cx, peer, out);
}

struct epoch_row {
	int64_t epoch, now_us;
};
static const struct field epoch_row[] = {
	FIELD_INT(struct epoch_row, epoch),
	FIELD_INT(struct epoch_row, now_us),
	FIELD_END,
};

/* All of it. The epoch is asked for first: what is read is never older than it says. */
static status
read_by_token(struct ctx *cx, const struct credential *c, struct caller *out)
{
	str hash = secret_hash(cx->arena, c->bearer);
	const struct epoch_row *epoch;
	struct db_rows epochs;
	struct token_row *rows;
	size_t count;

	TRY(tx_now_later(cx));
	TRY(db_ask(cx, SQL_CALLER_EPOCH_BY_TOKEN, epoch_row, sizeof(*epoch), &epochs, TEXT(hash)));
	TRY(db_all(cx, SQL_CALLER_TOKEN, token_row, sizeof(*rows), &rows, &count, TEXT(hash)));
	TRY(read_good_token(cx, rows, count, c->peer, out));
	epoch = epochs.rows;
	out->epoch = epochs.count ? epoch->epoch : 0;
	if (cx->known && out->epoch)
		known_keep(cx->known, c, out);
	return OK;
}

/* *known is who it was when the organization's rights were as they are at known->epoch. Are they still? */
static status
is_current(struct ctx *cx, const struct caller *known, bool *out)
{
	struct epoch_row now;
	status s = db_one(cx, SQL_CALLER_EPOCH, epoch_row, &now, TEXT(known->org_id));

	if (s == E_NOT_FOUND) { /* the organization is gone, and with it everybody */
		ctx_clear(cx);
		*out = false;
		return OK;
	}
	TRY(s);
	if (now.now_us)
		tx_now_is(cx, now.now_us);
	*out = now.epoch == known->epoch;
	return OK;
}

/* No token of a consent opens another door than the one it was given for (RFC 8707). */
static status
check_audience(struct ctx *cx, const struct credential *c, str audience)
{
	if (!audience.len || str_eq(audience, c->audience))
		return OK;
	if (c->audience.len) /* the token is good: who holds it may know what for */
		return fail(cx, E_UNAUTHENTICATED,
			"this token was issued for %.*s, which is another name than this server was asked "
			"by; "
			"connect to that address, or authorize again",
			STR_ARG(audience));
	fail_describe(cx, E_FORBIDDEN, "Forbidden: this token is for %.*s only", STR_ARG(audience));
	fail_details(cx, STR("{\"reason\":\"wrong_audience\"}"));
	return E_FORBIDDEN;
}

static status
by_token(struct ctx *cx, const struct credential *c, const struct caller *known, struct caller *out)
{
	bool current = false;

	if (!known && !secret_valid(c->bearer))
		return stranger(cx);
	if (known)
		TRY(is_current(cx, known, &current));
	if (current) {
		*out = *known;
		TRY(check_use(cx, c->peer, out));
	} else {
		TRY(read_by_token(cx, c, out));
	}
	TRY(check_audience(cx, c, out->audience));
	out->transport = c->transport;
	return OK;
}

status
caller_still(struct ctx *cx, str org_id, str token_id, str peer, struct caller *out)
{
	struct token_row *rows;
	size_t count;

	TRY(db_all(
		cx, SQL_CALLER_AGAIN, token_row, sizeof(*rows), &rows, &count, TEXT(org_id), TEXT(token_id)));
	TRY(read_good_token(cx, rows, count, peer, out));
	out->may_vote = false;
	out->transport = "";
	return OK;
}

/* --- a session --- */

struct session_row {
	str org_id, slug, session_id, principal_id, name;
	int64_t disabled_at;
	str csrf_hash;
	int64_t created_at, seen_at, ended_at, authenticated_at;
	str settings;
	int64_t policy_version;
	str role_level, role_rules;
};
static const struct field session_row[] = {
	FIELD_TEXT(struct session_row, org_id),
	FIELD_TEXT(struct session_row, slug),
	FIELD_TEXT(struct session_row, session_id),
	FIELD_TEXT(struct session_row, principal_id),
	FIELD_TEXT(struct session_row, name),
	FIELD_INT(struct session_row, disabled_at),
	FIELD_TEXT(struct session_row, csrf_hash),
	FIELD_INT(struct session_row, created_at),
	FIELD_INT(struct session_row, seen_at),
	FIELD_INT(struct session_row, ended_at),
	FIELD_INT(struct session_row, authenticated_at),
	FIELD_TEXT(struct session_row, settings),
	FIELD_INT(struct session_row, policy_version),
	FIELD_TEXT(struct session_row, role_level),
	FIELD_TEXT(struct session_row, role_rules),
	FIELD_END,
};

/* A change by cookie needs both: the browser says the page is ours, and the page knows the token (ID-8). */
static bool
is_forged(struct ctx *cx, const struct credential *c, const struct session_row *s)
{
	if (c->safe_method)
		return false;
	return !c->same_origin || !str_eq_secret(secret_hash(cx->arena, c->csrf), s->csrf_hash);
}

static status
by_session(struct ctx *cx, const struct credential *c, struct caller *out)
{
	str hash = secret_hash(cx->arena, c->session);
	struct session_row r, *rows;
	const struct epoch_row *epoch;
	struct db_rows epochs;
	size_t count;
	int64_t now_us;

	TRY(tx_now_later(cx));
	TRY(db_ask(cx, SQL_CALLER_EPOCH_BY_SESSION, epoch_row, sizeof(*epoch), &epochs, TEXT(hash)));
	TRY(db_all(cx, SQL_CALLER_SESSION, session_row, sizeof(*rows), &rows, &count, TEXT(hash)));
	if (!count)
		return stranger(cx);
	r = rows[0];
	TRY(tx_now_us(cx, &now_us));
	if (r.ended_at || r.disabled_at || now_us - r.seen_at > LIMIT_SESSION_IDLE_US ||
		now_us - r.created_at > LIMIT_SESSION_US)
		return stranger(cx);
	if (is_forged(cx, c, &r))
		return fail(cx, E_FORBIDDEN,
			"a change by session must come from our own page, with its token in X-CSRF-Token");
	*out = (struct caller){ .org_id = r.org_id,
		.org_slug = r.slug,
		.kind = PRINCIPAL_USER,
		.name = r.name,
		.principal_id = r.principal_id,
		.session_id = r.session_id,
		.authenticated_at = r.authenticated_at,
		.may_vote = true,
		.rate_per_minute = LIMIT_PERSON_RATE,
		.transport = c->transport,
		.settings = r.settings,
		.policy_version = r.policy_version,
		.scope = { .all_environments = true, .all_keys = true } };
	epoch = epochs.rows;
	out->epoch = epochs.count ? epoch->epoch : 0;
	out->touch = now_us - r.seen_at > LIMIT_SESSION_SEEN_US;
	for (size_t i = 0; i < count; i++)
		TRY(add_role(cx, &out->rules, rows[i].role_level, rows[i].role_rules));
	return OK;
}

status
caller_again(struct ctx *cx, str org_id, str principal_id, str token_id, struct caller *out)
{
	struct token_row *rows;
	struct caller c = { .org_id = org_id,
		.principal_id = principal_id,
		.transport = "",
		.scope = { .all_environments = true, .all_keys = true } };
	size_t count;

	if (!token_id.len) {
		TRY(caller_live_rules(cx, org_id, principal_id, &c.rules));
		*out = c; /* a session: a person, with all that their roles give */
		return OK;
	}
	TRY(db_all(
		cx, SQL_CALLER_AGAIN, token_row, sizeof(*rows), &rows, &count, TEXT(org_id), TEXT(token_id)));
	if (!count)
		return fail(cx, E_NOT_FOUND, "the credential is not there any more");
	TRY(read_token(cx, rows, count, &c));
	c.transport = "";
	*out = c;
	return OK;
}

static status
touch_tx(struct ctx *cx, void *arg)
{
	const struct caller *c = arg;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	return db_run(cx, SQL_CALLER_SEEN, TEXT(c->org_id), TEXT(c->session_id), INT(now_us));
}

void
caller_touch(struct ctx *cx, const struct caller *c)
{
	struct caller copy = *c;

	if (tx_run(cx, touch_tx, &copy) != OK)
		ctx_clear(cx);
}

status
caller_present(struct ctx *cx, const struct credential *c)
{
	return c && (c->bearer.len || c->session.len) ? OK : stranger(cx);
}

/* A statement of its own, before the one that reads the caller: that one must see what was committed while this one
 * waited for the lock. */
static status
lock(struct ctx *cx, const struct credential *c, bool exclusive, const struct caller *known)
{
	if (PLANTED(rights_unlocked))
		return OK;
	if (known)
		return db_later(
			cx, exclusive ? SQL_CALLER_LOCK_RIGHTS : SQL_CALLER_LOCK, TEXT(known->org_id));
	if (c->bearer.len)
		return db_later(cx, exclusive ? SQL_CALLER_LOCK_RIGHTS_BY_TOKEN : SQL_CALLER_LOCK_BY_TOKEN,
			TEXT(secret_hash(cx->arena, c->bearer)));
	return db_later(cx, exclusive ? SQL_CALLER_LOCK_RIGHTS_BY_SESSION : SQL_CALLER_LOCK_BY_SESSION,
		TEXT(secret_hash(cx->arena, c->session)));
}

status
caller_enter(struct ctx *cx, const struct credential *c, enum caller_lock how, struct caller *out)
{
	struct caller room, *known = NULL;
	status s;

	TRY(caller_present(cx, c));
	cx->visibility = NULL; /* of who was asking before */
	if (c->bearer.len && cx->known && known_find(cx->known, cx->arena, c, &room))
		known = &room;
	if (how != CALLER_UNLOCKED)
		TRY(lock(cx, c, how == CALLER_CHANGES, known));
	s = c->bearer.len ? by_token(cx, c, known, out) : by_session(cx, c, out);
	if (s == E_UNAUTHENTICATED && cx->recall)
		recall_drop(cx->recall, c);
	return s;
}

/* --- what they may --- */

bool
caller_may(const struct caller *c, str rule)
{
	return caller_may_in(c, rule, true);
}

bool
caller_may_in(const struct caller *c, str rule, bool production)
{
	uint32_t verbs = production && c->scope.production_verbs ? c->scope.production_verbs : c->scope.verbs;
	enum verb verb;

	if (!rule_verb(rule, &verb))
		return false;
	if (verb == VERB_APPROVE && c->kind != PRINCIPAL_USER)
		return false;
	if (verbs && !(verbs & 1u << verb))
		return false;
	return rules_cover(&c->rules, rule) && (!c->delegated || rules_cover(&c->delegator, rule));
}

static bool
set_holds_level(const struct rules *set, enum level l)
{
	for (size_t i = 0; i < set->count; i++)
		if (str_eq(set->items[i], STR(RULE_ALL)))
			return true;
	return set->level >= l;
}

/* The verbs that the scope leaves where it leaves least. */
static uint32_t
verbs_left(const struct scope *s)
{
	uint32_t all = (1u << VERBS) - 1, verbs = s->verbs ? s->verbs : all;

	return s->production_verbs ? verbs & s->production_verbs : verbs;
}

bool
caller_holds_level(const struct caller *c, enum level l)
{
	if (!set_holds_level(&c->rules, l) || (c->delegated && !set_holds_level(&c->delegator, l)))
		return false;
	return (level_verbs(l) & ~verbs_left(&c->scope)) == 0;
}

status
caller_may_give(struct ctx *cx, const struct caller *c, const struct rules *set)
{
	if (set->level != LEVEL_NONE && !caller_holds_level(c, set->level))
		return fail(cx, E_FORBIDDEN, "nobody gives more than they have: you do not hold the level %s",
			level_name(set->level));
	for (size_t i = 0; i < set->count; i++) {
		str rule = set->items[i];

		if (str_eq(rule, STR(RULE_ALL)) ? caller_holds_level(c, LEVEL_ADMIN) : caller_may(c, rule))
			continue;
		return fail(cx, E_FORBIDDEN, "nobody gives more than they have: you do not hold %.*s",
			STR_ARG(rule));
	}
	return OK;
}

status
caller_require(struct ctx *cx, const struct caller *c, const char *what, const char *const *needed)
{
	return caller_require_in(cx, c, what, needed, true);
}

status
caller_require_in(
	struct ctx *cx, const struct caller *c, const char *what, const char *const *needed, bool production)
{
	struct buf missing;

	buf_init(&missing, cx->arena, LIMIT_ERROR_MESSAGE);
	for (size_t i = 0; needed[i]; i++) {
		if (caller_may_in(c, str_of(needed[i]), production))
			continue;
		buf_printf(&missing, "%s%s", missing.len ? ", " : "", needed[i]);
	}
	if (missing.len)
		scope_step_up(cx, c, needed);
	if (missing.len)
		return fail(cx, E_FORBIDDEN, "Forbidden: %s (missing permission: %.*s)", what,
			STR_ARG(buf_str(&missing)));
	return OK;
}

static bool
matches(str pattern, str key)
{
	if (str_ends(pattern, STR(".*")))
		return str_starts(key, (str){ pattern.ptr, pattern.len - 1 });
	return str_eq(pattern, key);
}

bool
caller_in_scope(const struct caller *c, str environment_id, str key)
{
	bool environment = c->scope.all_environments || !environment_id.len,
	     named = c->scope.all_keys || !key.len;

	for (size_t i = 0; i < c->scope.environment_count && !environment; i++)
		environment = str_eq(c->scope.environments[i], environment_id);
	for (size_t i = 0; i < c->scope.key_count && !named; i++)
		named = matches(c->scope.keys[i], key);
	return environment && named;
}

bool
caller_is_narrowed(const struct caller *c)
{
	return !(c->scope.all_environments && c->scope.all_keys);
}

/* Ids: nothing in them needs escaping. */
str
caller_environments(const struct caller *c, struct arena *a)
{
	str text = STR("[");

	for (size_t i = 0; !c->scope.all_environments && i < c->scope.environment_count; i++)
		text = arena_printf(
			a, "%.*s%s\"%.*s\"", STR_ARG(text), i ? "," : "", STR_ARG(c->scope.environments[i]));
	return arena_printf(a, "%.*s]", STR_ARG(text));
}

bool
caller_reaches(const struct caller *c, str environment_id, str key)
{
	bool known = (c->scope.all_environments || environment_id.len) && (c->scope.all_keys || key.len);

	return known && caller_in_scope(c, environment_id, key);
}
