/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include "base/check.h"
#include "base/limits.h"
#include "json/swar.h"

#include <stdlib.h>

#define BLOCK 64u /* nodes taken from the arena at a time, at most: one call and one memset for many */
#define FIRST 8u  /* ... and at first: most texts are short */
#define FEW   16u /* members that are compared with each other one by one */

struct reader {
	struct ctx *cx;
	const char *start, *at, *end;
	struct json *spare, *spare_end; /* nodes taken from the arena and not used yet */
	uint32_t nodes, max_nodes;
	bool allow_nul; /* json_parse_any */
	bool last_wins; /* json_parse_last: a name may stand twice */
};

/* What stands at a place of the text, for a message. */
static str
found(const struct reader *r, const char *at)
{
	if (at >= r->end)
		return STR("the end of the text");
	if (*at > ' ' && *at < 0x7f)
		return arena_printf(r->cx->arena, "'%c'", *at);
	if (*at == '\n' || *at == '\r')
		return STR("the end of the line");
	return arena_printf(r->cx->arena, "the byte 0x%02x", (unsigned char)*at);
}

/* Line and column count from 1; a column is a character, not a byte. */
static status
bad(struct reader *r, const char *at, const char *what, str more)
{
	size_t line = 1, column = 1;

	for (const char *p = r->start; p < at; p++) {
		if (*p == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)*p & 0xc0) != 0x80) {
			column++;
		}
	}
	return fail(r->cx, E_BAD_JSON, "line %zu, column %zu: %s%.*s", line, column, what, STR_ARG(more));
}

static status
expected(struct reader *r, const char *what)
{
	str more = found(r, r->at);

	more = arena_printf(r->cx->arena, "%s, but found %.*s", what, STR_ARG(more));
	return bad(r, r->at, "expected ", more);
}

/* The byte that comes next; NUL at the end, where a NUL is as wrong as the end. */
static inline char
peek(const struct reader *r)
{
	return r->at < r->end ? *r->at : '\0';
}

static inline void
skip_space(struct reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
		r->at++;
}

static status
take_block(struct reader *r)
{
	/* a value takes two bytes at least, with its comma; a short text should not cost 64 nodes */
	size_t n = (size_t)(r->end - r->at) / 2 + 1, most = r->nodes < BLOCK ? r->nodes + FIRST : BLOCK;

	if (r->nodes >= r->max_nodes)
		return fail(r->cx, E_TOO_LARGE, "the document has more than %u values", r->max_nodes);
	if (n > most)
		n = most;
	if (n > r->max_nodes - r->nodes)
		n = r->max_nodes - r->nodes;
	r->spare = ARENA_TRY_ARRAY(r->cx->arena, struct json, n);
	if (!r->spare)
		return fail(r->cx, E_TOO_LARGE, "the document takes more memory than one request may use");
	r->spare_end = r->spare + n;
	r->nodes += (uint32_t)n;
	return OK;
}

static inline status
new_node(struct reader *r, struct json **out_node)
{
	if (r->spare == r->spare_end)
		TRY(take_block(r));
	CHECK(r->spare != NULL);
	*out_node = r->spare++;
	return OK;
}

static bool
hex_digit(char c, unsigned *unit)
{
	unsigned digit;

	if (c >= '0' && c <= '9')
		digit = (unsigned)(c - '0');
	else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		digit = (unsigned)((c | 0x20) - 'a' + 10);
	else
		return false;
	*unit = *unit << 4 | digit;
	return true;
}

/* The four digits after \u; p stands at the backslash. */
static bool
code_unit(const char *p, const char *end, unsigned *out_unit)
{
	unsigned unit = 0;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return false;
	for (int i = 2; i < 6; i++)
		if (!hex_digit(p[i], &unit))
			return false;
	*out_unit = unit;
	return true;
}

static char *
put_utf8(char *to, unsigned c)
{
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (c & 0x3f));
	return to;
}

