/* SPDX-License-Identifier: Apache-2.0 */
#include "db/pg/error.h"

/* By prefix of the SQLSTATE, the first that fits. What is not listed is our mistake. */
static const struct {
	const char *prefix;
	status code;
} meanings[] = {
	{ "23505", E_EXISTS },	   /* unique */
	{ "23P01", E_EXISTS },	   /* exclusion */
	{ "23503", E_REFERENCED }, /* foreign key */
	{ "23001", E_REFERENCED }, /* restrict */
	{ "23", E_INVALID },	   /* not null, check */
	{ "22", E_INVALID },	   /* a value that does not fit its type */
	{ "40", E_BUSY },	   /* serialization failure, deadlock */
	{ "55P03", E_BUSY },	   /* lock_timeout */
	{ "57014", E_BUSY },	   /* statement_timeout */
	{ "25006", E_READ_ONLY },  /* the operator has made the database read-only */
	{ "53100", E_DISK_FULL },  /* the server's disk */
	{ "53", E_UNAVAILABLE },   /* its memory, its connections */
	{ "58", E_UNAVAILABLE },   /* its input and output */
	{ "54", E_TOO_LARGE },	   /* one of its own limits */
	{ "P0001", E_INVALID },	   /* a trigger of ours refuses */
};

static bool
state_starts(const PGresult *r, const char *prefix)
{
	const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);

	return state && strncmp(state, prefix, strlen(prefix)) == 0;
}

static bool
severity_is(const PGresult *r, const char *word)
{
	const char *severity = PQresultErrorField(r, PG_DIAG_SEVERITY_NONLOCALIZED);

	return severity && strcmp(severity, word) == 0;
}

bool
pgerror_is_fatal(const PGresult *r)
{
	/* Without a state it is libpq itself that speaks: there is nobody at the other end. */
	return !PQresultErrorField(r, PG_DIAG_SQLSTATE) || severity_is(r, "FATAL") ||
	       severity_is(r, "PANIC") || state_starts(r, "08");
}

bool
pgerror_is_warning(const PGresult *r)
{
	return severity_is(r, "WARNING");
}

bool
pgerror_is_contention(const PGresult *r)
{
	return state_starts(r, "40001") || state_starts(r, "40P01");
}

bool
pgerror_is_stale(const PGresult *r)
{
	return state_starts(r, "0A000");
}

bool
pgerror_is_strange_session(const PGresult *r)
{
	return state_starts(r, "42P05") || state_starts(r, "26000");
}

status
pgerror_fail(struct ctx *cx, const char *name, const PGresult *r)
{
	const char *words = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
	status code = E_INTERNAL;

	for (size_t i = sizeof(meanings) / sizeof(meanings[0]); i-- > 0;) {
		if (state_starts(r, meanings[i].prefix))
			code = meanings[i].code;
	}
	return fail(cx, code, "%s: %s", name, words ? words : "the database gave no reason");
}
