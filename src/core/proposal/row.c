/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/row.h"
#include "core/proposal/kept/retention.h"
#include "core/proposal/sight.h"

#include "base/check.h"
#include "base/fault.h"
#include "base/limits.h"
#include "core/audit/seal/numbers.h"
#include "core/card/card.h"
#include "core/gate/gate.h"
#include "core/keys.h"
#include "core/ident/secret.h"
#include "db/db.h"
#include "json/out.h"

#include <inttypes.h>

#include "core/proposal/proposal.sql.h" /* SQL_PROPOSAL_*, generated from proposal.sql */

static const struct field columns[] = {
	FIELD_TEXT(struct proposal, id),
	FIELD_TEXT(struct proposal, tool_call_id),
	FIELD_TEXT(struct proposal, state_name),
	FIELD_TEXT(struct proposal, tool),
	FIELD_INT(struct proposal, tool_version),
	FIELD_TEXT(struct proposal, effect),
	FIELD_TEXT(struct proposal, proposer_id),
	FIELD_TEXT(struct proposal, proposer_kind),
	FIELD_TEXT(struct proposal, delegator_id),
	FIELD_TEXT(struct proposal, token_id),
	FIELD_TEXT(struct proposal, transport),
	FIELD_TEXT(struct proposal, idempotency_key),
	FIELD_TEXT(struct proposal, payload),
	FIELD_TEXT(struct proposal, payload_hash),
	FIELD_TEXT(struct proposal, card),
	FIELD_TEXT(struct proposal, view_hash),
	FIELD_TEXT(struct proposal, summary),
	FIELD_TEXT(struct proposal, risk),
	FIELD_TEXT(struct proposal, environment_id),
	FIELD_TEXT(struct proposal, resource_type),
	FIELD_TEXT(struct proposal, resource_key),
	FIELD_INT(struct proposal, votes_needed),
	FIELD_BOOL(struct proposal, four_eyes),
	FIELD_INT(struct proposal, policy_version),
	FIELD_TEXT(struct proposal, request_hash),
	FIELD_TEXT(struct proposal, salt),
	FIELD_TEXT(struct proposal, minted_id),
	FIELD_INT(struct proposal, minted_at),
	FIELD_INT(struct proposal, created_at),
	FIELD_INT(struct proposal, expires_at),
	FIELD_TEXT(struct proposal, applier_id),
	FIELD_TEXT(struct proposal, applied_audit_id),
	FIELD_INT(struct proposal, applied_version),
	FIELD_TEXT(struct proposal, result),
	FIELD_TEXT(struct proposal, error),
	FIELD_INT(struct proposal, resolved_at),
	FIELD_TEXT(struct proposal, provenance),
	FIELD_INT(struct proposal, fence),
	FIELD_INT(struct proposal, deadline_at),
	FIELD_TEXT(struct proposal, facts),
	FIELD_TEXT(struct proposal, mac),
	FIELD_TEXT(struct proposal, subject),
	FIELD_TEXT(struct proposal, erased),
	FIELD_INT(struct proposal, entries),
	FIELD_INT(struct proposal, last_entry),
	FIELD_END,
};

/* --- the seal of a row --- */

str
row_mac(struct ctx *cx, const str *parts, size_t count)
{
	return keys_mac_hex(cx->arena, cx->keys, parts, count);
}

#define SIZE(list) (sizeof(list) / sizeof((list)[0]))

