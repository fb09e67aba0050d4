/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "exec/webhook/courier.h"
#include "exec/webhook/post.h"
#include "exec/webhook/sign.h"

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define NOW    INT64_C(1614265330)

static void
it_signs_as_the_standard_says(void **state)
{
	const str secrets[] = { STR(SECRET), { 0 } };
	UNIT(u);

	(void)state; /* the example of the specification's reference libraries */
	assert_str(sign_header(&u.arena, secrets, 2, STR("msg_p5jXN8AQM9LWM0D4loKWxJek"), NOW,
			   STR("{\"test\": 2432232314}")),
		"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

static status
check(struct ctx *cx, const char *id, const char *timestamp, str signature, const char *body)
{
	const str secrets[] = { STR(SECRET), { 0 } };
	struct sign_parts p = { str_of(id), str_of(timestamp), signature };

	return sign_check(cx, &p, secrets, 2, str_of(body));
}

static void
only_what_was_signed_now_with_this_secret_is_taken(void **state)
{
	const str good = STR("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
	const char *id = "msg_p5jXN8AQM9LWM0D4loKWxJek", *body = "{\"test\": 2432232314}",
		   *now = "1614265330";
	UNIT(u);

	(void)state;
	clock_freeze(NOW * SECOND_US);
	assert_status(check(&u.cx, id, now, good, body), OK);
	assert_status(check(&u.cx, id, now,
			      STR("v1a,xxxx v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="), body),
		OK);
	assert_status(check(&u.cx, id, now, STR("v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="), body),
		E_UNAUTHENTICATED);
	assert_status(check(&u.cx, id, now, STR("g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="), body),
		E_UNAUTHENTICATED);
	assert_status(check(&u.cx, id, now, STR("v1,"), body), E_UNAUTHENTICATED);
	assert_status(check(&u.cx, id, now, (str){ 0 }, body), E_UNAUTHENTICATED);
	assert_status(check(&u.cx, "", now, good, body), E_UNAUTHENTICATED);
	assert_status(check(&u.cx, "other", now, good, body), E_UNAUTHENTICATED);
	assert_status(check(&u.cx, id, "1614265331", good, body), E_UNAUTHENTICATED);
	assert_status(check(&u.cx, id, "now", good, body), E_UNAUTHENTICATED);
	assert_status(check(&u.cx, id, now, good, "{}"), E_UNAUTHENTICATED);
	clock_freeze((NOW + SIGN_TOLERANCE_S) * SECOND_US);
	assert_status(check(&u.cx, id, now, good, body), OK);
	clock_freeze((NOW + SIGN_TOLERANCE_S + 1) * SECOND_US);
	assert_status(check(&u.cx, id, now, good, body), E_UNAUTHENTICATED);
	clock_freeze((NOW - SIGN_TOLERANCE_S - 1) * SECOND_US);
	assert_status(check(&u.cx, id, now, good, body), E_UNAUTHENTICATED);
	clock_release();
}

static void
a_secret_has_its_form(void **state)
{
	UNIT(u);

	(void)state;
	assert_true(sign_valid(sign_new(&u.arena)));
	assert_true(sign_valid(STR(SECRET)));
	assert_false(sign_valid(STR("")));
	assert_false(sign_valid(STR("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")));
	assert_false(sign_valid(STR("whsec_c2hvcnQ=")));
	assert_false(sign_valid(STR("whsec_!!!!")));
}

static void
some_headers_are_ours(void **state)
{
	(void)state;
	assert_true(post_header_valid(STR("X-Exec-Token")));
	assert_false(post_header_valid(STR("")));
	assert_false(post_header_valid(STR("X Y")));
	assert_false(post_header_valid(STR("HOST")));
	assert_false(post_header_valid(STR("Webhook-Signature")));
}

static void
the_pauses_between_tries_grow_up_to_eight_hours(void **state)
{
	(void)state;
	assert_int_equal(courier_pause_us(1), INT64_C(30) * SECOND_US);
	assert_int_equal(courier_pause_us(2), INT64_C(60) * SECOND_US);
	assert_int_equal(courier_pause_us(14), INT64_C(8) * 3600 * SECOND_US);
	assert_int_equal(courier_pause_us(1000), INT64_C(8) * 3600 * SECOND_US);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_signs_as_the_standard_says),
		cmocka_unit_test(only_what_was_signed_now_with_this_secret_is_taken),
		cmocka_unit_test(a_secret_has_its_form),
		cmocka_unit_test(some_headers_are_ours),
		cmocka_unit_test(the_pauses_between_tries_grow_up_to_eight_hours),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
