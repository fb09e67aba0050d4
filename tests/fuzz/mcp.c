/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz mcp: a request as MCP reads it (head, then an empty line, then the body), and an event stream as our client does.
 *
 * A message that was taken has a form that the engine relies on; an event stream gives the same events however it
 * is cut into pieces.
 */
#include "base/check.h"
#include "face/mcp/call.h"
#include "http/client/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEADERS 16u

/* --- a request --- */

static void
check_message(const struct mcp_call *c)
{
	if (c->batch) {
		CHECK(c->batch->type == JSON_ARRAY && !c->method.len && !c->answer);
		return;
	}
	CHECK(!c->id || c->id->type == JSON_STRING || c->id->type == JSON_NUMBER);
	CHECK(c->answer ? c->id != NULL && !c->method.len : c->method.len > 0);
	CHECK(!c->params || c->params->type == JSON_OBJECT);
	CHECK(!c->meta || c->meta->type == JSON_OBJECT);
}

static str
read_head(str text, struct http_header *headers, struct http_request *req)
{
	str line, rest = text;

	req->headers = headers;
	while (req->header_count < HEADERS && str_cut(rest, '\n', &line, &rest) && line.len) {
		struct http_header *h = &headers[req->header_count];

		if (str_cut(line, ':', &h->name, &h->value))
			req->header_count++;
	}
	return rest;
}

static void
read_request(struct ctx *cx, str text)
{
	struct mcp m = { .host = &mcp_fixture_host };
	struct http_header headers[HEADERS];
	struct http_exchange x;
	struct mcp_call c = { .mcp = &m, .x = &x, .cx = cx };
	str body;

	http_exchange_init(&x, cx);
	body = read_head(text, headers, &x.req);
	if (header_check_host(&c) != OK || header_check_accept(&c) != OK)
		CHECK(c.http >= 400 && c.http < 500);
	c.code = c.http = 0;
	if (message_read(&c, body) != OK) {
		CHECK(str_is_utf8(message_error(&c, cx->error.code)));
		return;
	}
	check_message(&c);
	if (c.batch || c.answer)
		return;
	c.modern = true;
	if (header_check_modern(&c) != OK)
		CHECK(c.code < 0 && c.http == 400);
}

/* --- an event stream --- */

static void
note(void *arg, str event)
{
	struct buf *story = arg;

	buf_add(story, event);
	buf_add(story, STR("\n\n"));
}

static str
read_events(struct arena *a, str text, size_t piece)
{
	struct events e;
	struct buf story;
	bool more = true;

	events_init(&e, a, 4096);
	buf_init(&story, a, 16 * MIB);
	while (more && text.len) {
		size_t n = piece < text.len ? piece : text.len;

		more = events_feed(&e, (str){ text.ptr, n }, note, &story);
		text = str_skip(text, n);
	}
	buf_add(&story, buf_str(&e.id));
	buf_printf(&story, "%d %d", more, e.retry_ms >= 0);
	return buf_str(&story);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a;
	struct ctx cx;
	str text;

	if (size < 1 || size > 64 * KIB)
		return 0;
	text = (str){ (const char *)data + 1, size - 1 };
	arena_init(&a, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &a);
	read_request(&cx, text);
	CHECK(str_eq(read_events(&a, text, SIZE_MAX), read_events(&a, text, (size_t)data[0] % 67 + 1)));
	arena_done(&a);
	return 0;
}
