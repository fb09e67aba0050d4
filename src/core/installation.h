/* SPDX-License-Identifier: Apache-2.0 */
/*
 * installation: this database as a whole: one row, made by the first program that uses it.
 *
 * It names the key file that belongs to the database. Whoever comes with another one is sent
 * away: with other keys every stored row would look forged, and what it wrote would to others.
 */
#ifndef CORE_INSTALLATION_H
#define CORE_INSTALLATION_H

#include "base/ctx.h"

struct installation {
	str id; /* random, 32 hexadecimal digits; stays for the installation's life */
	str name;
	int64_t created_at_us;
	str keys; /* keys_fingerprint of the file that belongs to it */
};

/*
 * Joins the installation with these keys (their fingerprint), or makes it where there is none. The first
 * to come decides; the name, 1 to LIMIT_INSTALLATION_NAME bytes, counts only then.
 *
 * E_CONFLICT  it belongs to other keys; nothing is changed
 * E_INVALID   the name is empty or too long
 */
status installation_join(struct ctx *cx, str name, str keys, struct installation *out) MUST_USE;

/* E_NOT_FOUND  nobody has joined yet */
status installation_get(struct ctx *cx, struct installation *out) MUST_USE;

#endif
