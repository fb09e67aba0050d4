/* SPDX-License-Identifier: Apache-2.0 */
#include "json/ecma.h"

#include "base/buf.h"
#include "base/limits.h"

struct ecma {
	struct ctx *cx;
	str src;
	size_t at;
	struct buf out;
	size_t depth;	 /* groups that are open */
	bool repeatable; /* may a quantifier stand here? */
	const char *lacking;
};

/* One piece of a class: a character, or a set as it stands between brackets in RE2. */
struct piece {
	const char *set; /* NULL: code is the character */
	uint32_t code;
};

/* White space and line ends as ECMA-262 lists them, and everything else. */
#define SPACES                                                                                               \
	"\\t-\\r\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"     \
	"\\x{feff}"
#define NOT_SPACES                                                                                           \
	"\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}"  \
	"\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"

/* Categories by their long names; by their short ones (one letter, or two) RE2 knows them itself. */
static const char *const categories[][2] = { { "Letter", "L" }, { "Uppercase_Letter", "Lu" },
	{ "Lowercase_Letter", "Ll" }, { "Mark", "M" }, { "Number", "N" }, { "Decimal_Number", "Nd" },
	{ "digit", "Nd" }, { "Punctuation", "P" }, { "punct", "P" }, { "Symbol", "S" },
	{ "Separator", "Z" } };

/* --- reading --- */

#define WRONG(e, what) fail((e)->cx, E_INVALID, "%s, at byte %zu of the pattern", (what), (e)->at)

static char
peek(const struct ecma *e, size_t ahead)
{
	return e->at + ahead < e->src.len ? e->src.ptr[e->at + ahead] : '\0';
}

static bool
ended(const struct ecma *e)
{
	return e->at >= e->src.len;
}

static bool
take(struct ecma *e, str expected)
{
	if (!str_starts(str_skip(e->src, e->at), expected))
		return false;
	e->at += expected.len;
	return true;
}

/* The next character; the source is known to be UTF-8 and not at its end. */
static uint32_t
next_code(struct ecma *e)
{
	unsigned char first = (unsigned char)e->src.ptr[e->at++];
	uint32_t more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
	uint32_t code = more == 0 ? first : first & (0x3fu >> more);

	while (more--)
		code = code << 6 | ((unsigned char)e->src.ptr[e->at++] & 0x3f);
	return code;
}

/* A number of at least `least` and at most `most` digits. Nothing is taken where there are fewer. */
static bool
take_number(struct ecma *e, uint32_t base, size_t least, size_t most, uint32_t *out_n)
{
	static const char digits[] = "0123456789abcdef";
	uint32_t n = 0;
	size_t count = 0;

	for (; count < most && peek(e, count); count++) {
		char c = peek(e, count);
		const char *digit = strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c);
		if (!digit || digit - digits >= base)
			break;
		n = n * base + (uint32_t)(digit - digits);
	}
	if (count < least)
		return false;
	e->at += count;
	*out_n = n;
	return true;
}

/* What stands before `close`: letters, digits, _ and whatever `more` has. Takes `close` too. */
static bool
take_name(struct ecma *e, char close, char more, str *out_name)
{
	str rest, name;

	if (!str_cut(str_skip(e->src, e->at), close, &name, &rest) || !name.len)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i], lower = (char)(c | 0x20);
		if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != more)
			return false;
	}
	e->at += name.len + 1;
	*out_name = name;
	return true;
}

/* --- escapes --- */

/* \p{Letter}, \P{L}, \p{Script=Greek}: behind the p. What RE2 does not know of these it refuses itself. */
static status
take_property(struct ecma *e, char p, struct piece *out)
{
	str name, set = STR("");

	if (!take(e, STR("{")) || !take_name(e, '}', '=', &name))
		return WRONG(e, "\\p needs a property's name in braces");
	if (name.len <= 2 && str_find(STR("LMNPSZ"), name.ptr[0]) < 6) /* C is not the same in RE2 */
		set = name;
	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
		if (str_eq(name, str_of(categories[i][0])))
			set = str_of(categories[i][1]);
	if (str_starts(name, STR("Script=")) && name.len > sizeof("Script=Yi"))
		set = str_skip(name, sizeof("Script=") - 1);
	if (!set.len)
		e->lacking = "this Unicode property";
	out->set = arena_printf(e->cx->arena, "\\%c{%.*s}", p, STR_ARG(set)).ptr;
	return OK;
}

