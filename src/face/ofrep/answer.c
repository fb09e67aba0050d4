/* SPDX-License-Identifier: Apache-2.0 */
#include "face/ofrep/answer.h"

#include "base/limits.h"
#include "face/ofrep/ofrep.h"
#include "face/ofrep/ticket.h"

#include <inttypes.h>
#include <sodium.h>

#define TARGETING_KEY "targetingKey"

void
ofrep_allow(struct http_exchange *x)
{
	http_add_header(x, STR("Access-Control-Allow-Origin"), STR("*"));
	http_add_header(x, STR("Access-Control-Expose-Headers"), STR("ETag, Retry-After, X-Request-Id"));
}

/* --- what is asked --- */

bool
ofrep_is_light(const struct ofrep_ask *a, const struct live_ruleset *live)
{
	size_t count = ruleset_count(live->rules);
	const struct item *one = a->bulk ? NULL : ruleset_find(live->rules, a->key);
	uint64_t weight = one ? ruleset_weight(live->rules, one) : 0;

	if (a->bulk && count > LIMIT_PEEK_KEYS)
		return false;
	for (size_t i = 0; a->bulk && i < count; i++)
		weight += ruleset_weight(live->rules, ruleset_at(live->rules, i));
	return weight <= LIMIT_PEEK_WEIGHT;
}

bool
ofrep_in_scope(const struct ofrep_ask *a, const struct caller *c, str environment_id)
{
	return a->bulk || caller_in_scope(c, environment_id, a->key);
}

/* OpenFeature's targetingKey is who it is about, where the context does not say so under the project's own name. */
static void
add_target(struct arena *a, struct json *context, const struct ruleset *rules)
{
	const struct json *key = json_get(context, STR(TARGETING_KEY));
	str field = ruleset_target(rules);

	if (key && !json_get(context, field))
		json_add_member(context, field, json_share(a, key));
}

/* --- one evaluation --- */

static str
reason_of(const struct evaluation *e)
{
	if (e->split)
		return STR("SPLIT");
	if (e->rule != EVALUATION_DEFAULT)
		return STR("TARGETING_MATCH");
	return e->item->rule_count ? STR("DEFAULT") : STR("STATIC");
}

static status
write_members(struct json_out *o, struct subject *s, const struct item *item)
{
	struct evaluation e;

	TRY(ruleset_evaluate(s, item, &e));
	json_out_str(o, "key", item->key);
	json_out_str(o, "reason", reason_of(&e));
	json_out_raw(o, "value", e.value);
	return OK;
}

static void
begin(struct http_exchange *x, int code, struct json_out *o)
{
	x->status = code;
	x->content_type = "application/json";
	ofrep_allow(x);
	json_out_init(o, &x->body);
	json_out_object(o, NULL);
}

static status
answer_one(struct http_exchange *x, const struct ofrep_ask *a, struct subject *s, const struct ruleset *rules)
{
	const struct item *item = ruleset_find(rules, a->key);
	struct json_out o;

	begin(x, item ? 200 : 404, &o);
	if (item) {
		TRY(write_members(&o, s, item));
	} else {
		json_out_str(&o, "key", a->key);
		json_out_str(&o, "errorCode", STR("FLAG_NOT_FOUND"));
		json_out_str(&o, "errorDetails", STR("there is no flag or config of this key here"));
	}
	json_out_end(&o);
	return OK;
}

/* --- all of them --- */

/*
 * The same as long as the answer is: it depends on the ruleset, the context and what the token may see, and it has
 * the address of a stream, which is another one after a while.
 */
static str
etag_of(struct http_exchange *x, const struct caller *c, const struct live_ruleset *live)
{
	unsigned char hash[16];
	char *text = arena_alloc(x->cx->arena, 2 * sizeof(hash) + 3);
	const int64_t numbers[] = { live->version, ticket_end(), c->scope.all_keys };
	crypto_generichash_state state;

	(void)crypto_generichash_init(&state, NULL, 0, sizeof(hash));
	(void)crypto_generichash_update(&state, (const unsigned char *)numbers, sizeof(numbers));
	(void)crypto_generichash_update(
		&state, (const unsigned char *)live->environment_id.ptr, live->environment_id.len);
	(void)crypto_generichash_update(&state, (const unsigned char *)c->token_id.ptr, c->token_id.len);
	for (size_t i = 0; i < c->scope.key_count; i++) {
		const str *key = &c->scope.keys[i];

		(void)crypto_generichash_update(&state, (const unsigned char *)&key->len, sizeof(key->len));
		(void)crypto_generichash_update(&state, (const unsigned char *)key->ptr, key->len);
	}
	if (x->req.body.len)
		(void)crypto_generichash_update(
			&state, (const unsigned char *)x->req.body.ptr, x->req.body.len);
	(void)crypto_generichash_final(&state, hash, sizeof(hash));
	text[0] = '"';
	(void)sodium_bin2hex(text + 1, 2 * sizeof(hash) + 1, hash, sizeof(hash));
	text[1 + 2 * sizeof(hash)] = '"';
	return (str){ text, 2 * sizeof(hash) + 2 };
}

