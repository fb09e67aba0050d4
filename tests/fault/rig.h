/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rig: the small world in which the reliability rig tries a database: its schema,
 * its one kind of transaction, and how a data directory is opened.
 *
 * A transaction writes a pair: row id in rig_first, row id in rig_second (its
 * body follows from the id), and counts itself. Whatever happens to the process
 * or the disk, afterwards a pair is whole or absent and the count is right.
 */
#ifndef TESTS_FAULT_RIG_H
#define TESTS_FAULT_RIG_H

#include "db/db.h"

/* Ids from here on are the judge's own: written after a recovery, to see that the store still takes them. */
#define RIG_JUDGE INT64_C(1000000000000)

/* What is planted so that the rig can show that it sees bugs. */
enum rig_plant { RIG_SOUND, RIG_EARLY, RIG_SPLIT };

struct rig_options {
	const char *dir;
	int threads, each, rounds; /* rounds: open, write, close, that many times */
	int batch;		   /* struct db_options */
	int checkpoint; /* pages in the log before SQLite copies them back; 0: as the engine has it */
	bool normal;	/* rig_weaken */
	bool hold;	/* keep on writing until nothing was refused for a while (a disk that fills) */
	enum rig_plant plant;
};

/* Opens the directory, migrates, prepares. cx->db is set on OK; close it with db_close. */
status rig_open(struct ctx *cx, const struct rig_options *o) MUST_USE;

/* Before the first rig_open: connections get synchronous=NORMAL whatever the engine asks for. The control. */
void rig_weaken(void);

/*
 * The body of a pair: 40 to 6,000 bytes that follow from the id; most are short. They all end alike, and so
 * do the pages: a write that breaks off before its end may still look whole where an older page lay.
 */
str rig_body(struct arena *a, int64_t id);

/* Both rows and the count, inside tx_run. */
status rig_put(struct ctx *cx, int64_t id) MUST_USE;

/* write: says on stdout, one line each, "try ID", "ok ID", "no ID E_X", "unknown ID"; "bad ..." is a broken
 * promise seen from inside. Gives the exit code. */
int rig_write(const struct rig_options *o);

/* check: recovers the directory and compares it with such a history. Prints each violation. 0: none. */
int rig_check(const struct rig_options *o, const char *history);

#endif
