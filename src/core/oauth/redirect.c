/* SPDX-License-Identifier: Apache-2.0 */
#include "core/oauth/redirect.h"

#include "base/limits.h"

/* Schemes of MCP clients that have no dot in them, as RFC 8252 asks for, and are what people use. */
static const char *const known_schemes[] = { "cursor", "vscode", "vscode-insiders", "windsurf", NULL };

static bool
is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool
is_made_of(str text, const char *others)
{
	for (size_t i = 0; i < text.len; i++)
		if (!is_alnum(text.ptr[i]) && !(text.ptr[i] && strchr(others, text.ptr[i])))
			return false;
	return true;
}

/* Lower case, so that there is one way to write it. */
static bool
is_scheme(str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] >= 'A' && text.ptr[i] <= 'Z')
			return false;
	return text.len && text.ptr[0] >= 'a' && is_made_of(text, "+-.");
}

static bool
is_port(str text)
{
	int64_t n;

	return text.len <= 5 && str_to_int(text, &n) && n >= 1 && n <= 65535;
}

static bool
split_authority(str authority, struct redirect *out)
{
	size_t end =
		str_starts(authority, STR("[")) ? str_find(authority, ']') + 1 : str_find(authority, ':');
	str inner;

	if (end > authority.len)
		return false;
	out->host = (str){ authority.ptr, end };
	inner = out->host;
	if (str_starts(inner, STR("[")))
		inner = (str){ inner.ptr + 1, inner.len - 2 };
	if (!inner.len || !is_made_of(inner, inner.ptr == out->host.ptr ? ".-_" : ":."))
		return false;
	authority = str_skip(authority, end);
	if (!authority.len)
		return true;
	out->port = str_skip(authority, 1);
	return authority.ptr[0] == ':' && is_port(out->port);
}

static size_t
authority_end(str text)
{
	size_t slash = str_find(text, '/'), question = str_find(text, '?');

	return slash < question ? slash : question;
}

bool
redirect_split(str uri, struct redirect *out)
{
	struct redirect r = { 0 };
	size_t end;

	if (uri.len > LIMIT_OAUTH_URI || !is_made_of(uri, "-._~:/?[]@!$&'()*+,;=%"))
		return false;
	if (!str_cut(uri, ':', &r.scheme, &r.rest) || !is_scheme(r.scheme) || !r.rest.len)
		return false;
	if (str_starts(r.rest, STR("//"))) {
		r.rest = str_skip(r.rest, 2);
		end = authority_end(r.rest);
		if (!split_authority((str){ r.rest.ptr, end }, &r))
			return false;
		r.rest = str_skip(r.rest, end);
	}
	*out = r;
	return true;
}

static bool
is_loopback(const struct redirect *r)
{
	return str_eq(r->scheme, STR("http")) &&
	       (str_eq(r->host, STR("127.0.0.1")) || str_eq(r->host, STR("[::1]")) ||
		       str_eq(r->host, STR("localhost")));
}

static bool
is_private(const struct redirect *r)
{
	for (size_t i = 0; known_schemes[i]; i++)
		if (str_eq(r->scheme, str_of(known_schemes[i])))
			return true;
	return str_find(r->scheme, '.') < r->scheme.len;
}

bool
redirect_valid(str uri)
{
	struct redirect r;

	if (!redirect_split(uri, &r))
		return false;
	return (str_eq(r.scheme, STR("https")) && r.host.len) || is_loopback(&r) || is_private(&r);
}

bool
redirect_matches(str registered, str asked)
{
	struct redirect a, b;

	if (!redirect_valid(registered) || !redirect_valid(asked))
		return false;
	if (str_eq(registered, asked))
		return true;
	if (!redirect_split(registered, &a) || !redirect_split(asked, &b))
		return false;
	return is_loopback(&a) && str_eq(a.scheme, b.scheme) && str_eq(a.host, b.host) &&
	       str_eq(a.rest, b.rest);
}

str
redirect_where(struct arena *a, str uri)
{
	struct redirect r;

	if (!redirect_split(uri, &r))
		return STR("nowhere");
	if (is_private(&r) && !str_eq(r.scheme, STR("https")))
		return arena_printf(a, "the application %.*s", STR_ARG(r.scheme));
	return arena_printf(a, "%.*s%s%.*s%s", STR_ARG(r.host), r.port.len ? ":" : "", STR_ARG(r.port),
		is_loopback(&r) ? " (this computer)" : "");
}
