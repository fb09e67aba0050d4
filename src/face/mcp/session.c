/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of the legacy era. A session is its own id, and nothing is stored for it:
 *
 *	<version, 1><capabilities, 2><issued, seconds, 10><random, 16>.<MAC, 32>	all hexadecimal
 *
 * The MAC is over the principal too, so it is worth nothing to anybody else, and never a credential. What is
 * remembered here of some (the log level, that it was ended) is a courtesy of this server: forgetting it, or
 * asking another server, harms nobody.
 */
#include "face/mcp/call.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash/sha256.h"
#include "base/random.h"
#include "base/scoped.h"
#include "core/keys.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>

#define FRONT 29u /* 1 + 2 + 10 + 16 */
#define MAC   32u

const char *const session_versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", NULL };

struct note {
	uint64_t session;
	int level;
	bool ended;
};

struct subscription {
	uint64_t session, seen, holder, number; /* whose, and how many there were before it */
	char uri[LIMIT_MCP_URI + 1];		/* empty: none */
};

struct sessions {
	pthread_mutex_t lock;
	size_t followed;
	struct subscription subscriptions[LIMIT_MCP_SUBSCRIPTIONS];
	size_t count;
	struct note notes[LIMIT_MCP_NOTES]; /* a ring */
};

struct sessions *
sessions_new(void)
{
	struct sessions *s = calloc(1, sizeof(*s));

	CHECK(s != NULL && pthread_mutex_init(&s->lock, NULL) == 0);
	return s;
}

void
sessions_free(struct sessions *s)
{
	CHECK(pthread_mutex_destroy(&s->lock) == 0);
	free(s);
}

/* With the lock held; NULL: nothing is remembered of it. */
static struct note *
find(struct sessions *s, str session)
{
	uint64_t hash = message_hash(session);

	for (size_t i = 0; i < s->count && i < LIMIT_MCP_NOTES; i++)
		if (s->notes[i].session == hash)
			return &s->notes[i];
	return NULL;
}

static struct note *
find_or_add(struct sessions *s, str session)
{
	struct note *n = find(s, session);

	if (n)
		return n;
	n = &s->notes[s->count++ % LIMIT_MCP_NOTES];
	*n = (struct note){ .session = message_hash(session) };
	return n;
}

/* --- what it follows --- */

/* With the lock held. All of the session where uri is empty. How many are left of it. */
static size_t
drop(struct sessions *s, uint64_t session, str uri)
{
	size_t left = 0;

	for (size_t i = 0; i < LIMIT_MCP_SUBSCRIPTIONS; i++) {
		struct subscription *one = &s->subscriptions[i];

		if (!*one->uri || one->session != session)
			continue;
		if (uri.len && !str_eq(str_of(one->uri), uri)) {
			left++;
			continue;
		}
		*one->uri = '\0';
	}
	return left;
}

/* With the lock held: an empty place, or the oldest: of the holder's own where they have as many as one may. */
static struct subscription *
place(struct sessions *s, uint64_t holder)
{
	struct subscription *empty = NULL, *own = NULL, *oldest = NULL;
	size_t count = 0;

	for (size_t i = 0; i < LIMIT_MCP_SUBSCRIPTIONS; i++) {
		struct subscription *one = &s->subscriptions[i];

		if (!*one->uri) {
			empty = one;
			continue;
		}
		if (!oldest || one->number < oldest->number)
			oldest = one;
		if (one->holder != holder)
			continue;
		count++;
		if (!own || one->number < own->number)
			own = one;
	}
	if (count >= LIMIT_MCP_FOLLOWED)
		return own;
	return empty ? empty : oldest;
}

status
session_follow(struct mcp_call *c, str uri, uint64_t seen)
{
	struct sessions *s = c->mcp->sessions;
	uint64_t session = message_hash(c->session), holder = message_hash(c->principal);
	scoped_lock held = lock(&s->lock);
	struct subscription *one;

	if (uri.len > LIMIT_MCP_URI || drop(s, session, uri) >= LIMIT_MCP_URIS)
		return rpc_fail(c, RPC_PARAMS, 200, "a session follows at most %u resources", LIMIT_MCP_URIS);
	one = place(s, holder);
	*one = (struct subscription){ session, seen, holder, s->followed++, "" };
	memcpy(one->uri, uri.ptr, uri.len);
	return OK;
}

void
session_unfollow(struct mcp_call *c, str uri)
{
	scoped_lock held = lock(&c->mcp->sessions->lock);

	(void)drop(c->mcp->sessions, message_hash(c->session), uri);
}

