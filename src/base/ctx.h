/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctx: one unit of work: its memory, its database, its caller, its deadline
 * and the one slot in which an error is described.
 *
 * A worker makes one per request; a test makes one per case. It belongs to one
 * thread at a time. The SQLite writer borrows it while its owner waits.
 */
#ifndef BASE_CTX_H
#define BASE_CTX_H

#include "base/arena.h"
#include "base/status.h"

struct app;
struct db;
struct tx;

/* What is wrong with one part of the input: a JSON Pointer, and a sentence for a person. */
struct issue {
	str path, message;
};

struct error {
	status code;
	str message;
	struct issue issues[16]; /* the first ones; more would help nobody */
	size_t issue_count;
};

struct ctx {
	struct arena *arena;
	struct db *db;	     /* NULL where there is none (command line, most unit tests) */
	struct app *app;     /* the program as a whole: settings, figures. NULL where there is none */
	struct tx *tx;	     /* the transaction or read we are in, NULL outside */
	str request_id;	     /* for the log */
	int64_t deadline_us; /* clock_mono_us; 0: none. Waits end here; commits do not. */
	struct error error;
};

void ctx_init(struct ctx *cx, struct arena *a);

/*
 * Fills the error slot and is its code, so that a decision reads
 * `return fail(cx, E_CONFLICT, "...")`. A second fail replaces the first.
 * (A macro, so that compilers and analysers see that a failure is never OK.)
 */
#define fail(cx, code, ...) (fail_describe((cx), (code), __VA_ARGS__), (status)(code))
__attribute__((format(printf, 3, 4))) void
fail_describe(struct ctx *cx, status code, const char *format, ...);

/* Adds an issue to the error that is being described; the caller fails with E_INVALID afterwards. */
void fail_issue(struct ctx *cx, str path, str message);

/* Forgets the error: for a caller that recovers from one. */
void ctx_clear(struct ctx *cx);

/* The message to show for s: the slot's where it describes s, else the table's sentence. */
str ctx_message(const struct ctx *cx, status s);

#endif
