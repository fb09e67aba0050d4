/* SPDX-License-Identifier: Apache-2.0 */
/*
 * swar: eight bytes of a string at a time. Reader and writer both ask how many
 * bytes stand as they are: printable ASCII without '"' and '\'. That is most of every document.
 */
#ifndef JSON_SWAR_H
#define JSON_SWAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SWAR_ONES  UINT64_C(0x0101010101010101)
#define SWAR_HIGHS UINT64_C(0x8080808080808080)

static inline bool
swar_is_plain(char c)
{
	return (unsigned char)c >= 0x20 && (unsigned char)c < 0x80 && c != '"' && c != '\\';
}

/* The high bit of every byte that is zero (and perhaps of some above it: ask only for the lowest). */
static inline uint64_t
swar_zeros(uint64_t word)
{
	return (word - SWAR_ONES) & ~word & SWAR_HIGHS;
}

/* How many bytes from p, short of end, are plain. */
static inline size_t
swar_plain(const char *p, const char *end)
{
	const char *start = p;

	while (end - p >= 8) {
		uint64_t word, special;

		memcpy(&word, p, 8);
		special = swar_zeros(word ^ (SWAR_ONES * '"')) | swar_zeros(word ^ (SWAR_ONES * '\\')) |
			  swar_zeros(word & (SWAR_ONES * 0xe0)) | (word & SWAR_HIGHS);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		if (special)
			return (size_t)(p - start) + (size_t)__builtin_ctzll(special) / 8;
#else
		if (special)
			break;
#endif
		p += 8;
	}
	while (p < end && swar_is_plain(*p))
		p++;
	return (size_t)(p - start);
}

#endif
