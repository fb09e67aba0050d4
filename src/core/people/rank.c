/* SPDX-License-Identifier: Apache-2.0 */
#include "core/people/rank.h"

#include "base/limits.h"
#include "core/people/member.h"
#include "db/db.h"
#include "json/bind.h"

#include "core/people/rank.sql.h" /* SQL_RANK_*, generated from rank.sql */

/* --- who holds more --- */

struct role_row {
	str level, rules;
};
static const struct field role_row[] = {
	FIELD_TEXT(struct role_row, level),
	FIELD_TEXT(struct role_row, rules),
	FIELD_END,
};

static void
add_missing(struct buf *missing, str what)
{
	buf_printf(missing, "%s%.*s", missing->len ? ", " : "", STR_ARG(what));
}

/* What of these the caller does not hold. */
static void
find_missing(const struct caller *c, const struct rules *theirs, struct buf *missing)
{
	if (theirs->level != LEVEL_NONE && !caller_holds_level(c, theirs->level))
		add_missing(missing, str_of(level_name(theirs->level)));
	for (size_t i = 0; i < theirs->count; i++) {
		str rule = theirs->items[i];
		bool holds = str_eq(rule, STR(RULE_ALL)) ? caller_holds_level(c, LEVEL_ADMIN)
							 : caller_may(c, rule);

		if (!holds)
			add_missing(missing, rule);
	}
}

static status
refuse_missing(struct ctx *cx, const struct buf *missing)
{
	if (!missing->len)
		return OK;
	return fail(cx, E_FORBIDDEN,
		"Forbidden: this would take rights from somebody who holds more than you (missing "
		"permission: %.*s)",
		STR_ARG(buf_str(missing)));
}

status
rank_over_rules(struct ctx *cx, const struct rules *theirs)
{
	struct buf missing;

	buf_init(&missing, cx->arena, LIMIT_ERROR_MESSAGE);
	find_missing(cx->caller, theirs, &missing);
	return refuse_missing(cx, &missing);
}

/* Of all roles that the statement finds for this id. */
static status
over_roles(struct ctx *cx, const struct sql *roles_of, str id)
{
	struct role_row *rows;
	struct buf missing;
	size_t count;

	TRY(db_all(cx, roles_of, role_row, sizeof(*rows), &rows, &count, TEXT(cx->caller->org_id), TEXT(id)));
	buf_init(&missing, cx->arena, LIMIT_ERROR_MESSAGE);
	for (size_t i = 0; i < count; i++) {
		struct rules set = { 0 };
		struct json *rules;

		(void)level_of(rows[i].level, &set.level);
		TRY(json_parse(cx, rows[i].rules, &rules));
		TRY(json_bind_strings(cx, rules, STR("/rules"), LIMIT_RULES, &set.items, &set.count));
		find_missing(cx->caller, &set, &missing);
	}
	return refuse_missing(cx, &missing);
}

status
rank_over_person(struct ctx *cx, str person_id)
{
	return over_roles(cx, SQL_RANK_OF_PERSON, person_id);
}

status
rank_over_role(struct ctx *cx, str role_id)
{
	return over_roles(cx, SQL_RANK_OF_ROLE, role_id);
}

status
rank_over_team(struct ctx *cx, str team_id)
{
	return over_roles(cx, SQL_RANK_OF_TEAM, team_id);
}

/* --- since when --- */

static status
widened(struct ctx *cx, const struct sql *of, str org_id, str id)
{
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	return db_run(cx, of, TEXT(org_id), TEXT(id), INT(now_us));
}

status
member_rights_widened(struct ctx *cx, str org_id, str principal_id)
{
	return widened(cx, SQL_RANK_WIDENED, org_id, principal_id);
}

status
rank_role_widened(struct ctx *cx, str role_id)
{
	return widened(cx, SQL_RANK_ROLE_WIDENED, cx->caller->org_id, role_id);
}

status
rank_team_widened(struct ctx *cx, str team_id)
{
	return widened(cx, SQL_RANK_TEAM_WIDENED, cx->caller->org_id, team_id);
}
