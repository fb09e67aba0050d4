/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/meter/meter.h"
#include "base/random.h"
#include "base/scoped.h"
#include "base/hash/sha256.h"

#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- arena --- */

static void
arena_pieces_are_zeroed_and_aligned(void **state)
{
	UNIT(u);

	(void)state;
	for (size_t size = 1; size < 3 * LIMIT_ARENA_CHUNK; size = size * 3 + 1) {
		char *bytes = arena_try_bytes(&u.arena, 1); /* knocks the alignment */
		char *p = arena_alloc(&u.arena, size);

		assert_non_null(bytes);
		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, size);
	}
}

static void
arena_cap_binds_those_who_ask_with_try(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, 100);
	assert_non_null(arena_try(&a, 60));
	assert_null(arena_try(&a, 41));
	assert_null(arena_try_bytes(&a, 41));
	assert_null(arena_try_array(&a, SIZE_MAX / 2, 3));
	assert_null(arena_grow_bytes(&a, NULL, 0, 41));
	assert_non_null(arena_try(&a, 40));
	assert_non_null(arena_alloc(&a, 1000)); /* ours never fails, but it counts */
	assert_null(arena_try(&a, 1));
	arena_reset(&a);
	assert_non_null(arena_try(&a, 100));
	arena_done(&a);
}

static void
arena_grows_the_newest_piece_in_place(void **state)
{
	UNIT(u);
	char *p = arena_try_bytes(&u.arena, 4);
	char *same, *other;

	(void)state;
	memcpy(p, "abcd", 4);
	same = arena_grow_bytes(&u.arena, p, 4, 8);
	assert_ptr_equal(same, p);
	(void)arena_try_bytes(&u.arena, 1); /* no longer the newest */
	other = arena_grow_bytes(&u.arena, same, 8, 16);
	assert_ptr_not_equal(other, p);
	assert_memory_equal(other, "abcd", 4);
}

static void
arena_rewind_gives_back_what_came_after(void **state)
{
	UNIT(u);
	struct arena_mark empty = arena_mark(&u.arena);
	char *first, *again;
	struct arena_mark mark;

	(void)state;
	first = arena_alloc(&u.arena, 100);
	memset(first, 7, 100);
	mark = arena_mark(&u.arena);
	again = arena_alloc(&u.arena, 10);
	(void)arena_alloc(&u.arena, 5 * LIMIT_ARENA_CHUNK);
	arena_rewind(&u.arena, mark);
	assert_ptr_equal(arena_alloc(&u.arena, 10), again);
	assert_int_equal(first[99], 7);
	arena_rewind(&u.arena, empty);
	assert_int_equal(u.arena.used, 0);
	assert_null(u.arena.chunks);
}

static void
arena_reset_does_not_keep_a_large_chunk(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, 10 * MIB);
	(void)arena_alloc(&a, 5 * MIB);
	arena_reset(&a);
	assert_null(a.chunks);
	(void)arena_alloc(&a, 10);
	arena_reset(&a);
	assert_non_null(a.chunks);
	arena_done(&a);
}

static void
arena_text_is_copied_and_terminated(void **state)
{
	UNIT(u);
	str copy = arena_str(&u.arena, STR("abc"));

	(void)state;
	assert_string_equal(copy.ptr, "abc");
	assert_string_equal(arena_cstr(&u.arena, (str){ 0 }), "");
	assert_str(arena_printf(&u.arena, "%s-%d", "x", 7), "x-7");
}

/* --- buf --- */

static void
buffer_overflow_is_sticky(void **state)
{
	UNIT(u);
	struct buf b;
	str text = STR("untouched");

	(void)state;
	buf_init(&b, &u.arena, 4);
	buf_add(&b, STR("abc"));
	buf_add(&b, STR("de"));
	buf_add_char(&b, 'f');
	buf_add(&b, STR("g"));
	buf_printf(&b, "%d", 1);
	assert_status(buf_finish(&b, &text), E_TOO_LARGE);
	assert_str(text, "untouched");
	assert_str(buf_str(&b), "abc");
}

