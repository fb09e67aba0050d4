/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault: named places where a test can make the program fail, stop or die.
 *
 * Compiled out unless COUNTERSIGN_FAULTS is defined (the `faults` build
 * option; never in a release). COUNTERSIGN_FAULT=name:n:mode arms one point: at its n-th passing
 *
 *	kill   the process dies as by SIGKILL
 *	fail   FAULT_FAILS(name) is true, once
 *	break  FAULT_FAILS(name) is true from then on
 *	stop   the process stops itself (SIGSTOP); SIGCONT lets it go on
 *
 * `countersign faults` prints the list, so that a rig can try them all.
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdbool.h>

/* The one list: name, what has just happened there. */
#define FAULT_POINTS(X)                                                                                      \
	X(tx_before_begin, "a transaction is about to begin")                                                \
	X(tx_after_begin, "BEGIN has been done")                                                             \
	X(tx_after_function, "the function has run, nothing is committed")                                   \
	X(tx_before_commit, "COMMIT is about to be sent")                                                    \
	X(tx_after_commit, "COMMIT has succeeded, nobody has been told")                                     \
	X(tx_before_hooks, "the caller has been told, hooks have not run")                                   \
	X(batch_between, "one transaction of a batch has run, the next has not")                             \
	X(migrate_between, "one migration has been committed, the next has not")                             \
	X(permission_load, "the gate is about to load what the caller may do with each tool")                \
	X(propose_after_dry_run, "a payload was tried and undone, no proposal is stored")                    \
	X(propose_after_store, "a proposal is stored, its audit entry is not")                               \
	X(vote_after_store, "a vote is stored, the state has not moved")                                     \
	X(vote_after_step, "the state has moved and the audit entry is there, nothing is committed")         \
	X(apply_after_execute, "the payload has run, nothing is on record")                                  \
	X(apply_after_record, "the change is on record, the state has not moved")                            \
	X(apply_after_step, "a proposal is applied, nothing is committed")                                   \
	X(claim_after_record, "a claim and its intent are written, nothing is committed")                    \
	X(send_before, "a claim is committed, nothing is sent")                                              \
	X(send_after, "it was sent and answered, its outcome is not on record")                              \
	X(outcome_after_step, "an outcome is written, nothing is committed")                                 \
	X(outcome_after_commit, "an outcome is on record, nobody has been told")                             \
	X(expire_after_step, "a proposal is expired and its audit entry is there, nothing is committed")     \
	X(seal_after_commit, "leaves are in the tree, no checkpoint is signed for them")                     \
	X(seal_after_held, "a checkpoint is kept in its file, the database does not have it")                \
	X(http_before_answer, "the handler has run, no byte of the answer is sent")

enum fault_point {
#define X(name, doc) FAULT_##name,
	FAULT_POINTS(X)
#undef X
		FAULT_COUNT
};

/*
 * Bugs that a rig or a test can plant, to show that it would notice them: builds with faults only, by
 * fault_plant, or for the program itself by COUNTERSIGN_TEST_PLANT=name.
 */
#define FAULT_PLANTS(X)                                                                                      \
	X(apply_split, "apply says applied in one transaction and does it in the next")                      \
	X(apply_unrecorded, "apply forgets the entry of the change")                                         \
	X(commit_unheard, "a COMMIT that failed is told as done")                                            \
	X(rights_unlocked, "nobody takes the lock on the organization's rights")                             \
	X(proposal_unlocked, "a proposal is read without its lock")                                          \
	X(note_unlocked, "a note is read without its lock before it is changed")                             \
	X(send_again, "what was sent and lost is sent once more")                                            \
	X(paths_unchecked, "a program is shown whatever path it is granted")                                 \
	X(unmetered, "work is counted, and no limit of it is kept")                                          \
	X(programs_unfiltered, "programs run without a filter of system calls")                              \
	X(lost_is_failed, "what may have been sent is told as failed")                                       \
	X(clock_before_lock, "expiry is decided by the time before the wait for the lock")

enum fault_planted {
	PLANT_NONE,
#define X(name, doc) PLANT_##name,
	FAULT_PLANTS(X)
#undef X
};

#ifdef COUNTERSIGN_FAULTS
/* True where the armed point says "fail". */
bool fault_pass(enum fault_point p);
#	define FAULT(name)	  ((void)fault_pass(FAULT_##name))
#	define FAULT_FAILS(name) fault_pass(FAULT_##name)
bool fault_is_planted(enum fault_planted p);
#	define PLANTED(name) fault_is_planted(PLANT_##name)
#else
#	define FAULT(name)	  ((void)0)
#	define FAULT_FAILS(name) false
#	define PLANTED(name)	  false
#endif

/* Name and description of each point, and whether they are compiled in. */
const char *fault_name(enum fault_point p);
const char *fault_doc(enum fault_point p);
bool fault_enabled(void);

/* Arms the point that spec names ("name:n:mode"), as the environment variable does. False where spec is not
 * one. */
bool fault_arm(const char *spec);

/* Plants the bug of this name, before threads start. False where there is none, or no faults are compiled in.
 */
bool fault_plant(const char *name);

#endif
