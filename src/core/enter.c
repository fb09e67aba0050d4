/* SPDX-License-Identifier: Apache-2.0 */
/* How an operation gets into the kernel: the one way in. */
#include "core/op.h"

#include "core/door/authority.h"
#include "core/gate/budget.h"
#include "core/gate/check/checked.h"
#include "core/gate/toolset.h"
#include "core/ident/caller.h"
#include "core/ident/recall.h"
#include "core/outside/outside.h"
#include "db/db.h"

struct entry {
	const struct op *op;
	const void *in;
	struct json_out *out;
	struct json_out before; /* the writer as it was: an attempt that is undone has written nothing */
	struct buf text;
	struct caller caller;
	bool authority; /* with this input it decides who may approve */
};

static bool
is_public(const struct op *op)
{
	return op->rule && strcmp(op->rule, RULE_PUBLIC) == 0;
}

/* The tool that does the same as the operation, by a proposal; or NULL. */
static const struct tool *
same_tool(const struct ctx *cx, const struct op *op)
{
	const struct tool *t =
		cx->tools && op->effect != OP_READ ? tool_of_model(cx->tools, str_of(op->name)) : NULL;

	return t && t->provider == TOOL_BUILTIN ? t : NULL;
}

/* Who may not do it hears what they could ask for instead (ID-9). */
static status
advise(struct ctx *cx, const struct op *op, status s)
{
	const struct tool *t = same_tool(cx, op);

	if (s != E_FORBIDDEN || !t)
		return s;
	return fail(
		cx, s, "%.*s; propose the tool %s (proposal_create)", STR_ARG(ctx_message(cx, s)), t->name);
}

static enum caller_lock
lock_of(const struct ctx *cx, const struct op *op)
{
	if (op->tx == OP_TX_READ)
		return CALLER_UNLOCKED;
	return op->tx == OP_TX_RIGHTS || cx->rights_wanted ? CALLER_CHANGES : CALLER_DECIDES;
}

status
op_need_rights(struct ctx *cx)
{
	if (cx->rights_held)
		return OK;
	cx->rights_wanted = true;
	return fail(cx, E_BUSY, "the organization's rights are in use; nothing was changed");
}

/* --- callers that are remembered: not beyond a change of rights --- */

struct changed {
	struct recall *recall;
	str org_id;
};

static void
forget_callers(void *arg)
{
	const struct changed *c = arg;

	recall_forget(c->recall, c->org_id);
}

static void
forget_after_commit(struct ctx *cx, const struct caller *c)
{
	struct changed *changed;

	if (!cx->recall || !cx->rights_held)
		return;
	changed = ARENA_NEW(cx->arena, struct changed);
	*changed = (struct changed){ cx->recall, c->org_id };
	tx_after_commit(cx, forget_callers, changed);
}

/* Who is asking, and with that what can be asked for. */
static status
identify(struct ctx *cx, enum caller_lock how, struct caller *out)
{
	TRY(caller_enter(cx, cx->credential, how, out));
	TRY(toolset_enter(cx, out->org_id, out->epoch));
	cx->caller = out;
	return OK;
}

static status
authorize(struct ctx *cx, struct entry *e)
{
	const char *const needed[] = { e->op->rule, NULL };
	enum caller_lock how = lock_of(cx, e->op);

	if (!e->op->rule)
		return fail(cx, E_FORBIDDEN, "nobody may call %s", e->op->name);
	TRY(identify(cx, how, &e->caller));
	cx->rights_held = how == CALLER_CHANGES;
	forget_after_commit(cx, &e->caller);
	if (strcmp(e->op->rule, RULE_ANYBODY) == 0)
		return OK;
	TRY(advise(cx, e->op, caller_require(cx, &e->caller, e->op->name, needed)));
	if (e->authority)
		return authority_check(cx, e->op);
	/* even an agent that is admin asks for more rights by a proposal (TL-5): there is no side door */
	if (e->caller.kind == PRINCIPAL_AGENT && e->op->effect != OP_READ &&
		rule_guarded(str_of(e->op->rule)))
		return advise(cx, e->op,
			fail(cx, E_FORBIDDEN,
				"Forbidden: %s (agents do not change this directly; propose it)",
				e->op->name));
	return OK;
}

/* An attempt that was undone has left nothing. */
static void
begin_again(struct ctx *cx, struct entry *e)
{
	*e->out = e->before;
	*e->out->buf = e->text;
	cx->caller = NULL;
	cx->later = NULL;
	cx->header_count = 0;
	cx->rights_held = false;
}

static status /* inside the transaction; may run more than once */
enter(struct ctx *cx, void *arg)
{
	struct entry *e = arg;

	begin_again(cx, e);
	if (!is_public(e->op))
		TRY(authorize(cx, e));
	return e->op->run(cx, e->in, e->out);
}

/* --- what is kept of a refusal --- */

struct refusal {
	const struct op *op;
	const void *in;
	status why;
	struct caller caller;
};

static status
keep_refusal(struct ctx *cx, void *arg)
{
	struct refusal *r = arg;

	cx->header_count = 0;
	TRY(identify(cx, CALLER_DECIDES, &r->caller));
	return r->op->refused(cx, r->in, r->why);
}

