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
struct audit_told;
struct caller;
struct credential;
struct db;
struct event_hub;
struct feed;
struct keys;
struct behind;
struct checked;
struct lanes;
struct leases;
struct live;
struct numbers;
struct oauth;
struct oidc;
struct op;
struct outside;
struct purse;
struct known;
struct later;
struct recall;
struct registry;
struct reservoir;
struct sealer;
struct toolsets;
struct tx;
struct visibility;

/* What is wrong with one part of the input: a JSON Pointer, and a sentence for a person. */
struct issue {
	str path, message;
};

struct error {
	status code;
	str message;
	struct issue issues[16]; /* the first ones; more would help nobody */
	size_t issue_count;
	str details; /* what a program should know besides: a JSON object, or empty */
};

/* What the answer says beside its body: rate limits, cookies. A face that has headers prints them. */
struct answer_header {
	const char *name;
	str value;
};
#define CTX_HEADERS 8u

/*
 * A worker that will wait for somebody else lends its place: another takes the next request meanwhile. False: none is
 * left to lend. After `lend` was true, `back`.
 */
struct ctx_place {
	bool (*lend)(void *arg);
	void (*back)(void *arg);
	void *arg;
};

/* Steps that were taken (base/meter/meter.h): in write transactions, and elsewhere. */
struct metered {
	uint64_t outside, writer;
	uint64_t cap; /* a lower limit for the steps counted now; 0: only the usual limit */
	bool writing; /* in a write transaction */
};

struct ctx {
	struct arena *arena;
	struct db *db;	 /* NULL where there is none (command line, most unit tests) */
	struct app *app; /* the program as a whole: settings, figures. NULL where there is none */
	struct tx *tx;	 /* the transaction or read we are in, NULL outside */
	/* the kernel's (core/); NULL where there is none */
	const struct credential *credential; /* what came with the request */
	const struct caller *caller;	     /* who it is; set by op_run inside the transaction */
	const struct visibility
		*visibility;	      /* what is kept from them (core/visibility); NULL: not asked yet */
	const struct keys *keys;      /* the secrets outside the database */
	const struct registry *tools; /* what can be asked for, by who was identified last */
	struct toolsets *toolsets;    /* what organizations have besides (core/gate); NULL: nothing */
	struct event_hub *events;     /* who wants to hear */
	struct feed *feed;	      /* who feeds event streams (face/rest) */
	struct oidc *oidc;	      /* the identity provider (core/oidc); NULL: none */
	struct oauth *oauth;	      /* our own authorization server (core/oauth); NULL: none */
	struct known *known;	      /* callers whose rights have not changed (core/known); NULL: none */
	struct leases *leases;	      /* calls of budgets to be had without asking (core/gate); NULL: none */
	struct behind *behind;	      /* who writes rows of reads a moment later (core/gate); NULL: nobody */
	struct purse *purse; /* what this request's one call was paid with (core/gate); NULL: each pays */
	struct numbers
		*numbers;      /* what was decided, outside the database (core/audit); NULL: not remembered */
	struct sealer *sealer; /* holds checkpoints that answers have (core/audit); NULL: nobody */
	struct recall *recall; /* callers of a moment ago (core/ident); NULL: none */
	struct live *live;     /* compiled rulesets (domain/flag); NULL: none */
	struct reservoir *reservoir;   /* samples of contexts (domain/flag); NULL: none */
	const struct outside *outside; /* who does what is not ours to do (core/outside); NULL: nobody */
	struct lanes *lanes;	       /* the ways to other systems (core/outside); NULL: none */
	struct later *later;	       /* set by an operation: goes on after its transaction (core/outside) */
	const struct ctx_place
		*place;		/* the worker's that runs this, to be lent while it waits; NULL: none */
	int64_t open_proposals; /* how many somebody may have; 0: LIMIT_OPEN_PROPOSALS */
	str public_url;		/* where people reach us, "https://host", or empty */
	bool rights_held;	/* the lock on rights is ours alone (op_need_rights) */
	bool rights_wanted;
	const struct op *const *ops; /* all operations (app/modules.c), ended by NULL; NULL: none */
	struct audit_told *told;     /* hears what is recorded as changed (core/audit); NULL: nobody */
	bool in_tool;		     /* a tool's handler runs: it can ask for no other (PA-14) */
	str idempotency_key;	     /* the Idempotency-Key that came with the request, or empty */
	str if_match;		     /* If-Match, as it came, or empty */
	str step_up;		     /* the scope that a refused token of OAuth would have needed, or empty */
	bool hasty;		     /* a wait answers at once, with what there is */
	str request_id;		     /* for the log */
	struct metered work;
	struct ctx *payer;	 /* whose work this is part of (meter_share); NULL: its own */
	struct checked *checked; /* inputs that were checked, or are to be (core/gate/check/checked.h) */
	int64_t deadline_us;	 /* clock_mono_us; 0: none. Waits end here; commits do not. */
	struct error error;
	struct answer_header headers[CTX_HEADERS]; /* kept with an error too */
	size_t header_count;
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

/* After a part of the input was read with result s: its issues are issues of the whole, so their paths begin
 * with the part's, and the message says the first of them so. Anything but E_INVALID is handed back as it is.
 */
status fail_below(struct ctx *cx, str part, status s) MUST_USE;

/* Adds a header to the answer; one of the same name is replaced. Never text that somebody else wrote. */
void ctx_header(struct ctx *cx, const char *name, str value);

/* The same, beside those of its name: for the second cookie. */
void ctx_header_add(struct ctx *cx, const char *name, str value);

/* After fail: details for a program, the text of a JSON object. The next fail forgets them. */
void fail_details(struct ctx *cx, str object);

/* Forgets the error: for a caller that recovers from one. */
void ctx_clear(struct ctx *cx);

/* The message to show for s: the slot's where it describes s, else the table's sentence. */
str ctx_message(const struct ctx *cx, status s);

#endif
