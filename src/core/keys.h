/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys: the secrets that live outside the database, in one file (mode 0600).
 *
 *	mac      authenticates proposals, votes and entries of the log, and makes nonces
 *	seal     encrypts the audit's values (wraps the keys of subjects)
 *	sign     Ed25519: signs checkpoints; its public half goes into exports
 *
 * Servers that share a database share the file: its fingerprint is stored at init and a
 * server with another file refuses to start.
 */
#ifndef CORE_KEYS_H
#define CORE_KEYS_H

#include "base/ctx.h"

struct keys {
	unsigned char mac[32], seal[32];
	unsigned char sign_secret[64], sign_public[32];
};

/* Reads the file. E_NOT_FOUND there is none; E_INVALID it is not one of ours, or others may read it. */
status keys_load(struct ctx *cx, const char *path, struct keys *out) MUST_USE;

/* Makes a new file. E_EXISTS there is one already. */
status keys_create(struct ctx *cx, const char *path, struct keys *out) MUST_USE;

/* First 16 hex digits of SHA-256 over all public and hashed secret parts: same file, same fingerprint. */
str keys_fingerprint(struct arena *a, const struct keys *k);

/* HMAC-SHA-256 over length-prefixed parts: no two lists give the same input. */
void keys_mac(const struct keys *k, const str *parts, size_t count, unsigned char out[32]);

/* The same as 64 hexadecimal digits. The first part says what is authenticated. */
str keys_mac_hex(struct arena *a, const struct keys *k, const str *parts, size_t count);

/*
 * A box: XChaCha20-Poly1305, a fresh nonce before the ciphertext. `about` is bound to it: a box that was moved
 * elsewhere does not open. keys_open gives an empty text where it is not what was boxed, or does not fit the
 * arena.
 *
 * E_TOO_LARGE
 */
#define KEYS_KEY 32u
status keys_box(struct ctx *cx, const unsigned char key[KEYS_KEY], str plain, str about, str *out) MUST_USE;
str keys_open(struct ctx *cx, const unsigned char key[KEYS_KEY], str boxed, str about);

#endif
