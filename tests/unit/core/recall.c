/* SPDX-License-Identifier: Apache-2.0 */
/* Callers of a moment ago: for a second at most, and never beyond a change of rights (ID-6, FL-4). */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "core/ident/recall.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define NOW INT64_C(1800000000000000)

static const str rules[] = { { "flag.flag.read", 14 }, { "flag.config.read", 16 } };
static const str cidrs[] = { { "10.0.0.0/8", 10 } };

static struct caller
caller_called(const char *token)
{
	return (struct caller){ .org_id = STR("org"),
		.token_id = str_of(token),
		.via_token = true,
		.expires_at = NOW + 3600 * SECOND_US,
		.rules = { .items = rules, .count = 2 },
		.settings = STR("{}"),
		.transport = "rest" };
}

static struct credential
bearing(const char *secret)
{
	return (struct credential){ .bearer = str_of(secret), .peer = STR("10.1.2.3") };
}

static void
keep(struct recall *r, const char *secret, const struct caller *c)
{
	struct credential with = bearing(secret);

	recall_keep(r, recall_begin(r), &with, c);
}

static bool
knows(struct recall *r, const char *secret)
{
	struct credential with = bearing(secret);
	const struct caller *c = recall_find(r, &with);

	recall_release(c);
	return c != NULL;
}

static void
a_caller_is_a_copy_of_its_own(void **state)
{
	struct recall *r = recall_new(0);
	struct credential with = bearing("cs_1");
	char *text = strdup("flag.flag.read"), *token = strdup("t1");
	str item = str_of(text);
	struct caller c = caller_called(token);
	const struct caller *found;

	(void)state;
	c.rules = (struct rules){ .items = &item, .count = 1 };
	clock_freeze(NOW);
	keep(r, "cs_1", &c);
	free(text);
	free(token);
	found = recall_find(r, &with);
	assert_non_null(found);
	assert_str(found->token_id, "t1");
	assert_int_equal(found->rules.count, 1);
	assert_str(found->rules.items[0], "flag.flag.read");
	assert_int_equal(found->settings.len, 0);
	assert_true(caller_may(found, STR("flag.flag.read")));
	assert_false(knows(r, "cs_2"));
	recall_forget(r, STR("org"));
	assert_str(found->token_id, "t1"); /* who uses it still may */
	recall_release(found);
	assert_false(knows(r, "cs_1"));
	recall_free(r);
	recall_free(NULL);
	clock_release();
}

static void
it_lasts_a_second_and_one_renews_it_after_half(void **state)
{
	struct recall *r = recall_new(0);
	struct caller c = caller_called("t1");

	(void)state;
	clock_freeze(NOW);
	keep(r, "cs_1", &c);
	clock_freeze(NOW + LIMIT_RECALL_US / 2 - 1);
	assert_true(knows(r, "cs_1"));
	clock_freeze(NOW + LIMIT_RECALL_US / 2);
	assert_false(knows(r, "cs_1")); /* this one goes to the database ... */
	assert_true(knows(r, "cs_1"));	/* ... the others do not wait */
	clock_freeze(NOW + LIMIT_RECALL_US);
	assert_false(knows(r, "cs_1"));
	keep(r, "cs_1", &c);
	assert_true(knows(r, "cs_1"));
	recall_free(r);
	clock_release();
}

static void
a_change_of_rights_forgets_the_organization_and_what_is_on_its_way(void **state)
{
	struct recall *r = recall_new(0);
	struct caller c = caller_called("t1"), other = caller_called("t2");
	struct credential with = bearing("cs_1");
	struct recall_mark m;

	(void)state;
	clock_freeze(NOW);
	other.org_id = STR("other");
	keep(r, "cs_1", &c);
	keep(r, "cs_2", &other);
	m = recall_begin(r);
	recall_forget(r, STR("org"));
	assert_false(knows(r, "cs_1"));
	assert_true(knows(r, "cs_2"));
	recall_keep(r, m, &with, &c); /* it was read before the change */
	assert_false(knows(r, "cs_1"));
	recall_keep(r, recall_begin(r), &with, &c);
	assert_true(knows(r, "cs_1"));
	recall_free(r);
	clock_release();
}

static void
expiry_and_address_count_each_time(void **state)
{
	struct recall *r = recall_new(0);
	struct caller c = caller_called("t1");
	struct credential with = bearing("cs_1");

	(void)state;
	clock_freeze(NOW);
	c.expires_at = NOW + 1000;
	c.cidrs = cidrs;
	c.cidr_count = 1;
	keep(r, "cs_1", &c);
	assert_true(knows(r, "cs_1"));
	with.peer = STR("192.0.2.1");
	assert_null(recall_find(r, &with));
	clock_freeze(NOW + 1000);
	assert_false(knows(r, "cs_1"));
	recall_free(r);
	clock_release();
}

