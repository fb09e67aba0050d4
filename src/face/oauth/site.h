/* SPDX-License-Identifier: Apache-2.0 */
/* site: who we are for who asks, what a form says, and how an error is said. Private to oauth. */
#ifndef FACE_OAUTH_SITE_H
#define FACE_OAUTH_SITE_H

#include "core/ident/caller.h"
#include "http/http.h"

/*
 * Our own name, "https://host": the issuer, and with /mcp behind it the resource.
 *
 * E_NOT_FOUND  nobody has said by which name we are reached, and it is not a loopback address
 */
status site_base(struct http_exchange *x, const bool *nameless, str *out_base) MUST_USE;
str site_resource(struct arena *a, str base);

/* Who came, in the exchange's arena. Only a session: nobody agrees with a token. */
struct credential *site_person(const struct http_exchange *x);

/* From elsewhere a browser does not send our cookie, so that none has come says nothing yet. */
bool site_from_elsewhere(const struct http_exchange *x);

/* A parameter of a form: its name, and where its value goes in a struct. */
struct site_param {
	const char *name;
	size_t offset;
};

/* Reads those of the table (ended by a zero row) and passes over others. E_INVALID  twice, or not decodable */
status site_params(struct ctx *cx, str form, const struct site_param *table, void *out) MUST_USE;

/* Pages of any origin may ask: who they are, no cookie says. */
void site_allow(struct http_exchange *x);

/* {"error", "error_description"} for s; code NULL: what s is called there. */
void site_refuse(struct http_exchange *x, status s, const char *code);

/* An exchange whose answer is JSON: the writer, with an object open. */
struct json_out;
void site_begin(struct http_exchange *x, int http, struct json_out *o);

#endif
