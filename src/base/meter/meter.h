/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meter: how much work a request may cause by what somebody else wrote: schemas, patterns, rules, segments.
 *
 * Work is counted in steps, not in time, so that the same request costs the same on every machine. A step is at
 * most five nanoseconds of that work. A request has two budgets: LIMIT_WORK_WRITER for all its write transactions
 * together, where everybody else waits, and LIMIT_WORK for the rest. A transaction that is run again starts from where it began.
 * A zeroed ctx has both budgets in full.
 */
#ifndef BASE_METER_METER_H
#define BASE_METER_METER_H

#include "base/ctx.h"

/* Takes so many steps. False: the budget is used up, and stays so; whoever evaluates stops. */
bool meter_charge(struct ctx *cx, uint64_t steps);

/* The same for whoever fails then. E_TOO_LARGE: the sentence says what is too much */
status meter_spend(struct ctx *cx, uint64_t steps) MUST_USE;

/* E_TOO_LARGE with that sentence: for whoever was told false. */
status meter_refuse(struct ctx *cx) MUST_USE;

/* What is left of the budget that is charged now. */
uint64_t meter_left(const struct ctx *cx);

/* Of the budget that is charged now, at most so many more steps, until meter_uncap: to try something that may be costly. */
void meter_cap(struct ctx *cx, uint64_t steps);
void meter_uncap(struct ctx *cx);

/* What part does is charged to cx: for a ctx that is made for one part of cx's work. */
void meter_share(struct ctx *part, struct ctx *cx);

#endif
