/* SPDX-License-Identifier: Apache-2.0 */
#include "face/rest/credential.h"

#include "core/door/tries.h"

static str
bearer(str authorization)
{
	str scheme, token;

	if (!str_cut(authorization, ' ', &scheme, &token) || !str_eq_nocase(scheme, STR("Bearer")))
		return (str){ 0 };
	return str_trim(token);
}

static str
cookie(str header, str name)
{
	str rest = header, one, key, value;

	while (rest.len) {
		if (!str_cut(rest, ';', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		if (str_cut(str_trim(one), '=', &key, &value) && str_eq(key, name))
			return value;
	}
	return (str){ 0 };
}

/* The headers that say who it is; of several of a name the first counts, as everywhere. */
struct said {
	str authorization, cookie, csrf, site, origin, host;
};

static void
take(struct said *s, const struct http_header *h)
{
	static const struct {
		str name;
		size_t offset;
	} wanted[] = {
#define WANTED(text, member) { { text, sizeof(text) - 1 }, offsetof(struct said, member) }
		WANTED("Authorization", authorization),
		WANTED("Cookie", cookie),
		WANTED("X-CSRF-Token", csrf),
		WANTED("Sec-Fetch-Site", site),
		WANTED("Origin", origin),
		WANTED("Host", host),
#undef WANTED
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		str *to = (str *)(void *)((char *)s + wanted[i].offset);

		if (!to->ptr && h->name.len == wanted[i].name.len && str_eq_nocase(h->name, wanted[i].name))
			*to = h->value;
	}
}

/* Does the browser say that the page which asks is one of ours? Without any word from it: no. */
static bool
same_origin(const struct http_exchange *x, const struct said *s)
{
	str scheme = x->req.tls ? STR("https://") : STR("http://");

	if (s->site.len)
		return str_eq(s->site, STR("same-origin"));
	if (x->cx->public_url.len &&
		str_eq(s->origin, x->cx->public_url)) /* behind a proxy Host may be another */
		return true;
	return str_starts(s->origin, scheme) && str_eq(str_skip(s->origin, scheme.len), s->host);
}

const struct credential *
credential_of(const struct http_exchange *x)
{
	struct credential *c = ARENA_NEW(x->cx->arena, struct credential);
	struct said s = { 0 };

	for (size_t i = 0; i < x->req.header_count; i++)
		take(&s, &x->req.headers[i]);
	*c = (struct credential){
		.bearer = bearer(s.authorization),
		.session = cookie(s.cookie, STR(SESSION_COOKIE)),
		.csrf = s.csrf,
		.known = cookie(s.cookie, STR(TRIES_COOKIE)),
		.flow = cookie(s.cookie, STR(OIDC_COOKIE)),
		.peer = x->req.peer,
		.transport = "rest",
		.same_origin = same_origin(x, &s),
		.safe_method = x->req.method == HTTP_GET_ || x->req.method == HTTP_HEAD_,
	};
	return c;
}
