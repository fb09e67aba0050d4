/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op: an operation as a record. Route, OpenAPI entry, command, documentation
 * and (later) MCP tool come from it; there is nothing else to keep in step.
 *
 * The zero value refuses: an op without a rule can be called by nobody.
 */
#ifndef CORE_OP_H
#define CORE_OP_H

#include "base/field.h"
#include "json/out.h"

/* Anybody, signed in or not. Everything else names an access rule (ID-3). */
#define RULE_PUBLIC "public"

enum op_effect { OP_READ, OP_MUTATE, OP_DESTRUCTIVE };

enum op_where {
	OP_WORKER, /* runs on a worker: may use the database */
	OP_INLINE, /* runs on the event loop: memory only, never blocks */
};

struct op {
	const char *name;   /* "server_version": snake_case, unique */
	const char *method; /* "GET" */
	const char *path;   /* "/api/v1/version"; {name} is filled from the field of that name */
	const char *doc;    /* what it does, for a person; first sentence is the summary */
	const char *rule;   /* RULE_PUBLIC or "<plugin>.<resource>.<verb>"; NULL refuses everybody */
	enum op_effect effect;
	enum op_where where;
	const struct field *in; /* input: path, query (GET) or body members; NULL: none */
	size_t in_size;
	const struct field
		*out; /* members of the answer, for the documentation; NULL: content_type is not JSON */
	int success;  /* HTTP status of success; 0: 200 */
	const char *content_type; /* NULL: application/json; else the op writes the body itself with
				     json_out_raw */
	/* Reads *in, writes the members of the answer into the object that is open. */
	status (*run)(struct ctx *cx, const void *in, struct json_out *out);
};

/* A module's operations, ended by a zero record. */
struct op_list {
	const struct op *const *tables; /* ended by NULL */
};

#endif