/* \uXXXX and \u{1F432}: behind the u. */
static status
take_unicode(struct ecma *e, uint32_t *out_code)
{
	bool braces = take(e, STR("{"));

	if (!take_number(e, 16, braces ? 1 : 4, braces ? 6 : 4, out_code) || *out_code > 0x10ffff ||
		(braces && !take(e, STR("}"))))
		return WRONG(e, "\\u needs four hexadecimal digits, or the number of a character in braces");
	if (*out_code >= 0xd800 && *out_code < 0xe000)
		e->lacking = "\\u with half a character (\\u{1F432} is a whole one)";
	return OK;
}

/* The escapes that are written with digits or a letter behind them, and punctuation that stands for itself. */
static status
take_character(struct ecma *e, char c, bool in_class, uint32_t *out_code)
{
	char next = peek(e, 0), letter = (char)(next | 0x20);

	*out_code = c == '0' ? 0 : (unsigned char)c;
	if (c && (strchr("^$\\.*+?()[]{}|/", c) || (c == '-' && in_class)))
		return OK;
	if (c == '0' && !(next >= '0' && next <= '9'))
		return OK;
	if (c == 'u')
		return take_unicode(e, out_code);
	if (c == 'x')
		return take_number(e, 16, 2, 2, out_code) ? OK : WRONG(e, "\\x needs two hexadecimal digits");
	if (c != 'c' || letter < 'a' || letter > 'z')
		return WRONG(e, "a backslash stands before a character that it does not change");
	e->at++;
	*out_code = (uint32_t)(letter - 'a' + 1);
	return OK;
}

/* What an escape means both inside and outside of a class; behind the backslash. */
static status
take_escape(struct ecma *e, bool in_class, struct piece *out)
{
	static const struct {
		char letter;
		struct piece means;
	} letters[] = { { 'd', { "0-9", 0 } }, { 'D', { "\\D", 0 } }, { 'w', { "0-9A-Za-z_", 0 } },
		{ 'W', { "\\W", 0 } }, { 's', { SPACES, 0 } }, { 'S', { NOT_SPACES, 0 } },
		{ 't', { NULL, '\t' } }, { 'n', { NULL, '\n' } }, { 'v', { NULL, '\v' } },
		{ 'f', { NULL, '\f' } }, { 'r', { NULL, '\r' } }, { 'b', { NULL, '\b' } } };
	char c = peek(e, 0);

	e->at++; /* past the end where the pattern ends in a backslash: c is then no character's escape */
	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (c == letters[i].letter) { /* outside of a class, \b has been taken before */
			*out = letters[i].means;
			return OK;
		}
	return c == 'p' || c == 'P' ? take_property(e, c, out) : take_character(e, c, in_class, &out->code);
}

/* --- writing --- */

/* A character is always written as its number: then none of RE2's own signs can come of it. */
static void
put_piece(struct ecma *e, struct piece p)
{
	if (p.set)
		buf_add(&e->out, str_of(p.set));
	else
		buf_printf(&e->out, "\\x{%x}", p.code);
}

static status
put(struct ecma *e, str text, bool repeatable)
{
	buf_add(&e->out, text);
	e->repeatable = repeatable;
	return OK;
}

/* --- the grammar --- */

static status
class_piece(struct ecma *e, struct piece *out)
{
	if (ended(e))
		return WRONG(e, "a character class is not closed");
	if (take(e, STR("\\")))
		return take_escape(e, true, out);
	out->code = next_code(e);
	return OK;
}

/* One piece or a range of two. */
static status
class_range(struct ecma *e)
{
	struct piece from = { 0 }, to = { 0 };

	TRY(class_piece(e, &from));
	put_piece(e, from);
	if (peek(e, 0) != '-' || peek(e, 1) == ']')
		return OK;
	e->at++;
	TRY(class_piece(e, &to));
	if (from.set || to.set)
		return WRONG(e, "a range in a class goes from one character to another");
	if (from.code > to.code)
		return WRONG(e, "a range in a class goes backwards");
	buf_add(&e->out, STR("-"));
	put_piece(e, to);
	return OK;
}

/* Behind the opening bracket. RE2 has no empty class: [] is written as "no character", [^] as "any". */
static status class(struct ecma *e)
{
	bool negated = take(e, STR("^"));

	if (take(e, STR("]")))
		return put(e, negated ? STR("[\\x{0}-\\x{10ffff}]") : STR("[^\\x{0}-\\x{10ffff}]"), true);
	buf_add(&e->out, negated ? STR("[^") : STR("["));
	do
		TRY(class_range(e));
	while (!take(e, STR("]")));
	return put(e, STR("]"), true);
}

