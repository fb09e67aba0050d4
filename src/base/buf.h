/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf: text that grows in an arena, up to a maximum.
 *
 *	buf_init -> buf_add ... -> buf_finish
 *
 * Overflow is sticky: after the first piece that does not fit, later ones are
 * dropped and buf_finish says E_TOO_LARGE. So writers need no check per call.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/arena.h"
#include "base/status.h"

struct buf {
	struct arena *arena;
	char *ptr;
	size_t len, room, max;
	bool overflow;
};

void buf_init(struct buf *b, struct arena *a, size_t max);

void buf_add(struct buf *b, str s);
void buf_add_int(struct buf *b, int64_t n);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Room for n more bytes at the end, or NULL on overflow; buf_took says how many were written there. */
char *buf_reserve(struct buf *b, size_t n);

static inline void
buf_took(struct buf *b, size_t n)
{
	b->len += n;
}

static inline void
buf_add_char(struct buf *b, char c)
{
	char *p = b->len < b->room ? b->ptr + b->len : buf_reserve(b, 1);

	if (p) {
		*p = c;
		b->len++;
	}
}

/* What has been written; after an overflow, what fitted. */
str buf_str(const struct buf *b);

/* E_TOO_LARGE  something did not fit; *out_text untouched */
status buf_finish(const struct buf *b, str *out_text) MUST_USE;

#endif
