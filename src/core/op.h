/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op: an operation as a record. Route, OpenAPI entry and documentation come from
 * it, and later the MCP tool; there is nothing else to keep in step. The commands
 * of the program are not operations: they have a table of their own (app/commands.c).
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

/* A GET is OP_READ; op_check insists. */
enum op_effect { OP_READ, OP_MUTATE, OP_DESTRUCTIVE };

enum op_where {
	OP_WORKER, /* runs on a worker: may use the database */
	OP_INLINE, /* runs on the event loop: memory only, never blocks */
};

struct op {
	const char *name;   /* "server_version": snake_case, unique */
	const char *method; /* "GET" */
	const char *path;   /* "/api/v1/version"; {key} is filled from the field of that (camelCase) key */
	const char *doc;    /* what it does, for a person; first sentence is the summary */
	const char *rule;   /* RULE_PUBLIC or "<plugin>.<resource>.<verb>"; NULL refuses everybody */
	enum op_effect effect;
	enum op_where where;
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

/*
 * May the caller run it? Until there are principals, only what is public.
 *
 * E_UNAUTHENTICATED  it needs a credential
 */
status op_allow(struct ctx *cx, const struct op *op) MUST_USE;

/*
 * Is every record complete, and are names and paths unique? Asked at start.
 *
 * E_INTERNAL  the message names the op and what is wrong with it
 */
status op_check(struct ctx *cx, const struct op *const *tables) MUST_USE;

#endif
