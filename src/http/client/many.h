/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many: several requests under way at once, on one thread, and their answers piece by piece.
 *
 *	begin --> [head, pieces ...] --> done, or cancel
 *
 * The rules are client.h's: no redirects, no proxy, certificates checked, a new connection each time
 * (unless the request says keep), so nothing is ever sent twice behind the caller's back. There is no limit of time but for connecting: streams
 * live as long as they do, and the caller knows what silence means.
 */
#ifndef HTTP_CLIENT_MANY_H
#define HTTP_CLIENT_MANY_H

#include "http/client.h"

struct http_many;
struct http_flight;

struct http_flight_calls {
	/* A piece of the body. False: enough; it is done with E_TOO_LARGE. Begins and cancels nothing. */
	bool (*piece)(void *arg, str bytes);
	/* The end; the flight is freed after it. OK: a whole answer came, whatever its status; else as
	 * http_client_run, and why is a sentence. May begin others. */
	void (*done)(void *arg, const struct http_flight *f, status s, str why);
};

struct http_many *http_many_new(void);
void http_many_free(struct http_many *m); /* what is under way is cancelled */

/* The request is copied, but for its method, its body and `allow`, which outlive the flight. E_INVALID  as
 * http_client_run */
status http_many_begin(struct http_many *m, struct ctx *cx, const struct http_client_request *r,
	const struct http_flight_calls *calls, void *arg, struct http_flight **out_flight) MUST_USE;

/* Breaks it off; nothing is called any more. */
void http_many_cancel(struct http_many *m, struct http_flight *f);

/* Waits until something happened, at most timeout_ms, and calls. Is fd (-1: none) readable, or at its end? */
bool http_many_poll(struct http_many *m, int fd, int timeout_ms);

/* Of an answer whose head has come: its status (0: it has not), and a header's value, or empty. The text lives as
 * long as the flight. */
int http_flight_status(const struct http_flight *f);
str http_flight_header(const struct http_flight *f, const char *name);
str
http_flight_header_at(const struct http_flight *f, const char *name, size_t index); /* the same name again */

/* At least so many bytes of the request have left; 0: certainly none. */
uint64_t http_flight_sent(const struct http_flight *f);

#endif
