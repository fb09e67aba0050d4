/* SPDX-License-Identifier: Apache-2.0 */
#include "core/people/name.h"

#include "core/card/visible.h"

/* All of Unicode's space separators (Zs). Other characters that show nothing are found by visible_line. */
static const char *const blanks[] = { " ", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
	"\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u202f", "\u205f", "\u3000",
	NULL };

static size_t
blank_at(str text)
{
	for (size_t i = 0; blanks[i]; i++)
		if (str_starts(text, str_of(blanks[i])))
			return strlen(blanks[i]);
	return 0;
}

static bool
is_blank(str text)
{
	size_t n;

	while (text.len && (n = blank_at(text)) > 0)
		text = str_skip(text, n);
	return text.len == 0;
}

static const char *
sentence_of(unsigned found)
{
	unsigned bit = 0;

	while (!(found & 1u << bit))
		bit++;
	return visible_sentence(bit);
}

static status
refuse(struct ctx *cx, const char *path, const char *message)
{
	fail_issue(cx, str_of(path), str_of(message));
	return fail(cx, E_INVALID, "%s %s", path, message);
}

status
name_check(struct ctx *cx, const char *path, str name)
{
	unsigned found = 0;

	(void)visible_line(cx->arena, name, &found);
	if (found)
		return refuse(cx, path,
			arena_printf(cx->arena,
				"%s; a name has only characters that can be seen, each word in one script",
				sentence_of(found))
				.ptr);
	if (is_blank(name))
		return refuse(cx, path, "must have a character that can be seen");
	return OK;
}