static status
decode_unicode(struct reader *r, const char **from, const char *end, char **to)
{
	const char *p = *from;
	unsigned c, low;

	if (!code_unit(p, end, &c))
		return bad(r, p, "\\u needs four hexadecimal digits", STR(""));
	if (c == 0 && !r->allow_nul)
		return bad(r, p, "\\u0000 is not accepted in text", STR(""));
	p += 6;
	if (c >= 0xd800 && c <= 0xdfff) {
		if (c >= 0xdc00 || !code_unit(p, end, &low) || low < 0xdc00 || low > 0xdfff)
			return bad(r, *from, "half of a surrogate pair", STR(""));
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		p += 6;
	}
	*to = put_utf8(*to, c);
	*from = p;
	return OK;
}

static status
decode_escape(struct reader *r, const char **from, const char *end, char **to)
{
	static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	char c = (*from)[1];
	const char *name = c ? strchr(names, c) : NULL;

	if (c == 'u')
		return decode_unicode(r, from, end, to);
	if (!name)
		return bad(r, *from, "a backslash must be followed by one of \" \\ / b f n r t u", STR(""));
	*(*to)++ = means[name - names];
	*from += 2;
	return OK;
}

/* Text with escapes, into the arena: it never becomes longer. The scan has seen that a backslash is not last.
 */
static status
decode(struct reader *r, str raw, str *out_text)
{
	const char *from = raw.ptr, *end = raw.ptr + raw.len;
	char *to = arena_try_bytes(r->cx->arena, raw.len), *start = to;

	if (!to)
		return fail(r->cx, E_TOO_LARGE, "the document takes more memory than one request may use");
	while (from < end) {
		const char *backslash = memchr(from, '\\', (size_t)(end - from));
		size_t run = (size_t)((backslash ? backslash : end) - from);

		memcpy(to, from, run);
		to += run;
		from += run;
		if (from < end)
			TRY(decode_escape(r, &from, end, &to));
	}
	*out_text = (str){ start, (size_t)(to - start) };
	return OK;
}

static status
refuse_in_string(struct reader *r, const char *p)
{
	if (p >= r->end)
		return bad(r, p, "the text ends inside a string", STR(""));
	if ((unsigned char)*p < 0x20)
		return bad(r, p, "a string contains a control character as it is: ", found(r, p));
	return bad(r, p, "a string contains what is not UTF-8: ", found(r, p));
}

/* How many bytes to step over where p is not plain: an escape (decoded later) or a sequence. 0: neither. */
static inline size_t
step(const struct reader *r, const char *p)
{
	if (p >= r->end)
		return 0;
	if (*p == '\\')
		return 1 + str_utf8_sequence((str){ p + 1, (size_t)(r->end - p - 1) });
	return (unsigned char)*p < 0x80 ? 0 : str_utf8_sequence((str){ p, (size_t)(r->end - p) });
}

/* A string; r->at stands at its opening quote. */
static status
read_string(struct reader *r, str *out_text)
{
	const char *start = r->at + 1, *p = start;
	bool escaped = false;
	str raw;

	for (;;) {
		size_t n;

		p += swar_plain(p, r->end);
		if (p < r->end && *p == '"')
			break;
		n = step(r, p);
		if (n == 0)
			return refuse_in_string(r, p);
		escaped |= *p == '\\';
		p += n;
	}
	raw = (str){ start, (size_t)(p - start) };
	r->at = p + 1;
	if (escaped)
		return decode(r, raw, out_text);
	*out_text = raw;
	return OK;
}

static status
read_digits(struct reader *r)
{
	if (peek(r) < '0' || peek(r) > '9')
		return expected(r, "a digit");
	while (peek(r) >= '0' && peek(r) <= '9')
		r->at++;
	return OK;
}

static status
read_exponent(struct reader *r)
{
	const char *first;

	r->at++;
	if (peek(r) == '+' || peek(r) == '-')
		r->at++;
	first = r->at;
	TRY(read_digits(r));
	while (first < r->at && *first == '0')
		first++;
	if ((size_t)(r->at - first) > LIMIT_JSON_EXPONENT)
		return bad(r, first, "the exponent of a number has too many digits", STR(""));
	return OK;
}

