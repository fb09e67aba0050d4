/* SPDX-License-Identifier: Apache-2.0 */
#include "core/oauth/register.h"

#include "base/clock.h"
#include "base/limits.h"
#include "core/id.h"
#include "core/ident/secret.h"
#include "core/oauth/document.h"
#include "core/oauth/redirect.h"
#include "db/db.h"
#include "json/out.h"

#include "core/oauth/register.sql.h" /* SQL_REGISTER_*, generated from register.sql */

#include <arpa/inet.h>
#include <inttypes.h>

/* --- who --- */

static str
counted_as(struct arena *a, str peer)
{
	struct in6_addr v6;

	if (inet_pton(AF_INET6, arena_cstr(a, peer), &v6) == 1 && !IN6_IS_ADDR_V4MAPPED(&v6))
		peer = arena_str(a, (str){ (const char *)v6.s6_addr, 8 });
	return secret_hash(a, peer);
}

/* --- what --- */

static bool
has_string(const struct json *array, str wanted)
{
	JSON_EACH (item, array)
		if (item->type == JSON_STRING && str_eq(item->text, wanted))
			return true;
	return false;
}

/* Absent, or an array with that word in it. */
static bool
allows(const struct json *metadata, str key, str wanted)
{
	const struct json *list = json_get(metadata, key);

	return !list || (list->type == JSON_ARRAY && has_string(list, wanted));
}

static status
read_redirects(struct ctx *cx, const struct json *metadata, struct registration *r)
{
	const struct json *list = json_get(metadata, STR("redirect_uris"));
	str *items = arena_alloc(cx->arena, LIMIT_OAUTH_REDIRECTS * sizeof(*items));

	if (!list || list->type != JSON_ARRAY || !list->count || list->count > LIMIT_OAUTH_REDIRECTS)
		return fail(cx, E_REFERENCED, "redirect_uris must be an array of 1 to %u URIs",
			LIMIT_OAUTH_REDIRECTS);
	JSON_EACH (item, list) {
		if (item->type != JSON_STRING || !redirect_valid(item->text))
			return fail(cx, E_REFERENCED,
				"a redirect URI is https://..., http:// to this machine, or an application's "
				"own scheme with a dot in it; without a fragment or a user");
		items[r->redirect_count++] = item->text;
	}
	r->redirects = items;
	return OK;
}

static status
read_metadata(struct ctx *cx, const struct json *metadata, struct registration *r)
{
	const struct json *name = json_get(metadata, STR("client_name"));

	if (metadata->type != JSON_OBJECT)
		return fail(cx, E_INVALID, "the body must be an object");
	if (!allows(metadata, STR("grant_types"), STR("authorization_code")) ||
		!allows(metadata, STR("response_types"), STR("code")))
		return fail(cx, E_INVALID, "this server gives codes: authorization_code, code");
	if (name && (name->type != JSON_STRING || name->text.len > LIMIT_OAUTH_URI))
		return fail(
			cx, E_INVALID, "client_name must be a string of at most %u bytes", LIMIT_OAUTH_URI);
	if (name)
		r->name = name->text;
	return read_redirects(cx, metadata, r);
}

/* --- how many --- */

struct tries {
	int64_t tries, since;
};
static const struct field tries_row[] = {
	FIELD_INT(struct tries, tries),
	FIELD_INT(struct tries, since),
	FIELD_END,
};
struct number {
	int64_t n;
};
static const struct field number_row[] = { FIELD_INT(struct number, n), FIELD_END };

struct adding {
	struct registration *client;
	str who, redirects;
	struct tries tries;
	struct number unused;
	int64_t now_us, most;
	bool full;
};

/* A try counts whatever comes of it, so this one does not fail where there were too many. */
static status
add_tx(struct ctx *cx, void *arg)
{
	struct adding *a = arg;
	struct registration *r = a->client;

	TRY(tx_now_us(cx, &a->now_us));
	TRY(db_run(cx, SQL_REGISTER_FORGET_TRIES, INT(a->now_us - LIMIT_OAUTH_REGISTER_US)));
	TRY(db_run(cx, SQL_REGISTER_TRY, TEXT(a->who), INT(a->now_us),
		INT(a->now_us - LIMIT_OAUTH_REGISTER_US)));
	TRY(db_one(cx, SQL_REGISTER_TRIES, tries_row, &a->tries, TEXT(a->who)));
	TRY(db_one(cx, SQL_REGISTER_UNUSED, number_row, &a->unused));
	a->full = a->tries.tries > a->most || a->unused.n >= LIMIT_OAUTH_UNUSED;
	if (a->full)
		return OK;
	r->created_at = a->now_us;
	r->id = arena_printf(cx->arena, "client-%.*s", STR_ARG(id_at(cx->arena, a->now_us)));
	return db_run(cx, SQL_REGISTER_ADD, TEXT(r->id), TEXT(r->name), TEXT(a->redirects), INT(a->now_us));
}

static status
refuse_more(struct ctx *cx, const struct adding *a)
{
	int64_t seconds = (a->tries.since + LIMIT_OAUTH_REGISTER_US - a->now_us) / SECOND_US + 1;

	if (a->tries.tries <= a->most) /* all addresses together */
		seconds = LIMIT_OAUTH_FULL_SECONDS;
	ctx_header(cx, "Retry-After", arena_int(cx->arena, seconds));
	return fail(cx, E_RATE_LIMITED, "too many registrations; wait %" PRId64 " seconds", seconds);
}

static status
list_text(struct ctx *cx, const struct registration *r, str *out)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	json_out_init(&o, &b);
	json_out_array(&o, NULL);
	for (size_t i = 0; i < r->redirect_count; i++)
		json_out_str(&o, NULL, r->redirects[i]);
	json_out_end(&o);
	return buf_finish(&b, out);
}

status
register_client(struct ctx *cx, const struct json *metadata, str peer, struct registration *out)
{
	struct registration r = { 0 };
	struct adding a = { .client = &r,
		.who = counted_as(cx->arena, peer),
		.most = oauth_options(cx->oauth)->registrations };

	if (!a.most)
		return fail(cx, E_FORBIDDEN,
			"registration is switched off here; use a client ID metadata document, or a token");
	TRY(read_metadata(cx, metadata, &r));
	TRY(list_text(cx, &r, &a.redirects));
	TRY(tx_run(cx, add_tx, &a));
	if (a.full)
		return refuse_more(cx, &a);
	*out = r;
	return OK;
}

status
register_use(struct ctx *cx, str client_id)
{
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	return db_run(cx, SQL_REGISTER_USE, TEXT(client_id), INT(now_us));
}

/* --- what is over --- */

struct sweep {
	int64_t before_us;
	struct number old;
};

static status
count_old(struct ctx *cx, void *arg)
{
	struct sweep *s = arg;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	s->before_us = now_us - LIMIT_OAUTH_UNUSED_US;
	return db_one(cx, SQL_REGISTER_OLD, number_row, &s->old, INT(s->before_us));
}

static status
forget_old(struct ctx *cx, void *arg)
{
	const struct sweep *s = arg;

	return db_run(cx, SQL_REGISTER_FORGET, INT(s->before_us));
}

status
register_sweep(struct ctx *cx)
{
	struct sweep s = { 0 };

	TRY(db_read(cx, count_old, &s));
	return s.old.n ? tx_run(cx, forget_old, &s) : OK;
}
