/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "json/out.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct writing {
	struct buf buf;
	struct json_out out;
};

static struct json_out *
begin(struct unit *u, struct writing *w)
{
	buf_init(&w->buf, &u->arena, LIMIT_JSON_BYTES);
	json_out_init(&w->out, &w->buf);
	return &w->out;
}

static const char *
finish(struct unit *u, struct writing *w)
{
	str text;

	assert_status(buf_finish(&w->buf, &text), OK);
	return arena_cstr(&u->arena, text);
}

static void
a_document_is_written_as_it_goes(void **state)
{
	UNIT(u);
	struct writing w;
	struct json_out *o = begin(&u, &w);
	struct json *doc;

	(void)state;
	assert_status(json_parse(&u.cx, STR("{\"x\":[1.50,null]}"), &doc), OK);
	json_out_object(o, NULL);
	json_out_str(o, "text", STR("a\"b"));
	json_out_int(o, "n", -7);
	json_out_bool(o, "yes", true);
	json_out_array(o, "list");
	json_out_bool(o, NULL, false);
	json_out_null(o, NULL);
	json_out_object(o, NULL);
	json_out_end(o);
	json_out_array(o, NULL);
	json_out_end(o);
	json_out_end(o);
	json_out_key(o, STR("k\n"));
	json_out_value(o, NULL, doc);
	json_out_key(o, STR("o"));
	json_out_object(o, NULL);
	json_out_null(o, "a");
	json_out_null(o, "b");
	json_out_end(o);
	json_out_time(o, "at", 1000001);
	json_out_raw(o, "raw", STR("[1,2]"));
	json_out_end(o);
	assert_string_equal(finish(&u, &w),
		"{\"text\":\"a\\\"b\",\"n\":-7,\"yes\":true,\"list\":[false,null,{},[]],"
		"\"k\\n\":{\"x\":[1.50,null]},\"o\":{\"a\":null,\"b\":null},"
		"\"at\":\"1970-01-01T00:00:01.000001Z\",\"raw\":[1,2]}");
}

static const char *
quoted(struct unit *u, str text)
{
	struct buf b;
	str out;

	buf_init(&b, &u->arena, 1000);
	json_out_quoted(&b, text);
	assert_status(buf_finish(&b, &out), OK);
	return arena_cstr(&u->arena, out);
}

