/* SPDX-License-Identifier: Apache-2.0 */
/* The settings as text for a person: in a terminal and as docs/settings.md. */
#include "app/config.h"

#include "base/limits.h"

#include <inttypes.h>

#define COLUMNS 80u

static bool
begins_group(size_t row)
{
	return !row || strcmp(settings[row].group, settings[row - 1].group) != 0;
}

void
config_help(struct buf *b)
{
	buf_add(b, STR("Every setting can be given as a flag, as an environment variable or in a JSON\n"
		       "file (--config FILE). A flag beats the environment, the environment beats the\n"
		       "file, the file beats the default.\n"));
	for (size_t row = 0; row < setting_count; row++) {
		const struct setting *s = &settings[row];

		if (begins_group(row))
			buf_printf(b, "\n%s:\n", s->group);
		buf_printf(b, "\n  --%s %s  %s\n      ", s->flag.name, s->flag.value,
			config_variable(b->arena, s).ptr);
		cli_wrap(b, str_of(s->flag.doc), 6, COLUMNS);
		if (*s->flag.fallback)
			buf_printf(b, "      Default: %s\n", s->flag.fallback);
	}
}

static void
markdown_row(struct buf *b, const struct setting *s)
{
	buf_printf(b, "| `%s` | `%s` | ", s->flag.name, config_variable(b->arena, s).ptr);
	if (*s->flag.fallback)
		buf_printf(b, "`%s`", s->flag.fallback);
	buf_printf(b, " | %s", s->flag.doc);
	if (s->type == SETTING_INT)
		buf_printf(b, " From %" PRId64 " to %" PRId64 ".", s->min, s->max);
	if (s->not_in_file)
		buf_add(b, STR(" Not in the file itself."));
	buf_add(b, STR(" |\n"));
}

void
config_markdown(struct buf *b)
{
	buf_printf(b,
		"# Settings\n\n"
		"<!-- Made by `countersign help settings --markdown`; a test says when it is out of date. "
		"-->\n\n"
		"Each setting can be given in three ways. A flag beats the environment, the environment "
		"beats\n"
		"the file, the file beats the default.\n\n"
		"- **Flag**: `--log-level debug` or `--log-level=debug`.\n"
		"- **Environment**: `COUNTERSIGN_LOG_LEVEL=debug`.\n"
		"- **File**: `--config FILE` names a JSON object with the same names as the flags:\n"
		"  `{\"log-level\": \"debug\", \"workers\": 4}`. Numbers are JSON numbers. At most %zu "
		"bytes.\n\n"
		"An unknown flag, key or `COUNTERSIGN_` variable is an error, and so is a value that is not\n"
		"accepted: the program says what would be, and ends with exit code 2. What a running server\n"
		"uses, and where each value came from, is at `GET /api/v1/config`, with passwords masked. "
		"It\n"
		"needs a credential, so it refuses everybody until there are accounts.\n",
		LIMIT_CONFIG_FILE);
	for (size_t row = 0; row < setting_count; row++) {
		if (begins_group(row))
			buf_printf(b,
				"\n## %s\n\n| name | variable | default | what it does "
				"|\n|---|---|---|---|\n",
				settings[row].group);
		markdown_row(b, &settings[row]);
	}
	buf_add(b, STR("\n`COUNTERSIGN_FAULT` (builds with fault points only), `COUNTERSIGN_BUILD` and\n"
		       "`COUNTERSIGN_TEST_*` belong to the test suite and are not settings.\n"));
}
