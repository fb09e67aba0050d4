/* SPDX-License-Identifier: Apache-2.0 */
/* The client's address behind proxies that the operator trusts: Forwarded (RFC 7239) or X-Forwarded-For. */
#include "base/limits.h"
#include "http/client/guard.h"
#include "http/http.h"
#include "http/peers.h"

#include <arpa/inet.h>

/* The addresses of a header, from the last, which the nearest proxy wrote, to the first, which anybody can have written. */
struct hops {
	const struct http_request *req;
	str name;     /* of the header */
	size_t index; /* headers before this one are still to be read */
	str rest;     /* of the line that is being read */
};

static bool
next_line(struct hops *h)
{
	while (h->index > 0) {
		const struct http_header *line = &h->req->headers[--h->index];

		if (line->name.len == h->name.len && str_eq_nocase(line->name, h->name)) {
			h->rest = line->value;
			return true;
		}
	}
	return false;
}

static bool
next_hop(struct hops *h, str *out)
{
	size_t comma;

	if (!h->rest.len && !next_line(h))
		return false;
	comma = h->rest.len;
	while (comma > 0 && h->rest.ptr[comma - 1] != ',')
		comma--;
	*out = str_trim(str_skip(h->rest, comma));
	h->rest.len = comma ? comma - 1 : 0;
	return true;
}

/* for=192.0.2.1;proto=https -> 192.0.2.1 */
static str
for_of(str element)
{
	str rest = element, one, key, value;

	while (rest.len) {
		if (!str_cut(rest, ';', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		if (str_cut(str_trim(one), '=', &key, &value) && str_eq_nocase(key, STR("for")))
			return value;
	}
	return (str){ 0 };
}

/* 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1]:80, each maybe in quotes -> the address alone */
static str
without_port(str node)
{
	if (node.len >= 2 && node.ptr[0] == '"' && node.ptr[node.len - 1] == '"')
		node = (str){ node.ptr + 1, node.len - 2 };
	if (str_starts(node, STR("["))) {
		node = str_skip(node, 1);
		node.len = str_find(node, ']');
	} else if (str_find(node, ':') < node.len && str_find(str_skip(node, str_find(node, ':') + 1), ':') ==
							     node.len - str_find(node, ':') - 1) {
		node.len = str_find(node, ':');
	}
	return node;
}

static bool
read_address(str text, struct sockaddr_storage *out)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	char room[INET6_ADDRSTRLEN];

	memset(out, 0, sizeof(*out));
	if (!text.len || text.len >= sizeof(room) || str_find(text, '\0') < text.len)
		return false;
	memcpy(room, text.ptr, text.len);
	room[text.len] = '\0';
	if (inet_pton(AF_INET, room, &v4.sin_addr) == 1) {
		memcpy(out, &v4, sizeof(v4));
		return true;
	}
	memcpy(out, &v6, sizeof(v6));
	return inet_pton(AF_INET6, room, &((struct sockaddr_in6 *)(void *)out)->sin6_addr) == 1;
}

static bool
is_proxy(const struct http_proxies *p, str address)
{
	struct sockaddr_storage a;

	return p->count && read_address(address, &a) &&
	       http_net_has(p->nets, p->count, (const struct sockaddr *)&a);
}

static bool
has(const struct http_request *r, str name)
{
	for (size_t i = 0; i < r->header_count; i++)
		if (r->headers[i].name.len == name.len && str_eq_nocase(r->headers[i].name, name))
			return true;
	return false;
}

str
http_client_behind(const struct http_request *r, str peer, const struct http_proxies *p)
{
	static const str standard = { "Forwarded", 9 }, usual = { "X-Forwarded-For", 15 };
	bool is_standard = has(r, standard);
	struct hops h = { .req = r, .name = is_standard ? standard : usual, .index = r->header_count };
	struct sockaddr_storage a;
	str hop, client = peer;

	/* A proxy writes one of the two and passes on what a client put into the other: nobody can tell which. */
	if (!is_proxy(p, peer) || (is_standard && has(r, usual)))
		return peer;
	for (int i = 0; i < LIMIT_HTTP_HOPS && next_hop(&h, &hop); i++) {
		str address = without_port(is_standard ? for_of(hop) : hop);

		if (!read_address(address, &a))
			return client; /* the last proxy does not say whom it spoke with */
		client = address;
		if (!http_net_has(p->nets, p->count, (const struct sockaddr *)&a))
			return client;
	}
	return client;
}

str
http_client_network(struct arena *a, str address)
{
	struct sockaddr_storage s;
	struct http_peer_key k;

	if (!read_address(address, &s))
		return address;
	k = http_peer_key((const struct sockaddr *)&s);
	return arena_printf(a, "%u %02x%02x%02x%02x%02x%02x%02x%02x", k.family, k.bytes[0], k.bytes[1],
		k.bytes[2], k.bytes[3], k.bytes[4], k.bytes[5], k.bytes[6], k.bytes[7]);
}
