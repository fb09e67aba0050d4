/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document: a client that describes itself at an address which is its name (client ID metadata documents).
 *
 *	oauth_new -> document_fetch ... -> oauth_free
 *
 * The name is an https URL with a path. The document is fetched from a public address only (http/client/guard), but for
 * hosts that the settings name; without redirects, bounded in size and time, a few at once; and must give that very
 * URL as its client_id. It is kept for LIMIT_OAUTH_DOCUMENT_US.
 */
#ifndef CORE_OAUTH_DOCUMENT_H
#define CORE_OAUTH_DOCUMENT_H

#include "json/json.h"

struct oauth_options {
	int64_t registrations; /* clients that one address may register in an hour; 0: none does */
	str document_hosts;    /* hosts that may be at a private address; comma-separated, or empty */
	const char *ca_file;   /* who may have signed their certificates; NULL: whom the system trusts */
};

/* One per process, in cx->oauth; its texts outlive it. Used by many threads. */
struct oauth;
struct oauth *oauth_new(const struct oauth_options *o);
void oauth_free(struct oauth *o); /* NULL is fine */
const struct oauth_options *oauth_options(const struct oauth *o);

/* Is it the name of a client that describes itself? */
bool document_is_id(str client_id);

/* For a person: the host of that name. */
str document_host(str client_id);

/*
 * The document, an object whose client_id is that name. Outside a transaction: it waits.
 *
 * E_UNAVAILABLE  it cannot be had, or is not at a public address
 * E_INVALID      it is not the description of this client
 * E_BUSY         others are being fetched
 */
status document_fetch(struct ctx *cx, str client_id, struct json **out_doc) MUST_USE;

#endif
