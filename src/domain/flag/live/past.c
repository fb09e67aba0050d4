/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/live/past.h"

#include "base/clock.h"
#include "db/db.h"
#include "domain/flag/live/visit.h"

status
past_parse(struct ctx *cx, str path, str text, int64_t *out_us)
{
	return clock_parse(text, out_us)
		       ? OK
		       : visit_refuse(cx, path, STR("must be a time like 2026-11-15T22:51:44Z (RFC 3339)"));
}

status
past_check(struct ctx *cx, str path, int64_t at_us)
{
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	if (at_us > now_us)
		return visit_refuse(cx, path, STR("must not be in the future"));
	if (at_us < now_us - STORE_PAST_US)
		return visit_refuse(cx, path, STR("must be within the last 90 days"));
	return OK;
}
