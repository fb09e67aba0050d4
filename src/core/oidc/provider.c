/* SPDX-License-Identifier: Apache-2.0 */
#include "core/oidc/provider.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/scoped.h"
#include "http/client.h"
#include "http/client/form.h"

#include <stdlib.h>

/* A document of the provider's, kept between requests. */
struct kept {
	struct arena arena;
	str text;      /* empty: none */
	int64_t at_us; /* clock_mono_us */
};

struct oidc {
	struct oidc_options options;
	pthread_mutex_t mutex; /* guards all below; nobody waits for the network while holding it */
	struct kept page, keys;
	int64_t asked_again_us; /* for keys we did not know; 0: never */
	int asking;
};

struct oidc *
oidc_new(const struct oidc_options *options)
{
	struct oidc *o = calloc(1, sizeof(*o));

	CHECK(o); /* no memory */
	o->options = *options;
	CHECK(pthread_mutex_init(&o->mutex, NULL) == 0);
	arena_init(&o->page.arena, LIMIT_OIDC_ANSWER * 2);
	arena_init(&o->keys.arena, LIMIT_OIDC_ANSWER * 2);
	return o;
}

void
oidc_free(struct oidc *o)
{
	if (!o)
		return;
	arena_done(&o->page.arena);
	arena_done(&o->keys.arena);
	CHECK(pthread_mutex_destroy(&o->mutex) == 0);
	free(o);
}

const struct oidc_options *
oidc_options(const struct oidc *o)
{
	return &o->options;
}

status
oidc_enter(struct ctx *cx, struct oidc *o)
{
	scoped_lock held = lock(&o->mutex);

	if (o->asking >= o->options.at_once)
		return fail(cx, E_BUSY, "too many people are signing in right now; try again");
	o->asking++;
	return OK;
}

void
oidc_leave(struct oidc *o)
{
	scoped_lock held = lock(&o->mutex);

	o->asking--;
}

/* --- what is kept --- */

static str
recall(struct ctx *cx, struct oidc *o, const struct kept *k)
{
	scoped_lock held = lock(&o->mutex);

	if (!k->text.len || clock_mono_us() - k->at_us > LIMIT_OIDC_CACHE_US)
		return (str){ 0 };
	return arena_str(cx->arena, k->text);
}

static void
keep(struct oidc *o, struct kept *k, str text)
{
	scoped_lock held = lock(&o->mutex);

	arena_reset(&k->arena);
	k->text = arena_str(&k->arena, text);
	k->at_us = clock_mono_us();
}

/* May keys be asked for that we ought to know? Strangers can make us want that, so not often. */
static bool
may_ask_again(struct oidc *o)
{
	scoped_lock held = lock(&o->mutex);
	int64_t now_us = clock_mono_us();

	if (o->asked_again_us && now_us - o->asked_again_us < LIMIT_OIDC_AGAIN_US)
		return false;
	o->asked_again_us = now_us;
	return true;
}

/* --- asking --- */

static status
ask(struct ctx *cx, const struct oidc *o, struct http_client_request *r, const char *what,
	struct http_client_answer *out)
{
	status s;

	r->ca_file = o->options.ca_file;
	r->timeout_ms = LIMIT_OIDC_MS;
	r->max_answer = LIMIT_OIDC_ANSWER;
	s = http_client_run(cx, r, out);
	if (s != OK)
		return fail(cx, E_UNAVAILABLE, "the identity provider's %s cannot be had: %.*s", what,
			STR_ARG(ctx_message(cx, s)));
	return OK;
}

static status
read_object(struct ctx *cx, str text, const char *what, struct json **out)
{
	struct json *doc;

	if (json_parse(cx, text, &doc) != OK || doc->type != JSON_OBJECT)
		return fail(cx, E_UNAVAILABLE, "the identity provider's %s is no JSON object", what);
	*out = doc;
	return OK;
}

