/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "app/config.h"

static const struct setting *
setting(const char *name)
{
	for (size_t row = 0; row < setting_count; row++)
		if (strcmp(settings[row].flag.name, name) == 0)
			return &settings[row];
	print_error("there is no setting %s\n", name);
	assert_true(false);
	return NULL;
}

/* The rows name the members of struct config: kebab-case and snake_case of one word. */
static void
every_row_is_whole(void **state)
{
	UNIT(u);
	struct config c;

	(void)state;
	config_defaults(&c);
	for (size_t row = 0; row < setting_count; row++) {
		const struct setting *s = &settings[row];

		assert_non_null(s->flag.name);
		assert_non_null(s->flag.value);
		assert_non_null(s->flag.fallback);
		assert_int_equal(s->flag.doc[strlen(s->flag.doc) - 1], '.');
		assert_non_null(s->group);
		assert_true(s->where != 0);
		assert_true(s->type == SETTING_TEXT || s->max > s->min);
		if (s->type == SETTING_TEXT && s->check)
			assert_true(s->check(str_of(s->flag.fallback))); /* a default is a value */
		/* without its own words a refusal says "some text, not empty", which a check makes untrue */
		assert_true(!s->check || s->accepts);
		for (size_t other = 0; other < row; other++) {
			assert_string_not_equal(settings[other].flag.name, s->flag.name);
			assert_true(settings[other].offset != s->offset);
		}
		assert_true(config_shown(&u.arena, &c, s).len == strlen(s->flag.fallback));
	}
}

static void
a_variable_is_the_name_in_capitals(void **state)
{
	UNIT(u);

	(void)state;
	assert_str(config_variable(&u.arena, setting("max-connections-per-address")),
		"COUNTERSIGN_MAX_CONNECTIONS_PER_ADDRESS");
}

static void
the_later_source_wins_whatever_the_order(void **state)
{
	UNIT(u);
	struct config c;
	char workers[] = "COUNTERSIGN_WORKERS=3";
	char *const env[] = { workers, NULL };
	struct cli_given given = { &setting("workers")->flag, STR("4") };
	struct cli_call call = { .given = &given, .given_count = 1 };

	(void)state;
	config_defaults(&c);
	assert_status(config_read_environment(&u.cx, env, &c), OK);
	assert_status(config_read_text(&u.cx, STR("f"), STR("{\"workers\":2,\"drain-seconds\":0}"), &c), OK);
	assert_int_equal(c.workers, 3);
	assert_int_equal(c.drain_seconds, 0);
	assert_string_equal(config_source_name(c.source[setting("drain-seconds") - settings]), "file");
	assert_string_equal(config_source_name(c.source[setting("workers") - settings]), "environment");
	assert_status(config_read_flags(&u.cx, &call, &c), OK);
	assert_int_equal(c.workers, 4);
	assert_status(config_read_environment(&u.cx, env, &c), OK);
	assert_int_equal(c.workers, 4);
	assert_string_equal(config_source_name(c.source[setting("listen") - settings]), "default");
}

static str
masked(struct unit *u, const char *url)
{
	struct config c;

	config_defaults(&c);
	c.database = str_of(url);
	return config_shown(&u->arena, &c, setting("database"));
}

static void
a_password_is_never_shown(void **state)
{
	UNIT(u);

	(void)state;
	assert_str(masked(&u, ""), "");
	assert_str(masked(&u, "postgres://db/x"), "postgres://db/x");
	assert_str(masked(&u, "postgres://me@db/x"), "postgres://me@db/x");
	assert_str(masked(&u, "postgres://me:geheim@db:5432/x"), "postgres://me:***@db:5432/x");
	assert_str(masked(&u, "postgres://me:@db/x"), "postgres://me:***@db/x");
	assert_str(masked(&u, "postgres://:geheim@db/x"), "postgres://:***@db/x");
	assert_str(masked(&u, "postgres://me:ge@heim@a,b/x"), "postgres://me:***@a,b/x");
	assert_str(masked(&u, "postgres://me:ge?heim@db/x"), "postgres://***");
	assert_str(masked(&u, "postgres://me:ge/heim@db/x"), "postgres://***");
	assert_str(masked(&u, "postgres://me@db/x?password=geheim"), "postgres://me@db/x?***");
	assert_str(masked(&u, "postgres://db/x?password=ge@heim"), "postgres://***");
	assert_str(masked(&u, "postgres://"), "postgres://");
	assert_str(masked(&u, "postgres://@"), "postgres://@");
	assert_str(masked(&u, "postgresql://me:geheim@/x?host=/tmp"), "postgresql://me:***@/x?***");
}

