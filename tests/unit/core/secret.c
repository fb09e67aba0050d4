/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets, passwords and addresses: what can be said of them without a database (ID-5, ID-8). */
#include "tests/unit/unit.h"

#include "core/ident/cidr.h"
#include "core/ident/secret.h"

#include "base/check.h"
#include "base/limits.h"

#include <pthread.h>
#include <stdatomic.h>

static void
a_secret_has_the_documented_form_and_no_two_are_the_same(void **state) /* ID-5 */
{
	UNIT(u);
	str one = secret_new(&u.arena, SECRET_KIND_AGENT), two = secret_new(&u.arena, SECRET_KIND_AGENT);

	(void)state;
	assert_int_equal(one.len, 7 + 43 + 6);
	assert_true(str_starts(one, STR("cs_agt_")));
	assert_false(str_eq(one, two));
	assert_true(secret_valid(one));
	assert_true(secret_valid(secret_new(&u.arena, SECRET_KIND_SETUP)));
}

static void
every_changed_character_breaks_the_checksum(void **state) /* ID-5 */
{
	UNIT(u);
	str good = secret_new(&u.arena, SECRET_KIND_PERSON);

	(void)state;
	for (size_t i = 0; i < good.len; i++) {
		char *bad = arena_alloc(&u.arena, good.len);

		memcpy(bad, good.ptr, good.len);
		bad[i] = bad[i] == 'x' ? 'y' : 'x';
		assert_false(secret_valid((str){ bad, good.len }));
	}
	for (size_t n = 0; n < good.len; n++)
		assert_false(secret_valid((str){ good.ptr, n }));
}

