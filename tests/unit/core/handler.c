/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a tool: what it must not be able to do (PA-14). */
#include "tests/unit/unit.h"

#include "core/proposal/handler.h"
#include "core/proposal/proposal.h"

/* What the handler was told when it asked for something else. */
struct asked {
	status propose, call, apply;
};

static struct asked heard;

static status
run_chain(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct propose_in in = { .tool = STR("x.chain"), .input = call->input };
	struct proposal_called called;
	struct proposal p;
	str token;

	heard.propose = proposal_propose(cx, &in, &p, &token);
	heard.call = proposal_call(cx, &in, &called);
	heard.apply = proposal_apply(cx, &(struct apply_in){ .id = STR("id") }, &p);
	ctx_clear(cx);
	*out = (struct tool_result){ .summary = STR("tried") };
	return OK;
}

static status
run_badly(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	(void)call;
	(void)out;
	return fail(cx, E_INVALID, "it does not work");
}

/* PA-14: it is refused before anything is looked at, so nobody needs to be there. */
static void
a_tool_that_runs_can_neither_propose_nor_call_nor_apply(void **state)
{
	static const struct tool chain = { .name = "x.chain", .run = run_chain };
	struct handler_run run = { .tool = &chain };

	(void)state;
	UNIT(u);
	assert_status(handler_run(&u.cx, &run), OK);
	assert_str(run.result.summary, "tried");
	assert_status(heard.propose, E_INTERNAL);
	assert_status(heard.call, E_INTERNAL);
	assert_status(heard.apply, E_INTERNAL);
}

/* PA-14 */
static void
the_ban_ends_with_the_run_however_it_ends(void **state)
{
	static const struct tool bad = { .name = "x.bad", .run = run_badly };
	struct handler_run run = { .tool = &bad };

	(void)state;
	UNIT(u);
	assert_status(handler_alone(&u.cx), OK);
	assert_status(handler_run(&u.cx, &run), E_INVALID);
	assert_status(handler_alone(&u.cx), OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tool_that_runs_can_neither_propose_nor_call_nor_apply),
		cmocka_unit_test(the_ban_ends_with_the_run_however_it_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
