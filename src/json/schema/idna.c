/* SPDX-License-Identifier: Apache-2.0 */
#include "json/schema/idna.h"

#include "base/check.h"
#include "base/limits.h"
#include "json/regex.h"

#include <pthread.h>

struct range {
	uint32_t from, to;
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool
in_ranges(uint32_t c, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (c >= ranges[i].from && c <= ranges[i].to)
			return true;
	return false;
}
#define IN(c, ranges) in_ranges((c), (ranges), COUNT(ranges))

/* --- categories and scripts, by RE2 --- */

enum class {
	CLASS_LETTER,
	CLASS_MARK,
	CLASS_GREEK,
	CLASS_HEBREW,
	CLASS_JAPANESE,
	CLASS_TRANSPARENT,
	CLASS_COUNT
};

static const char *const patterns[CLASS_COUNT] = {
	[CLASS_LETTER] = "[\\p{Ll}\\p{Lo}\\p{Lm}\\p{Mn}\\p{Mc}\\p{Nd}]",
	[CLASS_MARK] = "\\p{M}",
	[CLASS_GREEK] = "\\p{Greek}",
	[CLASS_HEBREW] = "\\p{Hebrew}",
	[CLASS_JAPANESE] = "[\\p{Hiragana}\\p{Katakana}\\p{Han}]",
	[CLASS_TRANSPARENT] = "\\p{Mn}",
};
static struct regex *classes[CLASS_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
make_classes(void)
{
	struct arena a;
	struct ctx cx;

	arena_init(&a, LIMIT_ARENA_CHUNK);
	ctx_init(&cx, &a);
	for (size_t i = 0; i < CLASS_COUNT; i++)
		CHECK(regex_new(&cx, str_of(patterns[i]), REGEX_RE2, &classes[i]) == OK);
	arena_done(&a);
}

static bool
is(uint32_t c, enum class class)
{
	char text[4];
	size_t n = 0;

	if (c < 0x80) {
		text[n++] = (char)c;
	} else if (c < 0x800) {
		text[n++] = (char)(0xc0 | c >> 6);
		text[n++] = (char)(0x80 | (c & 0x3f));
	} else {
		if (c < 0x10000) {
			text[n++] = (char)(0xe0 | c >> 12);
		} else {
			text[n++] = (char)(0xf0 | c >> 18);
			text[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		}
		text[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		text[n++] = (char)(0x80 | (c & 0x3f));
	}
	CHECK(pthread_once(&once, make_classes) == 0);
	return regex_full(classes[class], (str){ text, n });
}

/* --- UTF-8 and Punycode (RFC 3492) --- */

bool
idna_read(str s, struct idna_label *out)
{
	out->count = 0;
	if (!str_is_utf8(s))
		return false;
	for (size_t i = 0; i < s.len;) {
		unsigned char first = (unsigned char)s.ptr[i++];
		uint32_t more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
		uint32_t code = more == 0 ? first : first & (0x3fu >> more);
		while (more--)
			code = code << 6 | ((unsigned char)s.ptr[i++] & 0x3f);
		if (out->count == IDNA_LABEL_MAX)
			return false;
		out->codes[out->count++] = code;
	}
	return out->count > 0;
}

enum { BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, FIRST_BIAS = 72, FIRST_CODE = 0x80 };

static uint32_t
adapt(uint32_t delta, uint32_t points, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / DAMP : delta / 2;
	delta += delta / points;
	for (; delta > ((BASE - T_MIN) * T_MAX) / 2; k += BASE)
		delta /= BASE - T_MIN;
	return k + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

static uint32_t
threshold(uint32_t k, uint32_t bias)
{
	if (k <= bias + T_MIN)
		return T_MIN;
	return k >= bias + T_MAX ? T_MAX : k - bias;
}

static uint32_t
digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0') + 26;
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'z' ? (uint32_t)(c - 'a') : BASE;
}

/* One variable-length integer; the labels are so short that 64 bits cannot overflow before the check. */
static bool
take_delta(str *s, uint32_t bias, uint64_t *i)
{
	uint64_t weight = 1;

	for (uint32_t k = BASE;; k += BASE) {
		uint32_t digit = s->len ? digit_value(s->ptr[0]) : BASE, t = threshold(k, bias);
		if (digit == BASE)
			return false;
		*s = str_skip(*s, 1);
		*i += digit * weight;
		if (*i > UINT32_MAX)
			return false;
		if (digit < t)
			return true;
		weight *= BASE - t;
		if (weight > UINT32_MAX)
			return false;
	}
}

bool
idna_decode(str s, struct idna_label *out)
{
	uint32_t n = FIRST_CODE, bias = FIRST_BIAS;
	uint64_t i = 0;
	size_t dash = s.len;

	out->count = 0;
	while (dash && s.ptr[dash - 1] != '-')
		dash--;
	for (size_t j = 0; dash && j < dash - 1; j++) {
		if (out->count == IDNA_LABEL_MAX)
			return false;
		out->codes[out->count++] = (unsigned char)s.ptr[j];
	}
	s = str_skip(s, dash);
	while (s.len) {
		uint64_t before = i;
		uint32_t points = (uint32_t)out->count + 1;
		if (!take_delta(&s, bias, &i) || out->count == IDNA_LABEL_MAX)
			return false;
		bias = adapt((uint32_t)(i - before), points, before == 0);
		if (n + i / points > 0x10ffff)
			return false;
		n += (uint32_t)(i / points);
		i %= points;
		memmove(&out->codes[i + 1], &out->codes[i], (out->count - i) * sizeof(out->codes[0]));
		out->codes[i++] = n;
		out->count++;
	}
	return out->count > 0;
}

static bool
put(char *out, size_t *len, char c)
{
	if (*len == IDNA_LABEL_MAX)
		return false;
	out[(*len)++] = c;
	return true;
}

static bool
put_delta(char *out, size_t *len, uint32_t delta, uint32_t bias)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";

	for (uint32_t k = BASE;; k += BASE) {
		uint32_t t = threshold(k, bias);
		if (delta < t)
			return put(out, len, digits[delta]);
		if (!put(out, len, digits[t + (delta - t) % (BASE - t)]))
			return false;
		delta = (delta - t) / (BASE - t);
	}
}

/* The smallest character that is not below n. */
static uint32_t
next_code(const struct idna_label *l, uint32_t n)
{
	uint32_t least = UINT32_MAX;

	for (size_t i = 0; i < l->count; i++)
		if (l->codes[i] >= n && l->codes[i] < least)
			least = l->codes[i];
	return least;
}

size_t
idna_encode(const struct idna_label *l, char *out)
{
	uint32_t n = FIRST_CODE, delta = 0, bias = FIRST_BIAS, done = 0, basic;
	size_t len = 0;

	for (size_t i = 0; i < l->count; i++)
		if (l->codes[i] < 0x80 && put(out, &len, (char)l->codes[i]))
			done++;
	basic = done;
	if (basic && !put(out, &len, '-'))
		return 0;
	while (done < l->count) {
		uint32_t code = next_code(l, n);
		delta += (code - n) * (done + 1); /* 63 characters below 2^21: fits */
		n = code;
		for (size_t i = 0; i < l->count; i++) {
			delta += l->codes[i] < n;
			if (l->codes[i] != n)
				continue;
			if (!put_delta(out, &len, delta, bias))
				return 0;
			bias = adapt(delta, done + 1, done == basic);
			delta = 0;
			done++;
		}
		delta++;
		n++;
	}
	return len;
}

/* --- which characters (RFC 5892) --- */

static const struct range valid_exceptions[] = {
	{ 0xdf, 0xdf },
	{ 0x3c2, 0x3c2 },
	{ 0x6fd, 0x6fe },
	{ 0xf0b, 0xf0b },
	{ 0x3007, 0x3007 },
};
/* Exceptions, old Hangul, what is ignorable, and blocks whose letters change under NFKC. */
static const struct range refused[] = {
	{ 0x2b0, 0x2b8 },
	{ 0x2e0, 0x2e4 },
	{ 0x34f, 0x34f },
	{ 0x640, 0x640 },
	{ 0x7fa, 0x7fa },
	{ 0x1100, 0x11ff },
	{ 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },
	{ 0x1d2c, 0x1d6a },
	{ 0x1d9b, 0x1dbf },
	{ 0x2071, 0x209c },
	{ 0x2100, 0x214d },
	{ 0x302e, 0x302f },
	{ 0x3031, 0x3035 },
	{ 0x303b, 0x303b },
	{ 0x3131, 0x318e },
	{ 0xa960, 0xa97f },
	{ 0xd7b0, 0xd7ff },
	{ 0xf900, 0xfaff },
	{ 0xfb00, 0xfdff },
	{ 0xfe00, 0xfe0f },
	{ 0xfe70, 0xfeff },
	{ 0xff00, 0xffef },
	{ 0x1d400, 0x1d7ff },
	{ 0x1ee00, 0x1eeff },
	{ 0x2f800, 0x2fa1f },
	{ 0xe0000, 0xe0fff },
};
static const struct range viramas[] = {
	{ 0x94d, 0x94d },
	{ 0x9cd, 0x9cd },
	{ 0xa4d, 0xa4d },
	{ 0xacd, 0xacd },
	{ 0xb4d, 0xb4d },
	{ 0xbcd, 0xbcd },
	{ 0xc4d, 0xc4d },
	{ 0xccd, 0xccd },
	{ 0xd3b, 0xd3c },
	{ 0xd4d, 0xd4d },
	{ 0xdca, 0xdca },
	{ 0xe3a, 0xe3a },
	{ 0xeba, 0xeba },
	{ 0xf84, 0xf84 },
	{ 0x1039, 0x103a },
	{ 0x1714, 0x1714 },
	{ 0x1734, 0x1734 },
	{ 0x17d2, 0x17d2 },
	{ 0x1a60, 0x1a60 },
	{ 0x1b44, 0x1b44 },
	{ 0x1baa, 0x1bab },
	{ 0x1bf2, 0x1bf3 },
	{ 0x2d7f, 0x2d7f },
	{ 0xa806, 0xa806 },
	{ 0xa8c4, 0xa8c4 },
	{ 0xa953, 0xa953 },
	{ 0xa9c0, 0xa9c0 },
	{ 0xaaf6, 0xaaf6 },
	{ 0xabed, 0xabed },
	{ 0x11046, 0x11046 },
	{ 0x110b9, 0x110b9 },
	{ 0x111c0, 0x111c0 },
};
/* Arabic and Syriac letters join on both sides, save these (joining with the one before only, or not at all).
 */
static const struct range joining[] = { { 0x620, 0x64a }, { 0x66e, 0x6d3 }, { 0x710, 0x74f },
	{ 0x750, 0x77f } };
static const struct range right_joining[] = {
	{ 0x622, 0x625 },
	{ 0x627, 0x627 },
	{ 0x629, 0x629 },
	{ 0x62f, 0x632 },
	{ 0x648, 0x648 },
	{ 0x671, 0x673 },
	{ 0x675, 0x677 },
	{ 0x688, 0x699 },
	{ 0x6c0, 0x6c0 },
	{ 0x6c3, 0x6cb },
	{ 0x6cd, 0x6cd },
	{ 0x6cf, 0x6cf },
	{ 0x6d2, 0x6d3 },
	{ 0x710, 0x710 },
	{ 0x715, 0x719 },
	{ 0x71e, 0x71e },
	{ 0x728, 0x728 },
	{ 0x72a, 0x72a },
	{ 0x72c, 0x72c },
	{ 0x72f, 0x72f },
	{ 0x74d, 0x74d },
};

/* A zero width non-joiner between letters that would join (RFC 5892, A.1). */
static bool
stands_between_joined(const struct idna_label *l, size_t i)
{
	size_t before = i, after = i + 1;

	while (before && is(l->codes[before - 1], CLASS_TRANSPARENT))
		before--;
	while (after < l->count && is(l->codes[after], CLASS_TRANSPARENT))
		after++;
	if (!before || after == l->count)
		return false;
	return IN(l->codes[before - 1], joining) && !IN(l->codes[before - 1], right_joining) &&
	       l->codes[before - 1] != 0x621 && IN(l->codes[after], joining) && l->codes[after] != 0x621;
}

static bool
has_class(const struct idna_label *l, enum class class)
{
	for (size_t i = 0; i < l->count; i++)
		if (is(l->codes[i], class) && l->codes[i] != 0x30fb)
			return true;
	return false;
}

static bool
has_range(const struct idna_label *l, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->codes[i] >= from && l->codes[i] <= to)
			return true;
	return false;
}

/* Characters that are right only in a context (RFC 5892, appendix A). */
static bool
is_valid_at(const struct idna_label *l, size_t i)
{
	uint32_t c = l->codes[i];
	uint32_t before = i ? l->codes[i - 1] : 0, after = i + 1 < l->count ? l->codes[i + 1] : 0;

	switch (c) {
	case 0x200c:
		return IN(before, viramas) || stands_between_joined(l, i);
	case 0x200d:
		return IN(before, viramas);
	case 0xb7:
		return before == 'l' && after == 'l';
	case 0x375:
		return after && is(after, CLASS_GREEK);
	case 0x5f3:
	case 0x5f4:
		return before && is(before, CLASS_HEBREW);
	case 0x30fb:
		return has_class(l, CLASS_JAPANESE);
	default:
		break;
	}
	if (c >= 0x660 && c <= 0x669)
		return !has_range(l, 0x6f0, 0x6f9);
	if (c < 0x80)
		return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
	return IN(c, valid_exceptions) || (!IN(c, refused) && is(c, CLASS_LETTER));
}

bool
idna_is_valid(const struct idna_label *l)
{
	if (l->codes[0] == '-' || l->codes[l->count - 1] == '-' || is(l->codes[0], CLASS_MARK))
		return false;
	if (l->count > 3 && l->codes[2] == '-' && l->codes[3] == '-')
		return false;
	for (size_t i = 0; i < l->count; i++)
		if (!is_valid_at(l, i))
			return false;
	return true;
}

/* --- direction (RFC 5893) --- */

enum direction { DIRECTION_L, DIRECTION_R, DIRECTION_AN, DIRECTION_EN, DIRECTION_NSM, DIRECTION_OTHER };

static enum direction
direction(uint32_t c)
{
	static const struct range right[] = { { 0x590, 0x8ff }, { 0xfb1d, 0xfdff }, { 0xfe70, 0xfeff },
		{ 0x10800, 0x10fff }, { 0x1e800, 0x1efff } };

	if ((c >= '0' && c <= '9') || (c >= 0x6f0 && c <= 0x6f9))
		return DIRECTION_EN;
	if (c >= 0x660 && c <= 0x669)
		return DIRECTION_AN;
	if (c == '-' || c == 0xb7 || c == 0x375 || c == 0x30fb || c == 0x200c || c == 0x200d)
		return DIRECTION_OTHER;
	if (c >= 0x80 && is(c, CLASS_TRANSPARENT))
		return DIRECTION_NSM;
	return IN(c, right) ? DIRECTION_R : DIRECTION_L;
}

bool
idna_is_rtl(const struct idna_label *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (direction(l->codes[i]) == DIRECTION_R || direction(l->codes[i]) == DIRECTION_AN)
			return true;
	return false;
}

bool
idna_is_bidi(const struct idna_label *l)
{
	bool has[DIRECTION_OTHER + 1] = { false };
	enum direction first = direction(l->codes[0]), last = first;

	if (first != DIRECTION_L && first != DIRECTION_R)
		return false;
	for (size_t i = 0; i < l->count; i++) {
		enum direction d = direction(l->codes[i]);
		has[d] = true;
		last = d == DIRECTION_NSM ? last : d;
	}
	if (first == DIRECTION_L)
		return !has[DIRECTION_R] && !has[DIRECTION_AN] &&
		       (last == DIRECTION_L || last == DIRECTION_EN);
	return !has[DIRECTION_L] && last != DIRECTION_OTHER && !(has[DIRECTION_EN] && has[DIRECTION_AN]);
}
