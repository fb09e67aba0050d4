/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest: the operation table as an HTTP API.
 *
 *	route -> may the caller? -> input struct -> op->run -> answer
 *	             `------------------`------------`---------> error envelope
 *
 * Input comes by path ({key}), by query (GET, DELETE) or as one JSON object; what an
 * operation does not take is refused. Every error is
 *
 *	{"code": "invalid_request", "message": "a sentence", "fields": [{"path": "/title", "message": "is needed"}]}
 *
 * with fields only where there are some. A 500 tells nothing of our insides; the log does.
 */
#ifndef FACE_REST_REST_H
#define FACE_REST_REST_H

#include "core/op.h"
#include "http/http.h"

/*
 * The routes of all operations, in cx's arena, which must outlive the server. Room for
 * `more` routes is left at the end, for what is not an operation (pages).
 *
 * E_INTERNAL  a table is not right (op_check)
 */
status rest_routes(struct ctx *cx, const struct op *const *tables, size_t more,
	struct http_route **out_routes, size_t *out_count) MUST_USE;

/* The operation behind a route, or NULL where it is none of ours. */
const struct op *rest_op_of(const struct http_route *route);

/* Fills x's answer with the envelope of s: for http_options.refuse and for our own handlers. */
void rest_refuse(struct http_exchange *x, status s);

/* The members of the envelope into the object that is open. */
void rest_envelope(struct json_out *o, const struct ctx *cx, status s);

/* The API as an OpenAPI 3.1 document. E_TOO_LARGE beyond LIMIT_HTTP_ANSWER. */
status rest_openapi(struct ctx *cx, const struct op *const *tables, str *out_text) MUST_USE;

#endif
