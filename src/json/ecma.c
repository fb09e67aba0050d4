/* SPDX-License-Identifier: Apache-2.0 */
#include "json/ecma.h"

#include "base/buf.h"
#include "base/limits.h"

/* A name of a group, or of a back-reference to one. */
struct name {
	str text;
	struct name *next;
};

struct ecma {
	struct ctx *cx;
	str src;
	size_t at;
	struct buf out;
	bool repeatable; /* may a quantifier stand here? */
	const char *lacking;
	uint32_t groups, max_backref;
	struct name *names, *refs;
	size_t depth;
	bool assertion[LIMIT_REGEX_BYTES]; /* is the group open at each depth a lookaround? */
};

/* One piece of a class: a character, or a set in the form that stands between brackets in RE2. */
struct piece {
	bool is_set;
	uint32_t code;
	const char *set; /* "" is the empty set */
};

#define ANY	  "\\x{0}-\\x{10ffff}"
#define DIGITS	  "0-9"
#define WORDS	  "0-9A-Za-z_"
#define LINE_ENDS "\\n\\r\\x{2028}\\x{2029}"
/* White space and line ends as ECMA-262 lists them, and everything else. */
#define SPACES                                                                                               \
	"\\t-\\r\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"     \
	"\\x{feff}"
#define NOT_SPACES                                                                                           \
	"\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}"  \
	"\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"

static const struct {
	char letter;
	const char *set;
} class_letters[] = {
	{ 'd', DIGITS },
	{ 'D', "\\D" },
	{ 'w', WORDS },
	{ 'W', "\\W" },
	{ 's', SPACES },
	{ 'S', NOT_SPACES },
};

/* Properties by all their names; RE2 knows categories by their short names only. */
#define CATEGORY(short_name, ...)                                                                            \
	{                                                                                                    \
		{ short_name, __VA_ARGS__ }, "\\p{" short_name "}", "\\P{" short_name "}", true              \
	}
static const struct property {
	const char *names[3];
	const char *set, *complement;
	bool category; /* may follow General_Category= */
} properties[] = {
	CATEGORY("L", "Letter"),
	CATEGORY("Lu", "Uppercase_Letter"),
	CATEGORY("Ll", "Lowercase_Letter"),
	CATEGORY("Lt", "Titlecase_Letter"),
	CATEGORY("Lm", "Modifier_Letter"),
	CATEGORY("Lo", "Other_Letter"),
	CATEGORY("M", "Mark", "Combining_Mark"),
	CATEGORY("Mn", "Nonspacing_Mark"),
	CATEGORY("Mc", "Spacing_Mark"),
	CATEGORY("Me", "Enclosing_Mark"),
	CATEGORY("N", "Number"),
	CATEGORY("Nd", "Decimal_Number", "digit"),
	CATEGORY("Nl", "Letter_Number"),
	CATEGORY("No", "Other_Number"),
	CATEGORY("P", "Punctuation", "punct"),
	CATEGORY("Pc", "Connector_Punctuation"),
	CATEGORY("Pd", "Dash_Punctuation"),
	CATEGORY("Ps", "Open_Punctuation"),
	CATEGORY("Pe", "Close_Punctuation"),
	CATEGORY("Pi", "Initial_Punctuation"),
	CATEGORY("Pf", "Final_Punctuation"),
	CATEGORY("Po", "Other_Punctuation"),
	CATEGORY("S", "Symbol"),
	CATEGORY("Sm", "Math_Symbol"),
	CATEGORY("Sc", "Currency_Symbol"),
	CATEGORY("Sk", "Modifier_Symbol"),
	CATEGORY("So", "Other_Symbol"),
	CATEGORY("Z", "Separator"),
	CATEGORY("Zs", "Space_Separator"),
	CATEGORY("Zl", "Line_Separator"),
	CATEGORY("Zp", "Paragraph_Separator"),
	CATEGORY("Cc", "Control", "cntrl"),
	CATEGORY("Cf", "Format"),
	CATEGORY("Co", "Private_Use"),
	{ { "LC", "Cased_Letter" }, "\\p{Lu}\\p{Ll}\\p{Lt}", NULL, true },
	{ { "Any" }, ANY, "", false },
	{ { "ASCII" }, "\\x{0}-\\x{7f}", "\\x{80}-\\x{10ffff}", false },
	{ { "ASCII_Hex_Digit", "AHex" }, "0-9A-Fa-f", "\\x{0}-/:-@G-`g-\\x{10ffff}", false },
};

/* --- reading --- */

#define WRONG(e, what) fail((e)->cx, E_INVALID, "%s, at byte %zu of the pattern", (what), (e)->at)

