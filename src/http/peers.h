/* SPDX-License-Identifier: Apache-2.0 */
/* peers: how many connections each address has. An IPv6 address counts as its /64: that is what one customer
 * has. */
#ifndef HTTP_PEERS_H
#define HTTP_PEERS_H

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

#endif
