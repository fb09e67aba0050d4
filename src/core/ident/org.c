/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ident/org.h"

#include "base/check.h"
#include "core/audit/audit.h"
#include "core/id.h"
#include "core/people/member.h"
#include "core/people/name.h"
#include "core/ident/secret.h"
#include "core/ident/token.h"
#include "db/db.h"

#include "core/ident/org.sql.h" /* SQL_ORG_*, generated from org.sql */

#define HOUR_US (INT64_C(3600) * 1000000)

struct bootstrap {
	struct org_first first;
	str name;
	str password_hash; /* made before the transaction: it takes its time */
	int64_t now_us;
};

struct count_row {
	int64_t count;
};
static const struct field count_row[] = { FIELD_INT(struct count_row, count), FIELD_END };

static status
add_places(struct ctx *cx, struct bootstrap *b)
{
	struct org_first *f = &b->first;

	TRY(db_run(cx, SQL_ORG_ADD, TEXT(f->org_id), TEXT(STR("default")), TEXT(b->name), TEXT(STR("{}")),
		INT(b->now_us)));
	TRY(db_run(cx, SQL_ORG_ADD_PROJECT, TEXT(f->org_id), TEXT(f->project_id), TEXT(STR("default")),
		TEXT(STR("Default")), INT(b->now_us)));
	TRY(db_run(cx, SQL_ORG_ADD_ENVIRONMENT, TEXT(f->org_id), TEXT(f->production_id), TEXT(f->project_id),
		TEXT(STR("production")), TEXT(STR("Production")), INT(1), INT(b->now_us)));
	return db_run(cx, SQL_ORG_ADD_ENVIRONMENT, TEXT(f->org_id), TEXT(f->staging_id), TEXT(f->project_id),
		TEXT(STR("staging")), TEXT(STR("Staging")), INT(0), INT(b->now_us));
}

static status
add_people(struct ctx *cx, struct bootstrap *b)
{
	struct org_first *f = &b->first;

	for (int l = LEVEL_OBSERVER; l < LEVELS; l++)
		TRY(db_run(cx, SQL_ORG_ADD_ROLE, TEXT(f->org_id), TEXT(id_at(cx->arena, b->now_us)),
			TEXT(str_of(level_name((enum level)l)))));
	TRY(db_run(cx, SQL_ORG_ADD_PRINCIPAL, TEXT(f->org_id), TEXT(f->admin_id), TEXT(STR("user")),
		TEXT(STR("Admin")), TEXT(f->admin_email), TEXT(STR("")), TEXT(b->password_hash),
		INT(b->now_us)));
	TRY(db_run(cx, SQL_ORG_GIVE_ROLE, TEXT(f->org_id), TEXT(f->admin_id), TEXT(STR("admin"))));
	return db_run(cx, SQL_ORG_ADD_PRINCIPAL, TEXT(f->org_id), TEXT(f->agent_id), TEXT(STR("agent")),
		TEXT(STR("First agent")), NIL, TEXT(STR("operations")), NIL, INT(b->now_us));
}

static status
add_tokens(struct ctx *cx, struct bootstrap *b)
{
	struct org_first *f = &b->first;
	struct token_new admin = { .name = STR("First admin token"),
		.principal_id = f->admin_id,
		.level = LEVEL_ADMIN,
		.all_environments = true,
		.all_keys = true,
		.rate_per_minute = 600,
		.vote_us = HOUR_US };
	struct token_new agent = { .name = STR("First agent token"),
		.principal_id = f->agent_id,
		.delegator_id = f->admin_id,
		.level = LEVEL_OPERATOR,
		.verbs = TOKEN_AGENT_VERBS,
		.production_verbs = TOKEN_AGENT_PRODUCTION_VERBS,
		.all_environments = true,
		.all_keys = true };
	struct token_minted minted;

	TRY(token_mint(cx, f->org_id, PRINCIPAL_USER, &admin, &minted));
	f->admin_token = minted.secret;
	TRY(token_mint(cx, f->org_id, PRINCIPAL_AGENT, &agent, &minted));
	f->agent_token = minted.secret;
	return OK;
}

static status /* inside one transaction */
bootstrap_tx(struct ctx *cx, void *arg)
{
	struct bootstrap *b = arg;
	struct count_row row;

	TRY(db_one(cx, SQL_ORG_COUNT, count_row, &row));
	if (row.count > 0)
		return fail(cx, E_EXISTS, "this installation has been set up before; nothing was changed");
	TRY(tx_now_us(cx, &b->now_us));
	TRY(add_places(cx, b));
	TRY(add_people(cx, b));
	TRY(add_tokens(cx, b));
	return audit_add(cx,
		&(struct audit_entry){ .action = AUDIT_ORG_CREATED,
			.org_id = b->first.org_id,
			.resource_type = STR("org"),
			.resource_key = STR("default"),
			.resource_id = b->first.org_id },
		NULL);
}

status
org_begin(struct ctx *cx, const struct org_wish *wish, struct org_first *out)
{
	struct bootstrap b = { .name = wish->name.len ? wish->name : STR("Default"),
		.first = {
			.admin_password =
				wish->admin_password.len ? wish->admin_password : secret_password(cx->arena),
			.org_id = id_new(cx->arena),
			.project_id = id_new(cx->arena),
			.production_id = id_new(cx->arena),
			.staging_id = id_new(cx->arena),
			.admin_id = id_new(cx->arena),
			.agent_id = id_new(cx->arena),
		} };

	TRY(name_check(cx, "/name", b.name));
	TRY(member_email(cx, wish->admin_email, &b.first.admin_email));
	TRY(password_check(cx, b.first.admin_password));
	TRY(password_hash(cx, b.first.admin_password, &b.password_hash));
	TRY(tx_run(cx, bootstrap_tx, &b));
	*out = b.first;
	return OK;
}

status
org_bootstrap(struct ctx *cx, str admin_email, struct org_first *out)
{
	return org_begin(cx, &(struct org_wish){ .admin_email = admin_email }, out);
}

static status
exists_tx(struct ctx *cx, void *arg)
{
	return db_one(cx, SQL_ORG_COUNT, count_row, arg);
}

status
org_exists(struct ctx *cx, bool *out_exists)
{
	struct count_row row;

	TRY(db_read(cx, exists_tx, &row));
	*out_exists = row.count > 0;
	return OK;
}

static const struct field settings_row[] = {
	FIELD_TEXT(struct org_settings, settings),
	FIELD_INT(struct org_settings, policy_version),
	FIELD_END,
};

status
org_settings(struct ctx *cx, str org_id, struct org_settings *out)
{
	return db_one(cx, SQL_ORG_SETTINGS, settings_row, out, TEXT(org_id));
}
