/* SPDX-License-Identifier: Apache-2.0 */
/*
 * card: what a person decides on, as one canonical document (AP-5, AP-6, AP-7).
 *
 *	asked part    tool, target, effect, risk, rollback, failure, who asked and for whom, how they agree, expiry,
 *	              payload's hash, policy version, how many recent contexts it would change, of
 *	              a tool that is not ours its source, contract and preview, the agent's own words (last, labelled),
 *	              warnings of each member that deceives (`warningsOf`, by the member's name):
 *	              fixed when it was proposed
 *	seen part     summary, affected data, the change (created, deleted, or field by field), the
 *	              environment's version and the blast radius where there are, warnings: what the
 *	              handler did when it ran; made again at apply, and must be the same
 *
 * No clock and no language in it; every text is visible (visible.h). viewHash is
 * the SHA-256 of its canonical form.
 */
#ifndef CORE_CARD_CARD_H
#define CORE_CARD_CARD_H

#include "core/gate/policy.h"
#include "core/gate/tool.h"

struct card_asked {
	const struct tool *tool;
	const struct json *input;
	str payload_hash;
	const struct policy_decision *decision;
	struct json *approvers;		     /* the teams that are asked; NULL: anybody who may */
	str by_id, by_kind, by_name, for_id; /* for_id empty: for themselves */
	int64_t expires_at, policy_version;
	const struct json *survey; /* what the tool found out before (tool.h), or NULL */
	struct json *source;	   /* of a tool that is not ours: whose it is (core/outside/source.h) */
	str says_summary, says_reasoning;
};

struct card {
	str text, view_hash; /* canonical JSON and its SHA-256 */
	str summary;	     /* visible */
};

#define CARD_AGREES                                                                                          \
	"agrees" /* of askedBy: how the person who asks agrees to it (policy.h); absent: not at all */

/* What in the text would deceive a reader, before there is a card: it raises the risk. */
unsigned card_deceives(struct ctx *cx, const struct card_asked *asked, const struct tool_result *seen);

/* seen NULL: a read that was not run. */
status card_make(struct ctx *cx, const struct card_asked *asked, const struct tool_result *seen,
	struct card *out) MUST_USE;

/* The environment's version that a card shows, or 0. */
int64_t card_version(const struct json *card);

/* The same card with what is seen now. Equal view_hash: nothing has drifted. */
status card_again(struct ctx *cx, const struct json *old, const struct json *input,
	const struct tool_result *seen, struct card *out) MUST_USE;

#endif
