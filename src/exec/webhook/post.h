/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post: one signed request to a connection: who we are, what we say, to where. It sends nothing by itself, but for a
 * ping.
 */
#ifndef EXEC_WEBHOOK_POST_H
#define EXEC_WEBHOOK_POST_H

#include "exec/webhook/hook.h"
#include "http/client.h"

struct post {
	const struct hook *connection;
	const struct hook_secrets *secrets;
	str id;		  /* webhook-id: the same whenever the same is said; no dot */
	str key;	  /* Idempotency-Key; empty: none */
	const char *type; /* NULL: application/json */
	str body;
};

/* The request, in cx's arena; time limits are the caller's to add. */
void post_make(struct ctx *cx, const struct post *p, struct http_client_request *out);

/* May a credential stand in this header? */
bool post_header_valid(str name);

/* Sends a signed message that is no command, in the connection's lane. Errors as http_client_run and lane_enter. */
status post_ping(struct ctx *cx, str org_id, const struct hook *c, const struct hook_secrets *s,
	struct http_client_answer *out) MUST_USE;

#endif
