/* SPDX-License-Identifier: Apache-2.0 */
/* The REST of projects and their environments (ID-1, FL-1). Rights here are the kernel's: admins have them. */
#include "domain/flag/store/ops.h"

#include "base/limits.h"
#include "core/audit/audit.h"
#include "core/people/change.h"
#include "core/people/name.h"
#include "db/db.h"
#include "domain/flag/store/direct.h"
#include "domain/flag/store/etag.h"
#include "domain/flag/store/project.h"

#include "domain/flag/store/identity.sql.h" /* SQL_IDENTITY_*, generated from identity.sql */

/* --- who --- */

static status
find_org(struct ctx *cx, str slug)
{
	if (!str_eq(cx->caller->org_slug, slug))
		return fail(cx, E_NOT_FOUND, "there is no such organization");
	return OK;
}

/* What is a project's, or makes an environment, is nothing for a token that is for some of them. */
static status
check_scope(struct ctx *cx)
{
	if (cx->caller->scope.all_environments)
		return OK;
	return fail(cx, E_SCOPE, "your token is for some environments only, and this concerns all of them");
}

/* --- projects: as they are shown --- */

struct project_out {
	str id, key, name;
	struct json *target_id_field;
	str effective_target_id_field, created_at, updated_at;
	struct json *environments;
};
static const struct field project_out[] = {
	FIELD_TEXT(struct project_out, id, .need = true, .doc = "Its id."),
	FIELD_TEXT(struct project_out, key, .need = true, .doc = "Its key, unique in the organization."),
	FIELD_TEXT(struct project_out, name, .need = true, .doc = "Its name."),
	FIELD_JSON(struct project_out, target_id_field, .need = true,
		.doc = "The field of a context that says who it is about; null: as everywhere."),
	FIELD_TEXT(struct project_out, effective_target_id_field, .need = true,
		.doc = "The one that counts: userId unless said."),
	FIELD_TEXT(struct project_out, created_at, .need = true, .doc = "When it was made."),
	FIELD_TEXT(struct project_out, updated_at, .need = true, .doc = "When it was changed: its ETag."),
	FIELD_END,
};

static void
write_project(struct json_out *o, const void *row)
{
	const struct project *p = row;

	json_out_str(o, "id", p->id);
	json_out_str(o, "key", p->slug);
	json_out_str(o, "name", p->name);
	if (p->target_field.len)
		json_out_str(o, "targetIdField", p->target_field);
	else
		json_out_null(o, "targetIdField");
	json_out_str(o, "effectiveTargetIdField",
		p->target_field.len ? p->target_field : STR(PROJECT_TARGET_FIELD));
	json_out_time(o, "createdAt", p->created_at);
	json_out_time(o, "updatedAt", p->updated_at ? p->updated_at : p->created_at);
}

static struct json *
describe_project(struct arena *a, const struct project *p)
{
	struct json *o = json_new_object(a);

	change_text(a, o, "name", p->name);
	return change_text(a, o, "targetIdField", p->target_field);
}

/* --- projects --- */

static const struct field project_row[] = {
	FIELD_TEXT(struct project, id),
	FIELD_TEXT(struct project, slug),
	FIELD_TEXT(struct project, name),
	FIELD_TEXT(struct project, target_field),
	FIELD_INT(struct project, created_at),
	FIELD_INT(struct project, updated_at),
	FIELD_END,
};

struct projects_in {
	str slug, after;
	int64_t limit;
};
#define SLUG_FIELD(st) FIELD_TEXT(st, slug, .need = true, .min = 1, .max = 100, .doc = "The organization.")
static const struct field projects_in[] = {
	SLUG_FIELD(struct projects_in),
	OP_PAGE_FIELDS(struct projects_in),
	FIELD_END,
};

