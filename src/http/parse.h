/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse: bytes into requests, without sockets.
 *
 *	http_parse_begin -> feed ... HEAD -> http_parse_body -> feed ... DONE -> begin (next request)
 *	                      `--------------------`-------------> BAD: answer, then close
 *
 * Two readers look at each head: this module, line by line as it arrives, and
 * llhttp over the whole. Both must like it and agree on its framing. Bodies
 * are counted or de-chunked here: llhttp 8.1 is loose about trailers.
 * How the bytes are cut into pieces never changes the result.
 */
#ifndef HTTP_PARSE_H
#define HTTP_PARSE_H

#include "base/limits.h"
#include "http/http.h"

enum http_parse_event {
	HTTP_PARSE_MORE, /* everything was taken, and more is needed */
	HTTP_PARSE_HEAD, /* the head is complete: say http_parse_body, then go on */
	HTTP_PARSE_DONE, /* the request is complete; what is left belongs to the next one */
	HTTP_PARSE_BAD,	 /* error and why say what is wrong; nothing after it can be trusted */
};

enum http_chunk_state {
	HTTP_CHUNK_SIZE_FIRST,
	HTTP_CHUNK_SIZE,
	HTTP_CHUNK_EXTENSION,
	HTTP_CHUNK_SIZE_LF,
	HTTP_CHUNK_DATA,
	HTTP_CHUNK_DATA_CR,
	HTTP_CHUNK_DATA_LF,
	HTTP_CHUNK_TRAILER,
	HTTP_CHUNK_TRAILER_NAME,
	HTTP_CHUNK_TRAILER_VALUE,
	HTTP_CHUNK_TRAILER_LF,
	HTTP_CHUNK_END_LF,
	HTTP_CHUNK_DONE,
};

struct http_parse {
	enum { HTTP_READS_HEAD, HTTP_READS_LENGTH, HTTP_READS_CHUNKS, HTTP_READS_NOTHING } state;

	/* what the head says, from HEAD on; all text points into head[] */
	enum http_method method;
	str target;    /* a path, with its query */
	str host;      /* Host; empty: there is none */
	str authority; /* what an absolute target names, which is Host again; empty: it was a path */
	size_t header_count;
	struct http_header headers[LIMIT_HTTP_HEADERS];
	bool old;	 /* HTTP/1.0 */
	bool keep_alive; /* the client wants, and may have, another request */
	bool chunked;
	bool expects; /* Expect: 100-continue */
	bool has_body;
	uint64_t length; /* Content-Length, 0 where there is none */

	struct buf body;

	status error;
	const char *why;

	/* private */
	struct arena *arena;
	enum http_chunk_state chunk;
	uint64_t left; /* of the body or chunk */
	size_t chunk_lines;
	size_t lines, line_start;
	bool has_length, has_coding, skipped_line, after_cr;
	size_t hosts;
	size_t head_len;
	char head[LIMIT_HTTP_HEAD];
};

void http_parse_begin(struct http_parse *p, struct arena *a);

/* Takes from *in what it needs. After BAD only http_parse_begin makes sense. */
enum http_parse_event http_parse_feed(struct http_parse *p, str *in);

/* After HEAD: a body of at most max bytes may come. Without this none may. E_TOO_LARGE  it announces more */
status http_parse_body(struct http_parse *p, size_t max) MUST_USE;

/* Has any byte of a request come? */
static inline bool
http_parse_began(const struct http_parse *p)
{
	return p->head_len > 0;
}

/* --- between parse.c and chunk.c --- */
bool http_is_host(str host);	 /* a name or an address, and perhaps a port */
bool http_is_token(char c);	 /* may stand in a method or a header's name */
bool http_is_field_text(char c); /* may stand in a header's value */
enum http_parse_event http_parse_bad(struct http_parse *p, status error, const char *why);
enum http_parse_event http_chunk_feed(struct http_parse *p, str *in);
bool http_body_add(struct http_parse *p, str *in); /* up to p->left bytes; false where it does not fit */

#endif
