/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program: the member `program` of an upstream server that is one, as an admin writes it:
 * {argv, paths?: [{path, writable?}], directory?, network?}.
 */
#ifndef EXEC_UPSTREAM_PROGRAM_H
#define EXEC_UPSTREAM_PROGRAM_H

#include "base/ctx.h"
#include "json/json.h"

struct walls;

/* Is it one? Its text, as it is stored. E_INVALID */
status program_read(struct ctx *cx, const struct json *p, str *out) MUST_USE;

/* The same, and may it see the paths? Outside of a transaction. E_INVALID, E_FORBIDDEN */
status program_check(struct ctx *cx, const struct walls *walls, const struct json *p) MUST_USE;

/*
 * The programs of `countersign wrap` are the operator's own: their digests stand in a file of the data directory, a line
 * each. So they need nobody else's word to be added (core/door/authority.h). Both look at files.
 */
status program_digest(struct ctx *cx, const struct json *program, const struct json *env, str *out) MUST_USE;
bool program_is_listed(struct ctx *cx, const char *file, const struct json *program, const struct json *env);

#endif
