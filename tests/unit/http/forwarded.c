/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a request behind proxies comes from. */
#include "../unit.h"

#include "http/client/guard.h"
#include "http/http.h"
#include "http/peers.h"

static struct http_proxies
proxies(void)
{
	static struct http_net nets[3];

	assert_true(http_net_read(STR("10.0.0.0/8"), &nets[0]));
	assert_true(http_net_read(STR("fd00::/8"), &nets[1]));
	assert_true(http_net_read(STR("192.0.2.1"), &nets[2]));
	return (struct http_proxies){ nets, 3 };
}

struct row {
	const char *peer, *name, *first, *second,
		*client; /* two lines of one header; the second may be NULL */
};

static const struct row rows[] = {
	{ "198.51.100.7", "X-Forwarded-For", "203.0.113.9", NULL, "198.51.100.7" }, /* no proxy of ours */
	{ "10.0.0.1", "X-Forwarded-For", "203.0.113.9", NULL, "203.0.113.9" },
	{ "10.0.0.1", "x-forwarded-for", "203.0.113.9", NULL, "203.0.113.9" },
	{ "10.0.0.1", "X-Other", "203.0.113.9", NULL, "10.0.0.1" },
	{ "10.0.0.1", "X-Forwarded-For", "", NULL, "10.0.0.1" },
	{ "10.0.0.1", "X-Forwarded-For", "1.1.1.1, 203.0.113.9", NULL, "203.0.113.9" },
	{ "10.0.0.1", "X-Forwarded-For", "1.1.1.1, 203.0.113.9, 10.9.9.9", NULL, "203.0.113.9" },
	{ "10.0.0.1", "X-Forwarded-For", "1.1.1.1", "203.0.113.9,10.9.9.9",
		"203.0.113.9" }, /* two lines are one list */
	{ "10.0.0.1", "X-Forwarded-For", "203.0.113.9", "10.9.9.9", "203.0.113.9" },
	{ "10.0.0.1", "X-Forwarded-For", "10.2.2.2, 10.9.9.9", NULL,
		"10.2.2.2" }, /* all are proxies: the farthest */
	{ "10.0.0.1", "X-Forwarded-For", "203.0.113.9, nonsense", NULL, "10.0.0.1" },
	{ "10.0.0.1", "X-Forwarded-For", "203.0.113.9, nonsense, 192.0.2.1", NULL, "192.0.2.1" },
	{ "10.0.0.1", "X-Forwarded-For", "203.0.113.9:8080", NULL, "203.0.113.9" },
	{ "10.0.0.1", "X-Forwarded-For", "2001:db8::9", NULL, "2001:db8::9" },
	{ "10.0.0.1", "X-Forwarded-For", "[2001:db8::9]:80", NULL, "2001:db8::9" },
	{ "10.0.0.1", "X-Forwarded-For", ",,", NULL, "10.0.0.1" },
	{ "fd00::1", "X-Forwarded-For", "203.0.113.9", NULL, "203.0.113.9" },
	{ "::ffff:10.0.0.1", "X-Forwarded-For", "203.0.113.9", NULL, "203.0.113.9" },
	{ "10.0.0.1", "Forwarded", "for=203.0.113.9", NULL, "203.0.113.9" },
	{ "10.0.0.1", "Forwarded", "by=10.0.0.1; FOR=203.0.113.9 ;proto=https", NULL, "203.0.113.9" },
	{ "10.0.0.1", "Forwarded", "for=\"[2001:db8::9]:4711\", for=10.1.1.1", NULL, "2001:db8::9" },
	{ "10.0.0.1", "Forwarded", "for=203.0.113.9, for=_hidden", NULL, "10.0.0.1" },
	{ "10.0.0.1", "Forwarded", "for=203.0.113.9, proto=http", NULL, "10.0.0.1" },
	{ "10.0.0.1", "Forwarded", "for=\"", NULL, "10.0.0.1" },
};

static void
the_client_is_the_nearest_address_that_is_no_proxy(void **state)
{
	struct http_proxies p = proxies();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct http_header headers[] = { { str_of(r->name), str_of(r->first) },
			{ STR("Accept"), STR("1.2.3.4") },
			{ str_of(r->name), str_of(r->second ? r->second : "") } };
		struct http_request req = { .headers = headers, .header_count = r->second ? 3 : 2 };
		str client = http_client_behind(&req, str_of(r->peer), &p);

		print_message("row %zu: %.*s\n", i, STR_ARG(client));
		assert_true(str_eq(client, str_of(r->client)));
	}
}

static void
with_both_headers_nobody_is_believed(void **state)
{
	struct http_header headers[] = { { STR("Forwarded"), STR("for=203.0.113.9") },
		{ STR("X-Forwarded-For"), STR("203.0.113.9") } };
	struct http_request req = { .headers = headers, .header_count = 2 };
	struct http_proxies p = proxies();

	(void)state;
	assert_true(str_eq(http_client_behind(&req, STR("10.0.0.1"), &p), STR("10.0.0.1")));
	assert_true(str_eq(
		http_client_behind(&req, STR("10.0.0.1"), &(struct http_proxies){ 0 }), STR("10.0.0.1")));
}

static void
an_ipv6_address_counts_as_its_network(void **state)
{
	UNIT(u);
	str one = http_client_network(&u.arena, STR("2001:db8:0:1::1"));

	(void)state;
	assert_true(str_eq(one, http_client_network(&u.arena, STR("2001:db8:0:1:ffff::2"))));
	assert_false(str_eq(one, http_client_network(&u.arena, STR("2001:db8:0:2::1"))));
	assert_true(str_eq(http_client_network(&u.arena, STR("::ffff:192.0.2.7")),
		http_client_network(&u.arena, STR("192.0.2.7"))));
	assert_false(str_eq(http_client_network(&u.arena, STR("192.0.2.8")),
		http_client_network(&u.arena, STR("192.0.2.7"))));
	assert_true(str_eq(http_client_network(&u.arena, STR("nobody")), STR("nobody")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_client_is_the_nearest_address_that_is_no_proxy),
		cmocka_unit_test(with_both_headers_nobody_is_believed),
		cmocka_unit_test(an_ipv6_address_counts_as_its_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
