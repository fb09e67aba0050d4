/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/form.h"

#include "base/limits.h"

#include <sodium.h>

static bool
is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
	       c == '.' || c == '_' || c == '~';
}

void
form_escape(struct buf *b, str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (is_plain(text.ptr[i]))
			buf_add_char(b, text.ptr[i]);
		else
			buf_printf(b, "%%%02X", (unsigned char)text.ptr[i]);
	}
}

void
form_add(struct buf *b, const char *key, str value)
{
	buf_printf(b, "%s%s=", b->len ? "&" : "", key);
	form_escape(b, value);
}

str
form_basic(struct arena *a, str id, str secret)
{
	struct buf pair;
	size_t room;
	char *text;

	buf_init(&pair, a, LIMIT_CLIENT_CREDENTIAL);
	form_escape(&pair, id);
	buf_add_char(&pair, ':');
	form_escape(&pair, secret);
	if (pair.overflow)
		return (str){ 0 };
	room = sodium_base64_ENCODED_LEN(pair.len, sodium_base64_VARIANT_ORIGINAL);
	text = arena_alloc(a, room);
	(void)sodium_bin2base64(
		text, room, (const unsigned char *)pair.ptr, pair.len, sodium_base64_VARIANT_ORIGINAL);
	return str_of(text);
}
