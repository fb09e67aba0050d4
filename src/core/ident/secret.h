/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret: bearer secrets and passwords (ID-5, ID-8).
 *
 *	cs_<kind>_<43 characters of base62><6 characters of checksum>
 *
 * 256 random bits; the checksum (CRC-32 of what stands before it) lets a scanner, and us, reject a mistyped
 * one without asking the database. Only the SHA-256 is ever stored. Passwords are Argon2id.
 */
#ifndef CORE_IDENT_SECRET_H
#define CORE_IDENT_SECRET_H

#include "base/ctx.h"

#define SECRET_KIND_PERSON  "pat"
#define SECRET_KIND_AGENT   "agt"
#define SECRET_KIND_SERVICE "svc"
#define SECRET_KIND_SESSION "ses"
#define SECRET_KIND_SETUP   "setup"
#define SECRET_KIND_LINK    "link"

/* A new secret of that kind. */
str secret_new(struct arena *a, const char *kind);

/* A password that a person can type once: 20 characters, about 119 bits. */
str secret_password(struct arena *a);

/* Has it the form of one of ours, with a right checksum? */
bool secret_valid(str secret);

/* SHA-256 in lower-case hexadecimal digits. */
str secret_hash(struct arena *a, str secret);

/* The kind and the last four characters, to tell tokens apart in a list: "agt …x9Qa". */
str secret_hint(struct arena *a, str secret);

/* E_INVALID  shorter than LIMIT_PASSWORD_LEAST or longer than LIMIT_PASSWORD_BYTES */
status password_check(struct ctx *cx, str password) MUST_USE;

/* Hashing keeps a processor busy: LIMIT_PASSWORD_HASHES run at once, and the others wait. Outside transactions.
 * E_BUSY  too many wait already, or not enough memory right now */
status password_hash(struct ctx *cx, str password, str *out_hash) MUST_USE;

/* Takes the same time whether hash is a real one or empty (an unknown person). */
status password_matches(struct ctx *cx, str password, str hash, bool *out_matches) MUST_USE;

#endif
