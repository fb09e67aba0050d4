/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tempdir.h"
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "core/id.h"
#include "core/keys.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *
path_in(struct unit *u, const struct tempdir *dir)
{
	return arena_printf(&u->arena, "%s/keys", dir->path).ptr;
}

static void
put(const char *path, str text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text.ptr, text.len), text.len);
	assert_int_equal(fchmod(fd, mode), 0);
	(void)close(fd);
}

static str
take(struct unit *u, const char *path)
{
	char *text = arena_alloc(&u->arena, 4096);
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, 4096);

	assert_true(n >= 0);
	(void)close(fd);
	return (str){ text, (size_t)n };
}

static void
a_key_file_is_made_once_and_read_back(void **state)
{
	UNIT(u);
	TEMPDIR(dir);
	struct keys made, got;
	struct stat st;
	const char *path = path_in(&u, &dir);

	(void)state;
	assert_status(keys_load(&u.cx, path, &got), E_NOT_FOUND);
	assert_status(keys_create(&u.cx, path, &made), OK);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_nlink, 1); /* the draft is gone */
	assert_status(keys_load(&u.cx, path, &got), OK);
	assert_memory_equal(&made, &got, sizeof(got));
	assert_status(keys_create(&u.cx, path, &got), E_EXISTS);
	assert_memory_equal(&made, &got, sizeof(got));
	assert_true(str_eq(keys_fingerprint(&u.arena, &made), keys_fingerprint(&u.arena, &got)));
	assert_int_equal(keys_fingerprint(&u.arena, &made).len, 16);
}

static void
a_key_file_that_others_may_read_is_refused(void **state)
{
	UNIT(u);
	TEMPDIR(dir);
	struct keys k;
	const char *path = path_in(&u, &dir);

	(void)state;
	assert_status(keys_create(&u.cx, path, &k), OK);
	assert_int_equal(chmod(path, 0640), 0);
	assert_status(keys_load(&u.cx, path, &k), E_INVALID);
	assert_int_equal(chmod(path, 0604), 0);
	assert_status(keys_load(&u.cx, path, &k), E_INVALID);
	assert_int_equal(chmod(path, 0400), 0);
	assert_status(keys_load(&u.cx, path, &k), OK);
}

static void
what_is_not_a_key_file_is_refused(void **state)
{
	UNIT(u);
	TEMPDIR(dir);
	struct keys k, untouched;
	const char *path = path_in(&u, &dir);
	str good;

	(void)state;
	assert_status(keys_load(&u.cx, dir.path, &k), E_INVALID);
	assert_status(keys_load(&u.cx, arena_printf(&u.arena, "%s/a/b", dir.path).ptr, &k), E_NOT_FOUND);
	assert_status(keys_create(&u.cx, arena_printf(&u.arena, "%s/a/b", dir.path).ptr, &k), E_UNAVAILABLE);
	assert_status(keys_create(&u.cx, path, &k), OK);
	untouched = k;
	good = take(&u, path);
	for (size_t n = 0; n < good.len; n += 7) { /* cut short */
		put(path, (str){ good.ptr, n }, 0600);
		assert_status(keys_load(&u.cx, path, &k), E_INVALID);
	}
	put(path, arena_printf(&u.arena, "%.*s\n", STR_ARG(good)), 0600); /* too long */
	assert_status(keys_load(&u.cx, path, &k), E_INVALID);
	for (size_t at = 0; at < good.len; at += 5) { /* a letter that no line has */
		char *copy = arena_alloc(&u.arena, good.len);

		memcpy(copy, good.ptr, good.len);
		copy[at] = 'z';
		put(path, (str){ copy, good.len }, 0600);
		assert_status(keys_load(&u.cx, path, &k), E_INVALID);
	}
	assert_memory_equal(&k, &untouched, sizeof(k));
}

static void
fingerprints_and_macs_depend_on_every_key(void **state)
{
	UNIT(u);
	TEMPDIR(dir);
	struct keys k, other;
	unsigned char mac[32], again[32];
	const str ab_c[] = { STR("ab"), STR("c") }, a_bc[] = { STR("a"), STR("bc") },
		  none[] = { { NULL, 0 } };

	(void)state;
	assert_status(keys_create(&u.cx, path_in(&u, &dir), &k), OK);
	for (size_t part = 0; part < 3; part++) {
		other = k;
		(part == 0 ? other.mac : part == 1 ? other.seal : other.sign_public)[3] ^= 1;
		assert_false(str_eq(keys_fingerprint(&u.arena, &k), keys_fingerprint(&u.arena, &other)));
	}
	keys_mac(&k, ab_c, 2, mac);
	keys_mac(&k, ab_c, 2, again);
	assert_memory_equal(mac, again, 32);
	keys_mac(&k, a_bc, 2, again); /* the same bytes, cut elsewhere */
	assert_memory_not_equal(mac, again, 32);
	other = k;
	other.mac[0] ^= 1;
	keys_mac(&other, ab_c, 2, again);
	assert_memory_not_equal(mac, again, 32);
	keys_mac(&k, none, 1, mac);
	keys_mac(&k, none, 0, again);
	assert_memory_not_equal(mac, again, 32);
}

