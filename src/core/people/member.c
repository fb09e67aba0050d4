/* SPDX-License-Identifier: Apache-2.0 */
#include "core/people/member.h"

#include "base/limits.h"
#include "core/id.h"
#include "core/people/change.h"
#include "core/people/link/link.h"
#include "core/people/name.h"
#include "core/people/rank.h"
#include "core/ident/token.h"
#include "db/db.h"
#include "json/bind.h"

#include "core/people/member.sql.h" /* SQL_MEMBER_*, generated from member.sql */

static const struct field member_row[] = {
	FIELD_TEXT(struct member, id),
	FIELD_TEXT(struct member, kind),
	FIELD_TEXT(struct member, name),
	FIELD_TEXT(struct member, email),
	FIELD_TEXT(struct member, domain),
	FIELD_INT(struct member, disabled_at),
	FIELD_INT(struct member, created_at),
	FIELD_END,
};

static status
refuse_email(struct ctx *cx, const char *message)
{
	fail_issue(cx, STR("/email"), str_of(message)); /* every operation that takes one calls it so */
	return fail(cx, E_INVALID, "%s", message);
}

/* Something, one @, something, all of it visible ASCII: an address in look-alike letters would be taken for another one.
 * Whether mail arrives there is not ours to know. */
status
member_email(struct ctx *cx, str email, str *out_email)
{
	char *lower;
	str name, host, rest;

	if (email.len > LIMIT_EMAIL || !str_cut(email, '@', &name, &host) || !name.len || !host.len ||
		str_cut(host, '@', &rest, &rest))
		return refuse_email(cx, "an e-mail address looks like ada@example.org");
	lower = arena_alloc(cx->arena, email.len);
	for (size_t i = 0; i < email.len; i++) {
		char c = email.ptr[i];

		if (c <= ' ' || c > '~') /* char is signed: bytes beyond ASCII are below zero */
			return refuse_email(cx,
				"an e-mail address has no spaces and only ASCII characters; a domain "
				"in other letters is written as xn--...");
		lower[i] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
	}
	*out_email = (str){ lower, email.len };
	return OK;
}

/* --- what people and agents share --- */

status
member_load(struct ctx *cx, str id, bool agent, struct member *out)
{
	status s =
		db_one(cx, SQL_MEMBER_GET, member_row, out, TEXT(cx->caller->org_id), TEXT(id), INT(agent));

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "there is no %s with this id", agent ? "agent" : "member");
	return s;
}

status
member_page(
	struct ctx *cx, bool agents, str after, int64_t limit, struct member **out_rows, size_t *out_count)
{
	return db_all(cx, SQL_MEMBER_LIST, member_row, sizeof(struct member), out_rows, out_count,
		TEXT(cx->caller->org_id), TEXT(after), INT(op_page_rows(limit)), INT(agents));
}

static struct db_value
or_null(str s)
{
	if (!s.len)
		return NIL;
	return TEXT(s);
}

status
member_store(struct ctx *cx, const struct member *m)
{
	status s;

	TRY(name_check(cx, "/name", m->name));
	s = db_run(cx, SQL_MEMBER_ADD, TEXT(cx->caller->org_id), TEXT(m->id), TEXT(m->kind), TEXT(m->name),
		or_null(m->email), TEXT(m->domain), INT(m->created_at));
	if (s == E_EXISTS)
		return fail(cx, E_EXISTS, "somebody with this address exists already");
	return s;
}

/* An entry stays for ever, so of a person it has the id and not the name (AU-5). */
static str
key_of(const struct member *m)
{
	return str_eq(m->kind, STR("user")) ? m->id : m->name;
}

/* What a person is called lies under a key of their own, which can be destroyed. */
static status
record(struct ctx *cx, enum audit_action action, const struct member *m, const struct json *before,
	const struct json *after)
{
	struct audit_entry e = { .action = action,
		.resource_type = STR("principal"),
		.resource_id = m->id,
		.resource_key = key_of(m),
		.subject = str_eq(m->kind, STR("user")) ? m->id : (str){ 0 },
		.before = before,
		.after = after };

	return audit_add(cx, &e, NULL);
}