static void
lack(struct ecma *e, const char *what)
{
	if (!e->lacking)
		e->lacking = what;
}

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

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Exactly n hexadecimal digits; nothing is taken where there are fewer. */
static bool
take_hex(struct ecma *e, size_t n, uint32_t *out_code)
{
	uint32_t code = 0;

	for (size_t i = 0; i < n; i++) {
		int digit = hex_digit(peek(e, i));
		if (digit < 0)
			return false;
		code = code << 4 | (uint32_t)digit;
	}
	e->at += n;
	*out_code = code;
	return true;
}

/* A decimal number, held at a million so that it cannot overflow. */
static bool
take_decimal(struct ecma *e, uint32_t *out_n)
{
	size_t start = e->at;
	uint32_t n = 0;

	for (; peek(e, 0) >= '0' && peek(e, 0) <= '9'; e->at++) {
		n = n * 10 + (uint32_t)(peek(e, 0) - '0');
		n = n > 1000000 ? 1000000 : n;
	}
	*out_n = n;
	return e->at > start;
}

static bool
is_name_byte(char c, bool first)
{
	char lower = (char)(c | 0x20);

	return (unsigned char)c >= 0x80 || c == '_' || c == '$' || (lower >= 'a' && lower <= 'z') ||
	       (!first && c >= '0' && c <= '9');
}

/* What stands between < and >. */
static status
take_name(struct ecma *e, struct name **list)
{
	size_t start = e->at;

	while (is_name_byte(peek(e, 0), e->at == start))
		e->at++;
	struct name *n = ARENA_NEW(e->cx->arena, struct name);
	n->text = (str){ e->src.ptr + start, e->at - start };
	n->next = *list;
	*list = n;
	if (!n->text.len || !take(e, STR(">")))
		return WRONG(e, "a group needs a name between < and >");
	return OK;
}

static const struct name *
find_name(const struct name *list, str text)
{
	for (; list; list = list->next)
		if (str_eq(list->text, text))
			return list;
	return NULL;
}

/* --- escapes --- */

static const struct property *
find_property(str name, bool only_categories)
{
	for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++)
		for (size_t j = 0; j < 3 && properties[i].names[j]; j++)
			if (str_eq(name, str_of(properties[i].names[j])))
				return only_categories && !properties[i].category ? NULL : &properties[i];
	return NULL;
}

static void
set_property(struct ecma *e, str name, bool only_categories, bool negated, struct piece *out)
{
	const struct property *p = find_property(name, only_categories);
	const char *set = !p ? NULL : negated ? p->complement : p->set;

	if (!set)
		lack(e, "this Unicode property");
	*out = (struct piece){ .is_set = true, .set = set ? set : "" };
}

/* \p{Letter}, \p{gc=L}, \P{Script=Greek}: behind the p. */
static status
take_property(struct ecma *e, bool negated, struct piece *out)
{
	str name, value;
	size_t end;

	if (!take(e, STR("{")))
		return WRONG(e, "\\p needs a property's name in braces");
	end = e->at + str_find(str_skip(e->src, e->at), '}');
	name = (str){ e->src.ptr + e->at, end - e->at };
	if (end == e->src.len || !name.len)
		return WRONG(e, "\\p needs a property's name in braces");
	for (size_t i = 0; i < name.len; i++)
		if (!is_name_byte(name.ptr[i], false) && name.ptr[i] != '=')
			return WRONG(e, "a property's name is made of letters, digits and _");
	e->at = end + 1;
	if (!str_cut(name, '=', &name, &value)) {
		set_property(e, name, false, negated, out);
	} else if (str_eq(name, STR("General_Category")) || str_eq(name, STR("gc"))) {
		set_property(e, value, true, negated, out);
	} else if ((str_eq(name, STR("Script")) || str_eq(name, STR("sc"))) && value.len > 3) {
		/* RE2 has scripts by their long names; what it does not know it refuses itself. */
		str set = arena_printf(e->cx->arena, "\\%c{%.*s}", negated ? 'P' : 'p', STR_ARG(value));
		*out = (struct piece){ .is_set = true, .set = set.ptr };
	} else {
		lack(e, "this Unicode property");
		*out = (struct piece){ .is_set = true, .set = "" };
	}
	return OK;
}

