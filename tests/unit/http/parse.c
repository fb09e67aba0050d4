/* SPDX-License-Identifier: Apache-2.0 */
/* The parser without sockets: however the bytes are cut, the result is the same. */
#include "../unit.h"

#include "http/parse.h"

#include <stdio.h>
#include <stdlib.h>

/* Feeds text in pieces of `size` and writes what happened: "POST /x 2 headers, body {}, done, 3 left". */
static const char *
describe(struct unit *u, struct http_parse *p, str text, size_t size, size_t max)
{
	enum http_parse_event e = HTTP_PARSE_MORE;
	size_t fed = 0;
	str piece = { 0 };

	http_parse_begin(p, &u->arena);
	while (e == HTTP_PARSE_MORE || e == HTTP_PARSE_HEAD) {
		if (e == HTTP_PARSE_HEAD && http_parse_body(p, max) != OK) {
			e = HTTP_PARSE_BAD;
			break;
		}
		if (e == HTTP_PARSE_MORE) {
			assert_int_equal(piece.len, 0);
			if (fed == text.len)
				break;
			piece = (str){ text.ptr + fed, size < text.len - fed ? size : text.len - fed };
			fed += piece.len;
		}
		e = http_parse_feed(p, &piece);
	}
	if (e == HTTP_PARSE_BAD)
		return arena_printf(&u->arena, "%s: %s", status_info(p->error)->name, p->why).ptr;
	if (e == HTTP_PARSE_MORE)
		return "more";
	return arena_printf(&u->arena, "%s %.*s, %zu headers, body %.*s, %zu left",
		http_method_name(p->method), STR_ARG(p->target), p->header_count, STR_ARG(buf_str(&p->body)),
		piece.len + text.len - fed)
		.ptr;
}

struct row {
	str text;
	const char *result;
};
#define ROW(text, result)                                                                                    \
	{                                                                                                    \
		{ text, sizeof(text) - 1 }, result                                                           \
	}
#define H	"Host: a\r\n"
#define CHUNKED "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"

static const struct row rows[] = {
	ROW("GET /a?b HTTP/1.1\r\n" H "\r\nGET", "GET /a?b, 1 headers, body , 3 left"),
	ROW("\r\nGET / HTTP/1.1\r\n" H "\r\n", "GET /, 1 headers, body , 0 left"),
	ROW("POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabcd", "POST /, 2 headers, body abc, 1 left"),
	ROW("POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nab", "more"),
	ROW("GET / HTTP/1.1\r\n" H "\r", "more"),
	ROW("", "more"),
	ROW(CHUNKED "3\r\nabc\r\n1;x\r\nd\r\n0\r\nT: u\r\n\r\nX", "POST /, 2 headers, body abcd, 1 left"),
	ROW(CHUNKED "3\r\nabc\r\n0\r\n\r", "more"),
	ROW(CHUNKED "9\r\nabcdefghi\r\n0\r\n\r\n", "E_TOO_LARGE: the body is larger than 8 bytes"),
	ROW("POST / HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\n",
		"E_TOO_LARGE: the body is larger than 8 bytes"),
	ROW("GET / HTTP/1.1\r\n" H "A: b\rC\r\n\r\n", "E_BAD_REQUEST: a line ends with CR alone"),
	ROW("GET / HTTP/1.1\r\n" H "A: b\nC\r\n\r\n",
		"E_BAD_REQUEST: a character in the head does not belong there"),
	ROW("GET / HTTP/1.1\r\n" H "A : b\r\n\r\n", "E_BAD_REQUEST: a header is not: name, colon, value"),
	ROW("GET / HTTP/1.1\r\n\r\n", "E_BAD_REQUEST: there is no Host"),
	ROW("\r\n\r\n", "E_BAD_REQUEST: there is no first line"),
	ROW("GRAB / HTTP/1.1\r\n", "E_METHOD: no path here takes this method"),
	ROW(CHUNKED "3\r\nabcd", "E_BAD_REQUEST: a chunk does not end where it should"),
	ROW(CHUNKED "g", "E_BAD_REQUEST: a chunk's size is not a number"),
	/* odd, but no two readers would frame it differently */
	ROW("GET / HTTP/1.1\r\n" H "Connection: close,,\x80\r\n\r\n", "GET /, 2 headers, body , 0 left"),
};

static void
cutting_changes_nothing(void **state)
{
	struct http_parse *p = malloc(sizeof(*p));

	(void)state;
	UNIT(u);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t size = 1; size <= rows[i].text.len + 1; size++)
			assert_string_equal(describe(&u, p, rows[i].text, size, 8), rows[i].result);
	free(p);
}

static void
what_the_head_says_is_kept(void **state)
{
	struct http_parse *p = malloc(sizeof(*p));

	(void)state;
	UNIT(u);
	(void)describe(&u, p,
		STR("PUT / HTTP/1.1\r\nhOST:  b:1\t\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\nx"),
		100, 8);
	assert_int_equal(p->method, HTTP_PUT_);
	assert_str(p->headers[0].name, "hOST");
	assert_str(p->headers[0].value, "b:1");
	assert_true(p->expects && p->has_body && p->keep_alive && !p->chunked && !p->old);
	(void)describe(&u, p, STR("GET / HTTP/1.0\r\nExpect: 100-continue\r\nConnection: keep-alive\r\n\r\n"),
		100, 8);
	assert_true(!p->expects && !p->has_body && !p->keep_alive && p->old);
	(void)describe(&u, p, STR("GET / HTTP/1.1\r\n" H "Connection: foo, Close\r\n\r\n"), 100, 8);
	assert_false(p->keep_alive);
	free(p);
}

static void
nothing_is_taken_after_the_end(void **state)
{
	struct http_parse *p = malloc(sizeof(*p));
	str more = STR("more");

	(void)state;
	UNIT(u);
	(void)describe(&u, p, STR("GET / HTTP/1.1\r\n" H "\r\n"), 100, 8);
	assert_int_equal(http_parse_feed(p, &more), HTTP_PARSE_DONE);
	assert_int_equal(more.len, 4);
	(void)describe(&u, p, STR("bad\r\n"), 100, 8);
	assert_int_equal(http_parse_feed(p, &more), HTTP_PARSE_BAD);
	assert_int_equal(more.len, 4);
	free(p);
}

static void
a_body_that_nobody_allowed_is_too_large(void **state)
{
	struct http_parse *p = malloc(sizeof(*p));
	str text = STR("POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc");

	(void)state;
	UNIT(u);
	http_parse_begin(p, &u.arena);
	assert_int_equal(http_parse_feed(p, &text), HTTP_PARSE_HEAD);
	assert_int_equal(http_parse_feed(p, &text), HTTP_PARSE_BAD);
	assert_int_equal(p->error, E_TOO_LARGE);
	free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cutting_changes_nothing),
		cmocka_unit_test(what_the_head_says_is_kept),
		cmocka_unit_test(nothing_is_taken_after_the_end),
		cmocka_unit_test(a_body_that_nobody_allowed_is_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
