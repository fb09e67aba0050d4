/* SPDX-License-Identifier: Apache-2.0 */
#include "core/door/tries.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/random.h"
#include "core/ident/caller.h"
#include "core/ident/secret.h"
#include "core/keys.h"
#include "db/db.h"
#include "http/peers.h"

#include "core/door/tries.sql.h" /* SQL_TRIES_*, generated from tries.sql */

#include <inttypes.h>
#include <sodium.h>

/* --- the cookie: <seconds>.<random>.<MAC of both and the e-mail address> --- */

static str
cookie_mac(struct ctx *cx, str email, str seconds, str random)
{
	const str parts[] = { STR("known browser"), email, seconds, random };
	char *text = arena_alloc(cx->arena, 65);
	unsigned char mac[32];

	keys_mac(cx->keys, parts, sizeof(parts) / sizeof(parts[0]), mac);
	(void)sodium_bin2hex(text, 65, mac, sizeof(mac));
	return (str){ text, 64 };
}

static bool
is_known(struct ctx *cx, str email, str cookie)
{
	str seconds, rest, random, mac;
	int64_t since;

	return str_cut(cookie, '.', &seconds, &rest) && str_cut(rest, '.', &random, &mac) &&
	       str_to_int(seconds, &since) && since > clock_now_us() / SECOND_US - LIMIT_KNOWN_SECONDS &&
	       str_eq_secret(mac, cookie_mac(cx, email, seconds, random));
}

void
tries_know(struct ctx *cx, str email)
{
	str seconds = arena_int(cx->arena, clock_now_us() / SECOND_US), random = random_hex(cx->arena, 16);

	ctx_header_add(cx, "Set-Cookie",
		arena_printf(cx->arena,
			TRIES_COOKIE "=%.*s.%.*s.%.*s; Path=/; Max-Age=%d; Secure; HttpOnly; SameSite=Strict",
			STR_ARG(seconds), STR_ARG(random), STR_ARG(cookie_mac(cx, email, seconds, random)),
			LIMIT_KNOWN_SECONDS));
}

/* --- counting --- */

static void
add(struct ctx *cx, struct tries *t, const char *what, str first, str second, int64_t most)
{
	str name = arena_printf(cx->arena, "%s %.*s %.*s", what, STR_ARG(first), STR_ARG(second));

	t->counters[t->count++] = (struct tries_counter){ .who = secret_hash(cx->arena, name), .most = most };
}

void
tries_begin(struct ctx *cx, str email, struct tries *out)
{
	const struct credential *c = cx->credential;
	str network = http_client_network(cx->arena, c ? c->peer : (str){ 0 });
	struct tries t = { 0 };

	if (c && is_known(cx, email, c->known)) {
		add(cx, &t, "browser", c->known, email, LIMIT_SIGNIN_TRIES);
	} else {
		add(cx, &t, "both", network, email, LIMIT_SIGNIN_TRIES);
		add(cx, &t, "network", network, (str){ 0 }, LIMIT_SIGNIN_NETWORK);
		add(cx, &t, "address", email, (str){ 0 }, LIMIT_SIGNIN_ADDRESS);
	}
	*out = t;
}

struct tries_row {
	int64_t tries, since;
};
static const struct field tries_row[] = {
	FIELD_INT(struct tries_row, tries),
	FIELD_INT(struct tries_row, since),
	FIELD_END,
};

status
tries_count(struct ctx *cx, struct tries *t)
{
	TRY(tx_now_us(cx, &t->now_us));
	TRY(db_run(cx, SQL_TRIES_FORGET_OLD, INT(t->now_us - LIMIT_SIGNIN_US)));
	for (size_t i = 0; i < t->count; i++) {
		struct tries_counter *c = &t->counters[i];
		struct tries_row row;

		TRY(db_run(
			cx, SQL_TRIES_ADD, TEXT(c->who), INT(t->now_us), INT(t->now_us - LIMIT_SIGNIN_US)));
		TRY(db_one(cx, SQL_TRIES_GET, tries_row, &row, TEXT(c->who)));
		c->tries = row.tries;
		c->since = row.since;
	}
	return OK;
}

bool
tries_just_over(const struct tries *t)
{
	bool over = false, before = false;

	for (size_t i = 0; i < t->count; i++) {
		over = over || t->counters[i].tries == t->counters[i].most + 1;
		before = before || t->counters[i].tries > t->counters[i].most + 1;
	}
	return over && !before;
}

status
tries_check(struct ctx *cx, const struct tries *t)
{
	int64_t wait_us = 0, seconds;

	for (size_t i = 0; i < t->count; i++) {
		int64_t left_us = t->counters[i].since + LIMIT_SIGNIN_US - t->now_us;

		if (t->counters[i].tries > t->counters[i].most && left_us > wait_us)
			wait_us = left_us;
	}
	if (!wait_us)
		return OK;
	seconds = wait_us / SECOND_US + 1;
	ctx_header(cx, "Retry-After", arena_int(cx->arena, seconds));
	return fail(cx, E_RATE_LIMITED, "too many tries to sign in; wait %" PRId64 " seconds", seconds);
}

/* The tries of others from the same network, or for the same address, still count. */
status
tries_forget(struct ctx *cx, const struct tries *t)
{
	TRY(db_run(cx, SQL_TRIES_FORGET, TEXT(t->counters[0].who)));
	for (size_t i = 1; i < t->count; i++)
		TRY(db_run(cx, SQL_TRIES_TAKE_BACK, TEXT(t->counters[i].who)));
	return OK;
}
