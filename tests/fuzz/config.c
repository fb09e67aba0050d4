/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a settings file, any words as flags, any strings as an environment. The input is three
 * parts with a byte 0xff between them; words and strings end with a line break. What is accepted can
 * be shown and used, and what is shown of a database has no password in it.
 */
#include "app/config.h"
#include "base/check.h"
#include "base/limits.h"

#include <stdlib.h>

#define WORDS_MAX 32u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The lines of text as NUL-terminated strings, ended by NULL. */
static char **
lines_of(struct arena *a, str text, const char *prefix)
{
	char **lines = arena_alloc(a, (WORDS_MAX + 1) * sizeof(*lines));
	str line, rest;

	for (size_t n = 0; n < WORDS_MAX && str_cut(text, '\n', &line, &rest); n++, text = rest) {
		str whole = arena_printf(a, "%s%.*s", prefix, STR_ARG(line));
		char *copy = arena_alloc(a, whole.len + 1);

		memcpy(copy, whole.ptr, whole.len);
		lines[n] = copy;
	}
	return lines;
}

/* scheme://user:***@place?***: whatever stands where a secret could stand has been replaced. */
static void
check_masked(str shown)
{
	size_t question = str_find(shown, '?'), at = shown.len;
	str scheme, user, password;

	CHECK(question == shown.len || str_eq(str_skip(shown, question), STR("?***")));
	while (at && shown.ptr[at - 1] != '@')
		at--;
	if (!at)
		return;
	CHECK(str_cut((str){ shown.ptr, at - 1 }, ':', &scheme, &user) && str_starts(user, STR("//")));
	if (str_cut(user, ':', &user, &password))
		CHECK(str_eq(password, STR("***")));
}

static void
use(struct arena *a, const struct config *c)
{
	struct config_address at = config_listen(c);

	CHECK(at.host.len > 0 && at.port >= 0 && at.port <= 65535);
	(void)config_is_loopback(at.host);
	CHECK(c->workers >= 1 && c->workers <= LIMIT_SETTING_WORKERS);
	CHECK(c->data.len >= 1 && c->data.len <= LIMIT_SETTING_BYTES);
	for (size_t row = 0; row < setting_count; row++) {
		str shown = config_shown(a, c, &settings[row]);

		if (settings[row].mask)
			check_masked(shown);
	}
}

static status
read_flags(struct ctx *cx, char *const *words, struct config *c)
{
	static const struct cli_command command = { .name = "serve" };
	const struct cli_flag *flags[SETTINGS_MAX + 1] = { &cli_help_flag };
	struct cli_call call;

	for (size_t row = 0; row < setting_count; row++)
		flags[row + 1] = &settings[row].flag;
	TRY(cli_read(cx, &command, flags, setting_count + 1, words, &call));
	return config_read_flags(cx, &call, c);
}

static status
read_all(struct ctx *cx, str file, str words, str env, struct config *c)
{
	config_defaults(c);
	TRY(read_flags(cx, lines_of(cx->arena, words, ""), c));
	TRY(config_read_environment(cx, lines_of(cx->arena, env, "COUNTERSIGN_"), c));
	TRY(config_read_text(cx, STR("settings.json"), file, c));
	return config_check(cx, c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1); /* a block of exactly this size: one byte too far is seen */
	struct arena arena;
	struct config c;
	struct ctx cx;
	str file, words = { 0 }, env = { 0 };
	status s;

	CHECK(text != NULL);
	if (size)
		memcpy(text, data, size);
	file = (str){ text, size };
	if (str_cut(file, '\xff', &file, &words))
		(void)str_cut(words, '\xff', &words, &env);
	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	s = read_all(&cx, file, words, env, &c);
	CHECK(s == OK || s == E_INVALID);
	CHECK(s == OK || cx.error.message.len > 0);
	if (s == OK)
		use(&arena, &c);
	arena_done(&arena);
	free(text);
	return 0;
}
