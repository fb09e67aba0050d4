/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire: a proposal as it is spoken: the three forms of a request, and the answers. Private to core/proposal.
 *
 * The tool form has camelCase members; the kind form (FL-5) names a tool by its kind and says in which
 * environment; the canonical proposal document (PA-11) keeps its own snake_case and is known by its
 * proposal_id. What none of them has is refused.
 */
#ifndef CORE_PROPOSAL_WIRE_H
#define CORE_PROPOSAL_WIRE_H

#include "core/proposal/proposal.h"
#include "json/out.h"

/* E_INVALID with issues. Text borrows from body. */
status wire_read(struct ctx *cx, const struct json *body, struct propose_in *out) MUST_USE;

/* {summary?, reasoning?}, or NULL: what the agent says about it. E_INVALID with issues under /intent. */
status wire_read_intent(struct ctx *cx, const struct json *intent, struct propose_in *out) MUST_USE;

/* Members of every answer about one proposal. */
extern const struct field wire_out[];

/* What the model keys on (PA-8): to the one who has just asked, pending is "awaiting_operator". */
str wire_status(str state, bool asked);

/* All of them into the object that is open; with a token it is the answer to who asked, else the token is
 * left out. Who may not see it, and took it back or applied it, is told no more than that. Inside tx_run or db_read. */
status wire_whole(struct ctx *cx, const struct proposal *p, str token, struct json_out *o) MUST_USE;

/* Those of a list. */
status wire_short(struct ctx *cx, const struct proposal *p, struct json_out *o) MUST_USE;

#endif
