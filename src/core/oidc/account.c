/* SPDX-License-Identifier: Apache-2.0 */
#include "core/oidc/account.h"

#include "base/limits.h"
#include "core/id.h"
#include "core/ident/token.h"
#include "core/oidc/provider.h"
#include "core/people/change.h"
#include "core/people/member.h"
#include "core/people/rank.h"
#include "db/db.h"

#include "core/oidc/account.sql.h" /* SQL_ACCOUNT_*, generated from account.sql */

struct person {
	str org_id, slug, principal_id, name;
	int64_t disabled_at;
	str subject; /* that they are bound to, or empty */
};
static const struct field person_row[] = {
	FIELD_TEXT(struct person, org_id),
	FIELD_TEXT(struct person, slug),
	FIELD_TEXT(struct person, principal_id),
	FIELD_TEXT(struct person, name),
	FIELD_INT(struct person, disabled_at),
	FIELD_TEXT(struct person, subject),
	FIELD_END,
};

static struct session_person
who(const struct person *p)
{
	return (struct session_person){ p->org_id, p->slug, p->principal_id, p->name };
}

/* Known, and refused all the same: that is on record, and the transaction commits. */
static status
refuse_known(struct ctx *cx, struct account *a, const struct person *p, enum account_outcome outcome,
	const char *why)
{
	struct session_person known = who(p);

	a->outcome = outcome;
	return session_record(cx, &known,
		&(struct audit_entry){ .action = AUDIT_REFUSED,
			.resource_type = STR("member"),
			.resource_id = p->principal_id,
			.reason = str_of(why) });
}

static status
begin(struct ctx *cx, struct account *a, const struct person *p)
{
	struct session_person known = who(p);

	if (p->disabled_at)
		return refuse_known(cx, a, p, ACCOUNT_DISABLED, "oidc: disabled");
	a->outcome = ACCOUNT_SIGNED_IN;
	return session_begin(cx, &known, &a->start);
}

static status
bind(struct ctx *cx, const struct account *a, const struct person *p)
{
	str issuer = oidc_options(cx->oidc)->issuer;
	struct session_person known = who(p);
	struct json *after = json_new_object(cx->arena);
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	TRY(db_run(cx, SQL_ACCOUNT_BIND, TEXT(p->org_id), TEXT(issuer), TEXT(a->claims.subject),
		TEXT(p->principal_id), INT(now_us)));
	change_text(cx->arena, change_text(cx->arena, after, "issuer", issuer), "subject", a->claims.subject);
	return session_record(cx, &known,
		&(struct audit_entry){ .action = AUDIT_PRINCIPAL_CHANGED,
			.resource_type = STR("principal"),
			.resource_id = p->principal_id,
			.resource_key =
				p->principal_id, /* the log never forgets a name; a key it can (AU-5) */
			.subject = p->principal_id,
			.reason = STR("oidc: bound"),
			.after = after });
}

/* --- newcomers --- */

