/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooler: a connection pooler between us and PostgreSQL.
 *
 * One that gives a server connection to a client for as long as the client is connected (PgBouncer: session mode)
 * is fine. One that gives it for a transaction or a statement is not: prepared statements and the session's
 * settings are those of somebody else then, and whether a lost COMMIT was done cannot be found out, because the
 * server process that ran it lives on.
 */
#ifndef DB_PG_POOLER_H
#define DB_PG_POOLER_H

#include "db/pg/link.h"

/* Does something between us and the server answer for it? It gives out process numbers of its own. */
bool pooler_between(const struct pglink *l);

/*
 * Both links are open; b may be NULL. E_UNAVAILABLE where two transactions of one link ran in two server processes,
 * or both links' in one; the message says what to set.
 */
status pooler_check(struct ctx *cx, struct pglink *a, struct pglink *b) MUST_USE;

/* The sentence for it, as E_UNAVAILABLE. */
status pooler_refuse(struct ctx *cx) MUST_USE;

#endif
