/* SPDX-License-Identifier: Apache-2.0 */
#include "json/schema/format.h"

#include "base/check.h"
#include "base/limits.h"
#include "json/ecma.h"
#include "json/regex.h"

#include <arpa/inet.h>
#include <idn2.h>
#include <pthread.h>

#define LABEL_BYTES 63	/* of a label in its ASCII form (RFC 1035) */
#define NAME_BYTES  253 /* of a name, without the trailing dot */
#define LOCAL_BYTES 64	/* of what stands before a mailbox's @ (RFC 5321) */

struct format {
	str name;
	const char *pattern;
	bool (*check)(str); /* what the pattern cannot say, asked where it has matched; NULL: nothing */
};

/* --- dates and times (RFC 3339) --- */

static int
two_digits(str s, size_t at)
{
	return (s.ptr[at] - '0') * 10 + (s.ptr[at + 1] - '0');
}

static bool
has_day(str s)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int year = two_digits(s, 0) * 100 + two_digits(s, 2), month = two_digits(s, 5);
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return two_digits(s, 8) <= days[month - 1] + (month == 2 && leap);
}

/* A leap second is the last of a day in UTC. */
static bool
has_second(str s)
{
	int minute = two_digits(s, 0) * 60 + two_digits(s, 3), offset = 0;

	if (s.ptr[s.len - 3] == ':') { /* +hh:mm; otherwise it ends in Z */
		offset = two_digits(s, s.len - 5) * 60 + two_digits(s, s.len - 2);
		offset = s.ptr[s.len - 6] == '-' ? -offset : offset;
	}
	return two_digits(s, 6) < 60 || (minute - offset + 1440) % 1440 == 1439;
}

static bool
has_day_and_second(str s)
{
	return has_day(s) && has_second(str_skip(s, sizeof("2000-01-01T") - 1));
}

/* --- addresses and names of hosts --- */

static bool
is_address(int family, str s)
{
	char text[INET6_ADDRSTRLEN] = "", room[sizeof(struct in6_addr)];

	if (s.len >= sizeof(text))
		return false;
	memcpy(text, s.ptr, s.len);
	return inet_pton(family, text, room) == 1;
}

static bool
is_ipv4(str s)
{
	return is_address(AF_INET, s);
}

static bool
is_ipv6(str s)
{
	return is_address(AF_INET6, s);
}

/* The host of a URI in brackets: an address of IPv6, or of a version that is still to come ("v1.x"). */
static bool
has_address(str s)
{
	str before, address;

	if (!str_cut(s, '[', &before, &address) || (address.ptr[0] | 0x20) == 'v')
		return true;
	return is_ipv6((str){ address.ptr, str_find(address, ']') });
}

/* The length of a label in its ASCII form; 0 where it is none (RFC 5890 to 5893). */
static size_t
label_length(str s)
{
	char label[4 * LABEL_BYTES + 1] = ""; /* no character is longer in UTF-8 */
	uint8_t *text = (uint8_t *)label, *ascii = NULL;
	bool beyond = false, encoded;
	size_t len;

	if (s.len >= sizeof(label))
		return 0;
	memcpy(label, s.ptr, s.len);
	for (size_t i = 0; i < s.len; i++)
		beyond = beyond || (unsigned char)label[i] >= 0x80;
	encoded = !beyond && str_eq_nocase((str){ label, s.len < 4 ? s.len : 4 }, STR("xn--"));
	if (!beyond && !encoded)
		return s.len;
	for (size_t i = 0; encoded && i < s.len; i++)
		label[i] |=
			0x20; /* libidn2 knows xn-- only in small letters; digits and - stay what they are */
	if (idn2_register_u8(encoded ? NULL : text, encoded ? text : NULL, &ascii, IDN2_NFC_INPUT) != IDN2_OK)
		return 0;
	len = strlen((char *)ascii);
	idn2_free(ascii);
	return len;
}

