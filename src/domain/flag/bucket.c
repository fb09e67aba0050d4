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

/* Four bytes, little-endian on every machine. */
static uint32_t
block_at(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void
take_block(struct bucket *b, const unsigned char *p)
{
	b->hash = rotate(b->hash ^ scramble(block_at(p)), 13) * 5 + 0xe6546b64u;
}

void
bucket_add(struct bucket *b, str text)
{
	const unsigned char *p = (const unsigned char *)text.ptr;
	size_t left = text.len;

	b->len += (uint32_t)left;
	for (; left && b->tail_len; left--) {
		b->tail[b->tail_len++] = *p++;
		if (b->tail_len == 4) {
			take_block(b, b->tail);
			b->tail_len = 0;
		}
	}
	for (; left >= 4; left -= 4, p += 4)
		take_block(b, p);
	for (; left; left--)
		b->tail[b->tail_len++] = *p++;
}

uint32_t
bucket_hash(const struct bucket *b)
{
	unsigned char last[4] = { 0 };
	uint32_t h = b->hash;

	for (uint32_t i = 0; i < b->tail_len; i++)
		last[i] = b->tail[i];
	h ^= scramble(block_at(last)) ^ b->len;
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
