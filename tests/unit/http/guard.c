/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses a stranger may make us ask. */
#include "tests/unit/unit.h"

#include "http/client/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static bool
is_public(const char *text)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return http_guard_public((const struct sockaddr *)&v4);
	assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
	return http_guard_public((const struct sockaddr *)&v6);
}

static void
only_addresses_of_the_public_internet_are_public(void **state)
{
	static const char *const yes[] = { "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0",
		"100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
		"172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
		"198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00::1", "2001:200::1", "3ffe::1",
		"::ffff:8.8.8.8", NULL };
	static const char *const no[] = { "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1",
		"100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1",
		"172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1",
		"198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
		"255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1",
		"64:ff9b::7f00:1", "fc00::1", "fd12::1", "fe80::1", "fec0::1", "ff02::1", "2001::1",
		"2001:db8::1", "2002:7f00:1::", "3fff::1", "4000::1", NULL };

	(void)state;
	for (size_t i = 0; yes[i]; i++)
		assert_true(is_public(yes[i]));
	for (size_t i = 0; no[i]; i++)
		assert_false(is_public(no[i]));
}

static void
other_families_are_not(void **state)
{
	struct sockaddr local = { .sa_family = AF_UNIX };

	(void)state;
	assert_false(http_guard_public(&local));
}

static bool
is_in(const char *net, const char *text)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct http_net n;

	assert_true(http_net_read(str_of(net), &n));
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return http_net_has(&n, 1, (const struct sockaddr *)&v4);
	assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
	return http_net_has(&n, 1, (const struct sockaddr *)&v6);
}

static void
a_network_has_its_addresses_and_no_others(void **state)
{
	(void)state;
	assert_true(is_in("127.0.0.0/8", "127.255.255.255"));
	assert_false(is_in("127.0.0.0/8", "128.0.0.0"));
	assert_true(is_in("10.1.2.3", "10.1.2.3"));
	assert_false(is_in("10.1.2.3", "10.1.2.2"));
	assert_true(is_in("10.1.2.0/23", "10.1.3.9"));
	assert_false(is_in("10.1.2.0/23", "10.1.4.0"));
	assert_true(is_in("0.0.0.0/0", "255.255.255.255"));
	assert_true(is_in("::1", "::1"));
	assert_false(is_in("::1", "::2"));
	assert_true(is_in("fd00::/8", "fd12:3456::1"));
	assert_false(is_in("fd00::/8", "fe80::1"));
	assert_true(is_in("10.0.0.0/8", "::ffff:10.0.0.1"));
	assert_false(is_in("::/0", "10.0.0.1"));
	assert_false(is_in("0.0.0.0/0", "2a00::1"));
	assert_false(is_in("::/0", "::ffff:10.0.0.1")); /* it is IPv4, however it is written */
}

static void
what_is_no_network_is_not_read(void **state)
{
	static const char *const bad[] = { "", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.1/8",
		"10.0.0/8", "::/129", "fd00::1/8", "localhost", "10.0.0.0/8 ", "10.0.0.0/8/8", "1.2.3.4.5",
		"fe80::1%lo", "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", NULL };
	struct http_net n = { .bits = 77 };

	(void)state;
	for (size_t i = 0; bad[i]; i++)
		assert_false(http_net_read(str_of(bad[i]), &n));
	assert_int_equal(n.bits, 77);
}

static void
other_families_are_in_no_network(void **state)
{
	struct sockaddr local = { .sa_family = AF_UNIX };
	struct http_net all;

	(void)state;
	assert_true(http_net_read(STR("0.0.0.0/0"), &all));
	assert_false(http_net_has(&all, 1, &local));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_addresses_of_the_public_internet_are_public),
		cmocka_unit_test(other_families_are_not),
		cmocka_unit_test(a_network_has_its_addresses_and_no_others),
		cmocka_unit_test(what_is_no_network_is_not_read),
		cmocka_unit_test(other_families_are_in_no_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
