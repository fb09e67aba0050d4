/* SPDX-License-Identifier: Apache-2.0 */
/* transfer: what both clients (client.c, many.c) do to libcurl's handle. Private to http. */
#ifndef HTTP_CLIENT_TRANSFER_H
#define HTTP_CLIENT_TRANSFER_H

#include "http/client.h"

#include <curl/curl.h>

/* With values of ours it fails only where there is no memory. */
#define SET(curl, option, value) CHECK(curl_easy_setopt((curl), (option), (value)) == CURLE_OK)

/* One request under way. It stays where it is until curl is done with it. */
struct transfer {
	struct http_client_request request;
	bool kept_out; /* it has an address that may not be reached: nobody has tried that one */
	bool tried;    /* ... and one that may */
	bool sends;    /* connected, and allowed to begin */
	int socket;    /* the last one that was opened */
};

#define TRANSFER_AGENT	"countersign/" COUNTERSIGN_VERSION
#define TRANSFER_BROKEN "it ended the connection before its answer was complete"

/* Is the request one that may be sent? E_INVALID */
status transfer_check(struct ctx *cx, const struct http_client_request *r) MUST_USE;

/* Its headers, but for those that say where it goes and how long it is; in cx's arena. */
const struct http_client_field *
transfer_fields(struct ctx *cx, const struct http_client_request *r, size_t *out_count);
bool transfer_has_body(const struct http_client_request *r);

/* May it reach this address? */
bool transfer_allows(const struct http_client_request *r, const struct sockaddr *address);

/* A request that was checked, and the rules of client.h. cx's arena, t and *headers outlive the transfer. */
void transfer_set_up(struct ctx *cx, CURL *curl, struct transfer *t, struct curl_slist **headers);

/* What code means, as http_client_run says it; why is what curl wrote about it, or "". */
status transfer_refuse(struct ctx *cx, CURL *curl, const struct transfer *t, CURLcode code, const char *why)
	MUST_USE;

/* It was sent, and there is no whole answer. */
status transfer_lost(struct ctx *cx, const struct http_client_request *r, const char *reason) MUST_USE;

#endif