static void
what_is_not_of_our_form_is_no_secret(void **state)
{
	static const char *const wrong[] = { "", "cs_", "cs__", "cs_pat", "cs_pat_", "xx_pat_0123456789",
		"cs_toolongakind_0123456789012345678901234567890123456789012345678" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(secret_valid(str_of(wrong[i])));
}

static void
a_hint_tells_secrets_apart_and_gives_nothing_away(void **state)
{
	UNIT(u);
	str s = secret_new(&u.arena, SECRET_KIND_AGENT), hint = secret_hint(&u.arena, s);

	(void)state;
	assert_true(str_starts(hint, STR("agt ")));
	assert_true(str_ends(hint, str_skip(s, s.len - 4)));
	assert_true(hint.len < 16);
}

static void
a_hash_is_sha256(void **state)
{
	UNIT(u);

	(void)state;
	assert_str(secret_hash(&u.arena, STR("abc")),
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static bool
matches(struct ctx *cx, str password, str hash)
{
	bool right;

	assert_status(password_matches(cx, password, hash, &right), OK);
	return right;
}

static void
a_password_matches_only_itself_and_nobody_matches_nothing(void **state) /* ID-8 */
{
	UNIT(u);
	str hash, other;

	(void)state;
	assert_status(password_hash(&u.cx, STR("correct horse"), &hash), OK);
	assert_status(password_hash(&u.cx, STR("correct horse"), &other), OK);
	assert_true(str_starts(hash, STR("$argon2id$")));
	assert_false(str_eq(hash, other)); /* salted */
	assert_true(matches(&u.cx, STR("correct horse"), hash));
	assert_false(matches(&u.cx, STR("correct horse "), hash));
	assert_false(matches(&u.cx, STR(""), hash));
	assert_false(matches(&u.cx, STR(""), STR("")));
	assert_false(matches(&u.cx, STR("correct horse"), STR("$argon2id$nonsense")));
}

/* --- a crowd at the door --- */

#define CROWD (LIMIT_PASSWORD_HASHES + LIMIT_PASSWORD_WAITING)

static atomic_int lent, back, refused;

static bool
lend(void *arg)
{
	(void)arg;
	atomic_fetch_add(&lent, 1);
	return true;
}

static void
come_back(void *arg)
{
	(void)arg;
	atomic_fetch_add(&back, 1);
}

static void *
check_one(void *arg)
{
	struct ctx_place place = { .lend = lend, .back = come_back };
	bool right = true;
	UNIT(u);

	u.cx.place = &place;
	if (password_matches(&u.cx, STR("wrong"), *(str *)arg, &right) != OK)
		atomic_fetch_add(&refused, 1);
	CHECK(!right || atomic_load(&refused) > 0);
	return NULL;
}

static void
passwords_are_hashed_a_few_at_a_time(void **state) /* ID-8 */
{
	pthread_t threads[CROWD];
	str hash;
	UNIT(u);

	(void)state;
	assert_status(password_hash(&u.cx, STR("correct horse"), &hash), OK);
	for (size_t i = 0; i < CROWD; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, check_one, &hash), 0);
	for (size_t i = 0; i < CROWD; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(atomic_load(&refused), 0); /* exactly as many as may hash or wait */
	assert_true(atomic_load(&lent) > 0);
	assert_int_equal(atomic_load(&lent), atomic_load(&back));
}

static void
a_password_has_a_least_and_a_most_length(void **state)
{
	UNIT(u);
	char text[LIMIT_PASSWORD_BYTES + 1];

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_status(password_check(&u.cx, (str){ text, LIMIT_PASSWORD_LEAST - 1 }), E_INVALID);
	assert_status(password_check(&u.cx, (str){ text, LIMIT_PASSWORD_LEAST }), OK);
	assert_status(password_check(&u.cx, (str){ text, LIMIT_PASSWORD_BYTES }), OK);
	assert_status(password_check(&u.cx, (str){ text, LIMIT_PASSWORD_BYTES + 1 }), E_INVALID);
	assert_status(password_check(&u.cx, secret_password(&u.arena)), OK);
}

static void
a_block_holds_its_addresses_and_no_others(void **state) /* ID-5 */
{
	static const struct {
		const char *block, *address;
		bool holds;
	} table[] = {
		{ "10.0.0.0/8", "10.255.255.255", true },
		{ "10.0.0.0/8", "11.0.0.0", false },
		{ "10.1.2.128/25", "10.1.2.128", true },
		{ "10.1.2.128/25", "10.1.2.127", false },
		{ "10.1.2.3", "10.1.2.3", true },
		{ "10.1.2.3", "10.1.2.4", false },
		{ "0.0.0.0/0", "203.0.113.9", true },
		{ "0.0.0.0/0", "2001:db8::1", false }, /* all of IPv4 is not all of IPv6 */
		{ "::/0", "203.0.113.9", true },
		{ "2001:db8::/33", "2001:db8:7fff::1", true },
		{ "2001:db8::/33", "2001:db8:8000::1", false },
		{ "10.0.0.0/8", "::ffff:10.1.1.1", true }, /* the same address */
		{ "::ffff:10.0.0.0/104", "10.1.1.1", true },
		{ "10.0.0.0/33", "10.0.0.0", false },
		{ "10.0.0.0/", "10.0.0.0", false },
		{ "10.0.0.0/-1", "10.0.0.0", false },
		{ "10.0.0.0/8 ", "10.0.0.0", false },
		{ "10.0.0/8", "10.0.0.0", false },
		{ "", "10.0.0.0", false },
		{ "10.0.0.0/8", "", false },
		{ "10.0.0.0/8", "10.0.0.0/8", false },
		{ "2001:db8::/129", "2001:db8::", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		bool holds = cidr_holds(str_of(table[i].block), str_of(table[i].address));

		if (holds != table[i].holds)
			print_error("%s holds %s: %d\n", table[i].block, table[i].address, holds);
		assert_int_equal(holds, table[i].holds);
	}
}

static void
a_block_is_within_one_that_is_as_wide_or_wider(void **state) /* ID-6 */
{
	(void)state;
	assert_true(cidr_within(STR("10.0.0.0/8"), STR("10.0.0.0/8")));
	assert_true(cidr_within(STR("10.0.0.0/8"), STR("10.9.0.0/16")));
	assert_true(cidr_within(STR("10.0.0.0/8"), STR("10.9.8.7")));
	assert_false(cidr_within(STR("10.0.0.0/8"), STR("10.0.0.0/7")));
	assert_false(cidr_within(STR("10.0.0.0/8"), STR("0.0.0.0/0")));
	assert_false(cidr_within(STR("10.0.0.0/8"), STR("11.0.0.0/16")));
	assert_false(cidr_within(STR("10.0.0.0/8"), STR("nonsense")));
	assert_true(cidr_valid(STR("::1/128")));
	assert_false(cidr_valid(STR("localhost")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_has_the_documented_form_and_no_two_are_the_same),
		cmocka_unit_test(every_changed_character_breaks_the_checksum),
		cmocka_unit_test(what_is_not_of_our_form_is_no_secret),
		cmocka_unit_test(a_hint_tells_secrets_apart_and_gives_nothing_away),
		cmocka_unit_test(a_hash_is_sha256),
		cmocka_unit_test(a_password_matches_only_itself_and_nobody_matches_nothing),
		cmocka_unit_test(passwords_are_hashed_a_few_at_a_time),
		cmocka_unit_test(a_password_has_a_least_and_a_most_length),
		cmocka_unit_test(a_block_holds_its_addresses_and_no_others),
		cmocka_unit_test(a_block_is_within_one_that_is_as_wide_or_wider),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