static void
buffer_stops_at_the_arenas_cap(void **state)
{
	struct arena a;
	struct buf b;
	str text;

	(void)state;
	arena_init(&a, 300);
	buf_init(&b, &a, 1000);
	for (int i = 0; i < 400; i++)
		buf_add_char(&b, 'x');
	assert_status(buf_finish(&b, &text), E_TOO_LARGE);
	arena_done(&a);
}

static void
buffer_writes_every_kind(void **state)
{
	UNIT(u);
	struct buf b;
	str text;

	(void)state;
	buf_init(&b, &u.arena, 10000);
	buf_add_int(&b, INT64_MIN);
	buf_add_char(&b, ' ');
	buf_add_int(&b, 0);
	buf_add_char(&b, ' ');
	buf_add_int(&b, INT64_MAX);
	buf_printf(&b, " %5.1f|", 2.5);
	buf_add(&b, (str){ 0 });
	assert_status(buf_finish(&b, &text), OK);
	assert_str(text, "-9223372036854775808 0 9223372036854775807   2.5|");
	for (int i = 0; i < 1000; i++)
		buf_add(&b, STR("12345"));
	assert_status(buf_finish(&b, &text), OK);
	assert_int_equal(text.len, 49 + 5000);
}

/* --- str --- */

static void
text_is_compared_cut_and_trimmed(void **state)
{
	str head = { 0 }, tail = { 0 };

	(void)state;
	assert_true(str_eq((str){ 0 }, STR("")));
	assert_false(str_eq(STR("a"), STR("b")));
	assert_true(str_eq_nocase(STR("Content-LENGTH"), STR("content-length")));
	assert_false(str_eq_nocase(STR("ab"), STR("abc")));
	assert_false(str_eq_nocase(STR("ab"), STR("ac")));
	assert_true(str_has_nocase(STR("it is DEPRECATED"), STR("deprecated")));
	assert_true(str_has_nocase(STR("ab"), STR("AB")));
	assert_false(str_has_nocase(STR("a"), STR("ab")));
	assert_false(str_has_nocase(STR("abdac"), STR("abc")));
	assert_true(str_cmp(STR("a"), STR("ab")) < 0);
	assert_true(str_cmp(STR("b"), STR("ab")) > 0);
	assert_int_equal(str_cmp((str){ 0 }, STR("")), 0);
	assert_true(str_starts(STR("abc"), STR("ab")));
	assert_false(str_starts(STR("a"), STR("ab")));
	assert_true(str_ends(STR("abc"), STR("bc")));
	assert_false(str_ends(STR("c"), STR("bc")));
	assert_str(str_trim(STR(" \t a b\t ")), "a b");
	assert_str(str_trim(STR("  ")), "");
	assert_str(str_skip(STR("abc"), 5), "");
	assert_int_equal(str_find((str){ 0 }, 'x'), 0);
	assert_true(str_cut(STR("k=v=w"), '=', &head, &tail));
	assert_str(head, "k");
	assert_str(tail, "v=w");
	assert_false(str_cut(STR("kv"), '=', &head, &tail));
	assert_str(str_of(NULL), "");
	assert_true(str_eq_secret(STR("abc"), STR("abc")));
	assert_false(str_eq_secret(STR("abc"), STR("abd")));
	assert_false(str_eq_secret(STR("abc"), STR("ab")));
}

static void
only_whole_numbers_in_range_are_read(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t n;
	} cases[] = {
		{ "0", true, 0 },
		{ "-1", true, -1 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "007", true, 7 },
		{ "9223372036854775808", false, 0 },
		{ "-9223372036854775809", false, 0 },
		{ "", false, 0 },
		{ "-", false, 0 },
		{ "+1", false, 0 },
		{ "1 ", false, 0 },
		{ "1e3", false, 0 },
		{ "99999999999999999999", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t n = 42;

		assert_int_equal(str_to_int(str_of(cases[i].text), &n), cases[i].ok);
		assert_int_equal(n, cases[i].ok ? cases[i].n : 42);
	}
}

