/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz http: bytes into the parser, as a connection would feed them, and on into the router.
 *
 * The first byte says how the rest is cut into pieces. However it is cut, the
 * same requests must come out and the same error; an accepted request has one
 * Host, one length, and no byte in its head that two programs could read differently.
 */
#include "base/check.h"
#include "http/parse.h"
#include "http/router.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY_MAX 4096u

static void
nothing(struct http_exchange *x, void *arg)
{
	(void)x;
	(void)arg;
}

static const struct http_route routes[] = {
	{ HTTP_GET_, "/", .handler = nothing },
	{ HTTP_GET_, "/notes/{id}", .handler = nothing },
	{ HTTP_POST_, "/notes/{id}/parts", .handler = nothing },
	{ HTTP_GET_, "/notes/new", .handler = nothing },
	{ HTTP_GET_, "/files/{*}", .handler = nothing },
};

struct run {
	struct arena arena;
	struct ctx cx;
	struct buf story; /* what came out, to be compared */
	struct http_parse parse;
};

static size_t
count(const struct http_parse *p, str name)
{
	size_t n = 0;

	for (size_t i = 0; i < p->header_count; i++)
		n += str_eq_nocase(p->headers[i].name, name);
	return n;
}

/* What a stranger would check of a head that was accepted. */
static void
check_head(const struct http_parse *p)
{
	CHECK(p->old ? count(p, STR("host")) <= 1 : count(p, STR("host")) == 1);
	CHECK(count(p, STR("content-length")) + count(p, STR("transfer-encoding")) <= 1);
	CHECK(p->chunked == (count(p, STR("transfer-encoding")) == 1));
	for (size_t i = 0; i < p->head_len; i++) {
		char c = p->head[i], before = i ? p->head[i - 1] : ' ';
		char after = i + 1 < p->head_len ? p->head[i + 1] : ' ';

		CHECK(c != '\0');
		CHECK(c != '\n' || before == '\r');
		CHECK(c != '\r' || after == '\n');
		CHECK(before != '\n' || (c != ' ' && c != '\t'));
	}
}

static void
look_up(struct run *r)
{
	struct http_node *router;
	struct http_match m;
	struct http_exchange x;
	str path, name, value;
	size_t at = 0;
	bool ok;

	CHECK(http_router_new(&r->cx, routes, sizeof(routes) / sizeof(routes[0]), &router) == OK);
	http_exchange_init(&x, &r->cx);
	if (!str_cut(r->parse.target, '?', &path, &x.req.query))
		path = r->parse.target;
	if (http_router_find(&r->cx, router, r->parse.method, path, &m) == OK) {
		CHECK(m.route && str_is_utf8(m.path));
		for (size_t i = 0; i < HTTP_PARAMS; i++)
			CHECK(str_is_utf8(m.params[i]));
	}
	while (http_query_next(&x, &at, &name, &value, &ok))
		CHECK(at <= x.req.query.len);
}

static void
tell(struct run *r, enum http_parse_event e)
{
	struct http_parse *p = &r->parse;

	if (e == HTTP_PARSE_BAD) {
		buf_printf(&r->story, "%s %s\n", status_info(p->error)->name, p->why);
	} else if (e == HTTP_PARSE_HEAD) {
		check_head(p);
		look_up(r);
		buf_printf(&r->story, "%d %.*s %zu %d %d\n", (int)p->method, STR_ARG(p->target),
			p->header_count, p->keep_alive, p->expects);
		for (size_t i = 0; i < p->header_count; i++)
			buf_printf(&r->story, "%.*s=%.*s\n", STR_ARG(p->headers[i].name),
				STR_ARG(p->headers[i].value));
	} else if (e == HTTP_PARSE_DONE) {
		CHECK(p->body.len <= BODY_MAX && (p->chunked || p->body.len == p->length));
		buf_add(&r->story, buf_str(&p->body));
		buf_add_char(&r->story, '\n');
	}
}

/* One piece. False: nothing more can come of this connection. */
static bool
feed(struct run *r, str piece)
{
	for (;;) {
		enum http_parse_event e = http_parse_feed(&r->parse, &piece);

		tell(r, e);
		if (e == HTTP_PARSE_HEAD && http_parse_body(&r->parse, BODY_MAX) != OK)
			e = HTTP_PARSE_BAD;
		if (e == HTTP_PARSE_BAD)
			return false;
		if (e == HTTP_PARSE_DONE)
			http_parse_begin(&r->parse, &r->arena);
		if (e == HTTP_PARSE_MORE) {
			CHECK(piece.len == 0);
			return true;
		}
	}
}

static struct run *
run(str text, size_t size)
{
	struct run *r = malloc(sizeof(*r));
	bool open = true;

	CHECK(r);
	arena_init(&r->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&r->cx, &r->arena);
	buf_init(&r->story, &r->arena, 16 * MIB);
	http_parse_begin(&r->parse, &r->arena);
	while (open && text.len > 0) {
		size_t n = size < text.len ? size : text.len;

		open = feed(r, (str){ text.ptr, n });
		text = str_skip(text, n);
	}
	return r;
}

static void
drop(struct run *r)
{
	arena_done(&r->arena);
	free(r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run *whole, *cut;
	str text;

	if (size < 1 || size > 64 * KIB)
		return 0;
	text = (str){ (const char *)data + 1, size - 1 };
	whole = run(text, SIZE_MAX);
	cut = run(text, (size_t)data[0] % 67 + 1);
	CHECK(str_eq(buf_str(&whole->story), buf_str(&cut->story)));
	drop(whole);
	drop(cut);
	return 0;
}