static status
read_number(struct reader *r, struct json *n)
{
	const char *start = r->at;

	if (*r->at == '-')
		r->at++;
	if (peek(r) == '0') {
		r->at++;
		if (peek(r) >= '0' && peek(r) <= '9')
			return bad(r, r->at - 1, "a number may not begin with 0", STR(""));
	} else {
		TRY(read_digits(r));
	}
	if (peek(r) == '.') {
		r->at++;
		TRY(read_digits(r));
	}
	if (peek(r) == 'e' || peek(r) == 'E')
		TRY(read_exponent(r));
	n->type = JSON_NUMBER;
	n->text = (str){ start, (size_t)(r->at - start) };
	return OK;
}

static status
read_word(struct reader *r, str word)
{
	if (!str_starts((str){ r->at, (size_t)(r->end - r->at) }, word))
		return expected(r, "a value");
	r->at += word.len;
	return OK;
}

static status read_value(struct reader *r, struct json *value, unsigned depth);

static status
read_array(struct reader *r, struct json *array, unsigned depth)
{
	struct json **tail = &array->child;

	array->type = JSON_ARRAY;
	r->at++;
	skip_space(r);
	if (peek(r) == ']') {
		r->at++;
		return OK;
	}
	for (;;) {
		TRY(new_node(r, tail));
		TRY(read_value(r, *tail, depth));
		tail = &(*tail)->next;
		array->count++;
		skip_space(r);
		if (peek(r) != ',')
			break;
		r->at++;
		skip_space(r);
	}
	if (peek(r) != ']')
		return expected(r, "',' or ']'");
	r->at++;
	return OK;
}

static status
refuse_twice(struct reader *r, str key)
{
	str shown = { key.ptr, key.len < 80 ? key.len : 80 };

	return bad(r, r->at, "an object has a name twice: ", shown);
}

/* Has the object, so far, a member called key? Few enough to ask each. */
static bool
has(const struct json *object, str key)
{
	JSON_EACH (m, object)
		if (str_eq(m->key, key))
			return true;
	return false;
}

/* Many members: sorted, the same names stand side by side. No input makes this quadratic. */
static status
check_many(struct reader *r, const struct json *object)
{
	struct arena_mark before = arena_mark(r->cx->arena);
	const struct json **sorted = json_sorted(r->cx->arena, object);
	const struct json *twice = NULL;

	if (!sorted)
		return fail(r->cx, E_TOO_LARGE, "the document takes more memory than one request may use");
	for (uint32_t i = 1; i < object->count && !twice; i++)
		if (str_eq(sorted[i - 1]->key, sorted[i]->key))
			twice = sorted[i];
	arena_rewind(r->cx->arena, before);
	return twice ? refuse_twice(r, twice->key) : OK;
}

/* One bit of 64 that depends on the name: a bit not seen yet is a name not seen yet. */
static inline uint64_t
trace(str key)
{
	size_t n = key.len ? (size_t)key.ptr[0] + (size_t)key.ptr[key.len - 1] * 5 + key.len * 13 : 0;

	return UINT64_C(1) << (n & 63);
}

static status
read_key(struct reader *r, const struct json *object, str *out_key, uint64_t *seen)
{
	uint64_t bit;

	if (peek(r) != '"')
		return expected(r, "a name in quotes");
	TRY(read_string(r, out_key));
	bit = trace(*out_key);
	if (!r->last_wins && (*seen & bit) && object->count < FEW && has(object, *out_key))
		return refuse_twice(r, *out_key);
	*seen |= bit;
	skip_space(r);
	if (peek(r) != ':')
		return expected(r, "':' after a name");
	r->at++;
	skip_space(r);
	return OK;
}

struct placed {
	struct json *member;
	uint32_t place;
};

