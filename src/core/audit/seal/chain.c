/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/seal/chain.h"

#include "base/clock.h"
#include "base/limits.h"
#include "core/audit/seal/numbers.h"
#include "core/keys.h"
#include "db/db.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

#include <inttypes.h>

/* --- changes of rights --- */

struct rights_row {
	int64_t number;
	str mac;
	int64_t last; /* of the entries; 0: none */
};
static const struct field rights_fields[] = {
	FIELD_INT(struct rights_row, number),
	FIELD_TEXT(struct rights_row, mac),
	FIELD_INT(struct rights_row, last),
	FIELD_END,
};

static str
rights_mac(struct ctx *cx, str org_id, int64_t number)
{
	const str parts[] = { STR("rights entries"), org_id, arena_int(cx->arena, number) };

	return keys_mac_hex(cx->arena, cx->keys, parts, 3);
}

static bool
rights_fit(struct ctx *cx, str org_id, const struct rights_row *r)
{
	if (!r->number && !r->mac.len)
		return r->last == 0; /* nobody's rights were changed yet */
	return r->last == r->number && str_eq_secret(rights_mac(cx, org_id, r->number), r->mac);
}

static status
rights_load(struct ctx *cx, str org_id, struct rights_row *out, str *out_problem)
{
	status s = db_one(cx, SQL_AUDIT_RIGHTS, rights_fields, out, TEXT(org_id));

	*out_problem = (str){ NULL, 0 };
	if (s == E_NOT_FOUND) {
		ctx_clear(cx);
		*out = (struct rights_row){ .number = 0 };
		*out_problem = STR("the count of its changes of rights is gone");
		return OK;
	}
	TRY(s);
	if (numbers_behind(cx->numbers, org_id, STR(""), out->number))
		*out_problem = arena_printf(cx->arena,
			"changes of rights that were made are not there any more: the last one is number "
			"%" PRId64,
			out->number);
	else if (!rights_fit(cx, org_id, out))
		*out_problem = arena_printf(cx->arena,
			"an entry about a change of rights was added or is missing: %" PRId64
			" is the last that was counted, %" PRId64 " the last that is there",
			out->number, out->last);
	return OK;
}

status
chain_rights_problem(struct ctx *cx, str org_id, str *out_problem)
{
	struct rights_row row;

	TRY(rights_load(cx, org_id, &row, out_problem));
	if (!row.number && !row.last)
		*out_problem = (str){ NULL, 0 }; /* a log can outlive its organization */
	return OK;
}

status
chain_rights_next(struct ctx *cx, str org_id, int64_t *out_number)
{
	struct rights_row row;
	str problem;

	TRY(rights_load(cx, org_id, &row, &problem));
	if (problem.len)
		return fail(cx, E_TAMPERED, "%.*s; nothing was done", STR_ARG(problem));
	*out_number = row.number ? row.number + 1 : 2;
	return db_later(cx, SQL_AUDIT_RIGHTS_SET, TEXT(org_id), INT(*out_number),
		TEXT(rights_mac(cx, org_id, *out_number)));
}

/* --- what is remembered outside the database --- */

/* An entry does not say until when its proposal can be decided: at most a day, and it may be settled later. */
static int64_t
until(str proposal_id)
{
	return proposal_id.len ? clock_now_us() + LIMIT_NUMBERS_US : 0;
}

struct remembering {
	struct numbers *numbers;
	const struct audit_row *rows;
	size_t count;
};

static void
remember_now(void *arg)
{
	const struct remembering *r = arg;

	for (size_t i = 0; i < r->count; i++)
		if (r->rows[i].number > 1)
			numbers_see(r->numbers, r->rows[i].org_id, r->rows[i].proposal_id, r->rows[i].number,
				until(r->rows[i].proposal_id));
}

void
chain_remember(struct ctx *cx, const struct audit_row *rows, size_t count)
{
	struct remembering *r = ARENA_NEW(cx->arena, struct remembering);

	*r = (struct remembering){ cx->numbers, rows, count };
	if (cx->numbers)
		tx_after_commit(cx, remember_now, r);
}

