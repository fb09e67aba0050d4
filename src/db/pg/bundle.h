/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bundle: rows that transactions in company insert, kept until there are many for one statement (`-- many` in the .sql file).
 *
 *	bundle_init -> bundle_turn -> bundle_add / bundle_mine ... -> bundle_turn -> ... -> bundle_send -> bundle_done
 *
 * Each of them finds the server as if its rows had been sent in their order: what it sends itself goes behind those of its rows that
 * wait (bundle_mine). Those of the others, which came before it in the same transaction, it may find or not: that
 * is how it is among transactions that run at once.
 */
#ifndef DB_PG_BUNDLE_H
#define DB_PG_BUNDLE_H

#include "db/pg/link.h"

#define BUNDLE_LISTS 4u
#define BUNDLE_ROWS  32u /* that wait for one statement */

struct bundle {
	struct arena arena; /* the values of the rows */
	struct bundle_list {
		const struct sql *sql;
		const struct db_value *rows[BUNDLE_ROWS];
		size_t count;
	} lists[BUNDLE_LISTS]; /* they are sent in this order */
	size_t count;
	size_t mine; /* whose turn it is: the last list that has a row of it, from 1; 0: no row of it waits */
};

void bundle_init(struct bundle *b);
void bundle_done(struct bundle *b);

/* The next transaction of the company begins. */
void bundle_turn(struct bundle *b);

/* One row for s, which has s->many. The values are copied. Sends what waits where it cannot wait with it. */
status bundle_add(struct ctx *cx, struct bundle *b, struct pglink *l, const struct sql *s,
	const struct db_value *args) MUST_USE;

/* Queues all that waits where rows of whose turn it is are among it. */
status bundle_mine(struct ctx *cx, struct bundle *b, struct pglink *l) MUST_USE;

/* Queues all that waits. */
status bundle_send(struct ctx *cx, struct bundle *b, struct pglink *l) MUST_USE;

#endif
