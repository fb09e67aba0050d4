/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "http/peers.h"
#include "http/router.h"

#include <netinet/in.h>

static void
nothing(struct http_exchange *x, void *arg)
{
	(void)x;
	(void)arg;
}
#define ROUTE(m, p)                                                                                          \
	{                                                                                                    \
		.method = m, .path = p, .handler = nothing                                                   \
	}

static const struct http_route routes[] = {
	ROUTE(HTTP_GET_, "/"),
	ROUTE(HTTP_GET_, "/notes"),
	ROUTE(HTTP_POST_, "/notes"),
	ROUTE(HTTP_GET_, "/notes/{id}"),
	ROUTE(HTTP_HEAD_, "/notes/{id}"),
	ROUTE(HTTP_GET_, "/notes/new"),
	ROUTE(HTTP_GET_, "/notes/{id}/parts"),
	ROUTE(HTTP_DELETE_, "/notes/{id}/parts/{part}"),
	ROUTE(HTTP_GET_, "/notes/{*}"),
	ROUTE(HTTP_PUT_, "/{a}/{b}"),
};

struct row {
	enum http_method method;
	const char *path, *result; /* "pattern param param", or a status */
};
static const struct row rows[] = {
	{ HTTP_GET_, "/", "/" },
	{ HTTP_HEAD_, "/", "/" },
	{ HTTP_POST_, "/", "E_METHOD GET, HEAD" },
	{ HTTP_GET_, "/notes", "/notes" },
	{ HTTP_POST_, "/notes", "/notes" },
	{ HTTP_PATCH_, "/notes", "E_METHOD GET, HEAD, POST" },
	{ HTTP_GET_, "/notes/7", "/notes/{id} 7" },
	{ HTTP_HEAD_, "/notes/7", "/notes/{id} 7" },
	{ HTTP_GET_, "/notes/new", "/notes/new" },
	{ HTTP_GET_, "/notes/%6eew", "/notes/new" },
	{ HTTP_GET_, "/notes/New", "/notes/{id} New" },
	{ HTTP_PUT_, "/notes/new", "/{a}/{b} notes new" },
	{ HTTP_GET_, "/notes/7/parts", "/notes/{id}/parts 7" },
	{ HTTP_GET_, "/notes/7/other", "/notes/{*} 7/other" },
	{ HTTP_GET_, "/notes/7/parts/8", "/notes/{*} 7/parts/8" },
	{ HTTP_DELETE_, "/notes/7/parts/8", "/notes/{id}/parts/{part} 7 8" },
	{ HTTP_DELETE_, "/notes/%37/parts/a%2Fb", "/notes/{id}/parts/{part} 7 a/b" },
	{ HTTP_GET_, "/notes/a%20b/c", "/notes/{*} a b/c" },
	{ HTTP_GET_, "/notes/", "E_NOT_FOUND" },
	{ HTTP_GET_, "/note", "E_NOT_FOUND" },
	{ HTTP_GET_, "/notes2", "E_NOT_FOUND" },
	{ HTTP_GET_, "/x/y", "E_METHOD PUT" },
	{ HTTP_PATCH_, "/notes/7", "E_METHOD GET, HEAD, PUT" },
	{ HTTP_GET_, "/notes/%", "E_BAD_REQUEST" },
	{ HTTP_GET_, "/notes/%4", "E_BAD_REQUEST" },
	{ HTTP_GET_, "/notes/%g0", "E_BAD_REQUEST" },
	{ HTTP_GET_, "/notes/%0g", "E_BAD_REQUEST" },
	{ HTTP_GET_, "/notes/%00", "E_BAD_REQUEST" },
	{ HTTP_GET_, "/notes/%1f", "E_BAD_REQUEST" },
	{ HTTP_GET_, "/notes/%7f", "E_BAD_REQUEST" },
	{ HTTP_GET_, "/notes/%c0%80", "E_BAD_REQUEST" },
	{ HTTP_GET_, "/notes/..", "E_BAD_REQUEST" },
	{ HTTP_GET_, "/notes/%2e", "E_BAD_REQUEST" },
	{ HTTP_GET_, "/notes/...", "/notes/{id} ..." },
	{ HTTP_GET_, "/notes/a+b", "/notes/{id} a+b" },
};

static const char *
describe(struct ctx *cx, const struct http_node *router, const struct row *r)
{
	struct http_match m;
	status s = http_router_find(cx, router, r->method, str_of(r->path), &m);
	struct buf b;

	buf_init(&b, cx->arena, 1000);
	buf_add(&b, str_of(s == OK ? m.route->path : status_info(s)->name));
	if (s == E_METHOD)
		buf_printf(&b, " %.*s", STR_ARG(http_router_allow(cx->arena, m.allowed)));
	for (size_t i = 0; s == OK && i < HTTP_PARAMS && m.params[i].len; i++)
		buf_printf(&b, " %.*s", STR_ARG(m.params[i]));
	return arena_cstr(cx->arena, buf_str(&b));
}

static void
each_path_finds_its_route(void **state)
{
	struct http_node *router;

	(void)state;
	UNIT(u);
	assert_status(http_router_new(&u.cx, routes, sizeof(routes) / sizeof(routes[0]), &router), OK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("%s %s\n", http_method_name(rows[i].method), rows[i].path);
		assert_string_equal(describe(&u.cx, router, &rows[i]), rows[i].result);
	}
}

