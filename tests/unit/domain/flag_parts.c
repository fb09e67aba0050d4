/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that evaluation is made of: versions, the hash of rollouts, scalars and their sets. */
#include "tests/unit/domain/flag.h"

#include "domain/flag/bucket.h"
#include "domain/flag/scalar.h"
#include "domain/flag/semver.h"

#include <stdio.h>

/* --- versions --- */

/* The ladder of semver.org, section 11, and numbers that fit no integer. */
static void
versions_have_the_order_of_the_specification(void **state)
{
	static const char *const ladder[] = { "0.0.1", "0.1.0", "1.0.0-0", "1.0.0-9", "1.0.0-10",
		"1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.1.0", "1.0.0-alpha.beta", "1.0.0-beta",
		"1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-beta-1", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0",
		"1.10.0", "2.0.0", "10.0.0", "99999999999999999999.0.0", "100000000000000000000.0.0" };

	(void)state;
	for (size_t i = 0; i < COUNT(ladder); i++)
		for (size_t j = 0; j < COUNT(ladder); j++) {
			struct semver a, b;
			int order;

			assert_true(semver_parse(str_of(ladder[i]), &a));
			assert_true(semver_parse(str_of(ladder[j]), &b));
			order = semver_cmp(&a, &b);
			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
}

static void
build_metadata_does_not_count(void **state)
{
	struct semver a, b;

	(void)state;
	assert_true(semver_parse(STR("1.2.3+build.007-x"), &a));
	assert_true(semver_parse(STR("1.2.3"), &b));
	assert_int_equal(semver_cmp(&a, &b), 0);
	assert_true(semver_parse(STR("1.2.3-rc.1+build-1"), &a));
	assert_str(a.prerelease, "rc.1");
}

static void
what_is_not_a_whole_version_is_none(void **state)
{
	static const char *const wrong[] = { "", "1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.02.3",
		"1.2.03", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3-a.", "1.2.3+", "1.2.3+a..b", "1.2.3-ä",
		" 1.2.3", "1.2.3 ", "1.2.x", "-1.2.3", "1..3", "1.2.3-a_b", "1.2.3+a+b" };
	char longest[LIMIT_SEMVER + 2];
	struct semver v;

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++)
		if (semver_parse(str_of(wrong[i]), &v))
			not_so("taken for a version: %s", wrong[i]);
	memset(longest, '1', sizeof(longest));
	memcpy(longest, "1.2.", 4);
	assert_true(semver_parse((str){ longest, LIMIT_SEMVER }, &v));
	assert_false(semver_parse((str){ longest, LIMIT_SEMVER + 1 }, &v));
}

/* --- rollout (FL-2) --- */

static uint32_t
hash_in_pieces(const char *text, size_t piece)
{
	struct bucket b = { 0 };

	for (str rest = str_of(text); rest.len; rest = str_skip(rest, piece))
		bucket_add(&b, (str){ rest.ptr, rest.len < piece ? rest.len : piece });
	return bucket_hash(&b);
}

