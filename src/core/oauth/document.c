/* SPDX-License-Identifier: Apache-2.0 */
#include "core/oauth/document.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/scoped.h"
#include "core/oauth/redirect.h"
#include "http/client.h"

#include <stdlib.h>

struct kept {
	char *text; /* the address, and behind it the document; NULL: free */
	size_t id_len, len;
	int64_t at_us; /* clock_mono_us */
};

struct oauth {
	struct oauth_options options;
	pthread_mutex_t mutex; /* guards all below; nobody waits for the network while holding it */
	struct kept kept[LIMIT_OAUTH_DOCUMENTS];
	size_t next; /* the place that is taken next: the oldest */
	int fetching;
};

struct oauth *
oauth_new(const struct oauth_options *options)
{
	struct oauth *o = calloc(1, sizeof(*o));

	CHECK(o); /* no memory */
	o->options = *options;
	CHECK(pthread_mutex_init(&o->mutex, NULL) == 0);
	return o;
}

void
oauth_free(struct oauth *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < LIMIT_OAUTH_DOCUMENTS; i++)
		free(o->kept[i].text);
	CHECK(pthread_mutex_destroy(&o->mutex) == 0);
	free(o);
}

const struct oauth_options *
oauth_options(const struct oauth *o)
{
	return &o->options;
}

/* --- the name --- */

bool
document_is_id(str client_id)
{
	struct redirect u;

	return redirect_split(client_id, &u) && str_eq(u.scheme, STR("https")) && u.host.len &&
	       u.rest.len > 1 && u.rest.ptr[0] == '/' && str_find(u.rest, '?') == u.rest.len &&
	       !str_has_dots(u.rest);
}

str
document_host(str client_id)
{
	struct redirect u;

	return redirect_split(client_id, &u) ? u.host : (str){ 0 };
}

/* --- what is kept --- */

static bool
is_of(const struct kept *k, str id)
{
	return k->text && str_eq((str){ k->text, k->id_len }, id) &&
	       clock_mono_us() - k->at_us < LIMIT_OAUTH_DOCUMENT_US;
}

static str
recall(struct ctx *cx, struct oauth *o, str id)
{
	scoped_lock held = lock(&o->mutex);

	for (size_t i = 0; i < LIMIT_OAUTH_DOCUMENTS; i++)
		if (is_of(&o->kept[i], id))
			return arena_str(cx->arena, (str){ o->kept[i].text + id.len, o->kept[i].len });
	return (str){ 0 };
}

static void
keep(struct oauth *o, str id, str text)
{
	char *copy = malloc(id.len + text.len);
	scoped_lock held = lock(&o->mutex);
	struct kept *k = &o->kept[o->next];

	CHECK(copy); /* no memory */
	memcpy(copy, id.ptr, id.len);
	memcpy(copy + id.len, text.ptr, text.len);
	free(k->text);
	*k = (struct kept){ .text = copy, .id_len = id.len, .len = text.len, .at_us = clock_mono_us() };
	o->next = (o->next + 1) % LIMIT_OAUTH_DOCUMENTS;
}

/* --- fetching --- */

static status
enter(struct ctx *cx, struct oauth *o)
{
	scoped_lock held = lock(&o->mutex);

	if (o->fetching >= LIMIT_OAUTH_FETCHES)
		return fail(cx, E_BUSY, "too many applications are being looked at right now; try again");
	o->fetching++;
	return OK;
}

static void
leave(struct oauth *o)
{
	scoped_lock held = lock(&o->mutex);

	o->fetching--;
}

static bool
is_listed(str hosts, str host)
{
	str one, rest = hosts;

	while (rest.len) {
		if (!str_cut(rest, ',', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		if (str_eq_nocase(str_trim(one), host))
			return true;
	}
	return false;
}

static status
get(struct ctx *cx, const struct oauth *o, str id, str *out_text)
{
	struct http_client_request r = { .method = "GET",
		.url = id,
		.ca_file = o->options.ca_file,
		.timeout_ms = LIMIT_OAUTH_DOCUMENT_MS,
		.max_answer = LIMIT_OAUTH_DOCUMENT,
		.public_only = !is_listed(o->options.document_hosts, document_host(id)) };
	struct http_client_answer answer;
	status s = http_client_run(cx, &r, &answer);

	if (s != OK)
		return fail(cx, E_UNAVAILABLE, "the application's description cannot be had: %.*s",
			STR_ARG(ctx_message(cx, s)));
	if (answer.status != 200)
		return fail(cx, E_UNAVAILABLE, "the application's description cannot be had: HTTP %d",
			answer.status);
	*out_text = answer.body;
	return OK;
}

static status
read_document(struct ctx *cx, str id, str text, struct json **out_doc)
{
	const struct json *own;
	struct json *doc;

	if (json_parse(cx, text, &doc) != OK || doc->type != JSON_OBJECT)
		return fail(cx, E_INVALID, "the application's description is no JSON object");
	own = json_get(doc, STR("client_id"));
	if (!own || own->type != JSON_STRING || !str_eq(own->text, id))
		return fail(cx, E_INVALID, "the application's description is of another client_id");
	*out_doc = doc;
	return OK;
}

status
document_fetch(struct ctx *cx, str client_id, struct json **out_doc)
{
	struct oauth *o = cx->oauth;
	str text = recall(cx, o, client_id);
	status s;

	if (text.len)
		return read_document(cx, client_id, text, out_doc);
	TRY(enter(cx, o));
	s = get(cx, o, client_id, &text);
	leave(o);
	TRY(s);
	TRY(read_document(cx, client_id, text, out_doc));
	keep(o, client_id, text);
	return OK;
}
