/* SPDX-License-Identifier: Apache-2.0 */
#include "core/card/visible.h"

#include "base/buf.h"
#include "base/limits.h"
#include "core/card/alike.h"

#define BLANK_LINES 20u
#define SPACES	    200u
#define MARKS	    4u /* on one letter (UTS 39): Vietnamese has two, Hebrew with all its points three */

static const char *const sentences[] = {
	"contains control or invisible characters, shown as \\u{\u2026}",
	"contains characters that change the reading order, shown as \\u{\u2026}",
	"contains characters without width, shown as \\u{\u2026}",
	"has a word that mixes scripts which look alike",
	"has long stretches of nothing that could hide a part",
	"has letters, digits or signs that are taken for others",
	"has marks drawn through letters or heaped on them, shown as \\u{\u2026}",
};

static const unsigned what_hides[] = { 0, VISIBLE_CONTROL, VISIBLE_BIDI, VISIBLE_ZERO_WIDTH };

/* What has been seen up to here. */
struct reading {
	struct looks_char last; /* but variation selectors */
	struct looks_char base; /* but marks, too */
	bool selected;		/* a variation selector was the very last */
	unsigned found;
	size_t marks, blank_lines, spaces;
};

/* --- what is invisible and yet as it should be --- */

static bool
is_selector(uint32_t c)
{
	return c == 0xfe0e || c == 0xfe0f;
}

/* "1", "#" or "*", which become a key with what follows. */
static bool
is_key(uint32_t c)
{
	return (c >= '0' && c <= '9') || c == '#' || c == '*';
}

/* Does the letter belong to a script in which letters change their form when they touch? */
static bool
is_other_letter(const struct looks_char *c)
{
	return (c->look & LOOKS_LETTER) && LOOKS_SCRIPT(c->look) >= LOOKS_FIRST_OTHER;
}

/* RFC 5892, A.1: behind a virama, or where two Arabic letters would otherwise be drawn as one. */
static bool
parts_letters(const struct reading *r, const struct looks_char *next)
{
	if (r->last.look & LOOKS_VIRAMA)
		return is_other_letter(&r->base);
	return is_other_letter(&r->base) && is_other_letter(next) && (r->base.look & LOOKS_JOINS_NEXT) &&
	       (next->look & LOOKS_JOINS_LAST);
}

/* RFC 5892, A.2, and the sequences of emoji. */
static bool
joins_letters(const struct reading *r, const struct looks_char *next)
{
	if (r->last.look & LOOKS_PICTURE)
		return (next->look & LOOKS_PICTURE) != 0;
	return is_other_letter(&r->base) && ((r->last.look | next->look) & LOOKS_VIRAMA);
}

static bool
is_ordinary(const struct reading *r, uint32_t c, const struct looks_char *next)
{
	if (r->selected)
		return c == 0x200d && joins_letters(r, next);
	if (is_selector(c))
		return (r->last.look & LOOKS_EMOJI) || (is_key(r->last.c) && next->c == 0x20e3);
	return c == 0x200c ? parts_letters(r, next) : c == 0x200d && joins_letters(r, next);
}

/* --- marks --- */

/* A dot on a letter that has one cannot be seen. */
static bool
is_second_dot(const struct reading *r, uint32_t c)
{
	uint32_t base = r->base.c;

	return c == 0x307 && (base == 'i' || base == 'j' || base == 0x131 || base == 0x456 || base == 0x458);
}

/* Does the mark change what the letter is taken for, or hide what stands around it? */
static bool
overloads(const struct reading *r, const struct looks_char *c)
{
	if (!(c->look & LOOKS_MARK))
		return false;
	if (c->look & LOOKS_OVERLAY)
		return !(c->c == 0x20e3 && is_key(r->last.c));
	return r->marks >= MARKS || r->last.c == c->c || is_second_dot(r, c->c);
}

/* --- one character --- */

/* The bit of a character that is not shown as it is; 0: it is. */
static unsigned
hides(const struct reading *r, const struct looks_char *c, const struct looks_char *next, bool one_line)
{
	unsigned hidden = LOOKS_HIDES(c->look);

	if (hidden && !is_ordinary(r, c->c, next))
		return what_hides[hidden];
	if (one_line && (c->c == '\n' || c->c == '\t'))
		return VISIBLE_CONTROL;
	return overloads(r, c) ? VISIBLE_MARKS : 0;
}

