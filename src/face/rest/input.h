/* SPDX-License-Identifier: Apache-2.0 */
/* input: an operation's input struct from a request. Private to rest. */
#ifndef FACE_REST_INPUT_H
#define FACE_REST_INPUT_H

#include "core/op.h"
#include "http/http.h"

/* Where the members of an operation's input come from. */
struct input {
	const struct op *op;
	const struct field *path[HTTP_PARAMS]; /* what stands for {key}, in order */
	size_t path_count;
	const struct field *others; /* the rest of the members, by query or body; ended by FIELD_END */
};

/* Sorts the members of op's input. The op has passed op_check. */
struct input *input_new(struct arena *a, const struct op *op);

/*
 * *out_in is op->in_size bytes in the arena, NULL where the op takes nothing.
 *
 * E_INVALID    unknown, missing or wrong members; the issues say which
 * E_BAD_JSON E_TOO_LARGE  the body
 */
status input_read(const struct http_exchange *x, const struct input *i, void **out_in) MUST_USE;

#endif