/* --- ids --- */

static void
ids_grow_even_where_the_clock_goes_back(void **state)
{
	UNIT(u);
	str before = id_new(&u.arena);
	int64_t now = clock_now_us();

	(void)state;
	assert_true(id_valid(before));
	for (int i = 0; i < 1000; i++) {
		str next;

		clock_freeze(now - i * SECOND_US);
		next = id_new(&u.arena);
		assert_true(str_cmp(before, next) < 0);
		before = next;
	}
	clock_release();
}

static void
ids_are_version_7_and_hold_their_time(void **state)
{
	UNIT(u);
	/* 2026-11-15T22:51:44.123456Z; RFC 9562 has the milliseconds in the first 48 bits */
	int64_t us = INT64_C(1794783104123456);
	str id = id_at(&u.arena, us), next = id_at(&u.arena, us);

	(void)state;
	assert_true(str_starts(id, STR("01a1e168-cc7b-")));
	assert_int_equal(id.ptr[14], '7');
	assert_non_null(strchr("89ab", id.ptr[19]));
	assert_true(str_cmp(id, next) < 0);
	assert_true(str_cmp(id_floor(&u.arena, us), id) <= 0);
	assert_true(str_cmp(id, id_floor(&u.arena, us + 1)) < 0);
	assert_true(str_cmp(id_at(&u.arena, us - 1), id_floor(&u.arena, us)) < 0);
	assert_true(str_cmp(id_floor(&u.arena, -5), id_floor(&u.arena, 1)) < 0);
	for (int64_t i = 0; i < 2000; i++) /* every microsecond is its own step */
		assert_true(str_cmp(id_floor(&u.arena, us + i), id_floor(&u.arena, us + i + 1)) < 0);
}

static void
what_is_not_an_id_is_not_valid(void **state)
{
	static const char *const wrong[] = { "", "x", "0192f3c4-5e6a-7c1d-8a3f-2b1c9d0e4f5",
		"0192f3c4-5e6a-7c1d-8a3f-2b1c9d0e4f555", "0192F3c4-5e6a-7c1d-8a3f-2b1c9d0e4f55",
		"0192f3c4a5e6a-7c1d-8a3f-2b1c9d0e4f55", "0192f3c4-5e6a-7c1d-8a3f-2b1c9d0e4f5'" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(id_valid(str_of(wrong[i])));
	assert_true(id_valid(STR("0192f3c4-5e6a-7c1d-8a3f-2b1c9d0e4f55")));
}

struct many {
	struct arena arena;
	str ids[2000];
};

static void *
make_many(void *arg)
{
	struct many *m = arg;

	arena_init(&m->arena, LIMIT_REQUEST_ARENA);
	for (size_t i = 0; i < 2000; i++)
		m->ids[i] = id_new(&m->arena);
	return NULL;
}

static void
threads_never_get_the_same_id_and_each_sees_its_own_grow(void **state)
{
	static struct many many[4];
	pthread_t threads[4];

	(void)state;
	for (size_t t = 0; t < 4; t++)
		assert_int_equal(pthread_create(&threads[t], NULL, make_many, &many[t]), 0);
	for (size_t t = 0; t < 4; t++)
		assert_int_equal(pthread_join(threads[t], NULL), 0);
	for (size_t t = 0; t < 4; t++)
		for (size_t i = 1; i < 2000; i++)
			assert_true(str_cmp(many[t].ids[i - 1], many[t].ids[i]) < 0);
	for (size_t t = 1; t < 4; t++) { /* sorted lists: a merge finds what they share */
		for (size_t i = 0, j = 0; i < 2000 && j < 2000;) {
			int order = str_cmp(many[0].ids[i], many[t].ids[j]);

			assert_int_not_equal(order, 0);
			i += order < 0;
			j += order > 0;
		}
	}
	for (size_t t = 0; t < 4; t++)
		arena_done(&many[t].arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_file_is_made_once_and_read_back),
		cmocka_unit_test(a_key_file_that_others_may_read_is_refused),
		cmocka_unit_test(what_is_not_a_key_file_is_refused),
		cmocka_unit_test(fingerprints_and_macs_depend_on_every_key),
		cmocka_unit_test(ids_grow_even_where_the_clock_goes_back),
		cmocka_unit_test(ids_are_version_7_and_hold_their_time),
		cmocka_unit_test(what_is_not_an_id_is_not_valid),
		cmocka_unit_test(threads_never_get_the_same_id_and_each_sees_its_own_grow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
