/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look: what another MCP server offers now, against what an admin has accepted (EX-3).
 *
 *	never seen, or other than accepted --> quarantined: nobody can call it until an admin has seen the difference
 *	accepted, and not there any more   --> gone, until it comes back as it was
 *
 * Rows are written only where something is different: each write is a new epoch for everybody (toolset.h).
 */
#ifndef EXEC_UPSTREAM_LOOK_H
#define EXEC_UPSTREAM_LOOK_H

#include "exec/mcp/client.h"
#include "exec/upstream/upstream.h"

/* What came of one look. */
struct look_found {
	int64_t tools, fresh, changed, gone;
};

/* Inside tx_run: compares, and writes down what is different, on record. */
status look_store(struct ctx *cx, const struct upstream *of, const struct mcp_tools *tools,
	struct look_found *out) MUST_USE;

/* Outside of any transaction: asks, and stores; that it could not be asked is stored, too. */
status look_and_store(struct ctx *cx, const struct upstream *of) MUST_USE;

#endif
