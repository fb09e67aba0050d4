/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/bucket.h"

static uint32_t
rotate(uint32_t x, int by)
{
	return (x << by) | (x >> (32 - by));
}

static uint32_t
scramble(uint32_t block)
{
	return rotate(block * 0xcc9e2d51u, 15) * 0x1b873593u;
}

/* Up to four bytes, little-endian on every machine; what is missing is 0. */
static uint32_t
load(const char *p, size_t n)
{
	uint32_t word = 0;

	for (size_t i = 0; i < n; i++)
		word |= (uint32_t)(unsigned char)p[i] << 8 * i;
	return word;
}

static uint32_t
load_four(const char *p)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
#else
	return load(p, 4);
#endif
}

static uint32_t
mix(uint32_t hash, uint32_t block)
{
	return rotate(hash ^ scramble(block), 13) * 5 + 0xe6546b64u;
}

/* Blocks are four bytes; those of text are shifted by what was left over before. */
void
bucket_add(struct bucket *b, str text)
{
	uint32_t shift = 8 * (b->len % 4), hash = b->hash;
	uint64_t tail = b->tail;
	size_t rest = text.len % 4;
	const char *p = text.ptr, *end = text.len ? p + text.len - rest : p;

	for (; p < end; p += 4) {
		tail |= (uint64_t)load_four(p) << shift;
		hash = mix(hash, (uint32_t)tail);
		tail >>= 32;
	}
	tail |= (uint64_t)load(p, rest) << shift;
	if (b->len % 4 + rest >= 4) {
		hash = mix(hash, (uint32_t)tail);
		tail >>= 32;
	}
	*b = (struct bucket){ hash, b->len + (uint32_t)text.len, (uint32_t)tail };
}

uint32_t
bucket_hash(const struct bucket *b)
{
	uint32_t h = b->hash ^ scramble(b->tail) ^ b->len;

	h = (h ^ h >> 16) * 0x85ebca6bu;
	h = (h ^ h >> 13) * 0xc2b2ae35u;
	return h ^ h >> 16;
}

uint32_t
bucket_of(const struct bucket *b, str target)
{
	struct bucket whole = *b;

	bucket_add(&whole, target);
	return (uint32_t)((uint64_t)bucket_hash(&whole) * BUCKETS >> 32);
}
