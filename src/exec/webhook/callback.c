/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/webhook/callback.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "base/hash/sha256.h"
#include "core/audit/audit.h"
#include "core/proposal/run/attempt.h"
#include "db/db.h"
#include "exec/webhook/command.h"
#include "exec/webhook/hook.h"
#include "json/mend.h"

#include "exec/webhook/callback.sql.h" /* SQL_CALLBACK_*, generated from callback.sql */

#define ID_BYTES 32u /* 256 bits: nobody finds one by trying */

struct claim {
	int64_t fence, deadline_at;
};
static const struct field claim_row[] = {
	FIELD_INT(struct claim, fence),
	FIELD_INT(struct claim, deadline_at),
	FIELD_END,
};

status
callback_offer(struct ctx *cx, str org_id, str attempt_id, str connection_id, str *out_url)
{
	str id = random_hex(cx->arena, ID_BYTES);
	struct claim c;
	status s = db_one(cx, SQL_CALLBACK_ATTEMPT, claim_row, &c, TEXT(org_id), TEXT(attempt_id));

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "there is no attempt whose outcome could be told");
	TRY(s);
	TRY(db_run(cx, SQL_CALLBACK_ADD, TEXT(sha256_hex(cx->arena, id)), TEXT(org_id), TEXT(attempt_id),
		INT(c.fence), TEXT(connection_id), INT(c.deadline_at)));
	*out_url = arena_printf(cx->arena, "%.*s/callbacks/%.*s", STR_ARG(cx->public_url), STR_ARG(id));
	return OK;
}

/* --- what came --- */

struct row {
	str org_id, attempt_id;
	int64_t fence;
	str connection_id;
	int64_t expires_at, used_at;
};
static const struct field row[] = {
	FIELD_TEXT(struct row, org_id),
	FIELD_TEXT(struct row, attempt_id),
	FIELD_INT(struct row, fence),
	FIELD_TEXT(struct row, connection_id),
	FIELD_INT(struct row, expires_at),
	FIELD_INT(struct row, used_at),
	FIELD_END,
};

struct taking {
	str hash;
	const struct sign_parts *signature;
	str body;
	struct hook_secrets secrets;
	struct row row; /* org_id empty: there is no such address */
	bool late;
	str state;
};

/* Is it from whom the command went to? */
static status
check_sender(struct ctx *cx, struct taking *t)
{
	struct hook c;

	TRY(hook_get(cx, t->row.org_id, t->row.connection_id, &c));
	TRY(hook_open(cx, t->row.org_id, &c, &t->secrets));
	return sign_check(
		cx, t->signature, (const str[]){ t->secrets.key.text, t->secrets.old.text }, 2, t->body);
}

static status
read_outcome(struct ctx *cx, const struct taking *t, struct outside_answer *out)
{
	struct command_reply reply;
	struct mended mended;
	struct json *doc;

	TRY(json_parse_mended(cx, t->body, &doc, &mended));
	if (!command_reply_read(doc, &reply))
		return fail(cx, E_INVALID,
			"a callback is {\"commandId\", \"status\": \"done\" or \"refused\", \"result\", "
			"\"message\"}");
	if (!str_eq(reply.command_id, t->row.attempt_id))
		return fail(cx, E_CONFLICT, "this address is for another command");
	*out = (struct outside_answer){ .end = str_eq(reply.status, STR("done")) ? OUTSIDE_DONE
										 : OUTSIDE_REFUSED };
	if (out->end == OUTSIDE_REFUSED)
		out->why = reply.message.len ? reply.message : STR("it says that it did not do it");
	if (mended.what) {
		out->mended = mended.what;
		out->raw = t->body;
	}
	return reply.result ? json_text(cx, reply.result, &out->result) : OK;
}

static status
use(struct ctx *cx, struct taking *t)
{
	int64_t now, used;

	TRY(tx_now_us(cx, &now));
	TRY(db_run_count(cx, SQL_CALLBACK_USE, &used, TEXT(t->row.org_id), TEXT(t->hash), INT(now)));
	if (!used)
		return fail(cx, E_CONFLICT, "this address was used already");
	t->late = now > t->row.expires_at;
	return OK;
}

static status
take(struct ctx *cx, void *arg)
{
	struct taking *t = arg;
	struct outside_answer a;
	struct proposal p = { 0 };
	status s = db_one(cx, SQL_CALLBACK_GET, row, &t->row, TEXT(t->hash));

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "there is no such address");
	TRY(s);
	TRY(check_sender(cx, t));
	TRY(read_outcome(cx, t, &a));
	TRY(use(cx, t));
	/* a fence that nobody has: evidence only */
	TRY(attempt_finish(cx, t->row.org_id, t->row.attempt_id, t->late ? -1 : t->row.fence, &a, &p));
	t->state = str_of(proposal_state_name(p.state));
	t->late = t->late || (p.state != PROPOSAL_APPLIED && p.state != PROPOSAL_FAILED);
	return OK;
}

/* --- what is kept of a refusal --- */

struct refusal {
	const struct row *row;
	status why;
};

static status
keep_refusal(struct ctx *cx, void *arg)
{
	const struct refusal *r = arg;
	struct audit_entry e = { .action = AUDIT_REFUSED,
		.org_id = r->row->org_id,
		.resource_type = STR("callback"),
		.resource_key = r->row->connection_id,
		.resource_id = r->row->attempt_id,
		.outcome = str_of(status_info(r->why)->code) };

	return audit_add(cx, &e, NULL);
}

static void
record(struct ctx *cx, const struct row *from, status why)
{
	struct refusal r = { from, why };
	struct error said = cx->error;
	status kept;

	ctx_clear(cx);
	kept = tx_run(cx, keep_refusal, &r);
	if (kept != OK)
		LOG(LOG_WARN, "callback.not_recorded", LOG_STR("why", ctx_message(cx, kept)));
	cx->error = said;
}

/* Ours is not on their account. */
static bool
is_theirs(status s)
{
	return status_info(s)->http < 500;
}

status
callback_take(struct ctx *cx, str id, const struct sign_parts *signature, str body, str *out_state)
{
	struct taking t = { .hash = sha256_hex(cx->arena, id), .signature = signature, .body = body };
	status s = tx_run(cx, take, &t);

	hook_close(&t.secrets);
	if (s == OK && t.late)
		s = fail(cx, E_GONE,
			"it came too late: the proposal is %.*s; what it says is kept as evidence",
			STR_ARG(t.state));
	if (s != OK) {
		if (t.row.org_id.len && is_theirs(s))
			record(cx, &t.row, s);
		return s;
	}
	*out_state = t.state;
	return OK;
}

static status
forget(struct ctx *cx, void *arg)
{
	int64_t now;

	(void)arg;
	TRY(tx_now_us(cx, &now));
	return db_run(cx, SQL_CALLBACK_FORGET, INT(now - LIMIT_CALLBACK_KEPT_US));
}

status
callback_sweep(struct ctx *cx)
{
	return tx_run(cx, forget, NULL);
}
