/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

str
str_of(const char *cstr)
{
	return (str){ .ptr = cstr, .len = cstr ? strlen(cstr) : 0 };
}

bool
str_eq(str a, str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static unsigned char
lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

bool
str_eq_nocase(str a, str b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (lower(a.ptr[i]) != lower(b.ptr[i]))
			return false;
	return true;
}

bool
str_has_nocase(str s, str part)
{
	for (; s.len >= part.len; s = str_skip(s, 1))
		if (str_eq_nocase((str){ s.ptr, part.len }, part))
			return true;
	return false;
}

int
str_cmp(str a, str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int order = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

bool
str_starts(str s, str prefix)
{
	return s.len >= prefix.len && str_eq((str){ s.ptr, prefix.len }, prefix);
}

bool
str_ends(str s, str suffix)
{
	return s.len >= suffix.len && str_eq(str_skip(s, s.len - suffix.len), suffix);
}

size_t
str_find(str s, char c)
{
	const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;

	return at ? (size_t)(at - s.ptr) : s.len;
}

str
str_skip(str s, size_t n)
{
	if (n > s.len)
		n = s.len;
	return (str){ s.len ? s.ptr + n : s.ptr, s.len - n };
}

str
str_trim(str s)
{
	while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
		s = str_skip(s, 1);
	while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
		s.len--;
	return s;
}

bool
str_cut(str s, char c, str *out_head, str *out_tail)
{
	size_t at = str_find(s, c);

	if (at == s.len)
		return false;
	*out_head = (str){ s.ptr, at };
	*out_tail = str_skip(s, at + 1);
	return true;
}

str
str_of_int(int64_t n, char room[STR_INT_ROOM])
{
	uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
	size_t at = STR_INT_ROOM;

	do {
		room[--at] = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	if (n < 0)
		room[--at] = '-';
	return (str){ room + at, STR_INT_ROOM - at };
}

bool
str_to_int(str s, int64_t *out_n)
{
	bool negative = s.len && s.ptr[0] == '-';
	int64_t n = 0;

	if (negative)
		s = str_skip(s, 1);
	if (s.len == 0)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return false;
		/* counted downwards: INT64_MIN has no positive twin */
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_sub_overflow(n, s.ptr[i] - '0', &n))
			return false;
	}
	if (!negative && n == INT64_MIN)
		return false;
	*out_n = negative ? n : -n;
	return true;
}

static bool
continues(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t
str_utf8_sequence(str s)
{
	const unsigned char *p = (const unsigned char *)s.ptr;

	if (s.len == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	/* the table of RFC 3629 section 4: what the second byte may be depends on the first */
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		return s.len >= 2 && continues(p[1]) ? 2 : 0;
	if (p[0] >= 0xe0 && p[0] <= 0xef) {
		if (s.len < 3 || !continues(p[1]) || !continues(p[2]))
			return 0;
		return (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ? 0 : 3;
	}
	if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		if (s.len < 4 || !continues(p[1]) || !continues(p[2]) || !continues(p[3]))
			return 0;
		return (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f) ? 0 : 4;
	}
	return 0;
}

/* How many of the bytes are ASCII before the first that is not: eight at a time, since most text is. */
static size_t
ascii_run(const char *p, size_t len)
{
	size_t i = 0;
	uint64_t word;

	for (; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
	while (i < len && (unsigned char)p[i] < 0x80)
		i++;
	return i;
}

bool
str_is_utf8(str s)
{
	for (size_t i = 0; i < s.len;) {
		size_t n = ascii_run(s.ptr + i, s.len - i);

		if (!n)
			n = str_utf8_sequence(str_skip(s, i));

		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

bool
str_eq_secret(str a, str b)
{
	unsigned char differ = 0;

	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		differ |= (unsigned char)(a.ptr[i] ^ b.ptr[i]);
	return differ == 0;
}

bool
str_has_dots(str path)
{
	str one, rest = path;

	while (rest.len) {
		if (!str_cut(rest, '/', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		if (str_eq(one, STR(".")) || str_eq(one, STR("..")))
			return true;
	}
	return false;
}
