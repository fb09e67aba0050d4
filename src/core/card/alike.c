/* SPDX-License-Identifier: Apache-2.0 */
#include "core/card/alike.h"

#include <string.h>

#define PARTS 12u /* of one word; one that mixes scripts more often than that deceives in any case */

/* How a part of a word hangs on the one before it. */
enum tie {
	TIE_NONE,
	TIE_SOFT,  /* a hyphen or an apostrophe: "API-сервер" is an ordinary word */
	TIE_HARD,  /* a dot, @ or _: a name or an address */
	TIE_TOUCH, /* nothing, or digits */
};

/* Letters of one script. */
struct part {
	uint8_t script;
	uint8_t before; /* enum tie */
	uint32_t letters;
	bool like;	   /* each is taken for a letter or digit of ASCII */
	bool upper;	   /* none is small */
	bool digits;	   /* each is taken for a digit */
	bool round;	   /* ... and one of them for a 0 or a 1 */
	bool after_digit;  /* a digit stands before it ... */
	bool before_digit; /* ... or after it */
};

struct word {
	size_t count;
	uint32_t zero;		  /* of its digits; 0: there are none */
	bool digit_last;	  /* what was read last is a digit */
	bool digit_reads;	  /* ... of another script, and is taken for a letter */
	bool digits_mix;	  /* it has digits of two kinds */
	bool stands_in;		  /* it has a sign that is taken for a letter: "pa∪pal" */
	bool latin;		  /* it has a part in Latin */
	bool odd;		  /* it has what is taken for a Latin letter and is in no alphabet */
	bool imitation;		  /* it has full-width or mathematical letters */
	bool full, begun;	  /* it has more parts than PARTS; something of it has been read */
	struct part parts[PARTS]; /* as many as there are; next_word leaves the rest as it was */
};

/* Of a line or a text: how many words there are. */
struct facts {
	uint32_t latin, clear[LOOKS_SCRIPTS];
};

/* --- scripts --- */

static bool
in_family(unsigned script)
{
	return script >= LOOKS_LATIN && script <= LOOKS_RARE;
}

static bool
is_sign(char like)
{
	return like && !((like >= '0' && like <= '9') || (like >= 'A' && like <= 'Z') ||
			       (like >= 'a' && like <= 'z'));
}

static bool
reads_as_digit(char like)
{
	return like == 'O' || like == 'o' || like == 'l' || (like >= '2' && like <= '9');
}

/* --- words --- */

static enum tie
tie_of(uint32_t c)
{
	if (c == '.' || c == '@' || c == '_')
		return TIE_HARD;
	return c == '-' || c == '\'' || c == 0x2019 || c == 0x2010 || c == 0x2011 || c == 0x2bc ? TIE_SOFT
												: TIE_NONE;
}

static bool
is_odd(const struct looks_char *c)
{
	char like = LOOKS_LIKE(c->look);

	if (LOOKS_SCRIPT(c->look) > LOOKS_LATIN || !like || (c->c < 0x180 && c->c != 0x17f))
		return false;
	return is_sign(like) || (c->look & LOOKS_RESTRICTED);
}

/* A sign or a number, not a letter: in mathematics it stands alone, or between single letters. */
static bool
is_stand_in(const struct looks_char *c)
{
	char like = LOOKS_LIKE(c->look);

	return c->c >= 0x180 && like && !is_sign(like) && !(c->look & LOOKS_PICTURE);
}

/* The part that a letter of the script goes on with, or a new one; NULL: there is no room. */
static struct part *
part_for(struct word *w, unsigned script, enum tie tie)
{
	struct part *last = w->count ? &w->parts[w->count - 1] : NULL;
	bool joined = tie != TIE_HARD || script == LOOKS_LATIN;

	if (last && last->script == script && joined)
		return last;
	if (w->count == PARTS)
		return NULL;
	last = &w->parts[w->count++];
	*last = (struct part){ .script = (uint8_t)script,
		.before = (uint8_t)(w->count > 1 ? tie : TIE_NONE),
		.like = true,
		.upper = true,
		.digits = true };
	return last;
}

