/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <inttypes.h>
#include <stdio.h>

#define FIRST_ROOM 256u

void
buf_init(struct buf *b, struct arena *a, size_t max)
{
	*b = (struct buf){ .arena = a, .max = max };
}

static char *
overflow(struct buf *b)
{
	b->overflow = true;
	b->room = b->len; /* so that buf_add_char's short cut is closed too */
	return NULL;
}

char *
buf_reserve(struct buf *b, size_t n)
{
	size_t need, room;
	char *p;

	if (b->overflow)
		return NULL;
	if (n <= b->room - b->len)
		return b->ptr + b->len;
	if (__builtin_add_overflow(b->len, n, &need) || need > b->max)
		return overflow(b);
	room = b->room ? b->room * 2 : FIRST_ROOM;
	if (room < need)
		room = need;
	if (room > b->max)
		room = b->max;
	p = arena_grow_bytes(b->arena, b->ptr, b->room, room);
	if (!p)
		return overflow(b);
	b->ptr = p;
	b->room = room;
	return p + b->len;
}

void
buf_add(struct buf *b, str s)
{
	char *p = s.len ? buf_reserve(b, s.len) : NULL;

	if (p) {
		memcpy(p, s.ptr, s.len);
		b->len += s.len;
	}
}

void
buf_add_int(struct buf *b, int64_t n)
{
	char room[STR_INT_ROOM];

	buf_add(b, str_of_int(n, room));
}

void
buf_printf(struct buf *b, const char *format, ...)
{
	va_list args, again;
	int n;
	char *p;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	/* one more for the NUL that vsnprintf writes and we do not keep */
	p = n >= 0 ? buf_reserve(b, (size_t)n + 1) : NULL;
	if (p) {
		(void)vsnprintf(p, (size_t)n + 1, format, again);
		b->len += (size_t)n;
	}
	va_end(again);
	va_end(args);
}

str
buf_str(const struct buf *b)
{
	return (str){ b->ptr, b->len };
}

status
buf_finish(const struct buf *b, str *out_text)
{
	if (b->overflow)
		return E_TOO_LARGE;
	*out_text = buf_str(b);
	return OK;
}
