/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard: is an address one of the public internet? For requests whose address a stranger chooses: they must not
 * reach what only this machine or its network reaches. Asked of the address that is connected to, after names
 * were looked up, so that a name which changes its mind gains nothing. Pure.
 */
#ifndef HTTP_CLIENT_GUARD_H
#define HTTP_CLIENT_GUARD_H

#include "base/str.h"

#include <sys/socket.h>

/* False for everything that is private, local, shared, reserved, multicast or a tunnel to such, and for other families. */
bool http_guard_public(const struct sockaddr *address);

/* A network that somebody in charge has named: "10.1.0.0/16", "fd00::/8", or one address. */
struct http_net {
	int family; /* AF_INET, AF_INET6 */
	uint8_t bytes[16];
	int bits;
};

/* False where text is none: another form, or an address that is not the network's first; *out is untouched. */
bool http_net_read(str text, struct http_net *out);

/* May a request that a stranger's words lead to go there in plain HTTP? Only into networks that somebody has named: on the
 * way to a public address everybody reads along. nets is their list, empty where there are none. */
bool http_net_suits(str url, str nets);

/* Is the address in one of them? An IPv4 address that is written as IPv6 (::ffff:0:0/96) is IPv4. */
bool http_net_has(const struct http_net *nets, size_t count, const struct sockaddr *address);

#endif