static void
only_shortest_utf8_is_utf8(void **state)
{
	static const char *const good[] = { "", "abc", "\u00e9", "\u20ac", "\U0001F600", "\xf4\x8f\xbf\xbf",
		"\xed\x9f\xbf", "\xee\x80\x80" };
	static const char *const bad[] = { "\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf",
		"\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3",
		"\xe2\x82", "\xe2\x82x", "\xf0\x9f\x98", "a\xc3(" };

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++)
		assert_true(str_is_utf8(str_of(good[i])));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(str_is_utf8(str_of(bad[i])));
}

/* --- status and ctx --- */

static void
every_status_has_a_code_of_its_own_and_a_sentence(void **state)
{
	(void)state;
	for (int s = 0; s < STATUS_COUNT; s++) {
		const struct status_info *row = status_info((status)s);

		assert_true(strlen(row->sentence) > 0);
		assert_true(row->http >= 200 && row->http < 600);
		for (int other = 0; other < s; other++)
			assert_string_not_equal(row->code, status_info((status)other)->code);
	}
}

static void
a_failure_is_described_in_one_slot(void **state)
{
	UNIT(u);

	(void)state;
	assert_str(ctx_message(&u.cx, E_BUSY), "the service is busy; nothing was changed");
	assert_status(fail(&u.cx, E_CONFLICT, "note %d has moved on", 7), E_CONFLICT);
	assert_str(ctx_message(&u.cx, E_CONFLICT), "note 7 has moved on");
	assert_str(ctx_message(&u.cx, E_BUSY), "the service is busy; nothing was changed");
	for (int i = 0; i < 100; i++)
		fail_issue(&u.cx, STR("/a"), STR("is wrong"));
	assert_int_equal(u.cx.error.issue_count, 16);
	ctx_clear(&u.cx);
	assert_int_equal(u.cx.error.code, OK);
	assert_int_equal(u.cx.error.issue_count, 0);
}

static void
an_issue_of_a_part_is_one_of_the_whole(void **state)
{
	UNIT(u);

	(void)state;
	assert_status(fail_below(&u.cx, STR("/part"), OK), OK);
	assert_status(fail_below(&u.cx, STR("/part"), fail(&u.cx, E_INVALID, "nowhere")), E_INVALID);
	assert_str(ctx_message(&u.cx, E_INVALID), "nowhere");
	fail_issue(&u.cx, STR("/a"), STR("is wrong"));
	fail_issue(&u.cx, STR(""), STR("is odd"));
	assert_status(fail_below(&u.cx, STR("/part"), E_BUSY), E_BUSY);
	assert_str(u.cx.error.issues[0].path, "/a");
	assert_status(fail_below(&u.cx, STR("/part"), fail(&u.cx, E_INVALID, "/a is wrong")), E_INVALID);
	assert_str(ctx_message(&u.cx, E_INVALID), "/part/a is wrong");
	assert_str(u.cx.error.issues[1].path, "/part");
}

static void
a_long_message_is_cut_at_its_limit(void **state)
{
	UNIT(u);
	char *text = arena_alloc(&u.arena, 3 * LIMIT_ERROR_MESSAGE + 1);

	(void)state;
	memset(text, 'x', 3 * LIMIT_ERROR_MESSAGE);
	assert_status(fail(&u.cx, E_INVALID, "%s", text), E_INVALID);
	assert_int_equal(u.cx.error.message.len, LIMIT_ERROR_MESSAGE);
}

/* --- clock and random --- */