/* The bytes of the dot that s begins with: it has three relatives beyond ASCII (RFC 3490). */
static size_t
dot_bytes(str s)
{
	if (str_starts(s, STR("\xe3\x80\x82")) || str_starts(s, STR("\xef\xbc\x8e")) ||
		str_starts(s, STR("\xef\xbd\xa1")))
		return 3;
	return str_starts(s, STR("."));
}

static bool
is_name(str s)
{
	size_t total = 0, end, dot = 1;

	while (dot && total <= NAME_BYTES) {
		size_t length;
		for (end = 0, dot = 0; end < s.len && !dot; end += !dot)
			dot = dot_bytes(str_skip(s, end));
		length = label_length((str){ s.ptr, end });
		if (!length || length > LABEL_BYTES)
			return false;
		total += length + (dot > 0);
		s = str_skip(s, end + dot);
	}
	return total <= NAME_BYTES;
}

static bool
is_mailbox(str s)
{
	size_t at = s.len - 1;
	str host;

	while (s.ptr[at] != '@')
		at--;
	host = str_skip(s, at + 1);
	if (at > LOCAL_BYTES || host.ptr[0] != '[')
		return at <= LOCAL_BYTES && is_name(host);
	host = (str){ host.ptr + 1, host.len - 2 };
	return str_starts(host, STR("IPv6:")) ? is_ipv6(str_skip(host, 5)) : is_ipv4(host);
}

static bool
is_regex(str s)
{
	struct arena a;
	struct ctx cx;
	struct ecma_text text;
	bool is;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &a);
	is = ecma_translate(&cx, s, &text) == OK; /* also what RE2 does not have */
	arena_done(&a);
	return is;
}

/* --- the table --- */

/* The variants of formats that are not bound to ASCII have these characters besides, where a name may have
 * any. U+3002, U+FF0E and U+FF61 are dots between names. */
#define BEYOND	     "\\x{80}-\\x{10ffff}"
#define BEYOND_LABEL "\\x{80}-\\x{3001}\\x{3003}-\\x{ff0d}\\x{ff0f}-\\x{ff60}\\x{ff62}-\\x{10ffff}"
#define BEYOND_DOT   "\\x{3002}\\x{ff0e}\\x{ff61}"

#define DATE "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
#define HOUR "([01][0-9]|2[0-3])"
#define TIME HOUR ":[0-5][0-9]:([0-5][0-9]|60)(\\.[0-9]+)?([Zz]|[+-]" HOUR ":[0-5][0-9])"

/* Numbers with units, in order and without a gap: 1Y2M, 2M3D; not 1Y3D. */
#define NUMBER "[0-9]+"
#define UNITS(first, second, third)                                                                          \
	"(" NUMBER first "(" NUMBER second "(" NUMBER third ")?)?|" NUMBER second "(" NUMBER third           \
	")?|" NUMBER third ")"

#define POINTER "(/([^/~]|~[01])*)*" /* RFC 6901 */

/* RFC 3986. CHAR is a character of a part; `more` are those that only some parts have. The first part of a
 * path that follows no scheme has no colon. */
#define PERCENT	       "%[0-9A-Fa-f]{2}"
#define PLAIN	       "A-Za-z0-9._~!$&'()*+,;="
#define CHAR(more)     "([" PLAIN more "-]|" PERCENT ")"
#define PATH(more)     "(/" CHAR(":@/" more) "*)?"
#define ADDRESS	       "\\[([0-9A-Fa-f:.]+|[Vv][0-9A-Fa-f]+\\.[" PLAIN ":-]+)\\]"
#define HOST(more)     "//(" CHAR(":" more) "*@)?(" ADDRESS "|" CHAR(more) "*)(:[0-9]*)?" PATH(more)
#define ROOTED(more)   "/(" CHAR(":@" more) "+" PATH(more) ")?"
#define TAIL(more)     "(\\?" CHAR(":@/?" more) "*)?(#" CHAR(":@/?" more) "*)?"
#define REST(first, m) "(" HOST(m) "|" ROOTED(m) "|(" CHAR(first m) "+" PATH(m) ")?)" TAIL(m)
#define URI(more)      "[A-Za-z][A-Za-z0-9+.-]*:" REST(":@", more)
#define REFERENCE(m)   URI(m) "|" REST("@", m)

