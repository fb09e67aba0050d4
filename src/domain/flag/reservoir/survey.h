/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey: how many of the contexts that were sampled a change would answer otherwise, and which groups of them.
 *
 * Counts only: a group is a field with few values, one of which at least LIMIT_SURVEY_LEAST contexts have; the
 * target field is none. It takes a tenth of a second for a full reservoir, so it is made outside a
 * transaction, before the change is proposed, and is not made again at apply.
 */
#ifndef DOMAIN_FLAG_RESERVOIR_SURVEY_H
#define DOMAIN_FLAG_RESERVOIR_SURVEY_H

#include "domain/flag/change/impact.h"

/*
 * Outside a transaction. *out is
 *	{"sentence": "3.1 % of 9,812 recent contexts change, among them 2 with plan=enterprise",
 *	 "contexts": 9812, "changed": 304,
 *	 "changes": [{"key", "before", "after", "contexts"}],	the most frequent
 *	 "groups": [{"field", "value", "changed", "contexts"}]}	the most concerned
 * or NULL where the environment does not sample.
 */
status survey_make(struct ctx *cx, str org_id, str environment_id, const struct impact_pair *pair,
	const struct json **out) MUST_USE;

/* Inside tx_run or db_read: does the environment sample? */
status survey_is_on(struct ctx *cx, str org_id, str environment_id, bool *out) MUST_USE;

#endif
