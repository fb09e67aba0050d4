/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preview: what can be known of a call of another server's tool before it is made, for the card (PA-2).
 *
 * Options of a tool, said by an admin who accepted it:
 *	{"dryRun": "argument"}               it is called with this argument true, and what it answers is shown
 *	{"before": {"tool": "read_x",        a read tool of the same server is called, each of its arguments with what
 *	            "arguments": {"a": "b"}}}  this call has under another name; its answer is shown, and its digest kept:
 *	                                     at apply it is read again, and another digest is drift.
 *	                                     Where the tool says that it cannot read it there is no state to show, but
 *	                                     its words have a digest, too: what has come into being since is drift
 * Besides that, history: how much the last calls like it named. Where there is nothing of it the card says that it
 * cannot be previewed. The before-state is read only for who could read it at once themselves (TL-3, TL-6).
 */
#ifndef EXEC_UPSTREAM_PREVIEW_H
#define EXEC_UPSTREAM_PREVIEW_H

#include "core/gate/tool.h"

/* The provider's survey and recheck (core/outside/outside.h). */
status preview_survey(struct ctx *cx, void *arg, const struct tool_call *call, const struct json **out);
status preview_recheck(struct ctx *cx, void *arg, const struct tool_call *call, str *out_digest);

/* Are they options at all: only members that there are? {"probe": "tool"} is core/proposal/run's. E_INVALID, with issues
 */
status preview_check_members(struct ctx *cx, const struct json *options) MUST_USE;

/* ... and such as this tool can have? E_INVALID says what is wrong. */
status preview_check(struct ctx *cx, const struct json *options, const struct json *definition) MUST_USE;

/*
 * An option `before` for a tool called so, from definitions of the same server: get_x, read_x, describe_x for update_x,
 * write_x, delete_x with the same arguments. NULL: none fits.
 */
struct json *preview_suggest(
	struct ctx *cx, const struct json *definition, const struct json *const *others, size_t count);

#endif
