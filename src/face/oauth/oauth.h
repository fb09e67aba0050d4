/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oauth: the way in for MCP clients that a person lets in (OAuth 2.1; docs/oauth.md).
 *
 *	/mcp says 401 --> metadata (RFC 9728, 8414) --> /oauth/register (RFC 7591), or a client ID metadata document
 *	  --> /oauth/authorize: sign in, read, agree --> code --> /oauth/token --> /mcp --> ... /oauth/revoke (RFC 7009)
 *
 *	/oauth/upstream/callback: where people come back to who have let *us* in at another MCP server (exec/upstream)
 *
 * Without public-url there is it on a loopback address only, under whatever loopback name it is asked by: other
 * machines would have to believe Host. What decides lives in core/oauth; here are forms, pages and errors.
 */
#ifndef FACE_OAUTH_OAUTH_H
#define FACE_OAUTH_OAUTH_H

#include "http/http.h"

#define OAUTH_ROUTES   17u
#define OAUTH_METADATA "/.well-known/oauth-protected-resource/mcp"

/* Writes OAUTH_ROUTES routes to out. nameless: other machines reach us, and no public URL says by which name; it
 * outlives the server. */
status oauth_routes(struct ctx *cx, bool *nameless, struct http_route *out) MUST_USE;

#endif
