/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls: TLS 1.2 and 1.3 on memory: ciphertext in, plaintext out, and the other way round. Knows no sockets.
 */
#ifndef HTTP_TLS_H
#define HTTP_TLS_H

#include "base/ctx.h"

struct http_tls_context; /* a certificate and its key */
struct http_tls;	 /* one connection */

/* E_INVALID  a file cannot be read, is not PEM, or key and certificate do not belong together */
status http_tls_context_new(struct ctx *cx, const char *certificate, const char *key,
	struct http_tls_context **out_context) MUST_USE;
void http_tls_context_free(struct http_tls_context *t);

struct http_tls *http_tls_new(struct http_tls_context *t);
void http_tls_free(struct http_tls *t);

/* Ciphertext from the network. */
void http_tls_feed(struct http_tls *t, str bytes);

enum http_tls_event { HTTP_TLS_TEXT, HTTP_TLS_MORE, HTTP_TLS_END, HTTP_TLS_BROKEN };

/* The next plaintext, at most `room` bytes. MORE: feed first. There may be something to take out after each
 * call. */
enum http_tls_event http_tls_read(struct http_tls *t, char *out, size_t room, size_t *out_len);

/* Is the handshake over? */
bool http_tls_ready(const struct http_tls *t);

/* Encrypts. False: the connection is broken. */
bool http_tls_write(struct http_tls *t, str text);

/* Says goodbye; nothing can be written afterwards. */
void http_tls_end(struct http_tls *t);

/* Ciphertext for the network, malloc'd and now the caller's; NULL where there is none. */
char *http_tls_take(struct http_tls *t, size_t *out_len);

#endif
