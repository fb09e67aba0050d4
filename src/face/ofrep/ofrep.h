/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ofrep: the OpenFeature Remote Evaluation Protocol 0.3 (FL-6), so that every OpenFeature SDK works unchanged.
 *
 *	POST /ofrep/v1/evaluate/flags/{key}    one flag or config
 *	POST /ofrep/v1/evaluate/flags          all that the token may see; ETag, 304, and where to hear of changes
 *	GET  /ofrep/v1/events?ticket=...       Server-Sent Events: "refetchEvaluation", no values
 *
 * A token for exactly one environment uses them as they are; any other has the environment in its base URL,
 * .../api/v1/envs/{id}. Bodies and codes are the protocol's, not the envelope of our own API. Pages of any
 * origin may ask (CORS): who they are says the token, and cookies are not looked at.
 */
#ifndef FACE_OFREP_OFREP_H
#define FACE_OFREP_OFREP_H

#include "http/http.h"

struct ofrep;

#define OFREP_ROUTES 14

struct ofrep *ofrep_new(void);
void ofrep_routes(struct ofrep *o, struct http_route out[OFREP_ROUTES]);

/* Begins to tell who follows of changes; base: what its ctx begins as. Before any request. */
void ofrep_start(struct ofrep *o, const struct ctx *base);
void ofrep_stop(struct ofrep *o); /* before the server is freed: it holds streams */
void ofrep_free(struct ofrep *o); /* after it. NULL is fine */

/* For http_options.refuse: is it a request of ours, and how we say that it is refused. */
bool ofrep_owns(const struct http_exchange *x);
void ofrep_refuse(struct http_exchange *x, status s);

#endif