static void
measure(struct reading *r, const struct looks_char *c)
{
	if (c->c == '\n') {
		r->blank_lines++;
		r->spaces = 0;
	} else if (c->c == '\t' || (c->look & LOOKS_BLANK)) {
		r->spaces++;
	} else {
		r->blank_lines = r->spaces = 0;
	}
	if (r->blank_lines > BLANK_LINES || r->spaces > SPACES)
		r->found |= VISIBLE_PADDING;
}

static void
pass(struct reading *r, const struct looks_char *c)
{
	measure(r, c);
	r->selected = is_selector(c->c);
	if (r->selected)
		return;
	r->last = *c;
	r->marks = c->look & LOOKS_MARK ? r->marks + 1 : 0;
	if (!(c->look & LOOKS_MARK))
		r->base = *c;
}

/* --- a text --- */

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

/* Everything about the text but what its document shows. */
static void
show_each(struct buf *b, str text, bool one_line, struct reading *r)
{
	struct looks_char c, next = { 0 };
	size_t from = 0; /* what is shown as it is goes out in one piece */

	for (size_t at = 0; at < text.len; at = looks_after(&c, at)) {
		unsigned what;

		c = at ? next : looks_at(text, at);
		next = (struct looks_char){ 0 };
		if (looks_after(&c, at) < text.len)
			next = looks_at(text, looks_after(&c, at));
		what = hides(r, &c, &next, one_line);
		if (what) {
			buf_add(b, (str){ text.ptr + from, at - from });
			buf_printf(b, "\\u{%04X}", c.c);
			from = looks_after(&c, at);
		}
		r->found |= what;
		pass(r, &c);
	}
	buf_add(b, str_skip(text, from));
}

static unsigned
bits_of(unsigned alike)
{
	return (alike & ALIKE_MIXED ? VISIBLE_MIXED : 0u) | (alike & ALIKE_READS ? VISIBLE_ALIKE : 0u);
}

static bool
has_letter(str text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((text.ptr[i] | ' ') >= 'a' && (text.ptr[i] | ' ') <= 'z')
			return true;
	return false;
}

static str
show(struct arena *a, str text, bool one_line, struct alike_document *d, unsigned *found)
{
	struct reading r = { 0 };
	struct buf b;
	str out;

	if (is_plain(text)) {
		d->latin = d->latin || has_letter(text);
		return text;
	}
	buf_init(&b, a, LIMIT_JSON_BYTES);
	show_each(&b, text, one_line, &r);
	*found |= r.found | bits_of(alike_read(text, d));
	/* what does not fit is not shown in part: the size is */
	if (buf_finish(&b, &out) != OK)
		out = arena_printf(a, "(%zu bytes: too long to show)", text.len);
	return out;
}

str
visible_text(struct arena *a, str text, unsigned *found)
{
	struct alike_document d = { 0 };

	return show(a, text, false, &d, found);
}

str
visible_line(struct arena *a, str text, unsigned *found)
{
	struct alike_document d = { 0 };

	return show(a, text, true, &d, found);
}

/* --- a document --- */

/* Names of members are among names: a document in any language has them in Latin. */
struct showing {
	struct arena *a;
	struct alike_document names, values;
	unsigned found;
};

static struct json *
show_json(struct showing *s, const struct json *doc)
{
	struct json *copy = json_share(s->a, doc);
	struct json **tail = &copy->child;

	if (doc->type == JSON_STRING)
		copy->text = show(s->a, doc->text, false, &s->values, &s->found);
	copy->child = NULL;
	JSON_EACH (child, doc) {
		struct json *seen = show_json(s, child);

		if (doc->type == JSON_OBJECT)
			seen->key = show(s->a, child->key, false, &s->names, &s->found);
		*tail = seen;
		tail = &seen->next;
	}
	return copy;
}

struct json *
visible_json(struct arena *a, const struct json *doc, unsigned *found)
{
	struct showing s = { .a = a };
	struct json *shown = show_json(&s, doc);

	*found |= s.found | bits_of(alike_judge(&s.names) | alike_judge(&s.values));
	return shown;
}

const char *
visible_sentence(unsigned bit)
{
	return bit < sizeof(sentences) / sizeof(sentences[0]) ? sentences[bit] : NULL;
}
