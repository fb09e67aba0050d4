/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* IANA's registry of special-purpose addresses: what is not to be reached globally, or is no one machine. */
static const struct {
	uint32_t network;
	int bits;
} private4[] = {
	{ 0x00000000, 8 },  /* this network */
	{ 0x0a000000, 8 },  /* private */
	{ 0x64400000, 10 }, /* shared: carriers */
	{ 0x7f000000, 8 },  /* loopback */
	{ 0xa83f8110, 32 }, /* 168.63.129.16: what a machine at Azure asks about itself */
	{ 0xa9fe0000, 16 }, /* link-local: clouds answer questions about themselves here */
	{ 0xac100000, 12 }, /* private */
	{ 0xc0000000, 24 }, /* protocols */
	{ 0xc0000200, 24 }, /* examples */
	{ 0xc01fc400, 24 }, /* AS112: answers for private names */
	{ 0xc034c100, 24 }, /* multicast without a tunnel */
	{ 0xc0586300, 24 }, /* 6to4 relays */
	{ 0xc0a80000, 16 }, /* private */
	{ 0xc0af3000, 24 }, /* AS112 */
	{ 0xc6120000, 15 }, /* benchmarks */
	{ 0xc6336400, 24 }, /* examples */
	{ 0xcb007100, 24 }, /* examples */
	{ 0xe0000000, 3 },  /* multicast, reserved, broadcast */
};

static bool
is_public4(uint32_t a)
{
	for (size_t i = 0; i < sizeof(private4) / sizeof(private4[0]); i++)
		if ((a ^ private4[i].network) >> (32 - private4[i].bits) == 0)
			return false;
	return true;
}

static const struct {
	uint8_t prefix[4];
	int bits;
} private6[] = {
	{ { 0x20, 0x01, 0x00, 0x00 }, 23 }, /* protocols, Teredo */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32 }, /* examples */
	{ { 0x20, 0x02, 0x00, 0x00 }, 16 }, /* 6to4: an IPv4 address is in it */
	{ { 0x26, 0x20, 0x00, 0x4f }, 32 }, /* AS112 is 2620:4f:8000::/48; its neighbours are nobody's */
	{ { 0x3f, 0xff, 0x00, 0x00 }, 20 }, /* examples */
};

static uint32_t
first32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static bool
is_public6(const uint8_t *a)
{
	uint32_t head = first32(a);

	if (memcmp(a, mapped, sizeof(mapped)) == 0)
		return is_public4(first32(a + 12));
	for (size_t i = 0; i < sizeof(private6) / sizeof(private6[0]); i++)
		if ((head ^ first32(private6[i].prefix)) >> (32 - private6[i].bits) == 0)
			return false;
	return head >> 29 == 1; /* 2000::/3 is all that was given out */
}

bool
http_guard_public(const struct sockaddr *address)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (address->sa_family == AF_INET) {
		memcpy(&v4, address, sizeof(v4));
		return is_public4(ntohl(v4.sin_addr.s_addr));
	}
	if (address->sa_family == AF_INET6) {
		memcpy(&v6, address, sizeof(v6));
		return is_public6(v6.sin6_addr.s6_addr);
	}
	return false;
}

/* --- networks that somebody has named --- */

/* Has a the first bits of b? */
static bool
agrees(const uint8_t *a, const uint8_t *b, int bits)
{
	size_t whole = (size_t)bits / 8;
	int rest = bits % 8;

	return memcmp(a, b, whole) == 0 && (!rest || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

static bool
is_first(const struct http_net *n)
{
	for (int i = n->bits; i < (n->family == AF_INET ? 32 : 128); i++)
		if (n->bytes[i / 8] >> (7 - i % 8) & 1)
			return false;
	return true;
}

bool
http_net_read(str text, struct http_net *out)
{
	struct http_net n = { .family = str_find(text, ':') < text.len ? AF_INET6 : AF_INET };
	str address = text, mask = { 0 };
	int64_t bits = n.family == AF_INET ? 32 : 128, most = bits;
	char room[INET6_ADDRSTRLEN];

	if (str_cut(text, '/', &address, &mask) && (!str_to_int(mask, &bits) || bits < 0 || bits > most))
		return false;
	if (!address.len || address.len >= sizeof(room) || str_find(address, '\0') < address.len)
		return false;
	memcpy(room, address.ptr, address.len);
	room[address.len] = '\0';
	n.bits = (int)bits;
	if (inet_pton(n.family, room, n.bytes) != 1 || !is_first(&n))
		return false;
	*out = n;
	return true;
}

bool
http_net_has(const struct http_net *nets, size_t count, const struct sockaddr *address)
{
	struct http_net a = { .family = address->sa_family };
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (a.family == AF_INET) {
		memcpy(&v4, address, sizeof(v4));
		memcpy(a.bytes, &v4.sin_addr, 4);
	} else if (a.family == AF_INET6) {
		memcpy(&v6, address, sizeof(v6));
		memcpy(a.bytes, &v6.sin6_addr, 16);
		if (memcmp(a.bytes, mapped, sizeof(mapped)) == 0) {
			a.family = AF_INET;
			memcpy(a.bytes, v6.sin6_addr.s6_addr + 12, 4);
		}
	} else {
		return false;
	}
	for (size_t i = 0; i < count; i++)
		if (nets[i].family == a.family && agrees(a.bytes, nets[i].bytes, nets[i].bits))
			return true;
	return false;
}

bool
http_net_suits(str url, str nets)
{
	return !str_starts(url, STR("http://")) || nets.len > 0;
}