static void
add_letter(struct word *w, const struct looks_char *c, enum tie tie)
{
	unsigned script = LOOKS_SCRIPT(c->look);
	char like = LOOKS_LIKE(c->look);
	struct part *p;

	w->imitation = w->imitation || (c->look & LOOKS_IMITATION);
	w->odd = w->odd || is_odd(c);
	if (script == LOOKS_NO_SCRIPT || is_odd(c))
		return;
	p = part_for(w, script, tie);
	w->full = w->full || !p;
	if (!p)
		return;
	w->odd = w->odd || (w->latin && script == LOOKS_LATIN && w->digit_last && w->digit_reads);
	w->latin = w->latin || script == LOOKS_LATIN;
	p->letters++;
	p->like = p->like && like && !is_sign(like);
	p->upper = p->upper && (c->look & LOOKS_UPPER);
	p->digits = p->digits && reads_as_digit(like);
	p->round = p->round || like == 'O' || like == 'l';
	p->after_digit = p->after_digit || w->digit_last;
	w->digit_last = false;
}

static void
add_digit(struct word *w, const struct looks_char *c)
{
	uint32_t zero = c->c - LOOKS_DIGIT(c->look);

	w->digits_mix = w->digits_mix || (w->zero && w->zero != zero);
	w->zero = zero;
	w->digit_reads = zero != '0' && LOOKS_LIKE(c->look);
	w->digit_last = true;
	w->imitation = w->imitation || (c->look & LOOKS_IMITATION);
	if (w->count)
		w->parts[w->count - 1].before_digit = true;
}

/* Adds a character. False: it does not belong to the word. */
static bool
take(struct word *w, const struct looks_char *c, enum tie *tie)
{
	enum tie now = tie_of(c->c);

	if (c->look & (LOOKS_LETTER | LOOKS_IS_DIGIT)) {
		if (c->look & LOOKS_LETTER)
			add_letter(w, c, *tie);
		else
			add_digit(w, c);
		*tie = TIE_TOUCH;
		w->begun = true;
	} else if (now != TIE_NONE) {
		*tie = *tie == TIE_TOUCH || now > *tie ? now : *tie;
		w->digit_last = false;
	} else if (is_stand_in(c)) {
		w->stands_in = true;
		*tie = TIE_TOUCH;
	} else if (!(c->look & LOOKS_MARK) && !LOOKS_HIDES(c->look)) {
		return false;
	}
	return true;
}

/* The next word of the line, from *at on. False: there is none. */
static bool
next_word(str line, size_t *at, struct word *w)
{
	enum tie tie = TIE_TOUCH;

	memset(w, 0, offsetof(struct word, parts));
	while (*at < line.len) {
		struct looks_char c = looks_at(line, *at);

		*at = looks_after(&c, *at);
		if (take(w, &c, &tie))
			continue;
		if (w->begun)
			return true;
		tie = TIE_TOUCH;
	}
	return w->begun;
}

/* --- what a line has --- */

static void
count_word(const struct word *w, struct facts *f)
{
	f->latin += w->latin;
	for (size_t i = 0; i < w->count; i++)
		f->clear[w->parts[i].script] += !w->parts[i].like;
}

static struct facts
facts_of(str text)
{
	struct facts f = { 0 };
	struct word w;
	size_t at = 0;

	while (next_word(text, &at, &w))
		count_word(&w, &f);
	return f;
}

/* --- one word --- */

/* "μs", "kΩ": a unit or a constant of science. */
static bool
is_symbol(const struct part *p)
{
	return p->script == LOOKS_GREEK && p->letters == 1 && !p->like;
}

static bool
clash(const struct part *a, const struct part *b)
{
	if (b->before != TIE_TOUCH || a->script == b->script || !in_family(a->script) ||
		!in_family(b->script))
		return false;
	return !((is_symbol(a) && b->script == LOOKS_LATIN) || (is_symbol(b) && a->script == LOOKS_LATIN));
}