/* Was it the request that was refused, by somebody we know? Our own trouble is not on the caller's account.
 */
static bool
is_refusal(status s)
{
	return status_info(s)->http < 500 && s != E_RATE_LIMITED && s != E_UNAUTHENTICATED;
}

status
op_refused(struct ctx *cx, const struct op *op, const void *in, status s)
{
	struct refusal r = { .op = op, .in = in, .why = s };
	struct error said = cx->error;
	status kept;

	if (!op->refused || !is_refusal(s))
		return s;
	ctx_clear(cx);
	kept = tx_run(cx, keep_refusal, &r);
	cx->caller = NULL;
	if (kept == E_RATE_LIMITED)
		return kept;
	cx->error = said;
	return s;
}

/* --- reads of an operation that waits --- */

struct own_read {
	status (*fn)(struct ctx *cx, void *arg);
	void *arg;
	struct caller caller;
};

static status
read_as_caller(struct ctx *cx, void *arg)
{
	struct own_read *r = arg;

	TRY(identify(cx, CALLER_UNLOCKED, &r->caller));
	return r->fn(cx, r->arg);
}

status
op_read(struct ctx *cx, status (*fn)(struct ctx *cx, void *arg), void *arg)
{
	struct own_read r = { .fn = fn, .arg = arg };
	status s = db_read(cx, read_as_caller, &r);

	cx->caller = NULL;
	return s;
}

static status /* may they? Asked in a read of its own, before slow work is done for anybody */
ask(struct ctx *cx, void *arg)
{
	struct entry *e = arg;
	const struct op *op = e->op;
	struct op asked = *op;
	status s;

	asked.tx = OP_TX_READ;
	e->op = &asked;
	s = authorize(cx, e);
	e->op = op;
	return s;
}

#define ROUNDS                                                                                               \
	4 /* a lock, an input and the same with another schema: more is somebody who changes it all the time */

/* Is what the transaction was left for there now: the lock it asked for, an input that took too long to be checked in it? */
static bool
is_ready(struct ctx *cx, bool *locked)
{
	bool lock = cx->rights_wanted && !*locked;

	*locked = cx->rights_wanted;
	return checked_settle(cx) || lock;
}

static status
write(struct ctx *cx, struct entry *e)
{
	status s = tx_run(cx, enter, e);
	bool locked = false;

	for (int round = 1; round < ROUNDS && s == E_BUSY && is_ready(cx, &locked); round++) {
		ctx_clear(cx);
		s = tx_run(cx, enter, e);
	}
	return s;
}

/* --- what needs no write transaction --- */

static status
read_path(struct ctx *cx, void *arg)
{
	struct entry *e = arg;

	begin_again(cx, e);
	TRY(ask(cx, e));
	return e->op->read_path(cx, e->in, e->out);
}

/* False: the write transaction is needed. */
static bool
took_read_path(struct ctx *cx, struct entry *e)
{
	if (!e->op->read_path || !e->op->wants_read_path(cx, e->in))
		return false;
	if (db_read(cx, read_path, e) == OK)
		return true;
	ctx_clear(cx);
	return false;
}

static status /* everything before the answer is complete */
run(struct ctx *cx, struct entry *e, void *in)
{
	const struct op *op = e->op;

	if (op->tx == OP_TX_NONE)
		return is_public(op) ? op->run(cx, in, e->out)
				     : fail(cx, E_FORBIDDEN, "nobody may call %s", op->name);
	if (took_read_path(cx, e))
		return OK;
	bool prepares = op->prepare && (!op->wants_prepare || op->wants_prepare(cx, in));

	if (prepares || op->tx == OP_TX_OWN)
		TRY(db_read(cx, ask, e));
	if (prepares)
		TRY(op->prepare(cx, in));
	if (op->tx == OP_TX_OWN)
		return op->run(cx, in, e->out);
	return op->tx == OP_TX_READ ? db_read(cx, enter, e) : write(cx, e);
}

status
op_admit(struct ctx *cx, const struct op *op)
{
	return is_public(op) ? OK : caller_present(cx, cx->credential);
}

/* What was set to happen after the commit: its answer is the answer. What it fails with is not a refusal of the
 * request, which has been accepted and stands. */
static status
go_on(struct ctx *cx, struct entry *e)
{
	const struct later *l = cx->later;

	if (!l)
		return OK;
	cx->later = NULL;
	*e->out = e->before;
	*e->out->buf = e->text;
	return l->fn(cx, l->arg, e->out);
}

status
op_run(struct ctx *cx, const struct op *op, void *in, struct json_out *out)
{
	struct entry e = { .op = op, .in = in, .out = out, .before = *out, .text = *out->buf };
	struct purse purse = { 0 };
	status s, after = OK;

	cx->rights_wanted = false;
	cx->later = NULL;
	cx->purse = &purse;
	e.authority = op->authority && (!op->concerns || op->concerns(cx, in));
	s = run(cx, &e, in);
	if (s == OK && e.caller.touch)
		caller_touch(cx, &e.caller);
	if (s == OK)
		after = go_on(cx, &e);
	cx->caller = NULL; /* it lives here */
	if (s != OK)
		after = op_refused(cx, op, in, s);
	cx->purse = NULL;
	return after;
}
