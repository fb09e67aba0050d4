/* SPDX-License-Identifier: Apache-2.0 */
/* pgerror: what a PostgreSQL error means to us, by its SQLSTATE. */
#ifndef DB_PG_ERROR_H
#define DB_PG_ERROR_H

#include "base/ctx.h"

#include <libpq-fe.h>

/* The server ends the connection, or there is none any more. */
bool pgerror_is_fatal(const PGresult *r);

/* A WARNING: at COMMIT it means that the standby may not have it. */
bool pgerror_is_warning(const PGresult *r);

/* A serialization failure or deadlock: the same transaction may succeed if run again. */
bool pgerror_is_contention(const PGresult *r);

/* What this connection has prepared no longer fits the schema; a new connection will. */
bool pgerror_is_stale(const PGresult *r);

/* A prepared statement that this connection made is not there, or one is that it did not make: a pooler's doing. */
bool pgerror_is_strange_session(const PGresult *r);

/* Fails with the status of r. The sentence holds what was asked (name) and the server's first line, no row's
 * values. */
status pgerror_fail(struct ctx *cx, const char *name, const PGresult *r) MUST_USE;

#endif
