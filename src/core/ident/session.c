/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ident/session.h"

#include "base/clock.h"
#include "base/limits.h"
#include "core/audit/audit.h"
#include "core/id.h"
#include "core/ident/caller.h"
#include "core/ident/secret.h"
#include "core/door/tries.h"
#include "db/db.h"

#include "core/ident/session.sql.h" /* SQL_SESSION_*, generated from session.sql */

#include <inttypes.h>

str
session_csrf(struct arena *a, str secret)
{
	return secret_hash(a, arena_printf(a, "csrf:%.*s", STR_ARG(secret)));
}

static void
set_cookie(struct ctx *cx, str value, int64_t max_age)
{
	ctx_header(cx, "Set-Cookie",
		arena_printf(cx->arena,
			SESSION_COOKIE "=%.*s; Path=/; Max-Age=%" PRId64
				       "; Secure; HttpOnly; SameSite=Strict",
			STR_ARG(value), max_age));
}

/* --- how one may sign in --- */

struct ways_out {
	bool password, oidc;
};
static const struct field ways_out[] = {
	FIELD_BOOL(struct ways_out, password, .need = true, .doc = "With a password: session_start."),
	FIELD_BOOL(struct ways_out, oidc, .need = true,
		.doc = "At an identity provider: a browser goes to session_oidc_start."),
	FIELD_END,
};

static status
run_ways(struct ctx *cx, const void *in, struct json_out *out)
{
	struct ways_out answer = { .password = true, .oidc = cx->oidc != NULL };

	(void)in;
	json_out_fields(out, ways_out, &answer);
	return OK;
}

/* --- signing in --- */

struct sign_in_in {
	str email, password, org;
};
static const struct field sign_in_in[] = {
	FIELD_TEXT(struct sign_in_in, email, .need = true, .min = 1, .max = LIMIT_EMAIL, .doc = "Who."),
	FIELD_TEXT(struct sign_in_in, password, .need = true, .min = 1, .max = LIMIT_PASSWORD_BYTES,
		.doc = "Their password."),
	FIELD_TEXT(struct sign_in_in, org, .max = LIMIT_NAME,
		.doc = "The organization's slug, where somebody is in several."),
	FIELD_END,
};

struct sign_in_out {
	str principal_id, name, org_id, org_slug, csrf_token, expires_at;
};
static const struct field sign_in_out[] = {
	FIELD_TEXT(struct sign_in_out, principal_id, .need = true, .doc = "Who has signed in."),
	FIELD_TEXT(struct sign_in_out, name, .need = true, .doc = "Their name."),
	FIELD_TEXT(struct sign_in_out, org_id, .need = true, .doc = "Their organization."),
	FIELD_TEXT(struct sign_in_out, org_slug, .need = true, .doc = "Its short name."),
	FIELD_TEXT(struct sign_in_out, csrf_token, .need = true,
		.doc = "Goes into X-CSRF-Token of every request that changes something."),
	FIELD_TEXT(struct sign_in_out, expires_at, .need = true,
		.doc = "When the session ends at the latest; unused, it ends earlier."),
	FIELD_END,
};

struct person {
	str org_id, slug, principal_id, name, password;
};
static const struct field person_row[] = {
	FIELD_TEXT(struct person, org_id),
	FIELD_TEXT(struct person, slug),
	FIELD_TEXT(struct person, principal_id),
	FIELD_TEXT(struct person, name),
	FIELD_TEXT(struct person, password),
	FIELD_END,
};

struct sign_in {
	const struct sign_in_in *in;
	str email; /* in lower case */
	struct tries tries;
	struct person person; /* all empty: nobody */
	struct session_start start;
};

static str
lower(struct arena *a, str s)
{
	char *copy = arena_alloc(a, s.len + 1);

	for (size_t i = 0; i < s.len; i++)
		copy[i] = s.ptr[i] >= 'A' && s.ptr[i] <= 'Z' ? (char)(s.ptr[i] + ('a' - 'A')) : s.ptr[i];
	return (str){ copy, s.len };
}

/* One wrong password is nobody's deed, and whoever likes could fill the log with them. That somebody keeps
 * guessing at a person's is on record: once in each window, in the transaction that counts. */
static status
record_guessing(struct ctx *cx, const struct tries *t, str org_id, str principal_id, const char *reason)
{
	if (!tries_just_over(t) || !principal_id.len)
		return OK;
	return audit_add(cx,
		&(struct audit_entry){ .action = AUDIT_REFUSED,
			.org_id = org_id,
			.resource_type = STR("member"),
			.resource_id = principal_id,
			.reason = str_of(reason),
			.outcome = STR("refused") },
		NULL);
}

