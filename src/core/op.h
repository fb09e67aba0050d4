/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op: an operation as a record. Route, OpenAPI entry and documentation come from it.
 *
 * Two things have tables of their own: the tools that agents call (core/gate/tool.h; face/mcp runs
 * them through an operation) and the commands of the program (app/commands.c).
 *
 * The zero value refuses: an op without a rule can be called by nobody.
 *
 * To add one: a record in its module's table, and a test in tests/api that names it
 * (a unit test insists). A new module's table is listed in app/modules.c.
 */
#ifndef CORE_OP_H
#define CORE_OP_H

#include "base/field.h"
#include "json/out.h"

/* Anybody, signed in or not. Everything else names an access rule (ID-3). */
#define RULE_PUBLIC "public"

/* Anybody with a valid credential; the operation itself looks at what they may. */
#define RULE_ANYBODY "anybody"

/* A GET is OP_READ; op_check insists. */
enum op_effect { OP_READ, OP_MUTATE, OP_DESTRUCTIVE };

enum op_where {
	OP_WORKER, /* runs on a worker: may use the database */
	OP_INLINE, /* runs on the event loop: memory only, never blocks */
};

/* The transaction an operation runs in. Whoever needs a rule runs in one: that is where the caller is
 * identified. */
enum op_tx {
	OP_TX_NONE,   /* public, and opens its own where it needs one */
	OP_TX_READ,   /* one consistent read */
	OP_TX_DECIDE, /* writes; the organization's rights cannot change meanwhile */
	OP_TX_RIGHTS, /* writes what others decide by: rights, policy; nobody decides meanwhile */
	OP_TX_OWN,    /* waits: run opens its own by op_read, and the caller is identified in each */
};

struct op {
	const char *name;   /* "server_version": snake_case, unique */
	const char *method; /* "GET" */
	const char *path;   /* "/api/v1/version"; {key} is filled from the field of that (camelCase) key */
	const char *doc;    /* what it does, for a person; first sentence is the summary */
	const char *rule;   /* RULE_PUBLIC or "<plugin>.<resource>.<verb>"; NULL refuses everybody */
	enum op_effect effect;
	enum op_where where;
	enum op_tx tx;
	const struct field *in; /* input: path, query (GET, DELETE) or body members; NULL: none */
	size_t in_size;
	const struct field *out; /* members of the answer; NULL: content_type is not JSON */
	/*
	 * What run can fail with, ended by OK; NULL: only what its face adds. The face adds what stands
	 * before run: wrong input (E_INVALID; with a body E_BAD_JSON, E_MEDIA_TYPE, E_TOO_LARGE), who may
	 * call it, framing, E_TIMEOUT, E_INTERNAL, and E_BUSY on a worker. What run hands on from tx_run or
	 * db_read is listed here: E_UNAVAILABLE, and where it writes E_DISK_FULL, E_READ_ONLY,
	 * E_COMMIT_UNKNOWN. API tests refuse an answer that is not documented.
	 */
	const status *errors;
	int success; /* HTTP status of success; 0: 200 */
	const char
		*content_type; /* NULL: application/json; else run writes the body itself with json_out_raw */
	bool streams; /* the answer goes on: run says whether it may begin, events follow (text/event-stream)
		       */
	bool whole_body; /* the body is not read member by member: it is the JSON field of in */
	bool open_query; /* parameters it does not know are left alone: somebody else writes the address */
	/*
	 * Decides who may approve, or what an approval is worth: only in a session whose person authenticated within
	 * LIMIT_STEP_UP_US; a token proposes it with the tool access.change (core/door/authority.h).
	 */
	bool authority;
	/* Of one with authority: is this input such a change? Asked once, before the transaction; may look at files.
	 * NULL: every input is. */
	bool (*concerns)(struct ctx *cx, const void *in);
	bool alone; /* of one with authority: one person does it, whatever policy asks; it is not proposed */
	/*
	 * After run failed with s, or its input could not be read (in is NULL), and all was undone: what must
	 * be kept nevertheless (the budget, a record of the attempt), as the caller, in a transaction of its
	 * own. E_RATE_LIMITED becomes the answer instead of s. May be NULL.
	 */
	status (*refused)(struct ctx *cx, const void *in, status s);
	/* Slow work on the input (hashing a password): once, outside the transaction, after the caller was
	 * found entitled. May be NULL. */
	status (*prepare)(struct ctx *cx, void *in);
	bool (*wants_prepare)(struct ctx *cx, const void *in); /* is there any for this input? NULL: always */
	/*
	 * On the event loop, before a worker has its turn, nobody identified yet: memory only, and quick. OK: it
	 * wrote the members of the answer; E_BUSY: a worker shall run it, nothing was done; anything else is the
	 * answer. May be NULL.
	 */
	status (*peek)(struct ctx *cx, const void *in, struct json_out *out);
	/*
	 * The read path of an operation that decides: it is tried before the write transaction, on the worker, in one
	 * consistent read with cx->caller. OK: it wrote the answer, or set cx->later, and there is no write transaction.
	 * Anything else: nothing was done, and `run` runs in its transaction as if this had not been tried. May be NULL.
	 * wants_read_path says whether it is worth trying: from memory, before the caller is identified.
	 */
	bool (*wants_read_path)(struct ctx *cx, const void *in);
	status (*read_path)(struct ctx *cx, const void *in, struct json_out *out);
	/* Reads *in, writes the members of the answer into the object that is open. */
	status (*run)(struct ctx *cx, const void *in, struct json_out *out);
};

