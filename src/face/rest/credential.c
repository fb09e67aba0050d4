/* SPDX-License-Identifier: Apache-2.0 */
#include "face/rest/credential.h"

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

/* Does the browser say that the page which asks is one of ours? Without any word from it: no. */
static bool
same_origin(const struct http_exchange *x)
{
	str site = http_header(x, STR("Sec-Fetch-Site")), origin = http_header(x, STR("Origin"));
	str scheme = x->req.tls ? STR("https://") : STR("http://");

	if (site.len)
		return str_eq(site, STR("same-origin"));
	if (x->cx->public_url.len &&
		str_eq(origin, x->cx->public_url)) /* behind a proxy Host may be another */
		return true;
	return str_starts(origin, scheme) &&
	       str_eq(str_skip(origin, scheme.len), http_header(x, STR("Host")));
}

const struct credential *
credential_of(const struct http_exchange *x)
{
	struct credential *c = ARENA_NEW(x->cx->arena, struct credential);

	*c = (struct credential){
		.bearer = bearer(http_header(x, STR("Authorization"))),
		.session = cookie(http_header(x, STR("Cookie")), STR(SESSION_COOKIE)),
		.csrf = http_header(x, STR("X-CSRF-Token")),
		.flow = cookie(http_header(x, STR("Cookie")), STR(OIDC_COOKIE)),
		.peer = x->req.peer,
		.transport = "rest",
		.same_origin = same_origin(x),
		.safe_method = x->req.method == HTTP_GET_ || x->req.method == HTTP_HEAD_,
	};
	return c;
}
