/* SPDX-License-Identifier: Apache-2.0 */
#include "json/schema/format.h"

#include "json/ecma.h"
#include "json/schema/uri.h"

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_hex(char c)
{
	return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static char
at(str s, size_t i)
{
	return i < s.len ? s.ptr[i] : '\0';
}

/* Exactly two digits at the start of *s, at most max; takes them. -1 where they are not there. */
static int
take_two(str *s, int max)
{
	int n;

	if (!is_digit(at(*s, 0)) || !is_digit(at(*s, 1)))
		return -1;
	n = (s->ptr[0] - '0') * 10 + (s->ptr[1] - '0');
	*s = str_skip(*s, 2);
	return n <= max ? n : -1;
}

static bool
take_char(str *s, char c)
{
	if (at(*s, 0) != c || !s->len)
		return false;
	*s = str_skip(*s, 1);
	return true;
}

/* --- RFC 3339 --- */

static bool
take_date(str *s)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int century = take_two(s, 99), rest = take_two(s, 99), year, month, day;
	bool leap;

	if (century < 0 || rest < 0 || !take_char(s, '-'))
		return false;
	month = take_two(s, 12);
	if (month < 1 || !take_char(s, '-'))
		return false;
	day = take_two(s, 31);
	year = century * 100 + rest;
	leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

/* Z or +hh:mm, in minutes. */
static bool
take_offset(str *s, int *out_minutes)
{
	int sign, hours, minutes;

	*out_minutes = 0;
	if (take_char(s, 'Z') || take_char(s, 'z'))
		return true;
	sign = at(*s, 0) == '-' ? -1 : 1;
	if (!take_char(s, '+') && !take_char(s, '-'))
		return false;
	hours = take_two(s, 23);
	if (hours < 0 || !take_char(s, ':'))
		return false;
	minutes = take_two(s, 59);
	*out_minutes = sign * (hours * 60 + minutes);
	return minutes >= 0;
}

static bool
take_time(str *s)
{
	int hour, minute, second, offset;

	hour = take_two(s, 23);
	if (hour < 0 || !take_char(s, ':'))
		return false;
	minute = take_two(s, 59);
	if (minute < 0 || !take_char(s, ':'))
		return false;
	second = take_two(s, 60);
	if (second < 0)
		return false;
	if (take_char(s, '.')) {
		if (!is_digit(at(*s, 0)))
			return false;
		while (is_digit(at(*s, 0)))
			*s = str_skip(*s, 1);
	}
	if (!take_offset(s, &offset))
		return false;
	/* A leap second is the last of a day in UTC. */
	return second < 60 || (hour * 60 + minute - offset + 2 * 1440) % 1440 == 1439;
}

static bool
is_date(struct arena *a, str s)
{
	(void)a;
	return take_date(&s) && !s.len;
}

static bool
is_time(struct arena *a, str s)
{
	(void)a;
	return take_time(&s) && !s.len;
}

static bool
is_date_time(struct arena *a, str s)
{
	(void)a;
	return take_date(&s) && (take_char(&s, 'T') || take_char(&s, 't')) && take_time(&s) && !s.len;
}

/* Numbers with units, in order and without a gap: 1Y2M, 2M3D; not 1Y3D. */
static bool
take_units(str *s, const char *units)
{
	const char *unit = NULL;
	size_t digits = 0;

	while (is_digit(at(*s, 0))) {
		for (digits = 0; is_digit(at(*s, digits)); digits++)
			;
		char c = at(*s, digits);
		const char *next = c ? strchr(units, c) : NULL;
		if (!next || (unit && next != unit + 1))
			return false;
		unit = next;
		*s = str_skip(*s, digits + 1);
	}
	return unit != NULL;
}

static bool
is_duration(struct arena *a, str s)
{
	(void)a;
	if (!take_char(&s, 'P'))
		return false;
	if (s.len && s.ptr[s.len - 1] == 'W')
		return take_units(&s, "W") && !s.len;
	if (at(s, 0) != 'T' && !take_units(&s, "YMD"))
		return false;
	if (take_char(&s, 'T') && !take_units(&s, "HMS"))
		return false;
	return !s.len;
}

/* --- identifiers --- */

static bool
is_uuid(struct arena *a, str s)
{
	(void)a;
	if (s.len != 36)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (dash ? s.ptr[i] != '-' : !is_hex(s.ptr[i]))
			return false;
	}
	return true;
}

static bool
is_json_pointer(struct arena *a, str s)
{
	(void)a;
	if (s.len && s.ptr[0] != '/')
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] == '~' && at(s, i + 1) != '0' && at(s, i + 1) != '1')
			return false;
	return true;
}