/* A list of errors, for .errors. */
#define OP_ERRORS(...) ((const status[]){ __VA_ARGS__, OK })

/* Walks a module's table, ended by a zero record. */
#define OP_EACH(var, table) for (const struct op *var = (table); var->name; var++)

/* How many operations are in the tables (ended by NULL). */
size_t op_count(const struct op *const *tables);

/* Does the input come as a body? Otherwise it comes by path and query. */
bool op_takes_body(const struct op *op);

/* The next {key} in a path: *path moves behind it. False where there is none. */
bool op_path_key(str *path, str *out_key);

/* --- lists: {"items": […], "next": "…"} --- */

/* Members of the input of an operation that lists, page by page. */
#define OP_PAGE_FIELDS(st)                                                                                   \
	FIELD_TEXT(st, after, .max = 200, .doc = "Go on behind this: `next` of the page before."),           \
		FIELD_INT(                                                                                   \
			st, limit, .min = 1, .max = LIMIT_PAGE, .doc = "At most so many; 100 unless said.")

extern const struct field op_list_out[];

/* The limit to ask the database for: one more than is shown, so that there is a next page where there is one.
 */
int64_t op_page_rows(int64_t limit);

/* Writes a page of rows, each of which begins with its id (a str). */
typedef void op_item_fn(struct json_out *o, const void *row);
void
op_list(struct json_out *o, const void *rows, size_t size, size_t count, int64_t limit, op_item_fn *write);

/* The same document of one row as a value: for the audit. */
status op_item_value(struct ctx *cx, op_item_fn *write, const void *row, struct json **out) MUST_USE;

/* Before the input is read: a stranger at a door that needs a credential. E_UNAUTHENTICATED; asks no
 * database. */
status op_admit(struct ctx *cx, const struct op *op) MUST_USE;

/*
 * Runs it as one transaction: locks, who is asking, may they, the work. What it
 * wrote into out goes where the transaction does not commit or runs again.
 *
 * E_UNAUTHENTICATED E_FORBIDDEN  and whatever run says
 */
status op_run(struct ctx *cx, const struct op *op, void *in, struct json_out *out) MUST_USE;

/*
 * Inside run of an OP_TX_DECIDE that turns out to change what others decide by: nobody decides meanwhile.
 * Where the lock is only shared so far this fails, all is undone, and op_run begins again with the
 * exclusive one: it is never raised while other locks are held.
 *
 * E_BUSY  not held yet; give it back as it is
 */
status op_need_rights(struct ctx *cx) MUST_USE;

/* For OP_TX_OWN: fn in one consistent read with cx->caller. E_UNAUTHENTICATED and whatever fn says */
status op_read(struct ctx *cx, status (*fn)(struct ctx *cx, void *arg), void *arg) MUST_USE;

/* Lets op keep what it must (its `refused`) and gives s, or E_RATE_LIMITED. */
status op_refused(struct ctx *cx, const struct op *op, const void *in, status s) MUST_USE;

/*
 * Is every record complete, and are names and paths unique? Asked at start.
 *
 * E_INTERNAL  the message names the op and what is wrong with it
 */
status op_check(struct ctx *cx, const struct op *const *tables) MUST_USE;

#endif