/* RFC 6570 */
#define WORD	 "([A-Za-z0-9_]|" PERCENT ")+"
#define VARIABLE WORD "(\\." WORD ")*(\\*|:[1-9][0-9]{0,3})?"
#define LITERAL	 "[^\\x00-\\x20\\x7f\"%<>\\\\^`{|}]"
#define TEMPLATE "(" LITERAL "|" PERCENT "|\\{[+#./;?&=,!@|]?" VARIABLE "(," VARIABLE ")*\\})*"

/* Labels neither begin nor end with a hyphen. */
#define ALNUM(more)	"[A-Za-z0-9" more "]"
#define LABEL(more)	ALNUM(more) "(" ALNUM(more "-") "*" ALNUM(more) ")?"
#define NAME(more, dot) LABEL(more) "([." dot "]" LABEL(more) ")*"

/* RFC 5321, 6531 */
#define ATOM(more)    "[A-Za-z0-9!#$%&'*+/=?^_`{|}~" more "-]+"
#define QUOTED(more)  "\"([ !#-\\[\\]-~" more "]|\\\\[ -~])*\""
#define LOCAL(more)   "(" ATOM(more) "(\\." ATOM(more) ")*|" QUOTED(more) ")"
#define MAIL(m, name) LOCAL(m) "@(" name "|\\[([0-9.]+|IPv6:[0-9A-Fa-f:.]+)\\])"

#define FORMAT(name, ...)                                                                                    \
	{                                                                                                    \
		{ name, sizeof(name) - 1 }, __VA_ARGS__                                                      \
	}
static const struct format formats[] = {
	FORMAT("date", DATE, has_day),
	FORMAT("time", TIME, has_second),
	FORMAT("date-time", DATE "[Tt]" TIME, has_day_and_second),
	FORMAT("duration", "P(" NUMBER "W|(T|" UNITS("Y", "M", "D") "T)" UNITS("H", "M", "S") "|" UNITS(
				   "Y", "M", "D") ")"),
	FORMAT("uuid", "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
	FORMAT("json-pointer", POINTER),
	FORMAT("relative-json-pointer", "(0|[1-9][0-9]*)(#|" POINTER ")"),
	FORMAT("regex", "(?s).*", is_regex),
	FORMAT("uri", URI(""), has_address),
	FORMAT("uri-reference", REFERENCE(""), has_address),
	FORMAT("iri", URI(BEYOND), has_address),
	FORMAT("iri-reference", REFERENCE(BEYOND), has_address),
	FORMAT("uri-template", TEMPLATE),
	FORMAT("ipv4", "[0-9.]+", is_ipv4),
	FORMAT("ipv6", "[0-9A-Fa-f:.]+", is_ipv6),
	FORMAT("hostname", NAME("", ""), is_name),
	FORMAT("idn-hostname", NAME(BEYOND_LABEL, BEYOND_DOT), is_name),
	FORMAT("email", MAIL("", NAME("", "")), is_mailbox),
	FORMAT("idn-email", MAIL(BEYOND, NAME(BEYOND_LABEL, BEYOND_DOT)), is_mailbox),
};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static struct regex *regexes[FORMATS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
compile_patterns(void)
{
	struct arena a;
	struct ctx cx;

	arena_init(&a, LIMIT_ARENA_CHUNK);
	ctx_init(&cx, &a);
	for (size_t i = 0; i < FORMATS; i++)
		CHECK(regex_new(&cx, str_of(formats[i].pattern), REGEX_OURS, &regexes[i]) == OK);
	arena_done(&a);
}

const struct format *
format_find(str name)
{
	CHECK(pthread_once(&once, compile_patterns) == 0);
	for (size_t i = 0; i < FORMATS; i++)
		if (str_eq(formats[i].name, name))
			return &formats[i];
	return NULL;
}

bool
format_matches(const struct format *f, str text)
{
	return regex_full(regexes[f - formats], text) && (!f->check || f->check(text));
}