static status
try_tx(struct ctx *cx, void *arg)
{
	struct sign_in *s = arg;
	status found;

	TRY(tries_count(cx, &s->tries));
	s->person = (struct person){ 0 };
	found = db_one(cx, SQL_SESSION_PERSON, person_row, &s->person, TEXT(s->email), TEXT(s->in->org));
	if (found != E_NOT_FOUND)
		TRY(found);
	return record_guessing(
		cx, &s->tries, s->person.org_id, s->person.principal_id, "too many tries to sign in");
}

static status
refuse_wrong(struct ctx *cx)
{
	return fail(cx, E_UNAUTHENTICATED, "this address and this password do not belong together");
}

status
session_record(struct ctx *cx, const struct session_person *p, const struct audit_entry *e)
{
	struct caller *them = ARENA_NEW(cx->arena, struct caller);
	status s;

	*them = (struct caller){ .org_id = p->org_id,
		.org_slug = p->slug,
		.kind = PRINCIPAL_USER,
		.principal_id = p->principal_id,
		.name = p->name,
		.transport = cx->credential ? cx->credential->transport : "rest" };
	if (str_eq(e->resource_type, STR("session")))
		them->session_id = e->resource_id;
	cx->caller = them;
	s = audit_add(cx, e, NULL);
	cx->caller = NULL;
	return s;
}

status
session_begin(struct ctx *cx, const struct session_person *p, struct session_start *start)
{
	str old = cx->credential ? cx->credential->session : (str){ 0 }, id;
	struct audit_entry entry = {
		.action = AUDIT_SIGNED_IN, .resource_type = STR("session"), .reason = start->how
	};

	TRY(tx_now_us(cx, &start->now_us));
	id = entry.resource_id = id_at(cx->arena, start->now_us);
	if (old.len)
		TRY(db_run(cx, SQL_SESSION_END_BY_HASH, TEXT(p->org_id), TEXT(secret_hash(cx->arena, old)),
			INT(start->now_us)));
	if (start->old_hash.len)
		TRY(db_run(cx, SQL_SESSION_END_BY_HASH, TEXT(p->org_id), TEXT(start->old_hash),
			INT(start->now_us)));
	TRY(db_run(cx, SQL_SESSION_ADD, TEXT(p->org_id), TEXT(id),
		TEXT(secret_hash(cx->arena, start->secret)),
		TEXT(secret_hash(cx->arena, session_csrf(cx->arena, start->secret))), TEXT(p->principal_id),
		INT(start->now_us)));
	return session_record(cx, p, &entry);
}

void
session_cookie(struct ctx *cx, const struct session_start *start)
{
	set_cookie(cx, start->secret, LIMIT_SESSION_US / SECOND_US);
}

static status /* the person may have been disabled, or have changed the password, since it was checked */
start_tx(struct ctx *cx, void *arg)
{
	struct sign_in *s = arg;
	struct person now;
	status found = db_one(cx, SQL_SESSION_PERSON, person_row, &now, TEXT(s->email), TEXT(s->in->org));

	if (found == E_NOT_FOUND)
		return refuse_wrong(cx);
	TRY(found);
	if (!str_eq(now.principal_id, s->person.principal_id) || !str_eq(now.password, s->person.password))
		return refuse_wrong(cx);
	TRY(tries_forget(cx, &s->tries));
	return session_begin(
		cx, &(struct session_person){ now.org_id, now.slug, now.principal_id, now.name }, &s->start);
}

static status
run_sign_in(struct ctx *cx, const void *in, struct json_out *out)
{
	struct sign_in s = { .in = in };
	struct sign_in_out answer;
	bool right;

	s.email = lower(cx->arena, s.in->email);
	tries_begin(cx, s.email, &s.tries);
	TRY(tx_run(cx, try_tx, &s));
	TRY(tries_check(cx, &s.tries));
	TRY(password_matches(cx, s.in->password, s.person.password, &right));
	if (!right)
		return refuse_wrong(cx);
	s.start.secret = secret_new(cx->arena, SECRET_KIND_SESSION);
	TRY(tx_run(cx, start_tx, &s));
	session_cookie(cx, &s.start);
	tries_know(cx, s.email);
	answer = (struct sign_in_out){ .principal_id = s.person.principal_id,
		.name = s.person.name,
		.org_id = s.person.org_id,
		.org_slug = s.person.slug,
		.csrf_token = session_csrf(cx->arena, s.start.secret),
		.expires_at = clock_text(cx->arena, s.start.now_us + LIMIT_SESSION_US) };
	json_out_fields(out, sign_in_out, &answer);
	return OK;
}

