/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank: who holds more than whom, and since when (docs/decisions/0032). Private to people and oidc.
 *
 * Nobody lowers, disables or removes somebody whose rules they do not all hold. Where a change gives people more than
 * they had, a vote of theirs no longer counts for a proposal that was made before.
 *
 * All inside tx_run, with cx->caller, behind the exclusive lock on rights.
 */
#ifndef CORE_PEOPLE_RANK_H
#define CORE_PEOPLE_RANK_H

#include "core/ident/caller.h"

/* E_FORBIDDEN, and what is missing: the caller does not hold all of these rules; all that the person holds; all that
 * anybody with the role, or in the team, holds. */
status rank_over_rules(struct ctx *cx, const struct rules *theirs) MUST_USE;
status rank_over_person(struct ctx *cx, str person_id) MUST_USE;
status rank_over_role(struct ctx *cx, str role_id) MUST_USE;
status rank_over_team(struct ctx *cx, str team_id) MUST_USE;

/* Everybody with the role, or in the team, may more than before. Of one person: member_rights_widened. */
status rank_role_widened(struct ctx *cx, str role_id) MUST_USE;
status rank_team_widened(struct ctx *cx, str team_id) MUST_USE;

#endif
