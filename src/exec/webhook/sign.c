/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/webhook/sign.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"

#include <inttypes.h>
#include <sodium.h>

#define PREFIX	   "whsec_"
#define KEY_LEAST  24u
#define KEY_MOST   64u
#define SIGNATURE  44u /* base64 of 32 bytes */
#define SIGNATURES 16u /* more than anybody has keys */

struct key {
	unsigned char bytes[KEY_MOST];
	size_t len;
};

static bool
read_key(str secret, struct key *out)
{
	str text = str_skip(secret, sizeof(PREFIX) - 1);

	return str_starts(secret, STR(PREFIX)) &&
	       sodium_base642bin(out->bytes, sizeof(out->bytes), text.ptr, text.len, NULL, &out->len, NULL,
		       sodium_base64_VARIANT_ORIGINAL) == 0 &&
	       out->len >= KEY_LEAST;
}

bool
sign_valid(str secret)
{
	struct key k;
	bool good = read_key(secret, &k);

	sodium_memzero(&k, sizeof(k));
	return good;
}

str
sign_new(struct arena *a)
{
	char *text = arena_alloc(
		a, sizeof(PREFIX) + sodium_base64_ENCODED_LEN(KEY_MOST, sodium_base64_VARIANT_ORIGINAL));
	str inside = random_hex(a, KEY_MOST / 2); /* 256 bits */

	memcpy(text, PREFIX, sizeof(PREFIX));
	(void)sodium_bin2base64(text + sizeof(PREFIX) - 1,
		sodium_base64_ENCODED_LEN(KEY_MOST, sodium_base64_VARIANT_ORIGINAL),
		(const unsigned char *)inside.ptr, inside.len, sodium_base64_VARIANT_ORIGINAL);
	return str_of(text);
}

static void
add(crypto_auth_hmacsha256_state *h, str piece)
{
	CHECK(crypto_auth_hmacsha256_update(
		      h, (const unsigned char *)(piece.len ? piece.ptr : ""), piece.len) == 0);
}

/* False where the secret is none. */
static bool
sign(str secret, str id, str seconds, str body, char out[SIGNATURE + 1])
{
	unsigned char mac[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_state h;
	struct key k;
	bool good = read_key(secret, &k);

	if (good) {
		CHECK(crypto_auth_hmacsha256_init(&h, k.bytes, k.len) == 0);
		add(&h, id);
		add(&h, STR("."));
		add(&h, seconds);
		add(&h, STR("."));
		add(&h, body);
		CHECK(crypto_auth_hmacsha256_final(&h, mac) == 0);
		(void)sodium_bin2base64(out, SIGNATURE + 1, mac, sizeof(mac), sodium_base64_VARIANT_ORIGINAL);
	}
	sodium_memzero(&k, sizeof(k));
	return good;
}

str
sign_header(struct arena *a, const str *secrets, size_t count, str id, int64_t seconds, str body)
{
	char one[SIGNATURE + 1];
	struct buf b;

	buf_init(&b, a, count * (SIGNATURE + 8));
	for (size_t i = 0; i < count; i++)
		if (sign(secrets[i], id, arena_int(a, seconds), body, one))
			buf_printf(&b, "%sv1,%s", b.len ? " " : "", one);
	return buf_str(&b);
}

static bool
fits(str given, const str *secrets, size_t count, const struct sign_parts *p, str body)
{
	char one[SIGNATURE + 1];
	bool good = false;

	for (size_t i = 0; i < count; i++)
		if (sign(secrets[i], p->id, p->timestamp, body, one) &&
			str_eq_secret(given, (str){ one, SIGNATURE }))
			good = true;
	return good;
}

status
sign_check(struct ctx *cx, const struct sign_parts *p, const str *secrets, size_t count, str body)
{
	str one, rest = p->signature, version, value;
	int64_t seconds, now = clock_now_us() / SECOND_US;

	if (!p->id.len || !p->timestamp.len || !p->signature.len)
		return fail(cx, E_UNAUTHENTICATED,
			"it is not signed: webhook-id, webhook-timestamp and webhook-signature are needed");
	if (!str_to_int(p->timestamp, &seconds) || seconds < now - SIGN_TOLERANCE_S ||
		seconds > now + SIGN_TOLERANCE_S)
		return fail(cx, E_UNAUTHENTICATED, "webhook-timestamp is not within %d seconds of now",
			SIGN_TOLERANCE_S);
	for (size_t i = 0; rest.len && i < SIGNATURES; i++) {
		if (!str_cut(rest, ' ', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		if (str_cut(one, ',', &version, &value) && str_eq(version, STR("v1")) &&
			fits(value, secrets, count, p, body))
			return OK;
	}
	return fail(cx, E_UNAUTHENTICATED, "webhook-signature does not fit: another secret, or another body");
}
