/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody goes to the authorization server, agrees, and comes back with a code. */
#include "exec/mcp/auth/auth.h"

#include "base/clock.h"
#include "base/hash/sha256.h"
#include "core/oidc/jwt.h"
#include "http/client/form.h"
#include "json/out.h"

/* --- there --- */

static str
challenge_of(struct ctx *cx, str verifier)
{
	unsigned char hash[SHA256_BYTES];

	sha256_of(verifier, hash);
	return base64url(cx->arena, (str){ (const char *)hash, sizeof(hash) });
}

struct start {
	str state, verifier, scope;
	int64_t until_us;
	struct identity who;
};

/* All that the way back needs, for who keeps it meanwhile. */
static status
write_down(struct ctx *cx, const struct issuer *i, const struct start *s, str *out_kept)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_OIDC_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "state", s->state);
	json_out_str(&o, "verifier", s->verifier);
	json_out_str(&o, "scope", s->scope);
	json_out_str(&o, "issuer", i->name);
	json_out_bool(&o, "says_issuer", i->says_issuer);
	json_out_str(&o, "resource", i->resource);
	json_out_str(&o, "token_endpoint", i->token_endpoint);
	json_out_str(&o, "revocation_endpoint", i->revocation_endpoint);
	json_out_str(&o, "client_id", s->who.client_id);
	json_out_str(&o, "client_secret", s->who.client_secret);
	json_out_str(&o, "method", s->who.method);
	json_out_int(&o, "until_us", s->until_us);
	json_out_end(&o);
	return buf_finish(&b, out_kept);
}

static status
address(struct ctx *cx, struct mcp_auth *a, const struct issuer *i, const struct start *s, str *out_url)
{
	struct buf query, url;

	buf_init(&query, cx->arena, LIMIT_HTTP_TARGET);
	form_add(&query, "response_type", STR("code"));
	form_add(&query, "client_id", s->who.client_id);
	form_add(&query, "redirect_uri", a->c->options.oauth->redirect_uri);
	form_add(&query, "state", s->state);
	form_add(&query, "code_challenge", challenge_of(cx, s->verifier));
	form_add(&query, "code_challenge_method", STR("S256"));
	form_add(&query, "resource", i->resource);
	if (s->scope.len)
		form_add(&query, "scope", s->scope);
	if (scope_has(s->scope, STR("offline_access")))
		form_add(&query, "prompt",
			STR("consent")); /* or no refresh token comes (OpenID Connect Core, 11) */
	buf_init(&url, cx->arena, LIMIT_HTTP_TARGET);
	buf_add(&url, i->authorization_endpoint);
	buf_add_char(
		&url, str_find(i->authorization_endpoint, '?') < i->authorization_endpoint.len ? '&' : '?');
	buf_add(&url, buf_str(&query));
	TRY(buf_finish(&query, out_url));
	return buf_finish(&url, out_url);
}

status
flow_begin(struct ctx *cx, struct mcp_auth *a, const struct issuer *i, str scope, struct mcp_flow *out)
{
	struct start s = { .state = auth_random(cx->arena),
		.verifier = auth_random(cx->arena),
		.scope = scope,
		.until_us = clock_now_us() + LIMIT_OIDC_FLOW_US };
	struct mcp_flow f = { .state = s.state, .until_us = s.until_us };

	if (scope.len && i->gives_offline)
		s.scope = scope_union(cx->arena, scope, STR("offline_access"));
	TRY(identity_find(cx, a, i, &s.who));
	TRY(write_down(cx, i, &s, &f.kept));
	TRY(address(cx, a, i, &s, &f.url));
	*out = f;
	return OK;
}

/* --- and back --- */

static int
digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static str
unescape(struct arena *a, str s)
{
	char *text = arena_alloc(a, s.len + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++) {
		int high = s.ptr[i] == '%' && i + 2 < s.len ? digit(s.ptr[i + 1]) : -1;
		int low = high >= 0 ? digit(s.ptr[i + 2]) : -1;

		text[n++] = s.ptr[i] == '+' ? ' ' : low >= 0 ? (char)(high * 16 + low) : s.ptr[i];
		i += low >= 0 ? 2 : 0;
	}
	return (str){ text, n };
}

/* The parameter, or empty. Twice is as good as not at all: somebody plays tricks. */
static str
parameter(struct ctx *cx, str query, const char *name)
{
	str one, key, value, found = { 0 };
	unsigned times = 0;

	while (query.len) {
		if (!str_cut(query, '&', &one, &query)) {
			one = query;
			query = (str){ 0 };
		}
		if (!str_cut(one, '=', &key, &value) || !str_eq(key, str_of(name)))
			continue;
		times++;
		found = unescape(cx->arena, value);
	}
	return times == 1 ? found : (str){ 0 };
}

static str
query_of(str back)
{
	str before, after;

	if (str_cut(back, '?', &before, &after))
		back = after;
	if (str_cut(back, '#', &before, &after))
		back = before;
	return back;
}

/* Who sent the browser back? (RFC 9207: byte by byte; said for errors, too.) */
static status
check_issuer(struct ctx *cx, const struct json *flow, str said)
{
	const struct json *says = json_get(flow, STR("says_issuer"));

	if (!said.len && says && says->truth)
		return fail(cx, E_UNAUTHENTICATED,
			"the answer does not say which authorization server it is from");
	if (said.len && !str_eq(said, mcp_text(flow, "issuer")))
		return fail(cx, E_UNAUTHENTICATED,
			"the answer is from another authorization server than was asked");
	return OK;
}

static status
check_back(struct ctx *cx, const struct json *flow, str query, str *out_code)
{
	const struct json *until = json_get(flow, STR("until_us"));
	int64_t until_us = 0;
	str state;

	if (!until || !json_to_int(until, &until_us) || until_us < clock_now_us())
		return fail(cx, E_UNAUTHENTICATED,
			"nobody was sent to the authorization server, or too long ago; begin again");
	state = mcp_text(flow, "state");
	if (!state.len || !str_eq_secret(state, parameter(cx, query, "state")))
		return fail(cx, E_UNAUTHENTICATED, "this is not the answer to what was asked; begin again");
	TRY(check_issuer(cx, flow, parameter(cx, query, "iss")));
	*out_code = parameter(cx, query, "code");
	if (parameter(cx, query, "error").len || !out_code->len)
		return fail(cx, E_UNAUTHENTICATED, "the authorization server did not agree");
	return OK;
}

str
mcp_flow_state(struct ctx *cx, str back)
{
	return parameter(cx, query_of(back), "state");
}

status
flow_end(struct ctx *cx, struct mcp_auth *a, str kept, str back)
{
	struct json *flow;
	struct grant g;
	str code;

	if (json_parse(cx, kept, &flow) != OK)
		return fail(cx, E_INTERNAL, "what was kept of an authorization cannot be read");
	TRY(check_back(cx, flow, query_of(back), &code));
	g = (struct grant){ .issuer = mcp_text(flow, "issuer"),
		.resource = mcp_text(flow, "resource"),
		.token_endpoint = mcp_text(flow, "token_endpoint"),
		.revocation_endpoint = mcp_text(flow, "revocation_endpoint"),
		.identity = { mcp_text(flow, "client_id"), mcp_text(flow, "client_secret"),
			mcp_text(flow, "method") },
		.scope = mcp_text(flow, "scope") };
	TRY(grant_exchange(cx, a, &g, code, mcp_text(flow, "verifier")));
	return auth_save_in_turn(cx, a, &g);
}
