/* SPDX-License-Identifier: Apache-2.0 */
#include "core/people/link/link.h"

#include "base/limits.h"
#include "core/ident/secret.h"
#include "core/ident/session.h"
#include "core/ident/token.h"
#include "core/people/member.h"
#include "db/db.h"

#include "core/people/link/link.sql.h" /* SQL_LINK_*, generated from link.sql */

status
link_make(struct ctx *cx, str org_id, str person_id, struct link *out)
{
	str secret = secret_new(cx->arena, SECRET_KIND_LINK);
	struct audit_entry entry = { .action = AUDIT_LINK_MADE,
		.org_id = org_id,
		.resource_type = STR("principal"),
		.resource_id = person_id,
		.resource_key = person_id };
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	TRY(db_run(cx, SQL_LINK_PUT, TEXT(org_id), TEXT(person_id), TEXT(secret_hash(cx->arena, secret)),
		INT(now_us), INT(now_us + LIMIT_LINK_US)));
	TRY(audit_add(cx, &entry, NULL));
	out->url =
		arena_printf(cx->arena, "%.*s" LINK_PATH "#%.*s", STR_ARG(cx->public_url), STR_ARG(secret));
	out->expires_at = now_us + LIMIT_LINK_US;
	return OK;
}

status
link_end(struct ctx *cx, str org_id, str person_id)
{
	return db_run(cx, SQL_LINK_END, TEXT(org_id), TEXT(person_id));
}

/* --- using it --- */

struct use_in {
	str token, password;
};
static const struct field use_in[] = {
	FIELD_TEXT(struct use_in, token, .need = true, .min = 1, .max = LIMIT_NAME,
		.doc = "What stands behind # in the link."),
	FIELD_TEXT(struct use_in, password, .need = true, .min = LIMIT_PASSWORD_LEAST,
		.max = LIMIT_PASSWORD_BYTES,
		.doc = "The person's password from now on: 12 to 256 bytes of UTF-8."),
	FIELD_END,
};

struct use_out {
	str email, name, org_slug;
};
static const struct field use_out[] = {
	FIELD_TEXT(struct use_out, email, .need = true, .doc = "How the person signs in."),
	FIELD_TEXT(struct use_out, name, .need = true, .doc = "What others call them."),
	FIELD_TEXT(struct use_out, org_slug, .need = true, .doc = "Their organization's short name."),
	FIELD_END,
};

struct invited {
	str org_id, slug, principal_id, name, email;
	int64_t expires_at;
};
static const struct field invited_row[] = {
	FIELD_TEXT(struct invited, org_id),
	FIELD_TEXT(struct invited, slug),
	FIELD_TEXT(struct invited, principal_id),
	FIELD_TEXT(struct invited, name),
	FIELD_TEXT(struct invited, email),
	FIELD_INT(struct invited, expires_at),
	FIELD_END,
};

struct use {
	str token_hash, password_hash;
	struct invited who;
};

static status
find_tx(struct ctx *cx, void *arg)
{
	struct use *u = arg;
	status found = db_one(cx, SQL_LINK_GET, invited_row, &u->who, TEXT(u->token_hash));
	int64_t now_us;

	if (found != OK && found != E_NOT_FOUND)
		return found;
	TRY(tx_now_us(cx, &now_us));
	if (found == E_NOT_FOUND || u->who.expires_at <= now_us)
		return fail(cx, E_UNAUTHENTICATED,
			"this link is not valid, or no longer; ask an admin for a new one");
	return OK;
}

static status
use_tx(struct ctx *cx, void *arg)
{
	struct use *u = arg;
	const struct invited *who = &u->who;

	TRY(db_later(cx, SQL_LINK_LOCK, TEXT(u->token_hash)));
	TRY(find_tx(cx, u)); /* again, behind the lock: of two who use it at once, one finds nothing */
	TRY(link_end(cx, who->org_id, who->principal_id));
	TRY(db_run(cx, SQL_LINK_SET_PASSWORD, TEXT(who->org_id), TEXT(who->principal_id),
		TEXT(u->password_hash)));
	TRY(token_end_sessions(cx, who->org_id, who->principal_id));
	/* whoever made the link could have used it: what was proposed before is not for this person to approve */
	TRY(member_rights_widened(cx, who->org_id, who->principal_id));
	return session_record(cx,
		&(struct session_person){ who->org_id, who->slug, who->principal_id, who->name },
		&(struct audit_entry){ .action = AUDIT_LINK_USED,
			.resource_type = STR("principal"),
			.resource_id = who->principal_id,
			.resource_key = who->principal_id });
}

