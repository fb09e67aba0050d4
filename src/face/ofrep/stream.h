/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream: who follows the changes of an environment. One thread for all of them: a hint of the hub wakes it, and
 * half a second does. With news, and every LIMIT_OFREP_CHECK_US, it asks whether the token behind a ticket is still
 * good; where not, the stream ends.
 */
#ifndef FACE_OFREP_STREAM_H
#define FACE_OFREP_STREAM_H

#include "face/ofrep/ticket.h"
#include "http/http.h"

struct streams;
struct streams *streams_new(void);
void streams_start(struct streams *s, const struct ctx *base);
void streams_stop(struct streams *s);
void streams_free(struct streams *s);

/*
 * Turns the exchange into a stream that tells of versions above since (below 0: of those that come). E_UNAUTHENTICATED, E_SCOPE, E_FORBIDDEN,
 * E_NOT_FOUND  the token, as for an evaluation; E_UNAVAILABLE  too many follow
 */
status
streams_follow(struct streams *s, struct http_exchange *x, const struct ticket *t, int64_t since) MUST_USE;

#endif