static bool
touches_latin(const struct word *w, size_t i, size_t *out_sides)
{
	const struct part *p = &w->parts[i]; /* the first one hangs on nothing */
	bool left = p->before == TIE_TOUCH && p[-1].script == LOOKS_LATIN;
	bool right = i + 1 < w->count && w->parts[i + 1].before == TIE_TOUCH &&
		     w->parts[i + 1].script == LOOKS_LATIN;

	*out_sides = (size_t)left + (size_t)right;
	return *out_sides > 0;
}

static bool
has_tie(const struct word *w, size_t i, enum tie tie)
{
	return w->parts[i].before == tie || (i + 1 < w->count && w->parts[i + 1].before == tie);
}

/* A part that reads as Latin, in a word with Latin. */
static bool
part_deceives(const struct word *w, size_t i, const struct facts *line)
{
	const struct part *p = &w->parts[i];
	bool at_home = line->clear[p->script] > 0;
	size_t sides;

	if (has_tie(w, i, TIE_HARD))
		return true;
	if (touches_latin(w, i, &sides))
		return sides == 2 || !at_home;
	return !(at_home && (!in_family(p->script) || (p->upper && p->letters > 1)));
}

/* "1ОО": letters of another script among digits that read as digits. A small "о" behind a number may be an ordinal, and a
 * letter that is taken for another digit belongs to a house's number, where the line is in that script. */
static bool
digits_deceive(const struct part *p, const struct facts *line)
{
	bool firm = in_family(p->script) && (p->letters > 1 || p->round || p->before_digit);

	if (!p->digits || p->script == LOOKS_LATIN || !(p->after_digit || p->before_digit))
		return false;
	if (firm)
		return true;
	return p->script != LOOKS_GREEK && line->clear[p->script] == 0;
}

/* The script that all of a word is in; LOOKS_NO_SCRIPT: there is none. */
static unsigned
script_of(const struct word *w)
{
	for (size_t i = 1; i < w->count; i++)
		if (w->parts[i].script != w->parts[0].script)
			return LOOKS_NO_SCRIPT;
	return w->count ? w->parts[0].script : LOOKS_NO_SCRIPT;
}

static size_t
latin_letters(const struct word *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->count; i++)
		n += w->parts[i].script == LOOKS_LATIN ? w->parts[i].letters : 0;
	return n;
}

static unsigned
judge_word(const struct word *w, const struct facts *line)
{
	unsigned found = 0;

	if (w->imitation || (w->full && script_of(w) == LOOKS_NO_SCRIPT) || (w->odd && w->latin))
		found |= ALIKE_MIXED;
	if (w->stands_in && latin_letters(w) > 2)
		found |= ALIKE_READS;
	if (w->digits_mix)
		found |= ALIKE_READS;
	for (size_t i = 0; i < w->count; i++) {
		const struct part *p = &w->parts[i];

		if (i > 0 && clash(p - 1, p))
			found |= ALIKE_MIXED;
		if (p->script == LOOKS_LATIN || !p->like)
			continue;
		if (w->latin && part_deceives(w, i, line))
			found |= ALIKE_MIXED;
		if (digits_deceive(p, line))
			found |= ALIKE_READS;
	}
	return found;
}

/* --- words in a row of one script --- */

struct row {
	unsigned script; /* LOOKS_NO_SCRIPT: none is being read */
	size_t letters;
	bool clear, upper;
};

struct scene {
	const struct facts *line, *text;
	struct alike_document *document;
};

/* One letter may be a word, a bullet or a symbol: it deceives only where nothing else is in its script. */
static unsigned
judge_letter(const struct row *r, const struct scene *s)
{
	if (!in_family(r->script) || (r->script == LOOKS_GREEK && !r->upper) || !s->text->latin)
		return 0;
	return s->text->clear[r->script] ? 0 : ALIKE_READS;
}

/* Every word of it reads as Latin. In a line with words that do not, it is one of them: as long as these are not a few
 * among many Latin ones. */
static unsigned
judge_row(const struct row *r, const struct scene *s)
{
	const struct facts *line = s->line, *text = s->text;

	if (r->script <= LOOKS_LATIN || r->clear)
		return 0;
	if (r->script == LOOKS_RARE)
		return line->clear[LOOKS_RARE] ? 0 : ALIKE_READS;
	if (r->letters == 1)
		return judge_letter(r, s);
	if (line->latin)
		return line->clear[r->script] * 2 >= line->latin ? 0 : ALIKE_READS;
	if (text->clear[r->script])
		return 0;
	if (text->latin)
		return ALIKE_READS;
	s->document->suspect |= UINT64_C(1) << r->script;
	return 0;
}

