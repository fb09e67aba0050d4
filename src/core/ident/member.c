/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ident/member.h"

#include "base/limits.h"

/* Something, one @, something, all printable: whether mail arrives there is not ours to know. */
status
member_email(struct ctx *cx, str email, str *out_email)
{
	char *lower;
	str name, host, rest;

	if (email.len > LIMIT_EMAIL || !str_cut(email, '@', &name, &host) || !name.len || !host.len ||
		str_cut(host, '@', &rest, &rest))
		return fail(cx, E_INVALID, "an e-mail address looks like ada@example.org");
	lower = arena_alloc(cx->arena, email.len);
	for (size_t i = 0; i < email.len; i++) {
		char c = email.ptr[i];

		if ((unsigned char)c <= ' ' || c == 0x7f)
			return fail(cx, E_INVALID, "an e-mail address has no spaces");
		lower[i] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
	}
	*out_email = (str){ lower, email.len };
	return OK;
}
