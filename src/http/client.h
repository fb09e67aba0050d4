/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: one request to somebody else's server, and its whole answer.
 *
 * For our own commands and for whatever speaks JSON over HTTP. A new connection each time. It follows no
 * redirects (a bearer token must not travel), takes no proxy and no password from the environment, trusts
 * only certificates that a known authority has signed for that name, and gives up in time. It does not try
 * again: only the caller knows whether that is safe.
 */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "base/ctx.h"
#include "http/client/guard.h"

/* A header of the caller's own: no character in it that could end its line. */
struct http_client_field {
	str name, value;
};

struct http_client_request {
	const char *method; /* "GET", "POST", "PUT", "PATCH" or "DELETE" */
	str url;	    /* http:// or https://, escaped already */
	str bearer;	    /* empty: none */
	str basic;	    /* instead: user and password, as Basic wants them (base64); empty: none */
	str body;	    /* empty: none */
	const char *type;   /* of the body; NULL: application/json */
	const char *accept; /* NULL: application/json */
	const struct http_client_field *fields;
	size_t field_count;
	const char *ca_file; /* PEM: who may sign certificates; NULL: whom the system trusts */
	int64_t timeout_ms;  /* 0: LIMIT_CLIENT_MS */
	int64_t send_by_us;  /* clock_mono_us: once connected, nothing is sent after this; 0: any time */
	int64_t *out_sent;   /* may be NULL: bytes of it that have left, whatever the result */
	size_t max_answer;   /* bytes; 0: LIMIT_HTTP_ANSWER */
	bool public_only; /* a stranger chose the URL: it must lead to a public address (http/client/guard) */
	const struct http_net *allow; /* ... or into one of these networks */
	size_t allow_count;
	const char
		*allow_name; /* what people call that list, to say where to add to it; NULL: there is none */
	bool keep; /* http/client/many only: uses a connection that is kept from an earlier request, where there is one, and
		    * leaves it open for the next. Then it may be sent a second time, unseen: where that connection ends
		    * before the head of an answer has come. */
};

struct http_client_answer {
	int status;
	str body;	       /* in cx's arena */
	int64_t retry_after_s; /* Retry-After; 0: it did not say */
	str cookie;	       /* "name=value" of its first Set-Cookie; empty: none */
};

/*
 * OK whatever the answer's status is: an answer came.
 *
 * E_INVALID         the URL, the token, a field or the file of authorities is none
 * E_UNAVAILABLE     it cannot be reached, is not who it says it is, or it is too late to send: no byte of the request
 *                   has left
 * E_COMMIT_UNKNOWN  it was sent and no whole answer came: it may have taken effect (GET: E_TIMEOUT)
 * E_TOO_LARGE       the answer is; the request was served
 */
status http_client_run(
	struct ctx *cx, const struct http_client_request *request, struct http_client_answer *out) MUST_USE;

#endif