static void
tests_drive_the_clock(void **state)
{
	UNIT(u);
	int64_t before = clock_mono_us();

	(void)state;
	assert_true(clock_now_us() > INT64_C(1700000000) * SECOND_US);
	assert_true(clock_mono_us() >= before);
	clock_freeze(1234567);
	assert_int_equal(clock_now_us(), 1234567);
	assert_int_equal(clock_mono_us(), 1234567);
	clock_release();
	assert_true(clock_now_us() > 1234567);
	assert_str(clock_text(&u.arena, 0), "1970-01-01T00:00:00.000000Z");
	assert_str(clock_text(&u.arena, -1), "1969-12-31T23:59:59.999999Z");
	assert_str(clock_text(&u.arena, INT64_C(2147483648000001)), "2038-01-19T03:14:08.000001Z");
	assert_str(clock_text(&u.arena, INT64_MAX), "9999-12-31T23:59:59.999999Z");
	assert_str(clock_text(&u.arena, INT64_MIN), "0000-01-01T00:00:00.000000Z");
}

/* What clock_text writes is read back; RFC 3339 allows more, and nothing else is a time. */
static void
times_are_read_as_rfc_3339(void **state)
{
	static const struct {
		const char *text;
		int64_t us;
	} right[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "1970-01-01t00:00:00.5z", 500000 },
		{ "1969-12-31T23:59:59.999999Z", -1 },
		{ "1969-12-31T23:59:59.9999999999Z", -1 },
		{ "2026-11-15T23:51:44.123+01:00", INT64_C(1794783104123000) },
		{ "2026-11-15T17:21:44.123-05:30", INT64_C(1794783104123000) },
		{ "2000-02-29T00:00:00Z", INT64_C(951782400000000) },
		{ "2016-12-31T23:59:60Z", INT64_C(1483228800000000) },
		{ "0000-01-01T00:00:00Z", INT64_C(-62167219200000000) },
		{ "9999-12-31T23:59:59Z", INT64_C(253402300799000000) },
	};
	static const char *const wrong[] = { "", "2026-11-15", "2026-11-15T22:51:44", "2026-11-15 22:51:44Z",
		"2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-00-01T00:00:00Z",
		"2026-13-01T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-00T00:00:00Z",
		"2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z",
		"2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+1:00", "2026-01-01T00:00:00+24:00",
		"2026-01-01T00:00:00+01:60", "2026-01-01T00:00:00+01:00x", "2026-01-01T00:00:00Zx",
		"-026-01-01T00:00:00Z", "26-01-01T00:00:00Z", "2026-1-01T00:00:00Z" };
	UNIT(u);
	int64_t us = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		assert_true(clock_parse(str_of(right[i].text), &us));
		assert_int_equal(us, right[i].us);
		assert_true(clock_parse(clock_text(&u.arena, us), &us));
		assert_int_equal(us, right[i].us);
	}
	us = 7;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(clock_parse(str_of(wrong[i]), &us));
	assert_false(clock_parse((str){ "2026-01-01\0000:00:00Z", 20 }, &us));
	assert_int_equal(us, 7);
}

