/* SPDX-License-Identifier: Apache-2.0 */
#include "json/schema/uri.h"

#include "base/buf.h"
#include "base/limits.h"

struct uri
uri_split(str text)
{
	struct uri u = { 0 };
	size_t colon = str_find(text, ':'), slash;

	if (str_cut(text, '#', &text, &u.fragment))
		u.has_fragment = true;
	if (str_cut(text, '?', &text, &u.query))
		u.has_query = true;
	slash = str_find(text, '/');
	if (colon < text.len && colon < slash) {
		u.has_scheme = true;
		u.scheme = (str){ text.ptr, colon };
		text = str_skip(text, colon + 1);
	}
	if (str_starts(text, STR("//"))) {
		u.has_authority = true;
		text = str_skip(text, 2);
		u.authority = (str){ text.ptr, str_find(text, '/') };
		text = str_skip(text, u.authority.len);
	}
	u.path = text;
	return u;
}

/* --- resolving --- */

static void
drop_segment(struct buf *b, size_t start)
{
	while (b->len > start && b->ptr[b->len - 1] != '/')
		b->len--;
	if (b->len > start)
		b->len--;
}

/* RFC 3986, 5.2.4: the path without its "." and ".." segments, appended to b. */
static void
add_path(struct buf *b, str path)
{
	size_t start = b->len;

	while (path.len) {
		if (str_starts(path, STR("../")) || str_starts(path, STR("./"))) {
			path = str_skip(path, path.ptr[1] == '.' ? 3 : 2);
		} else if (str_starts(path, STR("/./")) || str_eq(path, STR("/."))) {
			path = path.len == 2 ? STR("/") : str_skip(path, 2);
		} else if (str_starts(path, STR("/../")) || str_eq(path, STR("/.."))) {
			path = path.len == 3 ? STR("/") : str_skip(path, 3);
			drop_segment(b, start);
		} else if (str_eq(path, STR(".")) || str_eq(path, STR(".."))) {
			return;
		} else {
			size_t end = 1 + str_find(str_skip(path, 1), '/');
			buf_add(b, (str){ path.ptr, end });
			path = str_skip(path, end);
		}
	}
}

/* RFC 3986, 5.2.3: the reference's path in place of what follows the base's last slash. */
static str
merge_paths(struct arena *a, const struct uri *base, str path)
{
	size_t keep = base->path.len;

	if (base->has_authority && !base->path.len)
		return arena_printf(a, "/%.*s", STR_ARG(path));
	while (keep && base->path.ptr[keep - 1] != '/')
		keep--;
	return arena_printf(a, "%.*s%.*s", STR_ARG(((str){ base->path.ptr, keep })), STR_ARG(path));
}

static void
write_uri(struct buf *b, const struct uri *u, bool clean_path)
{
	if (u->has_scheme) {
		buf_add(b, u->scheme);
		buf_add(b, STR(":"));
	}
	if (u->has_authority) {
		buf_add(b, STR("//"));
		buf_add(b, u->authority);
	}
	if (clean_path)
		add_path(b, u->path);
	else
		buf_add(b, u->path);
	if (u->has_query) {
		buf_add(b, STR("?"));
		buf_add(b, u->query);
	}
}

status
uri_resolve(struct ctx *cx, str base, str reference, str *out_uri)
{
	struct uri b, r;
	struct buf out;
	bool clean_path = true;

	if (base.len > LIMIT_URI_BYTES || reference.len > LIMIT_URI_BYTES)
		return fail(cx, E_INVALID, "a URI is longer than %zu bytes", LIMIT_URI_BYTES);
	b = uri_split(base);
	r = uri_split(reference);
	if (!r.has_scheme) {
		r.has_scheme = b.has_scheme;
		r.scheme = b.scheme;
		if (!r.has_authority) {
			r.has_authority = b.has_authority;
			r.authority = b.authority;
			if (!r.path.len) {
				clean_path = false;
				r.path = b.path;
				if (!r.has_query) {
					r.has_query = b.has_query;
					r.query = b.query;
				}
			} else if (r.path.ptr[0] != '/') {
				r.path = merge_paths(cx->arena, &b, r.path);
			}
		}
	}
	buf_init(&out, cx->arena, 2 * LIMIT_URI_BYTES + 8);
	write_uri(&out, &r, clean_path);
	if (out.overflow || out.len > LIMIT_URI_BYTES)
		return fail(cx, E_INVALID, "a URI is longer than %zu bytes", LIMIT_URI_BYTES);
	*out_uri = buf_str(&out);
	return OK;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool
is_percent(str s, size_t i)
{
	return s.ptr[i] == '%' && i + 2 < s.len && hex_digit(s.ptr[i + 1]) >= 0 &&
	       hex_digit(s.ptr[i + 2]) >= 0;
}

bool
uri_decode(struct arena *a, str text, str *out_text)
{
	char *to = arena_try_bytes(a, text.len + 1);
	size_t n = 0;

	if (!to)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] != '%') {
			to[n++] = text.ptr[i];
			continue;
		}
		if (!is_percent(text, i))
			return false;
		to[n++] = (char)(hex_digit(text.ptr[i + 1]) << 4 | hex_digit(text.ptr[i + 2]));
		i += 2;
	}
	*out_text = (str){ to, n };
	return str_is_utf8(*out_text);
}

