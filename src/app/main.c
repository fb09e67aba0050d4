/* SPDX-License-Identifier: Apache-2.0 */
#include "app/app.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "exec/sandbox/hold.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* 0 done, 1 it did not work, 2 the command line or a setting is wrong. */
static int
report(struct ctx *cx, status s)
{
	if (s == OK)
		return 0;
	(void)fprintf(stderr, PROGRAM ": %.*s\n", STR_ARG(ctx_message(cx, s)));
	return s == E_INVALID ? 2 : 1;
}

/*
 * Our memory holds keys, tokens and passwords: no core file has them, and no other process of the same user reads
 * them. RLIMIT_CORE goes on to children; the other does not (exec gives it back).
 */
static void
keep_memory_private(void)
{
	CHECK(setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 }) == 0);
	CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
}

int
main(int argc, char **argv)
{
	struct app app = { .started_us = clock_now_us() };
	struct arena arena;
	struct ctx cx;
	int code;

	(void)argc;
	if (hold_wanted(argv)) /* not a command: what a server starts to hold a program */
		return hold_run(argv);
	keep_memory_private();
	(void)signal(SIGPIPE, SIG_IGN); /* a reader that left is an error of write, not our death */
	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	cx.app = &app;
	code = report(&cx, command_run(&cx, argv + 1, environ));
	arena_done(&arena);
	return code;
}
