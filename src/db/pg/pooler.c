/* SPDX-License-Identifier: Apache-2.0 */
#include "db/pg/pooler.h"

#define ROUNDS 3 /* other clients of the pooler can hide it in one of them */

bool
pooler_between(const struct pglink *l)
{
	return PQbackendPID(l->conn) != (int)l->backend.pid;
}

status
pooler_refuse(struct ctx *cx)
{
	return fail(cx, E_UNAVAILABLE,
		"the connection pooler in front of PostgreSQL gives each transaction another server "
		"connection, and "
		"Countersign needs the same one: set pool_mode = session for this database (PgBouncer), or "
		"connect "
		"to PostgreSQL directly");
}

/* Each question is a transaction of its own. */
static status
ask_process(struct ctx *cx, struct pglink *l, int64_t *out_pid)
{
	return pglink_ask(cx, l, "SELECT CAST(pg_backend_pid() AS bigint)", NULL, 0, out_pid);
}

static status
check_once(struct ctx *cx, struct pglink *a, struct pglink *b)
{
	int64_t first = 0, second = 0;

	TRY(ask_process(cx, a, &first));
	if (b)
		TRY(ask_process(cx, b, &second));
	/* A pooler that takes the free server connection it used last shows itself by the second, one that takes them in turn
	 * by the first. */
	return first != a->backend.pid || first == second || (b && first == b->backend.pid)
		       ? pooler_refuse(cx)
		       : OK;
}

status
pooler_check(struct ctx *cx, struct pglink *a, struct pglink *b)
{
	for (int i = 0; i < ROUNDS; i++)
		TRY(check_once(cx, a, b));
	return OK;
}