/* Everything that decides what may happen, and what did. */
static str
seal_core(struct ctx *cx, const struct proposal *p)
{
	const str always[] = { STR("proposal"), p->org_id, p->id, p->state_name, p->tool,
		arena_int(cx->arena, p->tool_version), p->effect, p->proposer_id, p->proposer_kind,
		p->delegator_id, p->token_id, p->payload_hash, p->view_hash, p->risk, p->environment_id,
		p->resource_type, p->resource_key, arena_int(cx->arena, p->votes_needed),
		arena_int(cx->arena, p->four_eyes), arena_int(cx->arena, p->policy_version), p->request_hash,
		p->salt, p->minted_id, p->tool_call_id, p->transport, p->summary, p->provenance,
		p->idempotency_key, arena_int(cx->arena, p->minted_at), arena_int(cx->arena, p->created_at),
		arena_int(cx->arena, p->expires_at), p->applier_id, p->applied_audit_id,
		arena_int(cx->arena, p->applied_version), secret_hash(cx->arena, p->result),
		secret_hash(cx->arena, p->error), arena_int(cx->arena, p->resolved_at) };
	str parts[SIZE(always) + 4];
	size_t count = SIZE(always);

	/* then what not every row has: one part, two, three, or with numbered entries all four, so rows of two kinds never
	 * have as many */
	memcpy(parts, always, sizeof(always));
	if (p->facts.len || p->entries)
		parts[count++] = p->facts;
	if (p->fence || p->entries) {
		parts[count++] = arena_int(cx->arena, p->fence);
		parts[count++] = arena_int(cx->arena, p->deadline_at);
	}
	if (p->entries)
		parts[count++] = arena_int(cx->arena, p->entries);
	return row_mac(cx, parts, count);
}

/* Older rows have no subject, and most are never erased. */
str
row_seal(struct ctx *cx, const struct proposal *p)
{
	str core = seal_core(cx, p);
	str parts[] = { STR("proposal kept"), core, p->subject, p->erased };

	return p->subject.len || p->erased.len ? row_mac(cx, parts, 4) : core;
}

struct audit_entry
row_entry(const struct proposal *p, enum audit_action action)
{
	return (struct audit_entry){ .action = action,
		.org_id = p->org_id,
		.resource_type = STR("proposal"),
		.resource_id = p->id,
		.resource_key = p->id,
		.proposal_id = p->id,
		.tool = p->tool,
		.tool_call_id = p->tool_call_id,
		.args_hash = p->payload_hash,
		.risk = p->risk,
		.chain = p->chain };
}

static status
tampered(struct ctx *cx, str id)
{
	return fail(cx, E_TAMPERED, "proposal %.*s was changed outside of Countersign; nothing was done",
		STR_ARG(id));
}

static status
verify(struct ctx *cx, struct proposal *p)
{
	if (!proposal_state_of(p->state_name, &p->state) || !str_eq_secret(row_seal(cx, p), p->mac))
		return tampered(cx, p->id);
	if (p->erased.len)
		return retention_is_whole(cx, p) ? OK : tampered(cx, p->id);
	if (!str_eq(secret_hash(cx->arena, p->payload), p->payload_hash) ||
		!str_eq(secret_hash(cx->arena, p->card), p->view_hash))
		return tampered(cx, p->id);
	/* the first entry is in no index by number; a row from before has none that has one */
	if (p->last_entry == (p->entries > 1 ? p->entries : 0))
		return OK;
	return fail(cx, E_TAMPERED,
		"proposal %.*s does not fit its entries in the audit log: one of them was put back, added or "
		"deleted outside of Countersign; nothing was done",
		STR_ARG(p->id));
}

status
row_card(struct ctx *cx, const struct proposal *p, const struct json **out)
{
	struct json *card;

	if (p->card_read) {
		*out = p->card_read;
		return OK;
	}
	TRY(json_parse(cx, p->card, &card));
	*out = card;
	return OK;
}

/* Where it begins after the upgrade, number 1 stands for what was before. */
static struct audit_chain *
row_chain(struct arena *a, const struct proposal *p)
{
	struct audit_chain *chain = ARENA_NEW(a, struct audit_chain);

	*chain = (struct audit_chain){ .proposal_id = p->id, .number = p->entries ? p->entries : 1 };
	chain->kept = chain->number;
	return chain;
}

status
row_get(struct ctx *cx, str org_id, str id, struct proposal *out)
{
	struct proposal p = { 0 };
	status s = db_one(cx, SQL_PROPOSAL_GET, columns, &p, TEXT(org_id), TEXT(id));

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "there is no proposal with this id");
	TRY(s);
	p.org_id = org_id;
	TRY(verify(cx, &p));
	TRY(row_card(cx, &p, &p.card_read));
	p.chain = row_chain(cx->arena, &p);
	*out = p;
	return OK;
}