/* Behind the opening parenthesis. Nothing is captured for us, so all groups are plain ones. */
static status
open_group(struct ecma *e)
{
	str name;

	if (take(e, STR("?=")) || take(e, STR("?!")) || take(e, STR("?<=")) || take(e, STR("?<!")))
		e->lacking = "lookaround";
	else if (take(e, STR("?<"))) {
		if (!take_name(e, '>', '$', &name) || (name.ptr[0] >= '0' && name.ptr[0] <= '9'))
			return WRONG(e, "a group needs a name between < and >");
	} else if (!take(e, STR("?:")) && peek(e, 0) == '?') {
		return WRONG(e, "this kind of group is not one of ECMA-262");
	}
	e->depth++;
	return put(e, STR("(?:"), false);
}

static status
close_group(struct ecma *e)
{
	if (!e->depth)
		return WRONG(e, "a parenthesis is closed that was not opened");
	e->depth--;
	return put(e, STR(")"), true);
}

/* Behind a backslash, outside of a class. */
static status
escape(struct ecma *e)
{
	struct piece p = { 0 };

	if (take(e, STR("b")))
		return put(e, STR("\\b"), false);
	if (take(e, STR("B")))
		return put(e, STR("\\B"), false);
	if ((peek(e, 0) >= '1' && peek(e, 0) <= '9') || (peek(e, 0) == 'k' && peek(e, 1) == '<')) {
		e->lacking = "back-references";
		e->at++;
		return put(e, STR(""), true);
	}
	TRY(take_escape(e, false, &p));
	buf_add(&e->out, p.set ? STR("[") : STR(""));
	put_piece(e, p);
	return put(e, p.set ? STR("]") : STR(""), true);
}

/* {n}, {n,} and {n,m}: behind the opening brace. Nobody writes a number of more than nine digits. */
static status
counted(struct ecma *e)
{
	uint32_t from, to;

	if (!take_number(e, 10, 1, 9, &from))
		return WRONG(e, "a brace is written \\{ where it is not a count");
	buf_printf(&e->out, "{%u", from);
	to = from;
	if (take(e, STR(","))) {
		buf_add(&e->out, STR(","));
		if (take_number(e, 10, 1, 9, &to))
			buf_printf(&e->out, "%u", to);
	}
	if (!take(e, STR("}")))
		return WRONG(e, "a count is written {n}, {n,} or {n,m}");
	if (from > to)
		return WRONG(e, "a count goes backwards");
	if (to > 1000)
		e->lacking = "counts above 1000";
	return put(e, STR("}"), false);
}

static status
quantifier(struct ecma *e, char c)
{
	if (!e->repeatable)
		return WRONG(e, "there is nothing to repeat");
	if (c == '{')
		TRY(counted(e));
	else
		buf_add_char(&e->out, c);
	return put(e, take(e, STR("?")) ? STR("?") : STR(""), false);
}

static status
term(struct ecma *e)
{
	uint32_t code = next_code(e);

	switch (code) {
	case '\\':
		return escape(e);
	case '[':
		return class(e);
	case '(':
		return open_group(e);
	case ')':
		return close_group(e);
	case '*':
	case '+':
	case '?':
	case '{':
		return quantifier(e, (char)code);
	case '^':
		return put(e, STR("\\A"), false);
	case '$':
		return put(e, STR("\\z"), false);
	case '.':
		return put(e, STR("[^\\n\\r\\x{2028}\\x{2029}]"), true);
	case '|':
		return put(e, STR("|"), false);
	case '}':
	case ']':
		return WRONG(e, "a closing brace or bracket is written with a backslash before it");
	default:
		put_piece(e, (struct piece){ .code = code });
		e->repeatable = true;
		return OK;
	}
}

status
ecma_translate(struct ctx *cx, str pattern, struct ecma_text *out)
{
	struct ecma e = { .cx = cx, .src = pattern };
	str text;

	if (pattern.len > LIMIT_REGEX_BYTES)
		return fail(cx, E_INVALID, "the pattern is longer than %zu bytes", LIMIT_REGEX_BYTES);
	if (!str_is_utf8(pattern))
		return fail(cx, E_INVALID, "the pattern is not UTF-8");
	buf_init(&e.out, cx->arena, LIMIT_REGEX_BYTES * 64u);
	while (!ended(&e))
		TRY(term(&e));
	if (e.depth)
		return WRONG(&e, "a parenthesis is not closed");
	if (buf_finish(&e.out, &text) != OK)
		return fail(cx, E_INVALID, "the pattern is too large");
	*out = (struct ecma_text){ .re2 = text, .lacking = e.lacking };
	return OK;
}