static int
by_key_and_place(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int order = json_key_cmp(x->member->key, y->member->key);

	return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* Of members with one name only the last stays. */
static status
keep_last(struct reader *r, struct json *object)
{
	struct placed *sorted = ARENA_TRY_ARRAY(r->cx->arena, struct placed, object->count);
	bool *dropped = ARENA_TRY_ARRAY(r->cx->arena, bool, object->count);
	struct json **tail = &object->child;
	uint32_t n = 0;

	if (!sorted || !dropped)
		return fail(r->cx, E_TOO_LARGE, "the document takes more memory than one request may use");
	for (struct json *m = object->child; m; m = m->next, n++)
		sorted[n] = (struct placed){ m, n };
	qsort(sorted, n, sizeof(*sorted), by_key_and_place);
	for (uint32_t i = 1; i < n; i++)
		dropped[sorted[i - 1].place] = str_eq(sorted[i - 1].member->key, sorted[i].member->key);
	n = 0;
	for (struct json *m = object->child; m; m = m->next) {
		if (dropped[n++]) {
			object->count--;
			continue;
		}
		*tail = m;
		tail = &m->next;
	}
	*tail = NULL;
	return OK;
}

static status
read_object(struct reader *r, struct json *object, unsigned depth)
{
	struct json **tail = &object->child;
	uint64_t seen = 0;

	object->type = JSON_OBJECT;
	r->at++;
	skip_space(r);
	if (peek(r) == '}') {
		r->at++;
		return OK;
	}
	for (;;) {
		struct json *member;

		TRY(new_node(r, &member));
		TRY(read_key(r, object, &member->key, &seen));
		*tail = member;
		tail = &member->next;
		object->count++;
		TRY(read_value(r, member, depth));
		skip_space(r);
		if (peek(r) != ',')
			break;
		r->at++;
		skip_space(r);
	}
	if (peek(r) != '}')
		return expected(r, "',' or '}'");
	r->at++;
	if (r->last_wins)
		return object->count > 1 ? keep_last(r, object) : OK;
	return object->count > FEW ? check_many(r, object) : OK;
}

/* The value that begins at r->at; depth containers are open around it. */
static status
read_value(struct reader *r, struct json *value, unsigned depth)
{
	switch (peek(r)) {
	case '"':
		value->type = JSON_STRING;
		return read_string(r, &value->text);
	case '{':
	case '[':
		if (depth >= LIMIT_JSON_DEPTH)
			return bad(r, r->at, "the document is nested too deeply", STR(""));
		return *r->at == '{' ? read_object(r, value, depth + 1) : read_array(r, value, depth + 1);
	case 't':
		value->type = JSON_BOOL;
		value->truth = true;
		return read_word(r, STR("true"));
	case 'f':
		value->type = JSON_BOOL;
		return read_word(r, STR("false"));
	case 'n':
		return read_word(r, STR("null"));
	case '-':
	case '0' ... '9':
		return read_number(r, value);
	default:
		return expected(r, "a value");
	}
}

static status
parse(struct reader *r, size_t max_bytes, str text, struct json **out_doc)
{
	struct json *doc;

	r->start = r->at = text.len ? text.ptr : "";
	r->end = r->start + text.len;
	if (text.len > max_bytes)
		return fail(r->cx, E_TOO_LARGE, "the document has %zu bytes; at most %zu are accepted",
			text.len, max_bytes);
	TRY(new_node(r, &doc));
	skip_space(r);
	TRY(read_value(r, doc, 0));
	skip_space(r);
	if (r->at < r->end)
		return expected(r, "nothing after the document");
	*out_doc = doc;
	return OK;
}

status
json_parse(struct ctx *cx, str text, struct json **out_doc)
{
	struct reader r = { .cx = cx, .max_nodes = LIMIT_JSON_NODES };

	return parse(&r, LIMIT_JSON_BYTES, text, out_doc);
}

status
json_parse_any(struct ctx *cx, str text, struct json **out_doc)
{
	struct reader r = { .cx = cx, .max_nodes = LIMIT_JSON_NODES, .allow_nul = true };

	return parse(&r, LIMIT_JSON_BYTES, text, out_doc);
}

status
json_parse_last(struct ctx *cx, str text, struct json **out_doc)
{
	struct reader r = { .cx = cx, .max_nodes = LIMIT_JSON_NODES, .last_wins = true };

	return parse(&r, 3 * LIMIT_JSON_HEARD, text, out_doc);
}

status
json_parse_stored(struct ctx *cx, str text, struct json **out_doc)
{
	struct reader r = { .cx = cx, .max_nodes = LIMIT_JSON_STORED_NODES };

	return parse(&r, LIMIT_JSON_STORED_BYTES, text, out_doc);
}
