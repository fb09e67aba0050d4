/* SPDX-License-Identifier: Apache-2.0 */
/* answer: an exchange's answer as bytes: status line, headers (the security headers on all), body. */
#ifndef HTTP_ANSWER_H
#define HTTP_ANSWER_H

#include "http/http.h"

/* What all answers of a server share; kept so that a request prints as little as possible. */
struct http_answers {
	bool tls;
	int64_t date_s; /* the second that `date` shows */
	char date[64];	/* "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n" */
};

struct http_answer {
	str head, body;
};

/*
 * Makes the bytes of x's answer, in its arena. An answer that does not fit, or that
 * no handler filled, must have been replaced before. close: the connection ends with it.
 */
struct http_answer http_answer_make(struct http_answers *all, struct http_exchange *x, bool close);

/* Did the handler leave an answer that can be sent? */
bool http_answer_ok(const struct http_exchange *x);

/* Forgets what a handler has written, before a refusal. */
void http_answer_clear(struct http_exchange *x);

#endif
