/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safe: the credentials of other systems (EX-1): what opens an upstream server or a connection.
 *
 *	safe_put --> [table secret: boxed under keys.seal, bound to organization and id] --> safe_get, for the one call
 *	                                                                             `-----> safe_drop
 *
 * What was put is never shown again: no operation answers it, no log or audit has it, no model sees it. Only who
 * sends a request takes it out, into memory that is wiped when it is given back (safe_done). A copy of the database
 * without the key file opens nothing, and neither does a row that was moved to another organization or id.
 */
#ifndef EXEC_SAFE_H
#define EXEC_SAFE_H

#include "base/ctx.h"

/*
 * Stores the text under a new id. Inside tx_run; needs cx->keys.
 *
 * E_INVALID  it is empty; E_TOO_LARGE  longer than LIMIT_SAFE_BYTES
 */
status safe_put(struct ctx *cx, str org_id, str text, str *out_id) MUST_USE;

/*
 * A secret that was taken out. `text` lies in memory of its own, outside every arena: between safe_get and safe_done
 * only.
 */
struct safe_text {
	str text;
	void *memory; /* NULL: nothing was taken */
};
void safe_done(struct safe_text *t);
#define scoped_secret __attribute__((cleanup(safe_done))) struct safe_text

/*
 * Inside tx_run or db_read; needs cx->keys. An empty id gives an empty text: there is no secret, and none is needed.
 *
 * E_NOT_FOUND  no such secret; E_TAMPERED  what is stored was not put there by us, or under another key file
 */
status safe_get(struct ctx *cx, str org_id, str id, struct safe_text *out) MUST_USE;

/* Forgets it; an empty or unknown id is fine. Inside tx_run. */
status safe_drop(struct ctx *cx, str org_id, str id) MUST_USE;

#endif
