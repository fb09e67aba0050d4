/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets: whose stream of which environment, until when, and nobody's but ours (FL-6). */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "core/keys.h"
#include "face/ofrep/ticket.h"

#define PERIOD LIMIT_OFREP_TICKET_US
#define START  (INT64_C(1000000) * PERIOD) /* a period begins */

static const struct keys keys = { .mac = { 1, 2, 3 } }, others = { .mac = { 3, 2, 1 } };

static struct ticket
ticket_of_now(void)
{
	return (struct ticket){ STR("org"), STR("token"), STR("environment"), ticket_end() };
}

static void
a_ticket_is_the_same_for_half_an_hour_and_good_for_as_long_again(void **state)
{
	UNIT(u);
	struct ticket t, read;
	str text;

	(void)state;
	u.cx.keys = &keys;
	clock_freeze(START);
	t = ticket_of_now();
	text = ticket_text(&u.cx, &t);
	clock_freeze(START + PERIOD - 1);
	t = ticket_of_now();
	assert_true(str_eq(ticket_text(&u.cx, &t), text));
	clock_freeze(START + PERIOD);
	t = ticket_of_now();
	assert_false(str_eq(ticket_text(&u.cx, &t), text));
	clock_freeze(START + 2 * PERIOD - 1);
	assert_status(ticket_read(&u.cx, text, &read), OK);
	assert_str(read.org_id, "org");
	assert_str(read.token_id, "token");
	assert_str(read.environment_id, "environment");
	clock_freeze(START + 2 * PERIOD);
	assert_status(ticket_read(&u.cx, text, &read), E_UNAUTHENTICATED);
	clock_release();
}

static void
only_our_key_makes_one(void **state)
{
	UNIT(u);
	struct ticket t = ticket_of_now(), read;
	str text;

	(void)state;
	u.cx.keys = &others;
	text = ticket_text(&u.cx, &t);
	u.cx.keys = &keys;
	assert_status(ticket_read(&u.cx, text, &read), E_UNAUTHENTICATED);
}

static void
no_byte_of_it_can_be_changed(void **state)
{
	UNIT(u);
	struct ticket t = ticket_of_now(), read;
	char *text;
	str good;

	(void)state;
	u.cx.keys = &keys;
	good = ticket_text(&u.cx, &t);
	assert_status(ticket_read(&u.cx, good, &read), OK);
	text = arena_try_bytes(&u.arena, good.len);
	for (size_t i = 0; i < good.len; i++) {
		memcpy(text, good.ptr, good.len);
		text[i] = text[i] == '0' ? '1' : '0';
		assert_status(ticket_read(&u.cx, (str){ text, good.len }, &read), E_UNAUTHENTICATED);
		assert_status(ticket_read(&u.cx, (str){ good.ptr, i }, &read), E_UNAUTHENTICATED);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ticket_is_the_same_for_half_an_hour_and_good_for_as_long_again),
		cmocka_unit_test(only_our_key_makes_one),
		cmocka_unit_test(no_byte_of_it_can_be_changed),
	};

	return cmocka_run_group_tests_name("ofrep", tests, NULL, NULL);
}