static bool
is_listed(str domains, str email)
{
	str name, domain, one, rest = domains;

	if (!str_cut(email, '@', &name, &domain))
		return false;
	while (rest.len) {
		if (!str_cut(rest, ',', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		if (str_eq_nocase(str_trim(one), domain))
			return true;
	}
	return false;
}

struct role_row {
	str role_id, level;
};
static const struct field role_row[] = {
	FIELD_TEXT(struct role_row, role_id),
	FIELD_TEXT(struct role_row, level),
	FIELD_END,
};
static const struct field org_row[] = {
	FIELD_TEXT(struct person, org_id),
	FIELD_TEXT(struct person, slug),
	FIELD_END,
};

/* Into the first organization only: who may join another is for its own admins to say. */
static status
add_newcomer(struct ctx *cx, struct account *a, struct person *p)
{
	struct json *after = json_new_object(cx->arena);
	str role_name = oidc_options(cx->oidc)->newcomer_role;
	struct session_person known;
	struct role_row role;
	int64_t now_us;
	status found = db_one(cx, SQL_ACCOUNT_ROLE, role_row, &role, TEXT(p->org_id), TEXT(role_name));

	if (found == E_NOT_FOUND || (found == OK && str_eq(role.level, STR("admin")))) {
		a->outcome = ACCOUNT_NO_ROLE;
		return OK;
	}
	TRY(found);
	TRY(tx_now_us(cx, &now_us));
	p->principal_id = id_at(cx->arena, now_us);
	p->name = a->email; /* a name of their own choosing could be somebody else's */
	known = who(p);
	TRY(db_run(cx, SQL_ACCOUNT_ADD, TEXT(p->org_id), TEXT(p->principal_id), TEXT(a->email), INT(now_us)));
	TRY(db_run(cx, SQL_ACCOUNT_GIVE, TEXT(p->org_id), TEXT(p->principal_id), TEXT(role.role_id)));
	change_text(cx->arena, change_text(cx->arena, after, "email", a->email), "role", role_name);
	return session_record(cx, &known,
		&(struct audit_entry){ .action = AUDIT_PRINCIPAL_CREATED,
			.resource_type = STR("principal"),
			.resource_id = p->principal_id,
			.resource_key = p->principal_id,
			.subject = p->principal_id,
			.reason = STR("oidc: newcomer"),
			.after = after });
}

static status
welcome(struct ctx *cx, struct account *a)
{
	const struct oidc_options *o = oidc_options(cx->oidc);
	struct person p = { 0 };
	status found = db_one(cx, SQL_ACCOUNT_FIRST_ORG, org_row, &p);

	a->outcome = ACCOUNT_UNKNOWN;
	if (found == E_NOT_FOUND)
		return OK;
	TRY(found);
	if (!o->newcomer_role.len || !is_listed(o->newcomer_domains, a->email) ||
		(a->org.len && !str_eq(a->org, p.slug)))
		return OK;
	TRY(add_newcomer(cx, a, &p));
	if (a->outcome == ACCOUNT_NO_ROLE)
		return OK;
	TRY(bind(cx, a, &p));
	return begin(cx, a, &p);
}

static status /* not bound yet: the address decides, if the provider vouches for it */
sign_in_by_email(struct ctx *cx, struct account *a)
{
	str issuer = oidc_options(cx->oidc)->issuer;
	struct person p;
	status found =
		db_one(cx, SQL_ACCOUNT_BY_EMAIL, person_row, &p, TEXT(issuer), TEXT(a->email), TEXT(a->org));

	if (found != OK && found != E_NOT_FOUND)
		return found;
	/* bound meanwhile: they came twice at once */
	if (found == OK && str_eq(p.subject, a->claims.subject))
		return begin(cx, a, &p);
	if (!a->claims.email_verified && found == OK)
		return refuse_known(cx, a, &p, ACCOUNT_NOT_VERIFIED, "oidc: the address is not verified");
	if (!a->claims.email_verified) {
		a->outcome = ACCOUNT_NOT_VERIFIED;
		return OK;
	}
	if (found == E_NOT_FOUND)
		return welcome(cx, a);
	if (p.subject.len)
		return refuse_known(cx, a, &p, ACCOUNT_OTHER_ACCOUNT, "oidc: bound to another account");
	if (!p.disabled_at)
		TRY(bind(cx, a, &p));
	return begin(cx, a, &p);
}

static status
sign_in_tx(struct ctx *cx, void *arg)
{
	struct account *a = arg;
	str issuer = oidc_options(cx->oidc)->issuer;
	struct person p;
	status found = db_one(
		cx, SQL_ACCOUNT_BOUND, person_row, &p, TEXT(issuer), TEXT(a->claims.subject), TEXT(a->org));

	if (found == OK)
		return begin(cx, a, &p);
	if (found != E_NOT_FOUND)
		return found;
	if (a->email.len)
		return sign_in_by_email(cx, a);
	a->outcome = a->claims.email.len ? ACCOUNT_NOT_EMAIL : ACCOUNT_NO_EMAIL;
	return OK;
}

/* Two at once for one newcomer: one adds them, the other then finds them. */
status
account_sign_in(struct ctx *cx, struct account *a)
{
	status s;

	a->email = (str){ 0 };
	if (a->claims.email.len && member_email(cx, a->claims.email, &a->email) != OK)
		ctx_clear(cx);
	s = tx_run(cx, sign_in_tx, a);
	if (s != E_EXISTS)
		return s;
	ctx_clear(cx);
	return tx_run(cx, sign_in_tx, a);
}

status
account_say(struct ctx *cx, const struct account *a)
{
	switch (a->outcome) {
	case ACCOUNT_SIGNED_IN:
		return OK;
	case ACCOUNT_NO_EMAIL:
	case ACCOUNT_NOT_EMAIL:
		return fail(cx, E_FORBIDDEN, "the identity provider does not say your e-mail address");
	case ACCOUNT_NOT_VERIFIED:
		return fail(cx, E_FORBIDDEN, "the identity provider has not verified your e-mail address");
	case ACCOUNT_DISABLED:
		return fail(cx, E_FORBIDDEN, "you have been shut out; ask an admin");
	case ACCOUNT_OTHER_ACCOUNT:
		return fail(cx, E_FORBIDDEN,
			"the member of your address signs in with another account of the identity provider; "
			"ask "
			"an admin");
	case ACCOUNT_NO_ROLE:
		return fail(
			cx, E_FORBIDDEN, "the role for newcomers does not exist or is admin; ask an admin");
	case ACCOUNT_UNKNOWN:
	default:
		return fail(cx, E_FORBIDDEN, "nobody has added you here; ask an admin");
	}
}

/* --- letting go --- */

struct id_in {
	str id;
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which member."),
	FIELD_END,
};
struct unbound_out {
	bool unbound;
};
static const struct field unbound_out[] = {
	FIELD_BOOL(struct unbound_out, unbound, .need = true,
		.doc = "The next sign-in goes by the address again."),
	FIELD_END,
};

static status
run_unbind(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct id_in *i = in;
	struct member m;

	TRY(member_load(cx, i->id, false, &m));
	TRY(rank_over_person(cx, m.id));
	TRY(member_rights_widened(
		cx, cx->caller->org_id, m.id)); /* another account may come in as this person */
	TRY(db_run(cx, SQL_ACCOUNT_UNBIND, TEXT(cx->caller->org_id), TEXT(m.id)));
	TRY(token_end_sessions(cx, cx->caller->org_id, m.id));
	TRY(change_record(cx, AUDIT_PRINCIPAL_CHANGED, "principal", m.id, m.id, NULL,
		change_text(cx->arena, json_new_object(cx->arena), "identity", STR("none"))));
	json_out_bool(out, "unbound", true);
	return OK;
}

const struct op account_ops[] = {
	{ .name = "member_unbind",
		.method = "DELETE",
		.path = "/api/v1/members/{id}/identity",
		.rule = "access.member.manage",
		.effect = OP_DESTRUCTIVE,
		.tx = OP_TX_RIGHTS,
		.doc = "Unties a member from their account at the identity provider and ends their sessions. "
		       "At the "
		       "next sign-in the address decides again.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = unbound_out,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_unbind },
	{ 0 },
};
