/* SPDX-License-Identifier: Apache-2.0 */
/*
 * id: names for rows: UUID version 7 (RFC 9562) as text, so that the order of ids is the order of time.
 *
 *	0192f3c4-5e6a-7c1d-8a3f-2b1c9d0e4f55
 *	'-- ms --' '-' µs  '- counter + random
 *
 * 48 bits of milliseconds, 12 bits of the fraction (a microsecond is 4 of them, so time survives exactly), a
 * counter of the process (30 bits) and 32 random bits. Unique, not secret.
 */
#ifndef CORE_ID_H
#define CORE_ID_H

#include "base/ctx.h"

#define ID_LENGTH 36u

/* A new id. Later calls in this process give greater ids, even where the clock goes back. */
str id_new(struct arena *a);

/*
 * A new id of the moment us (microseconds since 1970): for rows that bear the transaction's own time. For one
 * and the same us, later calls in this process give greater ids.
 */
str id_at(struct arena *a, int64_t us);

/* Not greater than any id of the moment us, and greater than all of earlier ones: the bound of a range of
 * time. */
str id_floor(struct arena *a, int64_t us);

/* Has it the form of an id? */
bool id_valid(str id);

/* Where a list of ids goes on: an id, or empty for its beginning. E_INVALID */
status id_check_cursor(struct ctx *cx, str cursor) MUST_USE;

#endif
