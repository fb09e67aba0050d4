/* SPDX-License-Identifier: Apache-2.0 */
/* For how long a loop looks around: as long as events follow each other closely, and no longer. */
#include "../unit.h"

#include "http/light/awake.h"

#define LONG  (INT64_C(60) * 1000000)
#define SHORT (LIMIT_HTTP_AWAKE_US / 4)
#define MANY  1000

/* After a gap. */
static bool
stays(struct http_awake *a, int64_t *now_us, int64_t gap_us)
{
	int64_t until;

	*now_us += gap_us;
	until = http_awake_until(a, *now_us);
	assert_true(until == 0 || until == *now_us + LIMIT_HTTP_AWAKE_US);
	return until != 0;
}

/* How many events, with such a gap before each, until it stays awake; MANY: it does not. */
static int
events_until_awake(struct http_awake *a, int64_t *now_us, int64_t gap_us)
{
	int n = 0;

	while (n < MANY && !stays(a, now_us, gap_us))
		n++;
	return n;
}

static void
who_hears_little_sleeps(void **state)
{
	static const int64_t gaps[] = { LIMIT_HTTP_AWAKE_US, LIMIT_HTTP_AWAKE_US + 1, 10000, LONG };

	(void)state;
	for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
		int64_t now_us = LONG;
		struct http_awake a;

		http_awake_init(&a);
		assert_int_equal(events_until_awake(&a, &now_us, gaps[i]), MANY);
	}
}

static void
a_few_short_gaps_keep_awake_and_one_long_one_ends_it(void **state)
{
	int64_t now_us = LONG;
	struct http_awake a;

	(void)state;
	http_awake_init(&a);
	for (int i = 0; i < 3; i++) {
		int n = events_until_awake(&a, &now_us, SHORT);

		assert_in_range(n, i ? 0 : 1, 10); /* at first one is not a habit */
		for (n = 0; n < MANY; n++)
			assert_true(stays(&a, &now_us, i ? 0 : SHORT));
		assert_false(stays(&a, &now_us, LONG));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_hears_little_sleeps),
		cmocka_unit_test(a_few_short_gaps_keep_awake_and_one_long_one_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