/* Does If-None-Match hold it: one tag of a list, weak or not, or "*"? */
static bool
is_known(str header, str etag)
{
	str rest = header, one;

	while (rest.len) {
		if (!str_cut(rest, ',', &one, &rest)) {
			one = rest;
			rest = (str){ NULL, 0 };
		}
		one = str_trim(one);
		if (str_starts(one, STR("W/")))
			one = str_skip(one, 2);
		if (str_eq(one, etag) || str_eq(one, STR("*")))
			return true;
	}
	return false;
}

/* Where to hear of changes: an address below our own where we know it, else below the one that was asked. */
static void
write_stream(
	struct http_exchange *x, struct json_out *o, const struct caller *c, const struct live_ruleset *live)
{
	struct ticket t = { c->org_id, c->token_id, live->environment_id, ticket_end() };
	str path = arena_printf(x->cx->arena, "/ofrep/v1/events?ticket=%.*s&since=%" PRId64,
		STR_ARG(ticket_text(x->cx, &t)), live->version);

	json_out_array(o, "eventStreams");
	json_out_object(o, NULL);
	json_out_str(o, "type", STR("sse"));
	if (x->cx->public_url.len) {
		json_out_str(o, "url",
			arena_printf(x->cx->arena, "%.*s%.*s", STR_ARG(x->cx->public_url), STR_ARG(path)));
	} else {
		json_out_object(o, "endpoint");
		json_out_str(o, "requestUri", path);
		json_out_end(o);
	}
	json_out_int(o, "inactivityDelaySec", 120);
	json_out_end(o);
	json_out_end(o);
}

static status
write_flags(struct json_out *o, struct subject *s, const struct caller *c, const struct live_ruleset *live)
{
	size_t count = ruleset_count(live->rules);

	json_out_array(o, "flags");
	for (size_t i = 0; i < count; i++) {
		const struct item *item = ruleset_at(live->rules, i);

		if (!caller_in_scope(c, live->environment_id, item->key))
			continue;
		json_out_object(o, NULL);
		TRY(write_members(o, s, item));
		json_out_end(o);
	}
	json_out_end(o);
	return OK;
}

static status
answer_all(
	struct http_exchange *x, struct subject *s, const struct caller *c, const struct live_ruleset *live)
{
	str etag = etag_of(x, c, live), text;
	struct json_out o;

	http_add_header(x, STR("ETag"), etag);
	if (is_known(http_header(x, STR("If-None-Match")), etag)) {
		x->status = 304;
		ofrep_allow(x);
		return OK;
	}
	begin(x, 200, &o);
	TRY(write_flags(&o, s, c, live));
	write_stream(x, &o, c, live);
	json_out_end(&o);
	return buf_finish(&x->body, &text);
}

status
ofrep_answer(struct http_exchange *x, const struct ofrep_ask *a, const struct caller *c,
	const struct live_ruleset *live)
{
	struct subject *s;

	add_target(x->cx->arena, a->context, live->rules);
	TRY(subject_prepare(x->cx, live->rules, a->context, &s));
	return a->bulk ? answer_all(x, s, c, live) : answer_one(x, a, s, live->rules);
}

/* --- refusals --- */

/* OpenFeature's word for it. */
static str
code_of(status s, str key)
{
	switch (s) {
	case E_BAD_JSON:
		return STR("PARSE_ERROR");
	case E_INVALID:
	case E_TOO_LARGE:
		return STR("INVALID_CONTEXT");
	case E_NOT_FOUND:
		return key.len ? STR("FLAG_NOT_FOUND") : STR("GENERAL");
	default:
		return STR("GENERAL");
	}
}

/* The key that was asked for: the last of the path's parameters, where it has one. */
static str
key_of(const struct http_exchange *x)
{
	str path = x->route ? str_of(x->route->path) : STR("");

	if (!str_ends(path, STR("/{key}")))
		return STR("");
	return x->req.params[1].len ? x->req.params[1] : x->req.params[0];
}

void
ofrep_refuse(struct http_exchange *x, status s)
{
	str key = key_of(x);
	struct json_out o;

	if (x->cx->error.code != s)
		x->cx->error = (struct error){ .code = s }; /* so that the log knows what it was */
	buf_init(&x->body, x->cx->arena, LIMIT_HTTP_ANSWER);
	if (s == E_UNAUTHENTICATED)
		http_add_header(x, STR("WWW-Authenticate"), STR("Bearer"));
	for (size_t i = 0; i < x->cx->header_count; i++)
		http_add_header(x, str_of(x->cx->headers[i].name), x->cx->headers[i].value);
	begin(x, status_info(s)->http, &o);
	json_out_str(&o, "key", key);
	json_out_str(&o, "errorCode", code_of(s, key));
	json_out_str(&o, "errorDetails",
		s == E_INTERNAL ? str_of(status_info(s)->sentence) : ctx_message(x->cx, s));
	json_out_end(&o);
}
