/* SPDX-License-Identifier: Apache-2.0 */
/*
 * behind: a thread that writes the rows of reads a moment after the reads, many in one transaction.
 *
 *	behind_start --> behind_add ... --LIMIT_BEHIND_US--> [tx: rows, events] --> behind_stop: what is left is written
 *
 * A read is no effect: its row is history, and a process that is killed loses at most the last moments of it. Rows of
 * what concerns personal data never come here (gate_record_behind), and while the database does not take rows none
 * are accepted: reads then go through a transaction, and fail with it. Any thread.
 */
#ifndef CORE_GATE_BEHIND_H
#define CORE_GATE_BEHIND_H

#include "core/gate/gate.h"

struct behind;

struct behind_options {
	struct db *db;
	struct event_hub *events;
};

struct behind *behind_start(const struct behind_options *o);
void behind_stop(struct behind *b); /* NULL is fine; nobody adds any more */

/* Keeps a copy. False: not now. */
bool behind_add(struct behind *b, const struct gate_row *row);

#endif
