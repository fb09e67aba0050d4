/* SPDX-License-Identifier: Apache-2.0 */
/* request: what a handler asks of an exchange. */
#include "http/http.h"

#include "base/check.h"
#include "base/limits.h"
#include "http/parse.h"
#include "http/router.h"

void
http_exchange_init(struct http_exchange *x, struct ctx *cx)
{
	*x = (struct http_exchange){ .cx = cx };
	buf_init(&x->body, cx->arena, LIMIT_HTTP_ANSWER);
	buf_init(&x->extra, cx->arena, LIMIT_HTTP_HEAD);
}

str
http_header(const struct http_exchange *x, str name)
{
	for (size_t i = 0; i < x->req.header_count; i++)
		if (str_eq_nocase(x->req.headers[i].name, name))
			return x->req.headers[i].value;
	return (str){ 0 };
}

status
http_take_key(struct http_exchange *x)
{
	str key = http_header(x, STR("Idempotency-Key"));

	if (key.ptr && (!key.len || str_eq(key, STR("\"\""))))
		return fail(
			x->cx, E_INVALID, "the header Idempotency-Key is empty; send a key, or leave it out");
	x->cx->idempotency_key = key;
	return OK;
}

bool
http_form_next(struct arena *a, str form, size_t *at, str *out_name, str *out_value, bool *out_ok)
{
	str rest = str_skip(form, *at), pair, name, value = { 0 };
	bool ok;

	while (str_starts(rest, STR("&"))) {
		rest = str_skip(rest, 1);
		++*at;
	}
	if (rest.len == 0)
		return false;
	pair = (str){ rest.ptr, str_find(rest, '&') };
	*at += pair.len;
	if (!str_cut(pair, '=', &name, &value))
		name = pair;
	ok = http_percent_decode(a, name, true, &name);
	ok = http_percent_decode(a, value, true, &value) && ok;
	*out_name = name;
	*out_value = value;
	*out_ok = ok;
	return true;
}

bool
http_query_next(const struct http_exchange *x, size_t *at, str *out_name, str *out_value, bool *out_ok)
{
	return http_form_next(x->cx->arena, x->req.query, at, out_name, out_value, out_ok);
}

bool
http_query(const struct http_exchange *x, str name, str *out_value)
{
	size_t at = 0;
	str have, value;
	bool ok;

	while (http_query_next(x, &at, &have, &value, &ok)) {
		if (!str_eq(have, name))
			continue;
		if (ok)
			*out_value = value;
		return ok;
	}
	return false;
}

static bool
is_text(str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!http_is_field_text(s.ptr[i]))
			return false;
	return true;
}

void
http_add_header(struct http_exchange *x, str name, str value)
{
	CHECK(name.len > 0 && is_text(name) && is_text(value));
	if (str_eq_nocase(name, STR("Cache-Control")))
		x->own_cache = true;
	if (str_eq_nocase(name, STR("Content-Security-Policy")))
		x->own_policy = true;
	buf_add(&x->extra, name);
	buf_add(&x->extra, STR(": "));
	buf_add(&x->extra, value);
	buf_add(&x->extra, STR("\r\n"));
}

void
http_answer_fixed(struct http_exchange *x, const char *content_type, str body)
{
	x->content_type = content_type;
	x->fixed = body;
}
