/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream: another MCP server, whose tools can be asked for here (EX-3).
 *
 *	created --look--> its tools, quarantined --accept (exactly this definition)--> offered
 *	                                  ^-------- any change, at any look ----------'
 *
 * It is reached over HTTP, or it is a program that we start: that only where the server was started with a setting that
 * allows it, because nobody who has stolen a session may start programs. Its credentials are in the safe, and are never
 * shown again. People who are admins manage them; agents cannot.
 */
#ifndef EXEC_UPSTREAM_UPSTREAM_H
#define EXEC_UPSTREAM_UPSTREAM_H

#include "core/op.h"

extern const struct op upstream_ops[];	    /* the servers */
extern const struct op upstream_tool_ops[]; /* their tools */

struct upstream {
	str org_id, id, name, kind, url, networks, program, secret_id, secret_names;
	int64_t version;
	str created_by;
	int64_t created_at;
	bool disabled;
	int64_t looked_at;
	str problem;
	str oauth;	    /* what an admin said of it, JSON; empty: nothing */
	str auth_state;	    /* "needed", "given"; empty: nobody wants one (authorization.h) */
	int64_t auth_given; /* how often it was given or taken back by a person */
};

/* Where it is and what opens it, as the kernel compares it (core/outside/source.h). */
struct outside_source;
void upstream_source(struct ctx *cx, const struct upstream *u, struct outside_source *out);
/* The provider's `source`. arg is not used. */
struct tool;
status upstream_source_of(
	struct ctx *cx, void *arg, str org_id, const struct tool *t, struct outside_source *out) MUST_USE;

/* Inside tx_run or db_read. E_NOT_FOUND */
status upstream_get(struct ctx *cx, str org_id, str id, struct upstream *out) MUST_USE;
/* The same, and nobody else changes it or its tools before the end of the transaction. */
status upstream_lock(struct ctx *cx, str org_id, str id, struct upstream *out) MUST_USE;

/* Those whose tools nobody has asked for since then; at most a few. */
status upstream_due(struct ctx *cx, int64_t before_us, struct upstream **out, size_t *out_count) MUST_USE;
/* Writes down that they were asked for, and what was wrong. */
status upstream_looked(struct ctx *cx, const struct upstream *u, str problem) MUST_USE;

/* As operations show it; and for the audit: what an admin said, and nothing of how it goes. */
extern const struct field upstream_shown[];
void upstream_write(struct ctx *cx, struct json_out *o, const struct upstream *u);
status upstream_picture(struct ctx *cx, const struct upstream *u, struct json **out) MUST_USE;

/* How programs may be started; a setting. */
enum upstream_programs { UPSTREAM_NO_PROGRAMS, UPSTREAM_SANDBOXED, UPSTREAM_UNCONFINED };

#endif
