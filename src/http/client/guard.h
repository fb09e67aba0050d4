/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard: is an address one of the public internet? For requests whose address a stranger chooses: they must not
 * reach what only this machine or its network reaches. Asked of the address that is connected to, after names
 * were looked up, so that a name which changes its mind gains nothing. Pure.
 */
#ifndef HTTP_CLIENT_GUARD_H
#define HTTP_CLIENT_GUARD_H

#include <stdbool.h>
#include <sys/socket.h>

/* False for everything that is private, local, shared, reserved, multicast or a tunnel to such, and for other families. */
bool http_guard_public(const struct sockaddr *address);

#endif
