/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/kept/retention.h"

#include "base/limits.h"
#include "base/log.h"
#include "core/audit/audit.h"
#include "core/ident/caller.h"
#include "core/ident/secret.h"
#include "core/proposal/row.h"
#include "core/proposal/run/attempt.h"
#include "db/db.h"
#include "json/canon.h"
#include "json/out.h"

#include <inttypes.h>

#include "core/proposal/kept/retention.sql.h" /* SQL_RETENTION_*, generated from retention.sql */

#define NOTHING "{}"	 /* in place of the payload */
#define ERASED	"erased" /* in place of what a person read */

struct id_row {
	str id;
};
static const struct field id_row[] = { FIELD_TEXT(struct id_row, id), FIELD_END };

struct count_row {
	int64_t count;
};
static const struct field count_row[] = { FIELD_INT(struct count_row, count), FIELD_END };

/* --- how many are open --- */

static int64_t
most_open(const struct ctx *cx)
{
	return cx->open_proposals ? cx->open_proposals : LIMIT_OPEN_PROPOSALS;
}

status
retention_ask(struct ctx *cx, struct db_rows **out_open)
{
	struct db_rows *open = ARENA_NEW(cx->arena, struct db_rows);

	*out_open = open;
	return db_ask(cx, SQL_RETENTION_OPEN, count_row, sizeof(struct count_row), open,
		TEXT(cx->caller->org_id), TEXT(cx->caller->principal_id), INT(most_open(cx)));
}

status
retention_room(struct ctx *cx, const struct db_rows *open)
{
	const struct count_row *row;

	if (!open->count)
		TRY(db_wait(cx)); /* nothing was waited for since */
	row = open->rows;
	if (row->count < most_open(cx))
		return OK;
	return fail(cx, E_RATE_LIMITED,
		"%" PRId64
		" proposals of yours are open, and more are not taken; wait until people have decided, or "
		"cancel some",
		most_open(cx));
}

/* --- what stays of one --- */

/* Members of the card that say which tool was asked for, by whom and under which rules. */
static bool
stays(str member)
{
	static const char *const members[] = { "card", "tool", "targetSystem", "effect", "risk",
		"rollbackSupported", "failureImplications", "expiresAt", "policyVersion", "payloadHash",
		"execution", "source", "resource", "liveVersion", NULL };

	for (size_t i = 0; members[i]; i++)
		if (str_eq(member, str_of(members[i])))
			return true;
	return false;
}

static void
add_text(struct arena *a, struct json *o, const char *key, const char *text)
{
	json_add_member(o, str_of(key), json_new_string(a, str_of(text)));
}

/* Who asked, without their name. */
static struct json *
nameless(struct arena *a, const struct json *by)
{
	struct json *o = json_new_object(a);

	JSON_EACH (member, by)
		if (!str_eq(member->key, STR("name")))
			json_add_member(o, member->key, json_share(a, member));
	add_text(a, o, "name", "");
	return o;
}

static status
card_that_stays(struct ctx *cx, const struct proposal *p, str *out)
{
	struct arena *a = cx->arena;
	struct json *card = json_new_object(a), *change = json_new_object(a), *says = json_new_object(a);

	JSON_EACH (member, p->card_read)
		if (stays(member->key))
			json_add_member(card, member->key, json_share(a, member));
	if (json_get(p->card_read, STR("askedBy")))
		json_add_member(card, STR("askedBy"), nameless(a, json_get(p->card_read, STR("askedBy"))));
	add_text(a, card, "summary", ERASED);
	add_text(a, card, "affectedData", ERASED);
	add_text(a, change, "kind", ERASED);
	json_add_member(card, STR("change"), change);
	json_add_member(card, STR("warnings"), json_new_array(a));
	add_text(a, says, "summary", "");
	add_text(a, says, "reasoning", "");
	json_add_member(says, STR("warnings"), json_new_array(a));
	json_add_member(card, STR("agentSays"), says);
	return canon_text(cx, card, out);
}

