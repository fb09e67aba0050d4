/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/run/send.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/limits.h"
#include "base/log.h"
#include "core/outside/lane.h"
#include "db/db.h"

#include <time.h>

static const struct outside_provider *
provider_of(const struct ctx *cx, const struct tool *t)
{
	const struct outside_provider *p = cx->outside ? &cx->outside->providers[t->provider] : NULL;

	return p && p->call ? p : NULL;
}

status
send_possible(struct ctx *cx, const struct tool *t)
{
	return provider_of(cx, t) ? OK
				  : fail(cx, E_UNAVAILABLE, "nothing here can reach %.*s; nothing was sent",
					    STR_ARG(t->outside->source));
}

/* --- what to send --- */

static struct sending *
begin(struct ctx *cx, const struct tool *t, int64_t began_us)
{
	struct sending *s = ARENA_NEW(cx->arena, struct sending);

	*s = (struct sending){ .caller = *cx->caller,
		.call = { .tool = t,
			.org_id = cx->caller->org_id,
			.correlation_id = cx->request_id,
			.send_by_us = began_us + LIMIT_SEND_LEASE_US } };
	return s;
}

struct sending *
send_claimed(struct ctx *cx, const struct proposal *p, const struct tool *t, const struct attempt *a,
	int64_t began_us, const struct outside_source *source)
{
	struct sending *s = begin(cx, t, began_us);
	struct outside_source *claimed = ARENA_NEW(cx->arena, struct outside_source);

	*claimed = *source;
	s->call.source = claimed;
	s->fence = a->fence;
	s->call.command_id = a->id;
	s->call.proposal_id = s->call.key = p->id;
	s->call.input = p->payload;
	s->call.approvals = a->approvals;
	return s;
}

struct sending *
send_looks(struct ctx *cx, const struct tool *t)
{
	struct sending *s = begin(cx, t, clock_mono_us());

	s->looks = true;
	return s;
}

struct sending *
send_read(struct ctx *cx, const struct gate_pass *pass, int64_t now_us)
{
	struct sending *s = begin(cx, pass->tool, clock_mono_us());

	s->pass = *pass;
	s->called_at = now_us;
	s->call.command_id = pass->call_id;
	s->call.input = pass->input;
	return s;
}

status
send_prepare(struct ctx *cx, struct sending *s)
{
	const struct outside_provider *p = provider_of(cx, s->call.tool);

	return p && p->prepare ? p->prepare(cx, p->arg, &s->call, &s->call.prepared) : OK;
}

/* --- the one send --- */

static void
not_sent(struct ctx *cx, str why, struct outside_answer *out)
{
	*out = (struct outside_answer){ .end = OUTSIDE_NOT_SENT, .why = why };
	ctx_clear(cx);
}

static void
send_in_lane(struct ctx *cx, struct outside_call *call, struct outside_answer *out)
{
	const struct outside_provider *p = provider_of(cx, call->tool);
	int64_t now_us = clock_mono_us();
	status s;

	if (!p || now_us > call->send_by_us) { /* it may have waited for its lane */
		not_sent(cx, STR("it was too late to send it; nothing was sent"), out);
		return;
	}
	/* it had to wait for its lane: what was read before may be another story by now */
	if (now_us > call->send_by_us - LIMIT_SEND_LEASE_US + LIMIT_SEND_PREPARED_US)
		call->prepared = NULL;
	call->deadline_us = now_us + call->tool->outside->deadline_ms * 1000;
	s = p->call(cx, p->arg, call, out);
	if (s == OK && PLANTED(send_again) && out->end == OUTSIDE_LOST)
		s = p->call(cx, p->arg, call, out);
	if (s == OK && PLANTED(lost_is_failed) && out->end == OUTSIDE_LOST)
		out->end = OUTSIDE_REFUSED;
	if (s != OK)
		not_sent(cx, ctx_message(cx, s), out);
}

void
send_once(struct ctx *cx, const struct outside_call *call, struct outside_answer *out)
{
	struct outside_call mine = *call;
	str lane = call->tool->outside->source_id;
	status s;

	*out = (struct outside_answer){ .end = OUTSIDE_LOST };
	cx->deadline_us =
		0; /* the request's no longer counts: the tool's own does, and send_by for the wait in the lane */
	s = lane_enter(cx, call->org_id, lane);
	if (s != OK) {
		not_sent(cx, ctx_message(cx, s), out);
		return;
	}
	send_in_lane(cx, &mine, out);
	lane_leave(cx, lane, out->end != OUTSIDE_LOST && out->end != OUTSIDE_NOT_SENT);
	ctx_clear(cx);
}

/* --- what became of it --- */

struct recording {
	const struct sending *sending;
	const struct outside_answer *answer;
	struct proposal p;
};

static status
record(struct ctx *cx, void *arg)
{
	struct recording *r = arg;
	const struct sending *s = r->sending;
	status done;

	cx->caller = &s->caller;
	done = attempt_finish(cx, s->call.org_id, s->call.command_id, s->fence, r->answer, &r->p);
	cx->caller = NULL;
	return done;
}

static void
rest(int tries)
{
	struct timespec t = { .tv_nsec = 10000000L << (tries < 6 ? tries : 6) };

	(void)nanosleep(&t, NULL); /* the database is away: there is nothing to wait on */
}

/* An outcome that is known must not be lost for a moment without the database: it is written again (which is no second
 * send), and the fence lets it count once. */
static status
record_stubbornly(struct ctx *cx, struct recording *r)
{
	status s = tx_run(cx, record, r);

	for (int tries = 0; s != OK && status_info(s)->http >= 500 && tries < LIMIT_OUTCOME_TRIES; tries++) {
		ctx_clear(cx);
		rest(tries);
		s = tx_run(cx, record, r);
	}
	return s;
}

status
send_and_record(struct ctx *cx, struct sending *s, struct proposal *out)
{
	struct outside_answer answer;
	struct recording r = { .sending = s, .answer = &answer };
	status done;

	if (FAULT_FAILS(send_before))
		return fail(cx, E_COMMIT_UNKNOWN, "stopped before it was sent");
	send_once(cx, &s->call, &answer);
	if (FAULT_FAILS(send_after))
		return fail(cx, E_COMMIT_UNKNOWN, "stopped before the outcome was on record");
	done = record_stubbornly(cx, &r);
	if (done != OK) {
		LOG(LOG_ERROR, "outcome.lost", LOG_STR("proposal", s->call.proposal_id),
			LOG_STR("why", ctx_message(cx, done)));
		return fail(cx, E_COMMIT_UNKNOWN,
			"it was sent, and what came of it could not be written down; look at the proposal "
			"before you "
			"repeat it");
	}
	FAULT(outcome_after_commit);
	*out = r.p;
	return OK;
}