/* --- signing out --- */

struct ended_out {
	bool ended;
};
static const struct field ended_out[] = {
	FIELD_BOOL(struct ended_out, ended, .need = true, .doc = "It is over."),
	FIELD_END,
};

static status
run_sign_out(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct caller *c = cx->caller;
	int64_t now_us;

	(void)in;
	if (!c->session_id.len)
		return fail(cx, E_INVALID,
			"a token has no session to end; revoke it with DELETE /api/v1/tokens/{id}");
	TRY(tx_now_us(cx, &now_us));
	TRY(db_run(cx, SQL_SESSION_END, TEXT(c->org_id), TEXT(c->session_id), INT(now_us)));
	TRY(audit_add(cx,
		&(struct audit_entry){ .action = AUDIT_SIGNED_OUT,
			.resource_type = STR("session"),
			.resource_id = c->session_id },
		NULL));
	set_cookie(cx, (str){ 0 }, 0);
	json_out_bool(out, "ended", true);
	return OK;
}

/* --- who am I --- */

struct me_out {
	str id, kind, name, email, org_id, org_slug, org_name, credential, token_id, delegator_id, level,
		expires_at, mode, csrf_token, recovered_at;
	struct json *rules, *delegator, *scope;
	bool may_vote, approval_required;
	int64_t rate_per_minute;
};
static const char *const kinds[] = { "user", "agent", "service", NULL };
static const char *const credentials[] = { "session", "token", NULL };
static const char *const modes[] = { "approve", "auto", NULL };
static const struct field me_out[] = {
	FIELD_TEXT(struct me_out, id, .need = true, .doc = "The principal."),
	FIELD_TEXT(struct me_out, kind, .need = true, .choices = kinds,
		.doc = "A person, an agent or a service."),
	FIELD_TEXT(struct me_out, name, .need = true, .doc = "What others call them."),
	FIELD_TEXT(struct me_out, email, .doc = "A person's address."),
	FIELD_TEXT(struct me_out, org_id, .need = true, .doc = "Their organization."),
	FIELD_TEXT(struct me_out, org_slug, .need = true, .doc = "Its short name."),
	FIELD_TEXT(struct me_out, org_name, .need = true, .doc = "What people call it."),
	FIELD_TEXT(
		struct me_out, credential, .need = true, .choices = credentials, .doc = "How they came in."),
	FIELD_TEXT(struct me_out, token_id, .doc = "The token they came with."),
	FIELD_TEXT(struct me_out, delegator_id, .doc = "The person on whose authority an agent acts."),
	FIELD_TEXT(struct me_out, level, .need = true,
		.doc = "The level whose rules hold; empty: only `rules`."),
	FIELD_JSON(
		struct me_out, rules, .need = true, .doc = "Rules beyond the level, as an array of strings."),
	FIELD_JSON(struct me_out, delegator,
		.doc = "A token: `level` and `rules` of its person right now. Both must hold a rule."),
	FIELD_JSON(struct me_out, scope, .need = true,
		.doc = "`environments` and `keys` (\"all\" or an array), `actions` and `productionActions` "
		       "(arrays of verbs; absent: those of the rules)."),
	FIELD_BOOL(struct me_out, may_vote, .need = true,
		.doc = "Whether this credential may approve and deny."),
	FIELD_BOOL(struct me_out, approval_required, .need = true,
		.doc = "Whether the token asks for approval."),
	FIELD_TEXT(struct me_out, mode, .need = true, .choices = modes, .doc = "PA-9: approve or auto."),
	FIELD_INT(struct me_out, rate_per_minute, .need = true, .doc = "Tool calls in any 60 seconds."),
	FIELD_TEXT(struct me_out, expires_at, .doc = "When the token ends."),
	FIELD_TEXT(struct me_out, csrf_token, .doc = "A session's token for X-CSRF-Token."),
	FIELD_TEXT(struct me_out, recovered_at,
		.doc = "When an operator last recovered access to the organization (countersign recover); "
		       "for 30 "
		       "days."),
	FIELD_END,
};

