/* SPDX-License-Identifier: Apache-2.0 */
#include "http/parse.h"

#include <arpa/inet.h>
#include <llhttp.h>

#define LENGTH_DIGITS 18 /* 10^18 bytes fit int64_t and nobody's disk */

static const char *const method_names[HTTP_METHODS] = {
	[HTTP_GET_] = "GET",
	[HTTP_HEAD_] = "HEAD",
	[HTTP_POST_] = "POST",
	[HTTP_PUT_] = "PUT",
	[HTTP_PATCH_] = "PATCH",
	[HTTP_DELETE_] = "DELETE",
	[HTTP_OPTIONS_] = "OPTIONS",
};

const char *
http_method_name(enum http_method m)
{
	return m < HTTP_METHODS ? method_names[m] : "?";
}

#define TOKEN  1 /* RFC 9110 5.6.2 */
#define TEXT   2 /* of a header's value: HTAB, SP, VCHAR, obs-text */
#define TARGET 4 /* VCHAR but '#': what clients really send, not only what RFC 3986 has */
#define HOST   8 /* a name or an address */
static const unsigned char classes[256] = {
	['\t'] = TEXT,
	[' '] = TEXT,
	[0x80 ... 0xff] = TEXT,
	['#'] = TEXT | TOKEN, /* a fragment never leaves a browser */
	['"'] = TEXT | TARGET,
	['/'] = TEXT | TARGET,
	['<'] = TEXT | TARGET,
	['>'] = TEXT | TARGET,
	['?'] = TEXT | TARGET,
	['@'] = TEXT | TARGET,
	['\\'] = TEXT | TARGET,
	['{'] = TEXT | TARGET,
	['}'] = TEXT | TARGET,
	['0' ... '9'] = TEXT | TARGET | TOKEN | HOST,
	['A' ... 'Z'] = TEXT | TARGET | TOKEN | HOST,
	['a' ... 'z'] = TEXT | TARGET | TOKEN | HOST,
	['!'] = TEXT | TARGET | TOKEN,
	['$'] = TEXT | TARGET | TOKEN,
	['%'] = TEXT | TARGET | TOKEN,
	['&'] = TEXT | TARGET | TOKEN,
	['\''] = TEXT | TARGET | TOKEN,
	['*'] = TEXT | TARGET | TOKEN,
	['+'] = TEXT | TARGET | TOKEN,
	['-'] = TEXT | TARGET | TOKEN | HOST,
	['.'] = TEXT | TARGET | TOKEN | HOST,
	['_'] = TEXT | TARGET | TOKEN | HOST,
	['~'] = TEXT | TARGET | TOKEN,
	['^'] = TEXT | TARGET | TOKEN,
	['`'] = TEXT | TARGET | TOKEN,
	['|'] = TEXT | TARGET | TOKEN,
	['('] = TEXT | TARGET,
	[')'] = TEXT | TARGET,
	[','] = TEXT | TARGET,
	[';'] = TEXT | TARGET,
	['='] = TEXT | TARGET,
	[':'] = TEXT | TARGET,
	['['] = TEXT | TARGET,
	[']'] = TEXT | TARGET,
};

static bool
is(char c, unsigned char class)
{
	return (classes[(unsigned char)c] & class) != 0;
}

static bool
all(str s, unsigned char class)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is(s.ptr[i], class))
			return false;
	return true;
}

bool
http_is_token(char c)
{
	return is(c, TOKEN);
}

bool
http_is_field_text(char c)
{
	return is(c, TEXT);
}

enum http_parse_event
http_parse_bad(struct http_parse *p, status error, const char *why)
{
	p->error = error;
	p->why = why;
	p->state = HTTP_READS_NOTHING;
	return HTTP_PARSE_BAD;
}

static bool
bad(struct http_parse *p, status error, const char *why)
{
	(void)http_parse_bad(p, error, why);
	return false;
}

