/* SPDX-License-Identifier: Apache-2.0 */
/* cidr: "10.0.0.0/8", "2001:db8::/32", or one address. Pure. */
#ifndef CORE_IDENT_CIDR_H
#define CORE_IDENT_CIDR_H

#include "base/str.h"

/* Every address as IPv6, IPv4 mapped: one comparison serves both, and the two spellings are the same. */
struct cidr {
	unsigned char bytes[16];
	unsigned bits;
};

/* False where it is malformed; *out is then without meaning. An address is a block of one. */
bool cidr_parse(str block, struct cidr *out);
bool cidr_parse_address(str address, struct cidr *out);

/* Is every address of inner in outer? */
bool cidr_inside(const struct cidr *outer, const struct cidr *inner);

/* The same from text; false where any is malformed. */
bool cidr_valid(str block);
bool cidr_holds(str block, str address);
bool cidr_within(str outer, str inner);

#endif
