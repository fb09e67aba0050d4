/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint: a tree's size and root, signed: C2SP tlog-checkpoint in a C2SP signed note (Ed25519).
 *
 *	countersign/0192f3c4-…          the origin: which log
 *	1024                            its size
 *	CsUYapGGPo4dkMgIAUqom/…=        its root, base64
 *
 *	— countersign/0192f3c4-… Az3grl…        name of the key, base64(key id | signature)
 *
 * The key's name is the origin, so a signature for one organization's log says nothing about another's.
 * The public key as text ("vkey") is name+id+base64(0x01 | key); the id is the first four bytes of
 * SHA-256(name | 0x0a | 0x01 | key).
 */
#ifndef CORE_AUDIT_CHECKPOINT_H
#define CORE_AUDIT_CHECKPOINT_H

#include "core/audit/merkle.h"
#include "core/keys.h"

struct checkpoint {
	str origin;
	uint64_t size;
	struct merkle_hash root;
};

/* A public key that has been read from its text. */
struct checkpoint_key {
	str name;
	unsigned char bytes[32];
};

/* The key by which we sign an organization's log. Needs cx->keys. */
struct checkpoint_key checkpoint_key_own(struct ctx *cx, str org_id);

/* The origin of an organization's log, "countersign/<org id>". */
str checkpoint_origin(struct arena *a, str org_id);

/* The signed text. */
str checkpoint_sign(struct arena *a, const struct keys *keys, const struct checkpoint *c);

/*
 * Reads and verifies. Lines of other signers (witnesses) may follow; there must be one by this key.
 * Everything borrows from text.
 *
 * E_INVALID  not a checkpoint, not signed by this key, or the signature is wrong: the message says which
 */
status
checkpoint_open(struct ctx *cx, str text, const struct checkpoint_key *key, struct checkpoint *out) MUST_USE;

/* Has the text the form of a checkpoint, whoever signed it? */
bool checkpoint_formed(str text) MUST_USE;

/* The public key for a log, as text; and read from it. E_INVALID  it is not one */
str checkpoint_key_text(struct arena *a, str name, const unsigned char public_key[32]);
status checkpoint_key_parse(struct ctx *cx, str text, struct checkpoint_key *out) MUST_USE;

/* Standard base64 with padding. */
str base64_text(struct arena *a, const unsigned char *bytes, size_t count);

/* Exactly count bytes, in the one form that base64_text gives. */
bool base64_bytes(str text, unsigned char *out, size_t count);

#endif
