/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ident/cidr.h"

#include <arpa/inet.h>

bool
cidr_parse_address(str text, struct cidr *out)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	char name[INET6_ADDRSTRLEN + 1] = { 0 };

	if (!text.len || text.len >= sizeof(name) || str_find(text, '\0') < text.len)
		return false;
	memcpy(name, text.ptr, text.len);
	out->bits = 128;
	if (inet_pton(AF_INET6, name, out->bytes) == 1)
		return true;
	memcpy(out->bytes, mapped, sizeof(mapped));
	return inet_pton(AF_INET, name, out->bytes + 12) == 1;
}

bool
cidr_parse(str text, struct cidr *out)
{
	str address = text, length = { 0 };
	int64_t bits;
	bool v4;

	(void)str_cut(text, '/', &address, &length);
	v4 = str_find(address, ':') == address.len;
	if (!cidr_parse_address(address, out))
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
	struct cidr b;

	return cidr_parse(block, &b);
}

bool
cidr_inside(const struct cidr *outer, const struct cidr *inner)
{
	unsigned whole = outer->bits / 8, rest = outer->bits % 8;

	if (inner->bits < outer->bits || memcmp(inner->bytes, outer->bytes, whole) != 0)
		return false;
	return rest == 0 || (inner->bytes[whole] ^ outer->bytes[whole]) >> (8 - rest) == 0;
}

bool
cidr_holds(str block, str address)
{
	struct cidr b, a;

	return cidr_parse(block, &b) && cidr_parse_address(address, &a) && cidr_inside(&b, &a);
}

bool
cidr_within(str outer, str inner)
{
	struct cidr o, i;

	return cidr_parse(outer, &o) && cidr_parse(inner, &i) && cidr_inside(&o, &i);
}
