/* SPDX-License-Identifier: Apache-2.0 */
#include "core/people/place.h"

#include "base/limits.h"
#include "core/ident/caller.h"
#include "db/db.h"

#include "core/people/place.sql.h" /* SQL_PLACE_*, generated from place.sql */

struct page_in {
	str after;
	int64_t limit;
};
static const struct field page_in[] = { OP_PAGE_FIELDS(struct page_in), FIELD_END };

/* --- organizations and projects --- */

struct place {
	str id, slug, name;
	int64_t created_at;
};
static const struct field place_row[] = {
	FIELD_TEXT(struct place, id),
	FIELD_TEXT(struct place, slug),
	FIELD_TEXT(struct place, name),
	FIELD_INT(struct place, created_at),
	FIELD_END,
};

static void
write_place(struct json_out *o, const void *row)
{
	const struct place *p = row;

	json_out_str(o, "id", p->id);
	json_out_str(o, "slug", p->slug);
	json_out_str(o, "name", p->name);
	json_out_time(o, "createdAt", p->created_at);
}

static status
run_orgs(struct ctx *cx, const void *in, struct json_out *out)
{
	struct place own;

	(void)in;
	TRY(db_one(cx, SQL_PLACE_ORG, place_row, &own, TEXT(cx->caller->org_id)));
	op_list(out, &own, sizeof(own), 1, 0, write_place);
	return OK;
}

static status
run_projects(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct page_in *p = in;
	struct place *rows;
	size_t count;

	TRY(db_all(cx, SQL_PLACE_PROJECTS, place_row, sizeof(*rows), &rows, &count, TEXT(cx->caller->org_id),
		TEXT(p->after), INT(op_page_rows(p->limit)), INT(cx->caller->scope.all_environments),
		TEXT(caller_environments(cx->caller, cx->arena))));
	op_list(out, rows, sizeof(*rows), count, p->limit, write_place);
	return OK;
}

/* --- environments --- */

struct environment {
	str id, project_id, slug, name;
	bool production, approval_gate;
	int64_t created_at;
};
static const struct field environment_row[] = {
	FIELD_TEXT(struct environment, id),
	FIELD_TEXT(struct environment, project_id),
	FIELD_TEXT(struct environment, slug),
	FIELD_TEXT(struct environment, name),
	FIELD_BOOL(struct environment, production),
	FIELD_BOOL(struct environment, approval_gate),
	FIELD_INT(struct environment, created_at),
	FIELD_END,
};

struct environments_in {
	str after, project_id;
	int64_t limit;
};
static const struct field environments_in[] = {
	FIELD_TEXT(
		struct environments_in, project_id, .max = LIMIT_NAME, .doc = "Only those of this project."),
	OP_PAGE_FIELDS(struct environments_in),
	FIELD_END,
};

static void
write_environment(struct json_out *o, const void *row)
{
	const struct environment *e = row;

	json_out_str(o, "id", e->id);
	json_out_str(o, "projectId", e->project_id);
	json_out_str(o, "slug", e->slug);
	json_out_str(o, "name", e->name);
	json_out_bool(o, "production", e->production);
	json_out_bool(o, "approvalGate", e->approval_gate);
	json_out_time(o, "createdAt", e->created_at);
}

static status
run_environments(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct environments_in *p = in;
	struct environment *rows;
	size_t count;

	TRY(db_all(cx, SQL_PLACE_ENVIRONMENTS, environment_row, sizeof(*rows), &rows, &count,
		TEXT(cx->caller->org_id), TEXT(p->after), INT(op_page_rows(p->limit)), TEXT(p->project_id),
		INT(cx->caller->scope.all_environments), TEXT(caller_environments(cx->caller, cx->arena))));
	op_list(out, rows, sizeof(*rows), count, p->limit, write_environment);
	return OK;
}

const struct op place_ops[] = {
	[PLACE_ORGS] = { .name = "org_list",
		.method = "GET",
		.path = "/api/v1/orgs",
		.rule = "access.org.read",
		.tx = OP_TX_READ,
		.doc = "Lists the organizations one belongs to: a credential belongs to one.",
		.out = op_list_out,
		.run = run_orgs },
	[PLACE_PROJECTS] = { .name = "project_list",
		.method = "GET",
		.path = "/api/v1/projects",
		.rule = "access.project.read",
		.tx = OP_TX_READ,
		.doc = "Lists the organization's projects: of a token for some environments those they are "
		       "in.",
		.in = page_in,
		.in_size = sizeof(struct page_in),
		.out = op_list_out,
		.run = run_projects },
	[PLACE_ENVIRONMENTS] = { .name = "environment_list",
		.method = "GET",
		.path = "/api/v1/environments",
		.rule = "access.environment.read",
		.tx = OP_TX_READ,
		.doc = "Lists environments: those in the token's scope. One is production unless marked "
		       "otherwise.",
		.in = environments_in,
		.in_size = sizeof(struct environments_in),
		.out = op_list_out,
		.run = run_environments },
	{ 0 },
};