/* --- is it well formed? --- */

static bool
is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Unreserved, sub-delims, %XX, what extra lists, and beyond ASCII where it is an IRI. */
static bool
is_text(str s, const char *extra, bool iri)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if ((unsigned char)c >= 0x80) {
			if (!iri)
				return false;
		} else if (c == '%') {
			if (!is_percent(s, i))
				return false;
		} else if (!c || (!is_alpha(c) && !is_digit(c) && !strchr("-._~!$&'()*+,;=", c) &&
					 !strchr(extra, c))) {
			return false;
		}
	}
	return true;
}

static bool
is_scheme(str s)
{
	if (!s.len || !is_alpha(s.ptr[0]))
		return false;
	for (size_t i = 1; i < s.len; i++)
		if (!s.ptr[i] || (!is_alpha(s.ptr[i]) && !is_digit(s.ptr[i]) && !strchr("+-.", s.ptr[i])))
			return false;
	return true;
}

bool
uri_is_ipv4(str text)
{
	for (int part = 0; part < 4; part++) {
		size_t digits = 0;
		int value = 0;
		for (; digits < text.len && is_digit(text.ptr[digits]); digits++)
			value = value > 255 ? value : value * 10 + (text.ptr[digits] - '0');
		if (!digits || value > 255 || (digits > 1 && text.ptr[0] == '0'))
			return false;
		text = str_skip(text, digits);
		if (part < 3 && (!text.len || text.ptr[0] != '.'))
			return false;
		text = str_skip(text, part < 3 ? 1 : 0);
	}
	return text.len == 0;
}

/* Counts the 16-bit groups of a:b:c; -1 where it is none. The last may be an IPv4 address (two groups). */
static int
count_groups(str s, bool may_end_in_ipv4)
{
	int groups = 0;
	bool more = s.len != 0;

	while (more) {
		str group;
		more = str_cut(s, ':', &group, &s);
		if (!more)
			group = s;
		if (!more && may_end_in_ipv4 && uri_is_ipv4(group))
			return groups + 2;
		if (!group.len || group.len > 4)
			return -1;
		for (size_t i = 0; i < group.len; i++)
			if (hex_digit(group.ptr[i]) < 0)
				return -1;
		groups++;
	}
	return groups;
}

bool
uri_is_ipv6(str text)
{
	for (size_t i = 0; i + 1 < text.len; i++) {
		if (text.ptr[i] != ':' || text.ptr[i + 1] != ':')
			continue;
		int left = count_groups((str){ text.ptr, i }, false);
		int right = count_groups(str_skip(text, i + 2), true);
		return left >= 0 && right >= 0 && left + right <= 7;
	}
	return count_groups(text, true) == 8;
}

static bool
is_ip_literal(str s)
{
	str version, rest;

	if (!s.len || (s.ptr[0] != 'v' && s.ptr[0] != 'V'))
		return uri_is_ipv6(s);
	if (!str_cut(str_skip(s, 1), '.', &version, &rest) || !version.len || !rest.len)
		return false;
	for (size_t i = 0; i < version.len; i++)
		if (hex_digit(version.ptr[i]) < 0)
			return false;
	return str_find(rest, '%') == rest.len && is_text(rest, ":", false);
}

static bool
is_authority(str s, bool iri)
{
	str user, host = s, port = STR("");

	if (str_cut(s, '@', &user, &host) && !is_text(user, ":", iri))
		return false;
	if (host.len && host.ptr[0] == '[') {
		size_t close = str_find(host, ']');
		if (close == host.len || !is_ip_literal((str){ host.ptr + 1, close - 1 }))
			return false;
		host = str_skip(host, close + 1);
		if (host.len && host.ptr[0] != ':')
			return false;
		port = str_skip(host, 1);
	} else {
		if (str_cut(host, ':', &host, &port) && str_find(port, ':') < port.len)
			return false;
		if (!is_text(host, "", iri))
			return false;
	}
	for (size_t i = 0; i < port.len; i++)
		if (!is_digit(port.ptr[i]))
			return false;
	return true;
}

bool
uri_is_valid(str text, unsigned kind)
{
	struct uri u = uri_split(text);
	bool iri = kind & URI_IRI;

	if (iri && !str_is_utf8(text))
		return false;
	if (u.has_scheme ? !is_scheme(u.scheme) : (kind & URI_ABSOLUTE) != 0)
		return false;
	if (u.has_authority && !is_authority(u.authority, iri))
		return false;
	return is_text(u.path, ":@/", iri) && is_text(u.query, ":@/?", iri) &&
	       is_text(u.fragment, ":@/?", iri);
}
