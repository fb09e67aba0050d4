/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ident/cidr.h"

#include <arpa/inet.h>

/* Every address as IPv6, IPv4 mapped: one comparison serves both. */
struct block {
	unsigned char bytes[16];
	unsigned bits;
};

static bool
read_address(str text, struct block *out)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	char name[INET6_ADDRSTRLEN + 1] = { 0 };

	if (!text.len || text.len >= sizeof(name))
		return false;
	memcpy(name, text.ptr, text.len);
	out->bits = 128;
	if (inet_pton(AF_INET6, name, out->bytes) == 1)
		return true;
	memcpy(out->bytes, mapped, sizeof(mapped));
	return inet_pton(AF_INET, name, out->bytes + 12) == 1;
}

static bool
read_block(str text, struct block *out)
{
	str address = text, length = { 0 };
	int64_t bits;
	bool v4;

	(void)str_cut(text, '/', &address, &length);
	v4 = str_find(address, ':') == address.len;
	if (!read_address(address, out))
		return false;
	if (address.len == text.len)
		return true;
	if (length.len > 3 || !str_to_int(length, &bits) || bits < 0 || bits > (v4 ? 32 : 128))
		return false;
	out->bits = (unsigned)bits + (v4 ? 96 : 0);
	return true;
}

bool
cidr_valid(str block)
{
	struct block b;

	return read_block(block, &b);
}

static bool
inside(const struct block *outer, const struct block *inner)
{
	unsigned whole = outer->bits / 8, rest = outer->bits % 8;

	if (inner->bits < outer->bits || memcmp(inner->bytes, outer->bytes, whole) != 0)
		return false;
	return rest == 0 || (inner->bytes[whole] ^ outer->bytes[whole]) >> (8 - rest) == 0;
}

bool
cidr_holds(str block, str address)
{
	struct block b, a;

	return read_block(block, &b) && read_address(address, &a) && inside(&b, &a);
}

bool
cidr_within(str outer, str inner)
{
	struct block o, i;

	return read_block(outer, &o) && read_block(inner, &i) && inside(&o, &i);
}