static unsigned
read_row(struct row *r, const struct word *w, const struct scene *s)
{
	unsigned script = script_of(w), found = 0;

	if (!w->count)
		return 0; /* a number stands between words of one script, too */
	if (script != r->script) {
		found = judge_row(r, s);
		*r = (struct row){ .script = script, .upper = true };
	}
	for (size_t i = 0; i < w->count; i++) {
		r->letters += w->parts[i].letters;
		r->clear = r->clear || !w->parts[i].like;
		r->upper = r->upper && w->parts[i].upper;
	}
	return found;
}

/* --- signs --- */

static bool
is_ascii_word(uint32_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool
is_number(uint32_t c)
{
	return c >= '0' && c <= '9';
}

static bool
belongs(const struct looks_char *c)
{
	return is_ascii_word(c->c) || ((c->look & LOOKS_LETTER) && in_family(LOOKS_SCRIPT(c->look)));
}

/* A sign that is taken for one of an address, between the parts of one: "good.example⁄evil". A fraction is none, nor is
 * the end of a sentence in Chinese or Japanese. */
static bool
moves_end(
	const struct looks_char *before, const struct looks_char *c, const struct looks_char *after, bool cjk)
{
	char like = LOOKS_LIKE(c->look);
	bool ordinary = cjk && after->c >= 'A' && after->c <= 'Z';

	if (c->c < 0x80 || !is_sign(like) || !belongs(before) || !belongs(after))
		return false;
	if (!is_ascii_word(before->c) && !is_ascii_word(after->c))
		return false;
	return !ordinary && !(is_number(before->c) && is_number(after->c) && like != '.');
}

static unsigned
read_signs(str line, bool cjk)
{
	struct looks_char before = { 0 }, c = { 0 }, after;

	for (size_t at = 0; at < line.len;) {
		after = looks_at(line, at);
		at = looks_after(&after, at);
		if (LOOKS_HIDES(after.look) || (after.look & LOOKS_MARK))
			continue;
		if (moves_end(&before, &c, &after, cjk))
			return ALIKE_READS;
		before = c;
		c = after;
	}
	return 0;
}

/* --- a line, a text, a document --- */

static bool
is_ascii(str text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] > 0x7f)
			return false;
	return true;
}

static unsigned
read_line(str line, const struct facts *facts, const struct facts *text, struct alike_document *d)
{
	struct scene s = { .line = facts, .text = text, .document = d };
	struct row row = { 0 };
	unsigned found = read_signs(line, facts->clear[LOOKS_CJK] > 0);
	struct word w;
	size_t at = 0;

	while (next_word(line, &at, &w))
		found |= judge_word(&w, facts) | read_row(&row, &w, &s);
	return found | judge_row(&row, &s);
}

static unsigned
read_lines(str text, const struct facts *facts, struct alike_document *d)
{
	unsigned found = 0;
	str line, rest = text;

	if (str_find(text, '\n') == text.len)
		return read_line(text, facts, facts, d);
	while (rest.len) {
		size_t end = str_find(rest, '\n');

		line = (str){ rest.ptr, end };
		rest = str_skip(rest, end < rest.len ? end + 1 : end);
		if (!is_ascii(line)) {
			struct facts own = facts_of(line);

			found |= read_line(line, &own, facts, d);
		}
	}
	return found;
}

unsigned
alike_read(str text, struct alike_document *d)
{
	struct facts facts = facts_of(text);

	d->latin = d->latin || facts.latin;
	for (unsigned script = 0; script < LOOKS_SCRIPTS; script++)
		d->clear |= (uint64_t)(facts.clear[script] > 0) << script;
	return is_ascii(text) ? 0 : read_lines(text, &facts, d);
}

unsigned
alike_judge(const struct alike_document *d)
{
	return d->latin && (d->suspect & ~d->clear) ? ALIKE_READS : 0;
}
