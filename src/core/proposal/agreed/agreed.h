/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agreed: what policy decided about a proposal, and the same decision on the facts of now (PA-3).
 *
 *	propose --agreed_facts--> [proposal.facts, sealed] --agreed_again, at the claim--> the decision of now
 *
 * Kept is what only the request knew: the risk it declared, whether its token asked, the mode. All else is looked up at
 * the claim: the tier, "approve always", the token, the rights of who asked, the environment, the tool, the rules.
 * Where a fact is both kept and known now, the stricter one counts. A proposal from before facts were kept is read as
 * strictly as its row allows. Private to core/proposal.
 */
#ifndef CORE_PROPOSAL_AGREED_AGREED_H
#define CORE_PROPOSAL_AGREED_AGREED_H

#include "core/gate/permission.h"
#include "core/proposal/handler.h"
#include "core/proposal/proposal.h"

/*
 * The facts to keep, as JSON. several: the tool's result named further environments, so that where it acts is known only
 * when it runs.
 */
status agreed_facts(struct ctx *cx, const struct policy_facts *f, bool several, str *out) MUST_USE;

/* Does it act in several environments? Then the decision is made again when it has run. */
status agreed_several(struct ctx *cx, const struct proposal *p, bool *out) MUST_USE;

/* What is known now. */
struct agreed_now {
	const struct policy_rules *rules;
	const struct tool *tool;
	const struct caller *proposer;
	const struct permission_snapshot *snapshot; /* of the proposer */
	struct handler_place place;		    /* as the proposer has it */
};

/* E_INTERNAL  the kept facts are none */
status agreed_again(struct ctx *cx, const struct proposal *p, const struct agreed_now *now,
	struct policy_decision *out) MUST_USE;

#endif
