/* SPDX-License-Identifier: Apache-2.0 */
/* The promises of http.h that can be seen from outside: framing, routing, order, stopping. */
#include "fixture.h"

static void
show_params(struct http_exchange *x, void *arg)
{
	str q = STR("-");

	(void)arg;
	(void)http_query(x, STR("q"), &q);
	x->status = 200;
	x->content_type = "application/json";
	buf_printf(&x->body, "%.*s|%.*s|%.*s|%.*s", STR_ARG(x->req.path), STR_ARG(x->req.params[0]),
		STR_ARG(x->req.params[1]), STR_ARG(q));
}

static void
say_nothing(struct http_exchange *x, void *arg)
{
	(void)x;
	(void)arg;
}

static void
say_too_much(struct http_exchange *x, void *arg)
{
	char piece[1000] = { 0 };

	(void)arg;
	x->status = 200;
	x->content_type = "application/json";
	for (size_t i = 0; i <= LIMIT_HTTP_ANSWER / sizeof(piece); i++)
		buf_add(&x->body, (str){ piece, sizeof(piece) });
}

static void
say_more(struct http_exchange *x, void *arg)
{
	(void)arg;
	x->status = 418;
	x->content_type = "text/html; charset=utf-8";
	http_add_header(x, STR("X-Extra"), STR("yes"));
	http_add_header(x, STR("Cache-Control"), STR("no-cache"));
	buf_add(&x->body, STR("<p>tea</p>"));
}

static const struct http_route routes[] = {
	{ HTTP_GET_, "/", HTTP_INLINE, .handler = say_hello },
	{ HTTP_GET_, "/worker", HTTP_WORKER, .handler = say_hello, .arg = (void *)(uintptr_t) "\"worked\"" },
	{ HTTP_GET_, "/block", HTTP_WORKER, .handler = block },
	{ HTTP_POST_, "/echo", HTTP_WORKER, .takes_body = true, .handler = echo },
	{ HTTP_PUT_, "/small", HTTP_INLINE, .takes_body = true, .body_max = 10, .handler = echo },
	{ HTTP_GET_, "/notes/{id}/parts/{part}", HTTP_INLINE, .handler = show_params },
	{ HTTP_GET_, "/files/{*}", HTTP_INLINE, .handler = show_params },
	{ HTTP_DELETE_, "/notes/{id}", HTTP_INLINE, .handler = say_hello },
	{ HTTP_OPTIONS_, "/notes/{id}", HTTP_INLINE, .handler = say_hello },
	{ HTTP_GET_, "/nothing", HTTP_INLINE, .handler = say_nothing },
	{ HTTP_GET_, "/too-much", HTTP_WORKER, .handler = say_too_much },
	{ HTTP_GET_, "/more", HTTP_INLINE, .handler = say_more },
};

#define H    " HTTP/1.1\r\nHost: a\r\n"
#define POST "POST /echo" H "Content-Type: application/json\r\n"
#define TEN  "0123456789"

struct row {
	const char *name;
	str request;
	const char *answers; /* statuses, then "open" or "closed" */
};
#define ROW(name, request, answers)                                                                          \
	{                                                                                                    \
		name, { request, sizeof(request) - 1 }, answers                                              \
	}