/* FIPS 180-4, and RFC 4231's second test with its key filled up to our length, which HMAC does anyway. */
static void
hashes_are_those_of_the_standards(void **state)
{
	UNIT(u);
	unsigned char key[SHA256_BYTES] = "Jefe", mac[SHA256_BYTES];
	struct hmac h;
	char hex[SHA256_HEX + 1];

	(void)state;
	assert_str(sha256_hex(&u.arena, STR("abc")),
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_str(sha256_hex(&u.arena, (str){ NULL, 0 }),
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	hmac_init(&h, key);
	hmac_add(&h, STR("what do ya want for nothing?"));
	hmac_done(&h, mac);
	assert_str(str_of(sodium_bin2hex(hex, sizeof(hex), mac, sizeof(mac))),
		"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

/* Around the ends of blocks, and as libsodium has it. */
static void
a_hash_of_pieces_is_that_of_the_whole(void **state)
{
	unsigned char key[SHA256_BYTES], text[300], ours[SHA256_BYTES], theirs[SHA256_BYTES];

	(void)state;
	random_bytes(key, sizeof(key));
	random_bytes(text, sizeof(text));
	for (size_t len = 0; len < sizeof(text); len++) {
		struct sha256 s;
		struct hmac h;

		sha256_init(&s);
		hmac_init(&h, key);
		for (size_t at = 0, n; at < len; at += n) {
			n = len - at < 7 + at ? len - at : 7 + at;
			sha256_add(&s, (str){ (const char *)text + at, n });
			hmac_add(&h, (str){ (const char *)text + at, n });
		}
		sha256_done(&s, ours);
		crypto_hash_sha256(theirs, text, len);
		assert_memory_equal(ours, theirs, sizeof(ours));
		hmac_done(&h, ours);
		crypto_auth_hmacsha256(theirs, text, len, key);
		assert_memory_equal(ours, theirs, sizeof(ours));
	}
}

static void
seeded_randomness_repeats_and_real_one_does_not(void **state)
{
	UNIT(u);
	unsigned char a[100], b[100];
	str hex;

	(void)state;
	random_seed(7);
	random_bytes(a, sizeof(a));
	random_seed(7);
	random_bytes(b, sizeof(b));
	assert_memory_equal(a, b, sizeof(a));
	random_seed(0);
	random_bytes(a, sizeof(a));
	random_bytes(b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
	hex = random_hex(&u.arena, 32);
	assert_int_equal(hex.len, 64);
	assert_int_equal(strspn(hex.ptr, "0123456789abcdef"), 64);
}

/* --- log --- */

static str
logged(struct arena *a, int fd)
{
	char *text = arena_alloc(a, 2 * LIMIT_LOG_LINE);
	ssize_t n = read(fd, text, 2 * LIMIT_LOG_LINE - 1);

	return (str){ text, n > 0 ? (size_t)n : 0 };
}

static void
an_event_is_one_line_whatever_is_in_it(void **state)
{
	UNIT(u);
	int ends[2];
	str line;
	char *longer = arena_alloc(&u.arena, 2 * LIMIT_LOG_LINE + 1);

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	log_set_fd(ends[1]);
	clock_freeze(0 + SECOND_US);
	LOG(LOG_INFO, "a.b", LOG_STR("plain", STR("x/y")),
		LOG_STR("text", STR("two\nlines \"q\" \\ \x1b[0m=")), LOG_INT("n", -5),
		LOG_STR("empty", STR("")), LOG_STR("bad", STR("\xff")), LOG_STR("good", STR("\u00e9")));
	assert_str(logged(&u.arena, ends[0]),
		"time=1970-01-01T00:00:01.000000Z level=info event=a.b plain=x/y "
		"text=\"two\\x0alines \\\"q\\\" \\\\ \\x1b[0m=\" n=-5 empty=\"\" bad=\"\\xff\" "
		"good=\"\u00e9\"\n");
	memset(longer, 'x', 2 * LIMIT_LOG_LINE);
	LOG(LOG_WARN, "long", LOG_STR("a", STR("1")), LOG_STR("b", str_of(longer)));
	line = logged(&u.arena, ends[0]);
	assert_true(line.len <= LIMIT_LOG_LINE);
	assert_int_equal(str_find(line, '\n'), line.len - 1);
	clock_release();
	log_set_fd(STDERR_FILENO);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void
a_token_in_a_path_is_starred_out(void **state)
{
	UNIT(u);
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	log_set_fd(ends[1]);
	clock_freeze(SECOND_US);
	LOG(LOG_INFO, "a", LOG_STR("path", STR("/x/cs_pat_0Az9/cs_/cs_a/cs_cs_agt_b=")),
		LOG_STR("end", STR("cs_ses_")));
	assert_str(logged(&u.arena, ends[0]), "time=1970-01-01T00:00:01.000000Z level=info event=a "
					      "path=\"/x/cs_pat_****/cs_/cs_a/cs_cs_*****=\" "
					      "end=cs_ses_\n");
	clock_release();
	log_set_fd(STDERR_FILENO);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void
events_below_the_level_are_dropped(void **state)
{
	UNIT(u);
	int ends[2];
	enum log_level level = LOG_ERROR;

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	log_set_fd(ends[1]);
	assert_true(log_level_of(STR("warn"), &level));
	assert_int_equal(level, LOG_WARN);
	assert_false(log_level_of(STR("loud"), &level));
	log_set_level(level);
	LOG(LOG_INFO, "dropped");
	assert_int_equal(logged(&u.arena, ends[0]).len, 0);
	LOG(LOG_ERROR, "kept");
	assert_true(logged(&u.arena, ends[0]).len > 0);
	log_set_level(LOG_INFO);
	log_set_fd(STDERR_FILENO);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* --- check, fault, scoped --- */

/* How the child ends that runs f. */
static int
fate(void (*f)(void))
{
	pid_t child = fork();
	int how = 0;

	assert_true(child >= 0);
	if (child == 0) {
		(void)close(STDERR_FILENO); /* what it says is not for this log */
		f();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &how, WUNTRACED), child);
	if (WIFSTOPPED(how)) {
		(void)kill(child, SIGKILL);
		(void)waitpid(child, NULL, 0);
	}
	return how;
}

static void
break_a_promise(void)
{
	(void)signal(SIGABRT, SIG_DFL);
	CHECK(1 + 1 == 3);
}

static void
a_broken_promise_stops_the_program(void **state)
{
	int how = fate(break_a_promise);

	(void)state;
	assert_true(WIFSIGNALED(how));
	assert_int_equal(WTERMSIG(how), SIGABRT);
}

static void
only_a_whole_specification_arms_a_fault(void **state)
{
	static const char *const bad[] = { "", "tx_before_commit", "tx_before_commit:1", "nowhere:1:kill",
		"tx_before_commit:0:kill", "tx_before_commit:x:kill", "tx_before_commit:1:explode" };

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(fault_arm(bad[i]));
	assert_true(fault_arm("tx_before_commit:1:off"));
	assert_false(fault_plant("a bug that nobody knows"));
	for (int p = 0; p < FAULT_COUNT; p++) {
		assert_true(strlen(fault_name((enum fault_point)p)) > 0);
		assert_true(strlen(fault_doc((enum fault_point)p)) > 0);
	}
}

#ifdef COUNTERSIGN_FAULTS
static void
die_here(void)
{
	(void)fault_arm("tx_before_commit:2:kill");
	FAULT(tx_before_commit);
	FAULT(tx_after_commit);
	FAULT(tx_before_commit);
}

static void
stop_here(void)
{
	(void)fault_arm("tx_after_commit:1:stop");
	FAULT(tx_after_commit);
}

static void
an_armed_fault_acts_at_its_passing(void **state)
{
	int how;

	(void)state;
	assert_true(fault_enabled());
	assert_true(fault_arm("tx_after_begin:2:fail"));
	assert_false(FAULT_FAILS(tx_after_begin));
	assert_true(FAULT_FAILS(tx_after_begin));
	assert_false(FAULT_FAILS(tx_after_begin));
	assert_true(fault_arm("tx_after_begin:2:break"));
	assert_false(FAULT_FAILS(tx_after_begin));
	assert_true(FAULT_FAILS(tx_after_begin));
	assert_true(FAULT_FAILS(tx_after_begin));
	assert_true(fault_arm("tx_after_begin:1:off"));
	assert_false(FAULT_FAILS(tx_after_begin));
	how = fate(die_here);
	assert_true(WIFSIGNALED(how));
	assert_int_equal(WTERMSIG(how), SIGKILL);
	how = fate(stop_here);
	assert_true(WIFSTOPPED(how));
}
#endif

static void
what_is_scoped_is_given_back(void **state)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int copy;

	(void)state;
	{
		scoped_lock held = lock(&mutex);
		scoped_fd fd = open("/dev/null", O_RDONLY);
		scoped_fd none = -1;

		(void)none;
		assert_true(fd >= 0);
		copy = fd;
		assert_int_not_equal(pthread_mutex_trylock(&mutex), 0);
	}
	assert_int_equal(pthread_mutex_trylock(&mutex), 0);
	assert_int_equal(pthread_mutex_unlock(&mutex), 0);
	assert_int_equal(fcntl(copy, F_GETFD), -1);
}

/* --- work that is counted --- */

static void
a_budget_that_is_used_up_stays_so_and_transactions_have_their_own(void **state)
{
	UNIT(u);

	(void)state;
	assert_int_equal(meter_left(&u.cx), LIMIT_WORK);
	assert_true(meter_charge(&u.cx, LIMIT_WORK));
	assert_false(meter_charge(&u.cx, 1));
	assert_false(meter_charge(&u.cx, 0));
	assert_int_equal(meter_left(&u.cx), 0);
	assert_status(meter_spend(&u.cx, 1), E_TOO_LARGE);
	u.cx.work.writing = true;
	assert_int_equal(meter_left(&u.cx), LIMIT_WORK_WRITER);
	assert_false(meter_charge(&u.cx, UINT64_MAX));
	assert_int_equal(meter_left(&u.cx), 0);
}

static void
a_cap_is_for_a_while_and_a_share_is_paid_by_whom_it_is_of(void **state)
{
	UNIT(u);
	struct ctx part, of_part;

	(void)state;
	ctx_init(&part, &u.arena);
	ctx_init(&of_part, &u.arena);
	meter_share(&part, &u.cx);
	meter_share(&of_part, &part);
	assert_true(meter_charge(&of_part, 1000));
	assert_int_equal(meter_left(&u.cx), LIMIT_WORK - 1000);
	assert_int_equal(part.work.outside + of_part.work.outside, 0);
	meter_cap(&part, 10);
	assert_false(meter_charge(&u.cx, 11));
	assert_int_equal(meter_left(&of_part), 0);
	meter_uncap(&part);
	assert_true(meter_charge(&u.cx, 11));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena_pieces_are_zeroed_and_aligned),
		cmocka_unit_test(arena_cap_binds_those_who_ask_with_try),
		cmocka_unit_test(arena_grows_the_newest_piece_in_place),
		cmocka_unit_test(arena_rewind_gives_back_what_came_after),
		cmocka_unit_test(arena_reset_does_not_keep_a_large_chunk),
		cmocka_unit_test(arena_text_is_copied_and_terminated),
		cmocka_unit_test(buffer_overflow_is_sticky),
		cmocka_unit_test(buffer_stops_at_the_arenas_cap),
		cmocka_unit_test(buffer_writes_every_kind),
		cmocka_unit_test(text_is_compared_cut_and_trimmed),
		cmocka_unit_test(only_whole_numbers_in_range_are_read),
		cmocka_unit_test(only_shortest_utf8_is_utf8),
		cmocka_unit_test(every_status_has_a_code_of_its_own_and_a_sentence),
		cmocka_unit_test(a_failure_is_described_in_one_slot),
		cmocka_unit_test(an_issue_of_a_part_is_one_of_the_whole),
		cmocka_unit_test(a_long_message_is_cut_at_its_limit),
		cmocka_unit_test(tests_drive_the_clock),
		cmocka_unit_test(times_are_read_as_rfc_3339),
		cmocka_unit_test(seeded_randomness_repeats_and_real_one_does_not),
		cmocka_unit_test(hashes_are_those_of_the_standards),
		cmocka_unit_test(a_hash_of_pieces_is_that_of_the_whole),
		cmocka_unit_test(an_event_is_one_line_whatever_is_in_it),
		cmocka_unit_test(a_token_in_a_path_is_starred_out),
		cmocka_unit_test(events_below_the_level_are_dropped),
		cmocka_unit_test(a_broken_promise_stops_the_program),
		cmocka_unit_test(only_a_whole_specification_arms_a_fault),
#ifdef COUNTERSIGN_FAULTS
		cmocka_unit_test(an_armed_fault_acts_at_its_passing),
#endif
		cmocka_unit_test(what_is_scoped_is_given_back),
		cmocka_unit_test(a_budget_that_is_used_up_stays_so_and_transactions_have_their_own),
		cmocka_unit_test(a_cap_is_for_a_while_and_a_share_is_paid_by_whom_it_is_of),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