static void
an_address_is_taken_apart(void **state)
{
	struct config c;
	struct config_address at;

	(void)state;
	config_defaults(&c);
	at = config_listen(&c);
	assert_str(at.host, "127.0.0.1");
	assert_int_equal(at.port, 7700);
	c.listen = STR("[::1]:0");
	at = config_listen(&c);
	assert_str(at.host, "::1");
	assert_int_equal(at.port, 0);
}

static void
loopback_is_known(void **state)
{
	(void)state;
	assert_true(config_is_loopback(STR("127.0.0.1")));
	assert_true(config_is_loopback(STR("127.8.9.1")));
	assert_true(config_is_loopback(STR("::1")));
	assert_true(config_is_loopback(STR("LocalHost")));
	assert_false(config_is_loopback(STR("0.0.0.0")));
	assert_false(config_is_loopback(STR("::")));
	assert_false(config_is_loopback(STR("127.example.org")));
	assert_false(config_is_loopback(STR("localhost.example.org")));
}

static void
what_is_refused_leaves_everything_as_it_was(void **state)
{
	UNIT(u);
	struct config c;
	struct cli_given given = { &setting("workers")->flag, STR("0") };
	struct cli_call call = { .given = &given, .given_count = 1 };
	char *const env[] = { NULL };

	(void)state;
	memset(&c, 0x55, sizeof(c));
	assert_status(config_load(&u.cx, &call, env, &c), E_INVALID);
	assert_str(u.cx.error.message, "--workers must be a whole number from 1 to 256");
	for (size_t i = 0; i < sizeof(c); i++)
		assert_int_equal(((const unsigned char *)&c)[i], 0x55);
}

static void
a_secret_is_not_repeated_by_the_refusal(void **state)
{
	UNIT(u);
	struct config c;

	(void)state;
	config_defaults(&c);
	assert_status(config_read_text(&u.cx, STR("f"), STR("{\"database\":\"mysql://me:geheim@db\"}"), &c),
		E_INVALID);
	assert_null(strstr(u.cx.error.message.ptr, "geheim"));
}

static void
help_and_markdown_name_every_setting(void **state)
{
	UNIT(u);
	struct buf help, markdown;

	(void)state;
	buf_init(&help, &u.arena, MIB);
	buf_init(&markdown, &u.arena, MIB);
	config_help(&help);
	config_markdown(&markdown);
	buf_add_char(&help, '\0');
	buf_add_char(&markdown, '\0');
	for (size_t row = 0; row < setting_count; row++) {
		assert_non_null(strstr(buf_str(&help).ptr, settings[row].flag.name));
		assert_non_null(
			strstr(buf_str(&markdown).ptr, config_variable(&u.arena, &settings[row]).ptr));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_whole),
		cmocka_unit_test(a_variable_is_the_name_in_capitals),
		cmocka_unit_test(the_later_source_wins_whatever_the_order),
		cmocka_unit_test(a_password_is_never_shown),
		cmocka_unit_test(an_address_is_taken_apart),
		cmocka_unit_test(loopback_is_known),
		cmocka_unit_test(what_is_refused_leaves_everything_as_it_was),
		cmocka_unit_test(a_secret_is_not_repeated_by_the_refusal),
		cmocka_unit_test(help_and_markdown_name_every_setting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
