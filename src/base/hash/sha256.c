/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of OpenSSL that need neither a lookup by name nor memory of their own for each hash: most of ours
 * are of less than a kilobyte. OpenSSL 3 would rather see EVP, hence the version.
 */
#define OPENSSL_API_COMPAT 10101

#include "base/hash/sha256.h"

#include "base/check.h"

#include <openssl/sha.h>
#include <sodium.h>
#include <string.h>

_Static_assert(sizeof(struct sha256) >= sizeof(SHA256_CTX), "OpenSSL's state fits");
_Static_assert(SHA256_BYTES == SHA256_DIGEST_LENGTH, "a hash has 32 bytes");

#define BLOCK 64 /* bytes that SHA-256 takes at once */

void
sha256_init(struct sha256 *s)
{
	CHECK(SHA256_Init((SHA256_CTX *)s->state) == 1);
}

void
sha256_add(struct sha256 *s, str bytes)
{
	if (bytes.len)
		CHECK(SHA256_Update((SHA256_CTX *)s->state, bytes.ptr, bytes.len) == 1);
}

void
sha256_done(struct sha256 *s, unsigned char out[SHA256_BYTES])
{
	CHECK(SHA256_Final(out, (SHA256_CTX *)s->state) == 1);
}

void
sha256_of(str bytes, unsigned char out[SHA256_BYTES])
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, bytes);
	sha256_done(&s, out);
}

str
sha256_hex(struct arena *a, str bytes)
{
	unsigned char hash[SHA256_BYTES];
	char *hex = arena_alloc(a, SHA256_HEX + 1);

	sha256_of(bytes, hash);
	(void)sodium_bin2hex(hex, SHA256_HEX + 1, hash, sizeof(hash));
	return (str){ hex, SHA256_HEX };
}

/* RFC 2104: the key, filled up to a block, with each byte changed by pad. */
static void
begin(struct sha256 *s, const unsigned char key[SHA256_BYTES], unsigned char pad)
{
	unsigned char block[BLOCK];

	memset(block, pad, sizeof(block));
	for (size_t i = 0; i < SHA256_BYTES; i++)
		block[i] ^= key[i];
	sha256_init(s);
	sha256_add(s, (str){ (const char *)block, sizeof(block) });
	sodium_memzero(block, sizeof(block));
}

void
hmac_init(struct hmac *h, const unsigned char key[SHA256_BYTES])
{
	begin(&h->inner, key, 0x36);
	begin(&h->outer, key, 0x5c);
}

void
hmac_add(struct hmac *h, str bytes)
{
	sha256_add(&h->inner, bytes);
}

void
hmac_done(struct hmac *h, unsigned char out[SHA256_BYTES])
{
	unsigned char hash[SHA256_BYTES];

	sha256_done(&h->inner, hash);
	sha256_add(&h->outer, (str){ (const char *)hash, sizeof(hash) });
	sha256_done(&h->outer, out);
	sodium_memzero(h, sizeof(*h));
}