/* Published vectors of MurmurHash3_x86_32 with seed 0. */
static void
the_hash_is_murmur3_however_it_is_fed(void **state)
{
	static const struct {
		const char *text;
		uint32_t hash;
	} vectors[] = {
		{ "", 0 },
		{ "test", 0xba6bd213 },
		{ "hello", 0x248bfa47 },
		{ "Hello, world!", 0xc0363e43 },
		{ "hello, world", 0x149bbb7f },
		{ "The quick brown fox jumps over the lazy dog", 0x2e4ff723 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++)
		for (size_t piece = 1; piece < 9; piece++)
			assert_int_equal(hash_in_pieces(vectors[i].text, piece), vectors[i].hash);
}

/* The vectors of docs/flags.md: they never change, or people change sides in every rollout there is. */
static void
buckets_are_those_of_the_documentation(void **state)
{
	static const struct {
		const char *key_and_salt, *target;
		uint32_t bucket;
	} vectors[] = {
		{ "new-checkout//", "user-1", 92971 },
		{ "new-checkout//", "user-2", 67279 },
		{ "new-checkout//", "42", 92047 },
		{ "new-checkout/b/", "user-1", 94533 },
		{ "limits.upload//", "user-1", 53236 },
		{ "new-checkout//", "Jürgen Müller", 57495 },
		{ "new-checkout//", "9f8b7c6d-1e2f-4a3b-8c4d-5e6f7a8b9c0d", 66317 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct bucket b = { 0 };

		bucket_add(&b, str_of(vectors[i].key_and_salt));
		assert_int_equal(bucket_of(&b, str_of(vectors[i].target)), vectors[i].bucket);
	}
}

/* 20,000 users in ten parts: each part has a tenth, give or take five standard deviations. */
static void
buckets_are_even_and_flags_independent(void **state)
{
	size_t parts[10] = { 0 }, both = 0, users = 20000;
	struct bucket a = { 0 }, b = { 0 };

	(void)state;
	bucket_add(&a, STR("checkout//"));
	bucket_add(&b, STR("checkout2//"));
	for (size_t i = 0; i < users; i++) {
		char id[32];
		int n = snprintf(id, sizeof(id), "user-%zu", i);
		uint32_t in_a = bucket_of(&a, (str){ id, (size_t)n });

		assert_true(in_a < BUCKETS);
		parts[in_a / (BUCKETS / 10)]++;
		both += in_a < BUCKETS / 2 && bucket_of(&b, (str){ id, (size_t)n }) < BUCKETS / 2;
	}
	for (size_t i = 0; i < 10; i++)
		assert_in_range(parts[i], users / 10 - 212, users / 10 + 212);
	assert_in_range(both, users / 4 - 306, users / 4 + 306);
}

/* --- scalars --- */

static struct scalar
number(const char *text)
{
	struct json n = { .type = JSON_NUMBER, .text = str_of(text) };

	return scalar_of(&n);
}

static void
numbers_are_compared_exactly(void **state)
{
	struct scalar large = number("9007199254740993"), near = number("9007199254740992");
	struct scalar one = number("1"), spelled = number("1.0e0"), huge = number("1e400");

	(void)state;
	assert_false(scalar_equal(&large, &near));
	assert_int_equal(scalar_order(&near, &large), -1);
	assert_int_equal(scalar_order(&large, &near), 1);
	assert_true(scalar_equal(&one, &spelled));
	assert_int_equal(scalar_order(&one, &huge), -1);
	assert_true(scalar_equal(&huge, &huge));
}

static void
a_set_finds_what_was_added_and_nothing_else(void **state)
{
	UNIT(u);
	struct set s = { .arena = &u.arena, .seed = 7 };
	struct scalar zero = number("-0"), yes = { .type = SCALAR_BOOL, .truth = true };
	uint32_t at, again;
	char text[32];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		int n = snprintf(text, sizeof(text), "%u", i);

		assert_status(set_add(&s, scalar_text((str){ text, (size_t)n }), &at), OK);
		assert_int_equal(at, 2 * i);
		assert_status(set_add(&s, number(text), &again), OK);
		assert_int_equal(again, 2 * i + 1);
		assert_status(set_add(&s, number(text), &again), OK);
		assert_int_equal(again, 2 * i + 1);
	}
	assert_int_equal(s.count, 2000);
	for (unsigned i = 0; i < 1100; i++) {
		int n = snprintf(text, sizeof(text), "%u.0", i);
		struct scalar v = number(text), t = scalar_text((str){ text, (size_t)n - 2 });

		assert_int_equal(set_find(&s, &v), i < 1000 ? 2 * i + 1 : SET_NONE);
		assert_int_equal(set_find(&s, &t), i < 1000 ? 2 * i : SET_NONE);
	}
	assert_int_equal(set_find(&s, &zero), 1);
	assert_int_equal(set_find(&s, &yes), SET_NONE);
	assert_status(set_add(&s, yes, &at), OK);
	assert_int_equal(set_find(&s, &yes), 2000);
}

static void
a_set_in_a_full_arena_says_so(void **state)
{
	struct arena small;
	struct set s = { .arena = &small };
	uint32_t at = 99;
	status done = OK;

	(void)state;
	arena_init(&small, 2000);
	assert_status(set_reserve(&s, 1000), E_TOO_LARGE);
	for (unsigned i = 0; i < 200 && done == OK; i++) {
		char text[16];

		done = set_add(
			&s, scalar_text((str){ text, (size_t)snprintf(text, sizeof(text), "%u", i) }), &at);
	}
	assert_status(done, E_TOO_LARGE);
	arena_done(&small);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_have_the_order_of_the_specification),
		cmocka_unit_test(build_metadata_does_not_count),
		cmocka_unit_test(what_is_not_a_whole_version_is_none),
		cmocka_unit_test(the_hash_is_murmur3_however_it_is_fed),
		cmocka_unit_test(buckets_are_those_of_the_documentation),
		cmocka_unit_test(buckets_are_even_and_flags_independent),
		cmocka_unit_test(numbers_are_compared_exactly),
		cmocka_unit_test(a_set_finds_what_was_added_and_nothing_else),
		cmocka_unit_test(a_set_in_a_full_arena_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
