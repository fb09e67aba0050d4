/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app: the program as a whole: its settings and what runs. One per process,
 * made by main, reached by cx->app.
 */
#ifndef APP_APP_H
#define APP_APP_H

#include "app/config.h"
#include "face/cli/cli.h"

#define PROGRAM "countersign"

struct app {
	struct config config;
	int64_t started_us; /* clock_now_us when the process began */
};

/* --- commands.c --- */

/*
 * Runs the command line (ended by NULL, without the program's name): finds the
 * command, reads its flags and settings, runs it. Errors as the command's; E_INVALID
 * where the command line or a setting is wrong.
 */
status command_run(struct ctx *cx, char *const *words, char *const *env) MUST_USE;

/* Writes all of the text to standard output. E_UNAVAILABLE where it cannot be written. */
status app_print(struct ctx *cx, const struct buf *b) MUST_USE;

#endif
