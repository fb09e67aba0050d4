/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checked: inputs whose check against a schema was too much work for a transaction, where everybody waits.
 *
 *	gate_check_input in a transaction --too much--> E_BUSY, nothing is changed
 *	checked_pending --> checked_settle, outside: the whole check --> the transaction again, which finds the answer here
 *
 * What is known is known of this schema's text and this input: where either is another one the second time, it is
 * looked at anew. It lives as long as the request.
 */
#ifndef CORE_GATE_CHECK_CHECKED_H
#define CORE_GATE_CHECK_CHECKED_H

#include "core/gate/tool.h"

/* OK: *out is what the check said, and cx has its error and issues. False: it was not made. */
bool checked_find(struct ctx *cx, const struct tool *t, const struct json *input, status *out);

/* Inside a transaction: asks for it. E_BUSY: give it back as it is */
status checked_ask(struct ctx *cx, const struct tool *t, const struct json *input) MUST_USE;

/* Outside: is there one that was asked for and not made? It is made. */
bool checked_settle(struct ctx *cx);

#endif