static void
what_somebody_finds_out_is_forgotten_for_all(void **state)
{
	struct recall *r = recall_new(0);
	struct caller c = caller_called("t1");
	struct credential one = bearing("cs_1"), session = { .session = STR("s") };

	(void)state;
	clock_freeze(NOW);
	keep(r, "cs_1", &c);
	keep(r, "cs_2", &c);
	recall_drop(r, &session);
	recall_drop(r, &one);
	recall_drop(r, &one);
	assert_false(knows(r, "cs_1"));
	assert_true(knows(r, "cs_2"));
	recall_free(r);
	clock_release();
}

static void
sessions_are_not_kept(void **state)
{
	struct recall *r = recall_new(0);
	struct caller c = caller_called("");
	struct credential with = { .session = STR("s") };

	(void)state;
	c.via_token = false;
	recall_keep(r, recall_begin(r), &with, &c);
	assert_null(recall_find(r, &with));
	recall_free(r);
}

static void
many_callers_push_the_oldest_out(void **state)
{
	struct recall *r = recall_new(0);
	struct caller c = caller_called("t");
	int known = 0;
	char secret[16];

	(void)state;
	clock_freeze(NOW);
	for (int i = 0; i < 10000; i++) {
		clock_freeze(NOW + i);
		(void)snprintf(secret, sizeof(secret), "cs_%d", i);
		keep(r, secret, &c);
		assert_true(knows(r, secret)); /* the newest is always there */
	}
	for (int i = 0; i < 10000; i++) {
		(void)snprintf(secret, sizeof(secret), "cs_%d", i);
		known += knows(r, secret);
	}
	assert_true(known > 3500 && known <= 4096);
	recall_free(r);
	clock_release();
}

static void
a_token_that_is_too_fast_is_told_when_to_come_again(void **state)
{
	UNIT(u);
	struct caller c = caller_called("t1"), other = caller_called("t2"), session = caller_called("");

	(void)state;
	clock_freeze(NOW);
	assert_status(recall_count(&u.cx, &c), OK); /* nobody counts */
	u.cx.recall = recall_new(2);
	assert_status(recall_count(&u.cx, &c), OK);
	assert_status(recall_count(&u.cx, &c), OK);
	assert_status(recall_count(&u.cx, &c), E_RATE_LIMITED);
	assert_string_equal(u.cx.headers[0].name, "Retry-After");
	assert_str(u.cx.headers[0].value, "1");
	assert_status(recall_count(&u.cx, &other), OK);
	for (int i = 0; i < 10; i++)
		assert_status(recall_count(&u.cx, &session), OK);
	clock_freeze(NOW + SECOND_US);
	assert_status(recall_count(&u.cx, &c), OK);
	recall_free(u.cx.recall);
	u.cx.recall = recall_new(0);
	for (int i = 0; i < 10; i++)
		assert_status(recall_count(&u.cx, &c), OK);
	recall_free(u.cx.recall);
	clock_release();
}

struct user {
	pthread_t thread;
	struct recall *recall;
	atomic_bool *stop;
	bool wrong;
};

static void *
use(void *arg)
{
	struct user *u = arg;
	struct credential with = bearing("cs_1");

	while (!atomic_load(u->stop)) {
		const struct caller *c = recall_find(u->recall, &with);

		u->wrong |= c && !(str_eq(c->token_id, STR("t1")) && caller_may(c, STR("flag.flag.read")));
		recall_release(c);
	}
	return NULL;
}

static void
it_is_found_kept_and_forgotten_at_once(void **state)
{
	struct recall *r = recall_new(0);
	struct caller c = caller_called("t1");
	atomic_bool stop = false;
	struct user users[3];

	(void)state;
	c.expires_at = clock_now_us() + 3600 * SECOND_US;
	for (size_t i = 0; i < 3; i++) {
		users[i] = (struct user){ .recall = r, .stop = &stop };
		assert_int_equal(pthread_create(&users[i].thread, NULL, use, &users[i]), 0);
	}
	for (int i = 0; i < 2000; i++) {
		keep(r, "cs_1", &c);
		if (i % 3 == 0)
			recall_forget(r, STR("org"));
	}
	atomic_store(&stop, true);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(pthread_join(users[i].thread, NULL), 0);
		assert_false(users[i].wrong);
	}
	recall_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_caller_is_a_copy_of_its_own),
		cmocka_unit_test(it_lasts_a_second_and_one_renews_it_after_half),
		cmocka_unit_test(a_change_of_rights_forgets_the_organization_and_what_is_on_its_way),
		cmocka_unit_test(expiry_and_address_count_each_time),
		cmocka_unit_test(what_somebody_finds_out_is_forgotten_for_all),
		cmocka_unit_test(sessions_are_not_kept),
		cmocka_unit_test(many_callers_push_the_oldest_out),
		cmocka_unit_test(a_token_that_is_too_fast_is_told_when_to_come_again),
		cmocka_unit_test(it_is_found_kept_and_forgotten_at_once),
	};

	return cmocka_run_group_tests_name("recall", tests, NULL, NULL);
}
