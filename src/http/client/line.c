/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/line.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "http/client/transfer.h"

#include <errno.h>
#include <llhttp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define NO_BODY 1 /* what llhttp's on_headers_complete says */

/* Where in the head's text a header stands. */
struct header {
	size_t name, name_len, value, value_len;
};

struct http_line {
	int fd;
	struct arena arena; /* of the line's own texts */
	str url, host, target;
	struct sockaddr_storage peer;
	int64_t used_us;

	/* the request */
	str unsent[2]; /* head and body */
	uint64_t sent;

	/* the answer */
	llhttp_t parser;
	struct buf head; /* names and values, one after another */
	struct header headers[LIMIT_HTTP_HEADERS];
	size_t header_count;
	bool in_value, heard, has_head, gave, complete, stays;
	enum http_line_state state;
	bool (*piece)(void *arg, str bytes);
	void *arg;
	char room[16 * KIB];
};

/* --- where it leads --- */

static str
url_part(struct arena *a, CURLU *u, CURLUPart part)
{
	char *text = NULL;
	str copy = { 0 };

	if (curl_url_get(u, part, &text, 0) == CURLUE_OK)
		copy = arena_str(a, str_of(text));
	curl_free(text);
	return copy;
}

/* As curl has asked for it the first time. */
static bool
read_url(struct http_line *l, str url)
{
	CURLU *u = curl_url();
	str port, query;
	bool plain;

	CHECK(u); /* no memory */
	l->url = arena_str(&l->arena, url);
	plain = curl_url_set(u, CURLUPART_URL, arena_cstr(&l->arena, url), 0) == CURLUE_OK &&
		str_eq(url_part(&l->arena, u, CURLUPART_SCHEME), STR("http"));
	l->host = url_part(&l->arena, u, CURLUPART_HOST);
	port = url_part(&l->arena, u, CURLUPART_PORT);
	if (port.len && !str_eq(port, STR("80")))
		l->host = arena_printf(&l->arena, "%.*s:%.*s", STR_ARG(l->host), STR_ARG(port));
	l->target = url_part(&l->arena, u, CURLUPART_PATH);
	query = url_part(&l->arena, u, CURLUPART_QUERY);
	if (query.ptr) /* it may be empty: "/path?" */
		l->target = arena_printf(&l->arena, "%.*s?%.*s", STR_ARG(l->target), STR_ARG(query));
	curl_url_cleanup(u);
	return plain;
}

struct http_line *
http_line_new(int fd, str url)
{
	struct http_line *l = calloc(1, sizeof(*l));
	socklen_t size = sizeof(l->peer);

	CHECK(l); /* no memory */
	l->fd = fd;
	l->used_us = clock_mono_us();
	arena_init(&l->arena, LIMIT_REQUEST_ARENA);
	if (!read_url(l, url) || getpeername(fd, (struct sockaddr *)&l->peer, &size) != 0) {
		http_line_free(l);
		return NULL;
	}
	return l;
}

void
http_line_free(struct http_line *l)
{
	if (!l)
		return;
	(void)close(l->fd);
	arena_done(&l->arena);
	free(l);
}

