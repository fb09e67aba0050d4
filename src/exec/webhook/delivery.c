/* SPDX-License-Identifier: Apache-2.0 */
/* What could not be told yet, for admins. */
#include "base/limits.h"
#include "core/people/change.h"
#include "db/db.h"
#include "exec/webhook/hook.h"
#include "exec/webhook/courier.h"

#include "exec/webhook/delivery.sql.h" /* SQL_DELIVERY_*, generated from delivery.sql */

struct delivery {
	str event_id, connection_id, type, subject;
	int64_t happened_at;
	str state;
	int64_t tries, due_at, last_status;
	str last_error;
};
static const struct field row[] = {
	FIELD_TEXT(struct delivery, event_id),
	FIELD_TEXT(struct delivery, connection_id),
	FIELD_TEXT(struct delivery, type),
	FIELD_TEXT(struct delivery, subject),
	FIELD_INT(struct delivery, happened_at),
	FIELD_TEXT(struct delivery, state),
	FIELD_INT(struct delivery, tries),
	FIELD_INT(struct delivery, due_at),
	FIELD_INT(struct delivery, last_status),
	FIELD_TEXT(struct delivery, last_error),
	FIELD_END,
};

static const char *const states[] = { "waiting", "dead", NULL };

struct list_in {
	str state, connection_id, after;
	int64_t limit;
};
static const struct field list_in[] = {
	FIELD_TEXT(struct list_in, state, .choices = states,
		.doc = "dead unless said: those that were given up."),
	FIELD_TEXT(struct list_in, connection_id, .max = LIMIT_NAME, .doc = "Only those of this connection."),
	OP_PAGE_FIELDS(struct list_in),
	FIELD_END,
};

static void
write_delivery(struct json_out *o, const void *from)
{
	const struct delivery *d = from;

	json_out_str(o, "eventId", d->event_id);
	json_out_str(o, "connectionId", d->connection_id);
	json_out_str(o, "type", d->type);
	json_out_str(o, "subject", d->subject);
	json_out_time(o, "happenedAt", d->happened_at);
	json_out_str(o, "state", d->state);
	json_out_int(o, "tries", d->tries);
	json_out_time(o, "dueAt", d->due_at);
	json_out_int(o, "lastStatus", d->last_status);
	json_out_str(o, "lastError", d->last_error);
}

static status
run_list(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct list_in *p = in;
	struct delivery *rows;
	size_t count;

	if (caller_is_narrowed(cx->caller))
		return fail(cx, E_SCOPE,
			"your token is for some environments or keys only, and notifications are of all");
	TRY(db_all(cx, SQL_DELIVERY_LIST, row, sizeof(*rows), &rows, &count, TEXT(cx->caller->org_id),
		TEXT(p->state.len ? p->state : STR("dead")), TEXT(p->after), INT(op_page_rows(p->limit)),
		TEXT(p->connection_id)));
	op_list(out, rows, sizeof(*rows), count, p->limit, write_delivery);
	return OK;
}

struct retry_in {
	str id;
};
static const struct field retry_in[] = {
	FIELD_TEXT(struct retry_in, id, .need = true, .max = LIMIT_NAME, .doc = "Whose: which connection."),
	FIELD_END,
};

struct retry_out {
	int64_t retried;
};
static const struct field retry_out[] = {
	FIELD_INT(struct retry_out, retried, .need = true, .doc = "How many are tried again."),
	FIELD_END,
};

static status
run_retry(struct ctx *cx, const void *in, struct json_out *out)
{
	str id = ((const struct retry_in *)in)->id;
	struct retry_out answer;
	struct hook c;
	int64_t now;

	TRY(hook_get(cx, cx->caller->org_id, id, &c));
	TRY(tx_now_us(cx, &now));
	TRY(db_run_count(
		cx, SQL_DELIVERY_RETRY, &answer.retried, TEXT(cx->caller->org_id), TEXT(c.id), INT(now)));
	TRY(change_record(
		cx, AUDIT_RECORD_CHANGED, "connection", c.id, STR("deliveries retried"), NULL, NULL));
	json_out_fields(out, retry_out, &answer);
	return OK;
}

const struct op delivery_ops[] = {
	{ .name = "delivery_list",
		.method = "GET",
		.path = "/api/v1/deliveries",
		.rule = "webhook.connection.manage",
		.tx = OP_TX_READ,
		.doc = "Lists notifications that were given up, or that still wait to be taken.",
		.in = list_in,
		.in_size = sizeof(struct list_in),
		.out = op_list_out,
		.errors = OP_ERRORS(E_SCOPE),
		.run = run_list },
	{ .name = "delivery_retry",
		.method = "POST",
		.path = "/api/v1/connections/{id}/retry",
		.rule = "webhook.connection.manage",
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Tries all notifications of a connection again that were given up.",
		.in = retry_in,
		.in_size = sizeof(struct retry_in),
		.out = retry_out,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_retry },
	{ 0 },
};
