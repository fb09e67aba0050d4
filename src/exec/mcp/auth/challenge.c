/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/mcp/auth/auth.h"

/* --- WWW-Authenticate (RFC 9110, 11.6.1): schemes, each with parameters --- */

static bool
is_word_char(char c)
{
	return c > ' ' && c < 0x7f && !strchr("\"(),/:;<=>?@[\\]{}", c);
}

static str
skip_space(str s)
{
	while (s.len && (*s.ptr == ' ' || *s.ptr == '\t' || *s.ptr == ','))
		s = str_skip(s, 1);
	return s;
}

static str
take_word(str *s)
{
	str word = { s->ptr, 0 };

	while (word.len < s->len && is_word_char(s->ptr[word.len]))
		word.len++;
	*s = str_skip(*s, word.len);
	return word;
}

/* What follows the equals sign: a word, or text in quotes. */
static str
take_value(struct arena *a, str *s)
{
	char *text;
	size_t n = 0, at = 1;

	if (!s->len || *s->ptr != '"')
		return take_word(s);
	text = arena_alloc(a, s->len);
	while (at < s->len && s->ptr[at] != '"') {
		at += s->ptr[at] == '\\' && at + 1 < s->len;
		text[n++] = s->ptr[at++];
	}
	*s = str_skip(*s, at + 1);
	return (str){ text, n };
}

static void
take_parameter(struct challenge *out, str name, str value)
{
	if (str_eq_nocase(name, STR("resource_metadata")))
		out->metadata_url = value;
	else if (str_eq_nocase(name, STR("scope")))
		out->scope = value;
	else if (str_eq_nocase(name, STR("error")))
		out->error = value;
}

static void
read_one(struct arena *a, str s, struct challenge *out)
{
	bool bearer = false;

	for (s = skip_space(s); s.len; s = skip_space(s)) {
		str word = take_word(&s);

		if (!word.len) { /* nothing that we read */
			s = str_skip(s, 1);
		} else if (s.len && *s.ptr == '=') {
			str value;

			s = str_skip(s, 1);
			value = take_value(a, &s);
			if (bearer)
				take_parameter(out, word, value);
		} else {
			bearer = str_eq_nocase(word, STR("Bearer"));
		}
	}
}

void
challenge_read(struct arena *a, const struct mcp_reply *r, struct challenge *out)
{
	*out = (struct challenge){ 0 };
	for (size_t i = 0; i < r->challenge_count; i++)
		read_one(a, r->challenges[i], out);
}

/* --- scopes --- */

bool
scope_has(str scope, str word)
{
	str one, rest = scope;

	while (rest.len) {
		if (!str_cut(rest, ' ', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		if (one.len && str_eq(one, word))
			return true;
	}
	return false;
}

static void
add_words(struct buf *b, str words)
{
	str one;

	while (words.len) {
		if (!str_cut(words, ' ', &one, &words)) {
			one = words;
			words = (str){ 0 };
		}
		if (!one.len || scope_has(buf_str(b), one))
			continue;
		if (b->len)
			buf_add_char(b, ' ');
		buf_add(b, one);
	}
}

str
scope_union(struct arena *a, str one, str other)
{
	struct buf b;

	buf_init(&b, a, LIMIT_OAUTH_SCOPE_TEXT);
	add_words(&b, one);
	add_words(&b, other);
	return buf_str(&b);
}
