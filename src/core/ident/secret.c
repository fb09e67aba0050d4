/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ident/secret.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/hash/sha256.h"

#include <pthread.h>
#include <sodium.h>

#define RANDOM_CHARS 43u /* 62^43 > 2^256 */
#define CHECK_CHARS  6u	 /* 62^6 > 2^32 */

static const char base62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* CRC-32 (IEEE 802.3), bit by bit: it runs over 50 bytes. */
static uint32_t
crc32(str s)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < s.len; i++) {
		crc ^= (unsigned char)s.ptr[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
	}
	return ~crc;
}

static void
checksum(str s, char out[CHECK_CHARS])
{
	uint32_t crc = crc32(s);

	for (size_t i = CHECK_CHARS; i > 0; i--) {
		out[i - 1] = base62[crc % 62];
		crc /= 62;
	}
}

/* A character from the alphabet without bias: bytes of 248 and more are thrown away. */
static char
random_char(void)
{
	unsigned char byte;

	do
		random_bytes(&byte, 1);
	while (byte >= 248);
	return base62[byte % 62];
}

str
secret_new(struct arena *a, const char *kind)
{
	char random[RANDOM_CHARS], check[CHECK_CHARS];
	str head;

	for (size_t i = 0; i < RANDOM_CHARS; i++)
		random[i] = random_char();
	head = arena_printf(a, "cs_%s_%.*s", kind, (int)RANDOM_CHARS, random);
	checksum(head, check);
	return arena_printf(a, "%.*s%.*s", STR_ARG(head), (int)CHECK_CHARS, check);
}

str
secret_password(struct arena *a)
{
	char text[20];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = random_char();
	return arena_str(a, (str){ text, sizeof(text) });
}

bool
secret_valid(str secret)
{
	char check[CHECK_CHARS];
	str prefix = STR("cs_"), kind, rest;

	if (!str_starts(secret, prefix) || !str_cut(str_skip(secret, prefix.len), '_', &kind, &rest))
		return false;
	if (kind.len == 0 || kind.len > 8 || rest.len != RANDOM_CHARS + CHECK_CHARS)
		return false;
	checksum((str){ secret.ptr, secret.len - CHECK_CHARS }, check);
	return str_eq(str_skip(secret, secret.len - CHECK_CHARS), (str){ check, CHECK_CHARS });
}

str
secret_hash(struct arena *a, str secret)
{
	return sha256_hex(a, secret);
}

str
secret_hint(struct arena *a, str secret)
{
	str kind = { 0 }, rest = { 0 };

	(void)str_cut(str_skip(secret, 3), '_', &kind, &rest);
	return arena_printf(a, "%.*s \u2026%.*s", STR_ARG(kind), STR_ARG(str_skip(secret, secret.len - 4)));
}

status
password_check(struct ctx *cx, str password)
{
	if (password.len >= LIMIT_PASSWORD_LEAST && password.len <= LIMIT_PASSWORD_BYTES)
		return OK;
	return fail(
		cx, E_INVALID, "a password has %u to %u bytes", LIMIT_PASSWORD_LEAST, LIMIT_PASSWORD_BYTES);
}

/* --- hashing passwords, a few at a time --- */

static struct {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t freed;
	int now, waiting;
} hashing = { .lock = PTHREAD_MUTEX_INITIALIZER, .freed = PTHREAD_COND_INITIALIZER };

static status
refuse_turn(struct ctx *cx)
{
	return fail(cx, E_BUSY,
		"too many passwords are being checked at this moment; try again in a few seconds");
}

/* It is counted among those that wait. Who waits lends its place, so that a crowd at the door does not keep others from working. */
static status
wait_for_turn(struct ctx *cx)
{
	bool lent = !cx->place || cx->place->lend(cx->place->arg);

	CHECK(pthread_mutex_lock(&hashing.lock) == 0);
	while (lent && hashing.now >= LIMIT_PASSWORD_HASHES)
		CHECK(pthread_cond_wait(&hashing.freed, &hashing.lock) == 0);
	hashing.waiting--;
	hashing.now += lent;
	CHECK(pthread_mutex_unlock(&hashing.lock) == 0);
	if (lent && cx->place)
		cx->place->back(cx->place->arg);
	return lent ? OK : refuse_turn(cx);
}

static status
take_turn(struct ctx *cx)
{
	bool free, room;

	CHECK(pthread_mutex_lock(&hashing.lock) == 0);
	free = hashing.now < LIMIT_PASSWORD_HASHES;
	room = !free && hashing.waiting < LIMIT_PASSWORD_WAITING;
	hashing.now += free;
	hashing.waiting += room;
	CHECK(pthread_mutex_unlock(&hashing.lock) == 0);
	if (free)
		return OK;
	return room ? wait_for_turn(cx) : refuse_turn(cx);
}

static void
give_turn(void)
{
	CHECK(pthread_mutex_lock(&hashing.lock) == 0);
	hashing.now--;
	CHECK(pthread_cond_signal(&hashing.freed) == 0);
	CHECK(pthread_mutex_unlock(&hashing.lock) == 0);
}

status
password_hash(struct ctx *cx, str password, str *out_hash)
{
	char hash[crypto_pwhash_STRBYTES];
	int rc;

	TRY(take_turn(cx));
	rc = crypto_pwhash_argon2id_str(hash, password.ptr, password.len,
		crypto_pwhash_argon2id_OPSLIMIT_INTERACTIVE, LIMIT_PASSWORD_MEMORY);
	give_turn();
	if (rc != 0)
		return fail(cx, E_BUSY, "there is not enough memory to hash a password right now");
	*out_hash = arena_str(cx->arena, str_of(hash));
	return OK;
}

status
password_matches(struct ctx *cx, str password, str hash, bool *out_matches)
{
	/* of a password that nobody knows: the work is the same for people who do not exist */
	static const char nobody[] = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$"
				     "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
	char text[crypto_pwhash_STRBYTES] = { 0 };
	str from = hash.len && hash.len < sizeof(text) ? hash : str_of(nobody);

	memcpy(text, from.ptr, from.len);
	TRY(take_turn(cx));
	*out_matches = crypto_pwhash_argon2id_str_verify(text, password.ptr, password.len) == 0 && hash.len;
	give_turn();
	return OK;
}