static void
write_rules(struct json_out *out, const struct rules *r)
{
	json_out_str(out, "level", str_of(r->level == LEVEL_NONE ? "" : level_name(r->level)));
	json_out_array(out, "rules");
	for (size_t i = 0; i < r->count; i++)
		json_out_str(out, NULL, r->items[i]);
	json_out_end(out);
}

static void
write_list(struct json_out *out, const char *key, bool all, const str *items, size_t count)
{
	if (all) {
		json_out_str(out, key, STR("all"));
		return;
	}
	json_out_array(out, key);
	for (size_t i = 0; i < count; i++)
		json_out_str(out, NULL, items[i]);
	json_out_end(out);
}

static void
write_verbs(struct json_out *out, const char *key, uint32_t verbs)
{
	if (!verbs)
		return;
	json_out_array(out, key);
	for (int v = 0; v < VERBS; v++)
		if (verbs & 1u << v)
			json_out_str(out, NULL, str_of(verb_name((enum verb)v)));
	json_out_end(out);
}

static void
write_scope(struct json_out *out, const struct scope *s)
{
	json_out_object(out, "scope");
	write_list(out, "environments", s->all_environments, s->environments, s->environment_count);
	write_list(out, "keys", s->all_keys, s->keys, s->key_count);
	write_verbs(out, "actions", s->verbs);
	write_verbs(out, "productionActions", s->production_verbs);
	json_out_end(out);
}

static void
write_credential(struct ctx *cx, struct json_out *out, const struct caller *c)
{
	json_out_str(out, "credential", c->via_token ? STR("token") : STR("session"));
	if (!c->via_token) {
		json_out_str(out, "csrfToken", session_csrf(cx->arena, cx->credential->session));
		return;
	}
	json_out_str(out, "tokenId", c->token_id);
	json_out_time(out, "expiresAt", c->expires_at);
	if (c->delegator_id.len)
		json_out_str(out, "delegatorId", c->delegator_id);
	json_out_object(out, "delegator");
	write_rules(out, &c->delegator);
	json_out_end(out);
}

struct own {
	str email, password, org_name;
	int64_t recovered_at;
};
static const struct field own_row[] = {
	FIELD_TEXT(struct own, email),
	FIELD_TEXT(struct own, password),
	FIELD_TEXT(struct own, org_name),
	FIELD_INT(struct own, recovered_at),
	FIELD_END,
};

static status
run_me(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct caller *c = cx->caller;
	struct own own;
	int64_t now_us;

	(void)in;
	TRY(tx_now_us(cx, &now_us));
	TRY(db_one(cx, SQL_SESSION_OWN, own_row, &own, TEXT(c->org_id), TEXT(c->principal_id)));
	json_out_str(out, "id", c->principal_id);
	json_out_str(out, "kind", str_of(principal_kind_name(c->kind)));
	json_out_str(out, "name", c->name);
	if (own.email.len)
		json_out_str(out, "email", own.email);
	json_out_str(out, "orgId", c->org_id);
	json_out_str(out, "orgSlug", c->org_slug);
	json_out_str(out, "orgName", own.org_name);
	write_credential(cx, out, c);
	write_rules(out, &c->rules);
	write_scope(out, &c->scope);
	json_out_bool(out, "mayVote", c->may_vote);
	json_out_bool(out, "approvalRequired", c->approval_required);
	json_out_str(out, "mode", c->auto_mode ? STR("auto") : STR("approve"));
	json_out_int(out, "ratePerMinute", c->rate_per_minute);
	if (own.recovered_at && now_us - own.recovered_at < LIMIT_RECOVERED_US)
		json_out_time(out, "recoveredAt", own.recovered_at);
	return OK;
}

/* --- one's own password --- */

struct password_in {
	str current, password;
	str was, hash; /* made by prepare: the stored one that was right, the new one */
	struct tries tries;
};
static const struct field password_in[] = {
	FIELD_TEXT(struct password_in, current, .need = true, .min = 1, .max = LIMIT_PASSWORD_BYTES,
		.doc = "The password until now."),
	FIELD_TEXT(struct password_in, password, .need = true, .min = LIMIT_PASSWORD_LEAST,
		.max = LIMIT_PASSWORD_BYTES, .doc = "The new one: 12 to 256 bytes of UTF-8."),
	FIELD_END,
};
struct changed_out {
	bool changed;
};
static const struct field changed_out[] = {
	FIELD_BOOL(struct changed_out, changed, .need = true,
		.doc = "It holds from now on; other sessions have ended."),
	FIELD_END,
};

struct own_read {
	str org_id, principal_id;
	struct own own;
};