/* Neither ended nor spoken unasked. */
static bool
is_silent(const struct http_line *l)
{
	char byte;

	return recv(l->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* Has it a header that curl would send in place of one of its own, or that would change what the request is? */
static bool
is_unusual(const struct http_client_request *r)
{
	static const char *const names[] = { "Host", "User-Agent", "Content-Length", "Transfer-Encoding",
		"Connection", "Upgrade", "Expect" };

	for (size_t i = 0; i < r->field_count; i++)
		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++)
			if (str_eq_nocase(r->fields[i].name, str_of(names[j])))
				return true;
	return false;
}

bool
http_line_suits(const struct http_line *l, const struct http_client_request *r)
{
	return str_eq(l->url, r->url) && !is_unusual(r) &&
	       clock_mono_us() - l->used_us < LIMIT_CLIENT_LINE_US &&
	       transfer_allows(r, (const struct sockaddr *)&l->peer) && is_silent(l);
}

/* --- the answer --- */

static struct http_line *
line_of(llhttp_t *p)
{
	return p->data;
}

static int
add_text(struct http_line *l, const char *at, size_t n, size_t *length)
{
	buf_add(&l->head, (str){ at, n });
	*length += n;
	return l->head.overflow ? HPE_USER : HPE_OK;
}

static int
on_name(llhttp_t *p, const char *at, size_t n)
{
	struct http_line *l = line_of(p);
	struct header *h;

	if (l->has_head) /* a trailer */
		return HPE_OK;
	if (l->in_value || !l->header_count) {
		if (l->header_count == LIMIT_HTTP_HEADERS)
			return HPE_USER;
		l->headers[l->header_count++] = (struct header){ .name = l->head.len };
		l->in_value = false;
	}
	h = &l->headers[l->header_count - 1];
	return add_text(l, at, n, &h->name_len);
}

static int
on_value(llhttp_t *p, const char *at, size_t n)
{
	struct http_line *l = line_of(p);
	struct header *h;

	if (l->has_head)
		return HPE_OK;
	h = &l->headers[l->header_count - 1];
	if (!l->in_value) {
		h->value = l->head.len;
		l->in_value = true;
	}
	return add_text(l, at, n, &h->value_len);
}

/* A header without a value is one all the same. */
static int
on_value_end(llhttp_t *p)
{
	line_of(p)->in_value = true;
	return HPE_OK;
}

/* Whatever else it says, such an answer has no body; and 1xx is none yet. */
static bool
is_bare(int code)
{
	return code < 200 || code == 204 || code == 304;
}

static int
on_head(llhttp_t *p)
{
	if (p->status_code < 100)
		return HPE_USER;
	line_of(p)->has_head = p->status_code >= 200;
	return is_bare(p->status_code) ? NO_BODY : HPE_OK;
}

static int
on_body(llhttp_t *p, const char *at, size_t n)
{
	struct http_line *l = line_of(p);

	l->gave = true;
	if (l->piece(l->arg, (str){ at, n }))
		return HPE_OK;
	l->state = HTTP_LINE_ENOUGH;
	return HPE_USER;
}

/* After "wait a moment" (1xx) the answer is still to come. */
static int
on_end(llhttp_t *p)
{
	struct http_line *l = line_of(p);

	if (!l->has_head) {
		l->header_count = 0;
		l->head.len = 0;
		l->in_value = false;
		return HPE_OK;
	}
	l->complete = true;
	l->stays = llhttp_should_keep_alive(p);
	return HPE_PAUSED;
}

static const llhttp_settings_t reading = { .on_header_field = on_name,
	.on_header_value = on_value,
	.on_header_value_complete = on_value_end,
	.on_headers_complete = on_head,
	.on_body = on_body,
	.on_message_complete = on_end };

static enum http_line_state
take(struct http_line *l, str bytes)
{
	enum llhttp_errno e = llhttp_execute(&l->parser, bytes.ptr, bytes.len);

	l->heard = true;
	if (l->complete) {
		l->stays = l->stays && llhttp_get_error_pos(&l->parser) == bytes.ptr + bytes.len;
		return HTTP_LINE_DONE;
	}
	if (e == HPE_OK)
		return HTTP_LINE_WAITS;
	return l->state == HTTP_LINE_ENOUGH ? HTTP_LINE_ENOUGH : HTTP_LINE_BAD;
}

/* An answer that says neither its length nor its pieces ends with the connection. */
static enum http_line_state
take_end(struct http_line *l)
{
	(void)llhttp_finish(&l->parser);
	l->stays = false;
	return l->complete ? HTTP_LINE_DONE : HTTP_LINE_LOST;
}

static enum http_line_state
receive(struct http_line *l)
{
	enum http_line_state s = HTTP_LINE_WAITS;

	for (int i = 0; i < LIMIT_CLIENT_READS && s == HTTP_LINE_WAITS; i++) {
		ssize_t n = recv(l->fd, l->room, sizeof(l->room), MSG_DONTWAIT);

		if (n > 0)
			s = take(l, (str){ l->room, (size_t)n });
		else if (n == 0)
			s = take_end(l);
		else if (errno == EAGAIN)
			return s;
		else if (errno != EINTR)
			s = HTTP_LINE_LOST;
	}
	return s;
}

/* --- the request --- */

static void
write_head(struct http_line *l, struct ctx *cx, const struct http_client_request *r)
{
	size_t count;
	const struct http_client_field *fields = transfer_fields(cx, r, &count);
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_REQUEST_ARENA);
	buf_add(&b, str_of(r->method));
	buf_add_char(&b, ' ');
	buf_add(&b, l->target);
	buf_add(&b, STR(" HTTP/1.1\r\nHost: "));
	buf_add(&b, l->host);
	buf_add(&b, STR("\r\nUser-Agent: " TRANSFER_AGENT));
	for (size_t i = 0; i < count; i++) {
		buf_add(&b, STR("\r\n"));
		buf_add(&b, fields[i].name);
		buf_add(&b, STR(": "));
		buf_add(&b, fields[i].value);
	}
	if (transfer_has_body(r)) {
		buf_add(&b, STR("\r\nContent-Length: "));
		buf_add_int(&b, (int64_t)r->body.len);
	}
	buf_add(&b, STR("\r\n\r\n"));
	CHECK(!b.overflow); /* every part of it has a limit of its own */
	l->unsent[0] = buf_str(&b);
	l->unsent[1] = r->body;
}

