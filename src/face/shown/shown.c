/* SPDX-License-Identifier: Apache-2.0 */
/* Text of others for a terminal: visible, and never where only our own words stand. */
#include "face/shown/shown.h"

#include "core/card/visible.h"
#include "json/out.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define LABEL_COLUMNS 12u
#define LEAST_COLUMNS 40u
#define COLUMNS	      80u

const struct json *
part_of(const struct json *o, const char *key)
{
	return o ? json_get(o, str_of(key)) : NULL;
}

str
text_of(const struct json *o, const char *key)
{
	const struct json *value = part_of(o, key);

	return value && value->type == JSON_STRING ? value->text : (str){ 0 };
}

str
shown_line(struct arena *a, str text)
{
	unsigned found = 0;
	str shown = visible_text(a, text, &found);
	char *line = arena_try_bytes(a, shown.len + 1);

	if (!line)
		return STR("(too long to show)");
	for (size_t i = 0; i < shown.len; i++)
		line[i] = shown.ptr[i] == '\n' || shown.ptr[i] == '\t' ? ' ' : shown.ptr[i];
	line[shown.len] = '\0';
	return (str){ line, shown.len };
}

str
shown_json(struct ctx *cx, const struct json *value)
{
	str text;

	if (!value)
		return STR("nothing");
	return json_text(cx, value, &text) == OK ? shown_line(cx->arena, text) : STR("(too long to show)");
}

/* The first character of text, or its first byte where it begins with none. */
static str
first_of(str text)
{
	size_t n = str_utf8_sequence(text);

	return (str){ text.ptr, n ? n : 1 };
}

/* How many columns a character probably takes, for a table: those from U+3000 on are wide. */
static size_t
columns_of(str character)
{
	return (unsigned char)character.ptr[0] >= 0xe3 ? 2 : 1;
}

/* How many it takes at most, where one too many would break a line. */
static size_t
most_columns_of(str character)
{
	return character.len > 2 ? 2 : 1;
}

void
shown_cell(struct buf *b, str text, size_t width)
{
	str shown = shown_line(b->arena, text);
	size_t columns = 0;

	for (str rest = shown; rest.len; rest = str_skip(rest, first_of(rest).len))
		columns += columns_of(first_of(rest));
	buf_add(b, shown);
	do
		buf_add_char(b, ' ');
	while (++columns < width);
}

/* --- text of several lines --- */

static size_t
screen_columns(void)
{
	struct winsize w;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || !w.ws_col)
		return COLUMNS;
	return w.ws_col < LEAST_COLUMNS ? LEAST_COLUMNS : w.ws_col;
}

/* How many bytes of the line fit: up to a blank where there is one in the last third. */
static size_t
fitting(str line, size_t columns)
{
	size_t used = 0, n = 0, blank = 0;

	while (n < line.len) {
		str c = first_of(str_skip(line, n));

		used += most_columns_of(c);
		if (used > columns)
			return blank > n * 2 / 3 ? blank : n;
		n += c.len;
		if (c.ptr[0] == ' ')
			blank = n;
	}
	return n;
}

/* One line of theirs. The screen must not break it: what it would put at the left edge could look like ours.
 */
static void
add_line(struct buf *b, str margin, str line)
{
	size_t room = screen_columns() - margin.len;
	bool first = true;

	while (line.len || first) {
		size_t n = fitting(line, room);

		if (!first)
			buf_add(b, margin);
		for (size_t i = 0; i < n; i++)
			buf_add_char(b, line.ptr[i] == '\t' ? ' ' : line.ptr[i]);
		buf_add_char(b, '\n');
		line = str_skip(line, n);
		first = false;
	}
}

/* All lines, each but the first behind the margin. */
static void
add_lines(struct buf *b, str margin, str text)
{
	unsigned found = 0;
	str rest = visible_text(b->arena, text, &found), line;

	while (str_cut(rest, '\n', &line, &rest)) {
		add_line(b, margin, line);
		buf_add(b, margin);
	}
	add_line(b, margin, rest);
}

void
shown_whole(struct buf *b, const char *label, str text)
{
	buf_printf(b, "%-*s%.*s\n", (int)LABEL_COLUMNS, label, STR_ARG(shown_line(b->arena, text)));
}

void
shown_field(struct buf *b, const char *label, str text)
{
	static const char blanks[LABEL_COLUMNS + 1] = "            ";

	buf_printf(b, "%-*s", (int)LABEL_COLUMNS, label);
	add_lines(b, (str){ blanks, LABEL_COLUMNS }, text);
}

void
shown_marked(struct buf *b, const char *mark, str text)
{
	buf_add(b, str_of(mark));
	add_lines(b, str_of(mark), text);
}