static const struct row rows[] = {
	/* what works */
	ROW("plain", GET("/"), "200 open"),
	ROW("through a worker", GET("/worker"), "200 open"),
	ROW("two pipelined", GET("/worker") GET("/"), "200 200 open"),
	ROW("an empty line before a request", "\r\n" GET("/"), "200 open"),
	ROW("tab and spaces around a value", "GET / HTTP/1.1\r\nHost:\t a \t\r\n\r\n", "200 open"),
	ROW("an empty value", "GET /" H "X-A:\r\n\r\n", "200 open"),
	ROW("Latin-1 in a value", "GET /" H "X-A: \xe9\r\n\r\n", "200 open"),
	ROW("Host with a port", "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "200 open"),
	ROW("Connection: close", "GET /" H "Connection: close\r\n\r\n", "200 closed"),
	ROW("upgrade is ignored", "GET /" H "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "200 open"),
	ROW("HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", "200 closed"),
	ROW("HTTP/1.0 with keep-alive", "GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
		"200 closed"),
	ROW("Content-Length: 0 where no body is taken", "GET /" H "Content-Length: 0\r\n\r\n", "200 open"),
	ROW("a body", POST "Content-Length: 2\r\n\r\n{}", "200 open"),
	ROW("a body and another request", POST "Content-Length: 2\r\n\r\n{}" GET("/"), "200 200 open"),
	ROW("no body where one is taken", "POST /echo" H "\r\n", "200 open"),
	ROW("charset",
		"POST /echo" H "Content-Type: Application/JSON; Charset=UTF-8\r\nContent-Length: 2\r\n\r\n{}",
		"200 open"),
	ROW("quoted charset",
		"POST /echo" H
		"Content-Type: application/json;charset=\"utf-8\"\r\nContent-Length: 2\r\n\r\n{}",
		"200 open"),
	ROW("chunked", POST "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "200 open"),
	ROW("Chunked, in capitals", POST "Transfer-Encoding: Chunked\r\n\r\n0A\r\n" TEN "\r\n0\r\n\r\n",
		"200 open"),
	ROW("chunks with extension and trailer, then another",
		POST "Transfer-Encoding: chunked\r\n\r\n1;a=b;c\r\n{\r\n001\r\n}\r\n0;x\r\nX-T: \t "
		     "y\r\nZ:\r\n\r\n" GET("/"),
		"200 200 open"),
	ROW("exactly the limit",
		"PUT /small" H "Content-Type: application/json\r\nContent-Length: 10\r\n\r\n" TEN,
		"200 open"),
	ROW("expect, with the body at once", POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
		"200 open"),
	ROW("HEAD of a GET route", "HEAD /" H "\r\n", "200 open"),
	ROW("OPTIONS where routed", "OPTIONS /notes/1" H "\r\n", "200 open"),

	/* no route */
	ROW("unknown path", GET("/nope"), "404 open"),
	ROW("unknown path with a body", "POST /nope" H "Content-Length: 2\r\n\r\n{}", "404 closed"),
	ROW("trailing slash", GET("/worker/"), "404 open"),
	ROW("double slash", GET("//worker"), "404 open"),
	ROW("empty parameter", "DELETE /notes/" H "\r\n", "404 open"),
	ROW("too many segments",
		GET("/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29"
		    "/30/31/32/33"),
		"404 open"),
	ROW("another method", "DELETE /" H "\r\n", "405 open"),
	ROW("OPTIONS where not routed", "OPTIONS /" H "\r\n", "405 open"),
	ROW("TRACE", "TRACE /" H "\r\n", "405 closed"),
	ROW("a method nobody knows", "BREW /" H "\r\n", "405 closed"),
	ROW("methods have capital letters", "get /" H "\r\n", "405 closed"),

	/* paths */
	ROW("dot segment", GET("/files/../x"), "400 open"),
	ROW("encoded dot segment", GET("/files/%2e%2E/x"), "400 open"),
	ROW("single dot", GET("/./worker"), "400 open"),
	ROW("bad escape", GET("/files/%zz"), "400 open"),
	ROW("cut escape", GET("/files/%2"), "400 open"),
	ROW("NUL in the path", GET("/files/%00"), "400 open"),
	ROW("newline in the path", GET("/files/%0a"), "400 open"),
	ROW("bad UTF-8 in the path", GET("/files/%ff"), "400 open"),

	/* the first line */
	ROW("absolute form", "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "200 open"),
	ROW("absolute form without a path", "GET https://A:8080 HTTP/1.1\r\nHost: a:8080\r\n\r\n",
		"200 open"),
	ROW("absolute form with a query alone", "GET http://a?x=1 HTTP/1.1\r\nHost: a\r\n\r\n", "200 open"),
	ROW("absolute form of another host", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 closed"),
	ROW("absolute form of another port", "GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 closed"),
	ROW("absolute form with a user", "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 closed"),
	ROW("absolute form without a host", "GET http:/// HTTP/1.1\r\nHost: a\r\n\r\n", "400 closed"),
	ROW("absolute form and no Host", "GET http://a/ HTTP/1.0\r\n\r\n", "400 closed"),
	ROW("another scheme", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 closed"),
	ROW("no path", "GET worker HTTP/1.1\r\nHost: a\r\n\r\n", "400 closed"),
	ROW("asterisk form", "OPTIONS *" H "\r\n", "400 closed"),
	ROW("CONNECT", "CONNECT a:80" H "\r\n", "400 closed"),
	ROW("fragment", "GET /#x" H "\r\n", "400 closed"),
	ROW("bytes over 127 in the target", "GET /\xc3\xa9" H "\r\n", "400 closed"),
	ROW("two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "400 closed"),
	ROW("space at the end", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "400 closed"),
	ROW("tab for a space", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 closed"),
	ROW("no version", "GET /\r\n\r\n", "400 closed"),
	ROW("HTTP/0.9", "GET / HTTP/0.9\r\n\r\n", "400 closed"),
	ROW("HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", "400 closed"),
	ROW("HTTP/2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", "400 closed"),
	ROW("lower-case version", "GET / http/1.1\r\nHost: a\r\n\r\n", "400 closed"),
	ROW("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 closed"),
	ROW("a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400 closed"),
	ROW("garbage", "garbage\r\n", "400 closed"),
	ROW("two empty lines", "\r\n\r\n", "400 closed"),
	ROW("bad method", "G@T /" H "\r\n", "400 closed"),

	/* headers */
	ROW("no Host", "GET / HTTP/1.1\r\n\r\n", "400 closed"),
	ROW("two Hosts", "GET /" H "Host: a\r\n\r\n", "400 closed"),
	ROW("two Hosts in 1.0", "GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", "400 closed"),
	ROW("empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "400 closed"),
	ROW("Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "400 closed"),
	ROW("Host with a dot at the end", "GET / HTTP/1.1\r\nHost: a.example.:80\r\n\r\n", "200 open"),
	ROW("Host with a user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "400 closed"),
	ROW("Host with two ports", "GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n", "400 closed"),
	ROW("Host with a port that is none", "GET / HTTP/1.1\r\nHost: a:x\r\n\r\n", "400 closed"),
	ROW("Host with a port too large", "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", "400 closed"),
	ROW("Host with an open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", "400 closed"),
	ROW("Host with brackets around a name", "GET / HTTP/1.1\r\nHost: [a]\r\n\r\n", "400 closed"),
	ROW("Host with more behind brackets", "GET / HTTP/1.1\r\nHost: [::1]a\r\n\r\n", "400 closed"),
	ROW("Host with an escape", "GET / HTTP/1.1\r\nHost: %61\r\n\r\n", "400 closed"),
	ROW("Host with two dots", "GET / HTTP/1.1\r\nHost: a..b\r\n\r\n", "400 closed"),
	ROW("two Hosts in one", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "400 closed"),
	ROW("a malformed Host in 1.0", "GET / HTTP/1.0\r\nHost: a:1:2\r\n\r\n", "400 closed"),
	ROW("space before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400 closed"),
	ROW("space before the colon elsewhere", "GET /" H "X-A : b\r\n\r\n", "400 closed"),
	ROW("folded header", "GET /" H "X-A: b\r\n c\r\n\r\n", "400 closed"),
	ROW("header folded by a tab", "GET /" H "X-A: b\r\n\tc\r\n\r\n", "400 closed"),
	ROW("space before the first header", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", "400 closed"),
	ROW("no colon", "GET /" H "X-A\r\n\r\n", "400 closed"),
	ROW("no name", "GET /" H ": b\r\n\r\n", "400 closed"),
	ROW("bare LF", "GET / HTTP/1.1\nHost: a\n\n", "400 closed"),
	ROW("bare LF after a header", "GET /" H "X-A: b\n\r\n", "400 closed"),
	ROW("bare LF at the end", "GET /" H "\n", "400 closed"),
	ROW("bare CR in a value", "GET /" H "X-A: b\rc\r\n\r\n", "400 closed"),
	ROW("CR for a line end", "GET /" H "X-A: b\rX-C: d\r\n\r\n", "400 closed"),
	ROW("CR CR LF", "GET /" H "X-A: b\r\r\n\r\n", "400 closed"),
	ROW("end by CR alone", "GET /" H "\rGET / HTTP/1.1\r\n", "400 closed"),
	ROW("NUL in a value", "GET /" H "X-A: b\0c\r\n\r\n", "400 closed"),
	ROW("NUL in a name", "GET /" H "X\0A: b\r\n\r\n", "400 closed"),
	ROW("a control character", "GET /" H "X-A: b\x01\r\n\r\n", "400 closed"),
	ROW("DEL", "GET /" H "X-A: b\x7f\r\n\r\n", "400 closed"),
	ROW("an expectation nobody has", "GET /" H "Expect: cake\r\n\r\n", "417 closed"),
	ROW("a body in a coding", POST "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", "415 closed"),
	ROW("a body in two codings",
		POST "Content-Encoding: identity\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n{}",
		"415 closed"),
	ROW("a body as it is", POST "Content-Encoding: Identity\r\nContent-Length: 2\r\n\r\n{}", "200 open"),

	/* the length of the body */
	ROW("length and chunked", POST "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"400 closed"),
	ROW("chunked and length", POST "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
		"400 closed"),
	ROW("two lengths", POST "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "400 closed"),
	ROW("the same length twice", POST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "400 closed"),
	ROW("a list of lengths", POST "Content-Length: 2, 2\r\n\r\n{}", "400 closed"),
	ROW("plus", POST "Content-Length: +2\r\n\r\n{}", "400 closed"),
	ROW("minus", POST "Content-Length: -2\r\n\r\n{}", "400 closed"),
	ROW("hexadecimal length", POST "Content-Length: 0x2\r\n\r\n{}", "400 closed"),
	ROW("empty length", POST "Content-Length:\r\n\r\n{}", "400 closed"),
	ROW("a length beyond all numbers", POST "Content-Length: 99999999999999999999\r\n\r\n", "400 closed"),
	ROW("2^64 + 2", POST "Content-Length: 18446744073709551618\r\n\r\n{}", "400 closed"),
	ROW("unknown coding", POST "Transfer-Encoding: gzip\r\n\r\n", "400 closed"),
	ROW("xchunked", POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "400 closed"),
	ROW("two codings", POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "400 closed"),
	ROW("chunked, identity", POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", "400 closed"),
	ROW("chunked twice", POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"400 closed"),
	ROW("chunked in 1.0",
		"POST /echo HTTP/1.0\r\nContent-Type: application/json\r\nTransfer-Encoding: "
		"chunked\r\n\r\n0\r\n\r\n",
		"400 closed"),

#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
	ROW("chunk without a size", CHUNKED "\r\n{}\r\n0\r\n\r\n", "400 closed"),
	ROW("chunk of size x", CHUNKED "x\r\n{}\r\n0\r\n\r\n", "400 closed"),
	ROW("chunk of size 0x2", CHUNKED "0x2\r\n{}\r\n0\r\n\r\n", "400 closed"),
	ROW("chunk of size -2", CHUNKED "-2\r\n{}\r\n0\r\n\r\n", "400 closed"),
	ROW("chunk size with a space", CHUNKED "2 \r\n{}\r\n0\r\n\r\n", "400 closed"),
	ROW("chunk size with bare LF", CHUNKED "2\n{}\r\n0\r\n\r\n", "400 closed"),
	ROW("chunk size with CR CR", CHUNKED "2\r\r\n{}\r\n0\r\n\r\n", "400 closed"),
	ROW("chunk longer than it says", CHUNKED "2\r\n{}}\r\n0\r\n\r\n", "400 closed"),
	ROW("chunk data with bare LF", CHUNKED "2\r\n{}\n0\r\n\r\n", "400 closed"),
	ROW("chunk of a terabyte of terabytes", CHUNKED "ffffffffffffffffff\r\n", "400 closed"),
	ROW("LF in a chunk extension", CHUNKED "2;a\nb\r\n{}\r\n0\r\n\r\n", "400 closed"),
	ROW("NUL in a chunk extension", CHUNKED "2;a\0b\r\n{}\r\n0\r\n\r\n", "400 closed"),
	ROW("trailer without a colon", CHUNKED "0\r\nX\r\n\r\n", "400 closed"),
	ROW("folded trailer", CHUNKED "0\r\nX: a\r\n b\r\n\r\n", "400 closed"),
	ROW("trailer with bare LF", CHUNKED "0\r\nX: a\n\r\n", "400 closed"),
	ROW("the end with bare LF", CHUNKED "0\r\n\n", "400 closed"),

	/* bodies nobody wants */
	ROW("body where none is taken", "GET /" H "Content-Length: 2\r\n\r\n{}", "400 closed"),
	ROW("chunked body where none is taken", "GET /" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"400 closed"),
	ROW("one byte over the limit",
		"PUT /small" H "Content-Type: application/json\r\nContent-Length: 11\r\n\r\n" TEN "1",
		"413 closed"),
	ROW("chunks over the limit",
		"PUT /small" H "Content-Type: application/json\r\nTransfer-Encoding: "
		"chunked\r\n\r\n6\r\n012345\r\n5\r\n01234"
		"\r\n0\r\n\r\n",
		"413 closed"),
	ROW("a chunk that says a gigabyte",
		"PUT /small" H
		"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n40000000\r\n"
		"01234567890",
		"413 closed"),
	ROW("100 MB announced", POST "Content-Length: 104857600\r\n\r\n[[[[", "413 closed"),
	ROW("no type", "POST /echo" H "Content-Length: 2\r\n\r\n{}", "415 closed"),
	ROW("a form",
		"POST /echo" H
		"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 2\r\n\r\na=",
		"415 closed"),
	ROW("another charset",
		"POST /echo" H
		"Content-Type: application/json; charset=latin1\r\nContent-Length: 2\r\n\r\n{}",
		"415 closed"),
	ROW("JSON with a suffix",
		"POST /echo" H "Content-Type: application/jsonp\r\nContent-Length: 2\r\n\r\n{}",
		"415 closed"),
};

/* "200 200 open": what came, in the words of the table. */
static void
describe(struct client *c, const struct row *r, char *out, size_t room)
{
	const char *last = strrchr(r->answers, ' ');
	size_t expected = (size_t)(last - r->answers + 1) / 4, at = 0;
	bool head = str_starts(r->request, STR("HEAD"));
	struct got g;

	out[0] = '\0';
	for (size_t i = 0; i < expected && (head ? hear_head(c, &g) : hear_answer(c, &g)); i++)
		at += (size_t)snprintf(out + at, room - at, "%d ", g.status);
	if (strcmp(last + 1, "closed") == 0) {
		(void)snprintf(out + at, room - at, "%s", closed(c) ? "closed" : "more");
		return;
	}
	SAY(*c, GET("/"));
	(void)snprintf(
		out + at, room - at, "%s", hear_answer(c, &g) && g.status == 200 ? "open" : "not open");
}

static void
try_rows(bool byte_by_byte)
{
	START(f, routes);
	int wrong = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char got[128];
		DIAL(c, f);

		for (size_t at = 0; byte_by_byte && at < rows[i].request.len; at++)
			say(&c, (str){ rows[i].request.ptr + at, 1 });
		if (!byte_by_byte)
			say(&c, rows[i].request);
		describe(&c, &rows[i], got, sizeof(got));
		if (strcmp(got, rows[i].answers) != 0) {
			print_message("%s: got %s, not %s\n", rows[i].name, got, rows[i].answers);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

static void
each_request_gets_the_answer_of_the_table(void **state)
{
	(void)state;
	try_rows(false);
}

static void
the_answer_is_the_same_when_bytes_come_singly(void **state)
{
	(void)state;
	try_rows(true);
}

static void
heads_beyond_the_limits_are_431(void **state)
{
	static char big[LIMIT_HTTP_HEAD * 2];
	struct got g;
	size_t n;

	(void)state;
	START(f, routes);
	/* a target of exactly the limit is only unknown; one more is too long */
	for (unsigned more = 0; more < 2; more++) {
		n = (size_t)snprintf(big, sizeof(big), "GET /%0*d HTTP/1.1\r\nHost: a\r\n\r\n",
			(int)(LIMIT_HTTP_TARGET - 1 + more), 7);
		ask(&f, (str){ big, n }, &g);
		assert_int_equal(g.status, more ? 431 : 404);
	}
	/* headers: Host is one of them */
	for (unsigned more = 0; more < 2; more++) {
		n = (size_t)snprintf(big, sizeof(big), "GET / HTTP/1.1\r\nHost: a\r\n");
		for (unsigned i = 1; i < LIMIT_HTTP_HEADERS + more; i++)
			n += (size_t)snprintf(big + n, sizeof(big) - n, "X-%u: a\r\n", i);
		n += (size_t)snprintf(big + n, sizeof(big) - n, "\r\n");
		ask(&f, (str){ big, n }, &g);
		assert_int_equal(g.status, more ? 431 : 200);
	}
	n = (size_t)snprintf(
		big, sizeof(big), "GET / HTTP/1.1\r\nHost: a\r\nX-A: %0*d", (int)LIMIT_HTTP_HEAD, 1);
	ask(&f, (str){ big, n }, &g);
	assert_int_equal(g.status, 431);
	assert_non_null(strstr(g.body, "head_too_large"));
}

static void
endless_chunk_lines_are_refused(void **state)
{
	static char zeroes[LIMIT_HTTP_CHUNK_LINES + 100];
	struct got g;

	(void)state;
	START(f, routes);
	for (int kind = 0; kind < 3; kind++) {
		DIAL(c, f);

		memset(zeroes, kind == 0 ? '0' : 'x', sizeof(zeroes));
		SAY(c, CHUNKED);
		if (kind == 1)
			SAY(c, "2;");
		if (kind == 2)
			SAY(c, "0\r\nX:");
		say(&c, (str){ zeroes, sizeof(zeroes) });
		assert_true(hear_answer(&c, &g));
		assert_int_equal(g.status, kind == 0 ? 400 : 431);
		assert_true(closed(&c));
	}
}

static void
bodies_and_parameters_arrive_as_they_were_sent(void **state)
{
	struct got g;

	(void)state;
	START(f, routes);
	ask(&f, STR(CHUNKED "4\r\n{\"a\"\r\n3;x=y\r\n:1}\r\n0\r\nT: x\r\n\r\n"), &g);
	assert_string_equal(g.body, "{\"a\":1}");
	ask(&f, STR(GET("/notes/a%2Fb/parts/c%20d?x=1&q=%41+b&q=no")), &g);
	assert_string_equal(g.body, "/notes/a/b/parts/c d|a/b|c d|A b");
	ask(&f, STR(GET("/files/a/b%2e/c?q=%zz")), &g);
	assert_string_equal(g.body, "/files/a/b./c|a/b./c||-");
}

static void
pipelined_requests_are_answered_in_order(void **state)
{
	struct got g;

	(void)state;
	START(f, routes);
	DIAL(c, f);
	SAY(c, GET("/block") GET("/") POST "Content-Length: 3\r\n\r\n\"a\"" GET("/worker") GET("/nope"));
	wait_for(&world.entered, 1);
	SAY(c, GET("/more"));
	change(&world.released, 1);
	static const char *const bodies[] = { "\"released\"", "\"hello\"", "\"a\"", "\"worked\"" };
	for (size_t i = 0; i < 4; i++) {
		assert_true(hear_answer(&c, &g));
		assert_string_equal(g.body, bodies[i]);
	}
	assert_true(hear_answer(&c, &g));
	assert_int_equal(g.status, 404);
	assert_true(hear_answer(&c, &g));
	assert_int_equal(g.status, 418);
}

enum { MANY = 12000 }; /* requests: more bytes than are read ahead */

static void *
send_many(void *arg)
{
	static const char one[] = GET("/");
	char *all = malloc(MANY * sizeof(one));

	CHECK(all);
	for (size_t i = 0; i < MANY; i++)
		memcpy(all + i * (sizeof(one) - 1), one, sizeof(one) - 1);
	say(arg, (str){ all, MANY * (sizeof(one) - 1) });
	free(all);
	return NULL;
}

static void
much_that_is_sent_ahead_waits_and_is_answered(void **state)
{
	pthread_t sender;
	struct got g;

	(void)state;
	START(f, routes);
	DIAL(c, f);
	SAY(c, GET("/block"));
	wait_for(&world.entered, 1);
	/* somebody else sends: the server does not read it all before it is answered */
	assert_int_equal(pthread_create(&sender, NULL, send_many, &c), 0);
	change(&world.released, 1);
	assert_true(hear_answer(&c, &g));
	assert_string_equal(g.body, "\"released\"");
	for (size_t i = 0; i < MANY; i++) {
		assert_true(hear_answer(&c, &g));
		assert_string_equal(g.body, "\"hello\"");
	}
	assert_int_equal(pthread_join(sender, NULL), 0);
}

static void
head_says_the_length_of_the_body_it_does_not_send(void **state)
{
	struct got g;

	(void)state;
	START(f, routes);
	DIAL(c, f);
	SAY(c, "HEAD /" H "\r\n" GET("/"));
	assert_true(hear_head(&c, &g));
	assert_string_equal(header(&g, "Content-Length"), "7");
	assert_true(hear_answer(&c, &g));
	assert_string_equal(g.body, "\"hello\"");
}

static void
a_client_that_expects_is_told_to_continue(void **state)
{
	struct got g;

	(void)state;
	START(f, routes);
	DIAL(c, f);
	SAY(c, POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
	assert_true(hear_head(&c, &g));
	assert_int_equal(g.status, 100);
	SAY(c, "{}");
	assert_true(hear_answer(&c, &g));
	assert_int_equal(g.status, 200);
	/* and not where the answer is already known */
	SAY(c, POST "Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n");
	assert_true(hear_answer(&c, &g));
	assert_int_equal(g.status, 413);
}

static void
every_answer_has_the_security_headers(void **state)
{
	static const char *const requests[] = { GET("/"), GET("/nope"), GET("/nothing"), GET("/worker"),
		"bad\r\n" };
	struct got g;

	(void)state;
	START(f, routes);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		ask(&f, str_of(requests[i]), &g);
		assert_string_equal(header(&g, "X-Content-Type-Options"), "nosniff");
		assert_string_equal(header(&g, "Referrer-Policy"), "no-referrer");
		assert_string_equal(header(&g, "Cross-Origin-Opener-Policy"), "same-origin");
		assert_string_equal(header(&g, "Cross-Origin-Resource-Policy"), "same-origin");
		assert_string_equal(header(&g, "Cache-Control"), "no-store");
		assert_string_equal(header(&g, "Strict-Transport-Security"), "");
		assert_int_equal(strlen(header(&g, "Date")), 29);
		assert_int_equal(strlen(header(&g, "X-Request-Id")), 16);
	}
}

static void
a_handler_adds_headers_and_replaces_the_cache_rule(void **state)
{
	struct got g;

	(void)state;
	START(f, routes);
	ask(&f, STR(GET("/more")), &g);
	assert_int_equal(g.status, 418);
	assert_string_equal(header(&g, "X-Extra"), "yes");
	assert_string_equal(header(&g, "Cache-Control"), "no-cache");
	assert_non_null(strstr(header(&g, "Content-Security-Policy"), "default-src 'none'"));
	assert_null(strstr(g.head, "no-store"));
}

static void
the_request_id_is_taken_over_if_it_is_sane(void **state)
{
	struct got g, other;

	(void)state;
	START(f, routes);
	ask(&f, STR("GET /" H "X-Request-Id: Abc-1._\r\n\r\n"), &g);
	assert_string_equal(header(&g, "X-Request-Id"), "Abc-1._");
	ask(&f, STR("GET /" H "X-Request-Id: a b\r\n\r\n"), &g);
	assert_int_equal(strlen(header(&g, "X-Request-Id")), 16);
	ask(&f, STR("GET /" H "X-Request-Id: " TEN TEN TEN TEN TEN TEN "12345\r\n\r\n"), &other);
	assert_int_equal(strlen(header(&other, "X-Request-Id")), 16);
	assert_string_not_equal(strstr(g.head, "X-Request-Id"), strstr(other.head, "X-Request-Id"));
}

static void
a_path_with_other_methods_names_them(void **state)
{
	struct got g;

	(void)state;
	START(f, routes);
	ask(&f, STR("POST /notes/7" H "\r\n"), &g);
	assert_int_equal(g.status, 405);
	assert_string_equal(header(&g, "Allow"), "DELETE, OPTIONS");
	ask(&f, STR("DELETE /" H "\r\n"), &g);
	assert_string_equal(header(&g, "Allow"), "GET, HEAD");
}

static void
an_answer_that_cannot_be_sent_becomes_500(void **state)
{
	struct got g;

	(void)state;
	START(f, routes);
	ask(&f, STR(GET("/nothing")), &g);
	assert_int_equal(g.status, 500);
	assert_non_null(strstr(g.body, "internal"));
	ask(&f, STR(GET("/too-much")), &g);
	assert_int_equal(g.status, 500);
}

static void
refuse_badly(struct http_exchange *x, status s)
{
	(void)x;
	(void)s;
}

static void
a_refusal_without_words_still_has_its_status(void **state)
{
	struct got g;

	(void)state;
	START(f, routes, .refuse = refuse_badly);
	ask(&f, STR(GET("/nope")), &g);
	assert_int_equal(g.status, 404);
	assert_int_equal(g.body_len, 0);
}

static void
figures_are_counted(void **state)
{
	struct http_stats s;
	struct got g;

	(void)state;
	START(f, routes);
	ask(&f, STR(GET("/")), &g);
	ask(&f, STR(GET("/worker")), &g);
	ask(&f, STR(GET("/nope")), &g);
	wait_for(&world.done, 3);
	http_server_stats(f.server, &s);
	assert_int_equal(s.requests, 2);
	assert_int_equal(s.refused, 1);
	assert_int_equal(s.jobs_waiting, 0);
	assert_int_equal(s.streams, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_request_gets_the_answer_of_the_table),
		cmocka_unit_test(the_answer_is_the_same_when_bytes_come_singly),
		cmocka_unit_test(heads_beyond_the_limits_are_431),
		cmocka_unit_test(endless_chunk_lines_are_refused),
		cmocka_unit_test(bodies_and_parameters_arrive_as_they_were_sent),
		cmocka_unit_test(pipelined_requests_are_answered_in_order),
		cmocka_unit_test(much_that_is_sent_ahead_waits_and_is_answered),
		cmocka_unit_test(head_says_the_length_of_the_body_it_does_not_send),
		cmocka_unit_test(a_client_that_expects_is_told_to_continue),
		cmocka_unit_test(every_answer_has_the_security_headers),
		cmocka_unit_test(a_handler_adds_headers_and_replaces_the_cache_rule),
		cmocka_unit_test(the_request_id_is_taken_over_if_it_is_sane),
		cmocka_unit_test(a_path_with_other_methods_names_them),
		cmocka_unit_test(an_answer_that_cannot_be_sent_becomes_500),
		cmocka_unit_test(a_refusal_without_words_still_has_its_status),
		cmocka_unit_test(figures_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
