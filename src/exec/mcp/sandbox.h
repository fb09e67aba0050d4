/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox: how a program is started: the arguments and the environment of execve, with bubblewrap around it unless it is
 * unconfined (docs/decisions/0036). It looks at files and opens those that are granted; it starts nothing. Private to
 * exec/mcp.
 *
 *	sandbox_plan --> exec/sandbox/hold, with the descriptors open --> sandbox_plan_done
 */
#ifndef EXEC_MCP_SANDBOX_H
#define EXEC_MCP_SANDBOX_H

#include "base/limits.h"
#include "exec/mcp/client.h"
#include "exec/sandbox/trial.h"

struct sandbox_plan {
	const char **argv, **environment; /* NULL-terminated, as execve takes them */
	const char *directory;		  /* of an unconfined program; NULL: the sandbox sees to it */
	int fds[LIMIT_SOURCE_WORDS +
		1]; /* that argv names: the filter, and what is granted; O_CLOEXEC until then */
	size_t fd_count;
};

/*
 * E_INVALID    an argument, a variable or a path cannot be one
 * E_FORBIDDEN  a path is not listed, or is ours
 * E_UNAVAILABLE  the filter of system calls cannot be made
 */
status sandbox_plan(struct ctx *cx, const struct mcp_program *p, struct sandbox_plan *out) MUST_USE;

/* Closes what it has opened. */
void sandbox_plan_done(struct sandbox_plan *plan);

/* Why it cannot be started here at all, with what to do about it; empty: it can, as far as is known. */
str sandbox_missing(struct ctx *cx, const struct mcp_program *p);

#endif
