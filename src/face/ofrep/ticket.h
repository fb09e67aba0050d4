/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ticket: what stands in the address of an event stream in place of a token, since a browser's EventSource sends
 * no headers. Whose token and which environment, until when, and a MAC under the server's key. It only opens
 * that stream, which carries no values. The same for half an hour at a time, so that the address is, too.
 */
#ifndef FACE_OFREP_TICKET_H
#define FACE_OFREP_TICKET_H

#include "base/ctx.h"

struct ticket {
	str org_id, token_id, environment_id;
	int64_t expires_us;
};

/* When a ticket of now ends: a number that changes every LIMIT_OFREP_TICKET_US. */
int64_t ticket_end(void);

/* Its text, of letters, digits, '.', '_' and '-'. */
str ticket_text(struct ctx *cx, const struct ticket *t);

/* E_UNAUTHENTICATED  not one of ours, or over */
status ticket_read(struct ctx *cx, str text, struct ticket *out) MUST_USE;

#endif
