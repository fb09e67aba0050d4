/* SPDX-License-Identifier: Apache-2.0 */
#include "http/router.h"

#include "base/check.h"
#include "base/limits.h"

struct http_node {
	str literal;
	struct http_node *next;	 /* the next literal beside this one */
	struct http_node *first; /* the literals below */
	struct http_node *param, *rest;
	const struct http_route *routes[HTTP_METHODS];
};

/* --- making the tree --- */

static struct http_node *
literal_below(const struct http_node *n, str segment)
{
	struct http_node *child = n->first;

	while (child && !str_eq(child->literal, segment))
		child = child->next;
	return child;
}

static struct http_node *
add_literal(struct arena *a, struct http_node *n, str segment)
{
	struct http_node *child = literal_below(n, segment);

	if (!child) {
		child = ARENA_NEW(a, struct http_node);
		child->literal = segment;
		child->next = n->first;
		n->first = child;
	}
	return child;
}

static struct http_node *
add_once(struct arena *a, struct http_node **n)
{
	if (!*n)
		*n = ARENA_NEW(a, struct http_node);
	return *n;
}

static bool
is_param(str segment)
{
	return str_starts(segment, STR("{")) && str_ends(segment, STR("}"));
}

/* One segment of a pattern; NULL where it is malformed. */
static struct http_node *
add_segment(struct arena *a, struct http_node *n, str segment, bool last, size_t *params)
{
	if (!is_param(segment))
		return str_find(segment, '{') == segment.len ? add_literal(a, n, segment) : NULL;
	if (++*params > HTTP_PARAMS)
		return NULL;
	if (str_eq(segment, STR("{*}")))
		return last ? add_once(a, &n->rest) : NULL;
	return add_once(a, &n->param);
}

static struct http_node *
add_path(struct arena *a, struct http_node *n, str path)
{
	size_t params = 0, segments = 0;
	str segment, rest = path;
	bool more = str_cut(path, '/', &segment, &rest) && segment.len == 0;

	if (!more)
		return NULL;
	while (more && n) {
		more = str_cut(rest, '/', &segment, &rest);
		if (!more)
			segment = rest;
		n = ++segments > LIMIT_HTTP_SEGMENTS ? NULL : add_segment(a, n, segment, !more, &params);
	}
	return n;
}

static status
add_route(struct ctx *cx, struct http_node *root, const struct http_route *r)
{
	struct http_node *n = add_path(cx->arena, root, str_of(r->path));

	CHECK(r->method < HTTP_METHODS && r->handler);
	if (!n)
		return fail(cx, E_INVALID, "the route %s is not a path", r->path);
	if (n->routes[r->method])
		return fail(cx, E_INVALID, "two routes are %s %s", http_method_name(r->method), r->path);
	n->routes[r->method] = r;
	return OK;
}

status
http_router_new(struct ctx *cx, const struct http_route *routes, size_t count, struct http_node **out_router)
{
	struct http_node *root = ARENA_NEW(cx->arena, struct http_node);

	for (size_t i = 0; i < count; i++)
		TRY(add_route(cx, root, &routes[i]));
	*out_router = root;
	return OK;
}

/* --- decoding --- */

static int
hex(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at && ((c >= '0' && c <= '9') || (c | 0x20) >= 'a') ? (int)(at - digits) : -1;
}

/* The byte at raw[*i], decoded, or -1. */
static int
decode_byte(str raw, size_t *i, bool plus)
{
	char c = raw.ptr[(*i)++];

	if (c == '+' && plus)
		return ' ';
	if (c != '%')
		return (unsigned char)c;
	if (raw.len - *i < 2 || hex(raw.ptr[*i]) < 0 || hex(raw.ptr[*i + 1]) < 0)
		return -1;
	*i += 2;
	return hex(raw.ptr[*i - 2]) * 16 + hex(raw.ptr[*i - 1]);
}

static bool
is_plain(str raw, bool plus)
{
	return str_find(raw, '%') == raw.len && (!plus || str_find(raw, '+') == raw.len);
}

bool
http_percent_decode(struct arena *a, str raw, bool plus, str *out_text)
{
	size_t n = 0;
	char *p;

	if (is_plain(raw, plus)) {
		*out_text = raw;
		return true;
	}
	p = arena_try_bytes(a, raw.len);
	if (!p)
		return false;
	for (size_t i = 0; i < raw.len;) {
		int c = decode_byte(raw, &i, plus);

		if (c <= 0)
			return false;
		p[n++] = (char)c;
	}
	if (!str_is_utf8((str){ p, n }))
		return false;
	*out_text = (str){ p, n };
	return true;
}

/* --- finding --- */