/* \uXXXX, \uD83D\uDC32, \u{1F432}: behind the u. */
static status
take_unicode(struct ecma *e, uint32_t *out_code)
{
	uint32_t code = 0, low;

	if (take(e, STR("{"))) {
		size_t digits = 0;
		for (; hex_digit(peek(e, 0)) >= 0; e->at++, digits++)
			code = code > 0x10ffff ? code : code << 4 | (uint32_t)hex_digit(peek(e, 0));
		if (!digits || code > 0x10ffff || !take(e, STR("}")))
			return WRONG(e, "\\u{...} needs the number of a Unicode character");
		*out_code = code;
		return OK;
	}
	if (!take_hex(e, 4, &code))
		return WRONG(e, "\\u needs four hexadecimal digits");
	size_t back = e->at;
	if (code >= 0xd800 && code < 0xdc00 && take(e, STR("\\u"))) {
		if (take_hex(e, 4, &low) && low >= 0xdc00 && low < 0xe000)
			code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		else
			e->at = back;
	}
	*out_code = code;
	return OK;
}

/* The escapes that mean one character; behind the letter c. */
static status
take_character_escape(struct ecma *e, char c, bool in_class, uint32_t *out_code)
{
	static const char controls[] = "t\tn\nv\vf\fr\r";
	char lower = (char)(peek(e, 0) | 0x20);

	for (size_t i = 0; controls[i]; i += 2)
		if (c == controls[i]) {
			*out_code = (unsigned char)controls[i + 1];
			return OK;
		}
	if (c == 'u')
		return take_unicode(e, out_code);
	if (c == 'x')
		return take_hex(e, 2, out_code) ? OK : WRONG(e, "\\x needs two hexadecimal digits");
	if (c == 'c') {
		if (lower < 'a' || lower > 'z')
			return WRONG(e, "\\c needs a letter");
		*out_code = (uint32_t)(lower - 'a' + 1);
		e->at++;
		return OK;
	}
	if (c == '0' && (peek(e, 0) < '0' || peek(e, 0) > '9')) {
		*out_code = 0;
		return OK;
	}
	if (c && (strchr("^$\\.*+?()[]{}|/", c) || (c == '-' && in_class))) {
		*out_code = (unsigned char)c;
		return OK;
	}
	return WRONG(e, "a backslash stands before a character that it does not change");
}

/* What an escape means both inside and outside of a class; behind the backslash. */
static status
take_escape(struct ecma *e, bool in_class, struct piece *out)
{
	char c = peek(e, 0);

	if (ended(e))
		return WRONG(e, "the pattern ends in a backslash");
	e->at++;
	for (size_t i = 0; i < sizeof(class_letters) / sizeof(class_letters[0]); i++)
		if (c == class_letters[i].letter) {
			*out = (struct piece){ .is_set = true, .set = class_letters[i].set };
			return OK;
		}
	if (c == 'p' || c == 'P')
		return take_property(e, c == 'P', out);
	*out = (struct piece){ .is_set = false };
	if (in_class && c == 'b') {
		out->code = '\b';
		return OK;
	}
	return take_character_escape(e, c, in_class, &out->code);
}

/* --- writing --- */

static void
put_code(struct ecma *e, uint32_t code)
{
	buf_printf(&e->out, "\\x{%x}", code);
}

static void
put_set(struct ecma *e, const char *set)
{
	buf_add(&e->out, *set ? STR("[") : STR("[^" ANY));
	buf_add(&e->out, str_of(set));
	buf_add(&e->out, STR("]"));
}

/* --- the grammar --- */

static status
class_piece(struct ecma *e, struct piece *out)
{
	if (ended(e))
		return WRONG(e, "a character class is not closed");
	if (take(e, STR("\\")))
		return take_escape(e, true, out);
	*out = (struct piece){ .code = next_code(e) };
	return OK;
}

/* One piece or a range of two. */
static status
class_range(struct ecma *e)
{
	struct piece from = { 0 }, to = { 0 };

	TRY(class_piece(e, &from));
	if (peek(e, 0) != '-' || peek(e, 1) == ']') {
		if (from.is_set)
			buf_add(&e->out, str_of(from.set));
		else
			put_code(e, from.code);
		return OK;
	}
	e->at++;
	TRY(class_piece(e, &to));
	if (from.is_set || to.is_set)
		return WRONG(e, "a range in a class goes from one character to another");
	if (from.code > to.code)
		return WRONG(e, "a range in a class goes backwards");
	put_code(e, from.code);
	buf_add(&e->out, STR("-"));
	put_code(e, to.code);
	return OK;
}

/* Behind the opening bracket. */
static status class(struct ecma *e)
{
	bool negated = take(e, STR("^"));
	size_t empty;

	buf_add(&e->out, negated ? STR("[^") : STR("["));
	empty = e->out.len;
	while (!take(e, STR("]")))
		TRY(class_range(e));
	if (e->out.len == empty && !e->out.overflow) { /* [] is nothing, [^] everything; RE2 has neither */
		e->out.len -= negated ? 2 : 1;
		buf_add(&e->out, negated ? STR("[" ANY) : STR("[^" ANY));
	}
	buf_add(&e->out, STR("]"));
	e->repeatable = true;
	return OK;
}

