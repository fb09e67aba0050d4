/* SPDX-License-Identifier: Apache-2.0 */
/* ops: projects, environments, flags, configs and segments over REST (docs/flags.md). */
#ifndef DOMAIN_FLAG_STORE_OPS_H
#define DOMAIN_FLAG_STORE_OPS_H

#include "core/op.h"

extern const struct op item_ops[];    /* flags, configs, segments */
extern const struct op project_ops[]; /* projects and their environments */

#endif
