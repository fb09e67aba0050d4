/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authorization: other MCP servers that want OAuth (EX-3): who agrees, where the tokens are, whose turn it is.
 *
 *	'' --401--> needed --authorize--> [somebody agrees there] --callback--> given --refresh--> given
 *	              ^------------------- a token that is refused, or forgotten ---'
 *
 * While it is needed nothing is sent to the server, but for an admin who asks for its tools (refresh). A way back is good
 * once, for ten minutes, and only for the admin who went. All tokens are in the safe. Of several processes one renews
 * them at a time: it takes a turn (LIMIT_UPSTREAM_TURN_US) with a number, and what it got is stored only while the
 * number is its own; who forgets the authorization, or removes the server, takes the next number.
 */
#ifndef EXEC_UPSTREAM_AUTHORIZATION_H
#define EXEC_UPSTREAM_AUTHORIZATION_H

#include "exec/mcp/client.h"
#include "exec/upstream/upstream.h"

#define AUTHORIZATION_CALLBACK "/oauth/upstream/callback"

enum { AUTHORIZATION_BEGIN, AUTHORIZATION_FINISH, AUTHORIZATION_FORGET };
extern const struct op authorization_ops[]; /* by these; and a zero record */

/* What one client keeps, by mcp_store; for one client, which it outlives. */
struct authorization;
struct authorization *authorization_new(const struct upstream *of);
void authorization_free(struct authorization *a); /* NULL is fine */
struct mcp_store authorization_store(struct authorization *a);

/*
 * What an admin says of OAuth when a server is added ({clientId, clientSecret, issuer, grant, scope}): what can be
 * shown, and the secret. E_INVALID
 */
status authorization_check(struct ctx *cx, const struct json *said, str *out_shown, str *out_secret) MUST_USE;
/* The same as the client takes it; texts of shown and secret. */
status authorization_read(struct ctx *cx, str shown, str secret, struct mcp_oauth *out) MUST_USE;

/* Outside of any transaction: nothing more is sent until somebody has authorized it. On record. */
status authorization_need(struct ctx *cx, const struct upstream *of) MUST_USE;
/* Inside tx_run, with the upstream's lock: it has answered after all. */
status authorization_unneed(struct ctx *cx, const struct upstream *of) MUST_USE;

/* Inside tx_run, with the upstream's lock: nothing of it is left. */
status authorization_drop(struct ctx *cx, const struct upstream *of) MUST_USE;

/* Outside of any transaction: tells the authorization server, as far as it can be told; who fails has told nobody. */
void authorization_revoke(struct ctx *cx, str org_id, str id);

#endif
