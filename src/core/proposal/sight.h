/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sight: who may see a proposal. For everybody else it does not exist. Private to core/proposal.
 *
 * The proposer, the person it was proposed for, whoever may approve or apply it, and who holds
 * proposal.proposal.read; and of them a narrowed token only what is in its scope or was asked for with it, an agent
 * nothing of a tool that is blocked for it (core/visibility).
 */
#ifndef CORE_PROPOSAL_SIGHT_H
#define CORE_PROPOSAL_SIGHT_H

#include "core/proposal/proposal.h"

/* All by cx->caller, inside tx_run or db_read. */
bool sight_of(struct ctx *cx, const struct proposal *p);
bool sight_of_result(struct ctx *cx, const struct proposal *p);

/* Is it the proposer, on the same person's authority, or that person? Says nothing of what they may see. */
bool sight_is_party(const struct ctx *cx, const struct proposal *p);

/* Holds the caller the tool's own rules, in scope? */
bool sight_may_apply(struct ctx *cx, const struct proposal *p);

/*
 * A page of those that the caller may see, newest first: full, or the last one, or what was found among
 * LIMIT_PROPOSAL_SCAN. *out_next is the cursor of the next page; empty: there is none.
 */
struct row_filter;
status sight_page(struct ctx *cx, const struct row_filter *f, struct proposal **out_rows, size_t *out_count,
	str *out_next) MUST_USE;

/* OK where the caller may see it, else the E_NOT_FOUND of one that does not exist. */
status sight_require(struct ctx *cx, const struct proposal *p) MUST_USE;

#endif