void
http_parse_begin(struct http_parse *p, struct arena *a)
{
	/* all but the large arrays, whose old content nobody reads */
	p->state = HTTP_READS_HEAD;
	p->method = HTTP_METHODS;
	p->target = p->host = p->authority = (str){ 0 };
	p->header_count = 0;
	p->old = p->keep_alive = p->chunked = p->expects = p->has_body = false;
	p->length = 0;
	buf_init(&p->body, a, 0);
	p->error = OK;
	p->why = NULL;
	p->arena = a;
	p->chunk = HTTP_CHUNK_SIZE_FIRST;
	p->left = 0;
	p->chunk_lines = 0;
	p->lines = p->line_start = 0;
	p->has_length = p->has_coding = p->skipped_line = p->after_cr = false;
	p->hosts = 0;
	p->head_len = 0;
}

/* --- the request line --- */

static enum http_method
method_of(str name)
{
	enum http_method m = 0;

	while (m < HTTP_METHODS && !str_eq(name, str_of(method_names[m])))
		m++;
	return m;
}

/* The absolute form, "http://host/path" (RFC 9112, 3.2.2): the host is looked at with Host, what is left is a path. */
static bool
split_absolute(struct http_parse *p)
{
	size_t scheme = str_starts(p->target, STR("http://"))	 ? 7
			: str_starts(p->target, STR("https://")) ? 8
								 : 0;
	str rest = str_skip(p->target, scheme);
	size_t end = 0;

	if (!scheme)
		return true;
	while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?')
		end++;
	p->authority = (str){ rest.ptr, end };
	p->target = str_skip(rest, end);
	if (!str_starts(p->target, STR("/")))
		p->target = arena_printf(p->arena, "/%.*s", STR_ARG(p->target));
	return end > 0 || bad(p, E_BAD_REQUEST, "the target names no host");
}

static bool
read_request_line(struct http_parse *p, str line)
{
	str method, rest, version;

	if (!str_cut(line, ' ', &method, &rest) || !str_cut(rest, ' ', &p->target, &version))
		return bad(p, E_BAD_REQUEST, "the first line is not: method, target, version");
	if (method.len == 0 || !all(method, TOKEN))
		return bad(p, E_BAD_REQUEST, "the method is not a word");
	p->old = str_eq(version, STR("HTTP/1.0"));
	if (!p->old && !str_eq(version, STR("HTTP/1.1")))
		return bad(p, E_BAD_REQUEST, "this server speaks HTTP/1.1");
	if (p->target.len > LIMIT_HTTP_TARGET)
		return bad(p, E_HEAD_TOO_LARGE, "the target is longer than the limit");
	if (!split_absolute(p))
		return false;
	if (!str_starts(p->target, STR("/")) || !all(p->target, TARGET))
		return bad(p, E_BAD_REQUEST, "the target is not a path");
	p->method = method_of(method);
	if (p->method == HTTP_METHODS)
		return bad(p, E_METHOD, "no path here takes this method");
	return true;
}

/* --- headers --- */

static bool
is_port(str rest)
{
	int64_t n;

	return !rest.len ||
	       (rest.ptr[0] == ':' && rest.len <= 6 &&
		       (rest.len == 1 || (str_to_int(str_skip(rest, 1), &n) && n >= 0 && n < 65536)));
}

/* Labels with dots between them; one dot may stand at the end. */
static bool
is_host_name(str name)
{
	str label, rest = name;

	while (str_cut(rest, '.', &label, &rest))
		if (!label.len)
			return false;
	return name.len > 0 && all(name, HOST);
}

bool
http_is_host(str host)
{
	size_t end = str_find(host, ']');
	char address[INET6_ADDRSTRLEN];
	struct in6_addr six;
	str name;

	if (!str_starts(host, STR("["))) {
		name = (str){ host.ptr, str_find(host, ':') };
		return is_host_name(name) && is_port(str_skip(host, name.len));
	}
	if (end == host.len || end > sizeof(address))
		return false;
	memcpy(address, host.ptr + 1, end - 1);
	address[end - 1] = '\0';
	return inet_pton(AF_INET6, address, &six) == 1 && is_port(str_skip(host, end + 1));
}

static bool
read_host(struct http_parse *p, str value)
{
	if (p->hosts++ > 0)
		return bad(p, E_BAD_REQUEST, "there is more than one Host");
	if (!http_is_host(value))
		return bad(p, E_BAD_REQUEST, "Host is not a host: a name or an address, and perhaps a port");
	p->host = value;
	return true;
}

