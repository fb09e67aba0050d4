/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox: how a program is started: the arguments and the environment of execve, with bubblewrap around it unless it is
 * unconfined. Pure; starts nothing. Private to exec/mcp.
 */
#ifndef EXEC_MCP_SANDBOX_H
#define EXEC_MCP_SANDBOX_H

#include "exec/mcp/client.h"

#define SANDBOX_PROGRAM "/usr/bin/bwrap"

struct sandbox_plan {
	const char **argv, **environment; /* NULL-terminated, as execve takes them */
	const char *directory;		  /* of an unconfined program; NULL: the sandbox sees to it */
};

/* E_INVALID  an argument, a variable or a path cannot be one */
status sandbox_plan(struct ctx *cx, const struct mcp_program *p, struct sandbox_plan *out) MUST_USE;

/* Why it cannot be started here at all, with what to do about it; empty: it can, as far as is known. */
str sandbox_missing(struct ctx *cx, const struct mcp_program *p);

#endif