struct id_row {
	str id;
};
static const struct field id_row[] = { FIELD_TEXT(struct id_row, id), FIELD_END };

status
row_lock(struct ctx *cx, str org_id, str id, struct proposal *out)
{
	struct id_row locked;
	status s = PLANTED(proposal_unlocked)
			   ? OK
			   : db_one(cx, SQL_PROPOSAL_LOCK, id_row, &locked, TEXT(org_id), TEXT(id));

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "there is no proposal with this id");
	TRY(s);
	if (!PLANTED(clock_before_lock))
		tx_waited(cx); /* perhaps for long: expiry is decided by the time after the lock */
	TRY(row_get(cx, org_id, id, out));
	/* only now: without the lock it may have been decided since it was read */
	if (numbers_behind(cx->numbers, org_id, id, out->entries))
		return fail(cx, E_TAMPERED,
			"proposal %.*s was put back: more was decided about it than the database says; "
			"nothing was done",
			STR_ARG(id));
	return OK;
}

status
row_list(
	struct ctx *cx, str org_id, const struct row_filter *f, struct proposal **out_rows, size_t *out_count)
{
	struct proposal *rows;
	size_t count;

	TRY(db_all(cx, SQL_PROPOSAL_LIST, columns, sizeof(*rows), &rows, &count, TEXT(org_id),
		TEXT(f->before.len ? f->before : STR(ROW_AFTER_LAST)), TEXT(f->state), TEXT(f->tool),
		TEXT(f->proposer_id), INT(f->limit)));
	for (size_t i = 0; i < count; i++) {
		rows[i].org_id = org_id;
		if (verify(cx, &rows[i]) == OK)
			continue;
		ctx_clear(cx);
		rows[i].state_name = STR("tampered");
	}
	*out_rows = rows;
	*out_count = count;
	return OK;
}

/* --- writing --- */

static struct db_value
or_null(str s)
{
	if (!s.len)
		return NIL;
	return TEXT(s);
}

status
row_add(struct ctx *cx, struct proposal *p)
{
	p->state_name = str_of(proposal_state_name(p->state));
	p->entries = 1; /* the one that says that it was made */
	p->mac = row_seal(cx, p);
	return db_later(cx, SQL_PROPOSAL_ADD, TEXT(p->org_id), TEXT(p->id), TEXT(p->tool_call_id),
		TEXT(p->state_name), TEXT(p->tool), INT(p->tool_version), TEXT(p->effect),
		TEXT(p->proposer_id), TEXT(p->proposer_kind), or_null(p->delegator_id), or_null(p->token_id),
		TEXT(p->transport), TEXT(p->payload), TEXT(p->payload_hash), TEXT(p->card),
		TEXT(p->view_hash), TEXT(p->summary), TEXT(p->risk), or_null(p->environment_id),
		TEXT(p->resource_type), TEXT(p->resource_key), INT(p->votes_needed), INT(p->four_eyes),
		INT(p->policy_version), TEXT(p->provenance), or_null(p->idempotency_key),
		TEXT(p->request_hash), TEXT(p->salt), TEXT(p->minted_id), INT(p->minted_at),
		INT(p->created_at), INT(p->expires_at), TEXT(p->mac), TEXT(p->facts), or_null(p->subject),
		INT(p->entries));
}

/* Outside the database, once this has committed (numbers.h). */
static void
remember(struct ctx *cx, const struct proposal *p)
{
	numbers_see_later(cx, p->org_id, p->id, p->entries, p->expires_at + LIMIT_NUMBERS_US);
}

