/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep: what those who remember callers share (recall, known): a key for a credential, and a deep copy.
 */
#ifndef CORE_KNOWN_KEEP_H
#define CORE_KNOWN_KEEP_H

#include "core/ident/caller.h"

#define KEEP_SECRET 16u
#define KEEP_KEY    16u

/* 128 bits under a secret of this process: a tenth of the time of the hash that is stored, and nobody who does
 * not know the secret finds two tokens that share one. */
void keep_key(const unsigned char secret[KEEP_SECRET], str bearer, unsigned char key[KEEP_KEY]);

/* How many bytes a copy needs beside the struct, and the copy; room is aligned as malloc's. */
size_t keep_room(const struct caller *c);
void keep_copy(const struct caller *c, void *room, struct caller *out);

#endif
