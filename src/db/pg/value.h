/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pgvalue: how values go to PostgreSQL and come from it.
 */
#ifndef DB_PG_VALUE_H
#define DB_PG_VALUE_H

#include "base/limits.h"
#include "db/db.h"

#include <libpq-fe.h>

/* What the server makes of a type, as far as we use it. */
enum pgkind { PGKIND_NONE, PGKIND_INT, PGKIND_BOOL, PGKIND_TEXT, PGKIND_BYTES, PGKIND_VOID };

#define PG_OID_INT8 20
enum pgkind pgvalue_kind(Oid oid);

/* A cell; its bytes live as long as r. False: its type is none that we use. */
bool pgvalue_read(const PGresult *r, int row, int column, struct db_value *out);

/* The parameters of one statement, as libpq takes them. */
struct pgbinding {
	const char *values[LIMIT_DB_PARAMS];
	int lengths[LIMIT_DB_PARAMS], formats[LIMIT_DB_PARAMS];
	char digits[LIMIT_DB_PARAMS][STR_INT_ROOM + 1]; /* and a NUL */
};

/*
 * Sets the i-th. Numbers go as text, which fits every width of integer; text and bytes go as
 * they are (format 1), so that their length is what we say and not a NUL's place. False: v is of another kind.
 */
bool pgvalue_bind(struct pgbinding *b, int i, enum pgkind kind, const struct db_value *v);

#endif
