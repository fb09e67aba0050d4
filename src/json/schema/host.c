/* SPDX-License-Identifier: Apache-2.0 */
/* host: the formats about names of hosts and mailboxes. */
#include "json/schema/format.h"
#include "json/schema/idna.h"
#include "json/schema/uri.h"

#define NAME_MAX_BYTES 253 /* RFC 1035, without the trailing dot */
#define LOCAL_MAX      64  /* RFC 5321: a mailbox's local part */

static bool
is_alnum(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Letters, digits and hyphens, none of which stands at an end. */
static bool
is_ascii_label(str s)
{
	if (!s.len || s.len > IDNA_LABEL_MAX || s.ptr[0] == '-' || s.ptr[s.len - 1] == '-')
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (!is_alnum(s.ptr[i]) && s.ptr[i] != '-')
			return false;
	return true;
}

static bool
has_beyond_ascii(const struct idna_label *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->codes[i] >= 0x80)
			return true;
	return false;
}

/* xn--...: it must stand for a valid label, and be its one spelling. */
static bool
read_a_label(str s, struct idna_label *out)
{
	char again[IDNA_LABEL_MAX];
	size_t len;

	s = str_skip(s, 4);
	if (!idna_decode(s, out) || !has_beyond_ascii(out) || !idna_is_valid(out))
		return false;
	len = idna_encode(out, again);
	return str_eq_nocase(s, (str){ again, len });
}

/* *length is how many bytes the label has in its ASCII form. */
static bool
read_label(str s, bool unicode, struct idna_label *out, size_t *length)
{
	char ascii[IDNA_LABEL_MAX];

	*length = s.len;
	if (is_ascii_label(s)) {
		if (s.len > 3 && str_eq_nocase((str){ s.ptr, 4 }, STR("xn--")))
			return read_a_label(s, out);
		return idna_read(s, out);
	}
	if (!unicode || !idna_read(s, out) || !has_beyond_ascii(out) || !idna_is_valid(out))
		return false;
	*length = 4 + idna_encode(out, ascii);
	return *length > 4 && *length <= IDNA_LABEL_MAX;
}

/* Cuts at the first separator: a dot, or one of its three relatives beyond ASCII (RFC 3490). */
static bool
cut_label(str s, bool unicode, str *head, str *tail)
{
	static const str dots[] = { { "\xe3\x80\x82", 3 }, { "\xef\xbc\x8e", 3 }, { "\xef\xbd\xa1", 3 } };

	for (size_t i = 0; i < s.len; i++) {
		size_t width = s.ptr[i] == '.';
		for (size_t j = 0; unicode && j < 3; j++)
			width = str_starts(str_skip(s, i), dots[j]) ? 3 : width;
		if (!width)
			continue;
		*head = (str){ s.ptr, i };
		*tail = str_skip(s, i + width);
		return true;
	}
	return false;
}

static bool
is_name(str s, bool unicode)
{
	struct idna_label label;
	size_t total = 0, length;
	bool more = true, rtl = false, bidi = true;

	if (s.len > (size_t)NAME_MAX_BYTES * 4)
		return false;
	while (more) {
		str head = s, tail = STR("");
		more = cut_label(s, unicode, &head, &tail);
		if (!read_label(head, unicode, &label, &length))
			return false;
		rtl = rtl || idna_is_rtl(&label);
		bidi = bidi && idna_is_bidi(&label);
		total += length + (more ? 1 : 0);
		s = tail;
	}
	return total <= NAME_MAX_BYTES && (!rtl || bidi);
}

bool
format_hostname(struct arena *a, str s)
{
	(void)a;
	return is_name(s, false);
}

bool
format_idn_hostname(struct arena *a, str s)
{
	(void)a;
	return is_name(s, true);
}

/* --- mailboxes (RFC 5321, 6531) --- */

static bool
is_dot_atom(str s, bool unicode)
{
	bool dot = true; /* none may come first, last or twice */

	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		bool atom = (unsigned char)c >= 0x80 ? unicode
						     : is_alnum(c) || (c && strchr("!#$%&'*+-/=?^_`{|}~", c));
		if (c == '.' ? dot : !atom)
			return false;
		dot = c == '.';
	}
	return !dot;
}

static bool
is_quoted(str s, bool unicode)
{
	if (s.len < 2 || s.ptr[0] != '"' || s.ptr[s.len - 1] != '"')
		return false;
	for (size_t i = 1; i < s.len - 1; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if (c == '\\' && ++i == s.len - 1)
			return false;
		if (c < ' ' || c == 0x7f || c == '"' || (c >= 0x80 && !unicode))
			return false;
	}
	return true;
}

static bool
is_mail_host(str s, bool unicode)
{
	if (!s.len || s.ptr[0] != '[')
		return is_name(s, unicode);
	if (s.ptr[s.len - 1] != ']')
		return false;
	s = (str){ s.ptr + 1, s.len - 2 };
	if (str_starts(s, STR("IPv6:")))
		return uri_is_ipv6(str_skip(s, 5));
	return uri_is_ipv4(s);
}

static bool
is_mailbox(str s, bool unicode)
{
	size_t split = s.len;
	str local;

	while (split && s.ptr[split - 1] != '@')
		split--;
	if (split < 2 || split - 1 > LOCAL_MAX || !str_is_utf8(s))
		return false;
	local = (str){ s.ptr, split - 1 };
	return (is_dot_atom(local, unicode) || is_quoted(local, unicode)) &&
	       is_mail_host(str_skip(s, split), unicode);
}

bool
format_email(struct arena *a, str s)
{
	(void)a;
	return is_mailbox(s, false);
}

bool
format_idn_email(struct arena *a, str s)
{
	(void)a;
	return is_mailbox(s, true);
}