status
member_set_disabled(struct ctx *cx, const struct member *m, bool disabled)
{
	str org_id = cx->caller->org_id;
	int64_t now_us;

	if (disabled == (m->disabled_at != 0))
		return OK;
	TRY(rank_over_person(cx, m->id));
	if (!disabled) {
		TRY(member_rights_widened(cx, org_id, m->id));
		TRY(db_run(cx, SQL_MEMBER_ENABLE, TEXT(org_id), TEXT(m->id)));
		return change_record(cx, AUDIT_PRINCIPAL_CHANGED, "principal", m->id, key_of(m), NULL, NULL);
	}
	TRY(tx_now_us(cx, &now_us));
	TRY(db_run(cx, SQL_MEMBER_DISABLE, TEXT(org_id), TEXT(m->id), INT(now_us)));
	TRY(token_revoke_person(cx, org_id, m->id));
	TRY(link_end(cx, org_id, m->id));
	TRY(member_check_admin(cx));
	return change_record(cx, AUDIT_PRINCIPAL_DISABLED, "principal", m->id, key_of(m), NULL, NULL);
}

status
member_rename(struct ctx *cx, const struct member *m, str name, str domain)
{
	struct arena *a = cx->arena;
	struct json *before = json_new_object(a), *after = json_new_object(a);

	if (!name.len)
		name = m->name;
	if (!domain.len)
		domain = m->domain;
	if (str_eq(name, m->name) && str_eq(domain, m->domain))
		return OK;
	if (!str_eq(name, m->name))
		TRY(name_check(cx, "/name", name));
	change_text(a, change_text(a, before, "name", m->name), "domain", m->domain);
	change_text(a, change_text(a, after, "name", name), "domain", domain);
	TRY(db_run(cx, SQL_MEMBER_RENAME, TEXT(cx->caller->org_id), TEXT(m->id), TEXT(name), TEXT(domain)));
	return record(cx, AUDIT_PRINCIPAL_CHANGED, m, before, after);
}

struct count_row {
	int64_t count;
};
static const struct field count_row[] = { FIELD_INT(struct count_row, count), FIELD_END };

status
member_count_admins(struct ctx *cx, str org_id, int64_t *out)
{
	struct count_row row;

	TRY(db_one(cx, SQL_MEMBER_ADMINS, count_row, &row, TEXT(org_id)));
	*out = row.count;
	return OK;
}

status
member_check_admin(struct ctx *cx)
{
	int64_t admins;

	TRY(member_count_admins(cx, cx->caller->org_id, &admins));
	return admins ? OK : fail(cx, E_CONFLICT, "this is the last admin; make somebody else admin first");
}

/* --- roles of a member --- */

struct named_role {
	str principal_id, name;
};
static const struct field named_role[] = {
	FIELD_TEXT(struct named_role, principal_id),
	FIELD_TEXT(struct named_role, name),
	FIELD_END,
};

struct role_row {
	str role_id, level, rules;
};
static const struct field role_row[] = {
	FIELD_TEXT(struct role_row, role_id),
	FIELD_TEXT(struct role_row, level),
	FIELD_TEXT(struct role_row, rules),
	FIELD_END,
};

static status
check_role(struct ctx *cx, str name, str *out_id)
{
	struct rules set = { 0 };
	struct role_row role;
	struct json *rules;
	status s = db_one(cx, SQL_MEMBER_ROLE, role_row, &role, TEXT(cx->caller->org_id), TEXT(name));

	if (s == E_NOT_FOUND) {
		fail_issue(cx, STR("/roles"), STR("must be names of roles"));
		return fail(cx, E_INVALID, "there is no role called %.*s", STR_ARG(name));
	}
	TRY(s);
	(void)level_of(role.level, &set.level);
	TRY(json_parse(cx, role.rules, &rules));
	TRY(json_bind_strings(cx, rules, STR("/rules"), LIMIT_RULES, &set.items, &set.count));
	*out_id = role.role_id;
	return caller_may_give(cx, cx->caller, &set);
}

