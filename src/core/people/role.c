/* SPDX-License-Identifier: Apache-2.0 */
#include "core/people/role.h"

#include "base/limits.h"
#include "core/id.h"
#include "core/people/change.h"
#include "core/people/member.h"
#include "core/people/name.h"
#include "core/people/rank.h"
#include "db/db.h"
#include "json/bind.h"

#include "core/people/role.sql.h" /* SQL_ROLE_*, generated from role.sql */

struct role {
	str id, name, level, rules; /* rules: a JSON array */
	bool builtin;
};
static const struct field role_row[] = {
	FIELD_TEXT(struct role, id),
	FIELD_TEXT(struct role, name),
	FIELD_TEXT(struct role, level),
	FIELD_TEXT(struct role, rules),
	FIELD_BOOL(struct role, builtin),
	FIELD_END,
};

static const char *const levels[] = { "", "observer", "proposer", "operator", "maintainer", "admin", NULL };

struct role_out {
	str id, name, level;
	struct json *rules;
	bool builtin;
};
static const struct field role_out[] = {
	FIELD_TEXT(struct role_out, id, .need = true, .doc = "The role's id."),
	FIELD_TEXT(struct role_out, name, .need = true, .doc = "Its name."),
	FIELD_TEXT(struct role_out, level, .need = true, .choices = levels,
		.doc = "A level whose rules it holds; may be empty."),
	FIELD_JSON(struct role_out, rules, .need = true, .doc = "Single rules."),
	FIELD_BOOL(struct role_out, builtin, .need = true, .doc = "Whether it stays as it is."),
	FIELD_END,
};

static void
write_role(struct json_out *o, const void *row)
{
	const struct role *r = row;

	json_out_str(o, "id", r->id);
	json_out_str(o, "name", r->name);
	json_out_str(o, "level", r->level);
	json_out_raw(o, "rules", r->rules);
	json_out_bool(o, "builtin", r->builtin);
}

static struct json *
describe(struct arena *a, const struct role *r)
{
	struct json *o = json_new_object(a);

	change_text(a, o, "name", r->name);
	change_text(a, o, "level", r->level);
	return change_text(a, o, "rules", r->rules);
}

/* A role of one's own making: the built-in ones are the same everywhere, so that they can be relied on. */
static status
load(struct ctx *cx, str id, struct role *out)
{
	status s = db_one(cx, SQL_ROLE_GET, role_row, out, TEXT(cx->caller->org_id), TEXT(id));

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "there is no role with this id");
	TRY(s);
	return out->builtin ? fail(cx, E_CONFLICT, "the role %.*s is built in and stays as it is",
				      STR_ARG(out->name))
			    : OK;
}

/* The rules of a wish as they are stored; E_FORBIDDEN where they are more than the caller has. */
static status
check_rules(struct ctx *cx, str level, const struct json *wish, str *out_text)
{
	struct rules set = { 0 };

	TRY(json_bind_strings(cx, wish, STR("/rules"), LIMIT_RULES, &set.items, &set.count));
	for (size_t i = 0; i < set.count; i++) {
		if (rule_valid(set.items[i]))
			continue;
		fail_issue(cx, STR("/rules"),
			STR("must be rules of the form <plugin>.<resource>.<verb>, or \"*\""));
		return fail(cx, E_INVALID, "%.*s is not a rule", STR_ARG(set.items[i]));
	}
	(void)level_of(level, &set.level);
	TRY(caller_may_give(cx, cx->caller, &set));
	return json_text(cx, change_strings(cx->arena, set.items, set.count), out_text);
}

struct list_in {
	str after;
	int64_t limit;
};
static const struct field list_in[] = { OP_PAGE_FIELDS(struct list_in), FIELD_END };

static status
run_list(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct list_in *p = in;
	struct role *rows;
	size_t count;

	TRY(db_all(cx, SQL_ROLE_LIST, role_row, sizeof(*rows), &rows, &count, TEXT(cx->caller->org_id),
		TEXT(p->after), INT(op_page_rows(p->limit))));
	op_list(out, rows, sizeof(*rows), count, p->limit, write_role);
	return OK;
}

