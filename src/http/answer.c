/* SPDX-License-Identifier: Apache-2.0 */
#include "http/answer.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define HEAD_ROOM 1024u /* what a head without extra headers needs, with room */

#define ALWAYS                                                                                               \
	"X-Content-Type-Options: nosniff\r\n"                                                                \
	"Referrer-Policy: no-referrer\r\n"                                                                   \
	"Cross-Origin-Opener-Policy: same-origin\r\n"                                                        \
	"Cross-Origin-Resource-Policy: same-origin\r\n"

#define PAGE_POLICY                                                                                          \
	"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "                 \
	"img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "   \
	"frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'\r\n"

static const struct {
	int status;
	str line;
} lines[] = {
#define LINE(n, text)                                                                                        \
	{                                                                                                    \
		n,                                                                                           \
		{                                                                                            \
			"HTTP/1.1 " #n " " text "\r\n", sizeof("HTTP/1.1 " #n " " text "\r\n") - 1           \
		}                                                                                            \
	}
	LINE(200, "OK"),
	LINE(201, "Created"),
	LINE(202, "Accepted"),
	LINE(204, "No Content"),
	LINE(303, "See Other"),
	LINE(304, "Not Modified"),
	LINE(400, "Bad Request"),
	LINE(401, "Unauthorized"),
	LINE(403, "Forbidden"),
	LINE(404, "Not Found"),
	LINE(405, "Method Not Allowed"),
	LINE(406, "Not Acceptable"),
	LINE(408, "Request Timeout"),
	LINE(409, "Conflict"),
	LINE(410, "Gone"),
	LINE(412, "Precondition Failed"),
	LINE(413, "Content Too Large"),
	LINE(415, "Unsupported Media Type"),
	LINE(429, "Too Many Requests"),
	LINE(431, "Request Header Fields Too Large"),
	LINE(500, "Internal Server Error"),
	LINE(503, "Service Unavailable"),
};

static void
add_status(struct buf *b, int code)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (lines[i].status == code) {
			buf_add(b, lines[i].line);
			return;
		}
	}
	buf_printf(b, "HTTP/1.1 %d Other\r\n", code); /* the words mean nothing to any client */
}

static void
add_date(struct buf *b, struct http_answers *all)
{
	time_t now = (time_t)(clock_now_us() / SECOND_US);
	struct tm t;

	if (now != all->date_s && gmtime_r(&now, &t)) {
		/* the C locale's names: nothing calls setlocale */
		(void)strftime(all->date, sizeof(all->date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &t);
		all->date_s = now;
	}
	buf_add(b, str_of(all->date));
}

static bool
has_body(const struct http_exchange *x)
{
	return x->status >= 200 && x->status != 204 && x->status != 304;
}

static void
add_content(struct buf *b, const struct http_exchange *x, size_t length)
{
	if (x->content_type) {
		buf_add(b, STR("Content-Type: "));
		buf_add(b, str_of(x->content_type));
		buf_add(b, STR("\r\n"));
	}
	if (x->content_type && !x->own_policy && str_starts(str_of(x->content_type), STR("text/html")))
		buf_add(b, STR(PAGE_POLICY));
	if (!x->own_cache)
		buf_add(b, STR("Cache-Control: no-store\r\n"));
	if (has_body(x) && !x->stream) { /* a stream ends with its connection */
		buf_add(b, STR("Content-Length: "));
		buf_add_int(b, (int64_t)length);
		buf_add(b, STR("\r\n"));
	}
}

bool
http_answer_ok(const struct http_exchange *x)
{
	return x->status >= 200 && x->status <= 999 && !x->body.overflow && !x->extra.overflow;
}

void
http_answer_clear(struct http_exchange *x)
{
	x->status = 0;
	x->content_type = NULL;
	x->fixed = (str){ 0 };
	x->own_cache = x->own_policy = false;
	buf_init(&x->body, x->cx->arena, LIMIT_HTTP_ANSWER);
	buf_init(&x->extra, x->cx->arena, LIMIT_HTTP_HEAD);
}

/* Who tries what requests cost asks for the steps that were taken: in builds with fault points only. */
static void
add_work(struct buf *b, const struct http_exchange *x)
{
	const struct metered *w = &x->cx->work;

	if (fault_enabled() && http_header(x, STR("X-Test-Work")).len)
		buf_printf(b, "X-Test-Work: %" PRIu64 " %" PRIu64 "\r\n", w->outside, w->writer);
}

size_t
http_answer_room(struct arena *a, size_t room)
{
	size_t cap = a->cap;

	if (cap < a->used + room)
		a->cap = a->used + room;
	return cap;
}

struct http_answer
http_answer_make(struct http_answers *all, struct http_exchange *x, bool close)
{
	str first = x->fixed.ptr ? buf_str(&x->body) : (str){ 0 }; /* leaves with the head */
	str body = x->fixed.ptr ? x->fixed : buf_str(&x->body);
	struct buf b;
	size_t cap;

	if (!has_body(x) || !x->content_type)
		first = body = (str){ 0 };
	cap = http_answer_room(x->cx->arena, 2 * (LIMIT_HTTP_HEAD * 2 + first.len));
	buf_init(&b, x->cx->arena, LIMIT_HTTP_HEAD * 2 + first.len);
	(void)buf_reserve(&b, HEAD_ROOM + x->extra.len + first.len);
	add_status(&b, x->status);
	add_date(&b, all);
	add_content(&b, x, first.len + body.len);
	buf_add(&b, STR(ALWAYS));
	if (all->tls)
		buf_add(&b, STR("Strict-Transport-Security: max-age=31536000\r\n"));
	buf_add(&b, STR("X-Request-Id: "));
	buf_add(&b, x->cx->request_id);
	buf_add(&b, STR("\r\n"));
	buf_add(&b, buf_str(&x->extra));
	add_work(&b, x);
	buf_add(&b, close ? STR("Connection: close\r\n\r\n") : STR("\r\n"));
	if (x->req.method == HTTP_HEAD_)
		first = body = (str){ 0 };
	buf_add(&b, first);
	x->cx->arena->cap = cap;
	return (struct http_answer){ buf_str(&b), body };
}
