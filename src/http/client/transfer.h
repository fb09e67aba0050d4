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
	struct http_client_request request; /* its texts may be gone once it is under way */
	bool secure;			    /* over TLS */
	bool kept_out;	 /* an address that it may not reach was met: nothing was sent there */
	bool kept_plain; /* ... because it is public, and this is plain HTTP */
	bool tried;	 /* an address that it may reach was tried */
};

/* Is the request one that may be sent? E_INVALID */
status transfer_check(struct ctx *cx, const struct http_client_request *r) MUST_USE;

/* A request that was checked, and the rules of client.h. cx's arena, t and *headers outlive the transfer. */
void transfer_set_up(struct ctx *cx, CURL *curl, struct transfer *t, struct curl_slist **headers);

/* What code means, as http_client_run says it; why is what curl wrote about it, or "". */
status transfer_refuse(struct ctx *cx, CURL *curl, const struct transfer *t, CURLcode code, const char *why)
	MUST_USE;

#endif
