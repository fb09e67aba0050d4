/* SPDX-License-Identifier: Apache-2.0 */
/*
 * declared: the tools of a connection, as an admin declares them (TL-1): what a webhook does, nobody else can say.
 *
 *	PUT /api/v1/connections/{id}/tools/{name} --> webhook.<name>, offered at once, version + 1 with every change
 *
 * Proposals that were made of another version are not applied: they say what they were shown (E_DRIFT).
 */
#ifndef EXEC_WEBHOOK_DECLARED_H
#define EXEC_WEBHOOK_DECLARED_H

#include "core/op.h"

extern const struct op declared_ops[];

#endif