static status
run_projects(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct projects_in *in = arg;
	struct project *rows;
	size_t count;

	TRY(find_org(cx, in->slug));
	TRY(db_all(cx, SQL_IDENTITY_PROJECTS, project_row, sizeof(*rows), &rows, &count,
		TEXT(cx->caller->org_id), TEXT(in->after), INT(op_page_rows(in->limit)),
		INT(cx->caller->scope.all_environments), TEXT(caller_environments(cx->caller, cx->arena))));
	op_list(out, rows, sizeof(*rows), count, in->limit, write_project);
	return OK;
}

struct project_in {
	str slug, id, key, name;
	struct json *target_id_field;
};
#define TARGET_FIELD                                                                                         \
	FIELD_JSON(struct project_in, target_id_field,                                                       \
		.doc = "The field of a context that says who it is about; null: userId.")
static const struct field project_create_in[] = {
	SLUG_FIELD(struct project_in),
	FIELD_TEXT(struct project_in, key, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Its key."),
	FIELD_TEXT(struct project_in, name, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Its name."),
	TARGET_FIELD,
	FIELD_END,
};

/* The wish as a field's name; empty: userId. *out stays where there is none. */
static status
read_target(struct ctx *cx, const struct json *wish, str *out)
{
	if (!wish)
		return OK;
	if (wish->type != JSON_NULL && (wish->type != JSON_STRING || !wish->text.len)) {
		fail_issue(cx, STR("/targetIdField"), STR("must be the name of a field, or null"));
		return fail(cx, E_INVALID, "/targetIdField must be the name of a field, or null");
	}
	*out = wish->type == JSON_NULL ? STR("") : wish->text;
	return OK;
}

static status
run_project_create(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct project_in *in = arg;
	struct project p = { .slug = in->key, .name = in->name, .target_field = STR("") };
	int64_t now_us;

	TRY(find_org(cx, in->slug));
	TRY(check_scope(cx));
	TRY(name_check(cx, "/name", p.name));
	TRY(read_target(cx, in->target_id_field, &p.target_field));
	TRY(tx_now_us(cx, &now_us));
	TRY(project_create(cx, &p, now_us));
	TRY(change_record(
		cx, AUDIT_RECORD_CREATED, "project", p.id, p.slug, NULL, describe_project(cx->arena, &p)));
	etag_tell(cx, p.updated_at);
	write_project(out, &p);
	return OK;
}

static const struct field project_id_in[] = {
	FIELD_TEXT(struct project_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which project."),
	FIELD_END,
};

/* A project none of whose environments is in the token's scope is not there for it. */
static status
find_project(struct ctx *cx, str id, struct project *out)
{
	const struct caller *c = cx->caller;
	bool any = c->scope.all_environments;

	TRY(project_get(cx, id, out));
	for (size_t i = 0; i < out->environment_count && !any; i++)
		any = caller_in_scope(c, out->environments[i].id, (str){ 0 });
	return any ? OK : fail(cx, E_NOT_FOUND, "there is no project with this id");
}

static status
run_project_get(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct project_in *in = arg;
	struct project p;

	TRY(find_project(cx, in->id, &p));
	etag_tell(cx, p.updated_at);
	write_project(out, &p);
	return OK;
}

static const struct field project_change_in[] = {
	FIELD_TEXT(struct project_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which project."),
	FIELD_TEXT(struct project_in, name, .min = 1, .max = LIMIT_NAME, .doc = "Another name."),
	TARGET_FIELD,
	FIELD_END,
};

/* Who gets what in every environment hangs on it, behind an approval gate as well. */
static bool
changes_target(struct ctx *cx, const void *arg)
{
	const struct project_in *in = arg;

	(void)cx;
	return in->target_id_field;
}

static status
run_project_change(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct project_in *in = arg;
	struct project was, p;
	str name, target;
	int64_t now_us;

	TRY(check_scope(cx));
	TRY(project_lock(cx, in->id, &was));
	TRY(etag_check(cx, was.updated_at));
	name = in->name.len ? in->name : was.name;
	if (!str_eq(name, was.name))
		TRY(name_check(cx, "/name", name));
	target = was.target_field;
	TRY(read_target(cx, in->target_id_field, &target));
	TRY(tx_now_us(cx, &now_us));
	p = was;
	TRY(project_change(cx, &p, name, target, now_us));
	TRY(change_record(cx, AUDIT_RECORD_CHANGED, "project", p.id, p.slug,
		describe_project(cx->arena, &was), describe_project(cx->arena, &p)));
	etag_tell(cx, p.updated_at);
	write_project(out, &p);
	return OK;
}

/* --- environments: as they are shown --- */

struct environment_out {
	str id, project_id, key, name;
	int64_t version;
	bool production, approval_gate;
	str created_at, updated_at;
};
static const struct field environment_out[] = {
	FIELD_TEXT(struct environment_out, id, .need = true, .doc = "Its id."),
	FIELD_TEXT(struct environment_out, project_id, .need = true, .doc = "Its project."),
	FIELD_TEXT(struct environment_out, key, .need = true, .doc = "Its key, unique in the project."),
	FIELD_TEXT(struct environment_out, name, .need = true, .doc = "Its name."),
	FIELD_INT(struct environment_out, version, .need = true,
		.doc = "Of its ruleset: every change of what it answers adds one."),
	FIELD_BOOL(struct environment_out, production, .need = true, .doc = "Whether it is production."),
	FIELD_BOOL(struct environment_out, approval_gate, .need = true,
		.doc = "Whether changes in it need approval."),
	FIELD_TEXT(struct environment_out, created_at, .need = true, .doc = "When it was made."),
	FIELD_TEXT(struct environment_out, updated_at, .need = true, .doc = "When it was changed: its ETag."),
	FIELD_END,
};

static void
write_environment(struct json_out *o, const void *row)
{
	const struct environment *e = row;

	json_out_str(o, "id", e->id);
	json_out_str(o, "projectId", e->project_id);
	json_out_str(o, "key", e->slug);
	json_out_str(o, "name", e->name);
	json_out_int(o, "version", e->version);
	json_out_bool(o, "production", e->production);
	json_out_bool(o, "approvalGate", e->approval_gate);
	json_out_time(o, "createdAt", e->created_at);
	json_out_time(o, "updatedAt", e->updated_at);
}

static struct json *
describe_environment(struct arena *a, const struct environment *e)
{
	struct json *o = json_new_object(a);

	change_text(a, o, "name", e->name);
	json_add_member(o, STR("production"), json_new_bool(a, e->production));
	json_add_member(o, STR("approvalGate"), json_new_bool(a, e->approval_gate));
	return o;
}

static status
answer_environment(struct ctx *cx, const struct environment *e, struct json_out *out)
{
	etag_tell(cx, e->updated_at);
	write_environment(out, e);
	return OK;
}

/* --- environments --- */

static const struct field environment_row[] = {
	FIELD_TEXT(struct environment, id),
	FIELD_TEXT(struct environment, project_id),
	FIELD_TEXT(struct environment, slug),
	FIELD_TEXT(struct environment, name),
	FIELD_BOOL(struct environment, production),
	FIELD_BOOL(struct environment, approval_gate),
	FIELD_INT(struct environment, version),
	FIELD_INT(struct environment, created_at),
	FIELD_INT(struct environment, updated_at),
	FIELD_END,
};

struct environments_in {
	str id, after;
	int64_t limit;
};
static const struct field environments_in[] = {
	FIELD_TEXT(struct environments_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which project."),
	OP_PAGE_FIELDS(struct environments_in),
	FIELD_END,
};

static status
run_environments(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct environments_in *in = arg;
	struct environment *rows;
	struct project p;
	size_t count, shown = 0;

	TRY(find_project(cx, in->id, &p));
	TRY(db_all(cx, SQL_IDENTITY_ENVIRONMENT_PAGE, environment_row, sizeof(*rows), &rows, &count,
		TEXT(cx->caller->org_id), TEXT(p.id), TEXT(in->after), INT(LIMIT_ENVIRONMENTS)));
	for (size_t i = 0; i < count; i++)
		if (caller_in_scope(cx->caller, rows[i].id, (str){ 0 }))
			rows[shown++] = rows[i];
	op_list(out, rows, sizeof(*rows), shown, in->limit, write_environment);
	return OK;
}

struct environment_in {
	str id, key, name;
	struct json *production, *approval_gate;
};
#define KIND_FIELDS                                                                                          \
	FIELD_JSON(struct environment_in, production,                                                        \
		.doc = "Whether it is production, which a new one is unless said."),                         \
		FIELD_JSON(struct environment_in, approval_gate,                                             \
			.doc = "Whether changes in it need approval, as in a new production one unless "     \
			       "said.")
static const struct field environment_create_in[] = {
	FIELD_TEXT(struct environment_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which project."),
	FIELD_TEXT(struct environment_in, key, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Its key."),
	FIELD_TEXT(
		struct environment_in, name, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Its name."),
	KIND_FIELDS,
	FIELD_END,
};

/* *out stays where there is no wish. */
static status
read_bool(struct ctx *cx, const struct json *wish, const char *path, bool *out)
{
	if (!wish)
		return OK;
	if (wish->type != JSON_BOOL) {
		fail_issue(cx, str_of(path), STR("must be true or false"));
		return fail(cx, E_INVALID, "%s must be true or false", path);
	}
	*out = wish->truth;
	return OK;
}

static status
run_environment_create(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct environment_in *in = arg;
	struct environment e = { .slug = in->key, .name = in->name, .production = true };
	struct project p;
	int64_t now_us;

	TRY(check_scope(cx));
	TRY(name_check(cx, "/name", e.name));
	TRY(read_bool(cx, in->production, "/production", &e.production));
	e.approval_gate = e.production;
	TRY(read_bool(cx, in->approval_gate, "/approvalGate", &e.approval_gate));
	TRY(project_lock(cx, in->id, &p));
	TRY(tx_now_us(cx, &now_us));
	TRY(environment_create(cx, &p, &e, now_us));
	TRY(change_record(cx, AUDIT_RECORD_CREATED, "environment", e.id, e.slug, NULL,
		describe_environment(cx->arena, &e)));
	return answer_environment(cx, &e, out);
}

static const struct field environment_id_in[] = {
	FIELD_TEXT(struct environment_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which environment."),
	FIELD_END,
};

static status
run_environment_get(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct environment_in *in = arg;
	struct environment e;

	TRY(environment_get(cx, in->id, &e));
	if (!caller_in_scope(cx->caller, e.id, (str){ 0 }))
		return fail(cx, E_NOT_FOUND, "there is no environment with this id");
	return answer_environment(cx, &e, out);
}

static const struct field environment_change_in[] = {
	FIELD_TEXT(struct environment_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which environment."),
	FIELD_TEXT(struct environment_in, name, .min = 1, .max = LIMIT_NAME, .doc = "Another name."),
	KIND_FIELDS,
	FIELD_END,
};

static status
run_environment_change(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct environment_in *in = arg;
	struct environment was, e;
	int64_t now_us;

	TRY(environment_lock(cx, in->id, &was));
	TRY(direct_in_scope(cx, &was, (str){ 0 }));
	TRY(etag_check(cx, was.updated_at));
	e = was;
	if (in->name.len)
		e.name = in->name;
	if (!str_eq(e.name, was.name))
		TRY(name_check(cx, "/name", e.name));
	TRY(read_bool(cx, in->production, "/production", &e.production));
	TRY(read_bool(cx, in->approval_gate, "/approvalGate", &e.approval_gate));
	TRY(tx_now_us(cx, &now_us));
	TRY(environment_change(cx, &e, now_us));
	TRY(change_record(cx, AUDIT_RECORD_CHANGED, "environment", e.id, e.slug,
		describe_environment(cx->arena, &was), describe_environment(cx->arena, &e)));
	return answer_environment(cx, &e, out);
}

const struct op project_ops[] = {
	{ .name = "org_projects",
		.method = "GET",
		.path = "/api/v1/orgs/{slug}/projects",
		.rule = "access.project.read",
		.tx = OP_TX_READ,
		.doc = "Lists the organization's projects.",
		.in = projects_in,
		.in_size = sizeof(struct projects_in),
		.out = op_list_out,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_projects },
	{ .name = "project_create",
		.method = "POST",
		.path = "/api/v1/orgs/{slug}/projects",
		.rule = "access.project.create",
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Makes a project. It has no environment yet.",
		.in = project_create_in,
		.in_size = sizeof(struct project_in),
		.out = project_out,
		.success = 201,
		.errors = OP_ERRORS(E_NOT_FOUND, E_SCOPE, E_KEY_COLLISION),
		.run = run_project_create },
	{ .name = "project_get",
		.method = "GET",
		.path = "/api/v1/projects/{id}",
		.rule = "access.project.read",
		.tx = OP_TX_READ,
		.doc = "Gives a project, with its ETag.",
		.in = project_id_in,
		.in_size = sizeof(struct project_in),
		.out = project_out,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_project_get },
	{ .name = "project_change",
		.method = "PATCH",
		.path = "/api/v1/projects/{id}",
		.rule = "access.project.write",
		.effect = OP_MUTATE,
		.authority = true,
		.concerns = changes_target,
		.tx = OP_TX_DECIDE,
		.doc = "Changes the name or the target field of a project; another target field is a new "
		       "version "
		       "of every environment of it.",
		.in = project_change_in,
		.in_size = sizeof(struct project_in),
		.out = project_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_SCOPE, E_PRECONDITION),
		.run = run_project_change },
	{ .name = "project_environments",
		.method = "GET",
		.path = "/api/v1/projects/{id}/environments",
		.rule = "access.environment.read",
		.tx = OP_TX_READ,
		.doc = "Lists the environments of a project.",
		.in = environments_in,
		.in_size = sizeof(struct environments_in),
		.out = op_list_out,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_environments },
	{ .name = "environment_create",
		.method = "POST",
		.path = "/api/v1/projects/{id}/environments",
		.rule = "access.environment.create",
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Makes an environment, in which every flag, config and segment of the project has its "
		       "empty state.",
		.in = environment_create_in,
		.in_size = sizeof(struct environment_in),
		.out = environment_out,
		.success = 201,
		.errors = OP_ERRORS(E_NOT_FOUND, E_SCOPE, E_KEY_COLLISION, E_CONFLICT),
		.run = run_environment_create },
	{ .name = "environment_get",
		.method = "GET",
		.path = "/api/v1/envs/{id}",
		.rule = "access.environment.read",
		.tx = OP_TX_READ,
		.doc = "Gives an environment with the version of its ruleset, and its ETag.",
		.in = environment_id_in,
		.in_size = sizeof(struct environment_in),
		.out = environment_out,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_environment_get },
	{ .name = "environment_change",
		.method = "PATCH",
		.path = "/api/v1/envs/{id}",
		.rule = "access.environment.write",
		.effect = OP_MUTATE,
		.authority = true,
		.tx = OP_TX_RIGHTS,
		.doc = "Changes the name of an environment, whether it is production, and whether changes in "
		       "it "
		       "need approval; nobody decides meanwhile.",
		.in = environment_change_in,
		.in_size = sizeof(struct environment_in),
		.out = environment_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_SCOPE, E_PRECONDITION),
		.run = run_environment_change },
	{ 0 },
};
