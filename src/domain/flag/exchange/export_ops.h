/* SPDX-License-Identifier: Apache-2.0 */
/* export_ops: an environment as a file, over REST (docs/import.md). To import one is a tool (change/import.c). */
#ifndef DOMAIN_FLAG_EXCHANGE_EXPORT_OPS_H
#define DOMAIN_FLAG_EXCHANGE_EXPORT_OPS_H

#include "core/op.h"

extern const struct op exchange_ops[];

#endif
