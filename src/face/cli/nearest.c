/* SPDX-License-Identifier: Apache-2.0 */
#include "face/cli/nearest.h"

#define WORD_MAX 48u /* longer than any name of ours; longer words are near to nothing */

static size_t
least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b; both at most WORD_MAX. */
static size_t
distance(str a, str b)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2], *spare;

	for (size_t j = 0; j <= b.len; j++)
		before[j] = last[j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		now[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			now[j] = least(
				last[j] + 1, now[j - 1] + 1, last[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]));
			if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1] &&
				before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[b.len];
}

void
nearest_try(struct nearest *best, str word, const char *candidate)
{
	str name = str_of(candidate);
	size_t d;

	if (!word.len || word.len > WORD_MAX || name.len > WORD_MAX)
		return;
	/* A beginning ("mig" for "migrate") is what people type who expect it to be completed. */
	d = word.len >= 3 && str_starts(name, word) ? 1 : distance(word, name);
	if (d > (word.len + 2) / 3 || (best->name && d >= best->distance))
		return;
	*best = (struct nearest){ candidate, d };
}