static status
own_tx(struct ctx *cx, void *arg)
{
	struct own_read *r = arg;

	return db_one(cx, SQL_SESSION_OWN, own_row, &r->own, TEXT(r->org_id), TEXT(r->principal_id));
}

static status
count_tx(struct ctx *cx, void *arg)
{
	struct password_in *p = arg;

	TRY(tries_count(cx, &p->tries));
	return record_guessing(cx, &p->tries, cx->caller->org_id, cx->caller->principal_id,
		"too many tries to change the password");
}

/* Who has somebody's open session could guess here at the password behind it: counted with tries to sign in. */
static status
prepare_password(struct ctx *cx, void *in)
{
	struct password_in *p = in;
	struct own_read r = { .org_id = cx->caller->org_id, .principal_id = cx->caller->principal_id };
	bool right;

	if (!cx->caller->session_id.len)
		return fail(cx, E_FORBIDDEN, "a password is changed by a person who has signed in");
	TRY(db_read(cx, own_tx, &r));
	tries_begin(cx, r.own.email, &p->tries);
	TRY(tx_run(cx, count_tx, p));
	TRY(tries_check(cx, &p->tries));
	TRY(password_matches(cx, p->current, r.own.password, &right));
	if (!right)
		return fail(cx, E_FORBIDDEN, "the current password is not right");
	p->was = r.own.password;
	return password_hash(cx, p->password, &p->hash);
}

static status
run_password(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct password_in *p = in;
	const struct caller *c = cx->caller;
	struct own own;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	TRY(db_one(cx, SQL_SESSION_OWN, own_row, &own, TEXT(c->org_id), TEXT(c->principal_id)));
	if (!str_eq(own.password, p->was))
		return fail(cx, E_CONFLICT, "the password has been changed meanwhile");
	TRY(tries_forget(cx, &p->tries));
	TRY(db_run(cx, SQL_SESSION_SET_PASSWORD, TEXT(c->org_id), TEXT(c->principal_id), TEXT(p->hash)));
	TRY(db_run(cx, SQL_SESSION_END_OTHERS, TEXT(c->org_id), TEXT(c->principal_id), TEXT(c->session_id),
		INT(now_us)));
	TRY(audit_add(cx,
		&(struct audit_entry){ .action = AUDIT_PRINCIPAL_CHANGED,
			.resource_type = STR("member"),
			.resource_id = c->principal_id,
			.reason = STR("password") },
		NULL));
	json_out_bool(out, "changed", true);
	return OK;
}

const struct op session_ops[] = {
	{ .name = "session_ways",
		.method = "GET",
		.path = "/api/v1/session",
		.rule = RULE_PUBLIC,
		.where = OP_INLINE,
		.doc = "Says how people may sign in here: for a page that asks them to.",
		.out = ways_out,
		.run = run_ways },
	{ .name = "session_start",
		.method = "POST",
		.path = "/api/v1/session",
		.rule = RULE_PUBLIC,
		.effect = OP_MUTATE,
		.doc = "Signs a person in with a password. The session is in the cookie __Host-sid; what "
		       "changes "
		       "something also needs csrfToken in X-CSRF-Token and must come from our own page. "
		       "After ten "
		       "failures from one address the next try has to wait 15 minutes.",
		.in = sign_in_in,
		.in_size = sizeof(struct sign_in_in),
		.out = sign_in_out,
		.errors = OP_ERRORS(E_UNAUTHENTICATED, E_RATE_LIMITED, E_UNAVAILABLE),
		.run = run_sign_in },
	{ .name = "session_end",
		.method = "DELETE",
		.path = "/api/v1/session",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Signs out. The session is over at once, on every server.",
		.out = ended_out,
		.run = run_sign_out },
	{ .name = "me",
		.method = "GET",
		.path = "/api/v1/me",
		.rule = RULE_ANYBODY,
		.tx = OP_TX_READ,
		.doc = "Says who the caller is, on whose authority, and what they may do right now.",
		.out = me_out,
		.run = run_me },
	{ .name = "me_password",
		.method = "PUT",
		.path = "/api/v1/me/password",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Changes one's own password, for who knows the old one. The other sessions of this "
		       "person end. "
		       "Wrong tries are limited as those to sign in.",
		.in = password_in,
		.in_size = sizeof(struct password_in),
		.out = changed_out,
		.errors = OP_ERRORS(E_CONFLICT, E_RATE_LIMITED),
		.prepare = prepare_password,
		.run = run_password },
	{ 0 },
};