/* A stranger's secret is looked up before anything slow is done for them. */
static status
run_use(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct use_in *i = in;
	struct use u = { .token_hash = secret_hash(cx->arena, i->token) };
	struct use_out answer;

	TRY(db_read(cx, find_tx, &u));
	TRY(password_hash(cx, i->password, &u.password_hash));
	TRY(tx_run(cx, use_tx, &u));
	answer = (struct use_out){ u.who.email, u.who.name, u.who.slug };
	json_out_fields(out, use_out, &answer);
	return OK;
}

/* --- a new one for somebody who forgot their password --- */

struct new_in {
	str id;
};
static const struct field new_in[] = {
	FIELD_TEXT(struct new_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which member."),
	FIELD_END,
};

struct new_out {
	str link, link_expires_at;
};
static const struct field new_out[] = {
	FIELD_TEXT(struct new_out, link, .need = true,
		.doc = "For this person only: it opens the page on which they set their password, once. "
		       "Shown "
		       "once."),
	FIELD_TEXT(struct new_out, link_expires_at, .need = true, .doc = "When it ends: after 24 hours."),
	FIELD_END,
};

/* Who has the link can become this person: only for who holds all that they hold, in a session, and not for oneself,
 * who changes a password by knowing it. */
static status
check_giver(struct ctx *cx, const struct member *m)
{
	const struct caller *c = cx->caller;
	struct rules theirs;

	if (!str_eq(m->kind, STR("user")))
		return fail(cx, E_INVALID, "a service has tokens and no password; mint it a token");
	if (c->via_token)
		return fail(cx, E_FORBIDDEN,
			"a link is made by a person who has signed in, in the console; a token cannot");
	if (str_eq(m->id, c->principal_id))
		return fail(cx, E_FORBIDDEN,
			"your own password is changed by PUT /api/v1/me/password; if you forgot it, another "
			"admin makes you a link, or an operator runs `countersign recover`");
	if (m->disabled_at)
		return fail(cx, E_CONFLICT, "this person is shut out; let them in first");
	TRY(caller_live_rules(cx, c->org_id, m->id, &theirs));
	return caller_may_give(cx, c, &theirs);
}

static status
run_new(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct new_in *i = in;
	struct member m;
	struct link made;

	TRY(member_load(cx, i->id, false, &m));
	TRY(check_giver(cx, &m));
	TRY(link_make(cx, cx->caller->org_id, m.id, &made));
	json_out_str(out, "link", made.url);
	json_out_time(out, "linkExpiresAt", made.expires_at);
	return OK;
}

const struct op link_ops[] = {
	{ .name = "member_link",
		.method = "POST",
		.path = "/api/v1/members/{id}/link",
		.rule = "access.member.manage",
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Makes a one-time link for a person who forgot their password, or never used their "
		       "first "
		       "link. Older links end at once; their password and sessions stay until the link is "
		       "used.",
		.in = new_in,
		.in_size = sizeof(struct new_in),
		.out = new_out,
		.success = 201,
		.errors = OP_ERRORS(E_NOT_FOUND, E_CONFLICT),
		.run = run_new },
	{ .name = "link_use",
		.method = "POST",
		.path = "/api/v1/link",
		.rule = RULE_PUBLIC,
		.effect = OP_MUTATE,
		.doc = "Sets a person's password by their one-time link. Their sessions end. It works once.",
		.in = use_in,
		.in_size = sizeof(struct use_in),
		.out = use_out,
		.errors = OP_ERRORS(E_UNAUTHENTICATED, E_UNAVAILABLE),
		.run = run_use },
	{ 0 },
};
