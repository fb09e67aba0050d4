/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/toolset.h"
#include "core/proposal/run/part.h"

#include "core/proposal/run/send.h"
#include "core/proposal/sight.h"
#include "core/proposal/wire.h"
#include "db/db.h"

bool
part_runs_at_once(struct ctx *cx, const struct proposal *p)
{
	return (cx->caller->auto_mode || p->at_once) && p->state == PROPOSAL_APPROVED &&
	       p->votes_needed == 0 && str_eq(p->effect, STR("mutate")) && sight_may_apply(cx, p);
}

/* --- applying --- */

struct part {
	struct apply_in in;
	struct proposal p;
};

static status
apply(struct ctx *cx, void *arg)
{
	struct part *part = arg;

	return proposal_apply(cx, &part->in, &part->p);
}

static void
explain(struct ctx *cx, status s, struct error *out)
{
	*out = cx->error;
	out->code = s;
	out->message = ctx_message(cx, s);
	ctx_clear(cx);
}

/* Policy asks for more people than have agreed: what was written of it stands, and this is the answer. */
static status
ask_more(struct ctx *cx, const struct proposal *p)
{
	return fail(cx, E_APPROVAL, "%.*s", STR_ARG(p->asks_more));
}

status
part_apply(struct ctx *cx, struct proposal *p, struct error *out_why)
{
	struct part part = { .in = { .id = p->id } };
	status s = tx_nest(cx, apply, &part);

	if (s == OK) {
		*p = part.p;
		if (p->asks_more.len)
			explain(cx, ask_more(cx, p), out_why);
		return OK;
	}
	if (status_info(s)->http >= 500)
		return s;
	explain(cx, s, out_why);
	return OK;
}

/* --- the answer --- */

static void
write_why(struct json_out *o, const struct error *why)
{
	if (why->code == OK)
		return;
	json_out_object(o, "apply");
	json_out_str(o, "code", str_of(status_info(why->code)->code));
	json_out_str(o, "message", why->message);
	if (why->details.len)
		json_out_raw(o, "details", why->details);
	json_out_end(o);
}

static status
write(struct ctx *cx, const struct proposal *p, const struct part_answer *how, struct json_out *out)
{
	if (how->called) {
		json_out_str(out, "toolCallId", p->tool_call_id);
		json_out_str(out, "status", wire_status(p->state_name, true));
		json_out_object(out, "proposal");
	}
	TRY(wire_whole(cx, p, how->token, out));
	write_why(out, &how->why);
	if (how->called)
		json_out_end(out);
	return OK;
}

/* --- after the transaction --- */

struct going_on {
	struct sending *sending;
	struct proposal p; /* as it is */
	struct part_answer how;
	struct json_out *out;
	struct part part;
	struct caller caller;
};

static status
show(struct ctx *cx, void *arg)
{
	struct going_on *g = arg;
	status s;

	cx->caller = &g->sending->caller;
	s = write(cx, &g->p, &g->how, g->out);
	cx->caller = NULL;
	return s;
}

/* What was shown before it was decided is looked at again, and only then it is claimed: with the locks and all the
 * questions of an apply. */
static status
apply_seen(struct ctx *cx, void *arg)
{
	struct going_on *g = arg;

	TRY(caller_enter(cx, cx->credential, CALLER_DECIDES, &g->caller));
	TRY(toolset_enter(
		cx, g->caller.org_id, g->caller.epoch)); /* it may have been quarantined meanwhile */
	cx->caller = &g->caller;
	return apply(cx, &g->part);
}

static status
look_again(struct ctx *cx, struct going_on *g)
{
	const struct tool *t = g->sending->call.tool;
	struct json *input;
	str seen;
	status s;

	TRY(json_parse(cx, g->p.payload, &input));
	cx->caller = &g->sending->caller;
	s = t->recheck(cx,
		&(struct tool_call){
			.tool = t, .input = input, .actor_id = g->p.proposer_id, .proposal_id = g->p.id },
		&seen);
	cx->caller = NULL;
	if (s != OK)
		return fail(cx, E_DRIFT, "what it would change could not be looked at again: %.*s",
			STR_ARG(ctx_message(cx, s)));
	g->part.in = (struct apply_in){ .id = g->p.id, .seen = seen };
	s = tx_run(cx, apply_seen, g);
	cx->caller = NULL;
	TRY(s);
	g->p = g->part.p;
	if (g->p.asks_more.len)
		return ask_more(cx, &g->p);
	g->sending = g->p.sending ? g->p.sending : g->sending;
	return OK;
}

static status
go_on(struct ctx *cx, void *arg, struct json_out *out)
{
	struct going_on *g = arg;
	status s = g->sending->looks ? look_again(cx, g) : OK;

	g->out = out;
	if (s != OK && (!g->how.may_refuse || status_info(s)->http >= 500))
		return s;
	if (s != OK)
		explain(cx, s, &g->how.why);
	else if (g->p.state == PROPOSAL_EXECUTING)
		TRY(send_and_record(cx, g->sending, &g->p));
	s = db_read(cx, show, g);
	return s == OK ? OK
		       : fail(cx, E_COMMIT_UNKNOWN, "it was tried; look at the proposal for what came of it");
}

static status
answer_more(struct ctx *cx, void *arg, struct json_out *out)
{
	(void)out;
	return ask_more(cx, arg);
}

static void
go_on_later(struct ctx *cx, status (*fn)(struct ctx *cx, void *arg, struct json_out *out), void *arg)
{
	cx->later = ARENA_NEW(cx->arena, struct later);
	*cx->later = (struct later){ .fn = fn, .arg = arg };
}

status
part_answer(struct ctx *cx, const struct proposal *p, const struct part_answer *how, struct json_out *out)
{
	struct going_on *g = ARENA_NEW(cx->arena, struct going_on);

	*g = (struct going_on){ .sending = p->sending, .p = *p, .how = *how };
	if (p->sending)
		go_on_later(cx, go_on, g);
	else if (p->asks_more.len && !how->may_refuse)
		go_on_later(cx, answer_more, &g->p);
	return write(cx, p, how, out);
}
