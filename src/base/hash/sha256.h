/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sha256: SHA-256 and HMAC-SHA-256, in one go or piece by piece.
 *
 * OpenSSL's, since it uses the processor's instructions for it: most of what a decision computes is hashes, and
 * libsodium's portable ones take about six times as long.
 *
 *	struct sha256 s;
 *	sha256_init(&s);
 *	sha256_add(&s, piece);	as often as needed
 *	sha256_done(&s, out);	s is over; init it again
 */
#ifndef BASE_HASH_SHA256_H
#define BASE_HASH_SHA256_H

#include "base/arena.h"
#include "base/str.h"

#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_HEX   64u

struct sha256 {
	uint64_t state[14]; /* OpenSSL's SHA256_CTX: sha256.c checks that it fits */
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, str bytes);
void sha256_done(struct sha256 *s, unsigned char out[SHA256_BYTES]);

void sha256_of(str bytes, unsigned char out[SHA256_BYTES]);

/* In lower-case hexadecimal digits. */
str sha256_hex(struct arena *a, str bytes);

/* The same life cycle. No trace of the key stays behind after hmac_done. */
struct hmac {
	struct sha256 inner, outer;
};
void hmac_init(struct hmac *h, const unsigned char key[SHA256_BYTES]);
void hmac_add(struct hmac *h, str bytes);
void hmac_done(struct hmac *h, unsigned char out[SHA256_BYTES]);

#endif