static void
note_sent(struct http_line *l, size_t n)
{
	l->sent += n;
	for (size_t i = 0; i < 2; i++) {
		size_t part = n < l->unsent[i].len ? n : l->unsent[i].len;

		if (part) /* a body that is not there has no address to move */
			l->unsent[i] = str_skip(l->unsent[i], part);
		n -= part;
	}
}

static bool
is_sent(const struct http_line *l)
{
	return !l->unsent[0].len && !l->unsent[1].len;
}

static enum http_line_state
send_some(struct http_line *l)
{
	while (!is_sent(l)) {
		struct iovec parts[] = { { (void *)(uintptr_t)l->unsent[0].ptr, l->unsent[0].len },
			{ (void *)(uintptr_t)l->unsent[1].ptr, l->unsent[1].len } };
		struct msghdr all = { .msg_iov = parts, .msg_iovlen = 2 };
		ssize_t n = sendmsg(l->fd, &all, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			note_sent(l, (size_t)n);
		else if (errno == EAGAIN)
			return HTTP_LINE_WAITS;
		else if (errno != EINTR)
			return HTTP_LINE_LOST;
	}
	return HTTP_LINE_WAITS;
}

enum http_line_state
http_line_begin(struct http_line *l, struct ctx *cx, const struct http_client_request *r)
{
	enum http_line_state s;

	l->sent = l->header_count = 0;
	l->in_value = l->heard = l->has_head = l->gave = l->complete = l->stays = false;
	l->state = HTTP_LINE_WAITS;
	buf_init(&l->head, cx->arena, LIMIT_HTTP_HEAD);
	llhttp_init(&l->parser, HTTP_RESPONSE, &reading);
	l->parser.data = l;
	write_head(l, cx, r);
	s = send_some(l);
	return l->sent ? s : HTTP_LINE_LOST; /* later may be too late */
}

enum http_line_state
http_line_go_on(struct http_line *l, bool (*piece)(void *arg, str bytes), void *arg)
{
	enum http_line_state sending = is_sent(l) ? HTTP_LINE_WAITS : send_some(l), receiving;

	l->piece = piece;
	l->arg = arg;
	receiving = receive(l); /* who refuses what is sent may have said why */
	if (receiving == HTTP_LINE_DONE)
		l->used_us = clock_mono_us();
	return receiving == HTTP_LINE_WAITS ? sending : receiving;
}

bool
http_line_stays(const struct http_line *l)
{
	return l->complete && l->stays && is_sent(l);
}

/* --- what there is to know --- */

int
http_line_fd(const struct http_line *l)
{
	return l->fd;
}

short
http_line_events(const struct http_line *l)
{
	return is_sent(l) ? POLLIN : POLLIN | POLLOUT;
}

int
http_line_status(const struct http_line *l)
{
	return l->has_head ? l->parser.status_code : 0;
}

str
http_line_header(const struct http_line *l, str name, size_t index)
{
	for (size_t i = 0; l->has_head && i < l->header_count; i++) {
		const struct header *h = &l->headers[i];

		if (str_eq_nocase((str){ l->head.ptr + h->name, h->name_len }, name) && index-- == 0)
			return str_trim((str){ l->head.ptr + h->value, h->value_len });
	}
	return (str){ 0 };
}

uint64_t
http_line_sent(const struct http_line *l)
{
	return l->sent;
}

bool
http_line_heard(const struct http_line *l)
{
	return l->heard;
}

bool
http_line_gave(const struct http_line *l)
{
	return l->gave;
}
