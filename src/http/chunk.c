/* SPDX-License-Identifier: Apache-2.0 */
/* chunk: a body in chunks (RFC 9112 7.1). Extensions and trailers are checked for form and forgotten. */
#include "http/parse.h"

#define SIZE_MAX_CHUNK (UINT64_C(1) << 40) /* no body is near this; below it sums cannot overflow */

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool
refuse(struct http_parse *p, const char *why)
{
	(void)http_parse_bad(p, E_BAD_REQUEST, why);
	return false;
}

static bool
size_digit(struct http_parse *p, char c)
{
	if (hex(c) < 0)
		return refuse(p, "a chunk's size is not a number");
	p->left = p->left * 16 + (uint64_t)hex(c);
	p->chunk = HTTP_CHUNK_SIZE;
	if (p->left >= SIZE_MAX_CHUNK)
		return refuse(p, "a chunk's size is larger than any body");
	return true;
}

static bool
size(struct http_parse *p, char c)
{
	if (c == '\r')
		p->chunk = HTTP_CHUNK_SIZE_LF;
	else if (c == ';')
		p->chunk = HTTP_CHUNK_EXTENSION;
	else
		return size_digit(p, c);
	return true;
}

/* Text up to CR, then `next`. */
static bool
text(struct http_parse *p, char c, enum http_chunk_state next)
{
	if (c == '\r')
		p->chunk = next;
	else if (!http_is_field_text(c))
		return refuse(p, "a character in a chunk's line does not belong there");
	return true;
}

static bool
expect(struct http_parse *p, char c, char wanted, enum http_chunk_state next)
{
	if (c != wanted)
		return refuse(p, "a chunk does not end where it should");
	p->chunk = next;
	return true;
}

static bool
trailer(struct http_parse *p, char c)
{
	if (c == '\r')
		p->chunk = HTTP_CHUNK_END_LF;
	else if (http_is_token(c))
		p->chunk = HTTP_CHUNK_TRAILER_NAME;
	else
		return refuse(p, "a trailer is not: name, colon, value");
	return true;
}

static bool
trailer_name(struct http_parse *p, char c)
{
	if (c == ':')
		p->chunk = HTTP_CHUNK_TRAILER_VALUE;
	else if (!http_is_token(c))
		return refuse(p, "a trailer is not: name, colon, value");
	return true;
}

/* One byte of framing. */
static bool
step(struct http_parse *p, char c)
{
	switch (p->chunk) {
	case HTTP_CHUNK_SIZE_FIRST:
		p->left = 0;
		return size_digit(p, c);
	case HTTP_CHUNK_SIZE:
		return size(p, c);
	case HTTP_CHUNK_EXTENSION:
		return text(p, c, HTTP_CHUNK_SIZE_LF);
	case HTTP_CHUNK_SIZE_LF:
		return expect(p, c, '\n', p->left ? HTTP_CHUNK_DATA : HTTP_CHUNK_TRAILER);
	case HTTP_CHUNK_DATA_CR:
		return expect(p, c, '\r', HTTP_CHUNK_DATA_LF);
	case HTTP_CHUNK_DATA_LF:
		return expect(p, c, '\n', HTTP_CHUNK_SIZE_FIRST);
	case HTTP_CHUNK_TRAILER:
		return trailer(p, c);
	case HTTP_CHUNK_TRAILER_NAME:
		return trailer_name(p, c);
	case HTTP_CHUNK_TRAILER_VALUE:
		return text(p, c, HTTP_CHUNK_TRAILER_LF);
	case HTTP_CHUNK_TRAILER_LF:
		return expect(p, c, '\n', HTTP_CHUNK_TRAILER);
	case HTTP_CHUNK_END_LF:
		return expect(p, c, '\n', HTTP_CHUNK_DONE);
	case HTTP_CHUNK_DATA:
	case HTTP_CHUNK_DONE:
		break;
	}
	return refuse(p, "a chunk could not be read");
}

/* Everything but data counts, so that a body cannot consist of framing. A byte a chunk is legal, if silly. */
static bool
frame(struct http_parse *p, str *in)
{
	bool counts = p->chunk == HTTP_CHUNK_EXTENSION || p->chunk >= HTTP_CHUNK_TRAILER;

	if (counts && ++p->chunk_lines > LIMIT_HTTP_CHUNK_LINES) {
		(void)http_parse_bad(
			p, E_HEAD_TOO_LARGE, "chunk extensions and trailers are larger than the limit");
		return false;
	}
	if (!step(p, in->ptr[0]))
		return false;
	/* leading zeroes would be framing without end */
	if (p->chunk == HTTP_CHUNK_SIZE && p->left == 0 && ++p->chunk_lines > LIMIT_HTTP_CHUNK_LINES)
		return refuse(p, "a chunk's size is not a number");
	*in = str_skip(*in, 1);
	return true;
}

static bool
data(struct http_parse *p, str *in)
{
	if (!http_body_add(p, in))
		return false;
	if (p->left == 0)
		p->chunk = HTTP_CHUNK_DATA_CR;
	return true;
}

enum http_parse_event
http_chunk_feed(struct http_parse *p, str *in)
{
	while (in->len > 0 && p->chunk != HTTP_CHUNK_DONE)
		if (!(p->chunk == HTTP_CHUNK_DATA ? data(p, in) : frame(p, in)))
			return HTTP_PARSE_BAD;
	if (p->chunk != HTTP_CHUNK_DONE)
		return HTTP_PARSE_MORE;
	p->state = HTTP_READS_NOTHING;
	return HTTP_PARSE_DONE;
}
