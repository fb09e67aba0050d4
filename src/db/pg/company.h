/* SPDX-License-Identifier: Apache-2.0 */
/*
 * company: transactions of one name (tx_run_together) that come while others are under way, and are committed together.
 *
 *	company_join -> JOB_LEADS: company_gather -> run all in one transaction -> company_pass -> COMMIT -> company_end
 *	            |-> JOB_ANSWERED: another has run it, and its result is there
 *	            `-> JOB_ALONE: a company broke up; it is to be run by itself
 *
 * One company at a time runs its functions; while its COMMIT is waited for the next may begin, as soon as there wait as many as
 * are under way. So a busy server makes few and large ones, two of them at work at any time, and who comes to an idle one
 * does not wait. Whoever is gathered had come before the transaction began: what that finds out for all of them is
 * as new as what each would have found out.
 */
#ifndef DB_PG_COMPANY_H
#define DB_PG_COMPANY_H

#include "db/jobs.h"

#include <pthread.h>

struct company {
	pthread_mutex_t mutex; /* over all below */
	struct jobs waiting;
	size_t under_way; /* gathered and not answered */
	bool led;	  /* somebody leads, and has not passed the lead */
};

void company_init(struct company *c, struct db *db);
void company_done(struct company *c);

/* Waits for one of the three; they are job->word. False: job->cx's deadline passed first, and nothing was done. */
bool company_join(struct company *c, struct job *job);

/* For who leads: itself, and who waits for the same. How many. */
size_t company_gather(struct company *c, struct job *leader, struct job *out[LIMIT_TX_COMPANY]);

/* For who leads, once: the next may begin, though this one's COMMIT is not answered yet. */
void company_pass(struct company *c);

/* After that: answers all but the first, who led. */
void company_end(struct company *c, struct job *const *jobs, size_t count);

#endif