static status
get(struct ctx *cx, const struct oidc *o, str url, str bearer, const char *what, str *out_text)
{
	struct http_client_request r = { .method = "GET", .url = url, .bearer = bearer };
	struct http_client_answer answer;

	TRY(ask(cx, o, &r, what, &answer));
	if (answer.status != 200)
		return fail(cx, E_UNAVAILABLE, "the identity provider's %s cannot be had: it answers %d",
			what, answer.status);
	*out_text = answer.body;
	return OK;
}

static str
text_of(const struct json *object, str key)
{
	const struct json *value = json_get(object, key);

	return value && value->type == JSON_STRING ? value->text : (str){ 0 };
}

/* --- what it says of itself --- */

/* An address as protected as the issuer's own, that can stand in a header. */
static bool
is_endpoint(const struct oidc *o, str url)
{
	bool plain = str_starts(o->options.issuer, STR("http://")) && str_starts(url, STR("http://"));

	for (size_t i = 0; i < url.len; i++)
		if (url.ptr[i] <= ' ' || url.ptr[i] > '~' || url.ptr[i] == '#' || url.ptr[i] == '\\')
			return false;
	return (plain || str_starts(url, STR("https://"))) && url.len <= LIMIT_URI_BYTES;
}

/* Is word in the list? True where there is no list: `unless` is what holds then. */
static bool
lists(const struct json *doc, str key, str word, bool unless)
{
	const struct json *list = json_get(doc, key);

	if (!list || list->type != JSON_ARRAY)
		return unless;
	JSON_EACH (one, list) {
		if (one->type == JSON_STRING && str_eq(one->text, word))
			return true;
	}
	return false;
}

static status
check_page(struct ctx *cx, const struct oidc *o, const struct json *doc, struct provider *out)
{
	const struct json *says = json_get(doc, STR("authorization_response_iss_parameter_supported"));
	str methods = STR("token_endpoint_auth_methods_supported");
	struct provider p = {
		.authorization_endpoint = text_of(doc, STR("authorization_endpoint")),
		.token_endpoint = text_of(doc, STR("token_endpoint")),
		.jwks_uri = text_of(doc, STR("jwks_uri")),
		.userinfo_endpoint = text_of(doc, STR("userinfo_endpoint")),
		.says_issuer = says && says->type == JSON_BOOL && says->truth,
		.secret_in_body = !lists(doc, methods, STR("client_secret_basic"), true) &&
				  lists(doc, methods, STR("client_secret_post"), false),
	};

	if (!str_eq(text_of(doc, STR("issuer")), o->options.issuer))
		return fail(cx, E_UNAVAILABLE,
			"the identity provider calls itself by another name than oidc-issuer");
	if (!is_endpoint(o, p.authorization_endpoint) || !is_endpoint(o, p.token_endpoint) ||
		!is_endpoint(o, p.jwks_uri) ||
		(p.userinfo_endpoint.len && !is_endpoint(o, p.userinfo_endpoint)))
		return fail(cx, E_UNAVAILABLE,
			"an address of the identity provider is missing or is not https://");
	if (!lists(doc, STR("code_challenge_methods_supported"), STR("S256"), true))
		return fail(cx, E_UNAVAILABLE, "the identity provider does not know PKCE with S256");
	*out = p;
	return OK;
}

status
provider_describe(struct ctx *cx, struct oidc *o, struct provider *out)
{
	str text = recall(cx, o, &o->page), issuer = o->options.issuer;
	bool known = text.len > 0;
	struct json *doc;

	if (str_ends(issuer, STR("/")))
		issuer.len--;
	if (!known)
		TRY(get(cx, o,
			arena_printf(cx->arena, "%.*s/.well-known/openid-configuration", STR_ARG(issuer)),
			(str){ 0 }, "configuration", &text));
	TRY(read_object(cx, text, "configuration", &doc));
	TRY(check_page(cx, o, doc, out));
	if (!known)
		keep(o, &o->page, text);
	return OK;
}

