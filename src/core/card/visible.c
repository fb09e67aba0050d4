/* SPDX-License-Identifier: Apache-2.0 */
#include "core/card/visible.h"

#include "base/buf.h"
#include "base/limits.h"

#define BLANK_LINES 20u
#define SPACES	    200u

static const char *const sentences[] = {
	"contains control or invisible characters, shown as \\u{\u2026}",
	"contains characters that change the reading order, shown as \\u{\u2026}",
	"contains characters without width, shown as \\u{\u2026}",
	"has a word that mixes scripts which look alike",
	"has long stretches of nothing that could hide a part",
};

/* Ranges that are not shown as they are, in order (reference: Unicode general categories Cc, Cf, Zl, Zp, Co
 * and what renders as nothing). */
static const struct {
	uint32_t from, to;
	enum visible_found what;
} hidden[] = {
	{ 0x0000, 0x0008, VISIBLE_CONTROL },
	{ 0x000b, 0x001f, VISIBLE_CONTROL },
	{ 0x007f, 0x009f, VISIBLE_CONTROL },
	{ 0x00ad, 0x00ad, VISIBLE_ZERO_WIDTH },
	{ 0x034f, 0x034f, VISIBLE_ZERO_WIDTH },
	{ 0x061c, 0x061c, VISIBLE_BIDI },
	{ 0x115f, 0x1160, VISIBLE_ZERO_WIDTH },
	{ 0x17b4, 0x17b5, VISIBLE_ZERO_WIDTH },
	{ 0x180b, 0x180f, VISIBLE_ZERO_WIDTH },
	{ 0x200b, 0x200d, VISIBLE_ZERO_WIDTH },
	{ 0x200e, 0x200f, VISIBLE_BIDI },
	{ 0x2028, 0x2029, VISIBLE_CONTROL },
	{ 0x202a, 0x202e, VISIBLE_BIDI },
	{ 0x2060, 0x2065, VISIBLE_ZERO_WIDTH },
	{ 0x2066, 0x2069, VISIBLE_BIDI },
	{ 0x206a, 0x206f, VISIBLE_CONTROL },
	{ 0x2800, 0x2800, VISIBLE_ZERO_WIDTH },
	{ 0x3164, 0x3164, VISIBLE_ZERO_WIDTH },
	{ 0xe000, 0xf8ff, VISIBLE_CONTROL },
	{ 0xfe00, 0xfe0f, VISIBLE_ZERO_WIDTH },
	{ 0xfeff, 0xfeff, VISIBLE_ZERO_WIDTH },
	{ 0xffa0, 0xffa0, VISIBLE_ZERO_WIDTH },
	{ 0xfff0, 0xfffc, VISIBLE_CONTROL },
	{ 0xfffe, 0xffff, VISIBLE_CONTROL },
	{ 0x1bca0, 0x1bca3, VISIBLE_ZERO_WIDTH },
	{ 0x1d173, 0x1d17a, VISIBLE_ZERO_WIDTH },
	{ 0xe0000, 0xe0fff, VISIBLE_CONTROL },
	{ 0xf0000, 0x10ffff, VISIBLE_CONTROL },
};

static unsigned
hides(uint32_t c)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]) && c >= hidden[i].from; i++)
		if (c <= hidden[i].to)
			return (unsigned)hidden[i].what;
	return 0;
}

#define IMITATION 8u /* full-width and mathematical letters: nobody types them, they imitate */

/* Scripts whose letters are taken for each other's; 0: no letter of theirs. */
static unsigned
script(uint32_t c)
{
	if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= 0xc0 && c <= 0x24f))
		return 1;
	if ((c >= 0x370 && c <= 0x3ff) || (c >= 0x1f00 && c <= 0x1fff))
		return 2;
	if (c >= 0x400 && c <= 0x52f)
		return 4;
	if ((c >= 0xff21 && c <= 0xff3a) || (c >= 0xff41 && c <= 0xff5a) || (c >= 0x1d400 && c <= 0x1d7ff))
		return IMITATION;
	if ((c >= 0x250 && c <= 0x2af) || (c >= 0x1d00 && c <= 0x1dbf)) /* phonetic */
		return 64;
	if (c >= 0x530 && c <= 0x58f) /* Armenian */
		return 16;
	if ((c >= 0x13a0 && c <= 0x13ff) || (c >= 0xab70 && c <= 0xabbf)) /* Cherokee */
		return 32;
	return 0;
}

