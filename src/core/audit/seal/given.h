/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given: the checkpoints that answers had, until the sealer holds them (held.h). Safe for any thread.
 */
#ifndef CORE_AUDIT_SEAL_GIVEN_H
#define CORE_AUDIT_SEAL_GIVEN_H

#include "core/audit/tree.h"

struct given;

struct given *given_new(void);
void given_free(struct given *g);

/* An answer has this checkpoint. True: it is a newer one than was known of this organization, so it is to be taken soon. */
bool given_add(struct given *g, str org_id, const struct tree_checkpoint *c) MUST_USE;

/* One that is to be held, copied into the arena. False: none is left. */
bool given_take(struct given *g, struct arena *a, str *out_org_id, str *out_note) MUST_USE;

#endif