/* What was there, by its hashes; payloadHash and viewHash stay in the row. */
static status
describe(struct ctx *cx, const struct proposal *p, str card, const char *why, str *out)
{
	struct json_out o;
	struct buf b;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	buf_init(&b, cx->arena, LIMIT_LOG_LINE);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_int(&o, "at", now_us);
	json_out_str(&o, "cardHash", secret_hash(cx->arena, card));
	if (p->error.len)
		json_out_str(&o, "errorHash", secret_hash(cx->arena, p->error));
	if (p->result.len)
		json_out_str(&o, "resultHash", secret_hash(cx->arena, p->result));
	json_out_str(&o, "summaryHash", secret_hash(cx->arena, p->summary));
	json_out_str(&o, "why", str_of(why));
	json_out_end(&o);
	return buf_finish(&b, out);
}

static str
text_of(struct ctx *cx, const struct proposal *p, const char *member)
{
	const struct json *value;
	struct json *doc;

	if (json_parse(cx, p->erased, &doc) != OK) {
		ctx_clear(cx);
		return (str){ 0 };
	}
	value = json_get(doc, str_of(member));
	return value && value->type == JSON_STRING ? value->text : (str){ 0 };
}

bool
retention_is_whole(struct ctx *cx, const struct proposal *p)
{
	return str_eq(p->payload, STR(NOTHING)) &&
	       str_eq(secret_hash(cx->arena, p->card), text_of(cx, p, "cardHash"));
}

void
retention_write(struct ctx *cx, const struct proposal *p, struct json_out *o)
{
	const struct json *at;
	struct json *doc;
	int64_t at_us = 0;

	if (!p->erased.len)
		return;
	json_out_object(o, "erased");
	if (json_parse(cx, p->erased, &doc) == OK) {
		at = json_get(doc, STR("at"));
		if (at && json_to_int(at, &at_us))
			json_out_time(o, "at", at_us);
	}
	json_out_str(o, "why", text_of(cx, p, "why"));
	json_out_end(o);
}

/* --- erasing one --- */

static struct audit_entry
entry_of(const struct proposal *p, enum audit_action action, const char *why)
{
	struct audit_entry entry = row_entry(p, action);

	entry.reason = str_of(why);
	return entry;
}

static status
take_out(struct ctx *cx, struct proposal *p, const char *why)
{
	struct audit_entry entry = entry_of(p, AUDIT_PROPOSAL_ERASED, why);
	struct proposal next = *p;
	int64_t rows;

	TRY(card_that_stays(cx, p, &next.card));
	TRY(describe(cx, p, next.card, why, &next.erased));
	next.payload = STR(NOTHING);
	next.summary = STR(ERASED);
	next.result = next.error = (str){ 0 };
	next.mac = row_seal(cx, &next);
	if (p->fence)
		TRY(attempt_erase(cx, p));
	TRY(db_run_count(cx, SQL_RETENTION_ERASE, &rows, TEXT(p->org_id), TEXT(p->id), TEXT(next.payload),
		TEXT(next.card), TEXT(next.summary), TEXT(next.erased), TEXT(next.mac)));
	if (rows != 1)
		return fail(cx, E_INTERNAL, "proposal %.*s moved under its lock", STR_ARG(p->id));
	TRY(audit_add(cx, &entry, NULL));
	return row_count(cx, &next);
}

/* An open proposal about what is to be erased can no longer be decided on. */
static status
call_off(struct ctx *cx, struct proposal *p)
{
	struct audit_entry entry = entry_of(p, AUDIT_PROPOSAL_CANCELLED, "subject");

	TRY(tx_now_us(cx, &p->resolved_at));
	p->error = STR("what it is about was erased");
	TRY(audit_add(cx, &entry, NULL));
	TRY(row_step(cx, p, PROPOSAL_EVENT_CANCEL));
	proposal_emit(cx, p);
	return OK;
}

/* *out_erased false: it is being carried out, or it was erased before. */
static status
erase(struct ctx *cx, str org_id, str id, const char *why, bool open_too, bool *out_erased)
{
	struct proposal p;

	*out_erased = false;
	TRY(row_lock(cx, org_id, id, &p));
	if (p.erased.len)
		return OK;
	if (open_too && (p.state == PROPOSAL_PENDING || p.state == PROPOSAL_APPROVED))
		TRY(call_off(cx, &p));
	if (!proposal_is_final(p.state))
		return OK;
	TRY(take_out(cx, &p, why));
	*out_erased = true;
	return OK;
}

/* --- by subject --- */