status
row_step(struct ctx *cx, struct proposal *p, enum proposal_event event)
{
	struct proposal next = *p;
	int64_t rows, now_us;

	if (!proposal_step(p->state, event, &next.state))
		return row_gone(cx, p);
	TRY(tx_now_us(cx, &now_us));
	next.state_name = str_of(proposal_state_name(next.state));
	next.entries = next.chain->number;
	next.mac = row_seal(cx, &next);
	TRY(db_run_count(cx, SQL_PROPOSAL_FINISH, &rows, TEXT(p->org_id), TEXT(p->id), TEXT(p->state_name),
		TEXT(next.state_name), next.resolved_at ? INT(next.resolved_at) : NIL,
		or_null(next.applier_id), or_null(next.applied_audit_id),
		next.applied_version ? INT(next.applied_version) : NIL, or_null(next.result),
		or_null(next.error), TEXT(next.mac), INT(now_us), INT(next.fence),
		next.deadline_at ? INT(next.deadline_at) : NIL, INT(next.votes_needed), or_null(next.subject),
		INT(next.entries)));
	/* the row is locked and was just read: it cannot have moved */
	if (rows != 1)
		return fail(cx, E_INTERNAL, "proposal %.*s moved under its lock", STR_ARG(p->id));
	next.chain->kept = next.entries;
	remember(cx, &next);
	*p = next;
	return OK;
}

status
row_count(struct ctx *cx, struct proposal *p)
{
	if (p->chain->kept == p->chain->number)
		return OK;
	p->entries = p->chain->kept = p->chain->number;
	p->mac = row_seal(cx, p);
	if (!p->erased.len) /* many are erased in one transaction, and none of them is to be decided any more */
		remember(cx, p);
	return db_later(
		cx, SQL_PROPOSAL_ENTRIES, TEXT(p->org_id), TEXT(p->id), INT(p->entries), TEXT(p->mac));
}

str
row_state_at(const struct proposal *p, int64_t now_us)
{
	bool open = p->state == PROPOSAL_PENDING || p->state == PROPOSAL_APPROVED;

	return open && p->expires_at <= now_us ? STR("expired") : p->state_name;
}

status
row_gone(struct ctx *cx, const struct proposal *p)
{
	int64_t now_us;
	struct json_out o;
	struct buf b;
	str state, text;
	status s;

	TRY(tx_now_us(cx, &now_us));
	state = row_state_at(p, now_us);
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "proposalId", p->id);
	json_out_str(&o, "status", state);
	if (p->resolved_at)
		json_out_time(&o, "resolvedAt", p->resolved_at);
	if (p->result.len && sight_of_result(cx, p))
		json_out_raw(&o, "result", p->result);
	json_out_end(&o);
	TRY(buf_finish(&b, &text));
	s = fail(cx, E_GONE, "the proposal is %.*s%s", STR_ARG(state),
		str_eq(state, STR("unknown")) ? ": nobody can say whether it took effect; ask the other "
						"system (probe), or look and settle it"
					      : "");
	fail_details(cx, text);
	return s;
}

/* --- the token (PA-4) --- */

str
row_token(struct ctx *cx, const struct proposal *p)
{
	str parts[] = { STR("nonce"), p->org_id, p->id, p->salt };

	return arena_printf(cx->arena, "propose:%.*s.%.*s", STR_ARG(p->id), STR_ARG(row_mac(cx, parts, 4)));
}

bool
row_token_is(struct ctx *cx, const struct proposal *p, str token)
{
	return str_eq_secret(row_token(cx, p), token);
}

/* --- votes --- */

static const struct field vote_columns[] = {
	FIELD_TEXT(struct vote, person_id),
	FIELD_TEXT(struct vote, name),
	FIELD_TEXT(struct vote, decision),
	FIELD_TEXT(struct vote, reason),
	FIELD_TEXT(struct vote, view_hash),
	FIELD_BOOL(struct vote, via_token),
	FIELD_INT(struct vote, voted_at),
	FIELD_TEXT(struct vote, mac),
	FIELD_BOOL(struct vote, disabled),
	FIELD_INT(struct vote, rights_since),
	FIELD_END,
};

static str
seal_vote(struct ctx *cx, const struct proposal *p, const struct vote *v)
{
	str parts[] = { STR("vote"), p->org_id, p->id, v->person_id, v->decision, v->reason, v->view_hash,
		arena_int(cx->arena, v->via_token), arena_int(cx->arena, v->voted_at) };

	return row_mac(cx, parts, sizeof(parts) / sizeof(parts[0]));
}

