/* SPDX-License-Identifier: Apache-2.0 */
#include "json/schema/uri.h"

#include "base/buf.h"
#include "base/limits.h"

struct uri
uri_split(str text)
{
	struct uri u = { 0 };
	size_t colon;

	(void)str_cut(text, '#', &text, &u.fragment);
	(void)str_cut(text, '?', &text, &u.query);
	colon = str_find(text, ':');
	if (colon < str_find(text, '/')) {
		u.scheme = (str){ text.ptr, colon };
		text = str_skip(text, colon + 1);
	}
	if (str_starts(text, STR("//"))) {
		text = str_skip(text, 2);
		u.authority = (str){ text.ptr, str_find(text, '/') };
		text = str_skip(text, u.authority.len);
	}
	u.path = text;
	return u;
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
			while (b->len > start && b->ptr[--b->len] != '/')
				;
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

	if (base->authority.ptr && !base->path.len)
		return arena_printf(a, "/%.*s", STR_ARG(path));
	while (keep && base->path.ptr[keep - 1] != '/')
		keep--;
	return arena_printf(a, "%.*s%.*s", STR_ARG(((str){ base->path.ptr, keep })), STR_ARG(path));
}

/* RFC 3986, 5.2.2 */
static struct uri
resolve(struct arena *a, struct uri base, struct uri r)
{
	if (r.scheme.ptr)
		return r;
	r.scheme = base.scheme;
	if (r.authority.ptr)
		return r;
	r.authority = base.authority;
	if (r.path.len) {
		if (r.path.ptr[0] != '/')
			r.path = merge_paths(a, &base, r.path);
		return r;
	}
	r.path = base.path;
	if (!r.query.ptr)
		r.query = base.query;
	return r;
}

status
uri_resolve(struct ctx *cx, str base, str reference, str *out_uri)
{
	struct uri u;
	struct buf out;

	buf_init(&out, cx->arena, LIMIT_URI_BYTES + 1);
	if (base.len <= LIMIT_URI_BYTES && reference.len <= LIMIT_URI_BYTES) {
		u = resolve(cx->arena, uri_split(base), uri_split(reference));
		if (u.scheme.ptr)
			buf_printf(&out, "%.*s:", STR_ARG(u.scheme));
		if (u.authority.ptr)
			buf_printf(&out, "//%.*s", STR_ARG(u.authority));
		add_path(&out, u.path);
		if (u.query.ptr)
			buf_printf(&out, "?%.*s", STR_ARG(u.query));
	}
	if (out.len > LIMIT_URI_BYTES || out.overflow || base.len > LIMIT_URI_BYTES ||
		reference.len > LIMIT_URI_BYTES)
		return fail(cx, E_INVALID, "a URI is longer than %zu bytes", LIMIT_URI_BYTES);
	*out_uri = buf_str(&out);
	return OK;
}

static int
hex_digit(str s, size_t i)
{
	char c = i < s.len ? s.ptr[i] : '\0';

	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
uri_decode(struct arena *a, str text, str *out_text)
{
	char *to = arena_try_bytes(a, text.len + 1);
	size_t n = 0;

	if (!to)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		to[n++] = text.ptr[i];
		if (text.ptr[i] != '%')
			continue;
		if (hex_digit(text, i + 1) < 0 || hex_digit(text, i + 2) < 0)
			return false;
		to[n - 1] = (char)(hex_digit(text, i + 1) << 4 | hex_digit(text, i + 2));
		i += 2;
	}
	*out_text = (str){ to, n };
	return str_is_utf8(*out_text);
}
