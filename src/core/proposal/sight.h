/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sight: who may see a proposal. For everybody else it does not exist. Private to core/proposal.
 *
 * The proposer, the person it was proposed for, whoever may approve or apply it, and who holds
 * proposal.proposal.read.
 */
#ifndef CORE_PROPOSAL_SIGHT_H
#define CORE_PROPOSAL_SIGHT_H

#include "core/proposal/proposal.h"

/* All by cx->caller, inside tx_run or db_read. */
bool sight_of(struct ctx *cx, const struct proposal *p);
bool sight_of_result(struct ctx *cx, const struct proposal *p);

/* Holds the caller the tool's own rules, in scope? */
bool sight_may_apply(struct ctx *cx, const struct proposal *p);

/* OK where the caller may see it, else the E_NOT_FOUND of one that does not exist. */
status sight_require(struct ctx *cx, const struct proposal *p) MUST_USE;

#endif