static void
malformed_and_double_routes_are_invalid(void **state)
{
	static const struct http_route wrong[][2] = {
		{ ROUTE(HTTP_GET_, "/a"), ROUTE(HTTP_GET_, "/a") },
		{ ROUTE(HTTP_GET_, "/{a}"), ROUTE(HTTP_GET_, "/{b}") },
		{ ROUTE(HTTP_GET_, "/a/{*}"), ROUTE(HTTP_GET_, "/a/{*}") },
		{ ROUTE(HTTP_GET_, "a"), ROUTE(HTTP_GET_, "/") },
		{ ROUTE(HTTP_GET_, ""), ROUTE(HTTP_GET_, "/") },
		{ ROUTE(HTTP_GET_, "/{*}/a"), ROUTE(HTTP_GET_, "/") },
		{ ROUTE(HTTP_GET_, "/a{b}"), ROUTE(HTTP_GET_, "/") },
		{ ROUTE(HTTP_GET_, "/{b"), ROUTE(HTTP_GET_, "/") },
		{ ROUTE(HTTP_GET_, "/{1}/{2}/{3}/{4}/{5}/{6}/{7}/{8}/{9}"), ROUTE(HTTP_GET_, "/") },
		{ ROUTE(HTTP_GET_,
			  "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29"
			  "/30/31/32/33"),
			ROUTE(HTTP_GET_, "/") },
	};
	struct http_node *router = NULL;

	(void)state;
	UNIT(u);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_status(http_router_new(&u.cx, wrong[i], 2, &router), E_INVALID);
	assert_null(router);
}

static void
queries_are_walked_and_decoded(void **state)
{
	struct http_exchange x;
	str name, value = STR("untouched");
	size_t at = 0, n = 0;
	bool ok;

	(void)state;
	UNIT(u);
	http_exchange_init(&x, &u.cx);
	x.req.query = STR("&a=1&&b=%20+x&c&d=%zz&%=1&e=a=b&a=2&f=%00&g=%ff&");
	assert_true(http_query(&x, STR("a"), &value));
	assert_str(value, "1");
	assert_true(http_query(&x, STR("b"), &value));
	assert_str(value, "  x");
	assert_true(http_query(&x, STR("c"), &value));
	assert_str(value, "");
	assert_true(http_query(&x, STR("e"), &value));
	assert_str(value, "a=b");
	assert_false(http_query(&x, STR("d"), &value));
	assert_false(http_query(&x, STR("f"), &value));
	assert_false(http_query(&x, STR("g"), &value));
	assert_false(http_query(&x, STR("h"), &value));
	assert_str(value, "a=b");
	while (http_query_next(&x, &at, &name, &value, &ok))
		n += ok ? 1 : 100;
	assert_int_equal(n, 405);
}

static void
an_exchange_without_a_server_serves_a_handlers_test(void **state)
{
	static const struct http_header headers[] = { { { "Accept", 6 }, { "x", 1 } } };
	struct http_exchange x;

	(void)state;
	UNIT(u);
	http_exchange_init(&x, &u.cx);
	x.req.headers = headers;
	x.req.header_count = 1;
	assert_str(http_header(&x, STR("ACCEPT")), "x");
	assert_str(http_header(&x, STR("Accept-Language")), "");
	assert_false(http_gone(&x));
	http_refuse(&x, E_CONFLICT);
	assert_int_equal(x.status, 409);
	http_add_header(&x, STR("ETag"), STR("\"1\""));
	assert_str(buf_str(&x.extra), "ETag: \"1\"\r\n");
	assert_string_equal(http_method_name(HTTP_METHODS), "?");
}

static void
addresses_are_counted_and_ipv6_by_its_network(void **state)
{
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct http_peers *p = http_peers_new();
	struct http_peer_key a, b;

	(void)state;
	four.sin_addr.s_addr = htonl(0x01020304);
	a = http_peer_key((struct sockaddr *)&four);
	assert_true(http_peers_add(p, a, 2));
	assert_true(http_peers_add(p, a, 2));
	assert_false(http_peers_add(p, a, 2));
	six.sin6_addr.s6_addr[10] = six.sin6_addr.s6_addr[11] = 0xff;
	memcpy(six.sin6_addr.s6_addr + 12, &four.sin_addr, 4);
	assert_false(http_peers_add(p, http_peer_key((struct sockaddr *)&six), 2)); /* the same, mapped */
	memset(&six.sin6_addr, 0x20, sizeof(six.sin6_addr));
	a = http_peer_key((struct sockaddr *)&six);
	six.sin6_addr.s6_addr[15] = 1;
	b = http_peer_key((struct sockaddr *)&six);
	assert_true(http_peers_add(p, a, 1));
	assert_false(http_peers_add(p, b, 1));
	six.sin6_addr.s6_addr[7] = 1;
	assert_true(http_peers_add(p, http_peer_key((struct sockaddr *)&six), 1));
	http_peers_remove(p, http_peer_key((struct sockaddr *)&six));
	http_peers_remove(p, a);
	assert_true(http_peers_add(p, b, 1));
	http_peers_remove(p, b);
	a = http_peer_key((struct sockaddr *)&four);
	http_peers_remove(p, a);
	http_peers_remove(p, a);
	/* many, so that buckets are shared */
	for (uint32_t i = 0; i < 5000; i++) {
		four.sin_addr.s_addr = i;
		assert_true(http_peers_add(p, http_peer_key((struct sockaddr *)&four), 1));
	}
	for (uint32_t i = 0; i < 5000; i++) {
		four.sin_addr.s_addr = (i * 7) % 5000;
		http_peers_remove(p, http_peer_key((struct sockaddr *)&four));
	}
	http_peers_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_path_finds_its_route),
		cmocka_unit_test(malformed_and_double_routes_are_invalid),
		cmocka_unit_test(queries_are_walked_and_decoded),
		cmocka_unit_test(an_exchange_without_a_server_serves_a_handlers_test),
		cmocka_unit_test(addresses_are_counted_and_ipv6_by_its_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
