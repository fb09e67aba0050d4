/* SPDX-License-Identifier: Apache-2.0 */
#include "core/card/looks.h"

uint32_t
looks_of(uint32_t c)
{
	const struct looks_table *t = &looks_table;
	size_t low, high;

	if (c < 128)
		return t->ascii[c];
	low = t->page[c / LOOKS_PAGE];
	high = t->page[c / LOOKS_PAGE + 1] + (size_t)1;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (t->from[middle] <= c)
			low = middle;
		else
			high = middle;
	}
	return t->kinds[t->which[low]];
}

/* The character at p: valid UTF-8 of n bytes. */
static uint32_t
decode(const unsigned char *p, size_t n)
{
	uint32_t c = n == 1 ? p[0] : p[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

struct looks_char
looks_at(str text, size_t at)
{
	const unsigned char *p = (const unsigned char *)text.ptr + at;
	struct looks_char out = { .n = str_utf8_sequence(str_skip(text, at)) };

	out.c = out.n ? decode(p, out.n) : *p;
	out.look = out.n ? looks_of(out.c) : (uint32_t)LOOKS_CONTROL << LOOKS_HIDES_SHIFT;
	return out;
}
