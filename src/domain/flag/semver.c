/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/semver.h"

#include "base/limits.h"

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_number(str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_digit(s.ptr[i]))
			return false;
	return s.len > 0;
}

static bool
is_word(str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '-')
			return false;
	}
	return s.len > 0;
}

/* Digits without a zero before them. */
static bool
is_plain_number(str s)
{
	return is_number(s) && (s.len == 1 || s.ptr[0] != '0');
}

/* The text up to the next c, which is taken away with it; all of it where there is none. */
static str
take_until(str *s, char c)
{
	str head = *s, tail = { NULL, 0 };

	(void)str_cut(*s, c, &head, &tail);
	*s = tail;
	return head;
}

/* Words with dots between; numbers among them are plain where that is asked for. */
static bool
is_dotted(str s, bool plain_numbers)
{
	bool more = true;

	while (more) {
		more = str_find(s, '.') < s.len;
		str word = take_until(&s, '.');
		if (!is_word(word) || (plain_numbers && is_number(word) && !is_plain_number(word)))
			return false;
	}
	return true;
}

bool
semver_parse(str text, struct semver *out)
{
	bool has_build = str_find(text, '+') < text.len, has_prerelease;
	str core, build;

	if (text.len > LIMIT_SEMVER)
		return false;
	core = take_until(&text, '+');
	build = text;
	has_prerelease = str_find(core, '-') < core.len;
	out->prerelease = core;
	core = take_until(&out->prerelease, '-');
	out->part[0] = take_until(&core, '.');
	out->part[1] = take_until(&core, '.');
	out->part[2] = core;
	return is_plain_number(out->part[0]) && is_plain_number(out->part[1]) &&
	       is_plain_number(out->part[2]) && (!has_prerelease || is_dotted(out->prerelease, true)) &&
	       (!has_build || is_dotted(build, false));
}

/* Numbers without leading zeros: the longer is the larger. */
static int
compare_numbers(str a, str b)
{
	return a.len != b.len ? (a.len < b.len ? -1 : 1) : str_cmp(a, b);
}

/* Numbers come before words. */
static int
compare_words(str a, str b)
{
	if (is_number(a) != is_number(b))
		return is_number(a) ? -1 : 1;
	return is_number(a) ? compare_numbers(a, b) : str_cmp(a, b);
}

int
semver_cmp(const struct semver *a, const struct semver *b)
{
	str x = a->prerelease, y = b->prerelease;
	int order = 0;

	for (size_t i = 0; i < 3 && order == 0; i++)
		order = compare_numbers(a->part[i], b->part[i]);
	if (order != 0)
		return order;
	if (!x.len || !y.len)
		return (x.len == 0) - (y.len == 0); /* a release comes after its prereleases */
	while (order == 0 && x.len && y.len)
		order = compare_words(take_until(&x, '.'), take_until(&y, '.'));
	return order != 0 ? order : (x.len > 0) - (y.len > 0);
}
