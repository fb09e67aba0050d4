/* SPDX-License-Identifier: Apache-2.0 */
/* peers: how many connections each address has. An IPv6 address counts as its /64: that is what one customer
 * has. */
#ifndef HTTP_PEERS_H
#define HTTP_PEERS_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct http_peer_key {
	uint8_t family;
	uint8_t bytes[8]; /* the IPv4 address, or the first half of the IPv6 one */
};

struct http_peers;
struct http_peers *http_peers_new(void);
void http_peers_free(struct http_peers *p);

struct http_peer_key http_peer_key(const struct sockaddr *address);

/* One connection more; false, and nothing is counted, where it would pass max. */
bool http_peers_add(struct http_peers *p, struct http_peer_key k, int max);
void http_peers_remove(struct http_peers *p, struct http_peer_key k);

struct http_request;
struct http_proxies;
/* Who sent r, which came from peer: peer itself, or where that is a proxy the nearest address that is none. What it gives
 * lives as long as r's headers and peer. */
str http_client_behind(const struct http_request *r, str peer, const struct http_proxies *p);

/* The same part of a client's address that its connections are counted by: an IPv4 address, or the /64 of an IPv6 one; as it
 * is where it is no address. */
str http_client_network(struct arena *a, str address);

#endif
