/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begin: the moment since which every entry must carry a MAC.
 *
 * Entries of versions before have none. When a server starts for the first time after the upgrade it seals those that wait, and
 * notes beside the key and (under a MAC) in the database that this was done. It is done once: an entry without a MAC that
 * appears afterwards was not written by Countersign.
 */
#ifndef CORE_AUDIT_SEAL_BEGIN_H
#define CORE_AUDIT_SEAL_BEGIN_H

#include "base/ctx.h"

/*
 * Before the sealer's first round. Needs cx->keys. Does nothing where it was done.
 *
 * E_UNAVAILABLE  the note beside the key cannot be written
 */
status audit_begin(struct ctx *cx, const char *held_dir) MUST_USE;

#endif