static void
strings_are_always_valid(void **state)
{
	UNIT(u);

	(void)state;
	assert_string_equal(quoted(&u, (str){ 0 }), "\"\"");
	assert_string_equal(
		quoted(&u, STR("plain text, longer than a word")), "\"plain text, longer than a word\"");
	assert_string_equal(quoted(&u, STR("\"\\/\b\f\n\r\t\x01\x1f\x7f")),
		"\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
	assert_string_equal(quoted(&u, STR("a\0b")), "\"a\\u0000b\"");
	assert_string_equal(quoted(&u, STR("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80")),
		"\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\"");
	/* overlong, surrogate, cut off, beyond U+10FFFF: a sign of its own for each byte */
	assert_string_equal(quoted(&u, STR("\xc0\xaf")), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_string_equal(quoted(&u, STR("\xed\xa0\x80")), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_string_equal(quoted(&u, STR("a\xe2\x82")), "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_string_equal(quoted(&u, STR("\xf4\x90\x80\x80z")),
		"\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\"");
}

/* Every place in every word: the scan of eight bytes at a time misses none. */
static void
a_special_byte_is_seen_at_every_place(void **state)
{
	static const char specials[] = { '"', '\\', '\n', '\x1f', '\xff' };

	(void)state;
	for (size_t len = 1; len < 40; len++)
		for (size_t at = 0; at < len; at++)
			for (size_t s = 0; s < sizeof(specials); s++) {
				UNIT(u);
				char *text = arena_try_bytes(&u.arena, len);
				size_t longer[] = { 1, 1, 1, 5, 2 };

				memset(text, s % 2 ? ' ' : '!', len);
				text[at] = specials[s];
				assert_int_equal(strlen(quoted(&u, (str){ text, len })), len + 2 + longer[s]);
			}
}

static void
a_document_of_full_depth_fits_into_an_answer(void **state)
{
	char deep[2 * LIMIT_JSON_DEPTH + 1] = { 0 };
	UNIT(u);
	struct writing w;
	struct json_out *o = begin(&u, &w);
	struct json *doc;

	(void)state;
	memset(deep, '[', LIMIT_JSON_DEPTH);
	memset(deep + LIMIT_JSON_DEPTH, ']', LIMIT_JSON_DEPTH);
	assert_status(json_parse(&u.cx, str_of(deep), &doc), OK);
	json_out_array(o, NULL);
	json_out_value(o, NULL, doc);
	json_out_value(o, NULL, doc);
	json_out_end(o);
	assert_int_equal(strlen(finish(&u, &w)), 2 * 2 * LIMIT_JSON_DEPTH + 3);
}

static void
text_that_does_not_fit_is_too_large(void **state)
{
	UNIT(u);
	struct json *doc;
	str text = STR("untouched");

	(void)state;
	assert_status(json_parse(&u.cx, STR("[\"a\",\"b\",{\"c\":1}]"), &doc), OK);
	u.arena.cap = u.arena.used + 10;
	assert_status(json_text(&u.cx, doc, &text), E_TOO_LARGE);
	assert_str(text, "untouched");
	assert_true(u.cx.error.message.len > 0);
}

/* ---- bugs of the caller stop the program ---- */

static void
value_without_key(struct json_out *o)
{
	json_out_object(o, NULL);
	json_out_int(o, NULL, 1);
}

static void
key_in_an_array(struct json_out *o)
{
	json_out_array(o, NULL);
	json_out_int(o, "a", 1);
}

static void
two_documents(struct json_out *o)
{
	json_out_null(o, NULL);
	json_out_null(o, NULL);
}

static void
two_keys(struct json_out *o)
{
	json_out_object(o, NULL);
	json_out_key(o, STR("a"));
	json_out_key(o, STR("b"));
}

static void
key_twice_over(struct json_out *o)
{
	json_out_object(o, NULL);
	json_out_key(o, STR("a"));
	json_out_int(o, "b", 1);
}

static void
key_without_value(struct json_out *o)
{
	json_out_object(o, NULL);
	json_out_key(o, STR("a"));
	json_out_end(o);
}

static void
end_of_nothing(struct json_out *o)
{
	json_out_end(o);
}

static void
too_deep(struct json_out *o)
{
	for (unsigned i = 0; i <= LIMIT_JSON_DEPTH; i++)
		json_out_array(o, NULL);
}

static bool
aborts(void (*bug)(struct json_out *))
{
	int state;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		UNIT(u);
		struct writing w;
		const struct rlimit none = { 0 };

		(void)setrlimit(RLIMIT_CORE, &none);
		(void)close(STDERR_FILENO);
		bug(begin(&u, &w));
		_exit(0);
	}
	assert_int_equal(waitpid(child, &state, 0), child);
	return !(WIFEXITED(state) && WEXITSTATUS(state) == 0);
}

static void
a_writer_that_breaks_the_form_is_stopped(void **state)
{
	(void)state;
	assert_true(aborts(value_without_key));
	assert_true(aborts(key_in_an_array));
	assert_true(aborts(two_documents));
	assert_true(aborts(two_keys));
	assert_true(aborts(key_twice_over));
	assert_true(aborts(key_without_value));
	assert_true(aborts(end_of_nothing));
	assert_true(aborts(too_deep));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_is_written_as_it_goes),
		cmocka_unit_test(strings_are_always_valid),
		cmocka_unit_test(a_special_byte_is_seen_at_every_place),
		cmocka_unit_test(a_document_of_full_depth_fits_into_an_answer),
		cmocka_unit_test(text_that_does_not_fit_is_too_large),
		cmocka_unit_test(a_writer_that_breaks_the_form_is_stopped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
