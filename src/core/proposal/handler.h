/* SPDX-License-Identifier: Apache-2.0 */
/* handler: one run of a tool's handler inside a transaction: dry (tx_try) or for good. Private to
 * core/proposal. */
#ifndef CORE_PROPOSAL_HANDLER_H
#define CORE_PROPOSAL_HANDLER_H

#include "core/gate/tool.h"

struct handler_run {
	const struct tool *tool;
	struct tool_call call;
	struct tool_result result;
};

/* A tx_fn: arg is a struct handler_run. */
status handler_run(struct ctx *cx, void *arg);

/*
 * What is known of a call of somebody else's tool before it is made: which resource it is about, and what an admin has
 * said that it touches; handler_foresee: and a sentence for people. Nothing is tried. E_TOO_LARGE
 */
status handler_locate(struct ctx *cx, struct handler_run *run) MUST_USE;
status handler_foresee(struct ctx *cx, struct handler_run *run) MUST_USE;

/*
 * Outside a transaction, with cx->caller: what the tool finds out before it is proposed (its `survey`), or NULL:
 * nothing, or nothing for this caller. It never fails: what is wrong is for the propose to say. The first asks
 * whether the tool of that name, or kind, has one.
 */
bool handler_surveys(const struct ctx *cx, str tool);
const struct json *handler_survey(struct ctx *cx, str tool, const struct json *input);

/* Before anything else of a propose, a call or an apply: a tool that runs can ask for no other (PA-14).
 * E_INTERNAL */
status handler_alone(struct ctx *cx) MUST_USE;

/* E_SCOPE: what it is about is outside the scope of the token. */
status handler_outside(struct ctx *cx, const struct tool *t) MUST_USE;

/* Is what the tool's result is about in the scope of who's token? E_SCOPE says whether it is the
 * environment or the key, and which only where the input itself names it (TL-2). */
status handler_in_scope(struct ctx *cx, const struct caller *who, const struct handler_run *run) MUST_USE;

/* Where a run acts, and what somebody may do there: over all environments that its result names. One that is
 * about none counts as production. */
struct handler_place {
	bool production, gate; /* one of them is */
	bool in_environment;
	bool may, may_propose; /* the tool's own rules, or the right to propose it, in every one of them */
};
status handler_place(struct ctx *cx, const struct caller *who, const struct handler_run *run,
	struct handler_place *out) MUST_USE;

/* Is this environment production, and is its approval gate on? An unknown one is both. */
status handler_environment(struct ctx *cx, str environment_id, bool *out_production, bool *out_gate) MUST_USE;

#endif
