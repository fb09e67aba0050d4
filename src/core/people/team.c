/* SPDX-License-Identifier: Apache-2.0 */
#include "core/people/team.h"

#include "base/limits.h"
#include "core/gate/settings.h"
#include "core/id.h"
#include "core/people/change.h"
#include "core/people/member.h"
#include "core/people/name.h"
#include "core/people/rank.h"
#include "db/db.h"
#include "json/bind.h"

#include "core/people/team.sql.h" /* SQL_TEAM_*, generated from team.sql */

struct team {
	str id, name;
};
static const struct field team_row[] = {
	FIELD_TEXT(struct team, id),
	FIELD_TEXT(struct team, name),
	FIELD_END,
};

struct grant {
	str resource_type, resource_id, verb;
};
static const char *const verbs[] = { "read", "manage", NULL };
static const struct field grant_fields[] = {
	FIELD_TEXT(
		struct grant, resource_type, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "What it is."),
	FIELD_TEXT(struct grant, resource_id, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Which one."),
	FIELD_TEXT(struct grant, verb, .need = true, .choices = verbs, .doc = "What the team may."),
	FIELD_END,
};

/* --- may they? --- */

struct count_row {
	int64_t count;
};
static const struct field count_row[] = { FIELD_INT(struct count_row, count), FIELD_END };

status
team_may(struct ctx *cx, const struct caller *c, str rule, str resource_type, str resource_id, bool *out_may)
{
	str person = c->delegator_id.len ? c->delegator_id : c->principal_id;
	struct caller scoped = *c; /* the verbs of a token bind a grant too */
	struct count_row only, granted;
	enum verb verb;

	if (!rule_verb(rule, &verb))
		return fail(cx, E_INTERNAL, "%.*s is not a rule", STR_ARG(rule));
	TRY(db_one(cx, SQL_TEAM_IS_ONLY, count_row, &only, TEXT(c->org_id), TEXT(resource_type),
		TEXT(resource_id)));
	if (caller_may(c, rule) && (!only.count || caller_holds_level(c, LEVEL_ADMIN))) {
		*out_may = true;
		return OK;
	}
	scoped.rules = scoped.delegator = (struct rules){ .level = LEVEL_ADMIN };
	if (!caller_may(&scoped, rule)) {
		*out_may = false;
		return OK;
	}
	TRY(db_one(cx, SQL_TEAM_GRANTED, count_row, &granted, TEXT(c->org_id), TEXT(resource_type),
		TEXT(resource_id), TEXT(person), TEXT(str_of(verb_name(verb)))));
	*out_may = granted.count > 0;
	return OK;
}

/* --- as it is shown --- */

struct team_out {
	str id, name;
	struct json *members, *grants;
};
static const struct field team_out[] = {
	FIELD_TEXT(struct team_out, id, .need = true, .doc = "The team's id."),
	FIELD_TEXT(struct team_out, name, .need = true, .doc = "Its name."),
	FIELD_JSON(struct team_out, members, .need = true, .doc = "Ids of its people."),
	FIELD_JSON(struct team_out, grants, .need = true, .doc = "Objects {resourceType, resourceId, verb}."),
	FIELD_END,
};

static void
write_team(struct json_out *o, const void *row)
{
	const struct team *t = row;

	json_out_str(o, "id", t->id);
	json_out_str(o, "name", t->name);
}

static status
load(struct ctx *cx, str id, struct team *out)
{
	status s = db_one(cx, SQL_TEAM_GET, team_row, out, TEXT(cx->caller->org_id), TEXT(id));

	return s == E_NOT_FOUND ? fail(cx, E_NOT_FOUND, "there is no team with this id") : s;
}

status
team_name(struct ctx *cx, str org_id, str team_id, str *out_name)
{
	struct team t = { 0 };
	status s = db_one(cx, SQL_TEAM_GET, team_row, &t, TEXT(org_id), TEXT(team_id));

	if (s != E_NOT_FOUND)
		TRY(s);
	*out_name = t.name;
	return OK;
}

status
team_size(struct ctx *cx, str team_id, int64_t *out_people)
{
	struct count_row people;
	struct team t;

	TRY(load(cx, team_id, &t));
	TRY(db_one(cx, SQL_TEAM_SIZE, count_row, &people, TEXT(cx->caller->org_id), TEXT(team_id)));
	*out_people = people.count;
	return OK;
}

struct person_row {
	str id;
};
static const struct field person_row[] = { FIELD_TEXT(struct person_row, id), FIELD_END };

static status
answer(struct ctx *cx, const struct team *t, struct json_out *out)
{
	str org_id = cx->caller->org_id;
	struct person_row *people;
	struct grant *grants;
	size_t people_count, grant_count;

	TRY(db_all(cx, SQL_TEAM_MEMBERS, person_row, sizeof(*people), &people, &people_count, TEXT(org_id),
		TEXT(t->id)));
	TRY(db_all(cx, SQL_TEAM_GRANTS, grant_fields, sizeof(*grants), &grants, &grant_count, TEXT(org_id),
		TEXT(t->id)));
	write_team(out, t);
	json_out_array(out, "members");
	for (size_t i = 0; i < people_count; i++)
		json_out_str(out, NULL, people[i].id);
	json_out_end(out);
	json_out_array(out, "grants");
	for (size_t i = 0; i < grant_count; i++) {
		json_out_object(out, NULL);
		json_out_fields(out, grant_fields, &grants[i]);
		json_out_end(out);
	}
	json_out_end(out);
	return OK;
}

/* --- operations --- */

struct list_in {
	str after;
	int64_t limit;
};
static const struct field list_in[] = { OP_PAGE_FIELDS(struct list_in), FIELD_END };

static status
run_list(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct list_in *p = in;
	struct team *rows;
	size_t count;

	TRY(db_all(cx, SQL_TEAM_LIST, team_row, sizeof(*rows), &rows, &count, TEXT(cx->caller->org_id),
		TEXT(p->after), INT(op_page_rows(p->limit))));
	op_list(out, rows, sizeof(*rows), count, p->limit, write_team);
	return OK;
}

struct put_in {
	str id, name;
	struct json *members, *grants;
};
static const struct field create_in[] = {
	FIELD_TEXT(struct put_in, name, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Its name."),
	FIELD_JSON(struct put_in, members, .doc = "Ids of people, as an array."),
	FIELD_JSON(struct put_in, grants, .doc = "Objects {resourceType, resourceId, verb}, as an array."),
	FIELD_END,
};
static const struct field put_in[] = {
	FIELD_TEXT(struct put_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which team."),
	FIELD_TEXT(struct put_in, name, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Its name."),
	FIELD_JSON(struct put_in, members, .need = true, .doc = "Ids of all its people."),
	FIELD_JSON(
		struct put_in, grants, .need = true, .doc = "All it may: {resourceType, resourceId, verb}."),
	FIELD_END,
};

static status
refuse(struct ctx *cx, str path, const char *message)
{
	ctx_clear(cx);
	fail_issue(cx, path, str_of(message));
	return fail(cx, E_INVALID, "%.*s %s", STR_ARG(path), message);
}

static status
set_members(struct ctx *cx, str team_id, const struct json *wish)
{
	str org_id = cx->caller->org_id;
	const str *ids;
	size_t count;
	int64_t added;

	TRY(json_bind_strings(cx, wish, STR("/members"), LIMIT_TEAM, &ids, &count));
	TRY(db_run(cx, SQL_TEAM_CLEAR_MEMBERS, TEXT(org_id), TEXT(team_id)));
	for (size_t i = 0; i < count; i++) {
		status s = db_run_count(
			cx, SQL_TEAM_ADD_MEMBER, &added, TEXT(org_id), TEXT(team_id), TEXT(ids[i]));

		if (s == E_EXISTS || (s == OK && !added))
			return refuse(cx, arena_printf(cx->arena, "/members/%zu", i),
				"must be the id of a person, each once");
		TRY(s);
	}
	return OK;
}

static status
set_grants(struct ctx *cx, str team_id, const struct json *wish)
{
	str org_id = cx->caller->org_id;
	struct grant g;
	size_t n = 0;

	TRY(db_run(cx, SQL_TEAM_CLEAR_GRANTS, TEXT(org_id), TEXT(team_id)));
	if (wish && (wish->type != JSON_ARRAY || wish->count > LIMIT_TEAM))
		return fail(cx, E_INVALID, "/grants must be an array of at most %u", LIMIT_TEAM);
	for (const struct json *item = wish ? wish->child : NULL; item; item = item->next) {
		str path = arena_printf(cx->arena, "/grants/%zu", n++);
		status s;

		TRY(fail_below(cx, path, json_bind(cx, item, grant_fields, sizeof(g), &g)));
		s = db_run(cx, SQL_TEAM_ADD_GRANT, TEXT(org_id), TEXT(team_id), TEXT(g.resource_type),
			TEXT(g.resource_id), TEXT(g.verb));
		if (s == E_EXISTS)
			return refuse(cx, path, "names a resource for the second time");
		TRY(s);
	}
	return OK;
}

/* --- whom a change gives more, or takes something (rank.h) --- */

struct reach {
	struct person_row *people;
	struct grant *grants;
	size_t person_count, grant_count;
};

static status
load_reach(struct ctx *cx, str team_id, struct reach *out)
{
	str org_id = cx->caller->org_id;

	TRY(db_all(cx, SQL_TEAM_MEMBERS, person_row, sizeof(*out->people), &out->people, &out->person_count,
		TEXT(org_id), TEXT(team_id)));
	return db_all(cx, SQL_TEAM_GRANTS, grant_fields, sizeof(*out->grants), &out->grants,
		&out->grant_count, TEXT(org_id), TEXT(team_id));
}

/* Both lists have the same order, so the next one is mostly where *at stands. */
static bool
has_person(const struct reach *r, str id, size_t *at)
{
	for (size_t i = 0; i < r->person_count; i++) {
		size_t k = (*at + i) % r->person_count;

		if (!str_eq(r->people[k].id, id))
			continue;
		*at = k + 1;
		return true;
	}
	return false;
}

static bool
has_grant(const struct reach *r, const struct grant *g, size_t *at)
{
	for (size_t i = 0; i < r->grant_count; i++) {
		const struct grant *own = &r->grants[(*at + i) % r->grant_count];

		if (!str_eq(own->resource_id, g->resource_id) ||
			!str_eq(own->resource_type, g->resource_type))
			continue;
		*at = (*at + i + 1) % r->grant_count;
		return str_eq(own->verb, g->verb) || str_eq(own->verb, STR("manage"));
	}
	return false;
}

static bool
has_grants(const struct reach *r, const struct reach *wanted)
{
	size_t at = 0;

	for (size_t i = 0; i < wanted->grant_count; i++)
		if (!has_grant(r, &wanted->grants[i], &at))
			return false;
	return true;
}

static status
affect_members(struct ctx *cx, str team_id, const struct reach *was)
{
	struct reach now;
	size_t at = 0;

	TRY(load_reach(cx, team_id, &now));
	for (size_t i = 0; i < was->person_count; i++)
		if (!has_person(&now, was->people[i].id, &at))
			TRY(rank_over_person(cx, was->people[i].id));
	at = 0;
	for (size_t i = 0; i < now.person_count; i++)
		if (!has_person(was, now.people[i].id, &at))
			TRY(member_rights_widened(cx, cx->caller->org_id, now.people[i].id));
	if (!has_grants(&now, was))
		TRY(rank_over_team(cx, team_id));
	return has_grants(was, &now) ? OK : rank_team_widened(cx, team_id);
}

static status
fill(struct ctx *cx, const struct team *t, const struct put_in *p, struct json_out *out)
{
	struct json *after = change_text(cx->arena, json_new_object(cx->arena), "name", t->name);
	struct reach was;

	TRY(load_reach(cx, t->id, &was));
	TRY(set_members(cx, t->id, p->members));
	TRY(set_grants(cx, t->id, p->grants));
	TRY(affect_members(cx, t->id, &was));
	if (p->members)
		json_add_member(after, STR("members"), json_share(cx->arena, p->members));
	if (p->grants)
		json_add_member(after, STR("grants"), json_share(cx->arena, p->grants));
	TRY(change_record(cx, AUDIT_TEAM_CHANGED, "team", t->id, t->name, NULL, after));
	return answer(cx, t, out);
}

static status
taken(struct ctx *cx, status s)
{
	return s == E_EXISTS ? fail(cx, E_EXISTS, "a team of this name exists already") : s;
}

static status
run_create(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct put_in *p = in;
	struct team t = { .name = p->name };
	int64_t now_us;

	TRY(name_check(cx, "/name", t.name));
	TRY(tx_now_us(cx, &now_us));
	t.id = id_at(cx->arena, now_us);
	TRY(taken(cx, db_run(cx, SQL_TEAM_ADD, TEXT(cx->caller->org_id), TEXT(t.id), TEXT(t.name))));
	return fill(cx, &t, p, out);
}

static status
run_put(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct put_in *p = in;
	struct team t;

	TRY(load(cx, p->id, &t));
	if (!str_eq(t.name, p->name))
		TRY(name_check(cx, "/name", p->name));
	t.name = p->name;
	TRY(taken(cx, db_run(cx, SQL_TEAM_RENAME, TEXT(cx->caller->org_id), TEXT(t.id), TEXT(t.name))));
	return fill(cx, &t, p, out);
}

struct id_in {
	str id;
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which team."),
	FIELD_END,
};

static status
run_get(struct ctx *cx, const void *in, struct json_out *out)
{
	struct team t;

	TRY(load(cx, ((const struct id_in *)in)->id, &t));
	return answer(cx, &t, out);
}

/* What policy asks for must be there to be asked. */
static status
check_unasked(struct ctx *cx, const struct team *t)
{
	struct policy_rules rules;

	TRY(policy_rules_load(cx, cx->caller->org_id, &rules));
	for (size_t i = 0; i < rules.group_count; i++)
		if (str_eq(rules.groups[i].team_id, t->id))
			return fail(cx, E_REFERENCED,
				"policy asks this team for its votes; change the settings first");
	return OK;
}

static status
run_delete(struct ctx *cx, const void *in, struct json_out *out)
{
	str org_id = cx->caller->org_id;
	struct team t;

	TRY(load(cx, ((const struct id_in *)in)->id, &t));
	TRY(check_unasked(cx, &t));
	TRY(rank_over_team(cx, t.id));
	TRY(answer(cx, &t, out)); /* what it was */
	TRY(db_run(cx, SQL_TEAM_CLEAR_MEMBERS, TEXT(org_id), TEXT(t.id)));
	TRY(db_run(cx, SQL_TEAM_CLEAR_GRANTS, TEXT(org_id), TEXT(t.id)));
	TRY(db_run(cx, SQL_TEAM_DELETE, TEXT(org_id), TEXT(t.id)));
	return change_record(cx, AUDIT_TEAM_CHANGED, "team", t.id, t.name,
		change_text(cx->arena, json_new_object(cx->arena), "name", t.name), NULL);
}

struct only_in {
	str type, id;
	bool team_only;
};
static const struct field only_in[] = {
	FIELD_TEXT(struct only_in, type, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "What it is."),
	FIELD_TEXT(struct only_in, id, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Which one."),
	FIELD_BOOL(
		struct only_in, team_only, .need = true, .doc = "Whether only teams with a grant reach it."),
	FIELD_END,
};

static status
run_only(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct only_in *o = in;

	TRY(db_run(cx, o->team_only ? SQL_TEAM_SET_ONLY : SQL_TEAM_UNSET_ONLY, TEXT(cx->caller->org_id),
		TEXT(o->type), TEXT(o->id)));
	TRY(change_record(cx, AUDIT_TEAM_CHANGED, arena_cstr(cx->arena, o->type), o->id,
		o->team_only ? STR("team-only") : STR("not team-only"), NULL, NULL));
	json_out_fields(out, only_in, o);
	return OK;
}

const struct op team_ops[] = {
	{ .name = "team_list",
		.method = "GET",
		.path = "/api/v1/teams",
		.rule = "access.team.read",
		.tx = OP_TX_READ,
		.doc = "Lists the teams of the organization.",
		.in = list_in,
		.in_size = sizeof(struct list_in),
		.out = op_list_out,
		.run = run_list },
	{ .name = "team_get",
		.method = "GET",
		.path = "/api/v1/teams/{id}",
		.rule = "access.team.read",
		.tx = OP_TX_READ,
		.doc = "Shows a team with its people and what it may.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = team_out,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_get },
	{ .name = "team_create",
		.method = "POST",
		.path = "/api/v1/teams",
		.rule = "access.team.manage",
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Makes a team: people who share single resources.",
		.in = create_in,
		.in_size = sizeof(struct put_in),
		.out = team_out,
		.success = 201,
		.errors = OP_ERRORS(E_EXISTS),
		.run = run_create },
	{ .name = "team_put",
		.method = "PUT",
		.path = "/api/v1/teams/{id}",
		.rule = "access.team.manage",
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Says all of a team anew: its name, its people, what it may.",
		.in = put_in,
		.in_size = sizeof(struct put_in),
		.out = team_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_EXISTS),
		.run = run_put },
	{ .name = "team_delete",
		.method = "DELETE",
		.path = "/api/v1/teams/{id}",
		.rule = "access.team.manage",
		.effect = OP_DESTRUCTIVE,
		.tx = OP_TX_RIGHTS,
		.doc = "Deletes a team; what it shared is no longer shared.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = team_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_REFERENCED),
		.run = run_delete },
	{ .name = "team_only",
		.method = "PUT",
		.path = "/api/v1/team-only/{type}/{id}",
		.rule = "access.team.manage",
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Closes a resource to everybody but the teams that have a grant for it, or opens it "
		       "again.",
		.in = only_in,
		.in_size = sizeof(struct only_in),
		.out = only_in,
		.run = run_only },
	{ 0 },
};
