/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line: a command line that starts somebody's MCP server, understood: which program it is, what it is called here, and
 * what it has to be granted to run as it is (docs/upstream.md).
 *
 *	npx -y @modelcontextprotocol/server-filesystem /srv/letters
 *	  -> server-filesystem: /usr/bin/npx ..., may write /srv/letters, reaches the network (npx fetches what it runs)
 *
 * What somebody names on the line is granted: a directory to be written, a file to be read, the folder of a script and
 * of a program outside the system's directories to be read. Nothing else is, but by a flag. A package runner (npx, uvx
 * ...) cannot work without a network, so it has one unless --no-network is given. All of it is said (line_tell); the
 * files are looked at, nothing is started.
 */
#ifndef APP_WRAP_LINE_H
#define APP_WRAP_LINE_H

#include "base/buf.h"
#include "base/limits.h"
#include "face/cli/cli.h"

#define LINE_NAME_MOST 30u /* an upstream's name has 32 characters: room for "-2" */

struct line_grant {
	str path; /* absolute, and there */
	bool writable;
};

struct line_variable {
	str name, value;
};

struct line {
	str name;
	bool named;	 /* by --name, so it has no other */
	const str *argv; /* the first is an absolute path */
	size_t argc;
	struct line_grant
		grants[LIMIT_SOURCE_WORDS]; /* by path, so that a folder comes before what is in it */
	size_t grant_count;
	struct line_variable variables[LIMIT_SOURCE_WORDS];
	size_t variable_count;
	bool network;
	bool fetches; /* it is a package runner: it wants a network, and a home that stays */
};

/* The flags of commands that take such a line; each of these commands lists them among its own. */
#define LINE_FLAGS                                                                                           \
	{ .name = "read",                                                                                    \
		.value = "PATH",                                                                             \
		.doc = "It may read this, too, and of what the line names only read this. Repeatable.",      \
		.many = true },                                                                              \
		{ .name = "write",                                                                           \
			.value = "PATH",                                                                     \
			.doc = "It may write this, too. Repeatable.",                                        \
			.many = true },                                                                      \
		{ .name = "env",                                                                             \
			.value = "NAME",                                                                     \
			.doc = "It gets this variable as it is here. Kept encrypted. Repeatable.",           \
			.many = true },                                                                      \
		{ .name = "allow-network", .doc = "It may reach whatever this machine reaches." },           \
	{                                                                                                    \
		.name = "no-network", .doc = "It may not, although it is a package runner such as npx."      \
	}

/*
 * Reads the arguments of the call from `first` on, and the flags above. name: as it is to be called; empty: after what
 * it runs.
 *
 * E_INVALID  there is no command, no such program, path or variable; it wants too much
 */
status
line_read(struct ctx *cx, const struct cli_call *call, size_t first, str name, struct line *out) MUST_USE;

/* One more. E_INVALID  there are too many */
status line_grant(struct ctx *cx, struct line *l, str path, bool writable) MUST_USE;
status line_variable(struct ctx *cx, struct line *l, str name, str value) MUST_USE;

/* Is a file of a grant inside dir, or dir inside a grant? Both as they really are. Which one; NULL: none. */
const struct line_grant *line_touches(struct ctx *cx, const struct line *l, str dir);

/* What POST /api/v1/upstreams takes. */
status line_body(struct ctx *cx, const struct line *l, str name, str *out) MUST_USE;

/* Who it is and what it may, for a person. confined: in the sandbox. */
void line_tell(struct ctx *cx, const struct line *l, bool confined, struct buf *b);

#endif