/* Taken for the dot, slash or colon of an address: they move its end. */
static bool
imitates(uint32_t c)
{
	return c == 0x2024 || c == 0x2044 || c == 0x2215 || c == 0x29f8 || c == 0xa789 || c == 0xfe52;
}

/* What a word may have inside without ending: digits, joints, marks that sit on a letter, and what holds the parts
 * of an address together: a name all in one script is another's when its end is in ours. */
static bool
joins(uint32_t c)
{
	return (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '@' || c == '\'' ||
	       c == 0x2019 || (c >= 0x300 && c <= 0x36f) || (c >= 0x483 && c <= 0x489) ||
	       (c >= 0x1ab0 && c <= 0x1aff) || (c >= 0x1dc0 && c <= 0x1dff) || (c >= 0x20d0 && c <= 0x20ff) ||
	       (c >= 0xfe20 && c <= 0xfe2f);
}

/* The character at p (valid UTF-8 of n bytes). */
static uint32_t
decode(const unsigned char *p, size_t n)
{
	uint32_t c = n == 1 ? p[0] : p[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

/* What has been seen of the current word, line and gap. */
struct reading {
	unsigned scripts, found;
	size_t blank_lines, spaces;
};

static void
watch(struct reading *r, uint32_t c)
{
	unsigned s = script(c), before = r->scripts;

	if (s)
		r->scripts |= s;
	else if (!joins(c) && !hides(c))
		r->scripts = 0;
	if ((r->scripts & (r->scripts - 1)) || s == IMITATION || (imitates(c) && before))
		r->found |= VISIBLE_MIXED;
	if (c == '\n') {
		r->blank_lines++;
		r->spaces = 0;
	} else if (c == ' ' || c == '\t' || c == 0xa0 || (c >= 0x2000 && c <= 0x200a) || c == 0x3000) {
		r->spaces++;
	} else {
		r->blank_lines = r->spaces = 0;
	}
	if (r->blank_lines > BLANK_LINES || r->spaces > SPACES)
		r->found |= VISIBLE_PADDING;
}

/* Most text is: printable ASCII in one script, without long gaps. Then it is shown as it is. */
static bool
is_plain(str text)
{
	size_t spaces = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		spaces = c == ' ' ? spaces + 1 : 0;
		if (c < ' ' || c > '~' || spaces > SPACES)
			return false;
	}
	return text.len <= LIMIT_JSON_BYTES;
}

static str
show(struct arena *a, str text, bool one_line, unsigned *found)
{
	struct reading r = { 0 };
	struct buf b;
	str out;

	if (is_plain(text))
		return text;
	buf_init(&b, a, LIMIT_JSON_BYTES);
	for (size_t i = 0; i < text.len;) {
		size_t n = str_utf8_sequence(str_skip(text, i));
		uint32_t c = n ? decode((const unsigned char *)text.ptr + i, n) : 0xfffd;
		unsigned what = n ? hides(c) : VISIBLE_CONTROL;

		if (one_line && (c == '\n' || c == '\t'))
			what = VISIBLE_CONTROL;
		if (what)
			buf_printf(&b, "\\u{%04X}", n ? c : (unsigned char)text.ptr[i]);
		else
			buf_add(&b, (str){ text.ptr + i, n });
		r.found |= what;
		watch(&r, c);
		i += n ? n : 1;
	}
	*found |= r.found;
	/* what does not fit is not shown in part: the size is */
	if (buf_finish(&b, &out) != OK)
		out = arena_printf(a, "(%zu bytes: too long to show)", text.len);
	return out;
}

str
visible_text(struct arena *a, str text, unsigned *found)
{
	return show(a, text, false, found);
}

str
visible_line(struct arena *a, str text, unsigned *found)
{
	return show(a, text, true, found);
}

struct json *
visible_json(struct arena *a, const struct json *doc, unsigned *found)
{
	struct json *copy = json_share(a, doc);
	struct json **tail = &copy->child;

	if (doc->type == JSON_STRING)
		copy->text = visible_text(a, doc->text, found);
	copy->child = NULL;
	JSON_EACH (child, doc) {
		struct json *seen = visible_json(a, child, found);

		if (doc->type == JSON_OBJECT)
			seen->key = visible_text(a, child->key, found);
		*tail = seen;
		tail = &seen->next;
	}
	return copy;
}

const char *
visible_sentence(unsigned bit)
{
	return bit < sizeof(sentences) / sizeof(sentences[0]) ? sentences[bit] : NULL;
}