struct numbered {
	str proposal_id;
	int64_t number;
};
static const struct field numbered_fields[] = {
	FIELD_TEXT(struct numbered, proposal_id),
	FIELD_INT(struct numbered, number),
	FIELD_END,
};

status
chain_follow(struct ctx *cx, str org_id, int64_t from, int64_t to)
{
	struct numbered *rows;
	size_t count;

	TRY(db_all(cx, SQL_AUDIT_NUMBERED, numbered_fields, sizeof(*rows), &rows, &count, TEXT(org_id),
		INT(from), INT(to)));
	for (size_t i = 0; cx->numbers && i < count; i++)
		numbers_see(
			cx->numbers, org_id, rows[i].proposal_id, rows[i].number, until(rows[i].proposal_id));
	return OK;
}

/* --- what waits to be sealed --- */

status
chain_check_mac(struct ctx *cx, const struct audit_row *row)
{
	str mac;

	if (!row->org_id.len)
		return fail(
			cx, E_CONFLICT, "the entry %.*s was deleted before it was sealed", STR_ARG(row->id));
	TRY(audit_row_mac(cx, row, &mac));
	if (str_eq_secret(mac, row->mac))
		return OK;
	return fail(cx, E_CONFLICT,
		"the entry %.*s (%.*s) was not written by Countersign, or was changed before it was sealed",
		STR_ARG(row->id), STR_ARG(row->action));
}

struct unchained {
	str id, proposal_id;
	int64_t number, same;
};
static const struct field unchained_fields[] = {
	FIELD_TEXT(struct unchained, id),
	FIELD_TEXT(struct unchained, proposal_id),
	FIELD_INT(struct unchained, number),
	FIELD_INT(struct unchained, same),
	FIELD_END,
};

static status
unchained(struct ctx *cx, const struct unchained *u)
{
	str of = u->proposal_id.len ? arena_printf(cx->arena, "the proposal %.*s", STR_ARG(u->proposal_id))
				    : STR("the changes of rights");

	if (u->same > 1)
		return fail(cx, E_CONFLICT,
			"the entry %.*s was put in: there are two of %.*s with the number %" PRId64,
			STR_ARG(u->id), STR_ARG(of), u->number);
	return fail(cx, E_CONFLICT, "an entry is missing: number %" PRId64 " of %.*s, before %.*s",
		u->number - 1, STR_ARG(of), STR_ARG(u->id));
}

/* Was the one before it given up? */
static bool
given_up(struct ctx *cx, const struct unchained *u, str missing)
{
	str line, want = arena_printf(cx->arena, "%.*s %" PRId64,
			  STR_ARG(u->proposal_id.len ? u->proposal_id : STR("rights")), u->number - 1);

	while (u->same <= 1 && str_cut(missing, '\n', &line, &missing))
		if (str_eq(line, want))
			return true;
	return false;
}

/* Those from one to another, sealed or not: what was sealed among them fitted, and still must. */
static status
check_numbers(struct ctx *cx, str org_id, str first, str last, str missing)
{
	struct unchained *rows;
	size_t count;

	TRY(db_all(cx, SQL_AUDIT_UNCHAINED, unchained_fields, sizeof(*rows), &rows, &count, TEXT(org_id),
		TEXT(first), TEXT(last)));
	for (size_t i = 0; i < count; i++)
		if (!given_up(cx, &rows[i], missing))
			return unchained(cx, &rows[i]);
	return OK;
}

status
chain_check(struct ctx *cx, const struct audit_row *rows, size_t count, const struct chain_rule *rule)
{
	bool numbered = false;

	for (size_t i = 0; i < count; i++) {
		struct arena_mark mark = arena_mark(cx->arena);

		if (rule->before && !rows[i].mac.len && !rows[i].number && rows[i].org_id.len)
			continue;
		TRY(chain_check_mac(cx, &rows[i]));
		arena_rewind(cx->arena, mark);
		numbered |= rows[i].number > 1;
	}
	return numbered ? check_numbers(cx, rows[0].org_id, rows[0].id, rows[count - 1].id, rule->missing)
			: OK;
}

status
chain_check_all(struct ctx *cx, str org_id)
{
	return check_numbers(cx, org_id, STR(""), STR("~"), (str){ NULL, 0 });
}
