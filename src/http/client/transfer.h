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
};

/* The request and the rules of client.h. cx's arena, t and *headers outlive the transfer. E_INVALID */
status transfer_set_up(struct ctx *cx, CURL *curl, struct transfer *t, struct curl_slist **headers) MUST_USE;

/* What code means, as http_client_run says it; why is what curl wrote about it, or "". */
status transfer_refuse(struct ctx *cx, CURL *curl, const struct transfer *t, CURLcode code, const char *why)
	MUST_USE;

#endif
