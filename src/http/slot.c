/* SPDX-License-Identifier: Apache-2.0 */
/* slot: the memory of one request, and what is decided about it before a handler sees it. */
#include "http/server.h"

#include "base/check.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <stdlib.h>

struct http_slot *
http_slot_take(struct http_conn *c)
{
	struct http_server *s = c->server;
	struct http_slot *slot = s->spare;

	if (slot) {
		s->spare = slot->spare;
		s->spare_count--;
	} else {
		slot = malloc(sizeof(*slot));
		CHECK(slot);
		arena_init(&slot->arena, LIMIT_REQUEST_ARENA);
	}
	slot->conn = c;
	slot->began_us = clock_mono_us();
	ctx_init(&slot->cx, &slot->arena);
	if (s->o.base)
		slot->cx = *s->o.base;
	slot->cx.arena = &slot->arena;
	slot->cx.work = (struct metered){ 0 }; /* the base's own, at the start, is not this request's */
	http_exchange_init(&slot->x, &slot->cx);
	slot->x.conn = c;
	http_parse_begin(&slot->parse, &slot->arena);
	return slot;
}

static void
destroy(struct http_slot *slot)
{
	arena_done(&slot->arena);
	free(slot);
}

void
http_slot_give(struct http_slot *slot)
{
	struct http_server *s = slot->conn->server;

	if (s->spare_count >= LIMIT_HTTP_SPARE_SLOTS) {
		destroy(slot);
		return;
	}
	arena_reset(&slot->arena);
	slot->spare = s->spare;
	s->spare = slot;
	s->spare_count++;
}

void
http_slots_free(struct http_server *s)
{
	while (s->spare) {
		struct http_slot *next = s->spare->spare;

		destroy(s->spare);
		s->spare = next;
	}
}

/* --- the request --- */

static bool
is_request_id(str id)
{
	for (size_t i = 0; i < id.len; i++) {
		char c = id.ptr[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    c == '.' || c == '_' || c == '-'))
			return false;
	}
	return id.len > 0 && id.len <= LIMIT_REQUEST_ID;
}

/* Unique for this server's life without asking the kernel each time: a counter, mixed one-to-one
 * (splitmix64).
 */
static str
make_request_id(struct http_slot *slot)
{
	static const char digit[] = "0123456789abcdef";
	struct http_server *s = slot->conn->server;
	uint64_t z = s->id_base + ++s->id_count * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	for (size_t i = 0; i < 16; i++)
		slot->request_id[i] = digit[z >> (60 - 4 * i) & 15];
	return (str){ slot->request_id, 16 };
}

void
http_slot_fill(struct http_slot *slot)
{
	struct http_request *r = &slot->x.req;
	const struct http_parse *p = &slot->parse;
	str path;

	r->method = p->method;
	r->headers = p->headers;
	r->header_count = p->header_count;
	r->peer = http_client_behind(r, str_of(slot->conn->peer), &slot->conn->server->o.proxies);
	r->tls = slot->conn->tls != NULL;
	r->path = p->target;
	if (str_cut(p->target, '?', &path, &r->query))
		r->path = path;
	slot->cx.request_id = http_header(&slot->x, STR("X-Request-Id"));
	if (!is_request_id(slot->cx.request_id))
		slot->cx.request_id = make_request_id(slot);
}

/* What stands in a URL between scheme and path. */
static str
authority_of(str url)
{
	str rest = str_skip(url, str_starts(url, STR("https://")) ? 8 : 7);

	return (str){ rest.ptr, str_find(rest, '/') };
}

/* Is it this machine's by any network, that is an address or localhost? */
static bool
is_ours_by_address(struct arena *a, str host)
{
	str name = { host.ptr, str_find(host, ':') };
	struct in_addr four;

	return str_starts(host, STR("[")) || str_eq_nocase(name, STR("localhost")) ||
	       inet_pton(AF_INET, arena_cstr(a, name), &four) == 1;
}

/* A proxy's target names a host: it must be one of ours. Without public-url nobody has said which they are. */
static status
check_authority(struct http_slot *slot)
{
	str named = slot->parse.authority, url = slot->cx.public_url;

	if (!named.len || !url.len || str_eq_nocase(named, authority_of(url)) ||
		is_ours_by_address(&slot->arena, named))
		return OK;
	return fail(
		&slot->cx, E_BAD_REQUEST, "the target names a host that is not this server's (public-url)");
}

status
http_slot_route(struct http_slot *slot)
{
	struct http_request *r = &slot->x.req;
	struct http_match m;
	status s = check_authority(slot);

	if (s == OK)
		s = http_router_find(&slot->cx, slot->conn->server->router, r->method, r->path, &m);
	if (s == E_METHOD)
		http_add_header(&slot->x, STR("Allow"), http_router_allow(&slot->arena, m.allowed));
	if (s != OK)
		return s;
	slot->x.route = m.route;
	r->path = m.path;
	memcpy(r->params, m.params, sizeof(r->params));
	return OK;
}

/* With no parameter but charset=utf-8. */
static bool
is_type(str type, str wanted)
{
	str name, parameter;

	if (!str_cut(type, ';', &name, &parameter))
		return str_eq_nocase(type, wanted);
	parameter = str_trim(parameter);
	return str_eq_nocase(str_trim(name), wanted) &&
	       (str_eq_nocase(parameter, STR("charset=utf-8")) ||
		       str_eq_nocase(parameter, STR("charset=\"utf-8\"")));
}

/* A coding that nobody undoes would be read as if it were the text. */
static status
check_coding(struct http_slot *slot)
{
	const struct http_request *r = &slot->x.req;

	for (size_t i = 0; i < r->header_count; i++) {
		if (!str_eq_nocase(r->headers[i].name, STR("Content-Encoding")) ||
			str_eq_nocase(r->headers[i].value, STR("identity")))
			continue;
		http_add_header(&slot->x, STR("Accept-Encoding"), STR("identity"));
		return fail(&slot->cx, E_MEDIA_TYPE,
			"the body must come as it is: no Content-Encoding but identity is read");
	}
	return OK;
}

status
http_slot_check_body(struct http_slot *slot)
{
	const struct http_route *r = slot->x.route;
	str wanted;
	status s;

	if (!slot->parse.has_body)
		return OK;
	s = check_coding(slot);
	if (s != OK)
		return s;
	if (!r->takes_body)
		return fail(&slot->cx, E_BAD_REQUEST, "%s %s takes no body", http_method_name(r->method),
			r->path);
	wanted = r->takes_form ? STR("application/x-www-form-urlencoded") : STR("application/json");
	if (!is_type(http_header(&slot->x, STR("Content-Type")), wanted))
		return fail(&slot->cx, E_MEDIA_TYPE, "the body must be %.*s", STR_ARG(wanted));
	if (http_parse_body(&slot->parse, r->body_max ? r->body_max : LIMIT_HTTP_BODY) != OK)
		return fail(&slot->cx, slot->parse.error, "%s", slot->parse.why);
	return OK;
}

void
http_refuse(struct http_exchange *x, status s)
{
	const struct http_options *o = x->conn ? &x->conn->server->o : NULL;
	size_t cap = http_answer_room(x->cx->arena, LIMIT_HTTP_REFUSAL);

	if (s == E_BUSY || s == E_UNAVAILABLE)
		http_add_header(x, STR("Retry-After"), STR("1"));
	x->status = 0;
	if (o && o->refuse)
		o->refuse(x, s);
	if (!http_answer_ok(x)) {
		http_answer_clear(x);
		x->status = status_info(s)->http;
	}
	x->cx->arena->cap = cap;
}