/* Behind the opening parenthesis. Nothing is captured for us, so all groups are plain ones. */
static status
open_group(struct ecma *e)
{
	bool assertion = false;

	if (take(e, STR("?=")) || take(e, STR("?!")) || take(e, STR("?<=")) || take(e, STR("?<!"))) {
		lack(e, "lookaround");
		assertion = true;
	} else if (take(e, STR("?<"))) {
		TRY(take_name(e, &e->names));
		if (find_name(e->names->next, e->names->text))
			return WRONG(e, "two groups have the same name");
		e->groups++;
	} else if (!take(e, STR("?:"))) {
		if (peek(e, 0) == '?')
			return WRONG(e, "this kind of group is not one of ECMA-262");
		e->groups++;
	}
	e->assertion[e->depth++] = assertion;
	buf_add(&e->out, STR("(?:"));
	e->repeatable = false;
	return OK;
}

static status
close_group(struct ecma *e)
{
	if (!e->depth)
		return WRONG(e, "a parenthesis is closed that was not opened");
	e->repeatable = !e->assertion[--e->depth];
	buf_add(&e->out, STR(")"));
	return OK;
}

/* Behind a backslash, outside of a class. */
static status
escape(struct ecma *e)
{
	struct piece p = { 0 };
	char c = peek(e, 0);
	uint32_t n;

	if (c == 'b' || c == 'B') {
		e->at++;
		buf_add(&e->out, c == 'b' ? STR("\\b") : STR("\\B"));
		e->repeatable = false;
		return OK;
	}
	e->repeatable = true;
	if (c >= '1' && c <= '9') {
		(void)take_decimal(e, &n);
		e->max_backref = n > e->max_backref ? n : e->max_backref;
		lack(e, "back-references");
		return OK;
	}
	if (take(e, STR("k"))) {
		lack(e, "back-references");
		return take(e, STR("<")) ? take_name(e, &e->refs) : WRONG(e, "\\k needs a group's name");
	}
	TRY(take_escape(e, false, &p));
	if (p.is_set)
		put_set(e, p.set);
	else
		put_code(e, p.code);
	return OK;
}

/* {n}, {n,} and {n,m}: behind the opening brace. */
static status
counted(struct ecma *e)
{
	uint32_t from, to;
	bool open = false;

	if (!take_decimal(e, &from))
		return WRONG(e, "a brace is written \\{ where it is not a count");
	to = from;
	if (take(e, STR(",")))
		open = !take_decimal(e, &to);
	if (!take(e, STR("}")))
		return WRONG(e, "a count is written {n}, {n,} or {n,m}");
	if (!open && from > to)
		return WRONG(e, "a count goes backwards");
	if (from > 1000 || (!open && to > 1000))
		lack(e, "counts above 1000");
	buf_printf(&e->out, "{%u", from);
	if (open)
		buf_add(&e->out, STR(","));
	else if (to != from)
		buf_printf(&e->out, ",%u", to);
	buf_add(&e->out, STR("}"));
	return OK;
}

static status
quantifier(struct ecma *e, char c)
{
	if (!e->repeatable)
		return WRONG(e, "there is nothing to repeat");
	e->repeatable = false;
	if (c == '{')
		TRY(counted(e));
	else
		buf_add_char(&e->out, c);
	if (take(e, STR("?")))
		buf_add(&e->out, STR("?"));
	return OK;
}

static status
put_plain(struct ecma *e, str text, bool repeatable)
{
	buf_add(&e->out, text);
	e->repeatable = repeatable;
	return OK;
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
		return put_plain(e, STR("\\A"), false);
	case '$':
		return put_plain(e, STR("\\z"), false);
	case '.':
		return put_plain(e, STR("[^" LINE_ENDS "]"), true);
	case '|':
		return put_plain(e, STR("|"), false);
	case '}':
	case ']':
		return WRONG(e, "a closing brace or bracket is written with a backslash before it");
	default:
		put_code(e, code);
		e->repeatable = true;
		return OK;
	}
}

static status
check_references(struct ecma *e)
{
	if (e->max_backref > e->groups)
		return WRONG(e, "a back-reference names a group that is not there");
	for (const struct name *r = e->refs; r; r = r->next)
		if (!find_name(e->names, r->text))
			return WRONG(e, "a back-reference names a group that is not there");
	return OK;
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
	TRY(check_references(&e));
	if (buf_finish(&e.out, &text) != OK)
		return fail(cx, E_INVALID, "the pattern is too large");
	*out = (struct ecma_text){ .re2 = text, .lacking = e.lacking };
	return OK;
}
