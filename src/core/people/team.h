/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team: people who share single resources (ID-3).
 *
 * A grant gives every member `read` or `manage` on one resource, beside their rules. A resource that is
 * team-only is closed to rules: only grants open it (and admins, who could write themselves one).
 */
#ifndef CORE_PEOPLE_TEAM_H
#define CORE_PEOPLE_TEAM_H

#include "core/ident/caller.h"
#include "core/op.h"

extern const struct op team_ops[];

/*
 * Inside tx_run or db_read: may the caller do this (a rule) to this resource, by rules or by a team? Agents
 * and tokens get what their person's teams have, within the verbs of their scope.
 */
status team_may(struct ctx *cx, const struct caller *c, str rule, str resource_type, str resource_id,
	bool *out_may) MUST_USE;

/* Inside tx_run or db_read. Its name, or an empty one where it is not there any more. */
status team_name(struct ctx *cx, str org_id, str team_id, str *out_name) MUST_USE;

/* The same: how many people it has who are not shut out. E_NOT_FOUND */
status team_size(struct ctx *cx, str team_id, int64_t *out_people) MUST_USE;

#endif
