/* SPDX-License-Identifier: Apache-2.0 */
#include "http/peers.h"

#include "base/check.h"
#include "base/random.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024u

struct peer {
	struct peer *next;
	struct http_peer_key key;
	int count;
};

struct http_peers {
	uint64_t seed; /* so that nobody can choose addresses that share a bucket */
	struct peer *buckets[BUCKETS];
};

struct http_peers *
http_peers_new(void)
{
	struct http_peers *p = calloc(1, sizeof(*p));

	CHECK(p);
	random_bytes(&p->seed, sizeof(p->seed));
	return p;
}

void
http_peers_free(struct http_peers *p)
{
	for (size_t i = 0; i < BUCKETS; i++)
		CHECK(!p->buckets[i]); /* every connection was closed before */
	free(p);
}

struct http_peer_key
http_peer_key(const struct sockaddr *address)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct http_peer_key k = { 0 };
	struct sockaddr_in6 six;
	struct sockaddr_in four;

	if (address->sa_family == AF_INET) {
		memcpy(&four, address, sizeof(four));
		k.family = 4;
		memcpy(k.bytes, &four.sin_addr, 4);
	} else if (address->sa_family == AF_INET6) {
		memcpy(&six, address, sizeof(six));
		/* an IPv4 client of a dual-stack socket is one address, not all of them */
		bool is_four = memcmp(six.sin6_addr.s6_addr, mapped, sizeof(mapped)) == 0;

		k.family = is_four ? 4 : 6;
		memcpy(k.bytes, six.sin6_addr.s6_addr + (is_four ? 12 : 0), is_four ? 4 : 8);
	}
	return k;
}

static struct peer **
find(struct http_peers *p, struct http_peer_key k)
{
	uint64_t h = p->seed ^ k.family;
	struct peer **at;

	for (size_t i = 0; i < sizeof(k.bytes); i++)
		h = (h ^ k.bytes[i]) * UINT64_C(0x9e3779b97f4a7c15), h ^= h >> 29;
	at = &p->buckets[h % BUCKETS];
	while (*at && memcmp(&(*at)->key, &k, sizeof(k)) != 0)
		at = &(*at)->next;
	return at;
}

bool
http_peers_add(struct http_peers *p, struct http_peer_key k, int max)
{
	struct peer **at = find(p, k), *peer = *at;

	if (peer && peer->count >= max)
		return false;
	if (!peer) {
		peer = calloc(1, sizeof(*peer));
		CHECK(peer);
		peer->key = k;
		*at = peer;
	}
	peer->count++;
	return true;
}

void
http_peers_remove(struct http_peers *p, struct http_peer_key k)
{
	struct peer **at = find(p, k), *gone = *at;

	CHECK(gone);
	CHECK(gone->count > 0);
	if (--gone->count > 0)
		return;
	*at = gone->next;
	free(gone);
}