status
provider_keys(struct ctx *cx, struct oidc *o, const struct provider *p, bool again, struct json **out_set)
{
	const struct json *keys;
	struct json *doc;
	str text = { 0 };
	bool known;

	if (again && !may_ask_again(o))
		return fail(cx, E_NOT_FOUND, "the provider was asked for new keys a moment ago");
	if (!again)
		text = recall(cx, o, &o->keys);
	known = text.len > 0;
	if (!known)
		TRY(get(cx, o, p->jwks_uri, (str){ 0 }, "keys", &text));
	TRY(read_object(cx, text, "keys", &doc));
	keys = json_get(doc, STR("keys"));
	if (!keys || keys->type != JSON_ARRAY || keys->count > LIMIT_OIDC_KEYS)
		return fail(cx, E_UNAVAILABLE, "the identity provider's keys are no list of at most %u",
			LIMIT_OIDC_KEYS);
	if (!known)
		keep(o, &o->keys, text);
	*out_set = doc;
	return OK;
}

/* --- a code for tokens --- */

/* The provider's word for what is wrong, where it is a word. */
static str
word_of(str error)
{
	for (size_t i = 0; i < error.len; i++)
		if ((error.ptr[i] < 'a' || error.ptr[i] > 'z') && error.ptr[i] != '_')
			return STR("an error");
	return error.len && error.len <= 64 ? error : STR("an error");
}

static status
refuse_code(struct ctx *cx, const struct http_client_answer *answer)
{
	struct json *doc = NULL;
	str word = STR("an error");

	if (json_parse(cx, answer->body, &doc) == OK)
		word = word_of(text_of(doc, STR("error")));
	if (answer->status == 400 && str_eq(word, STR("invalid_grant")))
		return fail(cx, E_UNAUTHENTICATED,
			"the identity provider does not take its code back (invalid_grant); begin again");
	return fail(cx, E_UNAVAILABLE, "the identity provider gives no token: it answers %d (%.*s)",
		answer->status, STR_ARG(word));
}

static status
read_tokens(struct ctx *cx, str body, struct provider_tokens *out)
{
	struct provider_tokens t;
	struct json *doc;

	TRY(read_object(cx, body, "token answer", &doc));
	t.id_token = text_of(doc, STR("id_token"));
	t.access_token = text_of(doc, STR("access_token"));
	if (!t.id_token.len)
		return fail(cx, E_UNAVAILABLE, "the identity provider gives no ID token");
	if (!str_eq_nocase(text_of(doc, STR("token_type")), STR("Bearer")))
		return fail(cx, E_UNAVAILABLE,
			"the identity provider gives a token of a type that we do not know");
	*out = t;
	return OK;
}

status
provider_exchange(struct ctx *cx, struct oidc *o, const struct provider *p, str code, str verifier,
	struct provider_tokens *out)
{
	struct http_client_request r = {
		.method = "POST", .url = p->token_endpoint, .type = "application/x-www-form-urlencoded"
	};
	const struct oidc_options *own = &o->options;
	bool in_body = !own->client_secret.len || p->secret_in_body;
	struct http_client_answer answer;
	struct buf form;

	buf_init(&form, cx->arena, LIMIT_OIDC_ANSWER);
	form_add(&form, "grant_type", STR("authorization_code"));
	form_add(&form, "code", code);
	form_add(&form, "redirect_uri", own->redirect_uri);
	form_add(&form, "code_verifier", verifier);
	if (in_body)
		form_add(&form, "client_id", own->client_id);
	if (in_body && own->client_secret.len)
		form_add(&form, "client_secret", own->client_secret);
	if (!in_body)
		r.basic = form_basic(cx->arena, own->client_id, own->client_secret);
	r.body = buf_str(&form);
	TRY(ask(cx, o, &r, "token", &answer));
	if (answer.status != 200)
		return refuse_code(cx, &answer);
	return read_tokens(cx, answer.body, out);
}

status
provider_userinfo(
	struct ctx *cx, struct oidc *o, const struct provider *p, str access_token, struct json **out_doc)
{
	str text;

	TRY(get(cx, o, p->userinfo_endpoint, access_token, "word on the person", &text));
	return read_object(cx, text, "word on the person", out_doc);
}
