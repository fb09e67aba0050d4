/* SPDX-License-Identifier: Apache-2.0 */
#include "core/door/authority.h"

#include "base/limits.h"
#include "core/gate/settings.h"
#include "core/ident/caller.h"
#include "db/db.h"

#include "core/door/authority.sql.h" /* SQL_AUTHORITY_*, generated from authority.sql */

#include <inttypes.h>

#define PROPOSE_IT "propose the tool " AUTHORITY_TOOL " with {\"operation\": \"%s\", \"input\": {…}}"

bool
authority_shared(const struct policy_rules *r)
{
	return r->four_eyes || policy_most_votes(r) > 1;
}

int64_t
authority_people(const struct policy_rules *r)
{
	return policy_most_votes(r) + (r->four_eyes ? 1 : 0);
}

struct count_row {
	int64_t count;
};
static const struct field count_row[] = { FIELD_INT(struct count_row, count), FIELD_END };

status
authority_count(struct ctx *cx, int64_t *out)
{
	struct count_row row;

	TRY(db_one(cx, SQL_AUTHORITY_ADMINS, count_row, &row, TEXT(cx->caller->org_id)));
	*out = row.count;
	return OK;
}

status
authority_enough(struct ctx *cx, const struct policy_rules *r)
{
	int64_t needed = authority_people(r), there;

	TRY(authority_count(cx, &there));
	if (!authority_shared(r) || there >= needed)
		return OK;
	return fail(cx, E_CONFLICT,
		"this needs %" PRId64 " admins who can sign in, and there %s %" PRId64
		": with fewer nobody could change it again; add people first",
		needed, there == 1 ? "is" : "are", there);
}

/* For programs: what to do instead. */
static status
with_reason(struct ctx *cx, status s)
{
	fail_details(cx, STR("{\"reason\":\"authority\",\"propose\":\"" AUTHORITY_TOOL "\"}"));
	return s;
}

static status
is_recent(struct ctx *cx, const char *what)
{
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	if (cx->caller->authenticated_at && now_us - cx->caller->authenticated_at <= LIMIT_STEP_UP_US)
		return OK;
	return fail(cx, E_STEP_UP,
		"%s needs you to have authenticated within the last ten minutes: POST "
		"/api/v1/session/step-up with your password, or sign in again, and repeat it",
		what);
}

status
authority_fresh(struct ctx *cx, const char *what)
{
	if (!cx->caller->session_id.len)
		return with_reason(cx, fail(cx, E_FORBIDDEN,
					       "Forbidden: %s (a person decides this in a session, not "
					       "with a token)",
					       what));
	return is_recent(cx, what);
}

status
authority_check(struct ctx *cx, const struct op *op)
{
	struct policy_rules rules;

	if (op->alone)
		return authority_fresh(cx, op->name);
	if (!cx->caller->session_id.len)
		return with_reason(
			cx, fail(cx, E_FORBIDDEN,
				    "Forbidden: %s (a token does not change who may approve; " PROPOSE_IT
				    " for a person to decide, or sign in)",
				    op->name, op->name));
	TRY(is_recent(cx, op->name));
	TRY(policy_rules_of(cx, cx->caller, &rules));
	if (authority_shared(&rules))
		return with_reason(cx, fail(cx, E_APPROVAL,
					       "%s needs another person here, since the organization asks "
					       "for four eyes or for "
					       "more than one vote; " PROPOSE_IT,
					       op->name, op->name));
	return OK;
}