struct search {
	enum http_method method;
	size_t count;
	size_t params;
	str segments[LIMIT_HTTP_SEGMENTS]; /* decoded */
	str tails[LIMIT_HTTP_SEGMENTS];	   /* decoded, from each segment to the end */
	struct http_match *match;
};

static bool
take(struct search *s, const struct http_node *n)
{
	unsigned have = 0;

	for (unsigned m = 0; m < HTTP_METHODS; m++)
		if (n->routes[m])
			have |= 1u << m;
	if (have & 1u << HTTP_GET_)
		have |= 1u << HTTP_HEAD_;
	s->match->allowed |= have;
	s->match->route = n->routes[s->method];
	if (!s->match->route && s->method == HTTP_HEAD_)
		s->match->route = n->routes[HTTP_GET_];
	return s->match->route != NULL;
}

static bool walk(struct search *s, const struct http_node *n, size_t depth);

/* Goes down into a node that takes `text` as its parameter. */
static bool
walk_param(struct search *s, const struct http_node *n, str text, size_t depth)
{
	if (!n || text.len == 0)
		return false;
	s->match->params[s->params++] = text;
	if (walk(s, n, depth))
		return true;
	s->match->params[--s->params] = (str){ 0 };
	return false;
}

/* Each node stands at one depth, so each is visited at most once: no pattern makes this slow. */
static bool
walk(struct search *s, const struct http_node *n, size_t depth)
{
	const struct http_node *literal;

	if (depth == s->count)
		return take(s, n);
	literal = literal_below(n, s->segments[depth]);
	return (literal && walk(s, literal, depth + 1)) ||
	       walk_param(s, n->param, s->segments[depth], depth + 1) ||
	       walk_param(s, n->rest, s->tails[depth], s->count);
}

/* A decoded segment: no control characters (logs), no dots that another program would resolve. */
static bool
segment_ok(str s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7f)
			return false;
	return !str_eq(s, STR(".")) && !str_eq(s, STR(".."));
}

/* Cuts and decodes. The decoded path is built anew only where something was escaped. */
static status
cut(struct ctx *cx, struct search *s, str raw)
{
	str rest = str_skip(raw, 1), segment;
	bool more = true;

	while (more) {
		more = str_cut(rest, '/', &segment, &rest);
		if (!more)
			segment = rest;
		if (s->count == LIMIT_HTTP_SEGMENTS)
			return fail(cx, E_NOT_FOUND, "there is nothing here");
		if (!http_percent_decode(cx->arena, segment, false, &s->segments[s->count]) ||
			!segment_ok(s->segments[s->count]))
			return fail(cx, E_BAD_REQUEST, "the path has a segment that we do not take");
		s->count++;
	}
	return OK;
}

static status
join(struct ctx *cx, struct search *s, str raw)
{
	char *p = NULL;
	size_t at = 0;

	s->match->path = raw;
	if (!is_plain(raw, false)) {
		p = arena_try_bytes(cx->arena, raw.len); /* decoding never makes it longer */
		if (!p)
			return fail(cx, E_TOO_LARGE, "the path is larger than the limit");
	}
	for (size_t i = 0; i < s->count; i++) {
		if (p) {
			p[at] = '/';
			if (s->segments[i].len)
				memcpy(p + at + 1, s->segments[i].ptr, s->segments[i].len);
		}
		s->tails[i].len = at + 1; /* where it begins, for now */
		at += 1 + s->segments[i].len;
	}
	if (p)
		s->match->path = (str){ p, at };
	for (size_t i = 0; i < s->count; i++)
		s->tails[i] = str_skip(s->match->path, s->tails[i].len);
	return OK;
}

status
http_router_find(struct ctx *cx, const struct http_node *router, enum http_method method, str path,
	struct http_match *out_match)
{
	struct search s = { .method = method, .match = out_match };
	str allow;

	*out_match = (struct http_match){ .path = path };
	CHECK(str_starts(path, STR("/")));
	TRY(cut(cx, &s, path));
	TRY(join(cx, &s, path));
	if (walk(&s, router, 0))
		return OK;
	if (!out_match->allowed)
		return fail(cx, E_NOT_FOUND, "there is nothing here");
	allow = http_router_allow(cx->arena, out_match->allowed);
	return fail(cx, E_METHOD, "this path does not take %s, but %.*s", http_method_name(method),
		STR_ARG(allow));
}

str
http_router_allow(struct arena *a, unsigned allowed)
{
	struct buf b;

	buf_init(&b, a, 128);
	for (unsigned m = 0; m < HTTP_METHODS; m++) {
		if (!(allowed & 1u << m))
			continue;
		if (b.len)
			buf_add(&b, STR(", "));
		buf_add(&b, str_of(http_method_name(m)));
	}
	return buf_str(&b);
}
