/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callback: a one-time address at which a connection tells the outcome of one command (EX-2).
 *
 *	offer (before the command is sent) --> POST /callbacks/{id}, signed --> the attempt's outcome
 *
 * Unguessable, of one attempt and its fence, good once and until the attempt's deadline. It must be signed with the
 * connection's secret (sign.h). What is forged, unsigned, stale or used is refused and on record; what is genuine and
 * too late is kept as evidence and changes nothing.
 */
#ifndef EXEC_WEBHOOK_CALLBACK_H
#define EXEC_WEBHOOK_CALLBACK_H

#include "exec/webhook/sign.h"

/* Inside tx_run: an address for this attempt. E_NOT_FOUND  there is no such attempt */
status callback_offer(struct ctx *cx, str org_id, str attempt_id, str connection_id, str *out_url) MUST_USE;

/*
 * Outside of a transaction: what came to the address, as it came. *out_state: the proposal's then.
 *
 * E_NOT_FOUND        there is no such address, or its connection is gone
 * E_UNAUTHENTICATED  it is not signed, not now, or not by them
 * E_CONFLICT         it was used already, or names another command
 * E_GONE             it came too late, and was kept as evidence
 * E_INVALID E_BAD_JSON  the body is not {commandId, status, result, message}
 */
status
callback_take(struct ctx *cx, str id, const struct sign_parts *signature, str body, str *out_state) MUST_USE;

/* For the sweeper: addresses whose time has been over for long are forgotten. */
status callback_sweep(struct ctx *cx) MUST_USE;

#endif