/* Gives exactly these roles. */
static status
set_roles(struct ctx *cx, str member_id, const struct json *wish)
{
	str org_id = cx->caller->org_id, role_id;
	const str *names;
	size_t count;

	TRY(json_bind_strings(cx, wish, STR("/roles"), LIMIT_ROLES, &names, &count));
	TRY(db_run(cx, SQL_MEMBER_TAKE_ALL, TEXT(org_id), TEXT(member_id)));
	for (size_t i = 0; i < count; i++) {
		TRY(check_role(cx, names[i], &role_id));
		for (size_t k = 0; k < i; k++)
			if (str_eq(names[k], names[i]))
				return fail(cx, E_INVALID, "/roles names %.*s twice", STR_ARG(names[i]));
		TRY(db_run(cx, SQL_MEMBER_GIVE, TEXT(org_id), TEXT(member_id), TEXT(role_id)));
	}
	return OK;
}

static status
load_roles(struct ctx *cx, str from, str to, struct named_role **out_rows, size_t *out_count)
{
	return db_all(cx, SQL_MEMBER_ROLES, named_role, sizeof(struct named_role), out_rows, out_count,
		TEXT(cx->caller->org_id), TEXT(from), TEXT(to));
}

static struct json *
roles_of(struct arena *a, str id, const struct named_role *roles, size_t count)
{
	struct json *array = json_new_array(a);

	for (size_t i = 0; i < count; i++)
		if (str_eq(roles[i].principal_id, id))
			json_add_item(array, json_new_string(a, roles[i].name));
	return array;
}

/* --- as they are shown --- */

struct member_out {
	str id, kind, name, email, created_at, link, link_expires_at;
	struct json *roles;
	bool disabled;
};
static const char *const kinds[] = { "user", "service", NULL };
static const struct field member_out[] = {
	FIELD_TEXT(struct member_out, id, .need = true, .doc = "The member's id."),
	FIELD_TEXT(struct member_out, kind, .need = true, .choices = kinds,
		.doc = "A person or a trusted back end."),
	FIELD_TEXT(struct member_out, name, .need = true, .doc = "What others call them."),
	FIELD_TEXT(struct member_out, email, .doc = "How a person signs in."),
	FIELD_JSON(struct member_out, roles, .need = true, .doc = "Names of their roles."),
	FIELD_BOOL(struct member_out, disabled, .need = true, .doc = "Whether they are shut out."),
	FIELD_TEXT(struct member_out, created_at, .need = true, .doc = "When they were added."),
	FIELD_TEXT(struct member_out, link,
		.doc = "Of a new person: opens the page on which they set their password, once. Shown once; "
		       "the path "
		       "on this server where public-url is not set."),
	FIELD_TEXT(struct member_out, link_expires_at, .doc = "When the link ends: after 24 hours."),
	FIELD_END,
};

static void
write_member(struct json_out *o, const struct member *m, const struct json *roles)
{
	json_out_str(o, "id", m->id);
	json_out_str(o, "kind", m->kind);
	json_out_str(o, "name", m->name);
	if (m->email.len)
		json_out_str(o, "email", m->email);
	json_out_value(o, "roles", roles);
	json_out_bool(o, "disabled", m->disabled_at != 0);
	json_out_time(o, "createdAt", m->created_at);
}

static status
answer(struct ctx *cx, str id, struct json_out *out)
{
	struct named_role *roles = NULL;
	struct member m;
	size_t count;

	TRY(member_load(cx, id, false, &m));
	TRY(load_roles(cx, id, id, &roles, &count));
	write_member(out, &m, roles_of(cx->arena, id, roles, count));
	return OK;
}

struct list_in {
	str after;
	int64_t limit;
};
static const struct field list_in[] = { OP_PAGE_FIELDS(struct list_in), FIELD_END };

struct listed { /* begins with the id, as op_list wants it */
	struct member member;
	const struct json *roles;
};

static void
write_listed(struct json_out *o, const void *row)
{
	const struct listed *l = row;

	write_member(o, &l->member, l->roles);
}

