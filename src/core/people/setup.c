/* SPDX-License-Identifier: Apache-2.0 */
#include "core/people/setup.h"

#include "base/limits.h"
#include "core/ident/org.h"
#include "core/ident/secret.h"
#include "db/db.h"

#include "core/people/setup.sql.h" /* SQL_SETUP_*, generated from setup.sql */

static status
offer_tx(struct ctx *cx, void *arg)
{
	const str *hash = arg;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	return db_run(cx, SQL_SETUP_OFFER, TEXT(*hash), INT(now_us + LIMIT_SETUP_US));
}

status
setup_offer(struct ctx *cx, str *out_secret)
{
	str secret = secret_new(cx->arena, SECRET_KIND_SETUP), hash = secret_hash(cx->arena, secret);
	bool exists;

	TRY(org_exists(cx, &exists));
	if (exists) {
		*out_secret = (str){ 0 };
		return OK;
	}
	TRY(tx_run(cx, offer_tx, &hash));
	*out_secret = secret;
	return OK;
}

/* --- taking it up --- */

struct setup_in {
	str token, email, password, name;
};
static const struct field setup_in[] = {
	FIELD_TEXT(struct setup_in, token, .need = true, .min = 1, .max = LIMIT_NAME,
		.doc = "What stands behind # in the link."),
	FIELD_TEXT(struct setup_in, email, .need = true, .min = 1, .max = LIMIT_EMAIL,
		.doc = "How the first admin signs in."),
	FIELD_TEXT(struct setup_in, password, .need = true, .min = LIMIT_PASSWORD_LEAST,
		.max = LIMIT_PASSWORD_BYTES, .doc = "Their password: 12 to 256 bytes of UTF-8."),
	FIELD_TEXT(struct setup_in, name, .max = LIMIT_NAME,
		.doc = "The organization's name; Default unless said."),
	FIELD_END,
};

struct setup_out {
	str admin_email, admin_token, agent_token, org_id, project_id;
	struct json *environments;
};
static const struct field setup_out[] = {
	FIELD_TEXT(struct setup_out, admin_email, .need = true, .doc = "How the admin signs in."),
	FIELD_TEXT(struct setup_out, admin_token, .need = true,
		.doc = "A token of the admin's; it may vote for an hour. Shown once."),
	FIELD_TEXT(struct setup_out, agent_token, .need = true,
		.doc = "A safe token of the first agent's. Shown once."),
	FIELD_TEXT(struct setup_out, org_id, .need = true, .doc = "The organization."),
	FIELD_TEXT(struct setup_out, project_id, .need = true, .doc = "Its project."),
	FIELD_JSON(struct setup_out, environments, .need = true,
		.doc = "`production` and `staging`: their ids."),
	FIELD_END,
};

struct offer {
	str hash;
	int64_t until, now_us;
};
static const struct field offer_row[] = {
	FIELD_TEXT(struct offer, hash),
	FIELD_INT(struct offer, until),
	FIELD_END,
};

static status
get_tx(struct ctx *cx, void *arg)
{
	struct offer *o = arg;

	TRY(tx_now_us(cx, &o->now_us));
	return db_one(cx, SQL_SETUP_GET, offer_row, o);
}

/* Before anything slow is done for a stranger. */
static status
check(struct ctx *cx, str token)
{
	struct offer o = { 0 };

	TRY(db_read(cx, get_tx, &o));
	if (o.until <= o.now_us || !secret_valid(token) ||
		!str_eq_secret(secret_hash(cx->arena, token), o.hash))
		return fail(cx, E_UNAUTHENTICATED,
			"this set-up link is not valid, or no longer; a new start prints a new one");
	return OK;
}

static status
run_setup(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct setup_in *s = in;
	struct org_wish wish = { .name = s->name, .admin_email = s->email, .admin_password = s->password };
	struct org_first first;

	TRY(check(cx, s->token));
	TRY(org_begin(cx, &wish, &first));
	json_out_str(out, "adminEmail", first.admin_email);
	json_out_str(out, "adminToken", first.admin_token);
	json_out_str(out, "agentToken", first.agent_token);
	json_out_str(out, "orgId", first.org_id);
	json_out_str(out, "projectId", first.project_id);
	json_out_object(out, "environments");
	json_out_str(out, "production", first.production_id);
	json_out_str(out, "staging", first.staging_id);
	json_out_end(out);
	return OK;
}

const struct op setup_ops[] = {
	{ .name = "setup",
		.method = "POST",
		.path = "/api/v1/setup",
		.rule = RULE_PUBLIC,
		.effect = OP_MUTATE,
		.doc = "Sets the server up by the one-time link of its first start: the organization, its "
		       "first admin and "
		       "an agent. It works once.",
		.in = setup_in,
		.in_size = sizeof(struct setup_in),
		.out = setup_out,
		.success = 201,
		.errors = OP_ERRORS(E_UNAUTHENTICATED, E_EXISTS, E_UNAVAILABLE),
		.run = run_setup },
	{ 0 },
};