static status
find(struct ctx *cx, const struct sql *which, str org_id, str subject, struct retention_ids *out)
{
	struct id_row *rows;
	size_t count;

	TRY(db_all(cx, which, id_row, sizeof(*rows), &rows, &count, TEXT(org_id), TEXT(subject),
		INT(LIMIT_ERASE_PROPOSALS)));
	out->ids = arena_alloc(cx->arena, (count + 1) * sizeof(*out->ids));
	for (size_t i = 0; i < count; i++)
		out->ids[i] = rows[i].id;
	out->count = count;
	return OK;
}

status
retention_find(struct ctx *cx, str org_id, str subject, struct retention_ids *out)
{
	return find(cx, SQL_RETENTION_OF_ENTRIES, org_id, subject, out);
}

#define HOOKS_KEPT 8u /* for one proposal more, and for what erases it */

static status
erase_all(struct ctx *cx, str org_id, const struct retention_ids *list, struct retention_erased *out)
{
	for (size_t i = 0; i < list->count; i++) {
		bool erased;

		if (tx_hooks_left(cx) < HOOKS_KEPT) {
			out->more =
				true; /* each open one that is called off is news, and its number is remembered */
			return OK;
		}
		TRY(erase(cx, org_id, list->ids[i], "subject", true, &erased));
		out->erased += erased;
		out->left += !erased;
	}
	out->more = out->more || list->count == LIMIT_ERASE_PROPOSALS;
	return OK;
}

status
retention_erase_subject(struct ctx *cx, str org_id, str subject, const struct retention_ids *found,
	struct retention_erased *out)
{
	struct retention_ids named;

	*out = (struct retention_erased){ 0 };
	TRY(find(cx, SQL_RETENTION_OF_SUBJECT, org_id, subject, &named));
	TRY(erase_all(cx, org_id, &named, out));
	return erase_all(cx, org_id, found, out);
}

/* --- by age --- */

struct old {
	int64_t keep_us;
	struct retention_ids orgs, *ids; /* ids of each organization */
};

static status
find_old(struct ctx *cx, void *arg)
{
	struct old *o = arg;
	struct id_row *rows;
	int64_t now_us;
	size_t count;

	TRY(tx_now_us(cx, &now_us));
	TRY(db_all(cx, SQL_RETENTION_ORGS, id_row, sizeof(*rows), &rows, &o->orgs.count));
	o->orgs.ids = arena_alloc(cx->arena, (o->orgs.count + 1) * sizeof(str));
	o->ids = arena_alloc(cx->arena, (o->orgs.count + 1) * sizeof(*o->ids));
	for (size_t i = 0; i < o->orgs.count; i++) {
		struct id_row *found;

		o->orgs.ids[i] = rows[i].id;
		TRY(db_all(cx, SQL_RETENTION_OLD, id_row, sizeof(*found), &found, &count, TEXT(rows[i].id),
			INT(now_us - o->keep_us)));
		o->ids[i].ids = arena_alloc(cx->arena, (count + 1) * sizeof(str));
		o->ids[i].count = count;
		for (size_t k = 0; k < count; k++)
			o->ids[i].ids[k] = found[k].id;
	}
	return OK;
}

struct due {
	str org_id, id;
	bool done;
};

static status
erase_due(struct ctx *cx, void *arg)
{
	struct due *d = arg;

	return erase(cx, d->org_id, d->id, "kept", false, &d->done);
}

status
retention_round(struct ctx *cx, int64_t keep_us, int64_t *out_count)
{
	struct old old = { .keep_us = keep_us };

	*out_count = 0;
	TRY(db_read(cx, find_old, &old));
	for (size_t i = 0; i < old.orgs.count; i++) {
		for (size_t k = 0; k < old.ids[i].count; k++) {
			struct due due = { .org_id = old.orgs.ids[i], .id = old.ids[i].ids[k] };
			status s = tx_run(cx, erase_due, &due);

			if (s != OK) { /* one that was tampered with must not keep the others */
				LOG(LOG_WARN, "proposal.not_erased", LOG_STR("id", due.id),
					LOG_STR("why", ctx_message(cx, s)));
				ctx_clear(cx);
			}
			*out_count += s == OK && due.done;
		}
	}
	return OK;
}
