/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "face/cli/cli.h"
#include "face/cli/nearest.h"

static const struct cli_flag listen_flag = {
	.name = "listen", .value = "HOST:PORT", .fallback = "here", .doc = "Where."
};
static const struct cli_flag json_flag = { .name = "json", .doc = "As JSON." };
static const struct cli_flag *const flags[] = { &listen_flag, &json_flag, &cli_help_flag };
static const struct cli_command commands[] = {
	{ .name = "serve",
		.summary = "Serve.",
		.doc = "Serves.",
		.max_arguments = 1,
		.arguments = " [WHAT]",
		.examples = "serve\tall of it\nserve --json" },
	{ .name = "migrate", .summary = "Migrate.", .doc = "Migrates." },
	{ 0 },
};

static status
parse(struct unit *u, char *const *words, struct cli_call *out)
{
	return cli_read(&u->cx, &commands[0], flags, 3, words, out);
}
#define READ(u, out, ...) parse(&(u), (char *[]){ __VA_ARGS__ __VA_OPT__(, ) NULL }, (out))
/* words of a command line are not const in C; nothing here writes to them */
#define W(word) (char *)(uintptr_t)(word)

static void
a_value_stands_in_the_next_word_or_after_an_equals_sign(void **state)
{
	UNIT(u);
	struct cli_call call;
	str value;

	(void)state;
	assert_status(READ(u, &call, W("--listen"), W("a:1"), W("--json")), OK);
	assert_true(cli_given(&call, "listen", &value));
	assert_str(value, "a:1");
	assert_true(cli_given(&call, "json", NULL));
	assert_status(READ(u, &call, W("--listen=a=b")), OK);
	assert_true(cli_given(&call, "listen", &value));
	assert_str(value, "a=b");
	assert_false(cli_given(&call, "json", NULL));
	assert_status(READ(u, &call, W("--listen="), W("what")), OK);
	assert_true(cli_given(&call, "listen", &value));
	assert_int_equal(value.len, 0);
	assert_int_equal(call.argument_count, 1);
}

static void
two_dashes_end_the_flags(void **state)
{
	UNIT(u);
	struct cli_call call;

	(void)state;
	assert_status(READ(u, &call, W("--"), W("--json")), OK);
	assert_int_equal(call.given_count, 0);
	assert_str(call.arguments[0], "--json");
	assert_status(READ(u, &call, W("-")), OK); /* a dash alone is a word */
	assert_str(call.arguments[0], "-");
}

static void
mistakes_are_explained(void **state)
{
	UNIT(u);
	struct cli_call call = { .argument_count = 77 };
	static const struct {
		const char *words[4];
		const char *sentence;
	} mistakes[] = {
		{ { "--lsiten", "x" }, "serve does not take --lsiten; did you mean --listen?" },
		{ { "--zzz" }, "serve does not take --zzz; `countersign serve --help` lists what it takes" },
		{ { "--"
		    "=x" },
			"serve does not take --; `countersign serve --help` lists what it takes" },
		{ { "--listen" }, "--listen needs a value: --listen HOST:PORT" },
		{ { "--json=1" }, "--json takes no value" },
		{ { "--json", "--json" }, "--json is given twice" },
		{ { "-x" }, "flags begin with two dashes; \"-x\" does not" },
		{ { "a", "b" }, "serve does not know what to do with \"b\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		char *words[4] = { W(mistakes[i].words[0]), W(mistakes[i].words[1]), NULL, NULL };

		assert_status(parse(&u, words, &call), E_INVALID);
		assert_str(u.cx.error.message, mistakes[i].sentence);
	}
	assert_int_equal(call.argument_count, 77); /* untouched on failure */
}

static void
help_is_asked_for_in_two_ways(void **state)
{
	UNIT(u);
	struct cli_call call;

	(void)state;
	assert_status(READ(u, &call, W("-h")), OK);
	assert_true(call.help);
	assert_status(READ(u, &call, W("--help")), OK);
	assert_true(call.help);
	assert_status(READ(u, &call), OK);
	assert_false(call.help);
}

static void
a_command_is_found_or_guessed(void **state)
{
	UNIT(u);
	const struct cli_command *found = NULL;

	(void)state;
	assert_status(cli_find(&u.cx, commands, STR("migrate"), &found), OK);
	assert_ptr_equal(found, &commands[1]);
	assert_status(cli_find(&u.cx, commands, STR("mig"), &found), E_INVALID);
	assert_non_null(strstr(u.cx.error.message.ptr, "did you mean \"migrate\"?"));
	assert_status(cli_find(&u.cx, commands, STR("xyz"), &found), E_INVALID);
	assert_null(strstr(u.cx.error.message.ptr, "did you mean"));
}

static const char *
guess(const char *word)
{
	struct nearest best = { 0 };

	nearest_try(&best, str_of(word), "listen");
	nearest_try(&best, str_of(word), "tls-key");
	nearest_try(&best, str_of(word), "max-connections");
	return best.name;
}

static void
what_was_meant_is_guessed_only_where_it_is_near(void **state)
{
	char longer[100];

	(void)state;
	assert_string_equal(guess("lisetn"), "listen");	 /* neighbours swapped */
	assert_string_equal(guess("lsten"), "listen");	 /* one missing */
	assert_string_equal(guess("liisten"), "listen"); /* one too many */
	assert_string_equal(guess("tlskey"), "tls-key");
	assert_string_equal(guess("max"), "max-connections"); /* a beginning */
	assert_null(guess("x"));
	assert_null(guess(""));
	assert_null(guess("something-else"));
	memset(longer, 'l', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_null(guess(longer));
}

static void
text_is_wrapped_between_words(void **state)
{
	UNIT(u);
	struct buf b;

	(void)state;
	buf_init(&b, &u.arena, 1000);
	cli_wrap(&b, STR("one two three averyverylongword x"), 2, 10);
	assert_str(buf_str(&b), "one two\n  three\n  averyverylongword\n  x\n");
}

static void
help_names_flags_defaults_and_examples(void **state)
{
	UNIT(u);
	struct cli_group groups[] = { { "Flags", flags, 3 }, { "Empty", flags, 0 } };
	struct buf b;
	str text;

	(void)state;
	buf_init(&b, &u.arena, 10000);
	cli_help_command(&b, "program", &commands[0], groups, 2);
	buf_add_char(&b, '\0');
	text = buf_str(&b);
	assert_non_null(strstr(text.ptr, "Usage:\n  program serve [WHAT] [flags]\n"));
	assert_non_null(strstr(text.ptr, "  --listen HOST:PORT              Where. [here]\n"));
	assert_non_null(strstr(text.ptr, "  # all of it\n  program serve\n  program serve --json\n"));
	assert_null(strstr(text.ptr, "Empty"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_stands_in_the_next_word_or_after_an_equals_sign),
		cmocka_unit_test(two_dashes_end_the_flags),
		cmocka_unit_test(mistakes_are_explained),
		cmocka_unit_test(help_is_asked_for_in_two_ways),
		cmocka_unit_test(a_command_is_found_or_guessed),
		cmocka_unit_test(what_was_meant_is_guessed_only_where_it_is_near),
		cmocka_unit_test(text_is_wrapped_between_words),
		cmocka_unit_test(help_names_flags_defaults_and_examples),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
