/* SPDX-License-Identifier: Apache-2.0 */
#include "face/cli/cli.h"

#include <stdio.h>

#define COLUMNS	    80u
#define FLAG_COLUMN 34u /* where a flag's sentence begins; a longer flag has it on the next line */

static void
spaces(struct buf *b, size_t n)
{
	while (n--)
		buf_add_char(b, ' ');
}

void
cli_wrap(struct buf *b, str text, size_t indent, size_t width)
{
	size_t column = indent;

	while (text.len) {
		size_t end = str_find(text, ' ');
		str word = { text.ptr, end };

		if (column > indent && column + 1 + word.len > width) {
			buf_add_char(b, '\n');
			spaces(b, indent);
			column = indent;
		} else if (column > indent) {
			buf_add_char(b, ' ');
			column++;
		}
		buf_add(b, word);
		column += word.len;
		text = str_skip(text, end + 1);
	}
	buf_add_char(b, '\n');
}

/* Paragraphs are lines of the source text. */
static void
paragraphs(struct buf *b, str text)
{
	str line, rest;

	while (str_cut(text, '\n', &line, &rest)) {
		cli_wrap(b, line, 0, COLUMNS);
		text = rest;
	}
	cli_wrap(b, text, 0, COLUMNS);
}

static void
flag_line(struct buf *b, const struct cli_flag *f)
{
	size_t start = b->len, width;

	buf_printf(b, "  --%s%s%s", f->name, f->value ? " " : "", f->value ? f->value : "");
	width = b->len - start;
	if (width + 2 > FLAG_COLUMN) {
		buf_add_char(b, '\n');
		width = 0;
	}
	spaces(b, FLAG_COLUMN - width);
	if (f->fallback && *f->fallback) {
		str with = arena_printf(b->arena, "%s [%s]", f->doc, f->fallback);

		cli_wrap(b, with, FLAG_COLUMN, COLUMNS);
	} else {
		cli_wrap(b, str_of(f->doc), FLAG_COLUMN, COLUMNS);
	}
}

/* "command line\twhat it is for" */
static void
example_line(struct buf *b, const char *program, str line)
{
	str command = line, why = { 0 };

	(void)str_cut(line, '\t', &command, &why);
	if (why.len) {
		buf_add(b, STR("  # "));
		cli_wrap(b, why, 4, COLUMNS);
	}
	buf_printf(b, "  %s %.*s\n", program, STR_ARG(command));
}

static void
example_lines(struct buf *b, const char *program, str text)
{
	str line, rest;

	buf_add(b, STR("\nExamples:\n"));
	while (str_cut(text, '\n', &line, &rest)) {
		example_line(b, program, line);
		text = rest;
	}
	example_line(b, program, text);
}

void
cli_help_command(struct buf *b, const char *program, const struct cli_command *command,
	const struct cli_group *groups, size_t count)
{
	buf_printf(b, "%s %s: %s\n\nUsage:\n  %s %s%s [flags]\n\n", program, command->name, command->summary,
		program, command->name, command->arguments ? command->arguments : "");
	paragraphs(b, str_of(command->doc));
	for (size_t g = 0; g < count; g++) {
		if (!groups[g].count)
			continue;
		buf_printf(b, "\n%s:\n", groups[g].heading);
		for (size_t i = 0; i < groups[g].count; i++)
			flag_line(b, groups[g].flags[i]);
	}
	if (command->examples)
		example_lines(b, program, str_of(command->examples));
}

void
cli_help_overview(struct buf *b, const char *program, const char *about, const struct cli_command *commands)
{
	paragraphs(b, str_of(about));
	buf_printf(b, "\nUsage:\n  %s COMMAND [flags]\n\nCommands:\n", program);
	for (const struct cli_command *c = commands; c->name; c++) {
		buf_printf(b, "  %-10s", c->name);
		cli_wrap(b, str_of(c->summary), 12, COLUMNS);
	}
	buf_printf(b,
		"\n`%s COMMAND --help` explains a command and its flags,\n"
		"`%s help settings` every setting, by flag, environment and file.\n"
		"\nExit codes: 0 done, 1 it did not work, 2 the command line or a setting is wrong.\n",
		program, program);
}
