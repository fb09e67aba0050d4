/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault: what changed, encrypted beside the log under a key per subject, so that destroying the key erases it
 *(AU-5).
 *
 *	key of a subject  32 random bytes, wrapped under keys.seal (associated data: organization, key id)
 *	values            XChaCha20-Poly1305 under the subject's key (associated data: the entry's id) of
 *	                  {"after":…,"before":…,"diff":[…],"salt":"<64 hex>"}
 *	hash in the entry SHA-256(salt bytes | name | 0x00 | canonical JSON), name being before, after or diff
 *
 * The salt lies inside the encrypted part: once the key is gone, a hash cannot even be guessed at.
 */
#ifndef CORE_AUDIT_VAULT_H
#define CORE_AUDIT_VAULT_H

#include "json/json.h"

struct vault_hashes {
	str before, after, diff; /* hex; empty where there is no such value */
};

/* Encrypts and stores the values of the entry; gives the hashes. Inside tx_run; needs cx->keys. Errors as
 * audit_add. */
status vault_put(struct ctx *cx, str org_id, str entry_id, str subject, const struct json *before,
	const struct json *after, struct vault_hashes *out) MUST_USE;

enum vault_state {
	VAULT_NONE,   /* the entry changed nothing */
	VAULT_OPEN,   /* here they are */
	VAULT_ERASED, /* the subject's key was destroyed */
	VAULT_BROKEN, /* stored, but not what was stored: somebody changed it, or another key file is in use
		       */
};

struct vault_values {
	enum vault_state state;
	const struct json *before, *after, *diff; /* NULL where absent */
};

/* What lies in the database of one value. */
struct vault_sealed {
	str key_id, sealed, wrapped; /* wrapped empty: the key is gone */
};

/* Decrypts and compares with the hashes. Never fails but for memory: what is wrong is in the state. */
status vault_open(struct ctx *cx, str org_id, str entry_id, const struct vault_sealed *v,
	const struct vault_hashes *hashes, struct vault_values *out) MUST_USE;

/* The values of an entry. Inside tx_run or db_read. */
status vault_get(struct ctx *cx, str org_id, str entry_id, const struct vault_hashes *hashes,
	struct vault_values *out) MUST_USE;

/* Destroys the subject's key; *out_key_id is the one it was. Inside tx_run. E_NOT_FOUND  there is none */
status vault_destroy(struct ctx *cx, str org_id, str subject, str *out_key_id) MUST_USE;

#endif
