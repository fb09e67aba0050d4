/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate: the one door to a tool (TL-2, TL-5 ... TL-9).
 *
 *	permission snapshot -> budget -> the name -> tier -> rules -> input against its schema
 *
 * The budget is charged before the name is looked up, and a blocked tool is answered exactly as
 * one that does not exist: nobody can find out which it is.
 */
#ifndef CORE_GATE_GATE_H
#define CORE_GATE_GATE_H

#include "core/event.h"
#include "core/gate/budget.h"
#include "core/gate/permission.h"

extern const struct op gate_ops[];

struct gate_pass {
	const struct tool *tool;
	enum tier tier;
	bool tier_stored, override_;
	bool has_verb; /* holds the tool's own rules, not only the right to propose; in production */
	str args_hash; /* SHA-256 of the canonical input */
	str input;     /* the canonical input */
	str call_id;   /* the id its row will have; empty: gate_record makes one */
};

/*
 * Inside tx_run, with cx->caller.
 *
 * E_RATE_LIMITED  the budget is used up
 * E_NOT_FOUND     no such tool, or blocked for this agent
 * E_FORBIDDEN     a service principal, or rules are missing: the message names them
 * E_INVALID       feedback: the issues say what the input should be
 */
status gate_enter(struct ctx *cx, str tool, const struct json *input, struct gate_pass *out) MUST_USE;

/*
 * The same in a db_read, where nothing is charged yet: a call that can be had without asking is taken by gate_pay, when
 * nothing can go wrong any more. Anything but OK: a transaction shall say it, and charge it.
 */
status gate_look(struct ctx *cx, str tool, const struct json *input, struct gate_pass *out) MUST_USE;
bool gate_pay(struct ctx *cx);
bool gate_ready(struct ctx *cx); /* could it be had? Nobody need be identified yet */

/*
 * Inside tx_run: one call of the caller's budget, and the headers that say what is left (TL-9). A refusal is
 * a call, too: whoever lets a call fail takes it again in the transaction that keeps the refusal.
 *
 * E_RATE_LIMITED
 */
status gate_spend(struct ctx *cx) MUST_USE;

/*
 * Inside tx_run, after a call was undone: takes the budget again and, where it got as far as the tool, leaves
 * its row as "failed". E_RATE_LIMITED
 */
status gate_keep_failed(struct ctx *cx, str tool, const struct json *input) MUST_USE;

/* A tool by its name or its kind, or NULL. Whether somebody may know of it is for gate_enter to say. */
const struct tool *gate_tool(const struct ctx *cx, str name);

/* Does the caller hold the tool's own rules, or at least the right to propose it, in an environment that is
 * production or not? */
bool gate_may(const struct caller *c, const struct tool *t, bool production);
bool gate_may_propose(const struct caller *c, const struct tool *t, bool production);

/* "<plugin>.<resource>.approve" of the tool: who may vote on it. */
str gate_approve_rule(struct arena *a, const struct tool *t);

/* Is it a person who may vote on what the tool does, once they have signed in? A token's person may, whatever the token
 * may. And have they signed in? */
bool gate_may_vote(struct ctx *cx, const struct caller *c, const struct tool *t);
bool gate_in_session(const struct caller *c);

/* E_FORBIDDEN, for who does not: names what is missing, and what would be enough to propose it (ID-9). */
status gate_refuse(struct ctx *cx, const struct caller *c, const struct tool *t, bool production) MUST_USE;

/* May this caller see the tool in a list? */
bool gate_lists(const struct caller *c, const struct permission_snapshot *s, const struct tool *t);

/* Checks an input against today's schema of the tool. E_INVALID with issues. */
status gate_check_input(struct ctx *cx, const struct tool *t, const struct json *input) MUST_USE;

/* Every call leaves a row (TL-5, TL-10). state: "executed", "failed", "proposed". *out_id is its id. */
status gate_record(struct ctx *cx, const struct gate_pass *p, const char *state, str proposal_id, str *out_id)
	MUST_USE;

/*
 * The row of a read of the caller's, made at now_us, which is written a moment later (quick/behind.h). False: it must be
 * written in a transaction. Outside of one, or in a db_read.
 */
bool gate_record_behind(
	struct ctx *cx, const struct caller *c, const struct gate_pass *p, const char *state, int64_t now_us);

/* A row, and the event that it is once it has been written. */
struct gate_row {
	str org_id, id, principal_id, token_id, tool, args_hash;
	const char *transport, *effect, *state; /* constant */
	int64_t called_at;
};
struct event gate_row_event(struct arena *a, const struct gate_row *r);

#endif
