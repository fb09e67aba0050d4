/* SPDX-License-Identifier: Apache-2.0 */
#include "base/meter/meter.h"

#include "base/fault.h"
#include "base/limits.h"

static const struct metered *
work_of(const struct ctx *cx)
{
	return cx->payer ? &cx->payer->work : &cx->work;
}

static uint64_t
most_of(const struct metered *w)
{
	uint64_t most = w->writing ? LIMIT_WORK_WRITER : LIMIT_WORK;

	return w->cap && w->cap < most ? w->cap : most;
}

static uint64_t
spent_of(const struct metered *w)
{
	return w->writing ? w->writer : w->outside;
}

bool
meter_charge(struct ctx *cx, uint64_t steps)
{
	struct metered *w = cx->payer ? &cx->payer->work : &cx->work;
	uint64_t *spent = w->writing ? &w->writer : &w->outside;
	uint64_t left = meter_left(cx);

	if (steps <= left && (left || *spent <= most_of(w))) {
		*spent += steps;
		return true;
	}
	*spent = most_of(w) + 1; /* used up; what was refused is not done, and not counted */
	return false;
}

uint64_t
meter_left(const struct ctx *cx)
{
	const struct metered *w = work_of(cx);
	uint64_t most = most_of(w), spent = spent_of(w);

	if (PLANTED(unmetered))
		return UINT64_MAX;
	return spent < most ? most - spent : 0;
}

status
meter_refuse(struct ctx *cx)
{
	return fail(cx, E_TOO_LARGE,
		"the schemas, patterns and rules that this request needs take too much work; "
		"use fewer or simpler ones, shorter texts or fewer contexts");
}

status
meter_spend(struct ctx *cx, uint64_t steps)
{
	return meter_charge(cx, steps) ? OK : meter_refuse(cx);
}

void
meter_cap(struct ctx *cx, uint64_t steps)
{
	struct metered *w = cx->payer ? &cx->payer->work : &cx->work;

	w->cap = spent_of(w) + steps;
}

void
meter_uncap(struct ctx *cx)
{
	struct metered *w = cx->payer ? &cx->payer->work : &cx->work;

	w->cap = 0;
}

void
meter_share(struct ctx *part, struct ctx *cx)
{
	part->payer = cx->payer ? cx->payer : cx;
}