static bool
read_length(struct http_parse *p, str value)
{
	if (p->has_length)
		return bad(p, E_BAD_REQUEST, "there is more than one Content-Length");
	if (value.len == 0 || value.len > LENGTH_DIGITS)
		return bad(p, E_BAD_REQUEST, "Content-Length is not a number we can use");
	p->has_length = true;
	for (size_t i = 0; i < value.len; i++) {
		if (value.ptr[i] < '0' || value.ptr[i] > '9')
			return bad(p, E_BAD_REQUEST, "Content-Length is not a number");
		p->length = p->length * 10 + (uint64_t)(value.ptr[i] - '0');
	}
	return true;
}

static bool
read_coding(struct http_parse *p, str value)
{
	if (p->has_coding || !str_eq_nocase(value, STR("chunked")))
		return bad(p, E_BAD_REQUEST, "the only Transfer-Encoding here is chunked, once");
	p->has_coding = p->chunked = true;
	return true;
}

static bool
read_expect(struct http_parse *p, str value)
{
	if (!str_eq_nocase(value, STR("100-continue")))
		return bad(p, E_EXPECTATION, "the only Expect here is 100-continue");
	p->expects = true;
	return true;
}

static const struct {
	str name;
	bool (*read)(struct http_parse *p, str value);
} framing[] = {
	{ { "host", 4 }, read_host },
	{ { "content-length", 14 }, read_length },
	{ { "transfer-encoding", 17 }, read_coding },
	{ { "expect", 6 }, read_expect },
};

static bool
read_header(struct http_parse *p, str line)
{
	struct http_header h;

	if (line.ptr[0] == ' ' || line.ptr[0] == '\t')
		return bad(p, E_BAD_REQUEST, "a header is folded over two lines");
	if (!str_cut(line, ':', &h.name, &h.value) || h.name.len == 0 || !all(h.name, TOKEN))
		return bad(p, E_BAD_REQUEST, "a header is not: name, colon, value");
	if (p->header_count == LIMIT_HTTP_HEADERS)
		return bad(p, E_HEAD_TOO_LARGE, "there are more headers than the limit");
	h.value = str_trim(h.value);
	p->headers[p->header_count++] = h;
	for (size_t i = 0; i < sizeof(framing) / sizeof(framing[0]); i++)
		if (h.name.len == framing[i].name.len && str_eq_nocase(h.name, framing[i].name))
			return framing[i].read(p, h.value);
	return true;
}

/* --- the head as a whole --- */

static int
stop_at_body(llhttp_t *l)
{
	(void)l;
	return HPE_PAUSED;
}

/* The second reader. What it lets through was refused above; what it refuses, we do. */
static bool
second_reader_agrees(struct http_parse *p, size_t from)
{
	static const llhttp_settings_t settings = { .on_headers_complete = stop_at_body };
	llhttp_t l;

	llhttp_init(&l, HTTP_REQUEST, &settings);
	if (llhttp_execute(&l, p->head + from, p->head_len - from) != HPE_PAUSED)
		return false;
	p->keep_alive = !p->old && llhttp_should_keep_alive(&l);
	return llhttp_get_error_pos(&l) == p->head + p->head_len && l.content_length == p->length &&
	       ((l.flags & F_CHUNKED) != 0) == p->chunked;
}

static enum http_parse_event
finish_head(struct http_parse *p)
{
	if (p->hosts == 0 && !p->old)
		return http_parse_bad(p, E_BAD_REQUEST, "there is no Host");
	if (p->authority.len && !str_eq_nocase(p->authority, p->host))
		return http_parse_bad(p, E_BAD_REQUEST, "the target names another host than Host");
	if (p->has_coding && (p->has_length || p->old))
		return http_parse_bad(p, E_BAD_REQUEST, "the body's length is said in two ways");
	if (!second_reader_agrees(p, p->skipped_line ? 2 : 0))
		return http_parse_bad(p, E_BAD_REQUEST, "the request's head could not be read");
	p->expects = p->expects && !p->old;
	p->has_body = p->chunked || p->length > 0;
	p->left = p->length;
	p->state = p->chunked ? HTTP_READS_CHUNKS : HTTP_READS_LENGTH;
	return HTTP_PARSE_HEAD;
}

