/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line: a connection without TLS that curl has opened, guarded and used once; from then on, one request after another.
 *
 *	http_line_new --> suits --> begin --> go_on ... DONE --> suits ...
 *	                                         `----> LOST, BAD, ENOUGH: free
 *
 * It exists because what libcurl does for a request costs more than all else that a call through us needs. It knows
 * no more than that: names, addresses, certificates and whatever is unusual are libcurl's. One thread at a time. Private to http.
 */
#ifndef HTTP_CLIENT_LINE_H
#define HTTP_CLIENT_LINE_H

#include "http/client.h"

struct http_line;

enum http_line_state {
	HTTP_LINE_WAITS,
	HTTP_LINE_DONE,	  /* a whole answer came */
	HTTP_LINE_LOST,	  /* the connection ended before */
	HTTP_LINE_BAD,	  /* what came is not HTTP */
	HTTP_LINE_ENOUGH, /* piece said so */
};

/* fd is the line's from here on, and does not block. NULL: the address has no such line; fd is closed. */
struct http_line *http_line_new(int fd, str url);
void http_line_free(struct http_line *l); /* NULL is fine */

/* May r go over it: does it lead there, may it, and is it still open and silent? */
bool http_line_suits(const struct http_line *l, const struct http_client_request *r);

/* Sends what it can; LOST where that is nothing. The answer's head, and what is still to be sent, are in cx's arena; r's
 * body outlives the answer. */
enum http_line_state
http_line_begin(struct http_line *l, struct ctx *cx, const struct http_client_request *r);

/* Goes on as far as it can without waiting; piece as in http/client/many.h. */
enum http_line_state http_line_go_on(struct http_line *l, bool (*piece)(void *arg, str bytes), void *arg);

/* After DONE: may another request follow? */
bool http_line_stays(const struct http_line *l);

int http_line_fd(const struct http_line *l);
short http_line_events(const struct http_line *l); /* what it waits for, as poll(2) has it */

/* Of the answer whose head has come: its status (0: it has not); of a header that is there several times, the one at index, or empty. */
int http_line_status(const struct http_line *l);
str http_line_header(const struct http_line *l, str name, size_t index);

uint64_t http_line_sent(const struct http_line *l); /* bytes that the system has taken */
bool http_line_heard(const struct http_line *l);    /* has any byte of an answer come? */
bool http_line_gave(const struct http_line *l);	    /* ... and a piece been called with? */

#endif