size_t
session_followed(struct mcp_call *c, struct followed out[LIMIT_MCP_URIS])
{
	struct sessions *s = c->mcp->sessions;
	uint64_t session = message_hash(c->session);
	scoped_lock held = lock(&s->lock);
	size_t n = 0;

	if (!s->followed) /* most never do */
		return 0;
	for (size_t i = 0; i < LIMIT_MCP_SUBSCRIPTIONS && n < LIMIT_MCP_URIS; i++) {
		const struct subscription *one = &s->subscriptions[i];

		if (*one->uri && one->session == session)
			out[n++] = (struct followed){ arena_str(c->cx->arena, str_of(one->uri)), one->seen };
	}
	return n;
}

bool
session_saw(struct mcp_call *c, str uri, uint64_t now)
{
	struct sessions *s = c->mcp->sessions;
	uint64_t session = message_hash(c->session);
	scoped_lock held = lock(&s->lock);

	for (size_t i = 0; i < LIMIT_MCP_SUBSCRIPTIONS; i++) {
		struct subscription *one = &s->subscriptions[i];

		if (!*one->uri || one->session != session || !str_eq(str_of(one->uri), uri) ||
			one->seen == now)
			continue;
		one->seen = now;
		return true;
	}
	return false;
}

/* --- what else is remembered --- */

void
session_end(struct mcp_call *c)
{
	scoped_lock held = lock(&c->mcp->sessions->lock);

	(void)drop(c->mcp->sessions, message_hash(c->session), (str){ 0 });
	find_or_add(c->mcp->sessions, c->session)->ended = true;
}

void
session_set_level(struct mcp_call *c, int level)
{
	scoped_lock held = lock(&c->mcp->sessions->lock);

	find_or_add(c->mcp->sessions, c->session)->level = level;
}

int
session_level(struct mcp_call *c)
{
	scoped_lock held = lock(&c->mcp->sessions->lock);
	const struct note *n = find(c->mcp->sessions, c->session);

	return n ? n->level : 0;
}

static bool
was_ended(struct mcp_call *c)
{
	scoped_lock held = lock(&c->mcp->sessions->lock);
	const struct note *n = find(c->mcp->sessions, c->session);

	return n && n->ended;
}

/* --- the id --- */

static str
mac_of(struct mcp_call *c, str front)
{
	unsigned char mac[SHA256_BYTES];
	char text[MAC + 1];

	keys_mac(c->cx->keys, (str[]){ STR("mcp session"), c->principal, front }, 3, mac);
	(void)sodium_bin2hex(text, sizeof(text), mac, MAC / 2);
	return arena_str(c->cx->arena, str_of(text));
}

str
session_new(struct mcp_call *c, size_t version)
{
	uint64_t now = (uint64_t)(clock_now_us() / SECOND_US);
	str front = arena_printf(c->cx->arena, "%zx%02x%010" PRIx64 "%.*s", version, c->can & 0xff, now,
		STR_ARG(random_hex(c->cx->arena, 8)));

	CHECK(front.len == FRONT);
	return arena_printf(c->cx->arena, "%.*s.%.*s", STR_ARG(front), STR_ARG(mac_of(c, front)));
}

static uint64_t
number(str digits)
{
	uint64_t n = 0;

	for (size_t i = 0; i < digits.len; i++)
		n = n * 16 +
		    (uint64_t)(digits.ptr[i] <= '9' ? digits.ptr[i] - '0' : digits.ptr[i] - 'a' + 10);
	return n;
}

static status
unknown(struct mcp_call *c)
{
	return rpc_fail(c, RPC_SESSION, 404, "there is no such session; initialize again");
}

status
session_open(struct mcp_call *c)
{
	str front = { c->session.ptr, FRONT }, mac;
	uint64_t age;

	if (c->session.len != FRONT + 1 + MAC || c->session.ptr[FRONT] != '.')
		return unknown(c);
	mac = str_skip(c->session, FRONT + 1);
	if (!str_eq_secret(mac, mac_of(c, front)) || was_ended(c))
		return unknown(c);
	/* from here on every digit is ours */
	age = (uint64_t)(clock_now_us() / SECOND_US) - number((str){ front.ptr + 3, 10 });
	if ((int64_t)age > LIMIT_MCP_SESSION_SECONDS)
		return unknown(c);
	c->version = session_versions[number((str){ front.ptr, 1 })];
	c->can = (unsigned)number((str){ front.ptr + 1, 2 });
	return OK;
}
