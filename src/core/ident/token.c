/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ident/token.h"

#include "base/limits.h"
#include "core/id.h"
#include "core/ident/secret.h"
#include "db/db.h"
#include "json/out.h"

#include "core/ident/token.sql.h" /* SQL_TOKEN_*, generated from token.sql */

static const char *const secret_kinds[] = {
	[PRINCIPAL_USER] = SECRET_KIND_PERSON,
	[PRINCIPAL_AGENT] = SECRET_KIND_AGENT,
	[PRINCIPAL_SERVICE] = SECRET_KIND_SERVICE,
};

/* A list as it is stored: a JSON array, or "all". */
static status
list_text(struct ctx *cx, bool all, const str *items, size_t count, str *out)
{
	struct buf b;
	struct json_out o;

	if (all) {
		*out = STR("\"all\"");
		return OK;
	}
	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	json_out_init(&o, &b);
	json_out_array(&o, NULL);
	for (size_t i = 0; i < count; i++)
		json_out_str(&o, NULL, items[i]);
	json_out_end(&o);
	return buf_finish(&b, out);
}

static struct db_value
or_null(str s)
{
	if (!s.len)
		return NIL;
	return TEXT(s);
}

status
token_mint(struct ctx *cx, str org_id, enum principal_kind kind, const struct token_new *t,
	struct token_minted *out)
{
	struct token_minted minted = { .secret = secret_new(cx->arena, secret_kinds[kind]) };
	int64_t ttl_us = t->ttl_us ? t->ttl_us : TOKEN_TTL_AGENT_US, now_us;
	str rules, environments, keys, cidrs;

	TRY(tx_now_us(cx, &now_us));
	TRY(list_text(cx, false, t->rules, t->rule_count, &rules));
	TRY(list_text(cx, t->all_environments, t->environments, t->environment_count, &environments));
	TRY(list_text(cx, t->all_keys, t->keys, t->key_count, &keys));
	TRY(list_text(cx, false, t->cidrs, t->cidr_count, &cidrs));
	minted.token_id = t->id.len ? t->id : id_at(cx->arena, now_us);
	minted.hint = secret_hint(cx->arena, minted.secret);
	minted.expires_at = now_us + ttl_us;
	TRY(db_run(cx, SQL_TOKEN_ADD, TEXT(org_id), TEXT(minted.token_id),
		TEXT(secret_hash(cx->arena, minted.secret)), TEXT(minted.hint), TEXT(t->name),
		TEXT(t->principal_id), or_null(t->delegator_id), or_null(t->parent_id),
		TEXT(str_of(t->level == LEVEL_NONE ? "" : level_name(t->level))), TEXT(rules),
		TEXT(environments), TEXT(keys), INT(t->verbs), INT(t->production_verbs),
		INT(t->rate_per_minute ? t->rate_per_minute : TOKEN_RATE), INT(t->approval_required),
		INT(t->auto_mode), TEXT(cidrs), t->vote_us ? INT(now_us + t->vote_us) : NIL, INT(ttl_us),
		INT(minted.expires_at), INT(now_us), TEXT(t->audience), TEXT(t->client_id)));
	*out = minted;
	return OK;
}

status
token_rotate(struct ctx *cx, str org_id, str token_id, int64_t expires_at, struct token_minted *out)
{
	struct token_minted m = { .token_id = token_id,
		.secret = secret_new(cx->arena, SECRET_KIND_AGENT),
		.expires_at = expires_at };
	int64_t count;

	m.hint = secret_hint(cx->arena, m.secret);
	TRY(db_run_count(cx, SQL_TOKEN_ROTATE, &count, TEXT(org_id), TEXT(token_id),
		TEXT(secret_hash(cx->arena, m.secret)), TEXT(m.hint), INT(expires_at)));
	if (count == 0)
		return fail(cx, E_NOT_FOUND, "there is no live token with this id");
	*out = m;
	return OK;
}

status
token_revoke(struct ctx *cx, str org_id, str token_id, int64_t *out_count)
{
	int64_t now_us, count;

	TRY(tx_now_us(cx, &now_us));
	TRY(db_run_count(cx, SQL_TOKEN_REVOKE, &count, TEXT(org_id), TEXT(token_id), INT(now_us)));
	if (count == 0)
		return fail(cx, E_NOT_FOUND, "there is no live token with this id");
	*out_count = count;
	return OK;
}

status
token_end_sessions(struct ctx *cx, str org_id, str person_id)
{
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	return db_run(cx, SQL_TOKEN_END_SESSIONS, TEXT(org_id), TEXT(person_id), INT(now_us));
}

status
token_revoke_person(struct ctx *cx, str org_id, str person_id)
{
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	TRY(db_run(cx, SQL_TOKEN_REVOKE_PERSON, TEXT(org_id), TEXT(person_id), INT(now_us)));
	TRY(db_run(cx, SQL_TOKEN_REVOKE_GRANTS, TEXT(org_id), TEXT(person_id), INT(now_us)));
	return token_end_sessions(cx, org_id, person_id);
}
