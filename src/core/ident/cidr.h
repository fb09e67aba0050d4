/* SPDX-License-Identifier: Apache-2.0 */
/* cidr: "10.0.0.0/8", "2001:db8::/32", or one address. Pure. */
#ifndef CORE_IDENT_CIDR_H
#define CORE_IDENT_CIDR_H

#include "base/str.h"

bool cidr_valid(str block);

/* Is the address inside the block? An IPv4 address and its IPv6-mapped form are the same. False where either
 * is malformed. */
bool cidr_holds(str block, str address);

/* Is every address of inner in outer? False where either is malformed. */
bool cidr_within(str outer, str inner);

#endif
