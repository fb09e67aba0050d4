/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "json/canon.h"
#include "json/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct json
number(const char *text)
{
	return (struct json){ .type = JSON_NUMBER, .text = str_of(text) };
}

static int
order(const char *a, const char *b)
{
	struct json x = number(a), y = number(b);
	int forth = json_number_cmp(&x, &y), back = json_number_cmp(&y, &x);

	assert_int_equal((forth > 0) - (forth < 0), (back < 0) - (back > 0));
	return forth;
}

static void
numbers_compare_by_exact_value(void **state)
{
	static const char *const same[][2] = { { "1", "1.0" }, { "10", "1e1" }, { "0", "-0.00e5" },
		{ "100", "0.001E5" }, { "-1.50", "-15e-1" }, { "123.456", "0.123456e+3" },
		{ "1e-999999999999999", "10e-1000000000000000" },
		{ "12345678901234567890123456789.0", "12345678901234567890123456789" } };
	static const char *const ascending[] = { "-1e400", "-10", "-9.99", "-1", "-1e-400", "0",
		"1e-999999999999999", "1e-400", "0.1", "0.10000000000000000000000000000000001", "0.2", "1",
		"1.01", "1.1", "9007199254740992", "9007199254740993", "1e400", "1e999999999999999" };

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_int_equal(order(same[i][0], same[i][1]), 0);
	for (size_t i = 0; i < sizeof(ascending) / sizeof(ascending[0]); i++)
		for (size_t j = i + 1; j < sizeof(ascending) / sizeof(ascending[0]); j++)
			assert_true(order(ascending[i], ascending[j]) < 0);
}

static bool
to_int(const char *text, int64_t *out)
{
	struct json n = number(text);

	return json_to_int(&n, out);
}

static void
integers_are_exact_or_nothing(void **state)
{
	static const struct {
		const char *text;
		int64_t n;
	} good[] = { { "0", 0 }, { "-0", 0 }, { "0.000", 0 }, { "0e7", 0 }, { "0e999999999999", 0 },
		{ "1", 1 }, { "-7", -7 }, { "1.0", 1 }, { "1e2", 100 }, { "1.5e1", 15 }, { "150e-1", 15 },
		{ "9223372036854775807", INT64_MAX }, { "-9223372036854775808", INT64_MIN },
		{ "9.223372036854775807e18", INT64_MAX }, { "0.00005e5", 5 } };
	static const char *const bad[] = { "1.5", "0.1", "1e-1", "1e400", "9223372036854775808",
		"-9223372036854775809", "10000000000000000000", "99999999999999999999", "1e19",
		"1e-999999999999999" };
	struct json text = { .type = JSON_STRING, .text = STR("1") };
	int64_t n = 42;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		n = 42;
		assert_true(to_int(good[i].text, &n));
		assert_true(n == good[i].n);
	}
	n = 42;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(to_int(bad[i], &n));
	assert_false(json_to_int(&text, &n));
	assert_int_equal(n, 42);
}

static double
to_double(const char *text)
{
	struct json n = number(text);

	return json_to_double(&n);
}

static void
doubles_are_the_nearest(void **state)
{
	static const char *const texts[] = { "0.1", "-0.1", "1e22", "1e23", "123456789012345",
		"1234567890123456789", "4.9e-324", "2.4e-324", "2.5e-324", "1.7976931348623157e308",
		"1.7976931348623159e308", "9007199254740993", "9007199254740992.99999999999999999999",
		"0.000001e-300", "1000000e300", "2.2250738585072011e-308", "123e-20", "5e22" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_true(to_double(texts[i]) == strtod(texts[i], NULL));
	assert_true(isinf(to_double("1e400")) && to_double("-1e999999999999999") < 0);
	assert_true(to_double("1e-999999999999999") == 0);
	assert_true(signbit(to_double("-0")) && !signbit(to_double("0.0")) && signbit(to_double("-1e-500")));
}

/* 2^53 + 1 lies between two doubles: the digit after a thousand zeros decides. */
static void
a_digit_far_behind_decides_the_rounding(void **state)
{
	char text[1100] = "9007199254740993.";

	(void)state;
	memset(text + 17, '0', 1000);
	assert_true(to_double(text) == 9007199254740992.0);
	text[1017] = '1';
	assert_true(to_double(text) == 9007199254740994.0);
}

/* RFC 8785 appendix B: the bits of a double, and its text. */
static void
doubles_print_as_rfc_8785_says(void **state)
{
	static const struct {
		uint64_t bits;
		const char *text;
	} vectors[] = {
		{ 0x0000000000000000, "0" },
		{ 0x8000000000000000, "0" },
		{ 0x0000000000000001, "5e-324" },
		{ 0x8000000000000001, "-5e-324" },
		{ 0x7fefffffffffffff, "1.7976931348623157e+308" },
		{ 0xffefffffffffffff, "-1.7976931348623157e+308" },
		{ 0x4340000000000000, "9007199254740992" },
		{ 0xc340000000000000, "-9007199254740992" },
		{ 0x4430000000000000, "295147905179352830000" },
		{ 0x44b52d02c7e14af5, "9.999999999999997e+22" },
		{ 0x44b52d02c7e14af6, "1e+23" },
		{ 0x44b52d02c7e14af7, "1.0000000000000001e+23" },
		{ 0x444b1ae4d6e2ef4e, "999999999999999700000" },
		{ 0x444b1ae4d6e2ef4f, "999999999999999900000" },
		{ 0x444b1ae4d6e2ef50, "1e+21" },
		{ 0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7" },
		{ 0x3eb0c6f7a0b5ed8d, "0.000001" },
		{ 0x41b3de4355555553, "333333333.3333332" },
		{ 0x41b3de4355555554, "333333333.33333325" },
		{ 0x41b3de4355555555, "333333333.3333333" },
		{ 0x41b3de4355555556, "333333333.3333334" },
		{ 0x41b3de4355555557, "333333333.33333343" },
		{ 0xbecbf647612f3696, "-0.0000033333333333333333" },
		{ 0x43143ff3c1cb0959, "1424953923781206.2" },
		/* ours: powers of two whose nearest 16 digits would be read as the neighbour below */
		{ 0x3d30000000000000, "5.684341886080802e-14" },
		{ 0x0010000000000000, "2.2250738585072014e-308" },
		{ 0xc045000000000000, "-42" },
		{ 0x3ff8000000000000, "1.5" },
		{ 0xc05edccccccccccd, "-123.45" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		char text[32];
		double n;

		memcpy(&n, &vectors[i].bits, sizeof(n));
		assert_str(((str){ text, canon_double(n, text) }), vectors[i].text);
	}
}

/* Counting up past a row of nines takes a place more; no double needs it, the digits of 2^-1074 + n do. */
static void
small_doubles_read_back(void **state)
{
	(void)state;
	for (uint64_t bits = 1; bits < 20000; bits++) {
		char text[33] = { 0 };
		double n;

		memcpy(&n, &bits, sizeof(n));
		text[canon_double(n, text)] = '\0';
		assert_true(strtod(text, NULL) == n);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_compare_by_exact_value),
		cmocka_unit_test(integers_are_exact_or_nothing),
		cmocka_unit_test(doubles_are_the_nearest),
		cmocka_unit_test(a_digit_far_behind_decides_the_rounding),
		cmocka_unit_test(doubles_print_as_rfc_8785_says),
		cmocka_unit_test(small_doubles_read_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