/* A line of the head, whose LF stands at `at`. True: go on. */
static bool
read_line(struct http_parse *p, size_t at)
{
	str line = { p->head + p->line_start, at - 1 - p->line_start };

	p->line_start = at + 1;
	if (line.len == 0) { /* one empty line before a request is forgiven (RFC 9112 2.2) */
		p->skipped_line = true;
		return true;
	}
	return p->lines++ == 0 ? read_request_line(p, line) : read_header(p, line);
}

/* Is the line whose LF stands at `at` the empty one that ends the head? */
static bool
ends_head(const struct http_parse *p, size_t at)
{
	return at - p->line_start == 1 && (p->lines > 0 || p->skipped_line);
}

/* Looks at head[from, to): true where the head goes on; false at its end or where it is bad. */
static bool
scan(struct http_parse *p, size_t from, size_t to, size_t *out_end)
{
	size_t i = from;

	while (i < to) {
		if (p->after_cr) {
			if (p->head[i] != '\n')
				return bad(p, E_BAD_REQUEST, "a line ends with CR alone");
			p->after_cr = false;
			*out_end = i + 1;
			if (ends_head(p, i) || !read_line(p, i))
				return false;
			i++;
		}
		while (i < to && is(p->head[i], TEXT))
			i++;
		if (i < to && p->head[i] != '\r')
			return bad(p, E_BAD_REQUEST, "a character in the head does not belong there");
		if (i < to) {
			p->after_cr = true;
			i++;
		}
	}
	return true;
}

static enum http_parse_event
feed_head(struct http_parse *p, str *in)
{
	size_t before = p->head_len, room = sizeof(p->head) - before;
	size_t n = in->len < room ? in->len : room, end = 0;

	memcpy(p->head + before, in->ptr, n);
	if (scan(p, before, before + n, &end)) {
		p->head_len += n;
		*in = str_skip(*in, n);
		if (p->head_len == sizeof(p->head))
			return http_parse_bad(p, E_HEAD_TOO_LARGE, "the head is larger than the limit");
		return HTTP_PARSE_MORE;
	}
	if (p->error != OK)
		return HTTP_PARSE_BAD;
	p->head_len = end;
	*in = str_skip(*in, end - before);
	if (p->lines == 0)
		return http_parse_bad(p, E_BAD_REQUEST, "there is no first line");
	return finish_head(p);
}

/* --- the body --- */

static bool
too_large(struct http_parse *p)
{
	str why = arena_printf(p->arena, "the body is larger than %zu bytes", p->body.max);

	return bad(p, E_TOO_LARGE, arena_cstr(p->arena, why));
}

status
http_parse_body(struct http_parse *p, size_t max)
{
	buf_init(&p->body, p->arena, max);
	/* the whole announced size at once: memory that is not written is not used */
	if (p->length > max || (p->length > 0 && !buf_reserve(&p->body, (size_t)p->length))) {
		(void)too_large(p);
		return E_TOO_LARGE;
	}
	return OK;
}

bool
http_body_add(struct http_parse *p, str *in)
{
	size_t n = in->len < p->left ? in->len : (size_t)p->left;

	buf_add(&p->body, (str){ in->ptr, n });
	if (p->body.overflow)
		return too_large(p);
	p->left -= n;
	*in = str_skip(*in, n);
	return true;
}

static enum http_parse_event
feed_length(struct http_parse *p, str *in)
{
	if (!http_body_add(p, in))
		return HTTP_PARSE_BAD;
	if (p->left > 0)
		return HTTP_PARSE_MORE;
	p->state = HTTP_READS_NOTHING;
	return HTTP_PARSE_DONE;
}

enum http_parse_event
http_parse_feed(struct http_parse *p, str *in)
{
	switch (p->state) {
	case HTTP_READS_HEAD:
		return in->len ? feed_head(p, in) : HTTP_PARSE_MORE;
	case HTTP_READS_LENGTH:
		return feed_length(p, in);
	case HTTP_READS_CHUNKS:
		return http_chunk_feed(p, in);
	case HTTP_READS_NOTHING:
		break;
	}
	return p->error == OK ? HTTP_PARSE_DONE : HTTP_PARSE_BAD;
}
