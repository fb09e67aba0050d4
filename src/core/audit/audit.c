/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/audit.h"

#include "base/check.h"
#include "base/limits.h"
#include "core/audit/seal/chain.h"
#include "core/audit/vault.h"
#include "core/id.h"
#include "db/db.h"
#include "json/canon.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

const char *
audit_action_name(enum audit_action a)
{
	static const char *const names[] = {
#define X(name, text) [AUDIT_##name] = text,
		AUDIT_ACTIONS(X)
#undef X
	};

	CHECK(a < AUDIT_ACTION_COUNT);
	return names[a];
}

/* --- who --- */

static const char *
actor_type(const struct caller *c)
{
	if (!c)
		return "system";
	if (c->kind == PRINCIPAL_AGENT)
		return "agent_token";
	return c->via_token || c->kind == PRINCIPAL_SERVICE ? "api_token" : "user";
}

static void
add_caller(struct audit_row *row, const struct caller *c)
{
	row->actor_type = str_of(actor_type(c));
	row->transport = STR("system");
	if (!c)
		return;
	row->actor_id = c->principal_id;
	row->delegator_id = c->delegator_id;
	row->token_id = c->token_id;
	row->via_token = row->via_token || c->via_token;
	if (c->transport)
		row->transport = str_of(c->transport);
	if (!row->agent_id.len && c->kind == PRINCIPAL_AGENT)
		row->agent_id = c->principal_id;
	if (!row->org_id.len)
		row->org_id = c->org_id;
}

/* --- what --- */

static struct audit_row
row_of(const struct audit_entry *e)
{
	return (struct audit_row){
		.action = str_of(audit_action_name(e->action)),
		.agent_id = e->agent_id,
		.applier_id = e->applier_id,
		.args_hash = e->args_hash,
		.chat_id = e->chat_id,
		.decision = e->decision,
		.model = e->model,
		.org_id = e->org_id,
		.outcome = e->outcome,
		.prompt_hash = e->prompt_hash,
		.prompt_version = e->prompt_version,
		.proposal_id = e->proposal_id,
		.provider = e->provider,
		.reason = e->reason,
		.resource_id = e->resource_id,
		.resource_key = e->resource_key,
		.resource_type = e->resource_type,
		.risk = e->risk,
		.subject = e->subject,
		.tool = e->tool,
		.tool_call_id = e->tool_call_id,
		.version = e->version,
		.via_token = e->via_token,
		.with_override = e->with_override,
	};
}

static status
check_text(struct ctx *cx, const char *name, str text)
{
	if (text.len > LIMIT_AUDIT_TEXT)
		return fail(cx, E_TOO_LARGE, "the audit's %s has more than %u bytes", name, LIMIT_AUDIT_TEXT);
	return OK;
}

/* Approvers in the one form that the leaf has; a JSON array. */
static status
add_approvers(struct ctx *cx, str text, str *out)
{
	struct json *doc;

	if (!text.len)
		return OK;
	TRY(check_text(cx, "list of approvers", text));
	TRY(json_parse(cx, text, &doc));
	if (doc->type != JSON_ARRAY)
		return fail(cx, E_INVALID, "the audit's approvers must be an array");
	return canon_text(cx, doc, out);
}

#define CHECK_TEXT(cx, name, value) check_text((cx), (name), (value))
#define CHECK_JSON(cx, name, value) OK
#define CHECK_INT(cx, name, value)  OK
#define CHECK_BOOL(cx, name, value) OK

static status
check_row(struct ctx *cx, const struct audit_row *row)
{
#define X(type, member, key, doc) TRY(CHECK_##type(cx, key, row->member));
	AUDIT_COLUMNS(X)
#undef X
	if (!row->org_id.len)
		return fail(cx, E_INTERNAL, "an audit entry belongs to an organization");
	/* the canonical form has numbers as doubles */
	if (row->version > (INT64_C(1) << 53) || row->version < 0)
		return fail(cx, E_INVALID, "the audit's version is not a number that survives");
	return OK;
}

#define PARAM_TEXT TEXT
#define PARAM_JSON TEXT
#define PARAM_INT  INT
#define PARAM_BOOL INT

static status
insert(struct ctx *cx, const struct audit_row *row)
{
	const struct db_value params[] = {
#define X(type, member, key, doc) PARAM_##type(row->member),
		AUDIT_COLUMNS(X)
#undef X
			TEXT(row->mac),
	};

	return db_later_args(cx, SQL_AUDIT_ADD, params, sizeof(params) / sizeof(params[0]));
}

static void
collect(struct ctx *cx, const struct json *values, struct json **to)
{
	if (!values || values->type != JSON_OBJECT)
		return;
	if (!*to)
		*to = json_new_object(cx->arena);
	JSON_EACH (m, values)
		if (!json_get(*to, m->key))
			json_add_member(*to, m->key, json_share(cx->arena, m));
}

static void
tell(struct ctx *cx, const struct audit_entry *e)
{
	if (!cx->told)
		return;
	if (!cx->told->key.len)
		cx->told->key = arena_str(cx->arena, e->resource_key);
	collect(cx, e->before, &cx->told->before);
	collect(cx, e->after, &cx->told->after);
}

/* The next of the chain whose lock is held; 0: none is. */
static status
number(struct ctx *cx, const struct audit_entry *e, struct audit_row *row)
{
	if (e->chain) {
		CHECK(str_eq(e->chain->proposal_id, e->proposal_id));
		row->number = ++e->chain->number;
		return OK;
	}
	return cx->rights_held && !row->proposal_id.len ? chain_rights_next(cx, row->org_id, &row->number)
							: OK;
}

status
audit_add(struct ctx *cx, const struct audit_entry *e, str *out_id)
{
	struct audit_row row = row_of(e);
	struct vault_hashes hashes = { .before = { NULL, 0 } };

	tell(cx, e);
	add_caller(&row, cx->caller);
	TRY(check_row(cx, &row));
	TRY(add_approvers(cx, e->approvers, &row.approvers));
	TRY(tx_now_us(cx, &row.at));
	row.id = id_at(cx->arena, row.at);
	if (e->before || e->after)
		TRY(vault_put(cx, row.org_id, row.id, row.subject, e->before, e->after, &hashes));
	row.before_hash = hashes.before;
	row.after_hash = hashes.after;
	row.diff_hash = hashes.diff;
	TRY(number(cx, e, &row));
	TRY(audit_row_mac(cx, &row, &row.mac));
	TRY(insert(cx, &row));
	if (out_id)
		*out_id = row.id;
	return OK;
}

/* --- erasing --- */

status
audit_erase(struct ctx *cx, str org_id, str subject, str *out_id)
{
	struct audit_entry entry = {
		.action = AUDIT_SUBJECT_ERASED,
		.org_id = org_id,
		.resource_type = STR("subject"),
		.resource_id = subject,
	};

	if (!subject.len)
		return fail(cx, E_INVALID, "the organization's own key cannot be destroyed");
	TRY(vault_destroy(cx, org_id, subject, &entry.resource_key));
	return audit_add(cx, &entry, out_id);
}
