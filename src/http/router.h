/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router: finds the route for a method and a path.
 *
 * The table becomes a tree of segments, made once. A literal segment wins over
 * {name}, {name} over {*}; where the winner leads nowhere, the next is tried.
 */
#ifndef HTTP_ROUTER_H
#define HTTP_ROUTER_H

#include "http/http.h"

struct http_node;

/* E_INVALID  a path is malformed, or two routes are the same */
status http_router_new(struct ctx *cx, const struct http_route *routes, size_t count,
	struct http_node **out_router) MUST_USE;

struct http_match {
	const struct http_route *route;
	str path;		 /* decoded */
	str params[HTTP_PARAMS]; /* decoded */
	unsigned allowed;	 /* bit 1 << method: what this path takes */
};

/*
 * Looks path (raw, without the query) up. Decoded text is in cx->arena.
 *
 * E_BAD_REQUEST  the path cannot be decoded, or has dot segments
 * E_NOT_FOUND    no route has this path
 * E_METHOD       it has, but not with this method; out_match->allowed is set
 */
status http_router_find(struct ctx *cx, const struct http_node *router, enum http_method method, str path,
	struct http_match *out_match) MUST_USE;

/* "GET, HEAD, POST" */
str http_router_allow(struct arena *a, unsigned allowed);

/*
 * Percent-decoding; plus: '+' is a space (queries). Text without escapes is given back as it is.
 * False: a bad escape, NUL, bad UTF-8, or no room in the arena.
 */
bool http_percent_decode(struct arena *a, str raw, bool plus, str *out_text);

#endif