static status
run_list(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct list_in *p = in;
	struct named_role *roles = NULL;
	struct member *rows;
	struct listed *list;
	size_t count, role_count = 0;

	TRY(member_page(cx, false, p->after, p->limit, &rows, &count));
	if (count)
		TRY(load_roles(cx, rows[0].id, rows[count - 1].id, &roles, &role_count));
	list = arena_alloc(cx->arena, (count + 1) * sizeof(*list));
	for (size_t i = 0; i < count; i++)
		list[i] = (struct listed){ rows[i], roles_of(cx->arena, rows[i].id, roles, role_count) };
	op_list(out, list, sizeof(*list), count, p->limit, write_listed);
	return OK;
}

/* --- nobody sets another person's password --- */

#define PASSWORD_DOC "Not taken: a person sets their own password, behind a one-time link."

static status
refuse_password(struct ctx *cx, const struct json *password)
{
	if (!password)
		return OK;
	fail_issue(cx, STR("/password"),
		STR("is not taken: a person sets their own, behind the link of POST /api/v1/members or POST "
		    "/api/v1/members/{id}/link; one's own is changed by PUT /api/v1/me/password"));
	return fail(cx, E_INVALID, "nobody sets another person's password; give them a one-time link");
}

/* --- create --- */

/* How a person signs in: by a password that they set behind a link, or only at the identity provider. */
static const char *const sign_ins[] = { "link", "provider", NULL };

struct create_in {
	str kind, name, email, sign_in;
	struct json *password, *roles;
};
static const struct field create_in[] = {
	FIELD_TEXT(struct create_in, kind, .choices = kinds, .doc = "user unless said."),
	FIELD_TEXT(struct create_in, name, .need = true, .min = 1, .max = LIMIT_NAME,
		.doc = "What others call them."),
	FIELD_TEXT(struct create_in, email, .max = LIMIT_EMAIL, .doc = "Needed for a person."),
	FIELD_TEXT(struct create_in, sign_in, .choices = sign_ins,
		.doc = "Of a person: link (unless said) answers a one-time link for a password; provider "
		       "makes none, "
		       "for who signs in at the identity provider."),
	FIELD_JSON(struct create_in, password, .doc = PASSWORD_DOC),
	FIELD_JSON(struct create_in, roles, .doc = "Names of roles, as an array."),
	FIELD_END,
};

static bool
is_service(const struct create_in *c)
{
	return str_eq(c->kind, STR("service"));
}

static status
check_create(struct ctx *cx, const struct create_in *c, str *out_email)
{
	TRY(refuse_password(cx, c->password));
	if (!is_service(c))
		return member_email(cx, c->email, out_email);
	return c->email.len || c->sign_in.len
		       ? fail(cx, E_INVALID, "a service has tokens, no address and no link")
		       : OK;
}

static status
add_link(struct ctx *cx, const struct create_in *c, const struct member *m, struct json_out *out)
{
	struct link made;

	if (is_service(c) || str_eq(c->sign_in, STR("provider")))
		return OK;
	TRY(link_make(cx, cx->caller->org_id, m->id, &made));
	json_out_str(out, "link", made.url);
	json_out_time(out, "linkExpiresAt", made.expires_at);
	return OK;
}

static status
run_create(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct create_in *c = in;
	struct member m = { .kind = is_service(c) ? STR("service") : STR("user"), .name = c->name };
	struct json *after = json_new_object(cx->arena);

	TRY(check_create(cx, c, &m.email));
	TRY(tx_now_us(cx, &m.created_at));
	m.id = id_at(cx->arena, m.created_at);
	TRY(member_store(cx, &m));
	TRY(set_roles(cx, m.id, c->roles));
	change_text(cx->arena, change_text(cx->arena, after, "name", m.name), "email", m.email);
	if (c->roles)
		json_add_member(after, STR("roles"), json_share(cx->arena, c->roles));
	TRY(record(cx, AUDIT_PRINCIPAL_CREATED, &m, NULL, after));
	TRY(answer(cx, m.id, out));
	return add_link(cx, c, &m, out);
}

/* --- change, disable --- */