static bool
is_relative_pointer(struct arena *a, str s)
{
	size_t digits = 0;

	while (is_digit(at(s, digits)))
		digits++;
	if (!digits || (digits > 1 && s.ptr[0] == '0'))
		return false;
	s = str_skip(s, digits);
	return str_eq(s, STR("#")) || is_json_pointer(a, s);
}

static bool
is_regex(struct arena *a, str s)
{
	struct ctx cx;
	struct ecma_text text;

	ctx_init(&cx, a);
	return ecma_translate(&cx, s, &text) == OK; /* also what RE2 does not have */
}

/* --- URIs --- */

static bool
is_uri(struct arena *a, str s)
{
	(void)a;
	return uri_is_valid(s, URI_ABSOLUTE);
}

static bool
is_uri_reference(struct arena *a, str s)
{
	(void)a;
	return uri_is_valid(s, URI_REFERENCE);
}

static bool
is_iri(struct arena *a, str s)
{
	(void)a;
	return uri_is_valid(s, URI_ABSOLUTE | URI_IRI);
}

static bool
is_iri_reference(struct arena *a, str s)
{
	(void)a;
	return uri_is_valid(s, URI_IRI);
}

static bool
is_ipv4(struct arena *a, str s)
{
	(void)a;
	return uri_is_ipv4(s);
}

static bool
is_ipv6(struct arena *a, str s)
{
	(void)a;
	return uri_is_ipv6(s);
}

static bool
is_percent(str s, size_t i)
{
	return at(s, i) == '%' && is_hex(at(s, i + 1)) && is_hex(at(s, i + 2));
}

/* RFC 6570: a name of dots, letters, digits, _ and %XX, with :n or * behind it. */
static bool
is_variable(str s)
{
	bool dot = true; /* none may come first, last or twice */
	size_t i = 0;

	for (; i < s.len && s.ptr[i] != ':' && s.ptr[i] != '*'; i++) {
		char c = s.ptr[i], lower = (char)(c | 0x20);
		if (c == '.' ? dot
			     : !(is_digit(c) || (lower >= 'a' && lower <= 'z') || c == '_' ||
				       is_percent(s, i)))
			return false;
		dot = c == '.';
		i += c == '%' ? 2 : 0;
	}
	if (dot)
		return false;
	s = str_skip(s, i);
	if (!s.len || str_eq(s, STR("*")))
		return true;
	if (s.ptr[0] != ':' || s.len < 2 || s.len > 5 || s.ptr[1] == '0')
		return false;
	for (i = 1; i < s.len; i++)
		if (!is_digit(s.ptr[i]))
			return false;
	return true;
}

static bool
is_expression(str s)
{
	str head;

	if (s.len && strchr("+#./;?&=,!@|", s.ptr[0]) && s.ptr[0])
		s = str_skip(s, 1);
	while (str_cut(s, ',', &head, &s))
		if (!is_variable(head))
			return false;
	return is_variable(s);
}

static bool
is_uri_template(struct arena *a, str s)
{
	(void)a;
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if (c == '{') {
			str rest = str_skip(s, i + 1);
			size_t close = str_find(rest, '}');
			if (close == rest.len || !is_expression((str){ rest.ptr, close }))
				return false;
			i += close + 1;
		} else if (c == '%' ? !is_percent(s, i) : c <= ' ' || c == 0x7f || strchr("\"<>\\^`|}", c)) {
			return false;
		}
	}
	return true;
}

static const struct {
	str name;
	format_check *check;
} formats[] = {
#define FORMAT(name, check)                                                                                  \
	{                                                                                                    \
		{ name, sizeof(name) - 1 }, check                                                            \
	}
	FORMAT("date", is_date),
	FORMAT("time", is_time),
	FORMAT("date-time", is_date_time),
	FORMAT("duration", is_duration),
	FORMAT("uuid", is_uuid),
	FORMAT("json-pointer", is_json_pointer),
	FORMAT("relative-json-pointer", is_relative_pointer),
	FORMAT("regex", is_regex),
	FORMAT("uri", is_uri),
	FORMAT("uri-reference", is_uri_reference),
	FORMAT("iri", is_iri),
	FORMAT("iri-reference", is_iri_reference),
	FORMAT("uri-template", is_uri_template),
	FORMAT("ipv4", is_ipv4),
	FORMAT("ipv6", is_ipv6),
	FORMAT("hostname", format_hostname),
	FORMAT("idn-hostname", format_idn_hostname),
	FORMAT("email", format_email),
	FORMAT("idn-email", format_idn_email),
#undef FORMAT
};

format_check *
format_find(str name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (str_eq(formats[i].name, name))
			return formats[i].check;
	return NULL;
}