struct create_in {
	str name, level;
	struct json *rules;
};
static const struct field create_in[] = {
	FIELD_TEXT(struct create_in, name, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Its name."),
	FIELD_TEXT(struct create_in, level, .choices = levels, .doc = "A level whose rules it holds."),
	FIELD_JSON(struct create_in, rules, .doc = "Single rules, as an array of strings."),
	FIELD_END,
};

static status
taken(struct ctx *cx, status s)
{
	return s == E_EXISTS ? fail(cx, E_EXISTS, "a role of this name exists already") : s;
}

static status
run_create(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct create_in *c = in;
	struct role r = { .name = c->name, .level = c->level };
	int64_t now_us;

	TRY(name_check(cx, "/name", r.name));
	TRY(check_rules(cx, c->level, c->rules, &r.rules));
	TRY(tx_now_us(cx, &now_us));
	r.id = id_at(cx->arena, now_us);
	TRY(taken(cx, db_run(cx, SQL_ROLE_ADD, TEXT(cx->caller->org_id), TEXT(r.id), TEXT(r.name),
			      TEXT(r.level), TEXT(r.rules))));
	TRY(change_record(cx, AUDIT_ROLE_CREATED, "role", r.id, r.name, NULL, describe(cx->arena, &r)));
	write_role(out, &r);
	return OK;
}

struct change_in {
	str id, name;
	struct json *level, *rules;
};
static const struct field change_in[] = {
	FIELD_TEXT(struct change_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which role."),
	FIELD_TEXT(struct change_in, name, .max = LIMIT_NAME, .doc = "Another name."),
	FIELD_JSON(struct change_in, level, .doc = "Another level; \"\" for none."),
	FIELD_JSON(struct change_in, rules, .doc = "All the rules it is to hold."),
	FIELD_END,
};

static status
change_level(struct ctx *cx, const struct json *wish, struct role *r)
{
	enum level level;

	if (!wish)
		return OK;
	if (wish->type != JSON_STRING || (wish->text.len && !level_of(wish->text, &level)))
		return fail(cx, E_INVALID,
			"/level must be observer, proposer, operator, maintainer, admin or \"\"");
	r->level = wish->text;
	return OK;
}

static status
read_rules(struct ctx *cx, const struct role *r, struct rules *out)
{
	struct json *rules;

	*out = (struct rules){ 0 };
	(void)level_of(r->level, &out->level);
	TRY(json_parse(cx, r->rules, &rules));
	return json_bind_strings(cx, rules, STR("/rules"), LIMIT_RULES, &out->items, &out->count);
}

/* It holds at once for everybody who has the role: nobody lowers who holds more than they do, and who may more now has
 * not had that since before. */
static status
affect_holders(struct ctx *cx, const struct role *before, const struct role *after)
{
	struct rules was, now;

	TRY(read_rules(cx, before, &was));
	TRY(read_rules(cx, after, &now));
	if (!rules_hold(&now, &was))
		TRY(rank_over_role(cx, after->id));
	return rules_hold(&was, &now) ? OK : rank_role_widened(cx, after->id);
}

static status
run_change(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct change_in *c = in;
	struct json *rules;
	struct role was, r;

	TRY(load(cx, c->id, &was));
	r = was;
	if (c->name.len)
		r.name = c->name;
	if (!str_eq(r.name, was.name))
		TRY(name_check(cx, "/name", r.name));
	TRY(change_level(cx, c->level, &r));
	TRY(json_parse(cx, was.rules, &rules));
	TRY(check_rules(cx, r.level, c->rules ? c->rules : rules, &r.rules));
	TRY(affect_holders(cx, &was, &r));
	TRY(taken(cx, db_run(cx, SQL_ROLE_CHANGE, TEXT(cx->caller->org_id), TEXT(r.id), TEXT(r.name),
			      TEXT(r.level), TEXT(r.rules))));
	TRY(member_check_admin(cx));
	TRY(change_record(cx, AUDIT_ROLE_CHANGED, "role", r.id, r.name, describe(cx->arena, &was),
		describe(cx->arena, &r)));
	write_role(out, &r);
	return OK;
}

struct id_in {
	str id;
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which role."),
	FIELD_END,
};

struct count_row {
	int64_t count;
};
static const struct field count_row[] = { FIELD_INT(struct count_row, count), FIELD_END };

static status
run_delete(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct id_in *i = in;
	struct count_row users;
	struct role r;

	TRY(load(cx, i->id, &r));
	TRY(db_one(cx, SQL_ROLE_USERS, count_row, &users, TEXT(cx->caller->org_id), TEXT(r.id)));
	if (users.count)
		return fail(cx, E_REFERENCED, "somebody still has the role %.*s", STR_ARG(r.name));
	TRY(db_run(cx, SQL_ROLE_DELETE, TEXT(cx->caller->org_id), TEXT(r.id)));
	TRY(change_record(cx, AUDIT_ROLE_DELETED, "role", r.id, r.name, describe(cx->arena, &r), NULL));
	write_role(out, &r);
	return OK;
}

const struct op role_ops[] = {
	{ .name = "role_list",
		.method = "GET",
		.path = "/api/v1/roles",
		.rule = "access.role.read",
		.tx = OP_TX_READ,
		.doc = "Lists the roles of the organization.",
		.in = list_in,
		.in_size = sizeof(struct list_in),
		.out = op_list_out,
		.run = run_list },
	{ .name = "role_create",
		.method = "POST",
		.path = "/api/v1/roles",
		.rule = "access.role.manage",
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Makes a role: a named bundle of rules. Nobody makes one that holds more than they "
		       "do.",
		.in = create_in,
		.in_size = sizeof(struct create_in),
		.out = role_out,
		.success = 201,
		.errors = OP_ERRORS(E_EXISTS),
		.run = run_create },
	{ .name = "role_change",
		.method = "PATCH",
		.path = "/api/v1/roles/{id}",
		.rule = "access.role.manage",
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Changes a role, at once for everybody who has it; what is absent stays.",
		.in = change_in,
		.in_size = sizeof(struct change_in),
		.out = role_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_CONFLICT, E_EXISTS),
		.run = run_change },
	{ .name = "role_delete",
		.method = "DELETE",
		.path = "/api/v1/roles/{id}",
		.rule = "access.role.manage",
		.effect = OP_DESTRUCTIVE,
		.tx = OP_TX_RIGHTS,
		.doc = "Deletes a role that nobody has.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = role_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_CONFLICT, E_REFERENCED),
		.run = run_delete },
	{ 0 },
};