struct change_in {
	str id, name;
	struct json *password, *roles, *disabled;
};
static const struct field change_in[] = {
	FIELD_TEXT(struct change_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which member."),
	FIELD_TEXT(struct change_in, name, .max = LIMIT_NAME, .doc = "Another name."),
	FIELD_JSON(struct change_in, password, .doc = PASSWORD_DOC),
	FIELD_JSON(struct change_in, roles, .doc = "All the roles they are to have, by name."),
	FIELD_JSON(
		struct change_in, disabled, .doc = "true shuts them out at once, false lets them in again."),
	FIELD_END,
};

static status
change_roles(struct ctx *cx, const struct member *m, const struct json *wish)
{
	struct json *before = json_new_object(cx->arena), *after = json_new_object(cx->arena);
	str org_id = cx->caller->org_id;
	struct rules was, now;
	struct named_role *had;
	size_t count;

	TRY(load_roles(cx, m->id, m->id, &had, &count));
	TRY(caller_live_rules(cx, org_id, m->id, &was));
	TRY(set_roles(cx, m->id, wish));
	TRY(caller_live_rules(cx, org_id, m->id, &now));
	if (!rules_hold(&now, &was))
		TRY(rank_over_rules(cx, &was));
	if (!rules_hold(&was, &now))
		TRY(member_rights_widened(cx, org_id, m->id));
	TRY(member_check_admin(cx));
	json_add_member(before, STR("roles"), roles_of(cx->arena, m->id, had, count));
	json_add_member(after, STR("roles"), json_share(cx->arena, wish));
	return change_record(cx, AUDIT_PRINCIPAL_CHANGED, "principal", m->id, key_of(m), before, after);
}

static status
run_change(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct change_in *c = in;
	struct member m;

	TRY(refuse_password(cx, c->password));
	TRY(member_load(cx, c->id, false, &m));
	if (c->disabled && c->disabled->type != JSON_BOOL)
		return fail(cx, E_INVALID, "/disabled must be true or false");
	TRY(member_rename(cx, &m, c->name, m.domain));
	if (c->roles)
		TRY(change_roles(cx, &m, c->roles));
	if (c->disabled)
		TRY(member_set_disabled(cx, &m, c->disabled->truth));
	return answer(cx, m.id, out);
}

struct id_in {
	str id;
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which member."),
	FIELD_END,
};

static status
run_disable(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct id_in *i = in;
	struct member m;

	TRY(member_load(cx, i->id, false, &m));
	TRY(member_set_disabled(cx, &m, true));
	return answer(cx, m.id, out);
}

const struct op member_ops[] = {
	{ .name = "member_list",
		.method = "GET",
		.path = "/api/v1/members",
		.rule = "access.member.read",
		.tx = OP_TX_READ,
		.doc = "Lists the people and services of the organization, with their roles.",
		.in = list_in,
		.in_size = sizeof(struct list_in),
		.out = op_list_out,
		.run = run_list },
	{ .name = "member_create",
		.method = "POST",
		.path = "/api/v1/members",
		.rule = "access.member.manage",
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Adds a person or a service. Nobody gives a role that holds more than they do. A "
		       "person gets a "
		       "one-time link, behind which they set their own password.",
		.in = create_in,
		.in_size = sizeof(struct create_in),
		.out = member_out,
		.success = 201,
		.errors = OP_ERRORS(E_EXISTS),
		.run = run_create },
	{ .name = "member_change",
		.method = "PATCH",
		.path = "/api/v1/members/{id}",
		.rule = "access.member.manage",
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Changes a member's name, roles or state; what is absent stays. It holds at once, for "
		       "every "
		       "token they delegated too.",
		.in = change_in,
		.in_size = sizeof(struct change_in),
		.out = member_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_CONFLICT),
		.run = run_change },
	{ .name = "member_disable",
		.method = "DELETE",
		.path = "/api/v1/members/{id}",
		.rule = "access.member.manage",
		.effect = OP_DESTRUCTIVE,
		.tx = OP_TX_RIGHTS,
		.doc = "Shuts a member out. Their sessions, their tokens and all they delegated end in the "
		       "same moment.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = member_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_CONFLICT),
		.run = run_disable },
	{ 0 },
};
