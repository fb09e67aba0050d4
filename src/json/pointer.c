/* SPDX-License-Identifier: Apache-2.0 */
#include "json/pointer.h"

/* A token without its escapes (~1 is '/', ~0 is '~'). False where a '~' stands for nothing, or it does not
 * fit. */
static bool
unescape(struct arena *a, str token, str *out_name)
{
	char *name = arena_try_bytes(a, token.len);
	size_t len = 0;

	if (!name)
		return false;
	for (size_t i = 0; i < token.len; i++) {
		char c = token.ptr[i];

		if (c == '~') {
			c = ++i < token.len ? token.ptr[i] : '\0';
			if (c != '0' && c != '1')
				return false;
			c = c == '0' ? '~' : '/';
		}
		name[len++] = c;
	}
	*out_name = (str){ name, len };
	return true;
}

/* An index: digits without a leading zero (RFC 6901 section 4). */
static const struct json *
item_at(const struct json *array, str token)
{
	int64_t index;

	if (token.len == 0 || token.ptr[0] == '-' || (token.len > 1 && token.ptr[0] == '0'))
		return NULL;
	return str_to_int(token, &index) ? json_at(array, (size_t)index) : NULL;
}

const struct json *
pointer_get(struct arena *a, const struct json *doc, str p)
{
	while (doc && p.len) {
		str token, name;

		if (p.ptr[0] != '/')
			return NULL;
		p = str_skip(p, 1);
		token = (str){ p.ptr, str_find(p, '/') };
		p = str_skip(p, token.len);
		if (!unescape(a, token, &name))
			return NULL;
		doc = doc->type == JSON_ARRAY ? item_at(doc, name) : json_get(doc, name);
	}
	return doc;
}

void
pointer_add_key(struct buf *b, str key)
{
	buf_add_char(b, '/');
	for (size_t i = 0; i < key.len; i++) {
		if (key.ptr[i] == '~')
			buf_add(b, STR("~0"));
		else if (key.ptr[i] == '/')
			buf_add(b, STR("~1"));
		else
			buf_add_char(b, key.ptr[i]);
	}
}

/* Room for a pointer of our own making: bounded by the depth and the names of a document that was read. */
static void
begin(struct buf *b, struct arena *a, str parent)
{
	buf_init(b, a, SIZE_MAX);
	buf_add(b, parent);
}

str
pointer_key(struct arena *a, str parent, str key)
{
	struct buf b;

	begin(&b, a, parent);
	pointer_add_key(&b, key);
	return buf_str(&b);
}

str
pointer_index(struct arena *a, str parent, size_t index)
{
	struct buf b;

	begin(&b, a, parent);
	buf_add_char(&b, '/');
	buf_add_int(&b, (int64_t)index);
	return buf_str(&b);
}