str
row_approve_rule(struct arena *a, const struct tool *t)
{
	return gate_approve_rule(a, t);
}

status
row_consent(struct ctx *cx, const struct proposal *p, enum policy_consent *out)
{
	const struct json *card, *agrees;

	*out = CONSENT_NONE;
	TRY(row_card(cx, p, &card));
	agrees = json_get(json_get(card, STR("askedBy")), STR(CARD_AGREES));
	for (int c = CONSENT_ASKING; agrees && c <= CONSENT_CONFIRMING; c++)
		if (str_eq(agrees->text, str_of(consent_name((enum policy_consent)c))))
			*out = (enum policy_consent)c;
	return OK;
}

struct since_row {
	int64_t since;
};
static const struct field since_row[] = { FIELD_INT(struct since_row, since), FIELD_END };

status
row_since(struct ctx *cx, const struct proposal *p, str person_id, bool *out_before)
{
	struct since_row row;

	TRY(db_one(cx, SQL_PROPOSAL_SINCE, since_row, &row, TEXT(p->org_id), TEXT(person_id)));
	*out_before = row.since < p->created_at;
	return OK;
}

/* The one who proposed it votes only to confirm it, signed in. */
static status
is_own(struct ctx *cx, const struct proposal *p, const struct vote *v, bool *out)
{
	enum policy_consent consent = CONSENT_NONE;

	*out = str_eq(v->person_id, p->proposer_id);
	if (*out)
		TRY(row_consent(cx, p, &consent));
	*out = *out && (consent != CONSENT_CONFIRMING || v->via_token);
	return OK;
}

/* A vote of someone who lost the right no longer counts (AP-4), and not where they got it back, either (AP-3). */
static status
weigh(struct ctx *cx, const struct proposal *p, str rule, struct vote *v)
{
	struct rules live;
	bool own;

	if (!str_eq_secret(seal_vote(cx, p, v), v->mac))
		return tampered(cx, p->id);
	if (!str_eq(v->decision, STR("approved")))
		return OK;
	TRY(is_own(cx, p, v, &own));
	TRY(caller_live_rules(cx, p->org_id, v->person_id, &live));
	v->why = own				       ? "the one who proposed cannot vote"
		 : !str_eq(v->view_hash, p->view_hash) ? "the vote is about another card"
		 : v->disabled			       ? "this person has been shut out"
		 : !rules_cover(&live, rule)	       ? "this person may no longer approve it"
		 : v->rights_since >= p->created_at
			 ? "what this person may do, or how they sign in, was changed after it was proposed"
			 : NULL;
	v->counts = !v->why;
	return OK;
}

status
row_votes(struct ctx *cx, const struct proposal *p, struct vote **out_votes, size_t *out_count,
	int64_t *out_valid)
{
	const struct tool *t = tool_find(cx->tools, p->tool);
	struct vote *votes;
	size_t count;
	int64_t valid = 0;

	if (p->fresh) {
		*out_votes = NULL;
		*out_count = 0;
		*out_valid = 0;
		return OK;
	}
	TRY(db_all(cx, SQL_PROPOSAL_VOTES, vote_columns, sizeof(*votes), &votes, &count, TEXT(p->org_id),
		TEXT(p->id)));
	for (size_t i = 0; i < count; i++) {
		/* of a tool that is gone nobody can approve anything */
		if (t)
			TRY(weigh(cx, p, row_approve_rule(cx->arena, t), &votes[i]));
		else
			votes[i].why = "the tool is not there any more";
		valid += votes[i].counts;
	}
	*out_votes = votes;
	*out_count = count;
	*out_valid = valid;
	return OK;
}

status
row_add_vote(struct ctx *cx, const struct proposal *p, const struct vote *v)
{
	return db_run(cx, SQL_PROPOSAL_VOTE, TEXT(p->org_id), TEXT(p->id), TEXT(v->person_id),
		TEXT(v->decision), or_null(v->reason), TEXT(v->view_hash), INT(v->via_token),
		INT(v->voted_at), TEXT(seal_vote(cx, p, v)));
}
